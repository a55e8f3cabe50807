"""Collections of documents and questions in one form, whatever their files look like."""

from collections.abc import Iterator, Mapping
from itertools import chain
from pathlib import Path
from typing import NamedTuple

from benchmarks.datasets import Passage, read_dataset
from benchmarks.quality.locomo import Conversation, read_locomo

LOCOMO = "locomo.json"
SAID_AT = 1_767_225_600_000  # undated documents are all said at once: none is newer
AFTER = 60_000  # milliseconds between the last document and the questions


class Document(NamedTuple):
    """What can be found.

    Attributes:
        id: Its own, within its space.
        text: What is indexed and embedded, by every system.
        entity: Who says it, or what it is about: its title.
        space: The conversation it is of; questions see their own only.
        session: The session of a conversation.
        at: When it was said, in Unix milliseconds.
    """

    id: str
    text: str
    entity: str | None = None
    space: str = ""
    session: str | None = None
    at: int = SAID_AT


class Question(NamedTuple):
    """What is asked.

    Attributes:
        text: The question.
        grades: How well documents answer it that do, above 0, by their ids.
        category: Its kind; empty where there are none.
        space: The conversation it is about.
        now: When it is asked, in Unix milliseconds.
        apart: Whether it is counted by its category only.
    """

    text: str
    grades: Mapping[str, int]
    category: str = ""
    space: str = ""
    now: int = SAID_AT + AFTER
    apart: bool = False


class Collection(NamedTuple):
    """Documents and questions; documents of a space are in the order they were said in."""

    name: str
    documents: list[Document]
    questions: list[Question]


def find_collections(folder: Path) -> list[Path]:
    """Return the folders under one that hold a collection, or itself; in order of names.

    Raises:
        SystemExit: There is none.
    """
    found = [one for one in (folder, *sorted(folder.glob("*/"))) if _is_collection(one)]
    if not found:
        raise SystemExit(f"{folder} has no collection: no {LOCOMO}, and no corpus.jsonl")
    return found


def read_collection(folder: Path) -> Collection:
    """Read a folder: LoCoMo's one file, or the three of the BEIR format."""
    name = folder.resolve().name
    if (folder / LOCOMO).exists():
        conversations = read_locomo(folder / LOCOMO)
        documents = list(chain.from_iterable(map(_turns, conversations)))
        questions = list(chain.from_iterable(map(_probes, conversations)))
        return Collection(name, documents, questions)
    dataset = read_dataset(folder)
    return Collection(
        name,
        [_document(passage) for passage in dataset.passages],
        [Question(one.text, one.grades, one.category) for one in dataset.questions],
    )


def _is_collection(folder: Path) -> bool:
    return (folder / LOCOMO).exists() or (folder / "corpus.jsonl").exists()


def _document(passage: Passage) -> Document:
    text = f"{passage.title}. {passage.text}" if passage.title else passage.text
    return Document(passage.id, text, passage.title or None)


def _turns(conversation: Conversation) -> Iterator[Document]:
    for turn in conversation.turns:
        yield Document(
            turn.id,
            f"{turn.speaker}: {turn.text}",
            turn.speaker,
            conversation.id,
            str(turn.session),
            turn.at,
        )


def _probes(conversation: Conversation) -> Iterator[Question]:
    now = max(turn.at for turn in conversation.turns) + AFTER
    for probe in conversation.probes:
        grades = dict.fromkeys(probe.gold, 1)
        apart = probe.category == "adversarial"
        yield Question(probe.text, grades, probe.category, conversation.id, now, apart)
