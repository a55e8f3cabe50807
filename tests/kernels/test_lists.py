import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from strategies import texts

from plugmem_core.kernels import Dictionary, IdLists, IdSet

from .tables import ALL, facts, scope


@settings(deadline=None)
@given(st.lists(texts()))
def test_a_dictionary_numbers_distinct_strings_in_order(strings: list[str]) -> None:
    dictionary = Dictionary()
    distinct = list(dict.fromkeys(strings))
    assert [dictionary.intern(text) for text in strings] == [distinct.index(t) for t in strings]
    assert [dictionary.find(text) for text in distinct] == list(range(len(distinct)))
    assert [dictionary.name(number) for number in range(len(distinct))] == distinct
    assert len(dictionary) == len(distinct)


def test_a_dictionary_grows_past_its_first_table() -> None:
    dictionary = Dictionary()
    strings = [f"{number:07}" * (number % 3) + str(number) for number in range(5_000)]
    assert [dictionary.intern(text) for text in strings] == list(range(5_000))
    assert [dictionary.find(text) for text in strings] == list(range(5_000))
    assert dictionary.find("5000") is None


def test_strings_that_differ_in_one_byte_anywhere_are_told_apart() -> None:
    dictionary = Dictionary()
    base = "x" * 40
    strings = [base, *(base[:at] + "y" + base[at + 1 :] for at in range(40)), base[:-1], ""]
    assert [dictionary.intern(text) for text in strings] == list(range(len(strings)))


def test_an_unknown_string_has_no_number_and_an_unknown_number_no_name() -> None:
    dictionary = Dictionary()
    assert dictionary.find("") is None
    with pytest.raises(IndexError):
        dictionary.name(0)
    dictionary.intern("a")
    with pytest.raises(IndexError):
        dictionary.name(1)


changes = st.lists(
    st.tuples(st.booleans(), st.integers(0, 3), st.integers(0, 12)),  # add or remove, key, fact
    max_size=40,
)


@given(changes)
def test_lists_are_sorted_sets(steps: list[tuple[bool, int, int]]) -> None:
    lists = IdLists()
    model: dict[int, set[int]] = {}
    for add, key, fact in steps:
        if add:
            lists.add(key, fact)
            model.setdefault(key, set()).add(fact)
        else:
            lists.remove(key, fact)
            model.get(key, set()).discard(fact)
    for key in range(5):
        expected = sorted(model.get(key, ()))
        assert lists.list(key) == expected
        for count in (0, 1, 2, 50):
            before = [fact for fact in expected if fact < 7]
            assert lists.last(key, count, 7) == before[len(before) - min(count, len(before)) :]
    assert len(lists) == max(model, default=-1) + 1


def test_counting_and_collecting_a_list() -> None:
    lists = IdLists()
    for fact in (1, 3, 64, 90):
        lists.add(2, fact)
    table = facts([1, 3, 64])
    assert lists.count(2, table, ALL) == 3
    assert lists.count(2, table, scope(valid_at=-1)) == 0
    assert lists.count(9, table, ALL) == 0
    into = IdSet(70)
    lists.collect(2, into)
    lists.collect(9, into)
    assert into.ids() == [1, 3, 64]  # 90 is beyond the set


def test_facts_that_are_no_longer_stored_leave_every_list() -> None:
    lists = IdLists()
    for key, fact in [(0, 1), (0, 2), (1, 2), (3, 5)]:
        lists.add(key, fact)
    lists.remove_facts(facts([1, 5]))
    assert [lists.list(key) for key in range(4)] == [[1], [], [], [5]]
