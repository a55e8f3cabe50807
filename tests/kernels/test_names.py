"""Names found in texts, and ids as rows hold them."""

import pytest

from plugmem_core.kernels import IdLists, NameFinder, mentions_in, names_in, put_mentions


def finder(*names: tuple[str, int, int]) -> NameFinder:
    made = NameFinder()
    for name in names:
        made.add(*name)
    return made


PEOPLE = finder(("ann", 0, 1), ("ann lee", 0, 2), ("lee park", 0, 3), ("bob's cafe", 0, 4))


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("Ann met Lee", [1]),
        ("Ann Lee Park", [2]),  # what a name has taken is no part of the next
        ("in Lee Park, Ann's tea", [3, 1]),
        ("Ann Lee's Lee Park", [2, 3]),
        ("at Bob's Cafe and Bob's cafe's door", [4]),
        ("ann, Ann and ANN", [1]),
        ("annlee leepark", []),
        ("ann’s café lee park", [1, 3]),  # tokens, since it is no ASCII
        ("", []),
    ],
)
def test_the_longest_name_at_each_place_is_found(text: str, found: list[int]) -> None:
    assert names_in([PEOPLE], text, None) == found


def test_of_several_finders_the_longest_name_counts_and_equal_ones_all() -> None:
    more = finder(("ann", 0, 7), ("ann lee park", 0, 8))
    assert names_in([PEOPLE, more], "ann lee", None) == [2]
    assert names_in([PEOPLE, more], "ann lee park", None) == [8]
    assert names_in([more, PEOPLE], "ann", None) == [7, 1]
    assert names_in([], "ann", None) == []


def test_only_visible_namespaces_count() -> None:
    names = finder(("ann", 2, 1), ("ann", 0, 2), ("ann lee", 1, 3), ("ann", 2, 4))
    assert names_in([names], "ann lee", bytes([1, 1, 1])) == [3]
    assert names_in([names], "ann lee", bytes([1, 0, 1])) == [2, 1, 4]
    assert names_in([names], "ann lee", bytes([1])) == [2]  # what the mask does not reach is hidden
    texts, spaces = ["ann lee"] * 4, [0, 1, 2, 3]
    assert mentions_in([names], texts, spaces, [9] * 4) == ["[2]", "[3]", "[1, 4]", None]


def test_mentions_are_ascending_and_without_the_texts_own() -> None:
    texts = ["Lee Park, Ann", "Ann", "nobody"]
    assert mentions_in([PEOPLE], texts, [0, 0, 0], [9, 1, 1]) == ["[1, 3]", None, None]
    with pytest.raises(ValueError, match="one namespace"):
        mentions_in([PEOPLE], texts, [0, 0], [9, 1, 1])


def test_a_name_is_counted_once_however_often_it_is_added() -> None:
    names = finder(("ann", 0, 1), ("ann", 0, 1), ("ann", 1, 2))
    assert len(names) == 1
    assert names_in([names], "ann", None) == [1, 2]


def test_many_names_are_all_found() -> None:
    many = finder(*((f"a{n % 7} b{n} c{n % 3}", 0, n) for n in range(5_000)))
    for n in range(0, 5_000, 37):
        assert names_in([many], f"x a{n % 7} b{n} c{n % 3} y", None) == [n]
        assert names_in([many], f"x a{n % 7} b{n} c{n % 3 + 1} y", None) == []


def test_a_row_replaces_what_the_row_before_it_said() -> None:
    entities, facts = IdLists(), IdLists()
    for ids in ("[1, 3]", "[3, 5]", "[3, 5]"):
        put_mentions(entities, facts, 7, ids, 9)
    assert entities.list(7) == [3, 5]
    assert [facts.list(entity) for entity in (1, 3, 5)] == [[], [7], [7]]
    assert facts.total() == 2
    put_mentions(entities, facts, 8, "[3, 9, 4000000000]", 9)  # no entity has the last two ids
    assert (entities.list(8), facts.list(3)) == ([3], [7, 8])
    put_mentions(entities, facts, 7, None, 9)
    assert (entities.list(7), facts.list(3), facts.total()) == ([], [8], 1)


@pytest.mark.parametrize(
    "text", ["", "[", "1", "[1", "[1,2]", "[1, ]", "[-1]", "[x]", "[1, 2", "[99999999999]", "[1]]"]
)
def test_what_is_no_row_of_ids_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="no ids"):
        put_mentions(IdLists(), IdLists(), 0, text, 9)
