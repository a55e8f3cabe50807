"""`PlugmemGraphRetriever`: words, vectors and the graph answer from a property graph."""

import asyncio
import threading
from collections.abc import Callable
from typing import Any

import pytest
from clocks import Clock
from conftest import OpenMemory
from llama_index.core.graph_stores import SimplePropertyGraphStore
from llama_index.core.graph_stores.types import EntityNode, Relation
from llama_index.core.indices.property_graph import BasePGRetriever, PGRetriever
from llama_index.core.llms import MockLLM
from llama_index.core.retrievers import QueryFusionRetriever
from llama_index.core.schema import NodeRelationship, NodeWithScore, QueryBundle, TextNode
from word_embedding import WordEmbedding

from llama_index_plugmem import LlamaIndexEmbedder, PlugmemGraphRetriever, RuleExtractor
from llama_index_plugmem.graph_stores import PlugmemPropertyGraphStore
from plugmem_core import InvalidInputError, Memory, VectorSpaceError, WrongTypeError
from plugmem_core.model import SOURCES

QUESTION = "Where does Mara's sister work?"
TEXTS = {
    "c1": "Mara's sister is Ines. Mara lives in Bern.",
    "c2": "Ines works at Helvetia Foods, far away.",
    "c3": "Helvetia Foods was founded by Paul Kern.",
    "c4": "Nothing of this is about bees.",
}

Fill = Callable[..., PlugmemPropertyGraphStore]


def put(store: PlugmemPropertyGraphStore, texts: dict[str, str], **extractor: Any) -> None:
    """Store texts as an index does, without one."""
    chunks = [TextNode(id_=name, text=text) for name, text in texts.items()]
    entities, relations = [], []
    for chunk in RuleExtractor(**extractor)(chunks):
        for one in chunk.metadata.pop("nodes"):
            one.properties["triplet_source_id"] = chunk.node_id
            entities.append(one)
        for one in chunk.metadata.pop("relations"):
            one.properties["triplet_source_id"] = chunk.node_id
            relations.append(one)
    store.upsert_llama_nodes(chunks)
    store.upsert_nodes(entities)
    store.upsert_relations(relations)


@pytest.fixture
def store(memory: Memory) -> PlugmemPropertyGraphStore:
    store = PlugmemPropertyGraphStore(memory)
    put(store, TEXTS)
    return store


def lines(found: list[NodeWithScore]) -> list[str]:
    return [one.text for one in found]


def plain(store: PlugmemPropertyGraphStore, question: str = QUESTION, **settings: Any) -> list[str]:
    retriever = PlugmemGraphRetriever(store, include_text=False, **settings)
    return lines(retriever.retrieve(question))


def test_it_is_a_sub_retriever(store: PlugmemPropertyGraphStore) -> None:
    assert isinstance(PlugmemGraphRetriever(store), BasePGRetriever)


# -- hops


def test_two_hops_lead_to_what_another_text_says(store: PlugmemPropertyGraphStore) -> None:
    found = plain(store)
    assert found[0] == "Mara -> HAS_SISTER -> Ines"
    assert "Ines -> WORKS_AT -> Helvetia Foods" in found
    assert "Helvetia Foods -> WAS_FOUNDED_BY -> Paul Kern" not in found


def test_one_hop_does_not_lead_there(store: PlugmemPropertyGraphStore) -> None:
    found = plain(store, "Where is Mara's sister employed?", depth=1)
    assert "Mara -> HAS_SISTER -> Ines" in found
    assert not [text for text in found if "Helvetia" in text]


def test_a_third_hop_leads_further(store: PlugmemPropertyGraphStore) -> None:
    assert "Helvetia Foods -> WAS_FOUNDED_BY -> Paul Kern" in plain(store, depth=3)


def test_without_hops_the_words_answer_alone(store: PlugmemPropertyGraphStore) -> None:
    assert sorted(plain(store, "mara", depth=0)) == [
        "Mara",
        "Mara -> HAS_SISTER -> Ines",
        "Mara -> LIVES_IN -> Bern",
        TEXTS["c1"],
    ]


def test_hops_are_counted_in_both_directions(memory: Memory) -> None:
    store = PlugmemPropertyGraphStore(memory)
    ends = [("Ines", "Mara"), ("Olga", "Ines"), ("Paul", "Olga")]
    store.upsert_relations([Relation(label="KNOWS", source_id=a, target_id=b) for a, b in ends])
    told = ["Ines -> KNOWS -> Mara", "Olga -> KNOWS -> Ines", "Paul -> KNOWS -> Olga"]
    for depth in (1, 2, 3):
        assert sorted(plain(store, "what about mara", depth=depth)) == told[:depth]


def test_a_relation_stated_again_is_as_near_as_before(memory: Memory) -> None:
    store = PlugmemPropertyGraphStore(memory)
    for since in (2019, 2020):
        store.upsert_relations(
            [
                Relation(
                    label="WORKS_AT", source_id="Ines", target_id="Acme", properties={"s": since}
                ),
                Relation(label="HAS_SISTER", source_id="Mara", target_id="Ines"),
            ]
        )
    assert plain(store, "mara?", depth=1) == ["Mara -> HAS_SISTER -> Ines"]
    assert "Ines -> WORKS_AT -> Acme" in plain(store, "mara?", depth=2)


# -- hubs


def hub(memory: Memory, others: int, *relations: tuple[str, str, str]) -> PlugmemPropertyGraphStore:
    """A graph of one entity with very many relations, and some others that were added last."""
    store = PlugmemPropertyGraphStore(memory)
    known = [("Hub", "KNOWS", f"Person{number}") for number in range(others)]
    store.upsert_relations(
        [Relation(source_id=a, label=label, target_id=b) for a, label, b in (*known, *relations)]
    )
    return store


@pytest.mark.parametrize("others", [5, 20, 300])
@pytest.mark.parametrize(
    "question",
    [
        "Does Hub own Moonbase?",
        "What does Hub secretly own, Moonbase?",
        "What does Hub secretly own?",
        "hub moonbase",
    ],
)
def test_the_relation_that_is_asked_for_goes_before_all_others_of_a_hub(
    memory: Memory, others: int, question: str
) -> None:
    store = hub(memory, others, ("Hub", "SECRETLY_OWNS", "Moonbase"))
    assert plain(store, question)[0] == "Hub -> SECRETLY_OWNS -> Moonbase"


@pytest.mark.parametrize("others", [30, 200])
@pytest.mark.parametrize("sources", [SOURCES, ["graph"]])
def test_what_it_leads_to_goes_before_the_others_too(
    memory: Memory, others: int, sources: list[str]
) -> None:
    store = hub(memory, others, ("Hub", "HAS_SISTER", "Ines"), ("Ines", "WORKS_AT", "Acme"))
    assert plain(store, "Where does Hub's sister work?", sources=sources)[:2] == [
        "Hub -> HAS_SISTER -> Ines",
        "Ines -> WORKS_AT -> Acme",
    ]


@pytest.mark.parametrize("vectors", ["none", "of nodes", "of all facts"])
@pytest.mark.parametrize(
    "question",
    [
        "Which company was acquired by Acme?",
        "Did Acme acquire Tidewater Labs?",
        "Whom has Acme acquired?",
    ],
)
def test_the_text_that_is_asked_for_goes_before_all_others_of_a_hub(
    open_memory: OpenMemory, vectors: str, question: str
) -> None:
    model = WordEmbedding()
    embedder = LlamaIndexEmbedder(model) if vectors == "of all facts" else None
    store = PlugmemPropertyGraphStore(open_memory(embedder=embedder))
    people = [
        f"{first} {last}"
        for first in ("Anna", "Boris", "Carla", "Dmitri", "Elena", "Frank")
        for last in ("Smith", "Ivanov", "Lopez", "Weber", "Rossi")
    ]
    texts = {f"c{number}": f"Acme hired {name}." for number, name in enumerate(people)}
    put(store, texts | {"last": "Acme acquired Tidewater Labs."})
    if vectors == "of nodes":
        for node in store.get():
            node.embedding = model.get_text_embedding(str(node))
            store.upsert_nodes([node])
    retriever = PlugmemGraphRetriever(store, embed_model=model if vectors == "of nodes" else None)
    found = retriever.retrieve(question)
    assert "last" in [one.node.node_id for one in found[:2]]
    assert "Acme -> ACQUIRED -> Tidewater Labs" in "".join(lines(found))


def test_a_hub_has_room_for_what_only_a_vector_finds(memory: Memory) -> None:
    store = hub(memory, 100)
    store.upsert_llama_nodes(
        [
            TextNode(id_="a", text="alpha", embedding=[1.0, 0.0]),
            TextNode(id_="b", text="beta", embedding=[0.0, 1.0]),
        ]
    )
    found = PlugmemGraphRetriever(store).retrieve(QueryBundle("Hub?", embedding=[0.1, 0.9]))
    assert found[0].text == "beta"


# -- entities with the same words


def graph(memory: Memory, *relations: tuple[str, str, str]) -> PlugmemPropertyGraphStore:
    store = PlugmemPropertyGraphStore(memory)
    store.upsert_relations(
        [Relation(source_id=a, label=label, target_id=b) for a, label, b in relations]
    )
    return store


LANGUAGES = (
    ("Ann", "KNOWS", "C++"),
    ("C#", "INVENTED_BY", "Anders"),
    ("C", "INVENTED_BY", "Dennis"),
    ("C++", "INVENTED_BY", "Bjarne"),
)


@pytest.mark.parametrize("sources", [SOURCES, ["graph"]])
@pytest.mark.parametrize("order", [1, -1])
def test_the_walk_does_not_go_on_with_another_entity_of_the_same_words(
    memory: Memory, sources: list[str], order: int
) -> None:
    store = graph(memory, *LANGUAGES[::order])
    assert plain(store, "What about Ann?", sources=sources) == [
        "Ann -> KNOWS -> C++",
        "C++ -> INVENTED_BY -> Bjarne",
    ]


def test_relations_that_the_memory_takes_for_one_are_all_followed(memory: Memory) -> None:
    # Their edges have the same words at both ends.
    kinds = [(name, "IS_A", "language") for name in ("C++", "C#", "C")]
    store = graph(memory, *LANGUAGES, *kinds)
    found = plain(store, "What about Ann?", sources=["graph"])
    assert [text for text in found if "IS_A" in text] == ["C++ -> IS_A -> language"]


@pytest.mark.parametrize(
    ("question", "inventors"),
    [
        ("Who invented C++?", {"Bjarne"}),
        ("Who invented C#", {"Anders"}),
        ("C: who invented it?", {"Dennis"}),
        ("who invented c?", {"Anders", "Bjarne", "Dennis"}),
    ],
)
def test_of_names_with_the_same_words_the_one_in_the_question_is_meant(
    memory: Memory, question: str, inventors: set[str]
) -> None:
    store = graph(memory, *LANGUAGES)
    found = plain(store, question, sources=["graph"], depth=1)
    assert {text.split(" -> ")[2] for text in found if "INVENTED" in text} == inventors
    given = plain(store, "who?", entities=["C#"], sources=["graph"], depth=1)
    assert given == ["C# -> INVENTED_BY -> Anders"]


def test_accents_tell_entities_apart(memory: Memory) -> None:
    store = graph(
        memory, ("Ann", "KNOWS", "Jöhn"), ("John", "LIVES_IN", "Rome"), ("Jöhn", "LIVES_IN", "Bern")
    )
    assert set(plain(store, "What about Ann?", sources=["graph"])) == {
        "Ann -> KNOWS -> Jöhn",
        "Jöhn -> LIVES_IN -> Bern",
    }


def test_a_chunk_of_an_entity_with_the_same_words_is_not_shown(memory: Memory) -> None:
    store = graph(memory, *LANGUAGES, ("x", "MENTIONS", "C#"), ("y", "MENTIONS", "C++"))
    store.upsert_llama_nodes(
        [TextNode(id_="x", text="A text from Redmond"), TextNode(id_="y", text="One from Aarhus")]
    )
    found = plain(store, "What about Ann?", sources=["graph"])
    assert "One from Aarhus" in found
    assert "A text from Redmond" not in found


# -- what the question names


@pytest.mark.parametrize(
    "question",
    ["Where does Mara's sister work?", "Mara’s sister works where?", "mara's", "Is it Mara's?"],
)
def test_the_owner_of_something_is_where_the_walk_starts(
    store: PlugmemPropertyGraphStore, question: str
) -> None:
    assert "Ines -> WORKS_AT -> Helvetia Foods" in plain(store, question)


def test_owners_have_names_of_several_words(memory: Memory) -> None:
    store = PlugmemPropertyGraphStore(memory)
    store.upsert_relations(
        [
            Relation(label="X", source_id="Ada Lovelace", target_id="Byron"),
            Relation(label="Y", source_id="Byron", target_id="Venice"),
        ]
    )
    assert "Byron -> Y -> Venice" in plain(store, "Where was Ada Lovelace's father?")


def test_the_walk_starts_from_given_entities_too_or_from_them_alone(
    store: PlugmemPropertyGraphStore,
) -> None:
    about_paul = "Helvetia Foods -> WAS_FOUNDED_BY -> Paul Kern"
    assert about_paul in plain(store, "who?", entities=["Paul Kern"])
    given = plain(store, "where?", entities=["Paul Kern"], anchors="given")
    assert about_paul in given
    assert plain(store, "Mara's?", anchors="given", sources=["graph"]) == []


def test_a_name_that_words_find_brings_its_relations(memory: Memory) -> None:
    store = PlugmemPropertyGraphStore(memory)
    store.upsert_nodes([EntityNode(name="PG-7", properties={"about": "the old sewing machine"})])
    store.upsert_relations([Relation(label="STANDS_IN", source_id="PG-7", target_id="Attic")])
    assert plain(store, "sewing machine") == ["PG-7 -> STANDS_IN -> Attic"]
    # A relation that shares words with the question goes before those that do not.
    store.upsert_relations(
        [Relation(label=f"R{n}", source_id="PG-7", target_id=f"T{n}") for n in range(30)]
    )
    assert plain(store, "where stands PG-7", k=3)[0] in plain(store, "stands", k=1)
    assert len(plain(store, "sewing machine", k=5)) == 5


def test_an_entity_without_relations_is_a_line_of_its_own(memory: Memory) -> None:
    store = PlugmemPropertyGraphStore(memory)
    store.upsert_nodes([EntityNode(name="Mara", properties={"job": "gardener"})])
    assert plain(store, "gardener") == ["Mara"]
    assert plain(store, "gardener", include_properties=True) == ["Mara ({'job': 'gardener'})"]


# -- nodes


def test_a_line_names_the_chunk_it_came_from(store: PlugmemPropertyGraphStore) -> None:
    retriever = PlugmemGraphRetriever(store, include_text=False)
    sources = {one.text: one.node.ref_doc_id for one in retriever.retrieve(QUESTION)}
    assert sources["Mara -> HAS_SISTER -> Ines"] == "c1"
    assert sources["Ines -> WORKS_AT -> Helvetia Foods"] == "c2"


def test_a_line_is_shown_with_its_own_chunk_although_its_subject_came_from_another(
    store: PlugmemPropertyGraphStore,
) -> None:
    # "Ines" came with c1 first.
    found = PlugmemGraphRetriever(store).retrieve(QUESTION)
    [told] = [one for one in found if one.node.node_id == "c2"]
    assert "Ines -> WORKS_AT -> Helvetia Foods" in told.text
    assert told.text.endswith(TEXTS["c2"])


def test_each_chunk_is_shown_once_and_with_its_lines(store: PlugmemPropertyGraphStore) -> None:
    found = PlugmemGraphRetriever(store).retrieve(QUESTION)
    ids = [one.node.node_id for one in found]
    assert sorted(ids) == sorted(set(ids))
    [told] = [one for one in found if one.node.node_id == "c1"]
    assert told.text == (
        "Here are some facts extracted from the provided text:\n\n"
        "Mara -> HAS_SISTER -> Ines\nMara -> LIVES_IN -> Bern\n\n" + TEXTS["c1"]
    )


def test_the_preamble_can_be_another_or_none(store: PlugmemPropertyGraphStore) -> None:
    for preamble, start in (("Facts: ", "Facts: Mara ->"), (None, "Mara ->"), ("", "Mara ->")):
        retriever = PlugmemGraphRetriever(store, include_text_preamble=preamble)
        assert retriever.retrieve(QUESTION)[0].text.startswith(start)


def test_a_chunk_is_the_node_that_was_stored(store: PlugmemPropertyGraphStore) -> None:
    chunk = TextNode(
        id_="c9",
        text="A recipe for soup",
        metadata={"page": 3, "a": "b"},
        relationships={NodeRelationship.SOURCE: TextNode(id_="d9").as_related_node_info()},
    )
    store.upsert_llama_nodes([chunk])
    for include_text in (True, False):
        [found] = PlugmemGraphRetriever(store, include_text=include_text).retrieve("soup recipe")
        assert found.node.hash == chunk.hash
        assert (found.node.node_id, found.node.ref_doc_id) == ("c9", "d9")


def test_properties_are_shown_on_demand(memory: Memory) -> None:
    store = PlugmemPropertyGraphStore(memory)
    store.upsert_nodes([EntityNode(name="Ines", properties={"age": 30})])
    store.upsert_relations(
        [Relation(label="WORKS_AT", source_id="Ines", target_id="Acme", properties={"since": 2019})]
    )
    for question in ("ines works", "acme"):
        assert plain(store, question, include_properties=True) == [
            "Ines ({'age': 30}) -> WORKS_AT ({'since': 2019}) -> Acme"
        ]


def test_equal_facts_are_equal_nodes_whatever_was_asked(store: PlugmemPropertyGraphStore) -> None:
    retriever = PlugmemGraphRetriever(store, include_text=False, k=20)
    asked = [
        {one.node.node_id: one.node.hash for one in retriever.retrieve(question)}
        for question in (QUESTION, "Who is Ines?", "Ines works")
    ]
    common = set(asked[0]) & set(asked[1]) & set(asked[2])
    assert len(common) >= 3
    assert all(asked[0][name] == asked[1][name] == asked[2][name] for name in common)


def test_scores_are_floats_and_the_best_come_first(store: PlugmemPropertyGraphStore) -> None:
    for include_text in (True, False):
        found = PlugmemGraphRetriever(store, include_text=include_text).retrieve(QUESTION)
        scores = [one.get_score() for one in found]
        assert all(type(one.score) is float for one in found)
        assert scores == sorted(scores, reverse=True)


def test_at_most_k_nodes_are_found(store: PlugmemPropertyGraphStore) -> None:
    everything = plain(store, k=50)
    assert [len(plain(store, k=k)) for k in (1, 2, 3)] == [1, 2, 3]
    assert plain(store, k=3) == everything[:3]


def test_how_texts_hang_together_is_never_told(store: PlugmemPropertyGraphStore) -> None:
    store.upsert_relations([Relation(label="NEXT", source_id="c1", target_id="c2")])
    for ignored in ([], ["WORKS_AT"]):
        found = plain(store, k=50, ignore_rels=ignored)
        assert not [text for text in found if "NEXT" in text or "MENTIONS" in text]
        assert ("Ines -> WORKS_AT -> Helvetia Foods" in found) == (not ignored)


def test_a_question_that_nothing_answers_finds_nothing(store: PlugmemPropertyGraphStore) -> None:
    for question in ("", "  ", "???", "zebra"):
        assert plain(store, question) == []
        assert PlugmemGraphRetriever(store).retrieve(question) == []


def test_a_question_without_words_or_a_vector_that_counts_is_none(
    store: PlugmemPropertyGraphStore,
) -> None:
    lone = QueryBundle("?!", embedding=[1.0, 0.0])
    assert PlugmemGraphRetriever(store, sources=["bm25"]).retrieve(lone) == []
    assert set(plain(store, "?!", entities=["Paul Kern"], depth=1)) == {
        "Helvetia Foods -> WAS_FOUNDED_BY -> Paul Kern",
        TEXTS["c3"],
    }


def test_an_empty_graph_answers_nothing(memory: Memory) -> None:
    store = PlugmemPropertyGraphStore(memory)
    assert PlugmemGraphRetriever(store, embed_model=WordEmbedding()).retrieve(QUESTION) == []


# -- restrictions


def test_a_filter_restricts_what_is_found(memory: Memory) -> None:
    store = PlugmemPropertyGraphStore(memory)
    for name, year in (("Mara", 2020), ("Ines", 2024)):
        store.upsert_relations(
            [Relation(label="BOUGHT", source_id=name, target_id="Pump", properties={"year": year})]
        )
    assert plain(store, "who bought it?", where={"year": {"$gt": 2022}}) == [
        "Ines -> BOUGHT -> Pump"
    ]


def test_a_filter_restricts_the_relations_of_an_entity_that_words_find(memory: Memory) -> None:
    store = PlugmemPropertyGraphStore(memory)
    store.upsert_nodes([EntityNode(name="PG-7", properties={"about": "sewing", "year": 2024})])
    for target, year in (("Attic", 2020), ("Cellar", 2024)):
        store.upsert_relations(
            [
                Relation(
                    label="STANDS_IN", source_id="PG-7", target_id=target, properties={"year": year}
                )
            ]
        )
    assert plain(store, "sewing", where={"year": 2024}) == ["PG-7 -> STANDS_IN -> Cellar"]
    assert plain(store, "PG-7", where={"year": 2024}) == ["PG-7 -> STANDS_IN -> Cellar"]


def test_the_walk_passes_through_what_a_filter_leaves_out(memory: Memory) -> None:
    store = PlugmemPropertyGraphStore(memory)
    for source, label, target, year in (
        ("Mara", "HAS_SISTER", "Ines", 2020),
        ("Ines", "WORKS_AT", "Acme", 2024),
    ):
        store.upsert_relations(
            [Relation(label=label, source_id=source, target_id=target, properties={"year": year})]
        )
    assert plain(store, "Mara?", where={"year": 2024}) == ["Ines -> WORKS_AT -> Acme"]


def test_a_floor_leaves_out_what_scores_lower(store: PlugmemPropertyGraphStore) -> None:
    found = PlugmemGraphRetriever(store, include_text=False).retrieve(QUESTION)
    floor = found[1].get_score()
    assert plain(store, min_score=floor) == lines(found[:2])
    assert plain(store, min_score=1.0) == []


def test_sources_and_weights_are_those_of_the_recall(store: PlugmemPropertyGraphStore) -> None:
    found = plain(store, "Where is Mara's sister employed?", sources=["bm25"])
    assert not [text for text in found if "Helvetia" in text]
    walked = plain(store, sources=["graph"])
    assert "Ines -> WORKS_AT -> Helvetia Foods" in walked
    light, heavy = (
        PlugmemGraphRetriever(store, weights={"bm25": one}, include_text=False).retrieve(QUESTION)
        for one in (0.1, 5.0)
    )
    assert heavy[0].get_score() > light[0].get_score()


def test_another_namespace_is_never_seen(memory: Memory) -> None:
    mine, below, other = (
        PlugmemPropertyGraphStore(memory, namespace=one)
        for one in (("graph",), ("graph", "below"), ("other",))
    )
    put(below, TEXTS)
    put(other, TEXTS)
    assert plain(mine, k=50) == []
    memory.remember("Mara's sister works here", namespace=("graph",), entity="Mara")
    assert plain(mine, k=50) == []
    put(mine, {"c1": TEXTS["c1"]})
    assert not [text for text in plain(mine, k=50) if "Helvetia" in text]


def test_it_can_look_from_an_earlier_instant(memory: Memory, clock: Clock) -> None:
    store = PlugmemPropertyGraphStore(memory)
    put(store, TEXTS)
    before = clock()
    clock.now += 1_000
    store.delete(ids=["c2"])
    now = plain(store)
    assert not [text for text in now if "WORKS_AT" in text]
    then = plain(store, as_of=before)
    assert "Ines -> WORKS_AT -> Helvetia Foods" in then
    earlier = PlugmemPropertyGraphStore(memory, as_of=before)
    assert plain(earlier) == then


def test_sources_are_shown_as_of_the_instant_asked(memory: Memory, clock: Clock) -> None:
    store = PlugmemPropertyGraphStore(memory)
    put(store, {"c": "Mara lives in Lisbon."})
    before = clock()
    clock.now += 1_000
    store.upsert_llama_nodes([TextNode(id_="c", text="Mara lives in Porto now.")])
    past = PlugmemPropertyGraphStore(memory, as_of=before)
    for retriever in (
        PlugmemGraphRetriever(store, as_of=before, sources=["graph"]),
        PlugmemGraphRetriever(past),
    ):
        for found in (retriever.retrieve("Mara"), asyncio.run(retriever.aretrieve("Mara"))):
            assert found
            assert all("Mara lives in Lisbon." in one.text for one in found)
    clock.now += 1_000
    store.delete_llama_nodes(["c"])
    [last] = PlugmemGraphRetriever(store, as_of=before).retrieve("Mara")
    assert last.text.endswith("Mara lives in Lisbon.")
    assert PlugmemGraphRetriever(store).retrieve("Mara") == []


# -- vectors


def test_a_vector_in_the_question_is_used_and_left_alone(memory: Memory) -> None:
    store = PlugmemPropertyGraphStore(memory)
    store.upsert_llama_nodes(
        [
            TextNode(id_="a", text="alpha", embedding=[1.0, 0.0]),
            TextNode(id_="b", text="beta", embedding=[0.0, 1.0]),
        ]
    )
    model = WordEmbedding(dim=2)
    retriever = PlugmemGraphRetriever(store, embed_model=model, k=1)
    bundle = QueryBundle("which?", embedding=[0.1, 0.9])
    assert lines(retriever.retrieve(bundle)) == ["beta"]
    assert lines(retriever.retrieve(QueryBundle("", embedding=[0.9, 0.1]))) == ["alpha"]
    assert bundle.embedding == [0.1, 0.9]
    assert model.queries == []


async def test_the_model_embeds_a_question_without_a_vector(memory: Memory) -> None:
    model = WordEmbedding()
    store = PlugmemPropertyGraphStore(memory)
    texts = ["green tea with honey", "a bicycle"]
    store.upsert_llama_nodes(
        [TextNode(id_=one, text=one, embedding=model.get_text_embedding(one)) for one in texts]
    )
    retriever = PlugmemGraphRetriever(store, embed_model=model, k=1, sources=["vector"])
    bundle = QueryBundle("honey tea")
    assert lines(retriever.retrieve(bundle)) == ["green tea with honey"]
    assert lines(await retriever.aretrieve(bundle)) == ["green tea with honey"]
    assert model.queries == ["honey tea", "honey tea"]
    assert bundle.embedding is None
    assert PlugmemGraphRetriever(store, embed_model=model, sources=["bm25"]).retrieve("bee") == []
    assert len(model.queries) == 2


@pytest.mark.parametrize("question", ["👍", "???", "…"])
async def test_a_vector_without_direction_is_none(memory: Memory, question: str) -> None:
    class Nowhere(WordEmbedding):
        def _get_query_embedding(self, query: str) -> list[float]:
            return [0.0] * len(self._get_text_embedding(query))

    model = Nowhere()
    store = PlugmemPropertyGraphStore(memory)
    embedding = model.get_text_embedding("Mara")
    store.upsert_nodes([EntityNode(name="Mara", embedding=embedding)])
    retriever = PlugmemGraphRetriever(store, embed_model=model)
    assert retriever.retrieve(question) == []
    assert await retriever.aretrieve(question) == []
    zero = [0.0] * len(embedding)
    assert retriever.retrieve(QueryBundle(question, embedding=zero)) == []
    assert lines(retriever.retrieve(QueryBundle("Mara?", embedding=zero))) == ["Mara"]
    named = PlugmemGraphRetriever(store, embed_model=model, entities=["Mara"])
    assert named.retrieve(question) == []  # an entity is no answer about itself


async def test_the_embedder_of_the_memory_goes_before_the_model(open_memory: OpenMemory) -> None:
    own, other = WordEmbedding(), WordEmbedding(dim=7)
    store = PlugmemPropertyGraphStore(open_memory(embedder=LlamaIndexEmbedder(own)))
    put(store, TEXTS)
    retriever = PlugmemGraphRetriever(store, embed_model=other, sources=["vector"], k=1)
    assert "bees" in retriever.retrieve("about bees nothing")[0].text
    assert "bees" in (await retriever.aretrieve("about bees nothing"))[0].text
    assert (len(own.queries), other.queries) == (2, [])


def test_an_embedder_that_is_down_is_asked_once_and_the_words_answer(
    open_memory: OpenMemory, caplog: pytest.LogCaptureFixture
) -> None:
    class Down(WordEmbedding):
        def _get_query_embedding(self, query: str) -> list[float]:
            self._queries.append(query)
            raise ConnectionError("no network")

    model = Down()
    store = PlugmemPropertyGraphStore(open_memory(embedder=LlamaIndexEmbedder(model)))
    put(store, TEXTS)
    assert "Mara -> HAS_SISTER -> Ines" in plain(store)
    assert model.queries == [QUESTION]
    assert plain(store, sources=["vector"]) == []


def test_vectors_of_another_dimension_are_refused(memory: Memory) -> None:
    store = PlugmemPropertyGraphStore(memory)
    store.upsert_llama_nodes([TextNode(text="alpha", embedding=[1.0, 0.0])])
    with pytest.raises(VectorSpaceError):
        PlugmemGraphRetriever(store, embed_model=WordEmbedding(dim=3)).retrieve("alpha")


# -- async, and company


async def test_async_answers_the_same_and_leaves_the_event_loop_free(
    store: PlugmemPropertyGraphStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    threads = []
    recall = store.memory.recall

    def watched(*args: Any, **kwargs: Any) -> Any:
        threads.append(threading.current_thread())
        return recall(*args, **kwargs)

    monkeypatch.setattr(store.memory, "recall", watched)
    for include_text in (True, False):
        retriever = PlugmemGraphRetriever(store, include_text=include_text)
        found = await retriever.aretrieve(QUESTION)
        assert threads
        assert threading.current_thread() not in threads
        threads.clear()
        same = await asyncio.to_thread(retriever.retrieve, QUESTION)
        assert lines(found) == lines(same)
        assert [one.score for one in found] == [one.score for one in same]
        threads.clear()


async def test_many_questions_at_once_are_answered_as_one_by_one(
    store: PlugmemPropertyGraphStore,
) -> None:
    retriever = PlugmemGraphRetriever(store)
    questions = [QUESTION, "Who founded Helvetia Foods?", "What is about bees?"] * 5
    together = await asyncio.gather(*map(retriever.aretrieve, questions))
    assert [lines(one) for one in together] == [
        lines(retriever.retrieve(question)) for question in questions
    ]


async def test_it_works_inside_llamaindexs_own_retriever(store: PlugmemPropertyGraphStore) -> None:
    inner = PlugmemGraphRetriever(store, include_text=False)
    expected = lines(inner.retrieve(QUESTION))
    for use_async in (True, False):
        retriever = PGRetriever([inner, inner], use_async=use_async)
        assert lines(retriever.retrieve(QUESTION)) == expected
        assert lines(await retriever.aretrieve(QUESTION)) == expected


def test_fusion_adds_up_what_two_questions_find(store: PlugmemPropertyGraphStore) -> None:
    inner = PlugmemGraphRetriever(store, include_text=False)
    fused = QueryFusionRetriever(
        [inner, inner],
        llm=MockLLM(),
        num_queries=1,
        mode="reciprocal_rerank",
        similarity_top_k=20,
        use_async=False,
    ).retrieve(QUESTION)
    assert lines(fused) == lines(inner.retrieve(QUESTION))


# -- settings


@pytest.mark.parametrize(
    ("settings", "error", "named"),
    [
        ({"k": 0}, InvalidInputError, "k is 0"),
        ({"k": 2**32 - 2}, InvalidInputError, "k is"),
        ({"k": True}, WrongTypeError, "k is"),
        ({"depth": -1}, InvalidInputError, "depth"),
        ({"where": {"$nonsense": 1}}, InvalidInputError, "nonsense"),
        ({"anchors": "none"}, InvalidInputError, "anchors"),
        ({"sources": ["words"]}, InvalidInputError, "sources"),
        ({"weights": {"words": 1}}, InvalidInputError, "words"),
        ({"entities": "Mara"}, WrongTypeError, "entities"),
        ({"min_score": "high"}, InvalidInputError, "min_score"),
        ({"as_of": "yesterday"}, InvalidInputError, "as_of"),
        ({"embed_model": "local"}, WrongTypeError, "embed_model"),
        ({"ignore_rels": "NEXT"}, WrongTypeError, "ignore_rels"),
        ({"ignore_rels": [3]}, WrongTypeError, "ignore_rels"),
    ],
)
def test_bad_settings_are_refused_at_once(
    store: PlugmemPropertyGraphStore, settings: dict[str, Any], error: type[Exception], named: str
) -> None:
    with pytest.raises(error, match=named):
        PlugmemGraphRetriever(store, **settings)


def test_another_store_is_refused() -> None:
    with pytest.raises(WrongTypeError, match="graph_store"):
        PlugmemGraphRetriever(SimplePropertyGraphStore())


def test_a_later_change_of_what_was_given_changes_nothing(
    store: PlugmemPropertyGraphStore,
) -> None:
    entities, where, ignored = ["Paul Kern"], {"a": {"$exists": False}}, ["MENTIONS"]
    retriever = PlugmemGraphRetriever(
        store, entities=entities, where=where, ignore_rels=ignored, include_text=False
    )
    before = lines(retriever.retrieve("who?"))
    entities.clear()
    where["a"]["$exists"] = True
    ignored.append("WAS_FOUNDED_BY")
    assert lines(retriever.retrieve("who?")) == before
    assert before


@pytest.mark.parametrize("question", [b"who?", 3])
def test_a_question_of_another_type_is_refused(
    store: PlugmemPropertyGraphStore, question: Any
) -> None:
    with pytest.raises(WrongTypeError, match="query_str"):
        PlugmemGraphRetriever(store).retrieve(QueryBundle(question))
