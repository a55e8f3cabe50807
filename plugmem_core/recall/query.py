"""`Query`: what a recall was asked, checked and in the form the stages work with."""

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Literal

from plugmem_core.clock import Instant, to_ms
from plugmem_core.errors import InvalidInputError, WrongTypeError, shown
from plugmem_core.filters import Filter, parse_filter
from plugmem_core.inputs import (
    VectorLike,
    check_count,
    check_ids,
    check_names,
    check_namespace,
    check_tags,
    check_type,
    check_vector,
)
from plugmem_core.model import SOURCES, Namespace
from plugmem_core.recall.reranker import Reranker
from plugmem_core.store import Vector
from plugmem_core.text import check_text, tokenize

MAX_QUERY_BYTES = 1_048_576
MAX_QUERY_WORDS = 1_024
MAX_DEPTH = 1_000
MAX_WEIGHT = 1_000
WEIGHED = (*SOURCES, "recency")

NONE_GIVEN: tuple[Any, ...] = ()
ALL_SOURCES = frozenset(SOURCES)

Anchors = Literal["auto", "given"]


@dataclass(slots=True)
class Query:
    """One recall's question; see `Memory.recall` for the meaning of each part."""

    text: str | None
    k: int
    tags: list[str]
    any_tags: list[str]
    not_tags: list[str]
    entities: list[tuple[str, str]]
    anchors: Anchors
    sources: frozenset[str]
    weights: dict[str, float]
    where: Filter | None
    among: list[int] | None
    vector: Vector | None
    as_of: int | None
    valid_at: int | None
    known_at: int | None
    range: tuple[int, int] | None
    closed: bool
    token_budget: int | None
    graph_depth: int | None
    namespace: Namespace
    below: bool
    ef: int | None
    min_score: float | None
    explain: bool
    reranker: Reranker | None
    rerank_top: int | None
    diversity: float | None
    duplicates: float | None

    @property
    def filters(self) -> bool:
        """Whether a tag, a metadata condition or a choice restricts the facts."""
        tags = self.tags or self.any_tags or self.not_tags
        return bool(tags or self.where is not None or self.among is not None)

    @property
    def asks(self) -> bool:
        """Whether any source has something to look for."""
        return (
            self.text is not None
            or self.vector is not None
            or self.range is not None
            or self.newest
            or bool(self.entities)
        )

    @property
    def newest(self) -> bool:
        """Whether time is the one source asked for: the newest facts are wanted."""
        return len(self.sources) == 1 and "time" in self.sources


def make_query(
    text: str | None = None,
    *,
    k: int = 8,
    tags: Iterable[str] = (),
    any_tags: Iterable[str] = (),
    not_tags: Iterable[str] = (),
    entities: Iterable[str] = (),
    anchors: Anchors = "auto",
    sources: Collection[str] = SOURCES,
    weights: Mapping[str, float] | None = None,
    where: Mapping[str, Any] | None = None,
    among: Iterable[int] | None = None,
    vector: VectorLike | None = None,
    as_of: Instant | None = None,
    valid_at: Instant | None = None,
    known_at: Instant | None = None,
    range: tuple[Instant, Instant] | None = None,  # noqa: A002 - the public name
    closed: bool = False,
    token_budget: int | None = 512,
    graph_depth: int | None = None,
    namespace: Namespace = (),
    below: bool = True,
    ef: int | None = None,
    min_score: float | None = None,
    explain: bool = False,
    reranker: Reranker | None = None,
    rerank_top: int | None = None,
    diversity: float | None = None,
    duplicates: float | None = None,
    dim: int = 0,
) -> Query:
    """Check the arguments of a recall, as `Memory.recall` describes them.

    `dim` is the dimension of the file's vectors, 0 when it has none yet.

    Raises:
        InvalidInputError: An argument breaks its rule.
        WrongTypeError: An argument has another type.
        VectorSpaceError: The vector has another dimension.
    """
    # In the order of the fields: keywords would take as long as all the checks. What is left out,
    # and most is, is not checked.
    query = Query(
        None if text is None else check_text(text, "text", max_bytes=MAX_QUERY_BYTES),
        check_count(k, "k"),
        [] if tags is NONE_GIVEN else check_tags(tags),
        [] if any_tags is NONE_GIVEN else check_tags(any_tags, "any_tags"),
        [] if not_tags is NONE_GIVEN else check_tags(not_tags, "not_tags"),
        [] if entities is NONE_GIVEN else check_names(entities, "entities"),
        _check_anchors(anchors),
        ALL_SOURCES if sources is SOURCES else _check_sources(sources),
        {} if weights is None else _check_weights(weights),
        None if where is None else parse_filter(where),
        None if among is None else check_ids(among, "among"),
        None if vector is None else check_vector(vector, "vector", dim),
        None if as_of is None else to_ms(as_of, "as_of"),
        None if valid_at is None else to_ms(valid_at, "valid_at"),
        None if known_at is None else to_ms(known_at, "known_at"),
        None if range is None else _check_range(range),
        closed is not False and _check_flag(closed, "closed"),
        None if token_budget is None else check_count(token_budget, "token_budget", least=0),
        None
        if graph_depth is None
        else check_count(graph_depth, "graph_depth", least=0, most=MAX_DEPTH),
        () if namespace is NONE_GIVEN else check_namespace(namespace),
        below is True or _check_flag(below, "below"),
        None if ef is None else check_count(ef, "ef"),
        None if min_score is None else _check_number(min_score, "min_score"),
        explain is not False and _check_flag(explain, "explain"),
        None if reranker is None else check_reranker(reranker),
        None if rerank_top is None else check_count(rerank_top, "rerank_top", least=0),
        None if diversity is None else _check_share(diversity, "diversity"),
        None if duplicates is None else _check_share(duplicates, "duplicates"),
    )
    if query.as_of is not None and (query.valid_at is not None or query.known_at is not None):
        raise InvalidInputError(
            "as_of moves both clocks; give as_of alone, or valid_at and known_at"
        )
    return query


def words_of(text: str | None) -> list[str]:
    """Return the words of a question up to the last of its first 1,024 different ones.

    Whole pages are pasted as questions; what each of its words costs has to end somewhere.
    """
    words = tokenize(text) if text else []
    if len(words) <= MAX_QUERY_WORDS:
        return words
    seen: set[str] = set()
    for place, word in enumerate(words):
        seen.add(word)
        if len(seen) > MAX_QUERY_WORDS:
            return words[:place]
    return words


def require_question(query: Query) -> None:
    """Refuse a recall that asks nothing.

    Raises:
        InvalidInputError: There is no text, vector, entity, range, tag or filter.
    """
    if not query.asks and not query.filters:
        raise InvalidInputError(
            "nothing was asked; give text, a vector, entities, a range, tags or a filter, "
            "or use list_facts to see everything"
        )


def _check_anchors(value: object) -> Anchors:
    if value == "auto":
        return "auto"
    if value == "given":
        return "given"
    raise InvalidInputError(f'anchors is {shown(value)}; give "auto" or "given"')


def _check_sources(value: Collection[str]) -> frozenset[str]:
    names = None if isinstance(value, str) or not isinstance(value, Collection) else list(value)
    if not names or any(name not in SOURCES for name in names):
        raise InvalidInputError(
            f"sources is {shown(value)}; give at least one of {', '.join(SOURCES)}, as a list"
        )
    return frozenset(names)


def _check_weights(value: Mapping[str, float]) -> dict[str, float]:
    check_type(value, Mapping, "weights", "a mapping from sources to numbers")
    for name, weight in value.items():
        if name not in WEIGHED:
            raise InvalidInputError(f"weights has {shown(name)}; accepted are {', '.join(WEIGHED)}")
        number = _check_number(weight, f"weights[{name!r}]")
        if not 0 <= number <= MAX_WEIGHT:
            raise InvalidInputError(
                f"weights[{name!r}] is {shown(weight)}; give a number from 0 to {MAX_WEIGHT}"
            )
    return {name: float(weight) for name, weight in value.items()}


def check_reranker(value: object) -> Reranker:
    """Return a reranker.

    Raises:
        WrongTypeError: It has no method `rerank`.
    """
    if not isinstance(value, Reranker):
        raise WrongTypeError(
            f"reranker is {shown(value)} ({type(value).__name__}); give an object with a method "
            "rerank(question, texts)"
        )
    return value


def _check_share(value: object, name: str) -> float:
    number = _check_number(value, name)
    if not 0 <= number <= 1:
        raise InvalidInputError(f"{name} is {shown(value)}; give a number from 0 to 1")
    return number


def _check_flag(value: object, name: str) -> bool:
    if not isinstance(value, bool):
        raise WrongTypeError(
            f"{name} is {shown(value)} ({type(value).__name__}); give True or False"
        )
    return value


def _check_number(value: object, name: str) -> float:
    check_type(value, (int, float), name, "a number")
    assert isinstance(value, int | float)  # noqa: S101 - for the type checker; checked above
    if value != value:
        raise InvalidInputError(f"{name} is NaN; give a number")
    try:
        return float(value)
    except OverflowError:
        raise InvalidInputError(
            f"{name} is {shown(value)}, beyond floating point; give a smaller number"
        ) from None


def _check_range(value: object) -> tuple[int, int]:
    if not isinstance(value, tuple | list) or len(value) != 2:
        raise WrongTypeError(f"range is {shown(value)}; give a (from, to) pair of instants")
    start, end = to_ms(value[0], "range[0]"), to_ms(value[1], "range[1]")
    if start > end:
        raise InvalidInputError(
            f"range runs from {start} to {end}, backwards; give the earlier instant first"
        )
    return start, end
