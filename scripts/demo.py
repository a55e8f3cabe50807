"""A tour of plugmem-core: real text in, the right answer for every date out.

    python scripts/demo.py                      the repository's documents, and a year of a chat
    python scripts/demo.py --docs PATH          your own Markdown, text and JSONL chats
    python scripts/demo.py --docs PATH --ask "…"

Needs no key and no network: LangChain's parrot, which repeats the last message, stands
in for a chat model. The chat is remembered on the dates it was written, by a clock that
is moved along, so both clocks of a fact are real: when it was true, and when it was learned.
"""

import argparse
import io
import sys
import tempfile
import textwrap
from collections import Counter
from operator import itemgetter
from pathlib import Path
from typing import Any

from langchain_core.documents import Document
from langchain_core.language_models.fake_chat_models import ParrotFakeChatModel
from langchain_core.output_parsers import StrOutputParser
from langchain_core.prompts import ChatPromptTemplate
from langchain_core.runnables import ConfigurableField, Runnable, RunnablePassthrough
from sources import Piece, read_sources

from langchain_plugmem import PlugmemRetriever
from plugmem_core import InvalidInputError, Memory, MemoryConfig
from plugmem_core.clock import system_clock, to_datetime

ROOT = Path(__file__).parent.parent
REPOSITORY = [ROOT / "README.md", ROOT / "docs", ROOT / "notebooks" / "data" / "chat.jsonl"]

HOME = "Where does Nora live?"
BREAD = "Which bakery does our bread come from?"
ABOUT_DOCS = "How do I open a memory?"

PROMPT = ChatPromptTemplate.from_messages(
    [
        ("system", "Answer the question from the note that follows it."),
        ("human", "{question}"),
        ("human", "{note}"),
    ]
)

Chain = Runnable[dict[str, str], str]


class MovedClock:
    """Stands at `now` while that is set, and else runs with the system."""

    def __init__(self) -> None:
        self.now: int | None = None

    def __call__(self) -> int:
        """Return Unix milliseconds."""
        return system_clock() if self.now is None else self.now


def main() -> int:
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="replace")  # whatever the terminal can show
    options = parse_options()
    if options.docs and not options.docs.exists():
        print(f"{options.docs} does not exist; give a folder or a file", file=sys.stderr)
        return 2
    pieces, notes = read_sources([options.docs.resolve()] if options.docs else REPOSITORY)
    clock = MovedClock()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "demo.plugmem")
        # A lost demo can be run again, so it need not wait for the disk at every message.
        config = MemoryConfig(durability="normal")
        with Memory.open(path, config=config, clock=clock) as memory:
            notes += remember(memory, clock, pieces)
            show_loaded(pieces, notes)
            if not memory.stats().current:
                print(f"\nNothing to remember in {options.docs}.", file=sys.stderr)
                return 1
            if options.docs or options.ask:
                show_own(memory, make_chain(memory), options.ask or questions_about(pieces))
            else:
                show_tour(memory, make_chain(memory))
    return 0


def parse_options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="A tour of plugmem-core.")
    parser.add_argument("--docs", type=Path, help="a folder or a file of your own")
    parser.add_argument("--ask", action="append", default=[], help="a question; may be repeated")
    return parser.parse_args()


def remember(memory: Memory, clock: MovedClock, pieces: list[Piece]) -> list[str]:
    """Store messages on their dates, oldest first, then what has no date; return notes."""
    notes = []
    today = system_clock()
    for piece in sorted(pieces, key=lambda piece: piece.time or today):
        clock.now = piece.time if piece.time and piece.time < today else None
        metadata = {"source": piece.source, "heading": piece.heading}
        try:
            memory.remember(
                piece.text,
                entity=piece.entity,
                tags=["docs" if piece.time is None else "chat"],
                metadata={name: value for name, value in metadata.items() if value},
                valid_from=piece.valid_from,
                key=piece.key,
            )
        except InvalidInputError as problem:
            notes.append(f"{piece.source}: a piece was skipped, {problem}")
    clock.now = None
    return notes


def make_chain(memory: Memory) -> Chain:
    """Return question → retriever → prompt → model → answer; clocks and tags are configurable."""
    settings = ("as_of", "valid_at", "known_at", "tags")
    retriever = PlugmemRetriever(memory=memory, k=1).configurable_fields(
        **{name: ConfigurableField(id=name) for name in settings}
    )
    note = itemgetter("question") | retriever | best_note
    # With a model that writes, raise k and join all notes.
    model = ParrotFakeChatModel()
    return RunnablePassthrough.assign(note=note) | PROMPT | model | StrOutputParser()


def best_note(documents: list[Document]) -> str:
    if not documents:
        return "The notes do not say."
    return f"{documents[0].page_content} ({documents[0].metadata['source']})"


# -- what is printed


def show_loaded(pieces: list[Piece], notes: list[str]) -> None:
    title("What was remembered")
    files = Counter(piece.source for piece in pieces)
    show_some([f"{count:5}  {source}" for source, count in files.items()])
    show_some([f"note: {note}" for note in notes])


def show_some(lines: list[str], most: int = 16) -> None:
    for line in lines[:most]:
        print(f"  {line}")
    if len(lines) > most:
        print(f"  … and {len(lines) - most} more")


def show_tour(memory: Memory, chain: Chain) -> None:
    show_two_dates(chain)
    show_two_clocks(chain)
    show_explanation(memory, HOME)
    show_block(memory, "When is the house meeting?")
    title("And from the documents")
    print(f"  {ABOUT_DOCS}\n    {ask(chain, ABOUT_DOCS, tags=['docs'])}")


def show_own(memory: Memory, chain: Chain, questions: list[str]) -> None:
    title("Questions, answered through the chain")
    for question in questions:
        print(f"  {question}\n    {ask(chain, question)}")
    show_explanation(memory, questions[0])
    show_block(memory, questions[0])
    show_change(memory)


def show_two_dates(chain: Chain) -> None:
    title("One question, two dates")
    print(f"  {HOME}")
    for day in ("2024-03-01", "2024-09-01"):
        print(f"    as of {day}: {ask(chain, HOME, as_of=day)}")


def show_two_clocks(chain: Chain) -> None:
    title("One date, two clocks")
    print("  The bakery changed on 1 September; the house learned it on 12 September.")
    print(f"  {BREAD}")
    day = "2024-09-05"
    print(f"    on {day}, as we know today: {ask(chain, BREAD, valid_at=day)}")
    print(f"    on {day}, as we knew then:  {ask(chain, BREAD, valid_at=day, known_at=day)}")


def show_explanation(memory: Memory, question: str) -> None:
    title(f"Why this fact? {question}")
    result = memory.recall(question, k=1, explain=True)
    if result.explanation is None or not result.facts:
        print("  nothing was found")
        return
    [fact], [explained] = result.facts, result.explanation.facts
    print(f"  [f{fact.id}] {brief(fact.text)}")
    for source, rank, raw, contribution in explained.evidence:
        print(f"    {source:6} rank {rank}, raw score {raw:.3f}, adds {contribution:.5f}")
    print(f"    recency multiplies by {explained.boost:.4f}: final score {explained.score:.5f}")
    if fact.revises is not None:
        absence = memory.explain_absent(fact.revises, question, k=1)
        print(f"  and not [f{fact.revises}]: {absence.reason}, {absence.detail}")


def show_block(memory: Memory, question: str) -> None:
    title(f"The block for a prompt: {question}")
    print(textwrap.indent(memory.recall(question, k=4).rendered, "  "), end="")


def show_change(memory: Memory) -> None:
    """Show how one statement that was replaced has changed."""
    page = memory.list_facts(closed=True, limit=1_000)
    closed = [fact for fact in page.facts if not fact.is_current]
    if closed:
        title("What changed")
        for fact in memory.history(closed[0].id).facts:
            print(f"  from {to_datetime(fact.valid_from):%Y-%m-%d}: {brief(fact.text)}")


def questions_about(pieces: list[Piece]) -> list[str]:
    """Return three headings, or beginnings of texts, spread over what was loaded."""
    found = list(dict.fromkeys(piece.heading for piece in pieces if piece.heading))
    found = found or [" ".join(piece.text.split()[:8]) for piece in pieces]
    return found[:: max(1, len(found) // 3)][:3]


def ask(chain: Chain, question: str, **settings: Any) -> str:
    return brief(chain.invoke({"question": question}, {"configurable": settings}))


def title(text: str) -> None:
    print(f"\n{text}\n{'-' * len(text)}")


def brief(text: str, width: int = 200) -> str:
    return textwrap.shorten(text, width, placeholder=" …")


if __name__ == "__main__":
    sys.exit(main())
