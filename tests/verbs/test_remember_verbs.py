"""`remember`, `remember_many` and `remember_guarded`: what is stored, and what the receipt says."""

from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from clocks import DAY, SECOND, START, Clock
from conftest import OpenMemory
from hypothesis import given
from looking import stored
from strategies import names, texts

from plugmem_core import (
    Fact,
    HashingEmbedder,
    InvalidInputError,
    Memory,
    MemoryConfig,
    Receipt,
    VectorSpaceError,
)


def current(memory: Memory, **conditions: Any) -> list[str]:
    return [fact.text for fact in memory.list_facts(**conditions)]


# --- what is stored ---------------------------------------------------------------------------


def test_everything_given_comes_back(memory: Memory, clock: Clock) -> None:
    receipt = memory.remember(
        "the heater is set to nine degrees",
        entity="Greenhouse",
        tags=["setting", "north", "setting"],
        metadata={"level": 9, "by": {"name": "Nadia"}, "list": [1, None, True, 0.5]},
        valid_from=START - DAY,
        key="heater",
        namespace=("farm", "north"),
        ttl=60,
    )
    assert receipt == Receipt(0, "created", (), "none")
    assert memory.get(0) == Fact(
        id=0,
        text="the heater is set to nine degrees",
        entity="Greenhouse",
        tags=("setting", "north"),
        metadata={"level": 9, "by": {"name": "Nadia"}, "list": [1, None, True, 0.5]},
        key="heater",
        namespace=("farm", "north"),
        recorded_at=START,
        valid_from=START - DAY,
        valid_to=None,
        expires_at=START + 60 * SECOND,
        revises=None,
    )


def test_what_is_left_out_is_empty(memory: Memory) -> None:
    memory.remember("plain")
    assert memory.get(0) == Fact(0, "plain", None, (), {}, None, (), START, START, None, None, None)


def test_ids_count_up_from_zero(memory: Memory) -> None:
    assert [memory.remember(text).id for text in ("a", "b", "c")] == [0, 1, 2]


@given(text=texts().filter(lambda text: text.strip()), entity=names())
def test_texts_and_names_are_kept_to_the_letter(text: str, entity: str) -> None:
    with Memory.open(":memory:") as memory:
        memory.remember(text, entity=entity)
        fact = memory.get(0)
        assert fact is not None
        assert (fact.text, fact.entity) == (text, entity)


def test_metadata_is_a_copy_both_ways(memory: Memory) -> None:
    given_metadata = {"list": [1]}
    memory.remember("one", metadata=given_metadata)
    given_metadata["list"].append(2)
    fact = memory.get(0)
    assert fact is not None
    fact.metadata["list"].append(3)
    assert [fact.metadata for fact in memory.list_facts()] == [{"list": [1]}]
    assert memory.recall("one").facts[0].metadata == {"list": [1]}


def test_links_are_edges_that_follow_from_the_fact(memory: Memory) -> None:
    memory.remember("Mara runs the farm", entity="Mara", links=[("runs", "Farm"), ("near", "mara")])
    edges = [(edge.src, edge.relation, edge.dst, edge.provenance) for edge in memory.edges()]
    assert edges == [("Mara", "runs", "Farm", 0), ("Mara", "near", "Mara", 0)]


def test_the_first_spelling_of_an_entity_stays(memory: Memory) -> None:
    memory.remember("one", entity="Zoë")
    memory.remember("two", entity="ZOE!")
    assert [fact.entity for fact in memory.list_facts()] == ["Zoë", "Zoë"]


# --- saying it again --------------------------------------------------------------------------


def test_the_same_again_changes_nothing(memory: Memory, clock: Clock) -> None:
    options: dict[str, Any] = {
        "entity": "Mara",
        "tags": ["t"],
        "metadata": {"a": 1},
        "namespace": ("n",),
    }
    memory.remember("tea is green", **options)
    before, stats = memory.get(0), memory.stats()
    clock.tick()
    assert memory.remember("tea is green", **options) == Receipt(0, "unchanged", (), "none")
    assert memory.remember("tea is green", entity="MARA", namespace=("n",)).outcome == "unchanged"
    assert memory.get(0) == before
    assert memory.stats() == stats
    assert memory.remember("something else").id == 1


@pytest.mark.parametrize(
    "other",
    [{"entity": "Tomas"}, {"entity": None}, {"namespace": ("n",)}, {"key": "k"}],
    ids=lambda other: next(iter(other)),
)
def test_the_same_text_elsewhere_is_another_fact(memory: Memory, other: dict[str, Any]) -> None:
    memory.remember("tea is green", entity="Mara")
    assert memory.remember("tea is green", **{"entity": "Mara", **other}).outcome == "created"
    assert current(memory) == ["tea is green"] * 2


@pytest.mark.parametrize("text", ["tea is Green", "tea is green ", "tea  is green"])
def test_text_counts_as_the_same_to_the_letter_only(memory: Memory, text: str) -> None:
    memory.remember("tea is green")
    assert memory.remember(text).outcome == "created"


def test_the_same_with_more_to_say_is_a_revision(memory: Memory, clock: Clock) -> None:
    memory.remember("tea is green", tags=["t"], metadata={"a": 1})
    clock.tick()
    receipt = memory.remember("tea is green", tags=["u"])
    assert (receipt.id, receipt.outcome) == (1, "revised")
    revised = memory.get(1)
    assert revised is not None
    assert (revised.tags, revised.metadata, revised.revises) == (("u",), {"a": 1}, 0)
    assert [fact.tags for fact in memory.history(1)] == [("t",), ("u",)]


def test_new_links_of_the_same_fact_are_opened(memory: Memory) -> None:
    memory.remember("Mara farms", entity="Mara")
    receipt = memory.remember("Mara farms", entity="Mara", links=[("runs", "Farm")])
    assert receipt.outcome == "unchanged"
    assert [edge.provenance for edge in memory.edges("farm")] == [0]


def test_what_was_forgotten_can_be_said_anew(memory: Memory) -> None:
    memory.remember("tea is green")
    memory.forget(0)
    assert memory.remember("tea is green") == Receipt(1, "created")
    assert stored(memory, 1).revises is None


def test_what_was_superseded_can_be_said_anew(memory: Memory, clock: Clock) -> None:
    memory.remember("the office is in Bern")
    memory.revise(0, "the office is in Basel")
    assert memory.remember("the office is in Bern") == Receipt(2, "created")


def test_what_has_expired_can_be_said_anew(memory: Memory, clock: Clock) -> None:
    memory.remember("the kettle is on", ttl=60)
    clock.tick(60 * SECOND)
    assert memory.remember("the kettle is on") == Receipt(1, "created")


def test_saying_it_again_renews_the_time_to_live(memory: Memory, clock: Clock) -> None:
    memory.remember("the kettle is on", ttl=60)
    clock.tick(30 * SECOND)
    assert memory.remember("the kettle is on", ttl=60).outcome == "unchanged"
    assert stored(memory, 0).expires_at == START + 90 * SECOND


# --- keys -------------------------------------------------------------------------------------


def test_a_key_holds_one_current_fact_and_keeps_its_history(memory: Memory, clock: Clock) -> None:
    outcomes = []
    for text in ("nine", "twelve", "twelve", "ten"):
        receipt = memory.remember(f"{text} degrees", key="heater")
        outcomes.append((receipt.id, receipt.outcome))
        clock.tick()
    assert outcomes == [(0, "created"), (1, "revised"), (1, "unchanged"), (2, "revised")]
    assert current(memory, key="heater") == ["ten degrees"]
    assert [fact.text for fact in memory.history(0)] == [
        "nine degrees", "twelve degrees", "ten degrees",
    ]  # fmt: skip
    assert {fact.key for fact in memory.history(2)} == {"heater"}


def test_a_key_is_one_per_namespace(memory: Memory) -> None:
    for namespace in ((), ("a",), ("a", "b"), ("b",)):
        assert memory.remember("held", key="k", namespace=namespace).outcome == "created"
    assert current(memory, key="k") == ["held"] * 4
    assert current(memory, key="k", namespace=("a",)) == ["held"] * 2
    assert memory.remember("changed", key="k", namespace=("a",)).outcome == "revised"
    assert [fact.namespace for fact in memory.list_facts(key="k")] == [
        (), ("a", "b"), ("b",), ("a",),
    ]  # fmt: skip


@pytest.mark.parametrize(
    "change", [{"tags": ["u"]}, {"tags": []}, {"metadata": None}, {"entity": "Tomas"}]
)
def test_a_key_is_revised_by_any_difference(memory: Memory, change: dict[str, Any]) -> None:
    held: dict[str, Any] = {"entity": "Mara", "tags": ["t"], "metadata": {"a": 1}, "key": "k"}
    memory.remember("held", **held)
    assert memory.remember("held", **held).outcome == "unchanged"
    assert memory.remember("held", **{**held, **change}).outcome == "revised"
    fact = stored(memory, 1)
    expected = {**held, **change}
    assert fact.entity == expected["entity"]
    assert fact.tags == tuple(expected["tags"])
    assert fact.metadata == (expected["metadata"] or {})


def test_a_key_starts_anew_after_it_was_forgotten(memory: Memory) -> None:
    memory.remember("held", key="k")
    memory.forget(0)
    assert memory.remember("held", key="k") == Receipt(1, "created")
    assert stored(memory, 1).revises is None


@pytest.mark.parametrize("text", ["held", "something else"])
@pytest.mark.parametrize("then", ["nothing", "maintain"])
def test_a_key_starts_anew_after_it_expired(
    memory: Memory, clock: Clock, text: str, then: str
) -> None:
    memory.remember("held", key="k", ttl=60)
    clock.tick(60 * SECOND)
    if then == "maintain":
        memory.maintain()
    assert memory.remember(text, key="k") == Receipt(1, "created")
    assert len(memory.history(1)) == 1
    assert memory.get(0) is None
    assert memory.verify().ok


def test_a_key_survives_renaming_of_its_tags(memory: Memory) -> None:
    memory.remember("held", key="k", tags=["t"])
    memory.rename_tag("t", "u")
    assert memory.remember("changed", key="k") == Receipt(2, "revised")


# --- similar facts ----------------------------------------------------------------------------


def test_similar_facts_of_the_entity_are_reported(memory: Memory) -> None:
    memory.remember("prefers dark mode in the editor", entity="Ada")
    memory.remember("prefers dark mode in the editor", entity="Ben")
    # prefers, mode, in, the, editor are shared; dark and light are not: 5 of 7.
    receipt = memory.remember("prefers light mode in the editor", entity="ada")
    assert [(one.id, one.reason) for one in receipt.similar] == [(0, "lexical")]
    assert receipt.similar[0].score == pytest.approx(5 / 7)


def test_half_of_the_words_is_not_similar_yet(memory: Memory) -> None:
    memory.remember("one two three", entity="Ada")
    assert memory.remember("one two four", entity="Ada").similar == ()  # 2 of 4


def test_the_larger_of_words_and_vectors_counts(memory: Memory) -> None:
    memory.remember("one two three", entity="Ada", vector=[1, 0])
    receipt = memory.remember("one two three four", entity="Ada", vector=[1, 0])
    assert [(one.id, one.reason) for one in receipt.similar] == [(0, "vector")]
    assert receipt.similar[0].score == pytest.approx(1.0, abs=1e-4)


def test_eight_similar_facts_are_reported_the_oldest_of_equals_first(memory: Memory) -> None:
    for i in range(10):
        memory.remember(f"the tea is very green {i}", entity="Ada")
    receipt = memory.remember("the tea is very green", entity="Ada")
    assert [one.id for one in receipt.similar] == list(range(8))
    assert [one.score for one in receipt.similar] == pytest.approx([5 / 6] * 8)


def test_neither_forgotten_nor_superseded_facts_are_similar(memory: Memory) -> None:
    memory.remember("the tea is green", entity="Ada")
    memory.remember("the tea is green today", entity="Ada")
    memory.forget(0)
    memory.revise(1, "coffee")
    assert memory.remember("the tea is so green", entity="Ada").similar == ()


def test_facts_of_other_namespaces_are_not_similar(memory: Memory) -> None:
    memory.remember("the tea is green", entity="Ada", namespace=("a",))
    for namespace in ((), ("b",), ("a", "b")):
        receipt = memory.remember("the tea is green", entity="Ada", namespace=namespace)
        assert receipt.similar == ()


# --- vectors ----------------------------------------------------------------------------------


class Failing(HashingEmbedder):
    """Fails until told otherwise."""

    fails = True

    def embed_documents(self, texts: list[str]) -> list[npt.NDArray[np.float32]]:
        if self.fails:
            raise ConnectionError("no route to the model")
        return super().embed_documents(texts)


def test_a_receipt_says_how_the_vector_is(open_memory: OpenMemory) -> None:
    assert open_memory().remember("one").vector == "none"
    assert open_memory().remember("one", vector=[1, 2]).vector == "stored"
    assert open_memory(embedder=HashingEmbedder(8)).remember("one").vector == "stored"
    assert open_memory(embedder=Failing(8)).remember("one").vector == "pending"


def test_a_text_is_stored_though_the_embedder_fails(open_memory: OpenMemory) -> None:
    embedder = Failing(8)
    memory = open_memory(embedder=embedder)
    receipts = memory.remember_many([{"text": "green tea"}, {"text": "rye bread"}])
    assert [receipt.vector for receipt in receipts] == ["pending"] * 2
    assert [fact.id for fact in memory.recall("tea").facts] == [0]
    assert (memory.stats().pending, memory.stats().vectors) == (2, 0)
    embedder.fails = False
    assert memory.maintain().embedded == 2
    assert (memory.stats().pending, memory.stats().vectors) == (0, 2)
    assert memory.recall("tea").facts[0].sources == ("bm25", "vector")
    assert memory.verify().ok


def test_a_pending_vector_comes_with_the_text_said_again(
    open_memory: OpenMemory, clock: Clock
) -> None:
    embedder = Failing(8)
    memory = open_memory(embedder=embedder)
    memory.remember("green tea")
    embedder.fails = False
    clock.tick()
    assert memory.remember("green tea") == Receipt(0, "unchanged", (), "stored")
    assert memory.stats().pending == 0


def test_a_vector_given_goes_before_the_embedder(open_memory: OpenMemory) -> None:
    memory = open_memory(embedder=Failing(2))
    assert memory.remember("one", vector=[0, 1]).vector == "stored"
    assert memory.recall(vector=[0, 1]).facts[0].id == 0


# --- many at once -----------------------------------------------------------------------------


def test_many_are_stored_in_order_at_one_instant(open_memory: OpenMemory) -> None:
    ticking = Clock()

    def clock() -> int:
        return ticking.tick()

    memory = open_memory(clock=clock)
    receipts = memory.remember_many({"text": f"note {i}", "tags": ["n"]} for i in range(5))
    assert [receipt.id for receipt in receipts] == list(range(5))
    assert len({fact.recorded_at for fact in memory.list_facts()}) == 1


def test_many_of_none_is_nothing(memory: Memory) -> None:
    assert memory.remember_many([]) == []


def test_many_see_each_other(memory: Memory) -> None:
    receipts = memory.remember_many(
        [
            {"text": "same"},
            {"text": "same"},
            {"text": "held", "key": "k"},
            {"text": "held now", "key": "k"},
        ]
    )
    assert [(receipt.id, receipt.outcome) for receipt in receipts] == [
        (0, "created"), (0, "unchanged"), (1, "created"), (2, "revised"),
    ]  # fmt: skip
    assert current(memory) == ["same", "held now"]
    assert memory.verify().ok


@pytest.mark.parametrize(
    ("last", "error"),
    [
        ({"text": " "}, InvalidInputError),
        ({}, InvalidInputError),
        ({"text": "x", "colour": "red"}, InvalidInputError),
        ({"text": "x", "entity": "!!!"}, InvalidInputError),
        ({"text": "x", "links": [("a", "b")]}, InvalidInputError),
        ({"text": "x", "vector": [0, 0]}, InvalidInputError),
        ({"text": "x", "vector": [1, 2, 3]}, VectorSpaceError),
        ({"text": "x", "metadata": {"a": {1, 2}}}, InvalidInputError),
        ({"text": "x", "key": "held", "valid_from": 0}, InvalidInputError),
    ],
    ids=lambda last: "-".join(map(str, last)) if isinstance(last, dict) else "",
)
def test_many_are_all_stored_or_none(
    memory: Memory, last: dict[str, Any], error: type[Exception]
) -> None:
    memory.remember("standing", entity="Mara", tags=["t"], vector=[1, 0])
    memory.remember("held", key="held")
    before = (memory.stats(), memory.tags(), memory.entities(), list(memory.list_facts()))
    first = {"text": "ghost", "entity": "Ghost", "tags": ["ghost"], "links": [("near", "Mara")]}
    with pytest.raises(error):
        memory.remember_many([first, {**first, "text": "second ghost"}, last])
    assert (memory.stats(), memory.tags(), memory.entities(), list(memory.list_facts())) == before
    assert memory.recall("ghost").facts == ()
    assert memory.edges() == ()
    assert memory.verify().ok
    assert memory.remember("next").id == 2


def test_an_error_names_the_place_of_the_item(memory: Memory) -> None:
    with pytest.raises(InvalidInputError, match=r"facts\[1\].*text"):
        memory.remember_many([{"text": "fine"}, {"text": ""}])


def test_an_unknown_name_is_an_error_that_lists_the_known_ones(memory: Memory) -> None:
    with pytest.raises(InvalidInputError, match=r"colour.*entity, tags, links"):
        memory.remember_many([{"text": "x", "colour": "red"}])


def test_receipts_of_a_batch_tell_how_the_vectors_are_after_all_of_it(memory: Memory) -> None:
    first, again = memory.remember_many(
        [{"text": "green tea"}, {"text": "green tea", "vector": [1.0, 0.0]}]
    )
    assert (first.outcome, first.vector) == ("created", "stored")
    assert (again.outcome, again.vector) == ("unchanged", "stored")


def test_different_dimensions_in_one_batch_are_refused_whole(memory: Memory) -> None:
    with pytest.raises(VectorSpaceError):
        memory.remember_many([{"text": "a", "vector": [1, 0]}, {"text": "b", "vector": [1, 0, 0]}])
    assert memory.stats().facts == 0
    assert memory.remember("c", vector=[1, 0, 0]).id == 0  # the dimension is still open


def test_the_embedder_is_asked_once_for_all(open_memory: OpenMemory) -> None:
    calls = []

    class Counting(HashingEmbedder):
        def embed_documents(self, texts: list[str]) -> list[npt.NDArray[np.float32]]:
            calls.append(texts)
            return super().embed_documents(texts)

    memory = open_memory(embedder=Counting(8))
    items: list[dict[str, Any]] = [{"text": "a"}, {"text": "b", "vector": [1.0] * 8}, {"text": "c"}]
    receipts = memory.remember_many(items)
    assert calls == [["a", "c"]]
    assert {receipt.vector for receipt in receipts} == {"stored"}


# --- guarded ----------------------------------------------------------------------------------


def test_a_guarded_write_is_blocked_by_a_similar_fact(memory: Memory) -> None:
    memory.remember("prefers dark mode in the editor", entity="Ada")
    stats = memory.stats()
    result = memory.remember_guarded(
        "prefers dark mode in an editor", entity="ADA", tags=["new"], links=[("uses", "Vim")]
    )
    assert (result.blocked, result.checked, result.receipt) == (True, True, None)
    assert [(one.id, one.reason) for one in result.similar] == [(0, "lexical")]
    assert result.similar[0].score == pytest.approx(5 / 7)
    assert memory.stats() == stats
    assert memory.remember("something else").id == 1


def test_a_guarded_write_without_an_entity_is_stored_unchecked(memory: Memory) -> None:
    memory.remember("the tea is green")
    result = memory.remember_guarded("the tea is so green")
    assert (result.blocked, result.checked) == (False, False)
    assert result.receipt == Receipt(1, "created")


def test_a_guarded_write_of_a_new_entity_is_stored_checked(memory: Memory) -> None:
    result = memory.remember_guarded("the tea is green", entity="Ada")
    assert (result.blocked, result.checked, result.similar) == (False, True, ())


def test_a_guarded_write_looks_into_its_own_namespace_only(memory: Memory) -> None:
    memory.remember("the tea is green", entity="Ada", namespace=("a",))
    for namespace in ((), ("a", "b"), ("b",)):
        assert not memory.remember_guarded(
            "the tea is green", entity="Ada", namespace=namespace
        ).blocked


def test_a_guarded_write_is_blocked_by_a_near_vector(open_memory: OpenMemory) -> None:
    memory = open_memory(config=MemoryConfig(similar_cosine=0.9))
    memory.remember("tea", entity="Ada", vector=[1, 0])
    assert memory.remember_guarded("coffee", entity="Ada", vector=[1, 0.1]).blocked
    assert not memory.remember_guarded("coffee", entity="Ada", vector=[1, 1]).blocked
