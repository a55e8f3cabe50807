"""Making vectors for facts that have none, or those of another model for all of them."""

from plugmem_core.engine import Engine
from plugmem_core.errors import EmbedderError
from plugmem_core.progress import Progress
from plugmem_core.store import Transaction, Vector
from plugmem_core.store.staging import (
    Wanted,
    discard,
    keep_dim,
    stage,
    staged_of_texts,
    switch,
)
from plugmem_core.vectorizer import Vectorizer


class Reembedding:
    """One run over a file, batch after batch; a later one goes on where it was cut off.

    In the space of the file, vectors are stored as they are made. Those of another one are
    staged, and take the place of all others in one transaction.

    Args:
        engine: In step with truth.
        vectorizer: What makes the vectors.
        batch: Facts of one transaction, and most texts the embedder is given at once.
        progress: Called after each transaction.

    Attributes:
        embedded: Facts that got a vector.
        asked: Texts that the embedder was given.
    """

    def __init__(
        self, engine: Engine, vectorizer: Vectorizer, batch: int, progress: Progress
    ) -> None:
        assert vectorizer.space is not None  # noqa: S101 - the verb makes sure of an embedder
        self._engine = engine
        self._vectorizer = vectorizer
        self._batch = batch
        self._progress = progress
        self._space = vectorizer.space
        self._wanted = Wanted(self._space, switches=not vectorizer.fits(engine.state))
        self._dim = vectorizer.dim if self._wanted.switches else engine.state.dim
        self._is_settled = False  # whether what is staged has one dimension
        self.embedded = 0
        self.asked = 0

    def run(self) -> None:
        """Make all vectors that are missing.

        Raises:
            EmbedderError: The embedder failed; what was made before is kept.
        """
        store, wanted = self._engine.store, self._wanted
        total = wanted.total(store)
        self._done = total - wanted.missing(store)
        self._progress(self._done, total)
        with self._engine.succession(self._vectorizer):
            self._make_missing(total)
            if wanted.switches:
                while not self._switch():
                    self._make_missing(total)  # facts were written meanwhile
            else:
                self._clear()
        self._engine.adopt(self._vectorizer)  # also when there are no vectors

    def _switch(self) -> bool:
        with self._engine.writing() as transaction:
            return switch(transaction, self._space)

    def _clear(self) -> None:
        """Drop what an earlier run staged that nobody brought to an end."""
        if self._engine.store.counts()["staged"]:
            with self._engine.writing() as transaction:
                discard(transaction)

    def _make_missing(self, total: int) -> None:
        after = -1
        while rows := self._wanted.batch(self._engine.store, after, self._batch):
            vectors, failure = self._vectors([text for _, text in rows])
            made = [(fact, vectors[text]) for fact, text in rows if text in vectors]
            if made:
                with self._engine.writing() as transaction:
                    self._put(transaction, made)
                self._done += len(made)
                self._progress(self._done, max(total, self._done))
            if failure is not None:
                raise EmbedderError(
                    f"{failure}; {self._done} of {max(total, self._done)} facts are done, and "
                    "another call goes on from there"
                ) from failure
            after = rows[-1][0]

    def _vectors(self, texts: list[str]) -> tuple[dict[str, Vector | None], EmbedderError | None]:
        """Return the vectors of texts, as far as the embedder does not fail."""
        known = self._known(texts)
        missing = [text for text in dict.fromkeys(texts) if text not in known]
        if not missing:
            return known, None
        self.asked += len(missing)
        try:
            made = self._vectorizer.demand(missing, self._dim)
        except EmbedderError as error:
            return known, error
        if not self._dim:
            self._dim = next((len(one) for one in made if one is not None), 0)
            known = {text: one for text, one in known.items() if one is None or self._fits(one)}
        return known | dict(zip(missing, made, strict=True)), None

    def _known(self, texts: list[str]) -> dict[str, Vector | None]:
        """Return the vectors that texts have already."""
        store = self._engine.store
        if not self._wanted.switches:
            found = store.vectors_of_texts(texts) if self._engine.state.dim else {}
            return dict(found)
        staged = staged_of_texts(store, self._space, texts)
        return {text: one for text, one in staged.items() if one is None or self._fits(one)}

    def _fits(self, vector: Vector) -> bool:
        return self._dim in (0, len(vector))

    def _put(self, transaction: Transaction, made: list[tuple[int, Vector | None]]) -> None:
        self.embedded += sum(vector is not None for _, vector in made)
        if not self._wanted.switches:
            self._vectorizer.claim(transaction, [vector for _, vector in made])
            for fact, vector in made:
                transaction.complete_vector(fact, vector)
            return
        if self._dim and not self._is_settled:
            keep_dim(transaction, self._space, self._dim)
            self._is_settled = True
        stage(transaction, self._space, made)
