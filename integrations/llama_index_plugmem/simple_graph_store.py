"""`PlugmemGraphStore`: a memory as a LlamaIndex graph store of bare triplets."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Self

import fsspec  # type: ignore[import-untyped] # it comes with LlamaIndex, and has no types
from llama_index.core.graph_stores.types import GraphStore, Relation

from llama_index_plugmem._graph import RELATION
from llama_index_plugmem._graph_input import from_relation
from llama_index_plugmem._graph_properties import Where
from llama_index_plugmem._graph_queries import texts
from llama_index_plugmem._graph_reads import GraphReader, ends, starting_at
from llama_index_plugmem._graph_schema import make_schema, schema_text
from llama_index_plugmem._graph_writes import GraphWriter
from plugmem_core import Memory, MemoryConfig, Namespace
from plugmem_core.inputs import check_count, check_namespace, check_type
from plugmem_core.verbs.base import Closing


class PlugmemGraphStore(Closing, GraphStore):
    """Keeps triplets in a memory, for the older indices of LlamaIndex over knowledge graphs.

    LlamaIndex has deprecated them; `PlugmemPropertyGraphStore` is for its `PropertyGraphIndex`.
    It can read what this store keeps, under the same namespace. Subjects, relations and objects
    are told apart by every character.

    Args:
        memory: The open memory; closing it remains the caller's task.
        namespace: Where the triplets live. Stores in other namespaces never see them.

    Raises:
        InvalidInputError: An argument breaks its rule; so do the methods.

    >>> store = PlugmemGraphStore.open(":memory:")
    >>> store.upsert_triplet("Ines", "reports to", "Olga")
    >>> store.upsert_triplet("Olga", "tends", "the library")
    >>> store.get("Ines")
    [['reports to', 'Olga']]
    >>> store.get_rel_map(["Ines"])
    {'Ines': [['Ines', 'reports to', 'Olga'], ['Olga', 'tends', 'the library']]}
    >>> store.delete("Ines", "reports to", "Olga")
    >>> store.get("Ines"), store.get("Olga")
    ([], [['tends', 'the library']])
    >>> store.close()
    """

    def __init__(self, memory: Memory, *, namespace: Namespace = ("triplets",)) -> None:
        check_type(memory, Memory, "memory", "an open Memory")
        self.memory = memory
        self.namespace = check_namespace(namespace)
        self._reader = GraphReader(memory, self.namespace, None)
        self._writer = GraphWriter(memory, self.namespace, keep_history=True)

    @classmethod
    def open(cls, path: str | Path, *, config: MemoryConfig | None = None, **settings: Any) -> Self:
        """Open a file as a store of its own; `close`, `with` or `async with` lets go of it.

        Args:
            path: The file, made when missing, or `":memory:"`.
            config: How the memory stores and ranks.
            **settings: As for the class.
        """
        memory = Memory.open(path, config=config)
        try:
            return cls(memory, **settings)
        except BaseException:
            memory.close()
            raise

    @property
    def client(self) -> Memory:
        """The memory."""
        return self.memory

    def close(self) -> None:
        """Close the memory."""
        self.memory.close()

    def get(self, subj: str) -> list[list[str]]:
        """Return the relations that start at a subject, as lists of relation and object."""
        check_type(subj, str, "subj", "a str")
        return [[relation, target] for _, relation, target in self._starting_at([subj])]

    def get_rel_map(
        self, subjs: Sequence[str] | None = None, depth: int = 2, limit: int = 30
    ) -> dict[str, list[list[str]]]:
        """Return by subject the triplets that lead away from it, the nearest first.

        Args:
            subjs: Where to start; every subject by default. An unknown one has no triplets.
            depth: Most relations from there.
            limit: Most triplets in all.
        """
        hops, left = check_count(depth, "depth", least=0), check_count(limit, "limit", least=0)
        if subjs is None:
            start = [source for source, _, _ in self._triplets()]
        else:
            start = texts(subjs, "subjs")
        found: dict[str, list[list[str]]] = {}
        for subject in dict.fromkeys(start):
            found[subject] = self._leading_away(subject, hops, left)
            left -= len(found[subject])
        return found

    def upsert_triplet(self, subj: str, rel: str, obj: str) -> None:
        """Add a triplet; one that is there stays as it is."""
        given = from_relation(_relation(subj, rel, obj), "the triplet")
        self._writer.upsert([], [given], verbatim=True)

    def delete(self, subj: str, rel: str, obj: str) -> None:
        """Delete a triplet, and nothing else; one that there is not is passed over."""
        self._writer.delete_relation(_relation(subj, rel, obj))

    def persist(
        self, persist_path: str | Path, fs: fsspec.AbstractFileSystem | None = None
    ) -> None:
        """Do nothing: the memory is on disk already."""

    def get_schema(self, refresh: bool = False) -> str:  # noqa: ARG002, FBT001, FBT002 - LlamaIndex's signature
        """Return the labels of relations, as text for a prompt.

        Args:
            refresh: Plays no part: it is read from the graph each time.
        """
        return schema_text(make_schema([], self._reader.triples(None, None, None, None)))

    def query(self, query: str, param_map: Mapping[str, Any] | None = None) -> Any:
        """Refuse: the graph speaks no query language.

        Raises:
            NotImplementedError: Always.
        """
        raise NotImplementedError(
            "PlugmemGraphStore has no query language; use get or get_rel_map, or recall of its "
            "client, the memory"
        )

    def _leading_away(self, subject: str, depth: int, limit: int) -> list[list[str]]:
        found: dict[tuple[str, ...], None] = {}
        here, visited = [subject], {subject}
        for _ in range(depth):
            triplets = self._starting_at(here)
            found |= dict.fromkeys(map(tuple, triplets))
            here = [target for *_, target in triplets if target not in visited]
            visited.update(here)
            if not here or len(found) >= limit:
                break
        return [list(triplet) for triplet in found][:limit]

    def _starting_at(self, subjects: Sequence[str]) -> list[list[str]]:
        return self._triplets(starting_at(subjects))

    def _triplets(self, *conditions: Where) -> list[list[str]]:
        found = sorted(self._reader.elements([RELATION], *conditions), key=lambda one: one.place)
        triplets = []
        for element in found:
            source, target = ends(element)
            triplets.append([source, element.shown.label, target])
        return triplets


def _relation(source: str, label: str, target: str) -> Relation:
    for name, text in (("subj", source), ("rel", label), ("obj", target)):
        check_type(text, str, name, "a str")
    return Relation(label=label, source_id=source, target_id=target)
