"""Collections in a folder: passages with titles, questions, and which passages answer them."""

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

LEAST = 25  # characters of a sentence; "St." is none

_end_of_sentence = re.compile(r"(?<=[.!?])\s+")


class Passage(NamedTuple):
    """A passage of a collection."""

    id: str
    title: str
    text: str


class Asked(NamedTuple):
    """A question, and the ids of the passages that are needed to answer it."""

    id: str
    text: str
    category: str
    gold: frozenset[str]


class Dataset(NamedTuple):
    """A collection, as its files have it."""

    passages: list[Passage]
    questions: list[Asked]


def read_dataset(folder: Path) -> Dataset:
    """Read `corpus.jsonl`, `queries.jsonl` and `qrels.tsv` of a folder.

    Questions without any passage that answers them are left out.
    """
    gold: dict[str, set[str]] = {}
    for line in (folder / "qrels.tsv").read_text(encoding="utf-8").splitlines():
        question, passage, grade = line.split("\t")
        if int(grade) > 0:
            gold.setdefault(question, set()).add(passage)
    passages = [
        Passage(one["_id"], one["title"], one["text"])
        for one in _json_lines(folder / "corpus.jsonl")
    ]
    questions = [
        Asked(one["_id"], one["text"], one.get("category", ""), frozenset(gold[one["_id"]]))
        for one in _json_lines(folder / "queries.jsonl")
        if one["_id"] in gold
    ]
    return Dataset(passages, questions)


def sentences(text: str) -> list[str]:
    """Return the sentences of a text; too short ones belong to the one before.

    >>> sentences("He was born in St. Louis in 1901. He never left the town.")
    ['He was born in St. Louis in 1901.', 'He never left the town.']
    """
    found: list[str] = []
    for piece in _end_of_sentence.split(text.strip()):
        if found and min(len(piece), len(found[-1])) < LEAST:
            found[-1] = f"{found[-1]} {piece}"
        else:
            found.append(piece)
    return [one for one in found if one]


def _json_lines(path: Path) -> Iterator[dict[str, str]]:
    with path.open(encoding="utf-8") as lines:
        for line in lines:
            yield json.loads(line)
