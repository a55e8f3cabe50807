"""How a `VectorStoreQuery` is answered from a memory."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from itertools import islice
from typing import Any, Final, NamedTuple

import numpy as np
import numpy.typing as npt
from llama_index.core.vector_stores.types import (
    VectorStoreQuery,
    VectorStoreQueryMode,
    VectorStoreQueryResult,
)

from llama_index_plugmem._filters import to_where
from llama_index_plugmem._mapping import BY_ID, REF_DOC, node_id, to_node
from plugmem_core import (
    EmbedderError,
    Fact,
    FactExplanation,
    InvalidInputError,
    Memory,
    Namespace,
    RecalledFact,
)
from plugmem_core.adapters.documents import Documents
from plugmem_core.errors import shown
from plugmem_core.inputs import VectorLike, check_count, check_type
from plugmem_core.recall.diversity import diverse
from plugmem_core.verbs.listing import every

RESTRICTIONS = ("tags", "any_tags", "not_tags", "where", "as_of", "valid_at", "known_at")
"""Arguments of `Memory.recall` that say which nodes may be found."""

SETTINGS = (*RESTRICTIONS, "ef", "mmr_threshold", "mmr_prefetch_k")
"""Keyword arguments that a query takes."""

POOL: Final = 128
"""Fewest candidates that are compared where the best of them cannot be known beforehand."""

SPARE: Final = 32
"""Candidates beyond those asked for: the memory compares vectors in fewer bits than they have."""

_WEIGHTS = {"bm25": 1.0, "vector": 1.0, "recency": 0.0}


class Scored(NamedTuple):
    """A fact, and how well it answers the query."""

    fact: Fact | RecalledFact
    score: float


@dataclass(frozen=True)
class VectorQuery:
    """One query to the nodes of one namespace, none of them below it.

    Attributes:
        memory: The open memory.
        namespace: Where the nodes live.
        query: What is asked.
        settings: Keyword arguments, of `SETTINGS`.
    """

    memory: Memory
    namespace: Namespace
    query: VectorStoreQuery
    settings: Mapping[str, Any]

    def result(self) -> VectorStoreQueryResult:
        """Return the nodes that answer it, best first, with their similarities and ids."""
        unknown = [name for name in self.settings if name not in SETTINGS]
        if unknown:
            raise InvalidInputError(
                f"unknown {', '.join(map(repr, unknown))}; accepted are {', '.join(SETTINGS)}"
            )
        found = self._found()
        return VectorStoreQueryResult(
            nodes=[to_node(one.fact) for one in found],
            similarities=[one.score for one in found],
            ids=[node_id(one.fact) for one in found],
        )

    def _found(self) -> list[Scored]:
        k = check_count(self.query.similarity_top_k, "similarity_top_k")
        # Compared, not looked up: a mode may be given as the text that it equals.
        match self.query.mode:
            case (
                VectorStoreQueryMode.DEFAULT
                | VectorStoreQueryMode.MMR
                | VectorStoreQueryMode.HYBRID
            ) if self._asks_nothing:
                return self._stored(k)
            case VectorStoreQueryMode.DEFAULT:
                return self._nearest(k)
            case VectorStoreQueryMode.MMR:
                return self._diverse(k)
            case VectorStoreQueryMode.TEXT_SEARCH | VectorStoreQueryMode.SPARSE:
                return self._worded(k)
            case VectorStoreQueryMode.HYBRID:
                return self._hybrid(k)
        raise InvalidInputError(
            f"mode is {shown(getattr(self.query.mode, 'value', self.query.mode))}; "
            "give default, mmr, text_search, sparse or hybrid"
        )

    # -- one mode each

    def _stored(self, k: int) -> list[Scored]:
        arguments = {**self._restrictions, "namespace": self.namespace, "below": False}
        facts: Iterable[Fact] = every(self.memory.list_facts, **arguments)
        if self._among is not None:
            chosen = set(self._among)
            facts = (fact for fact in facts if fact.id in chosen)
        return [Scored(fact, 1.0) for fact in islice(facts, k)]

    def _nearest(self, k: int) -> list[Scored]:
        asked = self._vector()
        if asked is None:
            return []
        if not np.any(asked):  # as of a text without words
            return [Scored(one.fact, 0.0) for one in self._stored(k)]
        found = self._by_vector(asked, k + SPARE)
        cosines = _cosines(asked, self._vectors(found))
        return _best([Scored(fact, cosines[fact.id]) for fact in found if fact.id in cosines], k)

    def _diverse(self, k: int) -> list[Scored]:
        balance = self.settings.get("mmr_threshold", self.query.mmr_threshold)
        pool = self.settings.get("mmr_prefetch_k", max(POOL, 4 * k))
        size = max(k, check_count(pool, "mmr_prefetch_k"))
        asked = self._vector()
        if asked is None or not np.any(asked):
            return self._nearest(k)
        found = {fact.id: fact for fact in self._by_vector(asked, size)}
        vectors = self._vectors(found.values())
        places = diverse(
            asked,
            list(vectors.values()),
            k,
            0.5 if balance is None else balance,
            name="mmr_threshold",
        )
        chosen = [list(vectors)[place] for place in places]
        cosines = _cosines(asked, vectors)
        return [Scored(found[one], cosines[one]) for one in chosen]

    def _worded(self, k: int) -> list[Scored]:
        return [Scored(fact, why.relevance) for fact, why in self._by_words(self._text(), k)]

    def _hybrid(self, k: int) -> list[Scored]:
        """Weigh the cosine against BM25, for the best of each."""
        wanted = self.query.hybrid_top_k
        k = k if wanted is None else check_count(wanted, "hybrid_top_k")
        alpha = 0.5 if self.query.alpha is None else self.query.alpha
        check_type(alpha, (int, float), "alpha", "a number from 0 to 1")
        if not 0 <= alpha <= 1:
            raise InvalidInputError(f"alpha is {alpha}; give a number from 0 to 1")
        if alpha == 0:
            return self._worded(k)
        if alpha == 1:
            return self._nearest(k)
        pool = max(POOL, 4 * k)
        sparse = self.query.sparse_top_k
        size = pool if sparse is None else check_count(sparse, "sparse_top_k")
        worded = self._by_words(self._text(), size)
        words = {fact.id: why.relevance for fact, why in worded}
        found = {fact.id: fact for fact, _ in worded}
        asked = self._vector()
        cosines = {}
        if asked is not None and np.any(asked):
            found.update((fact.id, fact) for fact in self._by_vector(asked, pool))
            cosines = _cosines(asked, self._vectors(found.values()))
        scored = [
            Scored(fact, alpha * cosines.get(one, 0.0) + (1 - alpha) * words.get(one, 0.0))
            for one, fact in sorted(found.items())
        ]
        return _best(scored, k)

    # -- what is asked

    @property
    def _asks_nothing(self) -> bool:
        text = self.query.query_str
        return self.query.query_embedding is None and (text is None or not text.strip())

    def _text(self) -> str:
        check_type(self.query.query_str, str, "query_str", "the question as text")
        return self.query.query_str or ""

    def _vector(self) -> VectorLike | None:
        """Return the vector of the question; `None` when the text has none, or no node has."""
        if self.query.query_embedding is not None:
            return self.query.query_embedding
        if self.memory.embedder is None or self._asks_nothing:
            raise InvalidInputError(
                "query_embedding is None, and there is nothing to make it of; give one, or a "
                "query_str to a memory with an embedder"
            )
        text = self._text()
        vector = self.memory.embed_query(text)
        if vector is None:  # if the embedder failed, a recall knows why
            result = self.memory.recall(text, sources=["vector"], k=1, explain=True)
            if result.explanation is not None and result.explanation.notes:
                raise EmbedderError("; ".join(result.explanation.notes))
        return vector

    @property
    def _restrictions(self) -> dict[str, Any]:
        """Return the arguments of a recall or listing that say which nodes may be found."""
        given = {name: self.settings[name] for name in RESTRICTIONS if name in self.settings}
        documents = self.query.doc_ids
        parts = [
            to_where(self.query.filters),
            {REF_DOC: {"$in": list(documents)}} if documents else None,
            given.pop("where", None),
        ]
        wanted = [part for part in parts if part is not None]
        return {**given, "where": {"$and": wanted} if wanted else None}

    @cached_property
    def _among(self) -> list[int] | None:
        """The facts of the nodes asked for, every version; `None` for all."""
        wanted = self.query.node_ids
        return Documents(self.memory, self.namespace, BY_ID).versions(wanted) if wanted else None

    # -- how it is looked up

    def _by_vector(self, asked: VectorLike, count: int) -> list[RecalledFact]:
        return [fact for fact, _ in self._recalled(count, vector=asked, sources=["vector"])]

    def _by_words(self, text: str, count: int) -> list[tuple[RecalledFact, FactExplanation]]:
        return self._recalled(count, text=text, sources=["bm25"]) if text.strip() else []

    def _recalled(self, count: int, **asked: Any) -> list[tuple[RecalledFact, FactExplanation]]:
        result = self.memory.recall(
            k=count,
            among=self._among,
            namespace=self.namespace,
            below=False,
            weights=_WEIGHTS,
            token_budget=None,
            ef=self.settings.get("ef"),
            explain=True,
            **self._restrictions,
            **asked,
        )
        assert result.explanation is not None  # noqa: S101 - for the type checker; asked for
        return list(zip(result.facts, result.explanation.facts, strict=True))

    def _vectors(self, facts: Iterable[RecalledFact]) -> dict[int, VectorLike]:
        """Return the vectors of facts by id; those without one are left out."""
        ids = [fact.id for fact in facts]
        vectors = zip(ids, self.memory.vectors(ids), strict=True)
        return {one: vector for one, vector in vectors if vector is not None}


def _cosines(asked: VectorLike, vectors: Mapping[int, VectorLike]) -> dict[int, float]:
    """Return the exact cosine of each vector."""
    unit = _unit(asked)
    return {one: float(np.clip(_unit(vector) @ unit, -1.0, 1.0)) for one, vector in vectors.items()}


def _best(scored: list[Scored], k: int) -> list[Scored]:
    return sorted(scored, key=lambda one: -one.score)[:k]


def _unit(vector: VectorLike) -> npt.NDArray[np.float64]:
    wide = np.asarray(vector, dtype=np.float64)
    return wide / np.linalg.norm(wide)
