"""`RuleExtractor`: what the rules find becomes what a property graph index looks for."""

import asyncio
import pickle
import threading
from typing import Any

import pytest
from llama_index.core.graph_stores.types import EntityNode, Relation
from llama_index.core.indices.property_graph import ImplicitPathExtractor
from llama_index.core.ingestion import IngestionPipeline
from llama_index.core.schema import BaseNode, ImageNode, TextNode, TransformComponent

from llama_index_plugmem import RuleExtractor
from plugmem_core import InvalidInputError, WrongTypeError

TEXT = "Mara's sister is Ines. Ines works at Acme since 2019."


def entities(node: BaseNode) -> list[tuple[str, str]]:
    return [(entity.id, entity.label) for entity in node.metadata["nodes"]]


def relations(node: BaseNode) -> list[tuple[str, str, str]]:
    return [(one.source_id, one.label, one.target_id) for one in node.metadata["relations"]]


def test_it_is_a_transformation() -> None:
    assert isinstance(RuleExtractor(), TransformComponent)
    assert RuleExtractor.class_name() == "RuleExtractor"


def test_names_become_entities_and_what_is_said_about_them_relations() -> None:
    [node] = RuleExtractor()([TextNode(id_="c1", text=TEXT)])
    assert entities(node) == [
        ("Mara", "entity"),
        ("Ines", "entity"),
        ("Acme", "entity"),
        ("2019", "date"),
    ]
    assert relations(node) == [
        ("Mara", "HAS_SISTER", "Ines"),
        ("Ines", "WORKS_AT", "Acme"),
        ("c1", "MENTIONS", "Mara"),
        ("c1", "MENTIONS", "Ines"),
        ("c1", "MENTIONS", "Acme"),
        ("c1", "MENTIONS", "2019"),
    ]


def test_what_is_denied_or_reported_is_a_mention_and_no_relation() -> None:
    text = "Neither Anna nor Bob lives in Rome. Nobody believes Bob works at Globex."
    [node] = RuleExtractor()([TextNode(id_="c1", text=text)])
    assert relations(node) == [
        ("c1", "MENTIONS", name) for name in ("Anna", "Bob", "Rome", "Globex")
    ]


def test_mentions_can_be_left_out() -> None:
    [node] = RuleExtractor(mentions=False)([TextNode(id_="c1", text=TEXT)])
    assert relations(node) == [("Mara", "HAS_SISTER", "Ines"), ("Ines", "WORKS_AT", "Acme")]


@pytest.mark.parametrize(
    "node",
    [TextNode(text=""), TextNode(text=" \n"), TextNode(text="it rains."), ImageNode(image="aGk=")],
)
def test_a_node_without_names_has_both_lists_nevertheless(node: BaseNode) -> None:
    [node] = RuleExtractor()([node])
    assert (node.metadata["nodes"], node.metadata["relations"]) == ([], [])


def test_what_other_extractors_found_stays_and_is_not_repeated() -> None:
    person = EntityNode(name="Ines", label="PERSON", properties={"age": 30})
    works = Relation(label="WORKS_AT", source_id="Ines", target_id="Acme", properties={"a": 1})
    node = TextNode(text=TEXT, metadata={"nodes": [person], "relations": [works], "page": 3})
    RuleExtractor(mentions=False)([node])
    assert node.metadata["nodes"][0] is person
    assert entities(node) == [
        ("Ines", "PERSON"),
        ("Mara", "entity"),
        ("Acme", "entity"),
        ("2019", "date"),
    ]
    assert node.metadata["relations"][0] is works
    assert relations(node) == [("Ines", "WORKS_AT", "Acme"), ("Mara", "HAS_SISTER", "Ines")]
    assert node.metadata["page"] == 3


def test_it_goes_before_or_after_the_extractor_of_implicit_paths() -> None:
    rules, implicit = RuleExtractor(), ImplicitPathExtractor()
    [one] = implicit(rules([TextNode(id_="c1", text=TEXT)]))
    [other] = rules(implicit([TextNode(id_="c1", text=TEXT)]))
    assert entities(one) == entities(other)
    assert set(relations(one)) == set(relations(other))


def test_known_names_have_the_kind_given_for_their_label() -> None:
    text = TextNode(text="we drink Green Tea with mara kohl.")
    [node] = RuleExtractor({"green tea": "drink", "Mara Kohl": "person"})(
        [text.model_copy(deep=True)]
    )
    assert entities(node) == [("green tea", "drink"), ("Mara Kohl", "person")]
    [node] = RuleExtractor(["green tea"])([text.model_copy(deep=True)])
    assert entities(node) == [("green tea", "entity")]


def test_the_number_of_entities_is_limited() -> None:
    [node] = RuleExtractor(max_entities=2)([TextNode(id_="c1", text=TEXT)])
    assert [name for name, _ in entities(node)] == ["Mara", "Ines"]
    assert relations(node) == [
        ("Mara", "HAS_SISTER", "Ines"),
        ("c1", "MENTIONS", "Mara"),
        ("c1", "MENTIONS", "Ines"),
    ]


def test_entities_of_two_nodes_are_objects_of_their_own() -> None:
    # The index writes the id of the node into the properties of each.
    first, second = RuleExtractor()([TextNode(text=TEXT), TextNode(text=TEXT)])
    first.metadata["nodes"][0].properties["triplet_source_id"] = "c1"
    first.metadata["relations"][0].properties["triplet_source_id"] = "c1"
    assert second.metadata["nodes"][0].properties == {}
    assert second.metadata["relations"][0].properties == {}


def test_it_survives_pickling_and_a_round_trip_through_its_dictionary() -> None:
    extractor = RuleExtractor({"green tea": "drink"}, max_entities=3, mentions=False)
    for copy in (
        pickle.loads(pickle.dumps(extractor)),
        RuleExtractor.from_dict(extractor.to_dict()),
        extractor.model_copy(deep=True),
    ):
        [node] = copy([TextNode(text="some green tea")])
        assert entities(node) == [("green tea", "drink")]
        assert relations(node) == []


def test_it_runs_in_an_ingestion_pipeline() -> None:
    pipeline = IngestionPipeline(transformations=[RuleExtractor(mentions=False)])
    [node] = pipeline.run(nodes=[TextNode(text=TEXT)])
    assert relations(node) == [("Mara", "HAS_SISTER", "Ines"), ("Ines", "WORKS_AT", "Acme")]


async def test_async_works_in_another_thread_and_gives_the_same() -> None:
    threads = []

    class Watched(RuleExtractor):
        def __call__(self, nodes: Any, **kwargs: Any) -> Any:
            threads.append(threading.current_thread())
            return super().__call__(nodes, **kwargs)

    [node] = await Watched().acall([TextNode(id_="c1", text=TEXT)], show_progress=False)
    assert threads != [threading.current_thread()]
    [same] = RuleExtractor()([TextNode(id_="c1", text=TEXT)])
    assert (entities(node), relations(node)) == (entities(same), relations(same))


async def test_one_extractor_serves_many_calls_at_once() -> None:
    extractor = RuleExtractor()
    batches = [[TextNode(id_=f"c{n}", text=TEXT)] for n in range(8)]
    for n, [node] in enumerate(await asyncio.gather(*map(extractor.acall, batches))):
        assert (f"c{n}", "MENTIONS", "Mara") in relations(node)
        assert len(entities(node)) == 4


@pytest.mark.parametrize(
    ("arguments", "error", "named"),
    [
        ({"known": "Mara"}, WrongTypeError, "known"),
        ({"known": [" "]}, InvalidInputError, "known"),
        ({"known": 3}, WrongTypeError, "known"),
        ({"max_entities": -1}, InvalidInputError, "max_entities"),
        ({"mentions": 1}, WrongTypeError, "mentions"),
    ],
)
def test_bad_settings_are_refused(
    arguments: dict[str, Any], error: type[Exception], named: str
) -> None:
    with pytest.raises(error, match=named):
        RuleExtractor(**arguments)
