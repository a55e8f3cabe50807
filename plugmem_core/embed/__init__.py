"""Embedders: the protocol, and those that come with the package.

Nothing here opens a connection or imports a model before it is made.
"""

from plugmem_core.embed.endpoint import EndpointEmbedder
from plugmem_core.embed.hashing import HashingEmbedder
from plugmem_core.embed.protocol import AsyncEmbedder, Embedder
from plugmem_core.embed.word_llama import WordLlamaEmbedder

__all__ = [
    "AsyncEmbedder",
    "Embedder",
    "EndpointEmbedder",
    "HashingEmbedder",
    "WordLlamaEmbedder",
]
