"""Questions about a span of years: recall by text alone, and with a filter on years.

Each paragraph, or each sentence of one, is a memory with the first and the last year it
mentions; what mentions none takes the last year that its page mentioned before.
"""

import re
from collections.abc import Mapping, Sequence
from itertools import groupby
from pathlib import Path
from statistics import fmean
from typing import Any, Literal, NamedTuple, TypeAlias

from benchmarks.datasets import Asked, Dataset, Passage, sentences
from benchmarks.multihop import BATCH, CONFIG, NOW, Unit
from benchmarks.outcomes import Outcomes
from plugmem_core.embed import Embedder
from plugmem_core.service import MemoryService, Predicate, memory_id
from plugmem_core.service.predicates import PredicateLike

Scope: TypeAlias = Literal["collection", "page"]
Years: TypeAlias = Literal["any", "begins", "meets"]

SCOPES: tuple[Scope, ...] = ("collection", "page")
MODES: tuple[tuple[str, Literal["fused", "vector"]], ...] = (
    ("vectors", "vector"),
    ("words and vectors", "fused"),
)

_years = re.compile(r"\b(?:1[6-9]|20)\d\d\b").findall

SUFFIXES: tuple[tuple[str, Years], ...] = (
    ("", "any"),
    (", begins in span", "begins"),
    (", meets span", "meets"),
)


class Span(NamedTuple):
    """Two years, and those between them."""

    first: int
    last: int


class Arm(NamedTuple):
    """A way to answer questions: what ranks, and which years a memory has to have."""

    name: str
    mode: Literal["fused", "vector"]
    years: Years
    base: str


ARMS = tuple(
    Arm(f"{name}{suffix}", mode, years, name if suffix else "vectors")
    for name, mode in MODES
    for suffix, years in SUFFIXES
)
BASES = {arm.name: arm.base for arm in ARMS if arm.name != arm.base}


def years_of(text: str) -> Span | None:
    """Return the first and the last year, from 1600 to 2099, of a text.

    >>> years_of("He served from 1998 to 2004."), years_of("He served.")
    (Span(first=1998, last=2004), None)
    """
    years = [int(year) for year in _years(text)]
    return Span(min(years), max(years)) if years else None


def predicates(years: Years, span: Span) -> list[PredicateLike]:
    """Return what a memory's years have to meet."""
    match years:
        case "begins":
            return [Predicate("first", "ge", span.first), Predicate("first", "le", span.last)]
        case "meets":
            return [Predicate("first", "le", span.last), Predicate("last", "ge", span.first)]
        case _:
            return []


def run_timespans(
    dataset: Dataset, unit: Unit, scope: Scope, embedder: Embedder, k: int, folder: Path
) -> Outcomes:
    """Ask every question that names a year, in every arm.

    Args:
        dataset: Passages, in the order of their pages, and questions.
        unit: What is a memory.
        scope: Whether a question is asked of all pages or of the one that answers it.
        embedder: Makes vectors.
        k: Memories of one answer.
        folder: Where the file is made.
    """
    memories = _memories(dataset.passages, unit)
    facts = [{"fact": text, "metadata": one.metadata} for text, one in memories.items()]
    passages_of = {memory_id(text): one.passages for text, one in memories.items()}
    page_of = {passage.id: passage.title for passage in dataset.passages}
    asked = [(one, span) for one in dataset.questions if (span := years_of(one.text))]
    outcomes = Outcomes(bases=BASES, about=_about(memories, asked))
    with MemoryService.open(
        folder / "memory.db", embedder=embedder, config=CONFIG, clock=lambda: NOW
    ) as service:
        for start in range(0, len(facts), BATCH):
            service.remember_many(facts[start : start + BATCH])
        for question, span in asked:
            within = _page(question, page_of) if scope == "page" else []
            for arm in ARMS:
                given = [*within, *predicates(arm.years, span)]
                found = service.recall_where(question.text, given, k, mode=arm.mode)
                passages = set[str]().union(*(passages_of[one.id] for one in found))
                outcomes.add(arm.name, passages, question.gold)
    return outcomes


class _Memory(NamedTuple):
    """What is stored beside a text, and the passages that have it."""

    metadata: dict[str, Any]
    span: Span | None
    passages: set[str]


def _memories(passages: Sequence[Passage], unit: Unit) -> dict[str, _Memory]:
    """Return memories by text; one that comes again keeps the page and the years it had."""
    found: dict[str, _Memory] = {}
    for title, page in groupby(passages, key=lambda passage: passage.title):
        latest: Span | None = None
        for passage in page:
            whole = f"{title}\n{passage.text}"
            for text in [whole] if unit == "passages" else sentences(passage.text):
                span = years_of(text) or latest
                latest = span and Span(span.last, span.last)
                metadata = {"page": title, **(span._asdict() if span else {})}
                memory = found.setdefault(text, _Memory(metadata, span, set()))
                memory.passages.add(passage.id)
    return found


def _about(memories: Mapping[str, _Memory], asked: Sequence[tuple[Asked, Span]]) -> dict[str, Any]:
    """Return how much there is, and which share of the right passages a filter lets through."""
    spans: dict[str, list[Span]] = {}
    for memory in memories.values():
        if memory.span is not None:
            for passage in memory.passages:
                spans.setdefault(passage, []).append(memory.span)
    through = Outcomes()
    for question, asked_span in asked:
        for years, passes in (("begins", _begins), ("meets", _meets)):
            found = {
                passage
                for passage in question.gold
                if any(passes(span, asked_span) for span in spans.get(passage, []))
            }
            through.add(years, found, question.gold)
    undated = sum(memory.span is None for memory in memories.values())
    shares = {
        f"of the right passages {years} span": f"{fmean(shares):.0%}"
        for years, shares in through.shares.items()
    }
    return {"memories": len(memories), "without a year": undated, **shares}


def _begins(span: Span, asked: Span) -> bool:
    return asked.first <= span.first <= asked.last


def _meets(span: Span, asked: Span) -> bool:
    return span.first <= asked.last and span.last >= asked.first


def _page(question: Asked, page_of: dict[str, str]) -> list[PredicateLike]:
    title = page_of[min(question.gold)]
    return [Predicate("page", "eq", title)]
