"""`Analyzer`: what becomes of the tokens of a text, and of those of a question."""

from collections.abc import Callable, Sequence

import Stemmer

from plugmem_core.config import PLAIN
from plugmem_core.text.stop_words import STOP_WORDS

STEMMER_VERSION: str = Stemmer.version()
"""Another version may stem some word in another way."""


class Analyzer:
    """Brings the forms of a word together, so that `walks` finds `walking`.

    Words are stemmed by the Snowball algorithm of a language; a token with a digit, a dot or an
    underscore in it stays what it is.

    Args:
        language: One of `plugmem_core.config.LANGUAGES`, or `"plain"`, which stems nothing.
        stop_words: Whether words that say nothing are left out of questions, where there is
            a list for the language.

    >>> english = Analyzer("english")
    >>> [english.term(word) for word in ("walking", "walks", "mara's", "node.js")]
    ['walk', 'walk', 'mara', 'node.js']
    >>> english.question(["when", "did", "mara", "walk"])
    ['mara', 'walk']
    """

    def __init__(self, language: str, *, stop_words: bool = True) -> None:
        self.language = language
        # Its own cache would hold every word once more; terms are asked for once.
        self._stemmer = None if language == PLAIN else Stemmer.Stemmer(language, 0)
        self._stop_words = STOP_WORDS.get(language, frozenset()) if stop_words else frozenset()

    @property
    def stem(self) -> Callable[[str], str] | None:
        """What makes the term of a token; `None` where every token is its own term."""
        return None if self._stemmer is None else self.term

    def term(self, token: str) -> str:
        """Return what a token is indexed as."""
        if self._stemmer is None:
            return token
        word = _straight(token)  # stemmers know genitives so
        if not word.replace("'", "").isalpha():
            return token
        stem: str = self._stemmer.stemWord(word)
        return stem

    def question(self, tokens: Sequence[str]) -> list[str]:
        """Return the tokens of a question that say what it is about; all, if none does."""
        kept = [token for token in tokens if _straight(token) not in self._stop_words]
        return kept or list(tokens)


def _straight(token: str) -> str:
    """Return a token with the apostrophe of typewriters."""
    return token.replace("’", "'")
