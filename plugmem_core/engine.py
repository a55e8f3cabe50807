"""`Engine`: one file and the index derived from it, kept in step, for many threads."""

import logging
import os
from collections import OrderedDict
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from secrets import token_hex
from threading import Lock, local
from typing import Any, NamedTuple

from plugmem_core.clock import Clock, checked
from plugmem_core.config import LANGUAGES, PLAIN, MemoryConfig
from plugmem_core.embed import Embedder
from plugmem_core.embed.pause import Pause
from plugmem_core.errors import (
    ClosedError,
    CorruptError,
    ReadOnlyError,
    StorageError,
    VectorSpaceError,
    shown,
)
from plugmem_core.filters import Filter
from plugmem_core.index import (
    Index,
    load_checkpoint,
    remove_checkpoint,
    save_checkpoint,
)
from plugmem_core.kernels import Gate, IdSet
from plugmem_core.model import Edge, Fact
from plugmem_core.progress import Counted, Progress, silent
from plugmem_core.recall.reranker import Reranker
from plugmem_core.store import (
    Changes,
    FactRow,
    FileState,
    NewNames,
    SqliteStore,
    Transaction,
    Vector,
    load_labels,
    load_object,
)
from plugmem_core.vectorizer import Vectorizer

logger = logging.getLogger(__name__)

CARDS = 16_384
"""Facts whose shown form is kept in memory."""

NOTHING_SAVED = (0, 0)


class _Process:
    """This process; asking the system who it is would cost more than the answer is worth.

    Attributes:
        forks: How many forks lie between it and the process that began.
    """

    forks = 0

    def forked(self) -> None:
        self.forks += 1


process = _Process()
os.register_at_fork(after_in_child=process.forked)


class Shared:
    """A transaction that several verbs of one thread write in.

    Attributes:
        transaction: What they write in.
        failure: The first error one of them raised.
        owes_vectors: Whether one of them wrote a text that is to be embedded.
    """

    def __init__(self, transaction: Transaction) -> None:
        self.transaction = transaction
        self.failure: BaseException | None = None
        self.owes_vectors = False


class Embedded(NamedTuple):
    """What became of texts.

    Attributes:
        vectors: The vector by text, `None` for a text without direction. Texts whose vector is
            pending, because the embedder failed, are left out.
        space: The embedder that made them, which need not be that of the file any more.
    """

    vectors: dict[str, Vector | None]
    space: str | None


class Engine:
    """What the verbs stand on.

    Args:
        path: A file, or `":memory:"`.
        config: Every knob.
        embedder: Makes vectors of texts; `None` leaves that to the caller.
        dim: Announced dimension of vectors; 0 for none.
        clock: Tells now.
        read_only: Refuse writes.
        progress: Called while the index is made from the facts of the file.
        reranker: Gives the best facts of every recall another order.
    """

    def __init__(
        self,
        path: str | Path,
        config: MemoryConfig,
        embedder: Embedder | None,
        dim: int,
        clock: Clock,
        *,
        read_only: bool,
        progress: Progress = silent,
        reranker: Reranker | None = None,
    ) -> None:
        self.reranker = reranker
        self.config = config
        self.clock = checked(clock)
        self.vectorizer = self.vectorizer_of(embedder, dim)
        self.store = SqliteStore(
            path,
            read_only=read_only,
            durability=config.durability,
            busy_timeout=config.busy_timeout,
        )
        # Inside the gate nobody may wait for the store: the order is store first, gate second.
        self.gate = Gate()
        self._process = process.forks
        self._closed = False
        self._cards: OrderedDict[int, tuple[Any, ...]] = OrderedDict()
        self._behind = True
        self._half_applied = False
        self._saving = Lock()
        self._thread = local()
        self._successor: Vectorizer | None = None
        try:
            self.state = self.store.state()
            self._record_analyzer()
            self.store.check_ids()
            saved = self._saved_index()
            self.index = self.fresh_index(progress) if saved is None else saved
            self._saved = NOTHING_SAVED if saved is None else self._progress()
            self.sync()
            self._warn_of_other_vectors()
        except BaseException:
            self.store.close()
            raise

    def _warn_of_other_vectors(self) -> None:
        # Text recall goes on, so this is no error yet; whatever needs vectors will raise.
        try:
            self.vectorizer.check_space(self.state)
        except VectorSpaceError as error:
            logger.warning("%s", error)

    # -- life

    def check_open(self) -> None:
        """Refuse a handle that is closed, or that came along in a fork.

        Raises:
            ClosedError: It cannot be used; open the file again.
        """
        if self._closed:
            raise ClosedError("the memory is closed; open it again")
        if self._process != process.forks:
            raise ClosedError(
                "the memory was opened by the parent process; open it again in this one"
            )

    def close(self) -> None:
        """Save a checkpoint and let go of the file; closing twice is fine."""
        if self._closed or self._process != process.forks:
            return
        try:
            if not self.store.read_only and self._progress() != self._saved:
                with suppress(StorageError, OSError):  # it is a cache; truth is on disk
                    self.checkpoint()
        finally:
            self._closed = True
            self.store.close()

    def checkpoint(self) -> None:
        """Save the index beside the file; a memory without a file has nothing to save."""
        if self.store.path is None:
            return
        if self.store.read_only:
            raise ReadOnlyError("the memory was opened with read_only=True; open it for writing")
        token = token_hex(16)
        with self._saving:
            self.sync()
            with self.gate:
                try:
                    save_checkpoint(self.index, self.store.path, self.state, token)
                except OSError as error:
                    raise StorageError(f"the checkpoint cannot be written: {error}") from error
                saved = self._progress()
            if not self.store.claim_checkpoint(token, self.state.uuid):
                remove_checkpoint(self.store.path)  # something was erased meanwhile
                return
            with self.gate.alone:
                self.state = self.state._replace(checkpoint=token)
            self._saved = saved

    def _progress(self) -> tuple[int, int]:
        """Return what tells a checkpoint worth saving: the change, and the reach of the graph."""
        vectors = self.index.vectors
        return self.index.change, vectors.covered if vectors else 0

    def fresh_index(self, progress: Progress = silent) -> Index:
        """Return a new index, made from truth.

        Args:
            progress: Called with the facts taken in and those there are.

        Raises:
            CorruptError: The file holds rows that no write of ours leaves.
        """
        index = self._empty_index()
        told = Counted(progress, self.store.facts_stored())
        with self.store.changes_since(0) as changes, self._reading_rows():
            index.apply(changes, told.one_more)
        told.end()
        return index

    def rebuild(self, progress: Progress = silent) -> None:
        """Replace the index by a new one, made from truth."""
        state = self.store.state()
        self.store.check_ids()
        with self.gate.alone:
            self.state = state
        index = self.fresh_index(progress)
        with self.gate.alone:
            self.index = index
            self._half_applied = False
            self._cards.clear()
        self._behind = True  # others may have committed while it was made

    # -- in step with truth

    def sync(self) -> None:
        """Take in what other handles committed since the last call."""
        pulse = self.store.take_pulse()
        try:
            version = self.store.version(pulse)
            if version != pulse.seen or self._behind:
                self._catch_up()
                pulse.seen = version
        finally:
            self.store.give_back(pulse)

    @contextmanager
    def writing(self) -> Iterator[Transaction]:
        """One transaction, with the index in step before it and after it.

        Inside `together`, a part of that one.
        """
        self.check_open()
        shared = self.shared
        if shared is None:
            with self._transaction() as transaction:
                yield transaction
            return
        try:
            yield shared.transaction
        except BaseException as error:
            shared.failure = shared.failure or error
            raise

    @contextmanager
    def together(self) -> Iterator[Shared]:
        """Make one transaction of all that this thread writes in the block.

        An error inside undoes all of it, even one that was caught: the verb that raised
        may have left half of its rows.
        """
        self.check_open()
        outer = self.shared
        if outer is not None:
            try:
                yield outer
            except BaseException as error:
                outer.failure = outer.failure or error
                raise
            return
        with self._transaction() as transaction:
            shared = self._thread.shared = Shared(transaction)
            try:
                yield shared
            finally:
                self._thread.shared = None
            if shared.failure is not None:
                raise shared.failure

    @property
    def shared(self) -> Shared | None:
        """What this thread's verbs write in together, inside `together`."""
        shared: Shared | None = getattr(self._thread, "shared", None)
        return shared

    @contextmanager
    def _transaction(self) -> Iterator[Transaction]:
        with self.store.write(
            self.clock,
            self._first_facts,
            self._find_mentions,
            self._catch_up_to,
            self._follow,
        ) as transaction:
            yield transaction
            # From the commit until the index has followed, it is behind.
            self._behind = True

    def _catch_up_to(self, change: int) -> None:
        if self._behind or self.index.change != change:
            self._catch_up()

    def _catch_up(self) -> None:
        with self.gate:
            half_applied = self._half_applied
        if half_applied:
            self.rebuild()
        with self.store.reading():  # one thread makes the index anew for all that wait here
            while True:
                with self.store.changes_since(self.index.change) as changes:
                    # Of what an erasure removed there is no trace to follow.
                    if self.index.past in (None, changes.uuid):
                        with self.gate.alone:
                            self._apply(changes)
                            self.state = self.store.state()
                            self._succeed()
                        break
                self.rebuild()
        self._behind = False

    def scrub(self) -> None:
        """Remove the bytes of what was erased: from the file, its log, and the checkpoint."""
        if self.store.path is not None:
            remove_checkpoint(self.store.path)
        self.rebuild()
        self.sync()
        self.store.scrub()

    def _follow(self, changes: Changes, state: FileState) -> None:
        if self.index.past not in (None, changes.uuid):
            return  # the index stays behind, and is made anew before anybody uses it
        # Names may have to be read from the file again: store first, then gate.
        with self.store.reading(), self.gate.alone:
            self._apply(changes)
            self.state = state
            self._succeed()
        self._behind = False

    def _apply(self, changes: Changes) -> None:
        self._half_applied = True  # unless nothing interrupts
        with self._reading_rows():
            self.index.apply(changes, self._touch)
        self._half_applied = False

    @contextmanager
    def _reading_rows(self) -> Iterator[None]:
        try:
            yield
        except (LookupError, TypeError, ValueError) as error:
            raise CorruptError(f"{self.store.path} holds a row that cannot be: {error}") from error

    def _first_facts(self, text: str, has: Callable[[int, str], bool]) -> Iterable[int]:
        return self.index.first_facts(text, has)

    def _find_mentions(self, rows: Sequence[FactRow], names: NewNames) -> list[str | None]:
        if not self.config.mentions:
            return [row.mentions for row in rows]
        return self.index.find_mentions(rows, names)

    def _record_analyzer(self) -> None:
        wanted = self.config.analyzer
        if wanted in (None, self.state.analyzer) or self.config.ranking == "reference":
            return
        if not self.store.read_only:
            self.store.record_analyzer(wanted)
            self.state = self.store.state()

    def _empty_index(self) -> Index:
        """Return an index that reads text as this handle is to.

        Raises:
            CorruptError: The file asks for an analyser that there is not.
        """
        language = self.state.analyzer
        if self.store.read_only and self.config.analyzer is not None:
            language = self.config.analyzer
        if self.config.ranking == "reference":
            language = PLAIN
        if language not in (PLAIN, *LANGUAGES):
            raise CorruptError(
                f"{self.store.path} asks for the analyser {shown(language)}, which there is not; "
                "open it with analyzer= one that there is"
            )
        return Index(self.config, language, self.store)

    def _saved_index(self) -> Index | None:
        # rank-bm25 needs every text anyway, which a checkpoint does not hold.
        if self.store.path is None or self.config.lexical != "bm25":
            return None
        saved = load_checkpoint(self._empty_index(), self.store.path, self.state)
        if saved is not None:
            with self._reading_rows():
                saved.read_names()
        return saved

    # -- vectors

    def vectorizer_of(self, embedder: Embedder | None, dim: int = 0) -> Vectorizer:
        """Return an embedder in the service of this file."""
        config = self.config
        pause = Pause(self.clock, config.embedder_wait, config.embedder_longest_wait)
        return Vectorizer(embedder, dim, pause)

    def adopt(self, vectorizer: Vectorizer) -> None:
        """Use an embedder from now on whose vectors may stand beside those of the file."""
        with self.gate.alone:
            self.vectorizer = vectorizer

    @contextmanager
    def succession(self, vectorizer: Vectorizer) -> Iterator[None]:
        """Let an embedder take over as soon as this handle sees the file hold its vectors.

        From then on, what the one before it made is no longer stored; see `Embedded`.
        """
        self._successor = vectorizer
        try:
            yield
            self.sync()
        finally:
            self._successor = None

    def _succeed(self) -> None:
        """Let the successor take over if its time has come."""
        successor = self._successor
        if successor is not None and self.state.dim and successor.fits(self.state):
            self.vectorizer, self._successor = successor, None

    def embed(self, texts: Sequence[str]) -> Embedded:
        """Return the vectors of texts, outside every lock; each text is embedded once.

        A text that some fact has already, a forgotten one too, keeps the vector it got then.

        Raises:
            VectorSpaceError: The vectors of the file are of another dimension or model.
        """
        self.sync()  # another handle may have written the first vectors, or these texts
        with self.gate:  # both change together
            vectorizer, state = self.vectorizer, self.state
        vectorizer.check_space(state)
        vectors: dict[str, Vector | None] = {}
        if state.dim:
            vectors.update(self.store.vectors_of_texts(texts))
        missing = [text for text in dict.fromkeys(texts) if text not in vectors]
        made = vectorizer.documents(missing, state) if missing else None
        if made is not None:
            vectors.update(zip(missing, made, strict=True))
        return Embedded(vectors, vectorizer.space)

    # -- what is shown of facts and edges

    def passing(self, where: Filter | None) -> tuple[IdSet | None, int]:
        """Return the facts whose metadata passes a filter, and the change up to which.

        They are to be found anew when the index has moved on: a fact revised since is no
        longer current, and its successor is not among them. Without a filter, `None`.
        """
        if where is None:
            return None, self.index.change
        # Columns may have to be read from the file first: store, then gate.
        with self.store.reading(), self.gate.alone:
            index = self.index
            return IdSet.from_mask(index.metadata.mask(where, len(index.facts))), index.change

    def cards(self, ids: Sequence[int]) -> dict[int, tuple[Any, ...]]:
        """Return what is shown of facts, by id; facts without a row are left out."""
        known = self._cards
        found = {fact: card for fact in ids if (card := known.get(fact)) is not None}
        if len(found) == len(ids):
            return found
        change = self.index.change
        rows = self.store.cards([fact for fact in ids if fact not in found])
        fresh = {row[0]: _card(row) for row in rows}
        with self.gate:
            if self.index.change == change:  # else some of it may be out of date already
                known.update(fresh)
                while len(known) > CARDS:
                    with suppress(KeyError):  # another thread was faster
                        known.popitem(last=False)
        return found | fresh

    def shown(self, ids: Sequence[int]) -> list[tuple[Any, ...]]:
        """Return what is shown of facts in the order given; facts without a row are left out."""
        known = list(map(self._cards.get, ids))
        if all(known):
            return known  # type: ignore[return-value] # none of them is None
        cards = self.cards(ids)
        return [cards[fact] for fact in ids if fact in cards]

    def known(self, fact: int) -> Fact | None:
        """Return a fact that was shown lately and has not changed since, if it is one."""
        card = self._cards.get(fact)
        return None if card is None else make_fact(card)

    def facts(self, ids: Sequence[int]) -> list[Fact]:
        """Return facts in the order of their ids given; those without a row are left out."""
        cards = self.cards(ids)
        return [make_fact(cards[fact]) for fact in ids if fact in cards]

    def fact(self, fact: int) -> Fact:
        """Return a fact that has a row.

        Raises:
            CorruptError: Its namespace has none.
        """
        found = self.facts([fact])
        if not found:
            raise CorruptError(
                f"{self.store.path} is damaged: fact {fact} is in a namespace that is not there; "
                "salvage what can be read"
            )
        return found[0]

    def _touch(self, fact: int) -> None:
        self._cards.pop(fact, None)


def _card(row: tuple[Any, ...]) -> tuple[Any, ...]:
    fact, text, entity, tags, metadata, key, path, *times = row
    return (
        fact,
        text,
        entity,
        load_labels(tags),
        metadata,
        key,
        load_labels(path),
        *times[:-1],
    )


def make_fact(card: tuple[Any, ...]) -> Fact:
    """Return the fact of a card, with metadata of its own."""
    return tuple.__new__(Fact, with_metadata(card))  # as `_make`, which is slower


def with_metadata(card: tuple[Any, ...]) -> tuple[Any, ...]:
    """Return the fields of a card's fact, with metadata of its own."""
    metadata = {} if card[4] is None else load_object(card[4])
    return (*card[:4], metadata, *card[5:])


def make_edge(row: tuple[Any, ...]) -> Edge:
    """Return the edge of a row with names."""
    edge, src, relation, dst, provenance, properties, path, recorded, start, end, _ = row
    return Edge(
        edge,
        src,
        relation,
        dst,
        provenance,
        load_object(properties),
        load_labels(path),
        recorded,
        start,
        end,
    )
