"""One run: load everybody, then ask everybody the same in turn."""

import gc
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np

from benchmarks.corpus import Corpus, all_vectors
from benchmarks.speed.operations import (
    FILTERED_BUDGET,
    RECALL_BUDGET,
    RECALLS,
    Question,
    some_ids,
)
from benchmarks.speed.peer import Peer
from benchmarks.speed.peers import engines, rivals
from benchmarks.speed.resources import added_memory
from benchmarks.speed.rows import Row, judged, timed
from benchmarks.speed.timing import Times, in_turn, once

ROUNDS = 3
WRITES = 200
NEAREST = 10
ASKED_EXACTLY = 100


class Run:
    """The engines and other stores with one corpus, and the rows measured so far.

    Args:
        corpus: What they hold.
        folder: For the files.
        wanted: Peers by name; those not installed are left out.
        tell: Called with each row as it is known.
    """

    def __init__(
        self, corpus: Corpus, folder: Path, wanted: list[str], tell: Callable[[Row], object]
    ) -> None:
        self.corpus = corpus
        self.rows: list[Row] = []
        self._folder, self._wanted, self._tell = folder, wanted, tell
        self.engines = engines(folder, corpus.dim, wanted)
        self.rivals: list[Peer] = []

    def measure(self) -> list[Row]:
        """Measure everything."""
        self.load()
        self.open()
        self.rivals = rivals(self.corpus, self._wanted)
        self.recalls()
        self.reads_and_writes()
        self.close()
        self.files_and_memory()
        return self.rows

    def load(self) -> None:
        """Store all facts in the engines, which take turns batch by batch."""
        spent = {engine.name: 0.0 for engine in self.engines}
        for batch in self.corpus.batches():
            for engine in self.engines:
                spent[engine.name] += once(lambda e=engine, b=batch: e.load(b))  # type: ignore[misc] # bound early
        each = {name: one / self.corpus.facts for name, one in spent.items()}
        self._add(self._judged("bulk load, a fact", each))
        for engine in self.engines:
            engine.ready()

    def open(self) -> None:
        """Open the files that were just closed, so they are in the system's cache."""
        taken: dict[str, list[float]] = {engine.name: [] for engine in self.engines}
        for _ in range(ROUNDS):
            for engine in self.engines:
                engine.close()
                gc.collect()
                taken[engine.name].append(once(engine.open))
        self._add(
            self._judged("open", {name: float(np.median(one)) for name, one in taken.items()})
        )

    def recalls(self) -> None:
        """Ask every operation of all who can answer it."""
        for operation in RECALLS:
            if operation.vectors and not self.corpus.dim:
                continue
            questions = operation.questions(self.corpus)
            # Apart: whatever takes a hundred times as long leaves nothing of others in the caches.
            times = self._times(self.rivals, questions)
            times = self._times(self.engines, questions) | times
            self._add(timed(operation.name, times, self.corpus.facts, self.corpus.dim))
        if self.corpus.dim:
            self._add(self._filtered())
            self._add(self._exactness())

    def reads_and_writes(self) -> None:
        """Time single reads and durable writes."""
        ids = some_ids(self.corpus.facts)
        got = in_turn({one.name: one.get for one in self.engines}, ids, ROUNDS)
        self._add(timed("get", got, self.corpus.facts, self.corpus.dim))
        notes = [f"one more durable fact, number {number}" for number in range(WRITES)]
        if self.corpus.dim:
            return  # what is stored without a vector says nothing of stores with them
        wrote = in_turn({one.name: one.remember for one in self.engines}, notes, 1)
        self._add(timed("durable remember", wrote, self.corpus.facts, self.corpus.dim))

    def files_and_memory(self) -> None:
        """Measure the files, and what opening them adds to a process."""
        sizes, added, peaks = {}, {}, {}
        for engine in self.engines:
            engine.open()
            engine.ready()
            sizes[engine.name] = engine.size() / 1024
            engine.close()
            place = self._folder / engine.name
            added[engine.name], peaks[engine.name] = added_memory(
                engine.name, place, self.corpus.dim
            )
        self._add(self._judged("files, KiB", sizes))
        self._add(self._judged("memory, KiB", added))
        self._add(self._judged("peak of the process, KiB", peaks))

    def close(self) -> None:
        """Let go of everybody."""
        for peer in (*self.engines, *self.rivals):
            peer.close()
        self.rivals = []

    def _times(self, peers: Sequence[Peer], questions: list[Question]) -> dict[str, Times]:
        able = [peer for peer in peers if questions[0].features <= peer.features]
        return in_turn({peer.name: peer.recall for peer in able}, questions, ROUNDS)

    def _filtered(self) -> Row:
        """Return how a filtered vector recall compares with an unfiltered one of ours."""
        known = {row.name: row for row in self.rows}
        free, filtered = (known[name].values["ours"] for name in ("vector", "vector, filtered"))
        said = f"{filtered / free:.2f} of {FILTERED_BUDGET:g} × the unfiltered"
        verdict = (said, filtered <= FILTERED_BUDGET * free)
        return Row("vector, filtered, over unfiltered", {"ours": filtered / free}, {}, [verdict])

    def _exactness(self) -> Row:
        """Return the share of the exactly nearest facts that are found."""
        vectors = all_vectors(self.corpus)
        units = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
        shares: dict[str, list[float]] = {engine.name: [] for engine in self.engines}
        for vector in self.corpus.vectors[:ASKED_EXACTLY]:
            best = set(np.argsort(-(units @ vector))[:NEAREST].tolist())
            for engine in self.engines:
                found = engine.nearest(vector, NEAREST)
                shares[engine.name].append(len(best & set(found)) / NEAREST)
        values = {name: float(np.mean(one)) for name, one in shares.items()}
        said = f"{values['ours']:.3f} of at least {RECALL_BUDGET}"
        return Row(
            "share of the 10 nearest found", values, {}, [(said, values["ours"] >= RECALL_BUDGET)]
        )

    def _judged(self, name: str, values: dict[str, float]) -> Row:
        return judged(name, values, {}, self.corpus.facts, self.corpus.dim)

    def _add(self, row: Row) -> None:
        self.rows.append(row)
        self._tell(row)
