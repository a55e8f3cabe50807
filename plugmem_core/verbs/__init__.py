"""The verbs of a memory, by family; `Memory` is made of them."""

from plugmem_core.verbs.care import CareVerbs
from plugmem_core.verbs.erasing import EraseVerbs
from plugmem_core.verbs.facts import FactVerbs
from plugmem_core.verbs.graph import GraphVerbs
from plugmem_core.verbs.listing import ListingVerbs
from plugmem_core.verbs.mentions import MentionVerbs
from plugmem_core.verbs.moving import MovingVerbs
from plugmem_core.verbs.reading import ReadingVerbs
from plugmem_core.verbs.recall import RecallVerbs
from plugmem_core.verbs.tags import TagVerbs
from plugmem_core.verbs.values import ValueVerbs

__all__ = [
    "CareVerbs",
    "EraseVerbs",
    "FactVerbs",
    "GraphVerbs",
    "ListingVerbs",
    "MentionVerbs",
    "MovingVerbs",
    "ReadingVerbs",
    "RecallVerbs",
    "TagVerbs",
    "ValueVerbs",
]
