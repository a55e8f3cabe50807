"""`forget`, `forget_many`, `get`, `get_many` and `history`."""

from collections.abc import Iterable, Sequence
from typing import Any

import pytest
from clocks import SECOND, Clock
from looking import stored

from plugmem_core import Fact, InvalidInputError, Memory, NotFoundError, RecalledFact, Receipt

# --- forgetting -------------------------------------------------------------------------------


@pytest.fixture
def chain(memory: Memory, clock: Clock) -> Memory:
    """Three versions of one fact, 0 to 2, and a bystander, 3."""
    options: dict[str, Any] = {
        "entity": "Heater",
        "tags": ["setting"],
        "metadata": {"k": 1},
        "key": "h",
    }
    memory.remember("nine degrees", **options, vector=[1, 0])
    clock.tick()
    memory.revise(0, "ten degrees")
    clock.tick()
    memory.revise(1, "eleven degrees")
    clock.tick()
    memory.remember("bystander")
    return memory


def seen_anywhere(memory: Memory, fact_id: int, clock: Clock) -> list[str]:
    """The routes on which a fact shows, at any instant since the start."""
    everywhen = range(clock.now - 10 * SECOND, clock.now + 2 * SECOND, SECOND)
    questions: list[dict[str, Any]] = [{}, {"closed": True}, *({"as_of": at} for at in everywhen)]
    questions += [{"known_at": at} for at in everywhen]
    words = "nine ten eleven degrees"
    found: dict[str, Sequence[Fact | RecalledFact | None]] = {
        "get": [memory.get(fact_id)],
        "history": [fact for other in (0, 1, 2) for fact in history_or_none(memory, other)],
        "list": [fact for q in questions for fact in memory.list_facts(**q)],
        "words": [fact for q in questions for fact in memory.recall(words, **q).facts],
        "vector": [fact for q in questions for fact in memory.recall(vector=[1, 0], **q).facts],
        "graph": [
            fact for q in questions for fact in memory.recall(entities=["heater"], **q).facts
        ],
        "tags": [fact for q in questions for fact in memory.recall(tags=["setting"], **q).facts],
        "filter": [fact for q in questions for fact in memory.recall(where={"k": 1}, **q).facts],
        "time": [
            fact for q in questions for fact in memory.recall(range=(0, clock.now + 1), **q).facts
        ],
    }
    return [
        name for name, facts in found.items() if fact_id in {fact and fact.id for fact in facts}
    ]


def history_or_none(memory: Memory, fact_id: int) -> Iterable[Fact]:
    try:
        return memory.history(fact_id)
    except NotFoundError:
        return ()


def test_every_version_shows_on_every_route_until_it_is_forgotten(
    chain: Memory, clock: Clock
) -> None:
    for fact_id in (0, 1, 2):
        assert len(seen_anywhere(chain, fact_id, clock)) == 9


@pytest.mark.parametrize("target", [0, 1, 2])
@pytest.mark.parametrize("then", ["nothing", "maintain", "rebuild"])
def test_a_forgotten_fact_shows_nowhere_at_no_instant(
    chain: Memory, clock: Clock, target: int, then: str
) -> None:
    assert chain.forget(target) is True
    if then != "nothing":
        getattr(chain, then)()
    assert seen_anywhere(chain, target, clock) == []
    for other in {0, 1, 2} - {target}:
        assert "get" in seen_anywhere(chain, other, clock)
    assert chain.verify().ok


def test_forgetting_twice_says_so(chain: Memory) -> None:
    assert [chain.forget(2), chain.forget(2)] == [True, False]


def test_a_purged_fact_is_not_found(chain: Memory) -> None:
    chain.forget(2)
    chain.maintain()
    with pytest.raises(NotFoundError, match="2"):
        chain.forget(2)


def test_ids_of_forgotten_and_purged_facts_are_not_given_again(chain: Memory) -> None:
    chain.forget_many([2, 3])
    chain.maintain()
    assert chain.remember("newcomer").id == 4


def test_tags_and_entities_lose_the_facts_forgotten(chain: Memory) -> None:
    chain.forget(2)
    assert list(chain.tags()) == []
    assert [entity.facts for entity in chain.entities()] == [0]


def test_forgetting_does_not_end_edges(memory: Memory) -> None:
    memory.remember("Mara runs the farm", entity="Mara", links=[("runs", "Farm")])
    memory.forget(0)
    assert [(edge.src, edge.dst) for edge in memory.edges()] == [("Mara", "Farm")]


def test_many_are_forgotten_in_order(chain: Memory) -> None:
    assert chain.forget_many([3, 2, 3]) == [True, True, False]
    assert chain.forget_many([]) == []


@pytest.mark.parametrize("unknown", [99, 4])
def test_many_are_all_forgotten_or_none(chain: Memory, unknown: int) -> None:
    with pytest.raises(NotFoundError, match=str(unknown)):
        chain.forget_many([0, 3, unknown])
    assert [fact and fact.id for fact in chain.get_many([0, 3])] == [0, 3]
    assert chain.stats().forgotten == 0


def test_a_fact_outside_the_namespace_is_not_forgotten(memory: Memory) -> None:
    memory.remember("secret", namespace=("a", "b"))
    for namespace in (("b",), ("a", "b", "c"), ("a", "x")):
        with pytest.raises(NotFoundError):
            memory.forget(0, namespace=namespace)
    assert memory.forget(0, namespace=("a",)) is True


# --- reading by id ----------------------------------------------------------------------------


def test_get_returns_superseded_facts_too(chain: Memory) -> None:
    assert [stored(chain, i).text for i in range(3)] == [
        "nine degrees", "ten degrees", "eleven degrees",
    ]  # fmt: skip


def test_get_many_keeps_order_repeats_and_gaps(chain: Memory) -> None:
    found = chain.get_many([3, 99, 0, 3])
    assert [fact and fact.id for fact in found] == [3, None, 0, 3]
    assert chain.get_many(iter([1])) == [chain.get(1)]


def test_get_shows_facts_of_the_future(memory: Memory, clock: Clock) -> None:
    memory.remember("the lease begins", valid_from=clock.now + SECOND)
    assert stored(memory, 0).text == "the lease begins"


def test_an_expired_fact_is_gone_at_the_instant_it_expires(memory: Memory, clock: Clock) -> None:
    memory.remember("the kettle is on", ttl=1)
    clock.tick(999)
    assert stored(memory, 0).expires_at == clock.now + 1
    clock.tick(1)
    assert memory.get(0) is None
    assert memory.recall("kettle").facts == ()
    assert list(memory.list_facts()) == []


def test_get_looks_in_the_namespace(memory: Memory) -> None:
    memory.remember("secret", namespace=("a", "b"))
    visible = [(), ("a",), ("a", "b")]
    hidden = [("b",), ("a", "b", "c"), ("ab",), ("A", "b")]
    assert all(memory.get(0, namespace=namespace) for namespace in visible)
    assert not any(memory.get(0, namespace=namespace) for namespace in hidden)


# --- history ----------------------------------------------------------------------------------


@pytest.mark.parametrize("start", [0, 1, 2])
def test_history_is_the_whole_chain_from_anywhere(chain: Memory, start: int) -> None:
    history = chain.history(start)
    assert [fact.id for fact in history] == [0, 1, 2]
    assert len(history) == 3
    assert history[-1].text == "eleven degrees"


@pytest.mark.parametrize("target", [0, 1, 2])
@pytest.mark.parametrize("then", ["nothing", "maintain"])
def test_history_leaves_out_what_was_forgotten_and_keeps_the_rest(
    chain: Memory, target: int, then: str
) -> None:
    chain.forget(target)
    if then == "maintain":
        chain.maintain()
    rest = [fact_id for fact_id in (0, 1, 2) if fact_id != target]
    for start in rest:
        assert [fact.id for fact in chain.history(start)] == rest
    with pytest.raises(NotFoundError):
        chain.history(target)


def test_a_chain_stays_whole_when_several_links_are_purged(memory: Memory) -> None:
    memory.remember("version 0")
    for i in range(6):
        memory.revise(i, f"version {i + 1}")
    memory.forget_many([0, 2, 3, 5])
    memory.maintain()
    for start in (1, 4, 6):
        assert [fact.id for fact in memory.history(start)] == [1, 4, 6]
    assert [stored(memory, i).revises for i in (1, 4, 6)] == [None, 1, 4]
    assert memory.verify().ok
    memory.rebuild()
    assert [fact.id for fact in memory.history(1)] == [1, 4, 6]


def test_history_of_an_unknown_fact_is_not_found(chain: Memory) -> None:
    with pytest.raises(NotFoundError, match="99"):
        chain.history(99)


def test_history_of_a_single_fact_is_itself(chain: Memory) -> None:
    assert [fact.id for fact in chain.history(3)] == [3]


def test_a_history_that_goes_on_while_it_is_read_ends_with_what_holds(
    chain: Memory, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = chain._engine.store
    read = store.chain

    def interrupted(fact: int) -> list[int]:
        found = read(fact)
        monkeypatch.undo()
        chain.revise(2, "twelve degrees")
        return found

    monkeypatch.setattr(store, "chain", interrupted)
    history = chain.history(0)
    assert [fact.is_current for fact in history] == [False, False, False, True]


def test_chains_do_not_mix(memory: Memory) -> None:
    for text in ("a", "b"):
        memory.remember(text, key=text)
    memory.remember("a again", key="a")
    memory.remember("b again", key="b")
    assert [fact.text for fact in memory.history(0)] == ["a", "a again"]
    assert [fact.text for fact in memory.history(3)] == ["b", "b again"]


def test_after_the_newest_version_is_forgotten_the_older_ones_stay_closed(
    chain: Memory, clock: Clock
) -> None:
    chain.forget(2)
    assert chain.recall("degrees").facts == ()
    assert chain.remember("twelve degrees", key="h") == Receipt(4, "created")


@pytest.mark.parametrize("ids", [5, None, "12", b"12", {"a": 1}])
def test_ids_must_be_a_list(memory: Memory, ids: Any) -> None:
    for verb in (memory.get_many, memory.forget_many):
        with pytest.raises(InvalidInputError, match=r"ids is .*list of fact ids"):
            verb(ids)
