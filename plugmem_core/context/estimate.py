"""How many tokens a text takes, estimated without a tokenizer; and what else may tell."""

import re
from typing import Any, Protocol, runtime_checkable

from plugmem_core.errors import ServiceError, WrongTypeError, shown
from plugmem_core.inputs import check_count

BYTES_PER_TOKEN = 3
"""The share of bytes that an estimator without a hint of its own is taken to have."""

_UNIT = 30  # of a token
_PLAIN, _DIGIT, _CJK, _NEWLINE = 9, 30, 25, 15

_digits = re.compile("[0-9]")
_cjk = re.compile("[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af\uf900-\ufaff]")


@runtime_checkable
class Estimator(Protocol):
    """Tells how many tokens a text takes.

    It has to be deterministic. An attribute `bytes_per_token`, an integer, is a hint by which
    small budgets are given small pieces; without it, 3 is taken.
    """

    def estimate(self, text: str) -> int:
        """Return the number of tokens, 0 or more."""
        ...


class HeuristicEstimator:
    """Counts characters by class, and rather too many than too few.

    In thirtieths of a token: a Chinese, Japanese or Korean character is 25, an ASCII digit 30,
    any other character 9. Each word between whitespace is rounded up to whole tokens. Newlines
    are 15 each and rounded up once.

    >>> HeuristicEstimator().estimate("Meet at 9:30")  # 2 + 1 + 4
    7
    """

    bytes_per_token = BYTES_PER_TOKEN

    def estimate(self, text: str) -> int:
        """Return the estimate."""
        newlines = _up(text.count("\n") * _NEWLINE)
        if not text.isascii():
            text = _cjk.sub("一", text)
        if not _digits.search(text):
            return newlines + sum(map(_up_plain, text.split()))
        return newlines + sum(map(_up_mixed, _digits.sub("0", text).split()))


class TokenizerEstimator:
    """Counts with a tokenizer, such as an encoding of `tiktoken`.

    The tokenizer is handed in ready to use, so that nothing is loaded from a network behind
    the caller's back: `TokenizerEstimator(tiktoken.get_encoding("cl100k_base"))`.
    """

    def __init__(self, encoding: Any, *, bytes_per_token: int = BYTES_PER_TOKEN) -> None:
        """Wrap a tokenizer.

        Args:
            encoding: Has `encode_ordinary(text)`, which returns a list of tokens.
            bytes_per_token: A hint; see `Estimator`.

        Raises:
            WrongTypeError: It has no such method.
        """
        if not callable(getattr(encoding, "encode_ordinary", None)):
            raise WrongTypeError(
                f"encoding is {shown(encoding)}; give one with encode_ordinary(text), "
                "for example tiktoken.get_encoding('cl100k_base')"
            )
        self.bytes_per_token = bytes_per_token
        self._encode = encoding.encode_ordinary

    def estimate(self, text: str) -> int:
        """Return the number of tokens."""
        return len(self._encode(text))


class Counter:
    """Asks an estimator about each text once, and checks its answers."""

    def __init__(self, estimator: Estimator) -> None:
        if not isinstance(estimator, Estimator):
            raise WrongTypeError(
                f"estimator is {shown(estimator)}; give an object with estimate(text)"
            )
        hint = getattr(estimator, "bytes_per_token", BYTES_PER_TOKEN)
        self.bytes_per_token = check_count(hint, "the estimator's bytes_per_token")
        self._estimate = estimator.estimate
        self._known: dict[str, int] = {}

    def __call__(self, text: str) -> int:
        """Return the tokens of a text."""
        count = self._known.get(text)
        if count is None:
            count = self._known[text] = self._checked(text)
        return count

    def _checked(self, text: str) -> int:
        count = self._estimate(text)
        if type(count) is not int or count < 0:
            raise ServiceError(
                f"the estimator returned {shown(count)}; let it return an integer of 0 or more"
            )
        return count


def _up(thirtieths: int) -> int:
    return -(-thirtieths // _UNIT)


def _up_plain(word: str) -> int:
    return _up_mixed(word) if not word.isascii() else -(-len(word) * _PLAIN // _UNIT)


def _up_mixed(word: str) -> int:
    digits, cjk = word.count("0"), word.count("一")
    return _up(len(word) * _PLAIN + digits * (_DIGIT - _PLAIN) + cjk * (_CJK - _PLAIN))
