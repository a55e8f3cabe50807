"""Text search of `PlugmemVectorStore`: words of any script, filters, and reopened files."""

from pathlib import Path

import pytest
from llama_index.core.vector_stores.types import VectorStoreQueryMode
from vector_nodes import EAST, ids, note, only, worded

from llama_index_plugmem import PlugmemVectorStore
from plugmem_core import Memory


@pytest.fixture
def store(memory: Memory) -> PlugmemVectorStore:
    return PlugmemVectorStore(memory)


NOTES = {
    "tea": "Mara prefers green tea",
    "barn": "The barn is red",
    "cpp": "The parser is written in C++ by Ines",
    "tokyo": "東京タワーは港区にある",
    "cafe": "Le café ouvre à neuf heures",
    "id": "Ticket id-42 is about error E4711",
}


@pytest.fixture
def notes(store: PlugmemVectorStore) -> PlugmemVectorStore:
    store.add([note(id_, text, EAST, source=id_) for id_, text in NOTES.items()])
    return store


@pytest.mark.parametrize("mode", [VectorStoreQueryMode.TEXT_SEARCH, VectorStoreQueryMode.SPARSE])
@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("green tea", ["tea"]),
        ("東京", ["tokyo"]),
        ("CAFE", ["cafe"]),
        ("42", ["id"]),
        ("E4711", ["id"]),
        ("C++ parser", ["cpp"]),
        ("nothing of that kind", []),
        ("", []),
        ("  \n", []),
        ("!?", []),
    ],
)
def test_words_are_found_in_any_script(
    notes: PlugmemVectorStore, mode: VectorStoreQueryMode, text: str, found: list[str]
) -> None:
    assert ids(notes, worded(text, mode=mode)) == found


def test_text_search_returns_all_that_matches_and_nothing_else(notes: PlugmemVectorStore) -> None:
    result = notes.query(worded("tea or the barn", 1000))
    assert set(result.ids or ()) == {"tea", "barn"}  # "or" and "the" are no words to look for
    assert all(0 < one <= 1 for one in result.similarities or ())
    assert result.similarities == sorted(result.similarities or (), reverse=True)


def test_text_search_never_leaks_what_a_filter_refuses(notes: PlugmemVectorStore) -> None:
    assert ids(notes, worded("tea barn", 5, filters=only("source", "barn"))) == ["barn"]
    assert ids(notes, worded("tea barn", 5, filters=only("source", "cafe"))) == []
    assert ids(notes, worded("tea barn", 5, filters=only("source", "unknown"))) == []
    assert ids(notes, worded("tea barn", 5, node_ids=["barn", "cafe"])) == ["barn"]


def test_text_search_in_an_empty_store_finds_nothing(store: PlugmemVectorStore) -> None:
    assert ids(store, worded("the")) == []


def test_a_reopened_file_ranks_the_same(tmp_path: Path) -> None:
    queries = ["tea in the barn", "東京", "café", "id-42 C++", "the parser is red"]
    answers = []
    for number in range(2):
        with PlugmemVectorStore.open(tmp_path / "a.plugmem") as store:
            if not number:
                store.add([note(id_, text, EAST) for id_, text in NOTES.items()])
            found = [store.query(worded(text)) for text in queries]
            answers.append([(one.ids, one.similarities) for one in found])
    assert answers[0] == answers[1]
    assert answers[0][1][0] == ["tokyo"]
