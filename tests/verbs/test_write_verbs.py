"""`write`: forget, end and remember in one transaction; and the life of facts, `set_ttl`."""

import asyncio
from pathlib import Path
from typing import Any

import pytest
from clocks import SECOND, START, Clock
from conftest import OpenMemory
from looking import stored

from plugmem_core import (
    EmbedderError,
    InvalidInputError,
    Memory,
    Namespace,
    NotFoundError,
    PlugmemError,
    TooLargeError,
    VectorSpaceError,
    WrongTypeError,
)
from plugmem_core.clock import MAX_MS

ANN: Namespace = ("users", "ann")
BOB: Namespace = ("users", "bob")


def texts(memory: Memory, **options: Any) -> list[str]:
    return [fact.text for fact in memory.list_facts(**options)]


@pytest.fixture
def drinks(memory: Memory, clock: Clock) -> Memory:
    """Under one key: two versions of Ann's (facts 0 and 1) and one of Bob's (fact 2)."""
    for text, namespace in [("tea", ANN), ("green tea", ANN), ("coffee", BOB)]:
        memory.remember(text, key="drink", namespace=namespace)
        clock.tick()
    return memory


# -- what each part does


def test_facts_are_remembered_with_one_receipt_each_in_order(memory: Memory) -> None:
    receipts = memory.write(remember=[{"text": "one"}, {"text": "two"}, {"text": "one"}])
    assert [(one.id, one.outcome) for one in receipts] == [
        (0, "created"),
        (1, "created"),
        (0, "unchanged"),
    ]


def test_writing_nothing_changes_nothing(drinks: Memory) -> None:
    before = drinks.stats()
    assert drinks.write() == []
    assert drinks.write(remember=[], forget=[], end=[]) == []
    assert drinks.stats() == before


def test_forgetting_a_key_hides_every_version_from_every_route(drinks: Memory) -> None:
    assert drinks.write(forget=[(ANN, "drink")]) == []
    assert drinks.get_many([0, 1]) == [None, None]
    for instant in (START, START + SECOND, START + 9 * SECOND):
        assert texts(drinks, as_of=instant, namespace=ANN) == []
        assert drinks.get_by_keys(["drink"], as_of=instant, namespace=ANN) == []
        assert drinks.recall("tea", as_of=instant).facts == ()
    assert texts(drinks, closed=True) == ["coffee"]
    assert [fact.id for fact in drinks.get_by_keys(["drink"], closed=True)] == [2]
    assert drinks.recall("tea", closed=True).facts == ()
    assert drinks.stats().forgotten == 2
    assert drinks.maintain().purged == 2
    assert drinks.verify().ok


def test_ending_a_key_closes_the_current_version_now(drinks: Memory, clock: Clock) -> None:
    ended = clock.now
    assert drinks.write(end=[(ANN, "drink")]) == []
    assert texts(drinks) == ["coffee"]
    assert stored(drinks, 1).valid_to == ended
    assert stored(drinks, 0).valid_to == START + SECOND
    assert texts(drinks, as_of=ended - 1, namespace=ANN) == ["green tea"]
    assert texts(drinks, as_of=ended, namespace=ANN) == []
    assert [fact.id for fact in drinks.history(0)] == [0, 1]
    assert drinks.verify().ok


def test_the_same_key_in_other_namespaces_is_untouched(memory: Memory) -> None:
    spaces: list[Namespace] = [
        (), ("a",), ("a", "b"), ("a.b",), ("a/b",), ("A",), ("aa",), ("a ",), ("a\x1fb",),
        ("b", "a"),
    ]  # fmt: skip
    for place, target in enumerate(spaces):
        for namespace in spaces:
            memory.remember(f"text {namespace}", key="k", namespace=namespace)
        verb = {"forget": [(target, "k")]} if place % 2 else {"end": [(target, "k")]}
        memory.write(**verb)
        left = {fact.namespace for fact in memory.list_facts()}
        assert left == {*spaces} - {target}


def test_look_alike_keys_are_untouched(memory: Memory) -> None:
    keys = ["k", "K", "k ", " k", "k%", "%", "_", "kk", "\u212a", "k\x01", "ķ", "k\u0327"]
    memory.remember_many({"text": f"text {key!r}", "key": key} for key in keys)
    memory.write(forget=[((), "k")], end=[((), "%")])
    assert {fact.key for fact in memory.list_facts()} == {*keys} - {"k", "%"}


@pytest.mark.parametrize("part", ["forget", "end"])
def test_unknown_keys_and_namespaces_are_passed_over(drinks: Memory, part: str) -> None:
    before = [drinks.stats(), texts(drinks, closed=True)]
    nowhere = [(ANN, "food"), (("users",), "drink"), ((), "drink"), (("nobody",), "drink")]
    assert drinks.write(**{part: nowhere}) == []
    assert [drinks.stats(), texts(drinks, closed=True)] == before
    assert [one.namespace for one in drinks.namespaces()] == [ANN, BOB]


def test_a_pair_given_twice_counts_once(drinks: Memory) -> None:
    drinks.write(forget=[(ANN, "drink")] * 3, end=[(BOB, "drink")] * 3)
    assert texts(drinks) == []
    assert drinks.stats().forgotten == 2


def test_labels_may_be_a_list_and_pairs_come_from_a_generator(drinks: Memory) -> None:
    spaces: list[Any] = [list(ANN), list(BOB)]
    drinks.write(forget=((space, "drink") for space in spaces))
    assert texts(drinks, closed=True) == []


def test_expired_facts_are_passed_over_by_end_and_stay_away(memory: Memory, clock: Clock) -> None:
    memory.remember("soon gone", key="k", ttl=1)
    clock.tick(5 * SECOND)
    memory.write(end=[((), "k")])
    assert texts(memory, closed=True) == []
    assert memory.remember("again", key="k").outcome == "created"
    assert memory.verify().ok


def test_a_planned_fact_that_is_ended_never_became_true(memory: Memory, clock: Clock) -> None:
    later = clock.now + 60 * SECOND
    memory.remember("a plan", key="k", valid_from=later)
    memory.write(end=[((), "k")])
    fact = stored(memory, 0)
    assert (fact.valid_from, fact.valid_to) == (later, later)
    assert texts(memory, valid_at=later) == []
    assert memory.verify().ok


# -- the order: forget, end, remember


def test_what_is_written_under_a_forgotten_key_is_new(drinks: Memory) -> None:
    [receipt] = drinks.write(
        remember=[{"text": "green tea", "key": "drink", "namespace": ANN}],
        forget=[(ANN, "drink")],
    )
    assert (receipt.id, receipt.outcome) == (3, "created")
    assert stored(drinks, 3).revises is None
    assert [fact.id for fact in drinks.history(3)] == [3]
    assert texts(drinks, namespace=ANN, closed=True) == ["green tea"]


def test_what_is_written_under_an_ended_key_is_new(drinks: Memory, clock: Clock) -> None:
    [receipt] = drinks.write(
        remember=[{"text": "green tea", "key": "drink", "namespace": ANN}],
        end=[(ANN, "drink")],
    )
    assert (receipt.id, receipt.outcome) == (3, "created")
    assert stored(drinks, 1).valid_to == clock.now
    assert texts(drinks, namespace=ANN, closed=True) == ["tea", "green tea", "green tea"]
    assert drinks.verify().ok


def test_forgetting_comes_before_ending(drinks: Memory) -> None:
    drinks.write(end=[(ANN, "drink")], forget=[(ANN, "drink")])
    assert drinks.get(1) is None
    assert drinks.stats().forgotten == 2
    drinks.maintain()
    assert drinks.verify().ok


def test_a_text_without_a_key_is_confirmed_in_the_same_transaction(memory: Memory) -> None:
    memory.remember("one", key="k")
    [receipt] = memory.write(forget=[((), "k")], remember=[{"text": "one"}])
    assert receipt.outcome == "created"
    assert memory.write(remember=[{"text": "one"}])[0].outcome == "unchanged"


# -- all or nothing

BAD_FACTS: list[tuple[dict[str, Any], type[PlugmemError]]] = [
    ({"text": ""}, InvalidInputError),
    ({"text": 5}, WrongTypeError),
    ({"text": "x" * 70_000}, TooLargeError),
    ({"text": "bad", "tags": [1]}, WrongTypeError),
    ({"text": "bad", "key": " "}, InvalidInputError),
    ({"text": "bad", "ttl": -1}, InvalidInputError),
    ({"text": "bad", "links": [("knows", "Bob")]}, InvalidInputError),
    ({"text": "bad", "metadata": {"n": float("nan")}}, InvalidInputError),
    ({"text": "bad", "embed": 1}, WrongTypeError),
    ({"text": "bad", "embed": None}, WrongTypeError),
    ({"text": "bad", "namespace": "ann"}, WrongTypeError),
    ({"text": "bad", "vector": [1.0, 2.0, 3.0]}, VectorSpaceError),
]


@pytest.mark.parametrize(("bad", "kind"), BAD_FACTS)
def test_a_bad_fact_is_named_by_its_place_and_nothing_is_written(
    open_memory: OpenMemory, bad: dict[str, Any], kind: type[PlugmemError]
) -> None:
    memory = open_memory(dim=2)
    memory.remember("tea", key="drink")
    memory.remember("bread", key="food")
    before = memory.stats()
    with pytest.raises(kind, match=r"remember\[2\]") as caught:
        memory.write(
            remember=[{"text": "one", "entity": "New"}, {"text": "two"}, bad, {"text": ""}],
            forget=[((), "drink")],
            end=[((), "food")],
        )
    assert caught.value.place == 2
    cause = caught.value.__cause__
    assert isinstance(cause, kind)
    assert cause.place is None
    assert "remember[2]" not in str(cause)
    assert memory.stats() == before
    assert texts(memory) == ["tea", "bread"]


@pytest.mark.parametrize("bad", [{"text": "x", "colour": "red"}, {}, "text", None, 5])
def test_what_is_no_fact_has_a_place_too(memory: Memory, bad: Any) -> None:
    memory.remember("tea", key="drink")
    with pytest.raises(InvalidInputError, match=r"remember\[1\]") as caught:
        memory.write(remember=[{"text": "one"}, bad], forget=[((), "drink")])
    assert caught.value.place == 1
    assert texts(memory) == ["tea"]


@pytest.mark.parametrize("facts", ["text", b"text", {"text": "one"}, 5, None])
def test_facts_that_are_no_list_are_refused(memory: Memory, facts: Any) -> None:
    with pytest.raises(WrongTypeError, match="remember is"):
        memory.write(remember=facts)


@pytest.mark.parametrize("part", ["forget", "end"])
@pytest.mark.parametrize(
    ("pairs", "match"),
    [
        ("drink", "is 'drink'"),
        (b"drink", "is b'drink'"),
        (5, "is 5"),
        (["drink"], r"\[0\] is 'drink'"),
        ([(ANN, "drink"), "ab"], r"\[1\] is 'ab'"),
        ([(ANN, "drink"), ANN], r"\[1\]\[0\] is 'users'"),
        ([(ANN,)], r"\[0\]"),
        ([(ANN, "drink", "more")], r"\[0\]"),
        ([("ann", "drink")], r"\[0\]\[0\] is 'ann'"),
        ([((), "drink"), (("users", ""), "drink")], r"\[1\]\[0\]\[1\] is empty"),
        ([((5,), "drink")], r"\[0\]\[0\]\[0\] is 5"),
        ([(None, "drink")], r"\[0\]\[0\] is None"),
        ([(ANN, 5)], r"\[0\]\[1\]"),
        ([(ANN, None)], r"\[0\]\[1\]"),
        ([(ANN, " ")], r"\[0\]\[1\]"),
        ([(ANN, "drink"), (ANN, "x" * 10_000)], r"\[1\]\[1\]"),
        ([{"namespace": ANN, "key": "drink"}], r"\[0\]"),
        ([None], r"\[0\]"),
    ],
)
def test_bad_pairs_are_refused_and_nothing_is_written(
    drinks: Memory, part: str, pairs: Any, match: str
) -> None:
    before = drinks.stats()
    with pytest.raises(InvalidInputError, match=match):
        drinks.write(remember=[{"text": "new"}], **{part: pairs})
    assert drinks.stats() == before


def test_what_fails_inside_the_transaction_undoes_all_of_it(drinks: Memory) -> None:
    before = [drinks.stats(), texts(drinks, closed=True)]
    revision = {"text": "mate", "key": "drink", "namespace": BOB, "valid_from": START - SECOND}
    with pytest.raises(InvalidInputError, match="supersedes"):
        drinks.write(
            remember=[{"text": "new", "entity": "New", "namespace": ("new",)}, revision],
            forget=[(ANN, "drink")],
        )
    assert [drinks.stats(), texts(drinks, closed=True)] == before
    assert drinks.remember("next").id == 3
    assert drinks.verify().ok


def test_vectors_of_mixed_dimensions_undo_all_of_it(memory: Memory) -> None:
    memory.remember("tea", key="drink")
    with pytest.raises(VectorSpaceError, match=r"remember\[1\]: ") as caught:
        memory.write(
            remember=[{"text": "a", "vector": [1.0]}, {"text": "b", "vector": [1.0, 2.0]}],
            forget=[((), "drink")],
        )
    assert caught.value.place == 1
    assert texts(memory) == ["tea"]
    assert memory.remember("c", vector=[1.0, 2.0, 3.0]).vector == "stored"


def test_an_embedder_that_breaks_its_contract_undoes_all_of_it(open_memory: OpenMemory) -> None:
    class Broken:
        space_id, dim = "broken", 2

        def embed_documents(self, texts: list[str]) -> list[list[float]]:
            return []

        def embed_query(self, text: str) -> list[float]:
            return []

    memory = open_memory(embedder=Broken())
    memory.remember("tea", key="drink", embed=False)
    with pytest.raises(EmbedderError):
        memory.write(remember=[{"text": "new"}], forget=[((), "drink")])
    assert texts(memory) == ["tea"]


def test_the_async_twin_writes_the_same(drinks: Memory) -> None:
    receipts = asyncio.run(
        drinks.awrite(
            remember=[{"text": "mate", "namespace": ANN}],
            forget=[(ANN, "drink")],
            end=[(BOB, "drink")],
        )
    )
    assert [(one.id, one.outcome) for one in receipts] == [(3, "created")]
    assert texts(drinks) == ["mate"]


def test_another_handle_sees_all_of_it(open_memory: OpenMemory, tmp_path: Path) -> None:
    one, other = open_memory(tmp_path / "m"), open_memory(tmp_path / "m")
    one.remember("tea", key="drink", namespace=ANN)
    assert texts(other) == ["tea"]
    other.write(remember=[{"text": "mate"}], end=[(ANN, "drink")])
    assert texts(one) == ["mate"]
    # A namespace that only the other handle has ever seen.
    one.remember("soup", key="food", namespace=("new",))
    other.write(forget=[(("new",), "food")])
    assert texts(one) == ["mate"]
    assert one.verify().ok
    assert other.verify().ok


# -- set_ttl


def test_a_ttl_counts_from_now(memory: Memory, clock: Clock) -> None:
    memory.remember("one")
    clock.tick(10 * SECOND)
    assert memory.set_ttl([0], 2.5) == 1
    assert stored(memory, 0).expires_at == clock.now + 2_500
    clock.tick(2_499)
    assert texts(memory) == ["one"]
    clock.tick(1)
    assert texts(memory, closed=True) == []
    assert memory.get(0) is None
    assert memory.maintain().purged == 1


def test_a_ttl_can_be_lengthened_shortened_and_taken_away(memory: Memory, clock: Clock) -> None:
    memory.remember("one", ttl=10)
    for ttl in (5, 60, 1):
        memory.set_ttl([0], ttl)
        assert stored(memory, 0).expires_at == clock.now + ttl * SECOND
    memory.set_ttl([0], None)
    clock.tick(1_000 * SECOND)
    assert texts(memory) == ["one"]
    assert memory.verify().ok


def test_what_is_gone_cannot_be_revived(memory: Memory, clock: Clock) -> None:
    memory.remember_many([{"text": "one", "ttl": 1}, {"text": "two"}, {"text": "three"}])
    memory.forget(1)
    clock.tick(SECOND)
    assert memory.set_ttl([0, 1, 2, 3, 99], None) == 1
    assert texts(memory, closed=True) == ["three"]


def test_a_ttl_concerns_the_version_named(memory: Memory, clock: Clock) -> None:
    memory.remember("one")
    clock.tick()
    memory.revise(0, "two")
    assert memory.set_ttl([0], 1) == 1
    clock.tick(SECOND)
    assert memory.get(0) is None
    assert texts(memory) == ["two"]


def test_a_ttl_is_no_revision(memory: Memory) -> None:
    memory.remember("one", tags=["t"], metadata={"n": 1}, entity="E")
    before = stored(memory, 0)
    memory.set_ttl([0], 60)
    assert stored(memory, 0) == before._replace(expires_at=START + 60 * SECOND)
    assert [fact.id for fact in memory.history(0)] == [0]


def test_only_facts_of_the_namespace_get_a_ttl(drinks: Memory) -> None:
    assert drinks.set_ttl([0, 1, 2], 60, namespace=BOB) == 1
    assert [fact.expires_at is None for fact in drinks.list_facts(closed=True)] == [
        True, True, False,
    ]  # fmt: skip
    assert drinks.set_ttl([0, 1, 2], 60, namespace=("users",)) == 3
    assert drinks.set_ttl([0], 60, namespace=("user",)) == 0


def test_ids_given_twice_count_once_and_none_are_fine(memory: Memory) -> None:
    memory.remember_many([{"text": "one"}, {"text": "two"}])
    assert memory.set_ttl([1, 0, 1, 1], 60) == 2
    assert memory.set_ttl([], 60) == 0


def test_a_ttl_reaches_other_handles_and_survives(
    open_memory: OpenMemory, tmp_path: Path, clock: Clock
) -> None:
    one, other = open_memory(tmp_path / "m"), open_memory(tmp_path / "m")
    one.remember("one")
    assert texts(other) == ["one"]
    one.set_ttl([0], 5)
    assert stored(other, 0).expires_at == clock.now + 5 * SECOND
    one.close()
    other.close()
    clock.tick(5 * SECOND)
    assert texts(open_memory(tmp_path / "m")) == []


@pytest.mark.parametrize("ttl", [0, -1, float("nan"), float("inf"), "60", True, MAX_MS])
def test_bad_ttls_are_refused(memory: Memory, ttl: Any) -> None:
    memory.remember("one")
    with pytest.raises(InvalidInputError, match="ttl"):
        memory.set_ttl([0], ttl)
    assert stored(memory, 0).expires_at is None


@pytest.mark.parametrize("ids", ["0", 0, [True], ["0"], [-1], [0.0], None])
def test_bad_ids_are_refused(memory: Memory, ids: Any) -> None:
    with pytest.raises(InvalidInputError, match="ids"):
        memory.set_ttl(ids, 60)


def test_a_fact_of_another_namespace_is_not_found_by_end(drinks: Memory) -> None:
    with pytest.raises(NotFoundError):
        drinks.end(2, namespace=ANN)
    assert texts(drinks, namespace=BOB) == ["coffee"]


def edges_now(memory: Memory) -> list[tuple[str, str, str]]:
    return [(edge.src, edge.relation, edge.dst) for edge in memory.edges()]


@pytest.mark.parametrize("kind", ["forget", "end"])
def test_links_end_with_the_fact_that_brought_them_when_asked(memory: Memory, kind: str) -> None:
    memory.remember("Ana leads the choir", entity="Ana", links=[("leads", "choir")], key="a")
    memory.link("Ana", "sings in", "choir")
    memory.write(**{kind: [((), "a")]}, unlink=True)
    assert edges_now(memory) == [("Ana", "sings in", "choir")]


@pytest.mark.parametrize("kind", ["forget", "end"])
def test_links_stay_when_nobody_asks_for_their_end(memory: Memory, kind: str) -> None:
    memory.remember("Ana leads the choir", entity="Ana", links=[("leads", "choir")], key="a")
    memory.write(**{kind: [((), "a")]})
    assert edges_now(memory) == [("Ana", "leads", "choir")]


def test_links_a_revised_fact_does_not_repeat_end_when_asked(memory: Memory) -> None:
    links = [("leads", "choir"), ("knows", "Bo")]
    memory.remember("Ana leads the choir", entity="Ana", links=links, key="a")
    said = {"text": "Ana knows Bo", "entity": "Ana", "links": [("knows", "Bo")], "key": "a"}
    memory.write(remember=[said], unlink=True)
    assert edges_now(memory) == [("Ana", "knows", "Bo")]


def test_links_of_another_fact_about_the_same_entity_stay(memory: Memory) -> None:
    memory.remember("Ana leads the choir", entity="Ana", links=[("leads", "choir")], key="a")
    memory.remember("Ana plays chess", entity="Ana", links=[("plays", "chess")], key="b")
    memory.write(forget=[((), "a")], unlink=True)
    assert edges_now(memory) == [("Ana", "plays", "chess")]


def test_an_ended_link_is_still_read_as_of_earlier(memory: Memory, clock: Clock) -> None:
    memory.remember("Ana leads the choir", entity="Ana", links=[("leads", "choir")], key="a")
    before = clock.now
    clock.tick()
    memory.write(end=[((), "a")], unlink=True)
    assert edges_now(memory) == []
    assert [edge.dst for edge in memory.edges(as_of=before)] == ["choir"]


def test_forgetting_many_by_id_ends_their_links_when_asked(memory: Memory) -> None:
    fact = memory.remember("Ana leads the choir", entity="Ana", links=[("leads", "choir")]).id
    memory.forget_many([fact], unlink=True)
    assert edges_now(memory) == []
