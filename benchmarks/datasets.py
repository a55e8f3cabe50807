"""Collections in a folder, in the BEIR format: passages, questions, and what answers them."""

import json
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

LEAST = 25  # characters of a sentence; "St." is none
JUDGEMENTS = ("qrels.tsv", "qrels/test.tsv")

_end_of_sentence = re.compile(r"(?<=[.!?])\s+")


class Passage(NamedTuple):
    """A passage of a collection."""

    id: str
    title: str
    text: str


class Asked(NamedTuple):
    """A question, and how well the passages answer it that do: grades above 0 by their ids."""

    id: str
    text: str
    category: str
    grades: Mapping[str, int]

    @property
    def gold(self) -> frozenset[str]:
        """The ids of the passages that answer it."""
        return frozenset(self.grades)


class Dataset(NamedTuple):
    """A collection, as its files have it."""

    passages: list[Passage]
    questions: list[Asked]


def read_dataset(folder: Path) -> Dataset:
    """Read `corpus.jsonl`, `queries.jsonl`, and `qrels.tsv` or `qrels/test.tsv` of a folder.

    A line of judgements has a question, a passage and a grade, with tabs between; a head line
    is passed over. Questions without any passage that answers them are left out.

    Raises:
        SystemExit: A file is missing, or has something else.
    """
    grades = _read_grades(folder)
    passages = [
        Passage(str(one["_id"]), one.get("title") or "", one["text"])
        for one in _json_lines(folder / "corpus.jsonl")
    ]
    questions = [
        Asked(str(one["_id"]), one["text"], one.get("category") or "", grades[str(one["_id"])])
        for one in _json_lines(folder / "queries.jsonl")
        if str(one["_id"]) in grades
    ]
    return Dataset(passages, questions)


def sentences(text: str) -> list[str]:
    """Return the sentences of a text; too short ones belong to the one before.

    >>> sentences("He was born in St. Louis in 1901. He never left the old town.")
    ['He was born in St. Louis in 1901.', 'He never left the old town.']
    """
    found: list[str] = []
    for piece in _end_of_sentence.split(text.strip()):
        if found and min(len(piece), len(found[-1])) < LEAST:
            found[-1] = f"{found[-1]} {piece}"
        else:
            found.append(piece)
    return [one for one in found if one]


def _read_grades(folder: Path) -> dict[str, dict[str, int]]:
    path = next((folder / name for name in JUDGEMENTS if (folder / name).exists()), None)
    if path is None:
        raise SystemExit(f"{folder} has neither {' nor '.join(JUDGEMENTS)}")
    grades: dict[str, dict[str, int]] = {}
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines()):
        cells = line.split("\t")
        if len(cells) != 3 or not re.fullmatch(r"-?\d+", cells[2].strip()):
            if number == 0 or not line.strip():
                continue
            raise SystemExit(
                f"{path}, line {number + 1}: {line[:80]!r} is not question, passage and grade "
                "with tabs between"
            )
        question, passage, grade = cells
        if int(grade) > 0:
            grades.setdefault(question, {})[passage] = int(grade)
    return grades


def _json_lines(path: Path) -> Iterator[dict[str, Any]]:
    try:
        lines = path.read_text(encoding="utf-8").split("\n")
    except FileNotFoundError:
        raise SystemExit(f"{path} is missing") from None
    for number, line in enumerate(lines):
        if not line.strip():
            continue
        try:
            one = json.loads(line)
            one["_id"], one["text"]
        except (ValueError, LookupError, TypeError):
            raise SystemExit(
                f"{path}, line {number + 1}: {line[:80]!r} is no JSON object with _id and text"
            ) from None
        yield one
