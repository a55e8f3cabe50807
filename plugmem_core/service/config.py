"""`ServiceConfig`: the limits and defaults of the agent-memory service."""

from typing import Literal, TypeAlias

from pydantic import Field

from plugmem_core.config import Knobs

Mode: TypeAlias = Literal["fused", "vector"]
"""How a question is answered: by words and vectors together, or by vectors alone."""


class ServiceConfig(Knobs):
    """What the service accepts, and what it does when a call does not say; frozen.

    An unknown name or a value out of range raises `ConfigError`.

    Attributes:
        mode: `"fused"` ranks by words and vectors together, `"vector"` by cosine alone.
        default_ttl: Seconds a memory lives when `remember` is told nothing; `None` or 0 is
            for ever.
        autograph: Whether `remember` also lets the extractor look for entities.
        hops: Edges walked from a seed, when a call does not say.
        graph_boost: What the graph counts in `recall_fused`, when a call does not say.
        path_decay: Share of a path's score that is left after each edge.
        max_fact: Longest text of one memory, in bytes of UTF-8.
        max_passage: Longest text to extract memories from, in bytes of UTF-8.
        max_metadata: Longest metadata of one memory, in bytes of compact JSON.
        max_label: Longest label of an edge, in bytes of UTF-8.
        max_recall: Most memories of one answer; a larger `k` counts as this.
        max_pool: Most candidates of `recall_fused`; a larger `pool` counts as this.
        max_hops: Most edges walked from a seed; more counts as this.
        max_degree: Most edges followed at each node of a walk, in each direction.
        max_nodes: Most nodes of one walk, seeds included.
        max_edges: Most edges of one walk.
        max_relations: Most relations of an entity's profile, in each direction.
        max_scanned: Most edges looked at for it, or at a node for those that pass a filter,
            in each direction.

    >>> ServiceConfig(mode="vector").max_fact
    2048
    """

    mode: Mode = "fused"
    default_ttl: float | None = Field(default=None, ge=0, allow_inf_nan=False)
    autograph: bool = False
    hops: int = Field(default=2, ge=0, le=1_000)
    graph_boost: float = Field(default=0.15, ge=0, le=1_000)
    path_decay: float = Field(default=0.5, gt=0, le=1)
    max_fact: int = Field(default=2_048, ge=1, le=16_777_216)
    max_passage: int = Field(default=1_048_576, ge=1, le=16_777_216)
    max_metadata: int = Field(default=65_536, ge=2, le=16_777_216)
    max_label: int = Field(default=512, ge=1, le=1_024)
    max_recall: int = Field(default=1_000, ge=1, le=100_000)
    max_pool: int = Field(default=1_000, ge=1, le=100_000)
    max_hops: int = Field(default=10, ge=0, le=1_000)
    max_degree: int = Field(default=64, ge=1, le=1_000)
    max_nodes: int = Field(default=500, ge=1, le=100_000)
    max_edges: int = Field(default=2_000, ge=1, le=100_000)
    max_relations: int = Field(default=64, ge=1, le=100_000)
    max_scanned: int = Field(default=4_096, ge=1, le=1_000_000)
