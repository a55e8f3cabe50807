"""Names that lead to entities, and the sets that tags allow."""

from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from plugmem_core.index.names import EntityNames
from plugmem_core.index.spaces import Namespaces
from plugmem_core.index.tags import TagIndex
from plugmem_core.kernels import OPEN, FactTable, Scope
from plugmem_core.store import AliasRow, EntityRow, NamespaceRow


def names_of(*rows: tuple[str, int], aliases: Sequence[tuple[str, int, int]] = ()) -> EntityNames:
    names = EntityNames()
    entities = [
        EntityRow(number, namespace, key, key, seen=number, change=1)
        for number, (key, namespace) in enumerate(rows)
    ]
    assert names.update(
        entities, [AliasRow(space, key, key, entity, 1) for key, space, entity in aliases]
    )
    return names


def mentions(names: EntityNames, text: str) -> list[int]:
    return names.mentions(text.split(), None)


def test_the_longest_name_is_mentioned_and_its_parts_are_not() -> None:
    names = names_of(("new york", 0), ("york", 0), ("new york city", 0), ("city", 0))
    assert mentions(names, "i love new york city") == [2]
    assert mentions(names, "i love new york") == [0]
    assert mentions(names, "new city in york") == [3, 1]
    assert mentions(names, "new york york") == [0, 1]
    assert names.mentions([], None) == []


def test_a_name_that_only_begins_like_a_longer_one_is_found() -> None:
    names = names_of(("john smith senior", 0), ("john", 0))
    assert mentions(names, "john smith junior") == [1]


def test_a_name_in_the_genitive_is_a_mention() -> None:
    names = EntityNames()
    names.update(
        [EntityRow(at, 0, key, key, 0, 0) for at, key in enumerate(["mara", "ada king", "o's"])], []
    )
    assert mentions(names, "where does mara's sister work") == [0]
    assert mentions(names, "ada king’s house") == [1]
    assert mentions(names, "ada's king") == []
    assert mentions(names, "o's cup and o's's cup") == [2, 2]


def test_mentions_are_found_in_the_visible_namespaces_only() -> None:
    names = names_of(("ann lee", 1), ("ann", 2), ("ann", 1))
    assert names.mentions(["ann", "lee"], bytes([1, 1, 1])) == [0]
    # Where the longer name is out of sight, the shorter one is mentioned.
    assert names.mentions(["ann", "lee"], bytes([0, 0, 1])) == [1]
    assert names.mentions(["ann"], bytes([0, 1, 1])) == [1, 2]
    assert names.mentions(["ann"], bytes([1, 0, 0])) == []


def test_aliases_lead_to_their_entity() -> None:
    names = names_of(("jonathan ames", 0), aliases=[("jon", 0, 0), ("big j", 0, 0)])
    assert names.resolve("jon", None) == [0]
    assert mentions(names, "ask big j") == [0]
    assert (names.find("jon", 0), names.find("jon", 1), names.find("ames", 0)) == (0, None, None)


def test_a_row_of_a_known_entity_asks_for_all_names_anew() -> None:
    names = names_of(("old name", 0))
    assert not names.update([EntityRow(0, 0, "new name", "New Name", 0, 2)], [])


# -- namespaces


def test_a_scope_sees_itself_and_what_lies_below_by_whole_labels() -> None:
    spaces = Namespaces()
    paths = ["[]", '["a"]', '["a","b"]', '["ab"]', '["b","a"]']
    spaces.update(NamespaceRow(number, path) for number, path in enumerate(paths))
    assert spaces.mask(()) is None
    assert spaces.mask(("a",)) == bytes([0, 1, 1, 0, 0])
    assert spaces.mask(("a", "b")) == bytes([0, 0, 1, 0, 0])
    assert spaces.mask(("b",)) == bytes([0, 0, 0, 0, 1])
    assert spaces.mask(("c",)) == bytes(5)
    spaces.update([NamespaceRow(5, '["c"]')])
    assert spaces.mask(("c",)) == bytes([0, 0, 0, 0, 0, 1])
    assert (spaces.find('["ab"]'), spaces.find('["zz"]'), spaces.paths[2]) == (3, None, ("a", "b"))


# -- tags

tag_sets = st.lists(st.sets(st.sampled_from("abcd")), max_size=70)
conditions = st.lists(st.sampled_from("abcdz"), max_size=3)


@given(tag_sets, conditions, conditions, conditions)
def test_allowed_facts_have_every_some_and_none_of_the_tags(
    facts: list[set[str]], every: list[str], some: list[str], none: list[str]
) -> None:
    index = TagIndex()
    for fact, tags in enumerate(facts):
        index.add(fact, sorted(tags))
    expected = [
        fact
        for fact, tags in enumerate(facts)
        if tags >= set(every) and (not some or tags & set(some)) and not tags & set(none)
    ]
    allowed = index.allowed(every, some, none, len(facts))
    assert allowed.ids() == expected
    assert allowed.count() == len(expected)


def test_tags_are_counted_over_admitted_facts_by_prefix() -> None:
    index, facts = TagIndex(), FactTable()
    for fact, tags in enumerate([["tea", "team"], ["tea"], ["Tea"], ["team"]]):
        index.add(fact, tags)
        forgotten = fact == 3
        facts.put(fact, 0, 0, 0, 0, OPEN, OPEN, OPEN, 0, forgotten)
    view = Scope(valid_at=0, known_at=OPEN, expired_by=0, closed=False, unknown_closings=False)
    assert index.counts("te", facts, view) == [("tea", 2), ("team", 1)]
    assert index.counts("", facts, view) == [("Tea", 1), ("tea", 2), ("team", 1)]
    assert index.counts("x", facts, view) == []
    assert index.facts_of("team") == [0, 3]
    assert index.facts_of("unknown") == []


@pytest.mark.parametrize("again", [1, 3])
def test_indexing_a_fact_again_changes_nothing(again: int) -> None:
    index = TagIndex()
    for _ in range(again):
        index.add(5, ["a", "b"])
    assert index.facts_of("a") == [5]
