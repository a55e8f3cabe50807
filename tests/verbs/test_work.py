"""What verbs look at and write is bounded, whatever machine they run on: counts, not times."""

import threading
from pathlib import Path

import pytest
from clocks import START, Clock
from conftest import OpenMemory

from plugmem_core import Memory, MemoryConfig, Work

FACTS = 3_000
RARE = 5  # facts with the tag "few"


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
