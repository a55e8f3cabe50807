"""`RuleExtractor`: entities and relations for a property graph, without a model."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from llama_index.core.graph_stores.types import (
    KG_NODES_KEY,
    KG_RELATIONS_KEY,
    EntityNode,
    Relation,
)
from llama_index.core.schema import BaseNode, MetadataMode, TransformComponent
from pydantic import Field, PrivateAttr

from llama_index_plugmem._graph import ENTITY, MENTIONS
from plugmem_core.extraction.prose import (
    IDENTIFIER,
    KNOWN,
    MAX_NAMES,
    NAME,
    QUOTED,
    KnownNames,
    extract,
)
from plugmem_core.inputs import check_count, check_type
from plugmem_core.verbs.base import twin

_SPELLED = {NAME, QUOTED, IDENTIFIER, KNOWN}
"""Kinds that say how a name was found, not what it is of."""


class RuleExtractor(TransformComponent):
    """Finds entities and relations in the text of nodes by rules; no model is asked.

    Goes among the `kg_extractors` of a `PropertyGraphIndex`, before or after others: what
    they found stays. The rules are those of `plugmem_core.extraction.prose`: names, quoted
    titles, identifiers and dates, and what a few words between two names say about them, as
    in "Ines works at Acme". They are for English prose, and would rather miss something than
    invent it. The names of your own domain are found surely, in any language, if `known`.

    Entities have the label `entity`, dates `date`, and known names the kind given for them.

    Args:
        known: Names to find wherever they are mentioned, or a mapping from names to their
            kinds.
        max_entities: Most entities taken from one node; its first ones count.
        mentions: Whether each node gets a relation `MENTIONS` to every entity in it. By them
            the graph store knows which texts an entity comes from, so that it outlives the
            deletion of one of them.

    Raises:
        WrongTypeError: An argument has another type.
        InvalidInputError: A known name has no letter and no digit, or the number is negative.

    >>> from llama_index.core.schema import TextNode
    >>> extractor = RuleExtractor(known={"green tea": "drink"}, mentions=False)
    >>> [node] = extractor([TextNode(text="Ines works at Acme. She likes green tea.")])
    >>> [(entity.name, entity.label) for entity in node.metadata["nodes"]]
    [('Ines', 'entity'), ('Acme', 'entity'), ('green tea', 'drink')]
    >>> [(one.source_id, one.label, one.target_id) for one in node.metadata["relations"]]
    [('Ines', 'WORKS_AT', 'Acme')]
    """

    # Defaults for the sake of subclasses, whose constructor type checkers make of the fields.
    known: dict[str, str] = Field(default_factory=dict)
    max_entities: int = MAX_NAMES
    mentions: bool = True

    _known: KnownNames = PrivateAttr()

    def __init__(
        self,
        known: Iterable[str] | Mapping[str, str] = (),
        *,
        max_entities: int = MAX_NAMES,
        mentions: bool = True,
    ) -> None:
        check_count(max_entities, "max_entities", least=0)
        check_type(mentions, bool, "mentions", "True or False")
        names = KnownNames(known)
        fields: dict[str, Any] = {
            "known": names.kinds,
            "max_entities": max_entities,
            "mentions": mentions,
        }
        super().__init__(**fields)
        self._known = names

    @classmethod
    def class_name(cls) -> str:
        """The name under which LlamaIndex saves the component."""
        return "RuleExtractor"

    def __call__(self, nodes: Sequence[BaseNode], **_kwargs: Any) -> Sequence[BaseNode]:
        """Add entities and relations to the metadata of nodes, where the index looks for them.

        Args:
            nodes: Read by their text; one without gives nothing.
            **_kwargs: Ignored, such as `show_progress`.

        Returns:
            The same nodes.
        """
        for node in nodes:
            self._extract(node)
        return nodes

    async def acall(self, nodes: Sequence[BaseNode], **kwargs: Any) -> Sequence[BaseNode]:
        """The same in a worker thread; the event loop runs on."""
        return await twin(self.__call__)(nodes, **kwargs)

    def _extract(self, node: BaseNode) -> None:
        text = node.get_content(MetadataMode.NONE)
        found = extract(text, known=self._known, most=self.max_entities)
        entities = {
            name: EntityNode(name=name, label=ENTITY if kind in _SPELLED else kind)
            for name, kind in found.entities.items()
        }
        relations = [
            Relation(label=label, source_id=entities[source].id, target_id=entities[target].id)
            for source, label, target in found.relations
        ]
        if self.mentions:
            relations += [
                Relation(label=MENTIONS, source_id=node.node_id, target_id=entity.id)
                for entity in entities.values()
            ]
        # Another extractor knows more of what it found, such as what kind of entity it is.
        nodes = list(node.metadata.get(KG_NODES_KEY) or ())
        there = {one.id for one in nodes}
        nodes += [entity for entity in entities.values() if entity.id not in there]
        stated = list(node.metadata.get(KG_RELATIONS_KEY) or ())
        said = {_triple(one) for one in stated}
        stated += [relation for relation in relations if _triple(relation) not in said]
        node.metadata[KG_NODES_KEY] = nodes
        node.metadata[KG_RELATIONS_KEY] = stated


def _triple(relation: Relation) -> tuple[str, str, str]:
    return relation.source_id, relation.label, relation.target_id
