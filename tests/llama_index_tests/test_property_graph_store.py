"""`PlugmemPropertyGraphStore`: what is asked, added and deleted, against answers stated by hand."""

from typing import Any

import pytest
from llama_index.core.graph_stores import SimplePropertyGraphStore
from llama_index.core.graph_stores.types import (
    ChunkNode,
    EntityNode,
    LabelledNode,
    PropertyGraphStore,
    Relation,
    Triplet,
)
from llama_index.core.schema import (
    ImageNode,
    IndexNode,
    NodeRelationship,
    RelatedNodeInfo,
    TextNode,
)
from llama_index.core.vector_stores.types import VectorStoreQuery

from llama_index_plugmem import PlugmemPropertyGraphStore
from plugmem_core import (
    InvalidInputError,
    Memory,
    MemoryConfig,
    PlugmemError,
    TooLargeError,
    WrongTypeError,
)

Edge = tuple[str, str, str]


@pytest.fixture
def store(memory: Memory) -> PlugmemPropertyGraphStore:
    return PlugmemPropertyGraphStore(memory)


def relate(store: PlugmemPropertyGraphStore, *edges: Edge, **properties: Any) -> None:
    store.upsert_relations(
        [
            Relation(source_id=source, label=label, target_id=target, properties=properties)
            for source, label, target in edges
        ]
    )


def entity(name: str, **properties: Any) -> EntityNode:
    return EntityNode(name=name, properties=properties)


def triples(found: list[Triplet]) -> list[Edge]:
    return [(source.id, relation.id, target.id) for source, relation, target in found]


def ids(nodes: list[LabelledNode]) -> list[str]:
    return [node.id for node in nodes]


def around(store: PlugmemPropertyGraphStore, *names: str, **options: Any) -> list[Edge]:
    return triples(store.get_rel_map([EntityNode(name=name) for name in names], **options))


CHAIN: list[Edge] = [("A", "R", "B"), ("B", "R", "C"), ("C", "R", "D")]


def test_it_is_a_property_graph_store_that_is_never_false(store: PlugmemPropertyGraphStore) -> None:
    assert isinstance(store, PropertyGraphStore)
    assert store.supports_vector_queries
    assert not store.supports_structured_queries
    assert bool(store)
    assert not hasattr(store, "__len__")


def test_its_client_is_the_memory(store: PlugmemPropertyGraphStore, memory: Memory) -> None:
    assert store.client is memory


# -- nodes


def test_nodes_come_back_as_they_were_given(store: PlugmemPropertyGraphStore) -> None:
    given = [
        EntityNode(name="Ines", label="PERSON", properties={"age": 28, "tags": ["a"], "x": None}),
        EntityNode(name="Küche №1"),
        ChunkNode(text="Ines tends the library.", id_="c1", properties={"page": 3}),
    ]
    store.upsert_nodes(given)
    assert store.get() == given


@pytest.mark.parametrize(
    "properties",
    [
        {"z": 1, "a": 2},
        {"b": 1, "a": {"d": 1, "c": [{"y": 1, "x": 2}]}},
        {"name": "A", "embedding": "none", "": 0},
    ],
    ids=str,
)
def test_properties_keep_their_order(
    store: PlugmemPropertyGraphStore, properties: dict[str, Any]
) -> None:
    node = EntityNode(name="A", properties=properties)
    store.upsert_nodes([node, ChunkNode(text="x", id_="c1", properties=properties)])
    store.upsert_llama_nodes([TextNode(text="x", id_="c2", metadata=properties)])
    relate(store, ("A", "R", "B"), **properties)
    found = [node.properties for node in store.get(ids=["A", "c1", "c2"])]
    found += [relation.properties for _, relation, _ in store.get_triplets(ids=["A"])]
    assert [str(one) for one in found] == [str(properties)] * 4
    assert str(store.get(ids=["A"])[0]) == str(node)  # the text that indices embed
    store.upsert_nodes([entity("A", first=0), ChunkNode(text="y", id_="c2", properties={"0": 0})])
    [changed, chunk] = sorted(store.get(ids=["A", "c2"]), key=lambda one: one.id)
    assert list(changed.properties) == [*properties, "first"]
    assert list(chunk.properties) == [*properties, "0"]
    with PlugmemPropertyGraphStore.from_dict(store.to_dict()) as copy:
        assert [str(one.properties) for one in copy.get()] == [
            str(one.properties) for one in store.get()
        ]


@pytest.mark.parametrize("source", [5, ["c1"], True, {"id": "c1"}])
def test_a_source_that_is_no_text_is_refused(store: PlugmemPropertyGraphStore, source: Any) -> None:
    with pytest.raises(WrongTypeError, match=r"triplet_source_id of nodes\[0\] is"):
        store.upsert_nodes([entity("A", triplet_source_id=source)])
    with pytest.raises(WrongTypeError, match=r"triplet_source_id of relations\[0\] is"):
        relate(store, ("A", "R", "B"), triplet_source_id=source)
    assert store.get() == []
    store.upsert_nodes([entity("A", triplet_source_id=None)])


@pytest.mark.parametrize("given", [None, 5, "A", {"A": 1}, EntityNode(name="A"), TextNode()])
def test_what_is_no_list_is_refused(store: PlugmemPropertyGraphStore, given: Any) -> None:
    for method in (
        store.upsert_nodes,
        store.upsert_relations,
        store.upsert_llama_nodes,
        store.get_rel_map,
    ):
        with pytest.raises(WrongTypeError, match="give a list of"):
            method(given)
    if given is not None:
        for read in (lambda: store.get(ids=given), lambda: store.delete_llama_nodes(given)):
            with pytest.raises(WrongTypeError, match="give a list"):
                read()
    assert store.get() == []


@pytest.mark.parametrize("wanted", [5, "x", ["x"], {5: 1}])
def test_properties_that_are_no_mapping_of_names_are_refused(
    store: PlugmemPropertyGraphStore, wanted: Any
) -> None:
    for method in (store.get, store.get_triplets, store.delete):
        with pytest.raises(WrongTypeError, match="properties is"):
            method(properties=wanted)


def test_what_is_given_is_not_changed(store: PlugmemPropertyGraphStore) -> None:
    node = EntityNode(name="A", properties={"embedding": [1.0, 0.0], "x": {"y": 1}})
    relation = Relation(label="R", source_id="A", target_id="B", properties={"x": 1})
    before = node.model_copy(deep=True), relation.model_copy(deep=True)
    store.upsert_nodes([node])
    store.upsert_relations([relation])
    store.upsert_relations([Relation(label="R", source_id="A", target_id="B")])
    assert (node, relation) == before


def test_a_node_that_is_got_can_be_changed_without_changing_the_graph(
    store: PlugmemPropertyGraphStore,
) -> None:
    store.upsert_nodes([entity("A", x=1)])
    relate(store, ("A", "R", "A"), y=1)
    store.get()[0].properties["x"] = 2
    for source, relation, target in store.get_triplets(ids=["A"]):
        source.properties["x"] = relation.properties["y"] = 3
        assert target.properties["x"] == 1
    assert store.get()[0].properties == {"x": 1}
    assert store.get_triplets(ids=["A"])[0][1].properties == {"y": 1}


def test_ids_are_told_apart_by_every_character(store: PlugmemPropertyGraphStore) -> None:
    names = [
        "cafe",
        "Cafe",
        "café",
        "CAFÉ",
        "ca-fe",
        "ca fe",
        "cafe ",
        "!",
        "?",
        "%",
        "_",
        "'",
        "’",
    ]
    store.upsert_nodes([entity(name, name_=name) for name in names])
    assert ids(store.get()) == names
    for name in names:
        assert [node.properties for node in store.get(ids=[name])] == [{"name_": name}]
    relate(store, ("cafe", "R", "Cafe"), ("!", "R", "?"))
    assert around(store, "cafe") == [("cafe", "R", "Cafe")]
    assert around(store, "CAFÉ") == []
    assert around(store, "?") == [("!", "R", "?")]


def test_the_id_of_a_name_with_double_quotes_has_spaces(store: PlugmemPropertyGraphStore) -> None:
    store.upsert_nodes([EntityNode(name='the "Owl"')])
    relate(store, ('the "Owl"', "IS", "a bird"))
    [node] = store.get(ids=["the  Owl "])
    assert isinstance(node, EntityNode)
    assert node.name == 'the "Owl"'
    assert triples(store.get_triplets(entity_names=['the "Owl"'])) == [
        ("the  Owl ", "IS", "a bird")
    ]
    store.delete(entity_names=['the "Owl"'])
    assert ids(store.get()) == ["a bird"]


def test_a_chunk_without_an_id_keeps_the_one_it_had_when_it_was_added(
    store: PlugmemPropertyGraphStore,
) -> None:
    chunk = ChunkNode(text="some text")
    store.upsert_nodes([chunk])
    [found] = store.get(ids=[chunk.id])
    assert isinstance(found, ChunkNode)
    assert (found.id_, found.text) == (chunk.id, "some text")


@pytest.mark.parametrize("text", ["", " ", "\n\t"])
def test_a_blank_chunk_comes_back_blank(store: PlugmemPropertyGraphStore, text: str) -> None:
    store.upsert_nodes([ChunkNode(text=text, id_="c1")])
    store.upsert_llama_nodes([TextNode(text=text, id_="c2")])
    assert [node.text for node in store.get() if isinstance(node, ChunkNode)] == [text, text]
    assert [node.get_content() for node in store.get_llama_nodes(["c1", "c2"])] == [text, text]


def test_nodes_come_in_the_order_of_their_insertion(store: PlugmemPropertyGraphStore) -> None:
    store.upsert_nodes([entity("B"), entity("A"), entity("C")])
    store.upsert_nodes([entity("B", changed=True)])
    assert ids(store.get()) == ["B", "A", "C"]
    assert ids(store.get(ids=["C", "A", "B"])) == ["B", "A", "C"]
    store.upsert_nodes([entity("B", changed=False)])
    assert ids(store.get()) == ["B", "A", "C"]


def test_nothing_given_is_no_restriction(store: PlugmemPropertyGraphStore) -> None:
    store.upsert_nodes([entity("A"), entity("B")])
    for found in (store.get(), store.get({}, []), store.get(None, None), store.get(ids=())):
        assert ids(found) == ["A", "B"]


@pytest.mark.parametrize("unknown", ["Z", "", " ", "x" * 2000, "a\0b", "\ud800"])
def test_unknown_ids_are_passed_over(store: PlugmemPropertyGraphStore, unknown: str) -> None:
    store.upsert_nodes([entity("A")])
    assert store.get(ids=[unknown]) == []
    assert ids(store.get(ids=[unknown, "A"])) == ["A"]
    assert store.get_llama_nodes([unknown]) == []
    assert store.get_triplets(ids=[unknown]) == []


def test_ids_and_properties_restrict_each_other(store: PlugmemPropertyGraphStore) -> None:
    store.upsert_nodes([entity("A", x=1), entity("B", x=1), entity("C", x=2)])
    assert ids(store.get(properties={"x": 1})) == ["A", "B"]
    assert ids(store.get(properties={"x": 1}, ids=["B", "C"])) == ["B"]
    assert store.get(properties={"x": 3}) == []
    assert store.get(properties={"y": 1}) == []


def test_several_properties_are_needed_all_or_any(memory: Memory) -> None:
    every = PlugmemPropertyGraphStore(memory)
    some = PlugmemPropertyGraphStore(memory, property_match="any")
    every.upsert_nodes([entity("A", x=1, y=1), entity("B", x=1, y=2), entity("C", x=2, y=2)])
    wanted = {"x": 1, "y": 1}
    assert ids(every.get(properties=wanted)) == ["A"]
    assert ids(some.get(properties=wanted)) == ["A", "B"]
    assert ids(every.get(properties=wanted, ids=["A", "B", "C"])) == ["A"]
    assert ids(some.get(properties=wanted, ids=["A", "B", "C"])) == ["A", "B"]


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("a.b", 1),
        ("$eq", 1),
        ("$and", [1]),
        ("x", {"$gt": 0}),
        ("x", ["a", {"b": None}]),
        ("x", None),
        ("x", 'it\'s "quoted" %_\\'),
        (".".join("abcdefghijklmnopqrstuvwxyzabcdefghijkl"), 1),
        ("", 1),
    ],
)
@pytest.mark.parametrize("match", ["all", "any"])
def test_properties_are_found_by_name_and_value_whatever_these_are(
    memory: Memory, name: str, value: Any, match: Any
) -> None:
    store = PlugmemPropertyGraphStore(memory, property_match=match)
    store.upsert_nodes([entity("A", **{name: value}), entity("B", **{name: "another"})])
    assert ids(store.get(properties={name: value})) == ["A"]
    assert ids(store.get(properties={name: value}, ids=["A", "B"])) == ["A"]


def test_a_dotted_name_is_not_a_path(store: PlugmemPropertyGraphStore) -> None:
    store.upsert_nodes([entity("A", a={"b": 1}), entity("B", **{"a.b": 1})])
    assert ids(store.get(properties={"a.b": 1})) == ["B"]


def test_values_are_told_apart_by_type(store: PlugmemPropertyGraphStore) -> None:
    store.upsert_nodes([entity("A", x=1), entity("B", x="1"), entity("C", x=True)])
    assert ids(store.get(properties={"x": 1})) == ["A"]
    assert ids(store.get(properties={"x": "1"})) == ["B"]
    assert ids(store.get(properties={"x": True})) == ["C"]


def test_the_name_is_a_property_to_look_for(store: PlugmemPropertyGraphStore) -> None:
    other = EntityNode(name="B", properties={"name": "A"})
    store.upsert_nodes([entity("A"), other, ChunkNode(text="A", id_="c")])
    assert ids(store.get(properties={"name": "A"})) == ["A", "B"]


@pytest.mark.parametrize("key", ["ref_doc_id", "doc_id", "document_id"])
def test_the_document_of_a_chunk_is_a_property_to_look_for(
    store: PlugmemPropertyGraphStore, key: str
) -> None:
    source = {NodeRelationship.SOURCE: RelatedNodeInfo(node_id="d1")}
    store.upsert_llama_nodes([TextNode(text="one", id_="c1", relationships=source)])
    store.upsert_llama_nodes([TextNode(text="two", id_="c2")])
    store.upsert_nodes([ChunkNode(text="three", id_="c3", properties={"ref_doc_id": "d1"})])
    store.upsert_nodes([ChunkNode(text="four", id_="c4", properties={"doc_id": "None"})])
    assert ids(store.get(properties={key: "d1"})) == ["c1", "c3"]


def test_any_of_the_sources_is_a_property_to_look_for(store: PlugmemPropertyGraphStore) -> None:
    store.upsert_nodes([entity("A", triplet_source_id="c1")])
    store.upsert_nodes([entity("A", triplet_source_id="c2"), entity("B", triplet_source_id="c2")])
    assert ids(store.get(properties={"triplet_source_id": "c1"})) == ["A"]
    assert ids(store.get(properties={"triplet_source_id": "c2"})) == ["A", "B"]
    assert store.get(ids=["A"])[0].properties == {"triplet_source_id": "c2"}


# -- upserts


def test_the_properties_of_a_node_join_and_later_ones_win(store: PlugmemPropertyGraphStore) -> None:
    store.upsert_nodes([EntityNode(name="A", label="X", properties={"a": 1, "b": 1})])
    store.upsert_nodes([EntityNode(name="A", label="Y", properties={"b": 2, "c": 2})])
    expected = EntityNode(name="A", label="Y", properties={"a": 1, "b": 2, "c": 2})
    assert store.get() == [expected]


def test_one_node_twice_in_a_batch_is_one_node(store: PlugmemPropertyGraphStore) -> None:
    store.upsert_nodes(
        [
            entity("A", a=1, triplet_source_id="c1"),
            entity("A", b=2, triplet_source_id="c2"),
        ]
    )
    assert store.get() == [entity("A", a=1, b=2, triplet_source_id="c2")]
    assert ids(store.get(properties={"triplet_source_id": "c1"})) == ["A"]


def test_adding_the_same_again_writes_nothing(
    store: PlugmemPropertyGraphStore, memory: Memory
) -> None:
    chunk = TextNode(text="A knows B", id_="c1")
    for _ in range(3):
        store.upsert_llama_nodes([chunk])
        store.upsert_nodes([entity("A", x=1, triplet_source_id="c1")])
        relate(store, ("A", "R", "B"), triplet_source_id="c1")
    store.upsert_nodes([entity("A", x=2)])
    for _ in range(3):
        store.upsert_nodes([entity("A", x=2)])
    assert memory.stats().facts == 5  # the chunk, A twice, B and the relation


PARIS = [ChunkNode(text="Paris is large.", id_="Paris"), EntityNode(name="Paris", label="CITY")]


@pytest.mark.parametrize("given", [PARIS, PARIS[::-1]], ids=["chunk first", "entity first"])
def test_a_chunk_and_an_entity_of_one_id_are_two_nodes(
    store: PlugmemPropertyGraphStore, given: list[LabelledNode]
) -> None:
    for one in given:
        store.upsert_nodes([one])
    assert store.get() == store.get(ids=["Paris"]) == given
    assert [node.get_content() for node in store.get_llama_nodes(["Paris"])] == ["Paris is large."]
    assert store.get(properties={"name": "Paris"}) == [PARIS[1]]
    store.delete(ids=["Paris"])
    assert store.get() == []


def test_each_of_two_nodes_with_one_id_has_its_own_relations(
    store: PlugmemPropertyGraphStore,
) -> None:
    def filled() -> None:
        store.upsert_nodes([*PARIS, entity("Lyon")])
        relate(store, ("Paris", "MENTIONS", "Lyon"), ("Paris", "SOURCE", "guide"))
        relate(store, ("Lyon", "SOUTH_OF", "Paris"), ("other", "MENTIONS", "Paris"))

    filled()
    told = {
        one.label: [type(end) for end in (source, target)]
        for source, one, target in store.get_triplets(ids=["Paris"])
        if source.id != "other"
    }
    assert told == {
        "MENTIONS": [ChunkNode, EntityNode],
        "SOURCE": [ChunkNode, EntityNode],
        "SOUTH_OF": [EntityNode, EntityNode],
    }
    store.delete_llama_nodes(["Paris"])
    assert triples(store.get_triplets(ids=["Paris"])) == [
        ("Lyon", "SOUTH_OF", "Paris"),
        ("other", "MENTIONS", "Paris"),
    ]
    filled()
    store.delete(entity_names=["Paris"])
    assert triples(store.get_triplets(ids=["Paris"])) == [
        ("Paris", "MENTIONS", "Lyon"),
        ("Paris", "SOURCE", "guide"),
    ]
    filled()
    store.delete(ids=["Paris"])
    assert store.get_triplets(ids=["Paris"]) == []


def test_a_chunk_takes_the_place_of_what_a_relation_made_of_its_id(
    store: PlugmemPropertyGraphStore,
) -> None:
    relate(store, ("c9", "SOURCE", "d9"))
    store.upsert_nodes([ChunkNode(text="text", id_="c9")])
    assert [type(node) for node in store.get(ids=["c9"])] == [ChunkNode]
    assert triples(store.get_triplets(ids=["c9"])) == [("c9", "SOURCE", "d9")]
    relate(store, ("c9", "NEXT", "c10"))
    assert [type(node) for node in store.get(ids=["c9"])] == [ChunkNode]


def test_the_keys_of_facts_are_no_ids(store: PlugmemPropertyGraphStore, memory: Memory) -> None:
    store.upsert_nodes(PARIS)
    relate(store, ("Paris", "R", "Lyon"))
    for key in memory.keys(namespace=("graph",)):
        if key != "Paris":
            assert store.get(ids=[key]) == []
            assert store.get_llama_nodes([key]) == []
            store.delete(ids=[key])
    assert len(store.get()) == 3


def test_a_relation_makes_the_ends_it_lacks_and_real_nodes_replace_them(
    store: PlugmemPropertyGraphStore,
) -> None:
    relate(store, ("A", "R", "B"))
    assert store.get() == [EntityNode(name="A"), EntityNode(name="B")]
    real = EntityNode(name="A", label="PERSON", properties={"x": 1})
    store.upsert_nodes([real, ChunkNode(text="B, as text", id_="B")])
    assert store.get() == [real, ChunkNode(text="B, as text", id_="B")]
    assert triples(store.get_triplets(ids=["A"])) == [("A", "R", "B")]


def test_a_relation_that_is_there_leaves_real_nodes_alone(store: PlugmemPropertyGraphStore) -> None:
    real = EntityNode(name="A", label="PERSON", properties={"x": 1})
    store.upsert_nodes([real])
    relate(store, ("A", "R", "B"))
    assert store.get(ids=["A"]) == [real]


def test_a_relation_stated_again_has_its_properties_changed(
    store: PlugmemPropertyGraphStore,
) -> None:
    relate(store, ("A", "R", "B"), since=2020, by="x")
    relate(store, ("A", "R", "B"), since=2021)
    [(_, relation, _)] = store.get_triplets(ids=["A"])
    assert relation.properties == {"since": 2021, "by": "x"}


def test_relations_differ_by_direction_label_and_nothing_that_joins_to_the_same(
    store: PlugmemPropertyGraphStore,
) -> None:
    edges = [
        ("A", "R", "B"),
        ("B", "R", "A"),
        ("A", "r", "B"),
        ("A_R", "B", "C"),
        ("A", "R_B", "C"),
    ]
    relate(store, *edges)
    assert triples(store.get_triplets(relation_names=["R", "r", "B", "R_B"])) == edges


def test_all_nodes_of_a_batch_are_stored_or_none(store: PlugmemPropertyGraphStore) -> None:
    with pytest.raises(TooLargeError, match="node 'B'"):
        store.upsert_nodes([entity("A"), entity("B", x="y" * 100_000)])
    assert store.get() == []


def test_all_relations_of_a_batch_are_stored_or_none(store: PlugmemPropertyGraphStore) -> None:
    relations = [
        Relation(label="R", source_id="E", target_id="F"),
        Relation(label="R", source_id="A", target_id="B", properties={"x": object()}),
    ]
    with pytest.raises(WrongTypeError, match=r"relation \('A', 'R', 'B'\): metadata"):
        store.upsert_relations(relations)
    assert store.get() == []


@pytest.mark.parametrize(
    ("node", "error", "says"),
    [
        (TextNode(text="x"), WrongTypeError, r"nodes\[0\] is .* upsert_llama_nodes"),
        ("A", WrongTypeError, r"nodes\[0\] is 'A'"),
        (EntityNode(name=" "), InvalidInputError, r"nodes\[0\] has the id ' ', which is blank"),
        (EntityNode(name="a\0"), InvalidInputError, "NUL"),
        (EntityNode(name="_plugmem_relation:x"), InvalidInputError, "give it another"),
        (entity("A", _plugmem_graph={}), InvalidInputError, "property '_plugmem_graph'"),
        (entity("A", x={1, 2}), WrongTypeError, "node 'A': metadata.'x' is"),
        (ChunkNode(text="y" * 100_000, id_="c"), TooLargeError, "node 'c': text has"),
        (EntityNode(name="A", embedding=[float("nan")]), InvalidInputError, "node 'A': vector"),
    ],
    ids=str,
)
def test_a_node_that_cannot_be_stored_is_named(
    store: PlugmemPropertyGraphStore, node: Any, error: type[PlugmemError], says: str
) -> None:
    with pytest.raises(error, match=says):
        store.upsert_nodes([node])
    assert store.get() == []


@pytest.mark.parametrize(
    ("relation", "error", "says"),
    [
        (("A", "R", "B"), WrongTypeError, r"relations\[0\] is .* give a Relation"),
        (Relation(label="R", source_id="A", target_id=""), InvalidInputError, "blank"),
        (Relation(label=" ", source_id="A", target_id="B"), InvalidInputError, "blank"),
        (
            Relation(label="R", source_id="A", target_id="_plugmem_relation:"),
            InvalidInputError,
            r"the target of relations\[0\] has the id",
        ),
    ],
    ids=str,
)
def test_a_relation_that_cannot_be_stored_is_named(
    store: PlugmemPropertyGraphStore, relation: Any, error: type[PlugmemError], says: str
) -> None:
    with pytest.raises(error, match=says):
        store.upsert_relations([relation])
    assert store.get() == []


def test_an_entity_with_very_many_properties_is_stored(store: PlugmemPropertyGraphStore) -> None:
    properties = {f"property_{number}": "some text" for number in range(1_500)}
    store.upsert_nodes([EntityNode(name="A", properties=properties)])
    assert store.get()[0].properties == properties


# -- triples


def test_no_restriction_gives_no_triples(store: PlugmemPropertyGraphStore) -> None:
    relate(store, *CHAIN)
    assert store.get_triplets() == []
    assert store.get_triplets([], [], {}, []) == []


def test_restrictions_of_triples_hold_together_and_values_of_one_alternatively(
    store: PlugmemPropertyGraphStore,
) -> None:
    store.upsert_nodes([entity("A", x=1), entity("D", x=1)])
    relate(store, ("A", "R", "B"), ("B", "S", "C"), ("C", "R", "D"))
    relate(store, ("D", "T", "E"), y=1)
    assert triples(store.get_triplets(entity_names=["B"])) == [("A", "R", "B"), ("B", "S", "C")]
    assert triples(store.get_triplets(ids=["A", "D"])) == [
        ("A", "R", "B"),
        ("C", "R", "D"),
        ("D", "T", "E"),
    ]
    assert triples(store.get_triplets(relation_names=["S", "T"])) == [
        ("B", "S", "C"),
        ("D", "T", "E"),
    ]
    assert triples(store.get_triplets(properties={"x": 1}, relation_names=["R"])) == [
        ("A", "R", "B"),
        ("C", "R", "D"),
    ]
    assert triples(store.get_triplets(properties={"y": 1})) == [("D", "T", "E")]
    assert triples(store.get_triplets(entity_names=["B"], ids=["C"])) == [("B", "S", "C")]
    assert store.get_triplets(entity_names=["B"], relation_names=["T"]) == []
    assert store.get_triplets(properties={"x": 2}) == []


def test_a_triple_has_the_properties_of_one_of_its_parts(memory: Memory) -> None:
    every = PlugmemPropertyGraphStore(memory)
    some = PlugmemPropertyGraphStore(memory, property_match="any")
    every.upsert_nodes([entity("A", x=1), entity("B", y=1), entity("C", x=1, y=1)])
    relate(every, ("A", "R", "B"), ("B", "R", "C"))
    wanted = {"x": 1, "y": 1}
    assert triples(every.get_triplets(properties=wanted)) == [("B", "R", "C")]
    assert triples(some.get_triplets(properties=wanted)) == [("A", "R", "B"), ("B", "R", "C")]


# -- the map of relations


@pytest.mark.parametrize("depth", [0, 1, 2, 3])
def test_the_map_goes_as_deep_as_it_is_told(store: PlugmemPropertyGraphStore, depth: int) -> None:
    relate(store, *CHAIN)
    assert around(store, "A", depth=depth) == CHAIN[:depth]


@pytest.mark.parametrize("limit", [0, 1, 2, 3, 4])
def test_the_limit_counts_triples_once(store: PlugmemPropertyGraphStore, limit: int) -> None:
    relate(store, *CHAIN)
    assert around(store, "A", depth=8, limit=limit) == CHAIN[:limit]


def test_relations_are_followed_against_their_direction(store: PlugmemPropertyGraphStore) -> None:
    relate(store, *CHAIN)
    assert around(store, "D", depth=2) == [("C", "R", "D"), ("B", "R", "C")]


@pytest.mark.parametrize("start", [["A"], ["A", "B"], ["B", "A", "B"]])
def test_cycles_loops_and_many_labels_give_each_triple_once(
    store: PlugmemPropertyGraphStore, start: list[str]
) -> None:
    edges = [("A", "SELF", "A"), ("A", "R", "B"), ("A", "S", "B"), ("B", "R", "A")]
    relate(store, *edges)
    assert sorted(around(store, *start, depth=10)) == sorted(edges)


def test_ignored_relations_are_followed_but_take_no_place(store: PlugmemPropertyGraphStore) -> None:
    relate(store, ("A", "IGNORED", "B"), ("B", "KEPT", "C"))
    found = around(store, "A", depth=3, limit=1, ignore_rels=["IGNORED"])
    assert found == [("B", "KEPT", "C")]


def test_the_map_of_no_nodes_and_of_unknown_ones_is_empty(store: PlugmemPropertyGraphStore) -> None:
    relate(store, *CHAIN)
    assert store.get_rel_map([]) == []
    assert around(store, "unknown") == []


def test_the_default_limit_of_the_map_is_thirty(store: PlugmemPropertyGraphStore) -> None:
    relate(store, *(("hub", "R", f"n{number}") for number in range(40)))
    assert len(around(store, "hub")) == 30
    assert len(around(store, "hub", limit=1_000)) == 40


def test_what_chunks_mention_is_neither_shown_nor_followed(
    store: PlugmemPropertyGraphStore,
) -> None:
    store.upsert_llama_nodes([TextNode(text="Logan works for LlamaIndex since 2023.", id_="c1")])
    relate(store, ("Logan", "WORKS_FOR", "LlamaIndex"))
    mentions = [
        ("c1", "MENTIONS", "Logan"),
        ("c1", "MENTIONS", "LlamaIndex"),
        ("c1", "MENTIONS", "X"),
    ]
    relate(store, *mentions)
    assert around(store, "Logan", depth=3) == [("Logan", "WORKS_FOR", "LlamaIndex")]
    assert store.get_rel_map(store.get(ids=["c1"])) == []
    assert triples(store.get_triplets(relation_names=["MENTIONS"])) == mentions


def test_what_entities_mention_is_shown(store: PlugmemPropertyGraphStore) -> None:
    relate(store, ("Ines", "MENTIONS", "Olga"))
    assert around(store, "Olga") == [("Ines", "MENTIONS", "Olga")]


def test_the_subject_of_a_triple_names_the_source_of_the_relation(
    store: PlugmemPropertyGraphStore,
) -> None:
    store.upsert_nodes([entity("A", x=1, triplet_source_id="c1")])
    relate(store, ("A", "R", "B"), triplet_source_id="c2")
    relate(store, ("A", "S", "B"))
    found = store.get_rel_map([entity("A")])
    assert [source.properties for source, *_ in found] == [
        {"x": 1, "triplet_source_id": "c2"},
        {"x": 1, "triplet_source_id": "c1"},
    ]
    assert store.get(ids=["A"])[0].properties["triplet_source_id"] == "c1"


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ({"depth": -1}, "depth is -1"),
        ({"limit": -1}, "limit is -1"),
        ({"depth": "2"}, "depth is '2'"),
        ({"ignore_rels": "R"}, "ignore_rels is 'R', one text; give a list"),
    ],
    ids=str,
)
def test_a_map_that_cannot_be_made_is_refused(
    store: PlugmemPropertyGraphStore, arguments: dict[str, Any], says: str
) -> None:
    with pytest.raises(InvalidInputError, match=says):
        store.get_rel_map([entity("A")], **arguments)


def test_the_map_starts_from_nodes_and_not_from_ids(store: PlugmemPropertyGraphStore) -> None:
    with pytest.raises(WrongTypeError, match=r"graph_nodes\[0\] is 'A'"):
        store.get_rel_map(["A"])  # type: ignore[list-item] # refused at run time, too


@pytest.mark.parametrize("argument", ["entity_names", "relation_names", "ids"])
def test_one_text_in_place_of_a_list_is_refused(
    store: PlugmemPropertyGraphStore, argument: str
) -> None:
    relate(store, *CHAIN)
    for method in (store.get_triplets, store.delete):
        with pytest.raises(WrongTypeError, match=f"{argument} is 'A', one text; give a list"):
            method(**{argument: "A"})
        with pytest.raises(WrongTypeError, match=rf"{argument}\[0\] is 5"):
            method(**{argument: [5]})
    assert len(store.get()) == 4


# -- deleting


@pytest.mark.parametrize(
    "arguments",
    [
        {},
        {"ids": []},
        {"ids": None, "entity_names": [], "relation_names": (), "properties": {}},
        {"ids": ["unknown", "", "\0"]},
        {"entity_names": ["unknown"]},
        {"relation_names": ["unknown"]},
        {"properties": {"x": "unknown"}},
    ],
    ids=str,
)
def test_deleting_nothing_or_what_is_unknown_deletes_nothing(
    store: PlugmemPropertyGraphStore, arguments: dict[str, Any]
) -> None:
    store.upsert_nodes([entity("A", x=1)])
    relate(store, *CHAIN)
    store.delete(**arguments)
    assert ids(store.get()) == ["A", "B", "C", "D"]
    assert triples(store.get_triplets(relation_names=["R"])) == CHAIN


@pytest.mark.parametrize("node_ids", [None, [], ["unknown"]])
@pytest.mark.parametrize("ref_doc_ids", [None, [], ["unknown"]])
def test_deleting_no_llama_nodes_or_unknown_ones_deletes_nothing(
    store: PlugmemPropertyGraphStore, node_ids: Any, ref_doc_ids: Any
) -> None:
    store.upsert_llama_nodes([TextNode(text="x", id_="c1")])
    relate(store, *CHAIN)
    store.delete_llama_nodes(node_ids, ref_doc_ids)
    assert ids(store.get()) == ["c1", "A", "B", "C", "D"]


@pytest.mark.parametrize("argument", ["ids", "entity_names"])
def test_a_node_goes_with_its_relations_and_without_its_neighbours(
    store: PlugmemPropertyGraphStore, argument: str
) -> None:
    relate(store, *CHAIN)
    store.delete(**{argument: ["B"]})
    assert ids(store.get()) == ["A", "C", "D"]
    assert triples(store.get_triplets(relation_names=["R"])) == [("C", "R", "D")]
    assert around(store, "A") == []


def test_relations_go_without_their_ends(store: PlugmemPropertyGraphStore) -> None:
    relate(store, *CHAIN, ("A", "S", "B"))
    store.delete(relation_names=["R"])
    assert ids(store.get()) == ["A", "B", "C", "D"]
    assert around(store, "A", "B", "C", "D") == [("A", "S", "B")]


def test_nodes_and_relations_go_by_their_properties(store: PlugmemPropertyGraphStore) -> None:
    store.upsert_nodes([entity("A", x=1), entity("B", x=2)])
    relate(store, ("A", "R", "B"), ("B", "R", "C"))
    relate(store, ("B", "S", "C"), x=1)
    store.delete(properties={"x": 1})
    assert ids(store.get()) == ["B", "C"]
    assert around(store, "B") == [("B", "R", "C")]


def test_what_any_argument_names_is_deleted(store: PlugmemPropertyGraphStore) -> None:
    relate(store, *CHAIN, ("D", "S", "E"))
    store.delete(entity_names=["A"], relation_names=["S"], ids=["B"])
    assert ids(store.get()) == ["C", "D", "E"]
    assert around(store, "C", "D", "E") == [("C", "R", "D")]


def test_the_name_of_an_entity_does_not_delete_a_chunk(store: PlugmemPropertyGraphStore) -> None:
    store.upsert_nodes([ChunkNode(text="x", id_="A"), entity("B", triplet_source_id="A")])
    store.delete(entity_names=["A"])
    assert ids(store.get()) == ["A", "B"]


def test_what_was_deleted_can_be_added_again(store: PlugmemPropertyGraphStore) -> None:
    store.upsert_nodes([entity("A", x=1), entity("B")])
    relate(store, ("A", "R", "B"), y=1)
    store.delete(ids=["A"])
    store.upsert_nodes([entity("A", z=1)])
    assert store.get() == [entity("B"), entity("A", z=1)]
    assert around(store, "A") == []
    relate(store, ("A", "R", "B"))
    assert store.get_triplets(ids=["A"])[0][1].properties == {}


def test_edges_of_the_memory_go_with_what_brought_them(
    store: PlugmemPropertyGraphStore, memory: Memory
) -> None:
    relate(store, *CHAIN)
    relate(store, ("A", "R", "B"), since=2020)
    store.delete(ids=["C"])
    edges = memory.edges(namespace=("graph",))
    assert [(edge.src, edge.relation, edge.dst) for edge in edges] == [("A", "R", "B")]


def test_many_nodes_are_deleted_at_once(store: PlugmemPropertyGraphStore) -> None:
    chunks = [f"c{number}" for number in range(2_500)]
    store.upsert_nodes([entity(f"e{one}", triplet_source_id=one) for one in chunks])
    store.upsert_nodes([entity("kept", triplet_source_id="d")])
    store.delete_llama_nodes(chunks)
    assert ids(store.get()) == ["kept"]


# -- LlamaIndex nodes


def test_llama_nodes_come_back_as_they_were_in_the_order_asked(
    store: PlugmemPropertyGraphStore,
) -> None:
    given = [
        TextNode(
            text="Ines tends the library.",
            id_="c1",
            metadata={"z": 1, "a": {"d": 1, "b": [2]}},
            excluded_llm_metadata_keys=["z"],
            relationships={
                NodeRelationship.SOURCE: RelatedNodeInfo(node_id="d1"),
                NodeRelationship.NEXT: RelatedNodeInfo(node_id="c2"),
            },
        ),
        IndexNode(text="an index", id_="c2", index_id="i1"),
        ImageNode(text="a picture", id_="c3", image_url="https://example.org/x.png"),
    ]
    store.upsert_llama_nodes(given)
    found = store.get_llama_nodes(["c3", "unknown", "c1", "c2", "c1"])
    assert [node.node_id for node in found] == ["c3", "c1", "c2"]
    assert found == [given[2], given[0], given[1]]
    assert [node.hash for node in found] == [given[2].hash, given[0].hash, given[1].hash]
    assert [node.properties for node in store.get()] == [given[0].metadata, {}, {}]


def test_a_llama_node_replaces_the_whole_chunk(store: PlugmemPropertyGraphStore) -> None:
    store.upsert_llama_nodes([TextNode(text="one", id_="c1", metadata={"a": 1, "b": 1})])
    second = TextNode(text="two", id_="c1", metadata={"b": 2})
    store.upsert_llama_nodes([second])
    [found] = store.get_llama_nodes(["c1"])
    assert (found, found.hash) == (second, second.hash)


def test_a_chunk_given_as_such_changes_the_llama_node(store: PlugmemPropertyGraphStore) -> None:
    source = {NodeRelationship.SOURCE: RelatedNodeInfo(node_id="d1")}
    store.upsert_llama_nodes(
        [
            TextNode(
                text=" ", id_="c1", metadata={"b": 1, "a": {"d": 1, "c": 2}}, relationships=source
            )
        ]
    )
    store.upsert_nodes([ChunkNode(text="two", id_="c1", properties={"a": 2, "x": 1})])
    [found] = store.get_llama_nodes(["c1"])
    assert (found.get_content(), found.metadata) == ("two", {"a": 2, "b": 1, "x": 1})
    assert found.ref_doc_id == "d1"


def test_a_bare_chunk_is_a_text_node_and_an_entity_is_none(
    store: PlugmemPropertyGraphStore,
) -> None:
    store.upsert_nodes([ChunkNode(text="text", id_="c1", properties={"a": 1}), entity("A")])
    [found] = store.get_llama_nodes(["A", "c1"])
    assert found == TextNode(text="text", id_="c1", metadata={"a": 1})


# -- LlamaIndex nodes as its own stores tell of them

TOLD = [
    TextNode(
        text="Ines tends the library.",
        id_="c1",
        metadata={"z": 1, "a": {"d": 1, "b": [2]}, "doc_id": "mine"},
        excluded_llm_metadata_keys=["z"],
        relationships={NodeRelationship.SOURCE: RelatedNodeInfo(node_id="d1")},
    ),
    IndexNode(text="an index", id_="c2", index_id="i1"),
    TextNode(text="", id_="c3"),
]


def as_told(node: TextNode, **properties: Any) -> ChunkNode:
    """The chunk that stores of LlamaIndex make of a node."""
    other = SimplePropertyGraphStore()
    other.upsert_llama_nodes([node])
    [chunk] = other.get()
    assert isinstance(chunk, ChunkNode)
    chunk.properties |= properties
    return chunk


def test_chunks_of_other_stores_are_the_nodes_of_which_they_tell(
    store: PlugmemPropertyGraphStore,
) -> None:
    store.upsert_nodes([as_told(node) for node in TOLD])
    found = store.get_llama_nodes(["c1", "c2", "c3"])
    assert found == TOLD
    assert [node.hash for node in found] == [node.hash for node in TOLD]
    assert [node.properties for node in store.get()] == [node.metadata for node in TOLD]
    store.delete_ref_doc("d1")
    assert ids(store.get()) == ["c2", "c3"]


def test_the_vector_of_such_a_chunk_counts_and_its_own_properties_are_metadata(
    store: PlugmemPropertyGraphStore,
) -> None:
    told = as_told(TOLD[0], read=True)
    told.embedding = [1.0, 0.0]
    before = told.model_copy(deep=True)
    other = as_told(TOLD[1], embedding=[0.0, 1.0])
    store.upsert_nodes([told, other])
    assert told == before
    [first, second] = store.get_llama_nodes(["c1", "c2"])
    assert first.metadata == {**TOLD[0].metadata, "read": True}
    assert second == TOLD[1]
    query = VectorStoreQuery(query_embedding=[0.0, 1.0], similarity_top_k=1)
    assert ids(store.vector_query(query)[0]) == ["c2"]


@pytest.mark.parametrize(
    "content", ["no JSON", "[1]", "null", '{"metadata": 3}', 5, None, {"id_": "x"}]
)
def test_a_property_of_the_same_name_is_one_like_any_other(
    store: PlugmemPropertyGraphStore, content: Any
) -> None:
    chunk = ChunkNode(text="text", id_="c1", properties={"_node_content": content, "x": 1})
    store.upsert_nodes([chunk])
    assert store.get() == [chunk]
    assert store.get_llama_nodes(["c1"])[0].metadata == chunk.properties
    with PlugmemPropertyGraphStore.from_dict(store.to_dict()) as copy:
        assert copy.get() == [chunk]


# -- the schema


def test_the_schema_tells_labels_properties_and_relations(store: PlugmemPropertyGraphStore) -> None:
    assert store.get_schema() == {
        "node_props": {},
        "rel_props": {},
        "relationships": [],
        "metadata": {"constraint": [], "index": []},
    }
    store.upsert_nodes(
        [
            EntityNode(name="Ines", label="PERSON", properties={"age": 28, "likes": ["tea"]}),
            EntityNode(name="Olga", label="PERSON", properties={"tall": True, "height": 1.8}),
            EntityNode(name="Library", label="ROOM", properties={"at": {"x": 1}, "note": "quiet"}),
        ]
    )
    relate(store, ("Ines", "TENDS", "Library"), since=2020)
    relate(store, ("Olga", "TENDS", "Library"))
    schema = store.get_schema(refresh=True)
    assert schema["node_props"] == {
        "PERSON": [
            {"property": "age", "type": "INTEGER"},
            {"property": "height", "type": "FLOAT"},
            {"property": "likes", "type": "LIST"},
            {"property": "tall", "type": "BOOLEAN"},
        ],
        "ROOM": [
            {"property": "at", "type": "MAP"},
            {"property": "note", "type": "STRING"},
        ],
    }
    assert schema["rel_props"] == {"TENDS": [{"property": "since", "type": "INTEGER"}]}
    assert schema["relationships"] == [{"start": "PERSON", "type": "TENDS", "end": "ROOM"}]
    text = store.get_schema_str(refresh=True)
    assert "PERSON {age: INTEGER, height: FLOAT, likes: LIST, tall: BOOLEAN}" in text
    assert "(:PERSON)-[:TENDS]->(:ROOM)" in text


def test_there_is_no_query_language(store: PlugmemPropertyGraphStore) -> None:
    with pytest.raises(NotImplementedError, match="use get, get_triplets"):
        store.structured_query("MATCH (n) RETURN n")


# -- what the memory finds of it


def test_recall_finds_entities_relations_and_chunks_and_can_choose(
    store: PlugmemPropertyGraphStore, memory: Memory
) -> None:
    store.upsert_llama_nodes([TextNode(text="The library is quiet.", id_="c1")])
    store.upsert_nodes(
        [EntityNode(name="Ines", label="HEAD_LIBRARIAN", properties={"home_town": "Bern", "n": 1})]
    )
    relate(store, ("Ines", "REPORTS_TO", "Olga"), triplet_source_id="c1")

    def texts(question: str, **options: Any) -> list[str]:
        result = memory.recall(question, sources=["bm25"], namespace=("graph",), **options)
        return [fact.text for fact in result.facts]

    assert texts("head librarian") == ["Ines (HEAD LIBRARIAN). home town: Bern"]
    assert texts("who reports") == ["Ines REPORTS TO Olga"]
    assert texts("quiet library") == ["The library is quiet."]
    assert texts("Ines", tags=["relation"]) == ["Ines REPORTS TO Olga"]
    assert texts("Ines quiet", tags=["chunk"]) == ["The library is quiet."]


def test_recall_walks_the_graph(store: PlugmemPropertyGraphStore, memory: Memory) -> None:
    relate(store, ("Ines", "TENDS", "Library"))
    store.upsert_nodes([EntityNode(name="Library", properties={"hours": "nine to five"})])
    found = memory.recall("What does Ines do?", sources=["graph"], namespace=("graph",))
    assert "Library. hours: nine to five" in [fact.text for fact in found.facts]


# -- settings


@pytest.mark.parametrize(
    ("settings", "error", "says"),
    [
        ({"namespace": "graph"}, WrongTypeError, "namespace is 'graph'"),
        ({"as_of": "yesterday"}, InvalidInputError, "as_of is 'yesterday'"),
        ({"keep_history": 1}, WrongTypeError, "keep_history is 1"),
        ({"property_match": "some"}, InvalidInputError, "property_match is 'some'; give 'all' or"),
    ],
    ids=str,
)
def test_a_bad_setting_is_refused_at_once(
    memory: Memory, settings: dict[str, Any], error: type[PlugmemError], says: str
) -> None:
    with pytest.raises(error, match=says):
        PlugmemPropertyGraphStore(memory, **settings)
    with pytest.raises(error, match=says):
        PlugmemPropertyGraphStore.open(":memory:", **settings)


def test_the_memory_must_be_one() -> None:
    with pytest.raises(WrongTypeError, match=r"memory is 'graph\.db'.*give an open Memory"):
        PlugmemPropertyGraphStore("graph.db")


def test_a_small_limit_of_texts_is_told_of(tmp_path: Any) -> None:
    config = MemoryConfig(max_text=10)
    with PlugmemPropertyGraphStore.open(tmp_path / "graph.db", config=config) as store:
        with pytest.raises(TooLargeError, match="node 'c1': text has 30 bytes"):
            store.upsert_nodes([ChunkNode(text="x" * 30, id_="c1")])
        store.upsert_nodes([ChunkNode(text="x" * 10, id_="c1")])
