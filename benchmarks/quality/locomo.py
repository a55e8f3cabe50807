"""LoCoMo: conversations in sessions, and questions with the turns that answer them."""

import json
import re
from calendar import month_name
from collections.abc import Iterator, Mapping, Set
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NamedTuple

CATEGORIES = {1: "multi-hop", 2: "temporal", 3: "open-domain", 4: "single-hop", 5: "adversarial"}

_evidence = re.compile(r"D:?(\d+):(\d+)").findall
_moment = re.compile(r"(\d+):(\d+) ([ap])m on (\d+) (\w+), (\d+)").fullmatch
_months = [*month_name]  # English: Python's own, unless a program sets its locale


class Turn(NamedTuple):
    """What one speaker says; `at` is the start of its session, in Unix milliseconds.

    The caption of a picture that is shown belongs to the text, in brackets.
    """

    id: str
    speaker: str
    text: str
    session: int
    at: int


class Probe(NamedTuple):
    """A question about a conversation, and the ids of the turns that answer it."""

    text: str
    category: str
    gold: tuple[str, ...]


class Conversation(NamedTuple):
    """Turns in their order, and the questions about them."""

    id: str
    turns: list[Turn]
    probes: list[Probe]


def read_locomo(path: Path) -> list[Conversation]:
    """Read the conversations of a LoCoMo file; questions without evidence are left out.

    A few pieces of evidence are malformed (`D:11:26`, or two in one); whatever names the session
    and the number of a turn is taken.
    """
    found = []
    for number, one in enumerate(json.loads(path.read_text(encoding="utf-8"))):
        turns = list(_turns(one["conversation"]))
        known = {turn.id for turn in turns}
        probes = [_probe(asked, known) for asked in one["qa"]]
        name = one.get("sample_id") or str(number)
        found.append(Conversation(name, turns, [probe for probe in probes if probe.gold]))
    return found


def moment(text: str) -> int:
    """Return the Unix milliseconds of a session's date, read as UTC.

    >>> moment("1:56 pm on 8 May, 2023")
    1683554160000
    """
    found = _moment(text)
    if found is None:
        raise SystemExit(f"{text!r} is no date of a session")
    hour, minute, half, day, month, year = found.groups()
    clock = int(hour) % 12 + (12 if half == "p" else 0)
    at = datetime(int(year), _months.index(month), int(day), clock, int(minute), tzinfo=UTC)
    return int(at.timestamp()) * 1000


def _turns(conversation: Mapping[str, Any]) -> Iterator[Turn]:
    number = 1
    while f"session_{number}_date_time" in conversation:
        at = moment(conversation[f"session_{number}_date_time"])
        for turn in conversation.get(f"session_{number}", ()):
            caption = turn.get("blip_caption")
            text = f"{turn['text']} [image: {caption}]" if caption else turn["text"]
            yield Turn(turn["dia_id"], turn["speaker"], text, number, at)
        number += 1


def _probe(asked: Mapping[str, Any], known: Set[str]) -> Probe:
    pairs = [pair for piece in asked.get("evidence", ()) for pair in _evidence(piece)]
    named = dict.fromkeys(f"D{int(session)}:{int(turn)}" for session, turn in pairs)
    gold = tuple(turn for turn in named if turn in known)
    return Probe(asked["question"], CATEGORIES[asked["category"]], gold)
