"""Which chunks of documents say the same, though their ids differ.

A node parser gives a chunk a random id each time it is run, and notes in it which version of
which document it was cut from, by a hash of the whole document.
"""

from collections.abc import Iterable
from typing import NamedTuple

from llama_index.core.schema import BaseNode, RelatedNodeInfo


class Version(NamedTuple):
    """A version of a document."""

    document: str
    hash: str


class Chunk(NamedTuple):
    """What a chunk says, and where in which version of a document."""

    version: Version
    kind: str
    hash: str  # of text and metadata
    start: int | None
    end: int | None


def chunks_of(nodes: Iterable[BaseNode]) -> set[Chunk]:
    """Return the chunks among nodes; who made a node by hand mostly notes no hash."""
    return {chunk for chunk in map(_chunk, nodes) if chunk is not None}


def replaced(stored: Iterable[BaseNode], added: set[Chunk], *, versions: bool) -> list[str]:
    """Return the ids of stored nodes whose place is taken by chunks that are added.

    Args:
        stored: Nodes of the same documents.
        added: The chunks.
        versions: Whether chunks of other versions of the documents are replaced, too.
    """
    current = {chunk.version for chunk in added}
    documents = {version.document for version in current}

    def is_replaced(chunk: Chunk | None) -> bool:
        if chunk is None or chunk.version.document not in documents:
            return False
        return chunk in added or (versions and chunk.version not in current)

    return [node.node_id for node in stored if is_replaced(_chunk(node))]


def _chunk(node: BaseNode) -> Chunk | None:
    source = node.source_node
    if not isinstance(source, RelatedNodeInfo) or source.hash is None:
        return None
    return Chunk(
        Version(source.node_id, source.hash),
        node.class_name(),
        node.hash,
        getattr(node, "start_char_idx", None),
        getattr(node, "end_char_idx", None),
    )
