"""Why a fact is not in a result: the stages' tests, one after another, in words."""

from collections.abc import Mapping

from plugmem_core.clock import to_datetime
from plugmem_core.index import Index
from plugmem_core.kernels import IdSet
from plugmem_core.recall.explain import Absence
from plugmem_core.recall.pipeline import Ranking
from plugmem_core.recall.query import Query
from plugmem_core.recall.scope import clocks, passing_facts
from plugmem_core.recall.selection import Selection
from plugmem_core.store import FactRow


def explain_absence(
    index: Index,
    query: Query,
    row: FactRow,
    ranking: Ranking,
    selection: Selection,
    left_out: Mapping[int, int],
    filtered: IdSet | None,
    now: int,
) -> Absence:
    """Return the first test that a fact failed in a recall, or that it is present.

    Args:
        index: In step with truth.
        query: The question.
        row: The fact, in the query's namespace.
        ranking: What the recall found.
        selection: What it returned of that.
        left_out: Near-duplicates, with the better fact each repeats.
        filtered: The facts that pass the metadata filter; `None` without one.
        now: Unix milliseconds at the recall.
    """
    if row.forgotten_at is not None:
        return Absence("forgotten", f"forgotten at {_time(row.forgotten_at)}")
    passing = passing_facts(index, query, filtered)
    if passing is not None and not passing.has(row.id):
        return Absence("not in scope", "it does not pass the tags or the filter")
    return _untimely(query, row, now) or _unchosen(query, row, ranking, selection, left_out)


def _untimely(query: Query, row: FactRow, now: int) -> Absence | None:
    valid_at, known_at = clocks(query, now)
    if row.expires_at is not None and row.expires_at <= max(now, valid_at):
        return Absence("expired", f"expired at {_time(row.expires_at)}")
    if row.recorded_at > known_at:
        detail = f"recorded at {_time(row.recorded_at)}, after {_time(known_at)}"
        return Absence("not yet known", detail)
    if row.valid_from > valid_at:
        detail = f"true from {_time(row.valid_from)}, after {_time(valid_at)}"
        return Absence("not yet valid", detail)
    ended = row.valid_to is not None and row.valid_to <= valid_at
    unlearned = query.known_at is not None and (row.closed_at or 0) > query.known_at
    if ended and not query.closed and not unlearned:
        detail = f"true until {_time(row.valid_to or 0)}, not at {_time(valid_at)}"
        return Absence("no longer valid", detail)
    return None


def _unchosen(
    query: Query,
    row: FactRow,
    ranking: Ranking,
    selection: Selection,
    left_out: Mapping[int, int],
) -> Absence:
    rows = [] if ranking.fused is None else ranking.fused.rows(len(ranking.fused))
    places = {fact: (place, score) for place, (fact, score, *_) in enumerate(rows, start=1)}
    if row.id not in places:
        return Absence("no evidence", "no source ranked it among its candidates")
    if any(row.id == fact for fact, *_ in selection.rows):
        return Absence("present", "it is in the result")
    if row.id in left_out:
        return Absence("near duplicate", f"it says what fact {left_out[row.id]} says already")
    place, score = places[row.id]
    if query.min_score is not None and score < query.min_score:
        return Absence("below the floor", f"its score {score:.6f} is under {query.min_score}")
    if row.id in selection.over_budget or (selection.over_budget and place <= query.k):
        detail = f"at place {place}, behind the token budget of {query.token_budget}"
        return Absence("over budget", detail)
    return Absence("below the cut", f"at place {place} by score, k is {query.k}")


def _time(ms: int) -> str:
    return to_datetime(ms).isoformat()
