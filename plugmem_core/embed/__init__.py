"""Embedders: the protocol, and one that needs no model."""

from plugmem_core.embed.hashing import HashingEmbedder
from plugmem_core.embed.protocol import AsyncEmbedder, Embedder

__all__ = ["AsyncEmbedder", "Embedder", "HashingEmbedder"]
