"""`MemoryConfig`: every knob, with its default and its range."""

from typing import Any, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, ValidationError, ValidationInfo, field_validator
from Stemmer import algorithms

from plugmem_core.errors import ConfigError, shown

Ranking = Literal["reference", "tuned"]
Lexical = Literal["bm25", "okapi", "bm25l", "bm25plus"]

PLAIN = "plain"
"""The analyser that leaves words as they are."""

LANGUAGES: tuple[str, ...] = tuple(sorted(algorithms()))
"""The languages whose words can be stemmed: those of Snowball."""

RECENCY: dict[Ranking, float] = {"reference": 0.25, "tuned": 0.05}
"""The largest boost of a recent fact: that of the reference engine, and what orders equals."""

BM25: dict[Ranking, tuple[float, float]] = {"reference": (1.2, 0.75), "tuned": (0.9, 0.4)}
"""k1 and b: those of the reference engine, and what short texts want."""


class Knobs(BaseModel):
    """Plain frozen data; an unknown name or a value out of range raises `ConfigError`."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)

    def __init__(self, **knobs: Any) -> None:
        try:
            super().__init__(**knobs)
        except ValidationError as error:
            raise ConfigError(self._explain(error)) from None

    def replace(self, **knobs: Any) -> Self:
        """Return a copy with some knobs changed, validated like a new one."""
        return type(self)(**(self.model_dump() | knobs))

    @classmethod
    def _explain(cls, error: ValidationError) -> str:
        accepted = ", ".join(cls.model_fields)
        lines = []
        for problem in error.errors():
            knob = ".".join(str(part) for part in problem["loc"])
            if problem["type"] == "extra_forbidden":
                lines.append(f"unknown knob {knob!r}; accepted are {accepted}")
            else:
                lines.append(f"{knob} is {shown(problem['input'])}: {problem['msg']}")
        return "; ".join(lines)


class MemoryConfig(Knobs):
    """How a memory stores and ranks; plain frozen data.

    Pass it to `Memory.open(config=…)`. An unknown name or a value out of range
    raises `ConfigError`. Nothing here is stored in the file: each handle may
    rank as it likes over the same facts.

    Attributes:
        durability: `"full"` — a write is on disk when the call returns;
            `"normal"` — a power cut may take the last writes, never the file.
        busy_timeout: Seconds a write waits for another writer before `BusyError`.
        embedder_wait: Seconds for which an embedder that failed is not asked again, but for
            `maintain` and `reembed`; twice as long after each further failure. 0 asks always.
        embedder_longest_wait: The most of those seconds.
        max_text: Longest text of a fact, in bytes of UTF-8.
        max_tags: Most tags of one fact.
        max_links: Most links of one `remember`.
        max_metadata: Longest metadata of one fact, in bytes of JSON.
        max_value: Longest value of a key-value collection, in bytes of JSON.
        ranking: `"reference"`: reciprocal ranks and a recency boost, as the reference engine
            computes them. `"tuned"`: scores of words and vectors on one scale, and bounded
            boosts for entities, links, neighbours and dates; see `docs/ranking.md`.
        lexical: `"bm25"` is the engine's own index; `"okapi"`, `"bm25l"` and
            `"bm25plus"` score with the rank-bm25 package instead, for small corpora.
        analyzer: How words are brought together: the language whose Snowball stemmer does it,
            such as `"english"`, or `"plain"` for words as they are. The file records it, so
            that every handle reads text alike; `None` takes what is recorded, which is
            `"english"` in a new file. The reference ranking always reads plainly.
        stop_words: Whether the tuned ranking leaves words like "when" and "did" out of a
            question, in languages that there is a list for.
        bm25_k1: Saturation of term frequency; by default 0.9, in the reference ranking 1.2.
        bm25_b: Weight of the length normalisation; by default 0.4, in the reference ranking
            0.75.
        rrf_k: Constant of reciprocal-rank fusion.
        w_bm25: Weight of the lexical source in the fusion.
        w_vector: Weight of the vector source.
        w_graph: Weight of the graph source.
        w_time: Weight of the time source.
        w_recency: Largest relative boost of a fact recorded just now; 0 switches it off. By
            default 0.05, in the reference ranking 0.25.
        text_share: In the tuned ranking, the share of the words; the vector has the rest.
        entity_boost: Points for a fact about an entity that the question names, and less with
            every hop from it; this and the following are of the tuned ranking, where text and
            vector give 1 at most, and 0 switches a signal off.
        date_boost: Points for a fact that began to hold, or was recorded, when the question asks.
        year_boost: Points for a text that names a year the question asks about.
        previous_boost: What a turn of a session gets of the points of the turn before it.
        next_boost: What it gets of the points of the turn after it.
        link_boost: What a fact gets of the points of one that mentions its entity.
        link_cap: The share of those points that it cannot exceed by that.
        mentions: Whether the entities are noted that the text of a new fact names.
        rerank_top: How many of the best facts a reranker looks at, or `k` if that is more.
        rerank_timeout: Seconds that a reranker is waited for; then the order of before stands.
            `None` waits for ever, and asks it in the caller's thread.
        session_key: The metadata key whose value tells the session of a fact.
        half_life_days: Age at which that boost has halved.
        graph_depth: Hops walked from the anchors.
        graph_decay: Share of the weight that is left after a hop.
        similar_cosine: Cosine above which a new fact is reported as similar.
        similar_jaccard: Share of common tokens above which it is.
        min_similarity: Cosine below which a vector is no evidence; `None` means no floor.
        flat_to_hnsw: Vectors from which `maintain` builds the graph index; fewer are scanned.
        hnsw_m: Links of a node of the vector graph.
        hnsw_ef_construction: Beam while building it.
        hnsw_ef_search: Beam while searching it; `recall(ef=…)` overrides it.
    """

    durability: Literal["full", "normal"] = "full"
    busy_timeout: float = Field(default=5.0, ge=0, le=3600)
    embedder_wait: float = Field(default=1.0, ge=0, le=86_400)
    embedder_longest_wait: float = Field(default=60.0, ge=0, le=86_400)
    max_text: int = Field(default=65_536, ge=1, le=16_777_216)
    max_tags: int = Field(default=32, ge=0, le=1024)
    max_links: int = Field(default=16, ge=0, le=1024)
    max_metadata: int = Field(default=65_536, ge=2, le=16_777_216)
    max_value: int = Field(default=67_108_864, ge=2, le=536_870_912)
    ranking: Ranking = "tuned"
    lexical: Lexical = "bm25"
    analyzer: str | None = None
    stop_words: bool = True
    bm25_k1: float | None = Field(default=None, gt=0, le=100)
    bm25_b: float | None = Field(default=None, ge=0, le=1)
    rrf_k: int = Field(default=60, ge=1, le=1_000_000)
    w_bm25: float = Field(default=1.0, ge=0, le=1_000)
    w_vector: float = Field(default=1.0, ge=0, le=1_000)
    w_graph: float = Field(default=1.0, ge=0, le=1_000)
    w_time: float = Field(default=1.0, ge=0, le=1_000)
    w_recency: float | None = Field(default=None, ge=0, le=1_000)
    text_share: float = Field(default=0.5, ge=0, le=1)
    entity_boost: float = Field(default=0.3, ge=0, le=1)
    date_boost: float = Field(default=0.4, ge=0, le=1)
    year_boost: float = Field(default=0.3, ge=0, le=1)
    previous_boost: float = Field(default=0.3, ge=0, le=1)
    next_boost: float = Field(default=0.2, ge=0, le=1)
    link_boost: float = Field(default=0.85, ge=0, le=1)
    link_cap: float = Field(default=0.85, ge=0, le=1)
    mentions: bool = True
    rerank_top: int = Field(default=50, ge=0, le=10_000)
    rerank_timeout: float | None = Field(default=10.0, gt=0, le=3_600)
    session_key: str = Field(default="session", min_length=1, max_length=256)
    half_life_days: int = Field(default=180, ge=1, le=365_000)
    graph_depth: int = Field(default=2, ge=0, le=1_000)
    graph_decay: float = Field(default=0.5, gt=0, le=1)
    similar_cosine: float = Field(default=0.85, ge=0, le=1)
    similar_jaccard: float = Field(default=0.5, ge=0, le=1)
    min_similarity: float | None = Field(default=None, ge=-1, le=1)
    flat_to_hnsw: int = Field(default=24_000, ge=1)
    hnsw_m: int = Field(default=16, ge=2, le=512)
    hnsw_ef_construction: int = Field(default=200, ge=2, le=10_000)
    hnsw_ef_search: int = Field(default=128, ge=1, le=1_000_000)

    @field_validator("analyzer")
    @classmethod
    def _check_analyzer(cls, analyzer: str | None, given: ValidationInfo) -> str | None:
        accepted = (PLAIN, *LANGUAGES)
        if analyzer is not None and analyzer not in accepted:
            raise ValueError(f"give one of {', '.join(accepted)}")
        if given.data.get("ranking") == "reference" and analyzer not in (None, PLAIN):
            raise ValueError("the reference ranking reads plainly; leave the analyzer out")
        return analyzer

    @property
    def bm25(self) -> tuple[float, float]:
        """`bm25_k1` and `bm25_b`, or what stands for them."""
        k1, b = BM25[self.ranking]
        return (
            k1 if self.bm25_k1 is None else self.bm25_k1,
            b if self.bm25_b is None else self.bm25_b,
        )

    @property
    def recency(self) -> float:
        """`w_recency`, or what stands for it."""
        return RECENCY[self.ranking] if self.w_recency is None else self.w_recency
