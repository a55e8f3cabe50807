"""Ids are hashes that anybody can work out, and reserved keys cannot be forged."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from plugmem_core import InvalidInputError, WrongTypeError
from plugmem_core.service import edge_id, entity_id, memory_id
from plugmem_core.service.identity import check_memory_id, is_reserved


def fnv(data: bytes) -> int:
    value = 14695981039346656037
    for byte in data:
        value = ((value ^ byte) * 1099511628211) % 2**64
    return value


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", "cbf29ce484222325"),
        ("a", "af63dc4c8601ec8c"),
        ("hello", "a430d84680aabd0b"),
        ("world", "4f59ff5e730c8af3"),
        ("tenant:acme", "434a088f8b775207"),
        ("café", "48e8823acfa40d89"),
        ("日本語", "ee9ee2b5c854ef87"),
        ("emoji:🚀", "5063383e8fb557fa"),
        ("mixed-Ünïcödé-42", "301947e70a3d8809"),
        ("fact:the sky is blue", "5ff16ac5c3bfe13b"),
    ],
)
def test_the_id_of_a_memory_is_the_hash_of_its_text(text: str, expected: str) -> None:
    assert f"{memory_id(text):016x}" == expected
    assert f"{memory_id(f'  {text} ' + chr(0x2003)):016x}" == expected


@pytest.mark.parametrize("other", ["Hello", "hel lo", "hello!", "he\u0301llo"])
def test_case_inner_space_and_form_tell_memories_apart(other: str) -> None:
    assert memory_id(other) != memory_id("hello")


@given(st.text(st.characters(exclude_categories=["Cs"])))
def test_any_text_has_the_id_that_the_definition_gives(text: str) -> None:
    assert memory_id(text) == fnv(text.strip().encode())


def test_the_id_of_an_entity_is_salted_with_what_no_memory_may_contain() -> None:
    assert entity_id(" Ada Lovelace ") == fnv(b"\0_plugmem_entity_hub\0ada lovelace")


def test_the_id_of_an_edge_is_the_hash_of_both_ends_and_the_label() -> None:
    ends = bytes([1, 0, 0, 0, 0, 0, 0, 0]) + bytes([0] * 7 + [128])
    assert edge_id(1, 2**63, "über") == fnv(ends + "über".encode())


@pytest.mark.parametrize(
    ("given_id", "number"),
    [(0, 0), (2**64 - 1, 2**64 - 1), ("42", 42), (" 42\n", 42), ("+42", 42), ("0042", 42)],
)
def test_an_id_may_be_an_integer_or_its_digits(given_id: int | str, number: int) -> None:
    assert check_memory_id(given_id, "id") == number


@pytest.mark.parametrize(
    "odd",
    [
        *(-1, 2**64, "-1", "", " ", "4 2", "0x2a", "4.0", "1e3", "٤٢", "４２", "++1", "1_000"),
        *("9" * 99, str(2**64), "42\0", "nan"),
    ],
)
def test_what_is_no_id_is_refused(odd: int | str) -> None:
    with pytest.raises(InvalidInputError, match="give an id"):
        check_memory_id(odd, "id")


@pytest.mark.parametrize("odd", [None, 1.0, True, b"1", [1]])
def test_an_id_of_another_type_is_refused(odd: object) -> None:
    with pytest.raises(WrongTypeError, match="give the integer"):
        check_memory_id(odd, "id")


@pytest.mark.parametrize(
    ("key", "reserved"),
    [
        ("content", True),
        ("_plugmem_", True),
        ("_plugmem_entity_hub", True),
        ("_plugmem_date_", True),
        ("_plugmem_date", False),
        ("Content", False),
        ("plugmem", False),
        ("_PLUGMEM_x", False),
    ],
)
def test_which_keys_are_reserved(key: str, reserved: bool) -> None:
    assert is_reserved(key) is reserved
