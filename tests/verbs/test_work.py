"""What verbs look at and write is bounded, whatever machine they run on: counts, not times."""

import threading
from pathlib import Path

import pytest
from clocks import START, Clock
from conftest import OpenMemory

from plugmem_core import Memory, MemoryConfig, Work

FACTS = 3_000
RARE = 5  # facts with the tag "few"
WRITTEN = (0x4E00, 50), (0x5E00, 60)  # two rows of Han characters


def shelf(memory: Memory, *, vectors: bool = False) -> None:
    """Fill a memory with facts that share a word, five of them tagged."""
    memory.remember_many(
        {
            "text": f"tea number{number}",
            "tags": ["few"] if number % (FACTS // RARE) == 0 else [],
            **({"vector": [1.0, number / FACTS]} if vectors else {}),
        }
        for number in range(FACTS)
    )


@pytest.mark.reference
def test_a_term_of_every_fact_is_gone_through_once(open_memory: OpenMemory) -> None:
    memory = open_memory()
    shelf(memory)
    with memory.counting() as work:
        memory.recall("tea")
    assert work.postings == FACTS


@pytest.mark.reference
def test_a_filter_that_keeps_few_facts_looks_up_those_alone(open_memory: OpenMemory) -> None:
    memory = open_memory()
    shelf(memory)
    with memory.counting() as work:
        assert len(memory.recall("tea", tags=["few"])) == RARE
    assert work.postings == RARE


def test_frequent_words_are_looked_up_for_the_contenders_alone(open_memory: OpenMemory) -> None:
    # Two words, of which one alone decides: after the first stretch of 4,096 documents, the
    # other one's 10,000 postings can bring nothing up.
    memory = open_memory()
    memory.remember_many(
        {"text": f"tea number{number}" + (" jasmine" if number < 40 else "")}
        for number in range(10_000)
    )
    with memory.counting() as work:
        memory.recall("jasmine tea")
    assert work.postings < 40 + 4_096 + 1_000


def test_a_long_question_costs_what_its_first_1024_different_words_do(
    open_memory: OpenMemory,
) -> None:
    memory = open_memory()
    shelf(memory)
    words = [f"number{number}" for number in range(FACTS)]
    with memory.counting() as short:
        found = memory.recall(" ".join(words[:1_024]))
    rest = " ".join(words[1_024:])
    with memory.counting() as long:
        same = memory.recall((" ".join(words[:1_024]) + " " + 100 * f"{rest} ")[:1_048_576])
    assert [fact.id for fact in same.facts] == [fact.id for fact in found.facts]
    assert long.postings == short.postings > 1_000


def test_repeats_do_not_count_towards_the_words_of_a_question(open_memory: OpenMemory) -> None:
    memory = open_memory()
    shelf(memory)
    others = [f"word{number}" for number in range(1_022)]
    asked = " ".join(["tea"] * 9 + others)
    assert memory.recall(f"{asked} number7", sources=["bm25"]).facts[0].id == 7
    assert memory.recall(f"{asked} other number7", sources=["bm25"]).facts[0].id != 7


def test_lone_characters_are_looked_up_until_there_are_enough_words(
    open_memory: OpenMemory,
) -> None:
    # Each of 50 characters stands in 60 words of two, and each word in one text.
    memory = open_memory()
    heads, tails = [[chr(first + i) for i in range(count)] for first, count in WRITTEN]
    memory.remember_many({"text": head + tail} for head in heads for tail in tails)
    with memory.counting() as few:
        memory.recall(" ".join(heads[:18]))
    with memory.counting() as many:
        memory.recall(" ".join(heads * 500))
    assert few.postings == many.postings > 18 * len(tails)
    assert len(memory.recall(heads[-1], k=100, token_budget=None).facts) == len(tails)


@pytest.mark.reference
def test_a_vector_is_compared_with_each_admitted_fact(open_memory: OpenMemory) -> None:
    memory = open_memory(dim=2)
    shelf(memory, vectors=True)
    with memory.counting() as work:
        memory.recall(vector=[1.0, 0.0])
    assert work.distances == FACTS
    with memory.counting() as work:
        assert len(memory.recall(vector=[1.0, 0.0], tags=["few"])) == RARE
    assert work.distances == RARE


def test_the_graph_of_vectors_leaves_most_of_them_alone(open_memory: OpenMemory) -> None:
    memory = open_memory(dim=2, config=MemoryConfig(flat_to_hnsw=FACTS))
    shelf(memory, vectors=True)
    memory.maintain()
    with memory.counting() as work:
        memory.recall(vector=[1.0, 0.0])
    assert work.distances <= 128


@pytest.mark.reference
def test_the_walk_from_a_hub_ends_when_it_has_seen_enough(open_memory: OpenMemory) -> None:
    memory = open_memory()
    memory.remember_many(
        {"text": f"visit {number}", "entity": "hub", "links": [("sees", f"guest{number}")]}
        for number in range(FACTS)
    )
    with memory.counting() as work:
        result = memory.recall(entities=["hub"])
    assert len(result.edges) == 128
    assert work.edges == 128
    assert work.facts <= 2 * 256  # about the hub, until the candidates are enough


def test_the_newest_are_found_without_looking_at_others(open_memory: OpenMemory) -> None:
    memory = open_memory()
    shelf(memory)
    with memory.counting() as work:
        assert len(memory.recall(range=(0, START + 1_000))) == 8
    assert work.facts <= 128


def test_facts_shown_lately_are_not_read_from_the_file_again(
    open_memory: OpenMemory, tmp_path: Path
) -> None:
    memory = open_memory(tmp_path / "memory.db")
    shelf(memory)
    with memory.counting() as first:
        memory.recall("tea")
    with memory.counting() as second:
        memory.recall("tea")
    assert (first.rows, second.rows) == (8, 0)


def test_a_single_write_adds_a_few_pages_to_a_large_file(
    open_memory: OpenMemory, tmp_path: Path
) -> None:
    memory = open_memory(tmp_path / "memory.db")
    shelf(memory)
    with memory.counting() as work:
        memory.remember("one more", entity="Mara", tags=["late"])
    assert 0 < work.bytes <= 40 * 4_096


def test_other_threads_do_not_count(open_memory: OpenMemory) -> None:
    memory = open_memory()
    shelf(memory)
    with memory.counting() as work:
        other = threading.Thread(target=memory.recall, args=("tea",))
        other.start()
        other.join()
    assert work == Work()


@pytest.mark.reference
def test_what_was_done_before_an_error_counts(open_memory: OpenMemory, clock: Clock) -> None:
    memory = open_memory()
    shelf(memory)
    counted = Work()
    try:
        with memory.counting() as counted:
            memory.recall("tea")
            raise LookupError
    except LookupError:
        clock.now += 1
    assert counted.postings == FACTS


def test_statements_of_a_bulk_write_do_not_grow_with_its_facts(open_memory: OpenMemory) -> None:
    memory = open_memory()
    statements: list[str] = []
    facts = [
        {
            "text": f"tea number{number}",
            "entity": f"Shelf {number % 40}",
            "tags": ["tea"],
            "links": [("next to", f"Shelf {(number + 1) % 40}")],
            **({"key": f"tea-{number}"} if number % 2 else {}),
        }
        for number in range(3_000)
    ]
    memory.remember_many(facts[:1_000])  # what is there is asked for, too
    memory._engine.store._writer.set_trace_callback(
        lambda statement: statements.append(statement.partition(" ")[0])
    )
    memory.remember_many(facts[1_000:])
    asked = [kind for kind in statements if kind not in ("INSERT", "UPDATE")]  # one a row
    assert len(asked) < 60
