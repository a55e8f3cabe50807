"""The hash that names texts, in its golden values, one at a time and many at once."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from plugmem_core.text.fnv import fnv1a64, fnv1a64_many

GOLDEN = {
    "": "cbf29ce484222325",
    "a": "af63dc4c8601ec8c",
    "hello": "a430d84680aabd0b",
    "world": "4f59ff5e730c8af3",
    "tenant:acme": "434a088f8b775207",
    "café": "48e8823acfa40d89",
    "日本語": "ee9ee2b5c854ef87",
    "emoji:🚀": "5063383e8fb557fa",
    "mixed-Ünïcödé-42": "301947e70a3d8809",
    "fact:the sky is blue": "5ff16ac5c3bfe13b",
}


def in_python(data: bytes) -> int:
    value = 0xCBF29CE484222325
    for byte in data:
        value = ((value ^ byte) * 0x100000001B3) % 2**64
    return value


@pytest.mark.parametrize(("text", "expected"), GOLDEN.items())
def test_texts_have_their_known_hashes(text: str, expected: str) -> None:
    assert f"{fnv1a64(text):016x}" == expected
    assert fnv1a64(text.encode()) == fnv1a64(text)


def test_many_texts_have_their_known_hashes() -> None:
    hashes = fnv1a64_many(text.encode() for text in GOLDEN)
    assert [f"{value:016x}" for value in hashes] == list(GOLDEN.values())


@given(st.lists(st.binary(max_size=300)))
def test_hashing_many_is_hashing_each(data: list[bytes]) -> None:
    assert fnv1a64_many(data) == [in_python(one) for one in data]


@pytest.mark.parametrize("size", [65_535, 65_536, 65_537, 200_000])
def test_long_bytes_hash_as_short_ones_do(size: int) -> None:
    data = bytes(byte % 251 for byte in range(size))
    assert fnv1a64_many([b"x", data, b"", data]) == [
        in_python(b"x"),
        in_python(data),
        in_python(b""),
        in_python(data),
    ]
