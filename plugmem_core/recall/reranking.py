"""A second look at the best candidates, by something that reads the question and the texts."""

import math
from collections.abc import Sequence
from threading import Thread

from plugmem_core.recall.reranker import Reranker
from plugmem_core.recall.selection import Row

LEFT_OUT = float("-inf")


class RerankError(Exception):
    """Why the order of before stands."""


def rerank(
    reranker: Reranker, question: str, rows: list[Row], texts: Sequence[str], timeout: float | None
) -> list[Row]:
    """Return candidates by the scores of a reranker, which become theirs; equals keep their order.

    Args:
        reranker: Asked once, in a thread of its own where there is a time limit.
        question: The text of the recall.
        rows: The candidates.
        texts: Theirs.
        timeout: Seconds after which it is not waited for any longer; `None` for no limit.

    Raises:
        RerankError: It failed, took too long, or gave no score a text.
    """
    scores = _checked(_asked(reranker, question, texts, timeout), len(texts))
    kept = [place for place, score in enumerate(scores) if score != LEFT_OUT]
    order = sorted(kept, key=lambda place: -scores[place])
    return [(rows[place][0], scores[place], *rows[place][2:]) for place in order]


def _asked(
    reranker: Reranker, question: str, texts: Sequence[str], timeout: float | None
) -> Sequence[float]:
    answers: list[Sequence[float]] = []
    errors: list[Exception] = []

    def ask() -> None:
        try:
            answers.append(reranker.rerank(question, texts))
        except Exception as error:  # noqa: BLE001 - the order of before stands
            errors.append(error)

    if timeout is None:
        ask()
    else:
        # A thread that hangs cannot be ended; as a daemon it does not keep the process alive.
        thread = Thread(target=ask, daemon=True, name="plugmem-reranker")
        thread.start()
        thread.join(timeout)
    if errors:
        raise RerankError(f"the reranker failed: {errors[0]!r}") from errors[0]
    if not answers:
        raise RerankError(f"the reranker took longer than {timeout:g} seconds")
    return answers[0]


def _checked(scores: Sequence[float], count: int) -> list[float]:
    try:
        numbers = [float(score) for score in scores]
    except (TypeError, ValueError, OverflowError) as error:
        raise RerankError(f"the reranker gave no list of numbers: {error}") from error
    if len(numbers) != count:
        raise RerankError(f"the reranker gave {len(numbers)} scores for {count} texts")
    if any(map(math.isnan, numbers)):
        raise RerankError("the reranker gave NaN")
    return numbers
