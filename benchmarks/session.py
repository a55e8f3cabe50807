"""A session of an agent: prose by hand, logs and tables by a seeded generator.

`session/transcript.txt` has the turns, with lines such as `{{import_log 1 110}}` where a tool
printed something long, and `session/facts.txt` what must not get lost of it.
"""

import random
import re
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from functools import cache
from pathlib import Path
from typing import NamedTuple

HERE = Path(__file__).parent / "session"
GAUGES = ("G-017", "G-023", "G-031", "G-044")

_directive = re.compile(r"^\{\{(\w+)(.*)\}\}$", re.MULTILINE)
_turn = re.compile(r"^(?=User:)", re.MULTILINE)


class Turn(NamedTuple):
    """What has been said up to the answer to a question, and that question."""

    question: str
    transcript: str


def turns() -> list[Turn]:
    """Return the turns; the transcript of each begins with those before it."""
    system, *said = _turn.split(_whole())
    found = []
    transcript = system
    for one in said:
        transcript += one
        found.append(Turn(one.splitlines()[0].removeprefix("User:").strip(), transcript))
    return found


def facts() -> list[str]:
    """Return the statements of the session that must be found again."""
    return _read("facts.txt").splitlines()


@cache
def _whole() -> str:
    return _directive.sub(_printed, _read("transcript.txt"))


def _printed(found: re.Match[str]) -> str:
    return "\n".join(PRINTERS[found[1]](*found[2].split()))


def _file(name: str) -> Iterator[str]:
    yield from _read(name).splitlines()


def _import_log(seed: str, lines: str) -> Iterator[str]:
    rng = random.Random(int(seed))
    at = datetime(2026, 3, 14, 1, 7, tzinfo=UTC)
    for _ in range(int(lines)):
        at += timedelta(seconds=rng.randint(0, 40))
        gauge = rng.choice(GAUGES)
        message = rng.choices(
            (
                f"INFO harbour.importer gauge {gauge} page {rng.randint(1, 4)} fetched, 200 frames",
                f"INFO harbour.importer gauge {gauge} mark moved",
                f"WARNING harbour.importer {gauge} page 4 timed out, attempt {rng.randint(0, 4)}",
                "DEBUG harbour.tables pool has 3 of 8 connections in use",
                f"INFO harbour.importer gauge {gauge} run done",
            ),
            (5, 2, 2, 6, 2),
        )[0]
        yield f"{at:%Y-%m-%dT%H:%M:%SZ} {message}"


def _deploy_log(seed: str, lines: str) -> Iterator[str]:
    rng = random.Random(int(seed))
    at = datetime(2026, 3, 16, 8, 50, tzinfo=UTC)
    for number in range(int(lines)):
        at += timedelta(seconds=rng.randint(0, 3))
        step = rng.choice(("layer already exists", "waiting for rollout, 0 of 2 pods ready"))
        yield f"{at:%Y-%m-%dT%H:%M:%SZ} deploy {step if number % 7 else f'step {number // 7 + 1}'}"


def _access_log(seed: str, lines: str) -> Iterator[str]:
    rng = random.Random(int(seed))
    at = datetime(2026, 3, 16, 9, 0, tzinfo=UTC)
    slow = int(lines) // 2
    for number in range(int(lines)):
        at += timedelta(seconds=rng.randint(5, 40))
        seconds = 11.4 if number == slow else rng.randint(2, 69) / 10
        request = "7d31e0" if number == slow else f"{rng.getrandbits(24):06x}"
        yield (
            f"{at:%Y-%m-%dT%H:%M:%SZ} GET /frames/{rng.choice(GAUGES)}?page={rng.randint(1, 4)} "
            f"200 {seconds:.1f}s rq-{request}"
        )


def _test_run(seed: str, outcome: str) -> Iterator[str]:
    rng = random.Random(int(seed))
    broken = ("test_a_frame_sent_again_is_one_row", "test_a_lost_page_leaves_the_mark")
    names = [
        f"test_{what}_{how}_{number}"
        for what in ("frames", "marks", "pages", "reports")
        for how in ("of_one_gauge", "across_midnight", "with_flags")
        for number in range(1, 6)
    ]
    for name in (*names, *broken):
        status = "FAILED" if outcome == "failing" and name in broken else "PASSED"
        yield f"tests/importer/test_runs.py::{name} {status}"
        if rng.random() < 0.4:
            yield "  warning: naive datetime compared, falling back to UTC"
    failed = len(broken) if outcome == "failing" else 0
    yield f"{len(names) + len(broken) - failed} passed, {failed} failed"


def _rows(seed: str, lines: str) -> Iterator[str]:
    rng = random.Random(int(seed))
    at = datetime(2026, 3, 14, 0, 0, tzinfo=UTC)
    yield "gauge | taken_at | received_at | level_mm"
    for number in range(int(lines) // 2):
        at += timedelta(minutes=10)
        level = 1388 if number == 15 else rng.randint(1100, 1700)
        gauge = "G-017" if number == 15 else rng.choice(GAUGES)
        for again in range(2):
            received = at + timedelta(seconds=20 + 300 * again + rng.randint(0, 9))
            shown = level + 3 * again if number == 15 else level
            yield f"{gauge} | {at.isoformat()} | {received.isoformat()} | {shown}"


def _counts() -> Iterator[str]:
    yield "gauge | pairs | pairs that disagree"
    for gauge, pairs, differing in zip(GAUGES, (803, 377, 201, 31), (6, 2, 1, 0), strict=True):
        yield f"{gauge} | {pairs} | {differing}"


def _read(name: str) -> str:
    return (HERE / name).read_text(encoding="utf-8")


PRINTERS: dict[str, Callable[..., Iterator[str]]] = {
    "file": _file,
    "import_log": _import_log,
    "deploy_log": _deploy_log,
    "access_log": _access_log,
    "test_run": _test_run,
    "rows": _rows,
    "counts": _counts,
}
