"""Names and relations in plain prose, by rules; `rules` says which."""

from plugmem_core.extraction.prose.extractor import ProseExtractor
from plugmem_core.extraction.prose.rules import (
    DATE,
    IDENTIFIER,
    KNOWN,
    MAX_NAMES,
    NAME,
    QUOTED,
    Assertion,
    Extraction,
    KnownNames,
    Mention,
    extract,
)

__all__ = [
    "DATE",
    "IDENTIFIER",
    "KNOWN",
    "MAX_NAMES",
    "NAME",
    "QUOTED",
    "Assertion",
    "Extraction",
    "KnownNames",
    "Mention",
    "ProseExtractor",
    "extract",
]
