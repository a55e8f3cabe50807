"""Derived state: everything recall reads, built from truth and never the truth itself."""

from plugmem_core.index.checkpoint import load as load_checkpoint
from plugmem_core.index.checkpoint import remove as remove_checkpoint
from plugmem_core.index.checkpoint import save as save_checkpoint
from plugmem_core.index.index import Index
from plugmem_core.index.met import MetEdges

__all__ = [
    "Index",
    "MetEdges",
    "load_checkpoint",
    "remove_checkpoint",
    "save_checkpoint",
]
