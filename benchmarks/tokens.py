"""What the context compiler saves on a session, turn by turn, and whether anything gets lost."""

import os
import time
from collections.abc import Callable, Sequence
from importlib.util import find_spec
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

from benchmarks.outcomes import print_head, print_row
from benchmarks.session import Turn, facts, turns
from plugmem_core import Memory
from plugmem_core.context import (
    CompiledContext,
    ContextCompiler,
    ContextDesk,
    Estimator,
    HeuristicEstimator,
    Policy,
    TokenizerEstimator,
)

BUDGETS = (2_000, 4_000, 8_000)
REPEATS = 10
CL100K_FILE = "9b5ad71b2ce5302211f9c61530b329a4922fc6a4"  # as tiktoken names it in its cache


class Kind(NamedTuple):
    """A way to compile: how tokens are counted, and whether timestamps make log lines differ."""

    name: str
    estimator: Estimator
    policy: Policy


class Compile(NamedTuple):
    """One compile of one turn.

    Attributes:
        tokens_in: Of the transcript.
        tokens_out: Of the context.
        inline: Facts of the transcript that the context has.
        by_handle: Other facts that a handle of the result leads to.
        lost: Facts that nothing leads to.
        risk: What the compiler says about losses.
        prefix: The cached section.
        milliseconds: How long it took with its sources stored, and without a store.
    """

    tokens_in: int
    tokens_out: int
    inline: int
    by_handle: int
    lost: int
    risk: str
    prefix: str
    milliseconds: tuple[float, float]


def find_cl100k() -> Estimator | None:
    """Return the cl100k tokenizer if its data is on this machine, without asking the network.

    Where `TIKTOKEN_CACHE_DIR` does not say, it is looked for where llama-index-core ships it.
    """
    if find_spec("tiktoken") is None:
        return None
    folders = [os.environ.get("TIKTOKEN_CACHE_DIR"), _shipped_cache()]
    folder = next((one for one in folders if one and Path(one, CL100K_FILE).is_file()), None)
    if folder is None:
        return None
    os.environ["TIKTOKEN_CACHE_DIR"] = folder
    import tiktoken

    return TokenizerEstimator(tiktoken.get_encoding("cl100k_base"))


def run_tokens(
    session: Sequence[Turn],
    expected: Sequence[str],
    kind: Kind,
    budget: int,
    count: Callable[[str], int],
) -> list[Compile]:
    """Compile each turn of a session, the transcript so far for the question it begins with.

    Args:
        session: The turns.
        expected: Facts; one is due from the turn on whose transcript has it.
        kind: How to compile.
        budget: Most tokens, as the estimator of the kind counts them.
        count: Counts what is reported.
    """
    compiler = ContextCompiler(estimator=kind.estimator, policy=kind.policy)
    with Memory.open(":memory:") as memory:
        desk = ContextDesk(memory, compiler=compiler)
        return [_compile(turn, expected, desk, compiler, budget, count) for turn in session]


def is_deterministic(turn: Turn, kind: Kind, budget: int) -> bool:
    """Return whether repeated compiles, each by a new compiler, give the same bytes."""
    dumps = {
        ContextCompiler(estimator=kind.estimator, policy=kind.policy)
        .compile_transcript(_request(turn, budget))
        .model_dump_json()
        for _ in range(REPEATS)
    }
    return len(dumps) == 1


def report() -> dict[str, Any]:
    """Compile the session in every way, print the tables, and return them as plain values.

    Raises:
        SystemExit: A fact got lost, or a repeated compile gave other bytes.
    """
    cl100k = find_cl100k()
    heuristic = HeuristicEstimator()
    kinds = [
        Kind("estimate", heuristic, Policy()),
        Kind("estimate, timestamps masked", heuristic, Policy(normalize_log_timestamps=True)),
    ]
    if cl100k is not None:
        masked = Policy(normalize_log_timestamps=True)
        kinds.append(Kind("cl100k, timestamps masked", cl100k, masked))
    counter = cl100k or heuristic
    session, expected = turns(), facts()
    compiles = {
        kind.name: {
            budget: run_tokens(session, expected, kind, budget, counter.estimate)
            for budget in BUDGETS
        }
        for kind in kinds
    }
    same = all(is_deterministic(session[-1], kind, budget) for kind in kinds for budget in BUDGETS)
    unit = "estimated" if cl100k is None else "cl100k"
    _print_turns(compiles[kinds[0].name], unit)
    _print_kinds(compiles, unit)
    lost = sum(
        one.lost for budgets in compiles.values() for done in budgets.values() for one in done
    )
    print(f"\n{len(expected)} facts; lost: {lost}; equal bytes in {REPEATS} repeats: {same}")
    if lost or not same:
        raise SystemExit("the compiler lost a fact, or is not deterministic")
    return {
        "counted": unit,
        "compiles": {
            name: {budget: [one._asdict() for one in done] for budget, done in budgets.items()}
            for name, budgets in compiles.items()
        },
    }


def _compile(
    turn: Turn,
    expected: Sequence[str],
    desk: ContextDesk,
    compiler: ContextCompiler,
    budget: int,
    count: Callable[[str], int],
) -> Compile:
    request = _request(turn, budget)
    start = time.perf_counter()
    context = desk.compile_transcript(request).context
    stored = time.perf_counter()
    compiler.compile_transcript(request)
    done = time.perf_counter()
    said, kept = _plain(turn.transcript), _plain(context.content)
    due = [fact for fact in map(_plain, expected) if fact in said]
    absent = [fact for fact in due if fact not in kept]
    sources = [_plain(desk.retrieve_context_source(one).content) for one in _handles(context)]
    lost = sum(not any(fact in source for source in sources) for fact in absent)
    return Compile(
        tokens_in=count(turn.transcript),
        tokens_out=count(context.content),
        inline=len(due) - len(absent),
        by_handle=len(absent) - lost,
        lost=lost,
        risk=context.risk,
        prefix=next((part.content for part in context.sections if part.kind == "cache"), ""),
        milliseconds=(1e3 * (stored - start), 1e3 * (done - stored)),
    )


def _request(turn: Turn, budget: int) -> dict[str, Any]:
    return {"query": turn.question, "transcript": turn.transcript, "token_budget": budget}


def _handles(context: CompiledContext) -> list[str]:
    """Return the handles of what is not wholly in the context, and of logs, which are abstracted.

    What is wholly there needs none, and is not looked up.
    """
    source_of = {one.fragment_id: one.handle for one in context.sources}
    return [
        one.handle or source_of[one.fragment_id]
        for one in context.decisions
        if one.handle is not None or one.action == "abstract"
    ]


def _plain(text: str) -> str:
    return " ".join(text.lower().split())


def _print_turns(budgets: dict[int, list[Compile]], unit: str) -> None:
    print(f"\nContext compiler: {unit} tokens of the transcript and of contexts, by turn\n")
    print_head("turn", "transcript", *(f"budget {budget:,}" for budget in budgets))
    for number, compiles in enumerate(zip(*budgets.values(), strict=True), start=1):
        cells = (f"{one.tokens_out:,} (−{_saved([one]):.0f} %)" for one in compiles)
        print_row(number, f"{compiles[0].tokens_in:,}", *cells)
    totals = (
        f"{sum(one.tokens_out for one in done):,} (−{_saved(done):.0f} %)"
        for done in budgets.values()
    )
    print_row("all", f"{sum(one.tokens_in for one in next(iter(budgets.values()))):,}", *totals)


def _print_kinds(compiles: dict[str, dict[int, list[Compile]]], unit: str) -> None:
    print(f"\nAll turns together, {unit} tokens\n")
    print_head(
        "counted by",
        "budget",
        "saved",
        "facts inline",
        "by handle",
        "lost",
        "turns at high risk",
        "equal prefixes",
        "ms, stored",
        "ms",
    )
    for name, budgets in compiles.items():
        for budget, done in budgets.items():
            print_row(name, f"{budget:,}", f"{_saved(done):.1f} %", *_cells(done))


def _cells(done: Sequence[Compile]) -> list[str]:
    pairs = list(pairwise(done))
    equal = sum(one.prefix == other.prefix for one, other in pairs)
    means = [
        sum(times) / len(done) for times in zip(*(one.milliseconds for one in done), strict=True)
    ]
    return [
        str(sum(one.inline for one in done)),
        str(sum(one.by_handle for one in done)),
        str(sum(one.lost for one in done)),
        f"{sum(one.risk == 'high' for one in done)} of {len(done)}",
        f"{equal} of {len(pairs)}",
        *(f"{mean:.1f}" for mean in means),
    ]


def _saved(done: Sequence[Compile]) -> float:
    """Return the percentage of tokens that are saved."""
    return 100 * (1 - sum(one.tokens_out for one in done) / sum(one.tokens_in for one in done))


def _shipped_cache() -> str | None:
    if find_spec("llama_index") is None:
        return None
    spec = find_spec("llama_index.core")
    return (
        str(Path(spec.origin).parent / "_static" / "tiktoken_cache")
        if spec and spec.origin
        else None
    )
