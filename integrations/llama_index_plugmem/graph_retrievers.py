"""`PlugmemGraphRetriever`: hybrid, multi-hop recall for a property graph index."""

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from copy import deepcopy
from typing import Any

from llama_index.core.base.embeddings.base import BaseEmbedding
from llama_index.core.callbacks import CallbackManager
from llama_index.core.graph_stores.types import TRIPLET_SOURCE_KEY, EntityNode, Relation, Triplet
from llama_index.core.indices.property_graph.sub_retrievers.base import (
    DEFAULT_PREAMBLE,
    BasePGRetriever,
)
from llama_index.core.schema import (
    BaseNode,
    NodeRelationship,
    NodeWithScore,
    QueryBundle,
    RelatedNodeInfo,
    TextNode,
)

from llama_index_plugmem._graph import (
    CHUNK,
    ENTITY,
    RECORD,
    RELATION,
    STRUCTURE,
    Element,
    Shown,
    relation_key,
    to_llama_node,
)
from llama_index_plugmem._graph_input import directed
from llama_index_plugmem._graph_queries import texts
from llama_index_plugmem._graph_ranking import Asked, Ranking, Scored, rank
from llama_index_plugmem._graph_reads import GraphReader, ends, ends_of, labelled
from llama_index_plugmem.graph_stores import PlugmemPropertyGraphStore
from plugmem_core import Instant
from plugmem_core.inputs import MAX_ID, VectorLike, check_count, check_type
from plugmem_core.model import SOURCES
from plugmem_core.recall import Anchors, make_query
from plugmem_core.text import tokenize
from plugmem_core.verbs.base import twin

_SPARE = 4
"""Facts for each node wanted: several may show the same."""

_POOL = 256
"""Facts that are recalled at least, to be put in order then."""

_KINDS = (ENTITY, CHUNK, RELATION)
_OWNER = re.compile(r"(\w+)['’]s?(?!\w)")


class PlugmemGraphRetriever(BasePGRetriever):
    """Answers a question from a property graph by words, vectors and the graph at once.

    A sub-retriever for `PropertyGraphIndex.as_retriever`. Texts and relations that share words
    with the question are found, those with near vectors, and those around the entities that
    it names, over several relations: "Where does Mara's sister work?" leads from Mara over
    her sister to a company that another text names. Relations are followed by the ids of
    nodes, so never from `C++` on with `C#`.

    What is found becomes nodes: a relation the line `a -> LABEL -> b`, an entity the
    relations it has, or else its own line, and a chunk itself. With `include_text` lines are
    shown with the chunk they come from, each chunk once. Equal facts are equal nodes whatever
    was asked.

    Of all the relations of a hub those come first of which the question speaks, and what they
    lead to. So a score is not that of a recall, although a source gives its best fact the same:
    it adds up parts that fall faster with the rank, and with what words say in comparison to
    the best; equal facts share theirs.

    Neither LlamaIndex's `Settings` nor a language model is used. Async methods leave the
    event loop free.

    Args:
        graph_store: The graph.
        include_text: Whether lines are shown with the chunk they come from.
        include_text_preamble: What is put before them.
        include_properties: Whether lines have the properties of entities and relations.
        k: Most nodes to find; those of one chunk are then shown as one.
        depth: Most relations between an entity that the question names and what is found by
            the graph alone. 0 leaves the graph out.
        embed_model: Makes the question's vector, if neither the question nor the memory has
            one: the model that made the embeddings of the nodes. Without any, words and the
            graph answer.
        where: A filter over properties and metadata; see `plugmem_core.filters`.
        as_of: The instant to look from; by default the store's.
        entities: Names to start from, beside those in the question.
        anchors: `"auto"` starts from the entities that the question names, too.
        sources: Which of `bm25`, `vector`, `graph` and `time` may find something. Words tell the
            order of what the graph finds, too.
        weights: What each source counts, and `recency`; by default as the memory's
            configuration says.
        min_score: Leave out what has a lower score.
        ignore_rels: Labels of relations that are followed, but not returned, beside those that
            tell how texts hang together.
        callback_manager: LlamaIndex's; told of every retrieval.

    Raises:
        InvalidInputError: A setting breaks its rule; a `ValueError`.
        WrongTypeError: A setting, or the question, has another type; a `TypeError`.
        VectorSpaceError: The question's vector has another dimension than the memory's.

    >>> from llama_index.core.graph_stores.types import EntityNode, Relation
    >>> store = PlugmemPropertyGraphStore.open(":memory:")
    >>> store.upsert_relations(
    ...     [
    ...         Relation(label="HAS_SISTER", source_id="Mara", target_id="Ines"),
    ...         Relation(label="WORKS_AT", source_id="Ines", target_id="Acme"),
    ...     ]
    ... )
    >>> retriever = PlugmemGraphRetriever(store)
    >>> for found in retriever.retrieve("What about Mara?"):
    ...     print(found.text)
    Mara -> HAS_SISTER -> Ines
    Ines -> WORKS_AT -> Acme
    >>> store.close()
    """

    def __init__(
        self,
        graph_store: PlugmemPropertyGraphStore,
        *,
        include_text: bool = True,
        include_text_preamble: str | None = DEFAULT_PREAMBLE,
        include_properties: bool = False,
        k: int = 8,
        depth: int = 2,
        embed_model: BaseEmbedding | None = None,
        where: Mapping[str, Any] | None = None,
        as_of: Instant | None = None,
        entities: Sequence[str] = (),
        anchors: Anchors = "auto",
        sources: Sequence[str] = SOURCES,
        weights: Mapping[str, float] | None = None,
        min_score: float | None = None,
        ignore_rels: Sequence[str] = (),
        callback_manager: CallbackManager | None = None,
    ) -> None:
        check_type(
            graph_store, PlugmemPropertyGraphStore, "graph_store", "a PlugmemPropertyGraphStore"
        )
        if embed_model is not None:
            check_type(embed_model, BaseEmbedding, "embed_model", "a LlamaIndex BaseEmbedding")
        check_count(k, "k", most=MAX_ID // _SPARE)
        check_count(depth, "depth", least=0)
        ignored = texts(ignore_rels, "ignore_rels")
        settings: dict[str, Any] = {
            "as_of": graph_store.as_of if as_of is None else as_of,
            "entities": texts(entities, "entities"),
            "anchors": anchors,
            "sources": sources,
            "weights": weights,
            "min_score": min_score,
            "graph_depth": depth,
        }
        make_query("", where=where, **settings)
        super().__init__(
            graph_store,
            include_text=include_text,
            include_text_preamble=include_text_preamble,
            include_properties=include_properties,
            callback_manager=callback_manager,
        )
        self._store = graph_store
        self._k = k
        self._embed_model = embed_model
        self._settings = deepcopy(settings)
        self._where = deepcopy(where)
        self._ignored = [*STRUCTURE, *ignored]

    def retrieve_from_graph(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
        """Return what answers a question, best first, without the texts behind it."""
        return self._retrieved(query_bundle, self._vector(query_bundle))

    async def aretrieve_from_graph(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
        """The same with the vector awaited, and the rest in a worker thread."""
        vector = await self._avector(query_bundle)
        return await twin(self._retrieved)(query_bundle, vector)

    # -- asking

    def _vector(self, query_bundle: QueryBundle) -> VectorLike | None:
        if not self._wants_vector(query_bundle):
            return query_bundle.embedding
        if self._store.memory.embedder is not None:
            return self._store.memory.embed_query(query_bundle.query_str)
        assert self._embed_model is not None  # noqa: S101 - for the type checker; wanted
        return self._embed_model.get_query_embedding(query_bundle.query_str)

    async def _avector(self, query_bundle: QueryBundle) -> VectorLike | None:
        if not self._wants_vector(query_bundle):
            return query_bundle.embedding
        if self._store.memory.embedder is not None:
            return await self._store.memory.aembed_query(query_bundle.query_str)
        assert self._embed_model is not None  # noqa: S101 - for the type checker; wanted
        return await self._embed_model.aget_query_embedding(query_bundle.query_str)

    def _wants_vector(self, query_bundle: QueryBundle) -> bool:
        question = query_bundle.query_str
        check_type(question, str, "query_str", "the question as text")
        made = self._store.memory.embedder is not None or self._embed_model is not None
        asked = query_bundle.embedding is None and question.strip() != ""
        return made and asked and "vector" in self._settings["sources"]

    def _retrieved(
        self, query_bundle: QueryBundle, vector: VectorLike | None
    ) -> list[NodeWithScore]:
        question, vector = query_bundle.query_str, directed(vector)
        # Without a vector now, the memory would look for one again.
        sources = set(self._settings["sources"]) - ({"vector"} if vector is None else set())
        # Asked nothing, it would answer with the newest that passes the filter.
        asked = "vector" in sources or tokenize(question) or self._settings["entities"]
        if not sources or not asked:
            return []
        found = list(self._nodes(self._ranking(question, vector, sources)))
        least = self._settings["min_score"]
        best: dict[str, NodeWithScore] = {}
        for one in sorted(found, key=lambda one: -one.get_score()):
            if least is None or one.get_score() >= least:
                best.setdefault(one.node.node_id, one)
        return list(best.values())[: self._k]

    def _ranking(
        self, question: str, vector: VectorLike | None, sources: Collection[str]
    ) -> Ranking:
        reader, config = self._reader(), self._store.memory.config
        # Words tell in which order what is near in the graph comes.
        recalled = {*sources, "bm25"} if "graph" in sources else set(sources)
        ignored = {f"{RECORD}.kind": RELATION, **labelled(self._ignored)}
        where = reader.where(_KINDS, {"$not": ignored}, dict(self._where or {}))
        result = reader.memory.recall(
            # To BM25, "Mara's" is one word, and not Mara.
            " ".join([question, *_OWNER.findall(question)]),
            vector=vector,
            k=max(_POOL, self._k * _SPARE),
            token_budget=None,
            where=where,
            namespace=reader.namespace,
            below=False,
            explain=True,
            **{**self._settings, "sources": recalled, "min_score": None},
        )
        standing = {
            "bm25": config.w_bm25,
            "vector": config.w_vector,
            "graph": config.w_graph,
            "time": config.w_time,
        }
        asked = Asked(
            text="\n".join([question, *self._settings["entities"]]),
            depth=self._settings["graph_depth"] if "graph" in sources else 0,
            sources=sources,
            weights=standing | dict(self._settings["weights"] or {}),
            where=where,
        )
        return rank(result, reader, asked)

    def _reader(self) -> GraphReader:
        return GraphReader(self._store.memory, self._store.namespace, self._settings["as_of"])

    # -- answering

    def _nodes(self, found: Ranking) -> Iterator[NodeWithScore]:
        """Yield what was found; of what scores the same relations first, as they were added.

        Some of it may come twice.
        """
        yield from self._lines(sorted(found.relations, key=_by_score)[: self._k])
        for chunk, score in sorted(found.chunks, key=_by_score)[: self._k]:
            yield NodeWithScore(node=to_llama_node(chunk), score=score)
        told = {end for one, _ in found.relations for end in ends(one)} & found.start
        # What the walk started from it has told of already.
        entities = [one for one in found.entities if one[0].id not in told]
        yield from self._about(sorted(entities, key=_by_score)[: self._k])

    def _lines(self, relations: Sequence[Scored]) -> Iterator[NodeWithScore]:
        nodes: Mapping[str, Element] = {}
        if self.include_properties:
            nodes = self._reader().nodes({end for one, _ in relations for end in ends(one)})
        for element, score in relations:
            source, target = ends_of(element, nodes)
            line = self._line(element.shown, source and source.shown, target and target.shown)
            yield NodeWithScore(node=line, score=score)

    def _about(self, entities: Sequence[Scored]) -> Iterator[NodeWithScore]:
        """Yield the relations of entities, a hop further, and lines of those without any."""
        scores = {element.id: score for element, score in entities}
        bare = {element.id: element for element, _ in entities}
        decay = self._store.memory.config.graph_decay
        for source, relation, target in self._triples(scores):
            near = max(scores.get(end.id, 0.0) for end in (source, target))
            line = self._line(relation, source, target)
            yield NodeWithScore(node=line, score=decay * near)
            for end in (source, target):
                bare.pop(end.id, None)
        for key, element in bare.items():
            if element.placeholder:
                continue  # it is known by relations alone, and none of them is shown
            yield NodeWithScore(node=self._own_line(element), score=scores[key])

    def _triples(self, ids: Collection[str]) -> list[Triplet]:
        if not self._settings["graph_depth"] or "graph" not in self._settings["sources"]:
            return []
        own = dict(self._where or {})
        return self._reader().around(ids, 1, self._k * _SPARE, self._ignored, own)

    def _line(self, relation: Shown, source: object, target: object) -> TextNode:
        """Return the line of a relation; the ends count only where properties are shown."""
        assert isinstance(relation, Relation)  # noqa: S101 - for the type checker
        told: tuple[object, ...] = (relation.source_id, relation.label, relation.target_id)
        if self.include_properties:
            told = (source or relation.source_id, relation, target or relation.target_id)
        text = " -> ".join(map(str, told))
        return _text_node(relation_key(relation), text, relation.properties)

    def _own_line(self, entity: Element) -> TextNode:
        shown = entity.shown
        assert isinstance(shown, EntityNode)  # noqa: S101 - for the type checker
        text = str(shown) if self.include_properties else shown.name
        return _text_node(entity.key, text, shown.properties)

    def add_source_text(self, nodes: list[NodeWithScore]) -> list[NodeWithScore]:
        """Show lines with the chunks they come from, as of the instant that is asked of."""
        return self._add_source_text(nodes, self._chunks_of(nodes))

    async def async_add_source_text(self, nodes: list[NodeWithScore]) -> list[NodeWithScore]:
        """`add_source_text`, reading in a worker thread; the event loop runs on."""
        return self._add_source_text(nodes, await twin(self._chunks_of)(nodes))

    def _chunks_of(self, nodes: Sequence[NodeWithScore]) -> dict[str, BaseNode]:
        ids = [one.node.ref_doc_id for one in nodes if one.node.ref_doc_id is not None]
        chunks = self._reader().chunks(ids)
        return {key: to_llama_node(chunk) for key, chunk in chunks.items()}

    def _add_source_text(
        self, retrieved_nodes: list[NodeWithScore], og_node_map: dict[str, BaseNode]
    ) -> list[NodeWithScore]:
        """Put lines before the chunk they come from; each chunk is shown once, and with them."""
        sourced = super()._add_source_text(retrieved_nodes, og_node_map)
        shown: dict[str, NodeWithScore] = {}
        for plain, told in zip(retrieved_nodes, sourced, strict=True):
            first = shown.setdefault(told.node.node_id, told)
            if told.node is not plain.node:
                first.node = told.node
        return list(shown.values())


def _by_score(scored: Scored) -> tuple[float, int]:
    element, score = scored
    return -score, element.place


def _text_node(key: str, text: str, properties: Mapping[str, Any]) -> TextNode:
    """Return a line that LlamaIndex can put before the chunk it comes from."""
    node = TextNode(id_=key, text=text)
    source = properties.get(TRIPLET_SOURCE_KEY)
    if source is not None:
        node.relationships[NodeRelationship.SOURCE] = RelatedNodeInfo(node_id=source)
    return node
