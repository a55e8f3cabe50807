"""Facts, relations and attributes out of text, with and without a model."""

from plugmem_core.extraction.kinship import orient_kinship
from plugmem_core.extraction.outline import OutlineExtractor
from plugmem_core.extraction.prose import ProseExtractor
from plugmem_core.extraction.protocol import (
    AsyncExtractor,
    Attribute,
    ExtractedFact,
    Extractor,
    Graph,
    Relation,
    canonical,
)
from plugmem_core.extraction.running import aextract_graph, extract_graph

__all__ = [
    "AsyncExtractor",
    "Attribute",
    "ExtractedFact",
    "Extractor",
    "Graph",
    "OutlineExtractor",
    "ProseExtractor",
    "Relation",
    "aextract_graph",
    "canonical",
    "extract_graph",
    "orient_kinship",
]
