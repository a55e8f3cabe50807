"""Searching the nodes of a property graph by vectors and words."""

from collections.abc import Sequence

from llama_index.core.graph_stores.types import LabelledNode
from llama_index.core.vector_stores.types import VectorStoreQuery, VectorStoreQueryMode

from llama_index_plugmem._filters import to_where
from llama_index_plugmem._graph import CHUNK, ENTITY, to_element
from llama_index_plugmem._graph_input import directed
from llama_index_plugmem._graph_properties import Where
from llama_index_plugmem._graph_reads import GraphReader, as_node, with_ids
from plugmem_core import InvalidInputError
from plugmem_core.errors import shown
from plugmem_core.inputs import check_type

_BOTH = ("vector", "bm25")
_SOURCES: dict[VectorStoreQueryMode, tuple[str, ...]] = {
    VectorStoreQueryMode.DEFAULT: ("vector",),
    VectorStoreQueryMode.TEXT_SEARCH: ("bm25",),
    VectorStoreQueryMode.SPARSE: ("bm25",),
    VectorStoreQueryMode.HYBRID: _BOTH,
    VectorStoreQueryMode.SEMANTIC_HYBRID: _BOTH,
}


def search(reader: GraphReader, query: VectorStoreQuery) -> tuple[list[LabelledNode], list[float]]:
    """Return the nodes that answer a query, best first, and their scores.

    Entities go before chunks: their texts would crowd the entities out, so they are asked
    only when no entity answers.

    Raises:
        InvalidInputError: The query asks nothing, or in a mode there is not.
        WrongTypeError: It is no query.
    """
    check_type(query, VectorStoreQuery, "query", "a VectorStoreQuery")
    sources = _sources(query)
    conditions = _conditions(reader, query)
    if not sources:
        return [], []
    for kind in (ENTITY, CHUNK):
        nodes, scores = _ranked(reader, query, sources, reader.where([kind], *conditions))
        if nodes:
            return nodes, scores
    return [], []


def _sources(query: VectorStoreQuery) -> tuple[str, ...]:
    """Return what a query goes by: nothing for a vector without direction and no text."""
    mode = query.mode.value if isinstance(query.mode, VectorStoreQueryMode) else query.mode
    if mode not in list(_SOURCES):
        raise InvalidInputError(
            f"mode is {shown(mode)}; give one of {', '.join(repr(one.value) for one in _SOURCES)}"
        )
    sources = _SOURCES[VectorStoreQueryMode(mode)]
    given = {"vector": query.query_embedding is not None, "bm25": bool(query.query_str)}
    if not any(given[one] for one in (*sources, "bm25")):
        raise InvalidInputError(
            f"a query in mode {mode!r} has neither what it needs of query_embedding "
            f"({shown(query.query_embedding)}) nor of query_str ({shown(query.query_str)}); "
            "give an embedding, or a text in mode 'text_search'"
        )
    given["vector"] = directed(query.query_embedding) is not None
    sources = tuple(one for one in sources if given[one])
    return sources or (("bm25",) if given["bm25"] else ())


def _conditions(reader: GraphReader, query: VectorStoreQuery) -> list[Where]:
    filters = to_where(query.filters)
    conditions = [] if filters is None else [filters]
    if query.node_ids:
        conditions.append(with_ids(query.node_ids))
    if query.doc_ids:
        chunks = reader.of_documents(query.doc_ids)
        brought = {one.id for one in reader.brought_by(chunks) if one.kind == ENTITY}
        conditions.append(with_ids(chunks.keys() | brought))
    return conditions


def _ranked(
    reader: GraphReader, query: VectorStoreQuery, sources: Sequence[str], where: Where
) -> tuple[list[LabelledNode], list[float]]:
    result = reader.memory.recall(
        query.query_str if "bm25" in sources else None,
        vector=query.query_embedding if "vector" in sources else None,
        k=query.similarity_top_k,
        sources=sources,
        weights={"recency": 0},
        anchors="given",
        token_budget=None,
        where=where,
        as_of=reader.as_of,
        namespace=reader.namespace,
        below=False,
        explain=True,
    )
    assert result.explanation is not None  # noqa: S101 - for the type checker; asked for
    nodes = [as_node(to_element(fact)) for fact in result.facts]
    if len(sources) > 1:
        return nodes, [fact.score for fact in result.facts]
    raw = [float(one.evidence[0].raw) for one in result.explanation.facts]
    if sources == ("vector",):
        # Vectors are compared in fewer bits than they came with, which can pass 1 a little.
        raw = [max(-1.0, min(1.0, one)) for one in raw]
    return nodes, raw
