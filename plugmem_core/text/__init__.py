"""Text: its checks, its tokens, and the identity of names."""

from plugmem_core.text.analysis import STEMMER_VERSION, Analyzer
from plugmem_core.text.checks import check_fact_text, check_text
from plugmem_core.text.dates import windows_in
from plugmem_core.text.names import MAX_NAME_BYTES, entity_key
from plugmem_core.text.stop_words import STOP_WORDS
from plugmem_core.text.storable import storable
from plugmem_core.text.tokenizer import TOKENIZER_VERSION, is_unigram, tokenize
from plugmem_core.text.windows import Window

__all__ = [
    "MAX_NAME_BYTES",
    "STEMMER_VERSION",
    "STOP_WORDS",
    "TOKENIZER_VERSION",
    "Analyzer",
    "Window",
    "check_fact_text",
    "check_text",
    "entity_key",
    "is_unigram",
    "storable",
    "tokenize",
    "windows_in",
]
