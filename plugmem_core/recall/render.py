"""The prompt block of a recall, line for line the reference's, safe to put before a model."""

from collections.abc import Iterable, Sequence
from functools import lru_cache

from plugmem_core.clock import DAY_MS, to_datetime
from plugmem_core.index import MetEdges
from plugmem_core.model import Edge, RecalledFact

# One fact is one line: a line break in stored text, or a character that hides or reorders
# what follows it, is shown as its escape, so that no text can fake a heading or another fact.
_UNSAFE = [
    *(code for code in range(0x20) if code != 0x09),
    *range(0x7F, 0xA0),
    *(0x2028, 0x2029, 0x200E, 0x200F, 0x061C),
    *range(0x202A, 0x202F),
    *range(0x2066, 0x206A),
]
_ESCAPES = {code: f"\\u{code:04x}" for code in _UNSAFE} | {0x0A: "\\n", 0x0D: "\\r"}


HEADING = "## memory"


def render(facts: Sequence[RecalledFact], edges: Iterable[Edge]) -> str:
    """Return the block: a heading, a line a fact, a line an edge; empty for nothing."""
    lines = [*fact_lines(facts), *map(edge_line, edges)]
    return "\n".join([HEADING, *lines, ""]) if lines else ""


def render_met(facts: Sequence[RecalledFact], met: MetEdges) -> str:
    """Return the same block for edges as a recall met them."""
    lines = [*fact_lines(facts), *met_lines(met)]
    return "\n".join([HEADING, *lines, ""]) if lines else ""


def met_lines(met: MetEdges) -> list[str]:
    """Return the lines of edges as a recall met them.

    Popular edges are shown again and again, so their lines are kept for as long as no name
    changes.
    """
    lines = met.lines.of(met.ids)
    if lines is None:
        lines = [_edge_line(*ends) for ends in met.ends()]
        met.lines.keep(met.ids, lines)
    return lines


def fact_lines(facts: Sequence[RecalledFact]) -> list[str]:
    """Return the lines of facts."""
    return [
        _fact_line(fact.id, fact.text, fact.entity, fact.tags, fact.valid_from, fact.valid_to)
        for fact in facts
    ]


def fact_line(fact: RecalledFact) -> str:
    """Return the line of a fact."""
    return fact_lines([fact])[0]


def edge_line(edge: Edge) -> str:
    """Return the line of an edge."""
    return _edge_line(edge.src, edge.relation, edge.dst)


def tokens_of(line: str) -> int:
    """Return what a line costs: a quarter of its bytes and of the line break, rounded up."""
    return len(line.encode()) // 4 + 1


def escape(text: str) -> str:
    """Return text as it may stand inside a line of the block."""
    return text if text.isprintable() else text.translate(_ESCAPES)


# Popular facts are shown again and again.
@lru_cache(maxsize=16_384)
def _fact_line(
    fact: int,
    text: str,
    entity: str | None,
    tags: tuple[str, ...],
    valid_from: int,
    valid_to: int | None,
) -> str:
    since = _month(valid_from // DAY_MS)
    state = f"{since}; active"
    if valid_to is not None:
        state = f"{since} → {_month(valid_to // DAY_MS)}; closed"
    subject = "" if entity is None else f"{entity}: "
    labels = " #" + " #".join(tags) if tags else ""
    return escape(f"- [f{fact}] {subject}{text} ({state}){labels}")


def _edge_line(src: str, relation: str, dst: str) -> str:
    return escape(f"- links: {src} —{relation}→ {dst}")


@lru_cache(maxsize=4096)
def _month(day: int) -> str:
    moment = to_datetime(day * DAY_MS)
    return f"{moment.year:04d}-{moment.month:02d}"
