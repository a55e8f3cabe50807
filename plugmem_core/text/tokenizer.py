"""`tokenize`: the words of a text, as the lexical index and entity names see them.

Text is first folded (`_fold`): compatibility forms become plain, capitals small,
accents on Latin letters disappear and every symbol becomes a space. What is left
are letters, digits, marks, spaces and the joiners `' ’ . , _`, so that one regular
expression can say where words are. The rules are those of Unicode's UAX #29: a
joiner stays inside a word between two letters (`node.js`, `don't`) or between two
digits (`3.14`), an underscore between either.

Scripts written without spaces have no such boundaries:

* Thai, Lao, Khmer and Burmese words come from ICU's dictionaries;
* Han and Hiragana, and the scripts ICU has no dictionary for, such as Javanese and
  Yi, give overlapping pairs of characters, so that a word is found anywhere inside
  a sentence: 東京都 is 東京 and 京都. A character standing alone is a token itself;
* a run of Katakana is one word.
"""

import re
import unicodedata
from itertools import pairwise

from plugmem_core.kernels import tokenize_ascii

TOKENIZER_VERSION: int = 1
"""Changes whenever some text would give other tokens than before; indexes made by another
version are to be rebuilt."""

MAX_TOKEN_BYTES = 64
"""A longer token keeps its beginning; the same number as in `kernels/tokenizer.hpp`."""

# Ranges for character classes. Those of scripts hold letters and marks, no digits: numbers
# are words in every script.
_CJK = (
    "\u3005-\u3007\u3021-\u3029\u3038-\u303b\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufad9"  # Han
    "\U00016fe3\U00016fe4\U00020000-\U000323af"
    "\U00017000-\U00018d08\U0001b170-\U0001b2fb"  # Tangut, Khitan and Nushu
    "\u3041-\u3096\u309d-\u309f\U0001b001-\U0001b11f\U0001b132\U0001b150-\U0001b152"  # Hiragana
)
_UNSPACED = (
    "\u1950-\u197f"  # Tai Le
    "\u1980-\u19cf"  # New Tai Lue
    "\u1a00-\u1a1b"  # Buginese
    "\u1a20-\u1a7c\u1aa7"  # Tai Tham
    "\u1b00-\u1b4c"  # Balinese
    "\u1b80-\u1baf\u1bba-\u1bbf"  # Sundanese
    "\u1bc0-\u1bf3"  # Batak
    "\ua000-\ua48c"  # Yi
    "\ua930-\ua953"  # Rejang
    "\ua980-\ua9c0"  # Javanese
    "\uaa00-\uaa4d"  # Cham
    "\uaa80-\uaadd"  # Tai Viet
    "\U00011700-\U0001172b\U00011740-\U00011746"  # Ahom
    "\U00011ee0-\U00011ef6"  # Makasar
    "\U00011f00-\U00011f42"  # Kawi
)
_DICTIONARY = (
    "\u0e01-\u0e3a\u0e40-\u0e4e"  # Thai
    "\u0e81-\u0ece\u0edc-\u0edf"  # Lao
    "\u1000-\u103f\u1050-\u108f\u109a-\u109d\ua9e0-\ua9ef\ua9fa-\ua9fe\uaa60-\uaa7f"  # Burmese
    "\u1780-\u17d3\u17d7\u17dc\u17dd"  # Khmer
)
_KATAKANA = (
    "\u3031-\u3035\u30a1-\u30fa\u30fc-\u30ff\u31f0-\u31ff"
    "\U0001aff0-\U0001affe\U0001b000\U0001b120-\U0001b122\U0001b155\U0001b164-\U0001b167"
)
_OTHERWISE = _CJK + _UNSPACED + _DICTIONARY + _KATAKANA

# In folded text, what is neither alphanumeric, nor a space, nor a joiner, is a mark.
_MARK = r"[^\w .,'’]"
_LETTER = rf"[^\W\d_{_OTHERWISE}]"
_ALPHANUMERIC = rf"[^\W_{_OTHERWISE}]"
_INSIDE = rf"[^_ .,'’{_OTHERWISE}]*"
_JOINER = rf"(?:(?<!\d)[.'’](?={_LETTER})|(?<=\d)[.,](?=\d)|_(?={_ALPHANUMERIC}))"
_WORD = rf"{_ALPHANUMERIC}{_INSIDE}(?:{_JOINER}{_INSIDE})*"
_KATAKANA_WORD = rf"[{_KATAKANA}](?:[{_KATAKANA}]|{_MARK})*"
_UNIT = rf"(?:[{_CJK}]|(?=\w)[{_UNSPACED}]{_MARK}*)"

_find_pieces = re.compile(
    rf"(?P<word>{_WORD}|{_KATAKANA_WORD})|(?P<units>{_UNIT}+)|(?P<sentence>[{_DICTIONARY}]+)"
).finditer
_find_units = re.compile(_UNIT).findall
_is_unit = re.compile(_UNIT).fullmatch
_drop_leading_marks = re.compile(r"^\W+").sub
_drop_latin_accents = re.compile(rf"(?<=[a-z0-9]){_MARK}+").sub


def tokenize(text: str) -> list[str]:
    """Return the tokens of a text, in order and with repeats.

    Texts, queries and names all go through here. Each token is at most 64 bytes of
    UTF-8, and tokenising it again gives it back.

    Args:
        text: Any text without lone surrogates; see `check_text`.
    """
    return tokenize_ascii(text) if text.isascii() else _tokenize(text)


def is_unigram(token: str) -> bool:
    """Return whether a token is one character of a script that is indexed in pairs.

    Such a token equals only characters that stood alone. To find the words it is part
    of, a query must take every term that contains it.
    """
    return _is_unit(token) is not None


def _tokenize(text: str) -> list[str]:
    folded = _fold(text)
    if folded.isascii():
        return tokenize_ascii(folded)
    return _split(folded)


def _split(folded: str) -> list[str]:
    tokens: list[str] = []
    for piece in _find_pieces(folded):
        match piece.lastgroup:
            case "word":
                tokens.append(piece[0])
            case "units":
                tokens += _pairs(_find_units(piece[0]))
            case _:
                tokens += _dictionary_words(piece[0])
    return [token if len(token) <= MAX_TOKEN_BYTES // 4 else _cut(token) for token in tokens]


def _pairs(units: list[str]) -> list[str]:
    if len(units) == 1:
        return units
    return [first + second for first, second in pairwise(units)]


def _dictionary_words(sentence: str) -> list[str]:
    # Imported late: ICU maps 30 MB of data, which most memories never need.
    from icu4py.breakers import WordBreaker

    # ICU's dictionaries spell the vowel AM as one character, NFKC as two.
    spelled = sentence.replace("\u0e4d\u0e32", "\u0e33").replace("\u0ecd\u0eb2", "\u0eb3")
    words = (unicodedata.normalize("NFKC", word) for word in WordBreaker(spelled, "en"))
    return [word for word in (_drop_leading_marks("", word) for word in words) if word]


def _cut(token: str) -> str:
    kept = token.encode()[:MAX_TOKEN_BYTES].decode(errors="ignore")
    return kept.rstrip("_.,'’")


def _fold(text: str) -> str:
    while True:
        text = unicodedata.normalize("NFKC", text).lower().translate(_FOLDED)
        text = _drop_latin_accents("", text)
        # What vanished may have kept a letter from its accent; then there is more to fold.
        if unicodedata.is_normalized("NFKC", text):
            return text


class _FoldedCharacters(dict[int, str]):
    """What becomes of each character, worked out when it is first met."""

    def __missing__(self, code: int) -> str:
        folded = self[code] = _fold_character(chr(code))
        return folded


_FOLDED = _FoldedCharacters()

# Default_Ignorable_Code_Point, without U+200B: a zero width space is there to separate.
_is_ignorable = re.compile(
    "[\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200c-\u200f\u202a-\u202e\u2060-\u206f"
    "\ufe00-\ufe0f\ufeff\ufff0-\ufff8\U0001bca0-\U0001bca3\U0001d173-\U0001d17a"
    "\U000e0000-\U000e0fff]"
).match


def _fold_character(character: str) -> str:
    if _is_ignorable(character):
        return ""
    if unicodedata.category(character).startswith("M") or character in "_.,'’":
        return character
    if not character.isalnum():
        return " "
    if character == "ё":
        return "е"
    base = unicodedata.normalize("NFD", character)[0]
    return base if base.isascii() else character
