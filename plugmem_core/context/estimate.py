"""How many tokens a text takes, estimated without a tokenizer; and what else may tell."""

from functools import cache
from typing import Any, Protocol, runtime_checkable

import numpy as np
import numpy.typing as npt

from plugmem_core.context.reading import MAX_COUNT
from plugmem_core.errors import PlugmemError, ServiceError, WrongTypeError, shown
from plugmem_core.inputs import check_count

BYTES_PER_TOKEN = 3
"""The share of bytes that an estimator without a hint of its own is taken to have."""

_UNIT = 30  # of a token
_PLAIN, _DIGIT, _CJK, _NEWLINE = 9, 30, 25, 15
_CJK_RANGES = ((0x3040, 0x30FF), (0x3400, 0x9FFF), (0xAC00, 0xD7AF), (0xF900, 0xFAFF))
_LONG = 512  # characters from which on arrays are faster than a loop


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
        words = _tokens_of_long if len(text) >= _LONG else _tokens_of_short
        return words(text) + _up(text.count("\n") * _NEWLINE)


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
        self.bytes_per_token: int = getattr(estimator, "bytes_per_token", BYTES_PER_TOKEN)
        self._estimate = estimator.estimate
        self._known: dict[str, int] = {}

    def __call__(self, text: str) -> int:
        """Return the tokens of a text.

        Raises:
            ServiceError: The estimator failed, or returned no count.
        """
        count = self._known.get(text)
        if count is None:
            count = self._known[text] = self._checked(text)
        return count

    def _checked(self, text: str) -> int:
        try:
            count = self._estimate(text)
        except PlugmemError:
            raise
        except Exception as error:
            raise ServiceError(
                f"the estimator failed on a text of {len(text)} characters, with "
                f"{type(error).__name__}; repair it, or take the default one"
            ) from error
        if type(count) is not int or not 0 <= count <= MAX_COUNT:
            raise ServiceError(
                f"the estimator returned {shown(count)}; let it return an integer from 0 to "
                f"{MAX_COUNT}"
            )
        return count


def checked_estimator(estimator: Estimator) -> Estimator:
    """Return an estimator if it is one, and its hint makes sense."""
    if not isinstance(estimator, Estimator):
        raise WrongTypeError(f"estimator is {shown(estimator)}; give an object with estimate(text)")
    hint = getattr(estimator, "bytes_per_token", BYTES_PER_TOKEN)
    check_count(hint, "the estimator's bytes_per_token")
    return estimator


def _up(thirtieths: int) -> int:
    return -(-thirtieths // _UNIT)


def _tokens_of_short(text: str) -> int:
    weights = _weights()
    tokens = 0
    for word in text.split():
        if word.isascii() and word.isalpha():
            tokens += _up(len(word) * _PLAIN)
        else:
            tokens += _up(sum([weights[min(ord(char), 0xFFFF)] for char in word]))
    return tokens


def _tokens_of_long(text: str) -> int:
    if text.isascii():
        codes: npt.NDArray[Any] = np.frombuffer(text.encode(), dtype=np.uint8)
    else:
        wide = np.frombuffer(text.encode("utf-32-le", "surrogatepass"), dtype=np.uint32)
        codes = np.minimum(wide, 0xFFFF)
    weights = np.frombuffer(_weights(), dtype=np.uint8)[codes]
    sums = np.cumsum(weights, dtype=np.int64)
    ends = sums[np.append(np.flatnonzero(weights == 0), len(text) - 1)]
    words = ends.copy()
    words[1:] -= ends[:-1]
    return int(np.sum((words + (_UNIT - 1)) // _UNIT))


@cache
def _weights() -> bytes:
    """Return what each character costs by its code; whitespace is 0.

    Characters beyond 16 bits count as the last code, a plain one.
    """
    weights = bytearray([_PLAIN]) * 0x10000
    for first, last in _CJK_RANGES:
        weights[first : last + 1] = bytes([_CJK]) * (last + 1 - first)
    weights[ord("0") : ord("9") + 1] = bytes([_DIGIT]) * 10
    for code in range(0x10000):
        if chr(code).isspace():
            weights[code] = 0
    return bytes(weights)
