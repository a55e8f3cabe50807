"""Looking after a memory."""

import logging
from collections.abc import Iterable

import numpy as np

from plugmem_core.clock import MIN_MS
from plugmem_core.embed import Embedder
from plugmem_core.errors import BusyError, InvalidInputError, ReadOnlyError, StorageError
from plugmem_core.inputs import check_count
from plugmem_core.kernels import NO_ID
from plugmem_core.model import (
    MaintainReport,
    Namespace,
    ReembedReport,
    Stats,
    VectorSpace,
    VerifyReport,
)
from plugmem_core.progress import Progress, silent
from plugmem_core.reembedding import Reembedding
from plugmem_core.retention import Retain, check_rules
from plugmem_core.store import FileState
from plugmem_core.verbs.base import twin
from plugmem_core.verbs.drafting import Drafting
from plugmem_core.verify import differences

EMBED_BATCH = 128

logger = logging.getLogger(__name__)


class CareVerbs(Drafting):
    """Verbs that count, check, rebuild and tidy."""

    def stats(self) -> Stats:
        """Return counters of the whole file.

        >>> from plugmem_core import Memory
        >>> memory = Memory.open(":memory:")
        >>> _ = memory.remember("one fact", entity="somebody")
        >>> memory.stats().facts, memory.stats().entities
        (1, 1)
        """
        engine = self._ready()
        counts = engine.store.counts()
        root: Namespace = ()
        with engine.gate:
            index = engine.index
            current = self._visible(root, current=True)
            return Stats(
                facts=index.facts.stored(),
                forgotten=index.facts.forgotten(),
                edges=index.graph.open(),
                tags=len(index.tags.counts("", index.facts, current)),
                mentions=index.mentions.facts.total(),
                terms=index.lexical.postings.terms(),
                vectors=len(index.vectors.pool) if index.vectors else 0,
                vectors_in_graph=index.vectors.covered if index.vectors else 0,
                embedder=engine.vectorizer.status,
                **counts,
            )

    def verify(self) -> VerifyReport:
        """Check the file, the rules its rows keep, and the index against it.

        >>> from plugmem_core import Memory
        >>> memory = Memory.open(":memory:")
        >>> _ = memory.remember("one fact")
        >>> memory.verify().ok
        True
        """
        engine = self._ready()
        problems = engine.store.problems()
        if problems:  # an index of broken rows would prove nothing
            return VerifyReport(tuple(problems))
        truth = engine.fresh_index()
        with engine.gate.alone:
            if truth.change == engine.index.change:
                problems = differences(truth, engine.index)
        return VerifyReport(tuple(problems))

    def rebuild(self, *, progress: Progress | None = None) -> None:
        """Make the index anew from the file, whatever state it is in.

        Args:
            progress: Called with the facts taken in and those there are.

        >>> from plugmem_core import Memory
        >>> memory = Memory.open(":memory:")
        >>> _ = memory.remember("one fact")
        >>> memory.rebuild()
        >>> len(memory.recall("fact").facts)
        1
        """
        self._ready().rebuild(progress or silent)

    def checkpoint(self) -> None:
        """Save the index beside the file, so that the next opening is fast.

        Closing does the same. A read-only handle cannot; a memory without a file has
        no need to.

        Raises:
            ReadOnlyError: The memory was opened with `read_only=True`.
            StorageError: It could not be written; the file itself is not touched.

        >>> from plugmem_core import Memory
        >>> Memory.open(":memory:").checkpoint()
        """
        self._ready().checkpoint()

    def maintain(self, *, retain: Iterable[Retain] = ()) -> MaintainReport:
        """Do the work that writes leave for later.

        Removes the rows of forgotten and expired facts; if no vector is left by that, the
        next one may have another dimension and model. Makes vectors that are pending, and
        builds the vector graph once there are `flat_to_hnsw` vectors, and
        anew whenever an eighth has come since. Nothing else ever does; calling it often
        costs little.

        Args:
            retain: How long facts are kept; what a rule lets go is forgotten and removed. Like
                what is forgotten, it leaves its names, edges and bytes behind; `erase` does not.

        Raises:
            WrongTypeError: There is something else than rules.

        >>> from plugmem_core import Memory
        >>> memory = Memory.open(":memory:")
        >>> _ = memory.forget(memory.remember("the old alarm code is 4711").id)
        >>> memory.maintain().purged
        1
        """
        rules = check_rules(retain)
        engine = self._ready()
        with engine.writing() as transaction:
            now = engine.clock()
            retired = {fact for rule in rules for fact in self._outdated(rule, now)}
            rows = [transaction.fact(fact) for fact in sorted(retired)]
            purged = transaction.purge([*engine.store.purgeable(now), *rows])
            released = transaction.release_space()
        if released:
            engine.rebuild()
            engine.sync()
        engine.vectorizer.pause.end()
        embedded = self._make_pending_vectors()
        covered = self._build_vector_graph()
        return MaintainReport(purged, covered, embedded, len(retired))

    def reembed(
        self,
        embedder: Embedder | None = None,
        *,
        batch: int = 256,
        progress: Progress | None = None,
    ) -> ReembedReport:
        """Make the vectors that are missing, or go over to those of another embedder.

        With an embedder of the file's own model, vectors are made that are pending, and for
        facts that were written without an embedder. With another, each fact gets a new one:
        superseded facts, too, and those whose vector a caller gave, but none that was written
        with `embed=False`. Meanwhile recalls are answered from the old vectors, and others may
        write; the new ones wait in the file until every fact has one, and then replace the old
        in one step. Other handles see that at their next call; those with the former embedder
        get a `VectorSpaceError` for what needs vectors from then on, while words, entities and
        time still answer. This handle has the new embedder.

        A text that has a vector of the model already is not embedded again. After an error, an
        interrupt or a crash nothing has changed but what waits in the file, and another call
        goes on; one with the embedder of the file drops that.

        Args:
            embedder: What makes the vectors; by default that of this handle.
            batch: Most texts the embedder is given at once, and facts of one transaction.
            progress: Called with the facts that are done and those there are.

        Returns:
            What was done.

        Raises:
            EmbedderError: The embedder failed; what it made before is kept.
            InvalidInputError: There is no embedder, or the block of a transaction is open.
            ReadOnlyError: The memory was opened with `read_only=True`.

        >>> from plugmem_core import HashingEmbedder, Memory
        >>> memory = Memory.open(":memory:")
        >>> _ = memory.remember("green tea")
        >>> memory.reembed(HashingEmbedder(8)).after
        VectorSpace(dim=8, model='hashing-8')
        >>> memory.reembed(HashingEmbedder(16)).embedded, memory.remember("rye").vector
        (1, 'stored')
        """
        size = check_count(batch, "batch")
        engine = self._outside("reembed")
        if embedder is None and engine.vectorizer.embedder is None:
            raise InvalidInputError(
                "embedder is None, and the memory was opened without one; give an embedder"
            )
        if engine.store.read_only:
            raise ReadOnlyError("the memory was opened with read_only=True; open it for writing")
        vectorizer = engine.vectorizer if embedder is None else engine.vectorizer_of(embedder)
        before = engine.state
        run = Reembedding(engine, vectorizer, size, progress or silent)
        run.run()
        engine.sync()
        if engine.state.uuid != before.uuid:
            self._give_back_space()
        covered = self._build_vector_graph()
        return ReembedReport(_space(before), _space(engine.state), run.embedded, run.asked, covered)

    astats = twin(stats)
    averify = twin(verify)
    arebuild = twin(rebuild)
    acheckpoint = twin(checkpoint)
    amaintain = twin(maintain)
    areembed = twin(reembed)

    def _outdated(self, rule: Retain, now: int) -> list[int]:
        """Return the facts that a rule lets go, but for those that nobody sees any more."""
        with self._engine.gate:
            index = self._engine.index
            scope = self._visible(rule.namespace)
            if rule.tags:
                scope.restrict_facts(index.tags.allowed(rule.tags, (), (), len(index.facts)))
            old = index.facts.newest(scope, MIN_MS, rule.oldest(now), NO_ID)
            facts = [fact for fact, _ in old.items()]
            if rule.entity_key is None:
                return facts
            entities = index.names.resolve(rule.entity_key, index.spaces.mask(rule.namespace))
            return [fact for fact in facts if index.facts.entity(fact) in entities]

    def _make_pending_vectors(self) -> int:
        engine = self._engine
        if engine.vectorizer.embedder is None:
            return 0
        embedded = 0
        pending = engine.store.pending()
        for start in range(0, len(pending), EMBED_BATCH):
            batch = pending[start : start + EMBED_BATCH]
            vectors, space = engine.embed([row.text for row in batch])
            made = [(row.id, vectors[row.text]) for row in batch if row.text in vectors]
            with engine.writing() as transaction:
                if space != engine.vectorizer.space:  # a re-embedding has made them meanwhile
                    break
                engine.vectorizer.claim(transaction, [vector for _, vector in made])
                for fact, vector in made:
                    embedded += transaction.complete_vector(fact, vector)
            if len(made) < len(batch):  # the embedder is down
                break
        return embedded

    def _give_back_space(self) -> None:
        """Write the file anew without what was removed, unless somebody is in the way."""
        try:
            self._engine.store.scrub()
        except StorageError as error:  # the disk may be full
            logger.warning("the file keeps the room of its former vectors: %s", error)
        except BusyError:
            logger.info("the file keeps the room of its former vectors, which new rows take")

    def _build_vector_graph(self) -> int:
        engine = self._engine
        with engine.gate:
            vectors = engine.index.vectors
            if vectors is None:
                return 0
            if not vectors.graph_is_due:
                return vectors.covered
            ids = list(vectors.pool.facts())
        stored = engine.store.vectors(ids)
        if len(stored) < len(ids):  # another process removed some; they are on their way here
            return vectors.covered
        graph = vectors.make_graph(ids, np.stack([stored[fact] for fact in ids]))
        with engine.gate.alone:
            # Vectors that came meanwhile are behind these in the pool, and are scanned.
            if engine.index.vectors is vectors and vectors.pool.facts()[: len(ids)] == ids:
                vectors.attach(graph, len(ids))
        return vectors.covered


def _space(state: FileState) -> VectorSpace | None:
    return VectorSpace(state.dim, state.space) if state.dim else None
