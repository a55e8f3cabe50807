"""Mentions: which entities texts name, and what becomes of that."""

import asyncio
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest
from conftest import OpenMemory
from hypothesis import given
from hypothesis import strategies as st

from plugmem_core import ConfigError, Memory, MemoryConfig, NotFoundError


def know(memory: Memory, *names: str, **options: Any) -> None:
    """Make entities, with a fact about each that names nobody."""
    memory.remember_many(
        {"text": "…" + "x" * (n + 1), "entity": name} for n, name in enumerate(names)
    )


def mentioned(memory: Memory, text: str, **options: Any) -> set[str]:
    receipt = memory.remember(text, **options)
    return set(memory.mentions(receipt.id, namespace=options.get("namespace", ())))


NAMES = ("Mara", "Mara Lind", "New York", "York", "Ed Wood (film)", "Ed Wood (director)", "Kyōto")


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("mara was here", {"Mara"}),
        ("MARA’S dog met Mara's cat", {"Mara"}),
        ("Mara Lind moved to New York", {"Mara Lind", "New York"}),
        ("Mara, Lind and York", {"Mara Lind", "York"}),  # signs are no words
        ("new york city, new yorkers", {"New York"}),
        ("they watched Ed Wood", {"Ed Wood (film)", "Ed Wood (director)"}),
        ("they watched Ed Wood (film)", {"Ed Wood (film)"}),
        ("a train to Kyoto", {"Kyōto"}),
        ("ein Zug nach Kyōto – und zurück", {"Kyōto"}),
        ("marathon", set()),
    ],
)
def test_the_longest_name_at_each_place_is_mentioned(
    memory: Memory, text: str, names: set[str]
) -> None:
    know(memory, *NAMES)
    assert mentioned(memory, text) == names


def test_names_that_are_met_everywhere_do_not_count(memory: Memory) -> None:
    know(memory, "It", "May", "I", "1984", "It (novel)", "The Who", "C++")
    assert mentioned(memory, "it may be i, in 1984, said the who") == {"The Who"}
    assert mentioned(memory, "written in C++") == {"C++"}


def test_a_fact_does_not_mention_what_it_is_about(memory: Memory) -> None:
    assert mentioned(memory, "Mara likes Mara", entity="Mara") == set()


def test_aliases_count(memory: Memory) -> None:
    know(memory, "Mara")
    memory.alias_entity("Mara", "the gardener")
    assert mentioned(memory, "ask the gardener") == {"Mara"}


def test_all_names_of_a_batch_are_known_to_its_texts(memory: Memory) -> None:
    receipts = memory.remember_many(
        [
            {"text": "Ivo married Mara", "entity": "Ivo"},
            {"text": "Mara was born in Bern", "entity": "Mara", "links": [("in", "Bern")]},
        ]
    )
    assert [memory.mentions(one.id) for one in receipts] == [("Mara",), ("Bern",)]


def test_names_of_other_namespaces_are_none(memory: Memory) -> None:
    know(memory, "Mara")
    memory.remember("b", entity="Ivo", namespace=("a", "b"))
    assert mentioned(memory, "Mara and Ivo", namespace=("a",)) == set()
    assert mentioned(memory, "Mara and Ivo", namespace=("a", "b")) == {"Ivo"}


def test_a_revision_has_the_mentions_of_its_own_text(memory: Memory) -> None:
    know(memory, "Mara", "Ivo")
    first = memory.remember("Mara called")
    second = memory.revise(first.id, "Ivo called")
    assert (memory.mentions(first.id), memory.mentions(second.id)) == (("Mara",), ("Ivo",))


def test_a_later_entity_is_found_when_texts_are_looked_at_again(memory: Memory) -> None:
    told: list[tuple[int, int | None]] = []
    memory.remember_many({"text": f"letter {n} from Mara"} for n in range(1_500))
    know(memory, "Mara")
    assert memory.mentions(0) == ()
    found = memory.find_mentions(progress=lambda done, total: told.append((done, total)))
    assert (found, memory.mentions(0), told[-1]) == (1_500, ("Mara",), (1_501, 1_501))
    assert memory.find_mentions() == 0
    assert memory.verify().ok


def test_facts_are_listed_by_what_they_mention(memory: Memory) -> None:
    know(memory, "Mara", "Ivo")
    memory.remember("Mara and Ivo", tags=["both"])
    memory.remember("Mara alone")

    def texts(**options: Any) -> list[str]:
        return [fact.text for fact in memory.list_facts(**options)]

    assert texts(mentions="MARA") == ["Mara and Ivo", "Mara alone"]
    assert texts(mentions="Mara", tags=["both"]) == ["Mara and Ivo"]
    assert texts(mentions="nobody") == []
    assert texts(mentions="Mara", entity="Ivo") == []


def test_merged_entities_are_mentioned_as_one(memory: Memory) -> None:
    know(memory, "Mara", "Mrs Lind", "Ivo")
    receipt = memory.remember("Mara, also called Mrs Lind, met Ivo")
    memory.merge_entities("Mrs Lind", "Mara")
    assert set(memory.mentions(receipt.id)) == {"Mara", "Ivo"}
    assert memory.verify().ok
    memory.rename_entity("Ivo", "Ivan")
    assert set(memory.mentions(receipt.id)) == {"Mara", "Ivan"}


def test_names_count_as_they_are_when_the_transaction_ends(memory: Memory) -> None:
    know(memory, "Mara", "Mrs Lind", "Ivo (actor)")
    assert mentioned(memory, "Mrs Lind and Ivo") == {"Mrs Lind", "Ivo (actor)"}
    memory.merge_entities("Mrs Lind", "Mara")
    assert mentioned(memory, "Mrs Lind called") == {"Mara"}
    with memory.transaction():
        first = memory.remember("Ivo called Ivan, Mara called Mrs Lind")
        memory.rename_entity("Ivo (actor)", "Ivan")
        memory.merge_entities("Mara", "Ivan")
        second = memory.remember("Ivo called")
    assert memory.mentions(first.id) == ("Ivan",)
    assert memory.mentions(second.id) == ()
    assert memory.verify().ok


def test_a_name_of_64_words_is_met_and_a_longer_one_is_not(memory: Memory) -> None:
    know(memory, "long " * 63 + "name", "very long " * 32 + "name")
    text = "very long " * 32 + "name, " + "long " * 63 + "name"
    assert mentioned(memory, text) == {"long " * 63 + "name"}


def test_what_was_about_one_of_two_merged_does_not_mention_the_other(memory: Memory) -> None:
    know(memory, "Mara", "Mrs Lind")
    one = memory.remember("Mara sings", entity="Mrs Lind")
    other = memory.remember("Mrs Lind sings", entity="Mara")
    memory.merge_entities("Mrs Lind", "Mara")
    assert memory.mentions(one.id) == memory.mentions(other.id) == ()
    assert memory.find_mentions() == 0


def test_mentions_are_counted_and_go_with_their_facts(memory: Memory) -> None:
    know(memory, "Mara", "Ivo")
    receipts = memory.remember_many([{"text": "Mara and Ivo"}, {"text": "Mara alone"}])
    assert memory.stats().mentions == 3
    memory.forget(receipts[0].id)
    assert memory.list_facts(mentions="Ivo").facts == ()
    memory.maintain()
    assert memory.stats().mentions == 1
    memory.erase(ids=[receipts[1].id])
    assert memory.stats().mentions == 0


def test_a_mention_keeps_no_entity(memory: Memory) -> None:
    about = memory.remember("sings", entity="Mara")
    receipt = memory.remember("a letter from Mara")
    memory.erase(ids=[about.id])
    assert memory.mentions(receipt.id) == ()
    assert [entity.name for entity in memory.entities()] == []


def test_text_that_is_not_committed_leaves_nothing(memory: Memory) -> None:
    know(memory, "Zoë", "Mara")

    def fail() -> None:
        with memory.transaction():
            memory.remember("Zoë wrote to Mara")
            raise KeyError

    with pytest.raises(KeyError):
        fail()
    receipt = memory.remember("Zoë wrote to Mara")
    assert set(memory.mentions(receipt.id)) == {"Zoë", "Mara"}
    assert [fact.id for fact in memory.recall("wrote", sources=["bm25"])] == [receipt.id]


def test_an_erased_entity_is_mentioned_no_more(open_memory: OpenMemory, tmp_path: Path) -> None:
    memory = open_memory(tmp_path / "m.db")
    know(memory, "Mara", "Ivo")
    receipt = memory.remember("Mara met Ivo")
    memory.erase(entity="Mara")
    assert memory.mentions(receipt.id) == ("Ivo",)
    know(memory, "Zoe")
    assert memory.mentions(receipt.id) == ("Ivo",)
    assert memory.find_mentions() == 0
    assert memory.verify().ok
    memory.close()
    assert open_memory(tmp_path / "m.db").mentions(receipt.id) == ("Ivo",)


@pytest.mark.parametrize("checkpoint", [True, False])
def test_mentions_are_there_after_opening_again(
    open_memory: OpenMemory, tmp_path: Path, checkpoint: bool
) -> None:
    path = tmp_path / "m.db"
    memory = open_memory(path)
    know(memory, "Mara")
    receipt = memory.remember("Mara called")
    other = open_memory(path)
    assert other.mentions(receipt.id) == ("Mara",)
    memory.close()
    if not checkpoint:
        (tmp_path / "m.db-index").unlink()
    again = open_memory(path)
    assert again.mentions(receipt.id) == ("Mara",)
    assert again.remember("Mara wrote").outcome == "created"
    assert again.mentions(receipt.id + 1) == ("Mara",)


def test_an_import_finds_mentions_anew(open_memory: OpenMemory, tmp_path: Path) -> None:
    memory = open_memory()
    receipt = memory.remember("Ivo met Mara", entity="Ivo", links=[("met", "Mara")])
    for name in ("one.jsonl", "two.jsonl"):
        memory.export_jsonl(tmp_path / name)
        memory = open_memory()
        memory.import_jsonl(tmp_path / name)
        assert memory.mentions(receipt.id) == ("Mara",)
    assert (tmp_path / "one.jsonl").read_bytes() == (tmp_path / "two.jsonl").read_bytes()


def test_nothing_is_noted_where_it_is_switched_off(open_memory: OpenMemory) -> None:
    memory = open_memory(config=MemoryConfig(mentions=False))
    know(memory, "Mara")
    assert mentioned(memory, "Mara called") == set()
    with pytest.raises(ConfigError, match="mentions is False"):
        memory.find_mentions()


def test_a_fact_that_is_not_here_is_not_found(memory: Memory) -> None:
    receipt = memory.remember("Mara called", namespace=("a",))
    with pytest.raises(NotFoundError):
        memory.mentions(receipt.id, namespace=("b",))
    memory.forget(receipt.id)
    with pytest.raises(NotFoundError):
        memory.mentions(receipt.id)


def test_the_twins_answer_the_same(memory: Memory) -> None:
    receipt = memory.remember("Mara called")
    know(memory, "Mara")
    assert asyncio.run(memory.afind_mentions()) == 1
    assert asyncio.run(memory.amentions(receipt.id)) == ("Mara",)


WORDS = ("a1", "b1", "c1")
titles = st.lists(st.lists(st.sampled_from(WORDS), min_size=1, max_size=3), max_size=5)


def naive(text: list[str], names: Iterable[tuple[str, ...]]) -> set[str]:
    found, at = set(), 0
    while at < len(text):
        here = [name for name in names if tuple(text[at : at + len(name)]) == name]
        longest = max(here, key=len, default=())
        if longest:
            found.add(" ".join(longest))
        at += max(1, len(longest))
    return found


@given(titles, st.lists(st.sampled_from((*WORDS, "d1")), min_size=1, max_size=8))
def test_mentions_are_those_of_a_plain_search(names: list[list[str]], text: list[str]) -> None:
    with Memory.open(":memory:") as memory:
        know(memory, *(" ".join(name) for name in names))
        assert mentioned(memory, " ".join(text)) == naive(text, {tuple(name) for name in names})


# -- in the ranking


def test_what_the_best_facts_mention_is_lifted(open_memory: OpenMemory) -> None:
    memory = open_memory(config=MemoryConfig(ranking="tuned", w_recency=0.0))
    memory.remember_many(
        [
            {"text": "The film was directed by Xaver Zulu", "entity": "Polish War (film)"},
            {"text": "a son of Mara Braun", "entity": "Xaver Zulu"},
            *({"text": f"nothing of this {n}", "entity": f"Other {n}"} for n in range(30)),
        ]
    )
    found = memory.recall("Who is the mother of the director of Polish War?", explain=True)
    assert [fact.id for fact in found][:2] == [0, 1]
    assert found.explanation is not None
    [link] = [one for one in found.explanation[1].evidence if one.source == "link"]
    assert 0 < link.contribution <= 0.85 * found.facts[0].score
    off = open_memory(config=MemoryConfig(ranking="tuned", link_boost=0.0))
    off.remember("The film was directed by Xaver Zulu", entity="Polish War")
    off.remember("sings", entity="Xaver Zulu")
    assert [fact.id for fact in off.recall("who directed the film Polish War?")] == [0]
