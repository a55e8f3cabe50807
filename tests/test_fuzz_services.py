"""Whatever a service, a compiler or an extractor is given, it answers or raises a typed error.

Few inputs are tried by default, the same each time; `make fuzz` tries many.
"""

import json
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from fuzzing import answered_or_refused, anything_written, atoms, few, nested, spoilt
from hypothesis import example, given
from hypothesis import strategies as st

from plugmem_core.extraction import Graph, OutlineExtractor
from plugmem_core.extraction.replies import GraphReply, read_reply
from plugmem_core.service import MemoryService, ServiceConfig


@pytest.fixture(scope="module")
def service() -> Iterator[MemoryService]:
    with MemoryService.open(":memory:") as service:
        yield service


modes = st.sampled_from(["fused", "vector"])
limits = {
    name: {str: modes, bool: st.booleans(), int: st.integers(1, 9)}.get(
        type(limit.default), st.floats(0, 1)
    )
    for name, limit in ServiceConfig.model_fields.items()
}


@few
@given(spoilt(st.fixed_dictionaries({}, optional=limits)))
@example({"no limit": 1})
@example({"hops": 0, "max_hops": 0, "max_nodes": 1, "max_edges": 1})
def test_limits_of_a_service(limits: dict[str, Any]) -> None:
    with (
        answered_or_refused(),
        MemoryService.open(":memory:", config=ServiceConfig(**limits)) as service,
    ):
        calls: list[Callable[[], object]] = [
            lambda: service.remember("a"),
            lambda: service.remember("b", links=[(service.remember("a"), "because")]),
            lambda: service.recall("a"),
            lambda: service.recall_fused("a b"),
            lambda: service.why("b"),
            lambda: service.list_memories(),
            service.memory_status,
        ]
        for call in calls:
            with answered_or_refused():
                call()


@few
@given(nested, nested, nested, nested)
def test_verbs_of_a_service(
    service: MemoryService, one: Any, other: Any, third: Any, fourth: Any
) -> None:
    calls: list[Callable[[], object]] = [
        lambda: service.remember(one, links=other, metadata=third, ttl=fourth),
        lambda: service.remember("the garden", links=other, metadata=third, ttl=fourth),
        lambda: service.remember_many(one),
        lambda: service.remember_extracted(one),
        lambda: service.relate(one, other, third),
        lambda: service.unrelate(one, other, third),
        lambda: service.forget(one),
        lambda: service.feedback(one, other),
        lambda: service.recall(one, other, third, mode=fourth),
        lambda: service.recall("garden", other, third, min_score=fourth),
        lambda: service.recall_where("garden", other, third),
        lambda: service.recall_fused("garden", k=other, pool=third, hops=fourth),
        lambda: service.recall_fused("garden", seeds=one, direction=other, graph_boost=third),
        lambda: service.why("garden", one, other, seeds=third, direction=fourth),
        lambda: service.list_memories(one, other, third),
        lambda: service.context_savings(one),
        lambda: service.suggest_budget(one, other),
        lambda: service.save_working_context(one, other, third),
        lambda: service.load_working_context(one, other),
        lambda: service.delete_working_context(one, other),
        lambda: service.purge_savings(older_than=one, project=other),
        lambda: service.purge_sources(older_than=one, project=other),
    ]
    for call in calls:
        with answered_or_refused():
            call()


texts = st.one_of(
    anything_written,
    st.lists(
        st.sampled_from(
            ["2026-01-01 12:00:00 ERROR disk full\n", "```py\nx = 1\n```\n", "Never do it. ",
             "https://a.example/b?c ", "User: hello\n", '{"role": "user", "content": "x"}\n']
        )
    ).map("".join),
)  # fmt: skip
flags = st.sampled_from(["verbatim", "cache", "target"])
images = st.sampled_from(["", "AAAA", "iVBORw0K"])
kinds = st.sampled_from(["code", "log", "screenshot", "memory", "other"])
fragments = st.fixed_dictionaries(
    {},
    optional={
        "content": texts,
        "id": st.integers(0, 2**64 - 1),
        "kind": kinds,
        "priority": st.integers(0, 255),
        "metadata": st.dictionaries(flags, st.one_of(st.booleans(), st.text(max_size=4))),
        "media": st.fixed_dictionaries({"mime": st.just("image/png"), "bytes_b64": images}),
    },
)  # fmt: skip
durations = st.one_of(st.none(), st.integers(0, 2**40))
policies = st.fixed_dictionaries(
    {},
    optional={
        "response_reserve_tokens": st.integers(0, 50),
        "near_dup_dedup": st.booleans(),
        "negative_constraints": st.lists(st.just("must never "), max_size=2),
        "chunk": st.fixed_dictionaries(
            {
                "max_chunk_bytes": st.integers(64, 4_096),
                "overlap_bytes": st.integers(0, 2**40),
                "boundary": st.sampled_from(["paragraph", "sentence", "fixed"]),
            }
        ),
        "record_events": st.booleans(),
        "store_sources": st.booleans(),
        "source_ttl_seconds": durations,
        "event_ttl_seconds": durations,
        "normalize_log_timestamps": st.booleans(),
        "ids_as_strings": st.booleans(),
        "slim_response": st.booleans(),
    },
)
shared = {
    "query": texts,
    "token_budget": st.integers(1, 400),
}
optional = {
    "project": st.sampled_from(["", "a"]),
    "target_model": texts,
    "policy": spoilt(policies),
}
requests = spoilt(
    st.fixed_dictionaries(
        shared | {"fragments": st.lists(st.one_of(fragments, spoilt(fragments)), max_size=5)},
        optional=optional | {"memory_scope": st.just({})},
    )
)
segmentations = st.fixed_dictionaries(
    {
        "format": st.sampled_from(["auto", "plain", "jsonl"]),
        "min_segment_bytes": st.integers(0, 2**40),
    }
)
transcripts = spoilt(
    st.fixed_dictionaries(
        shared | {"transcript": texts}, optional=optional | {"segmentation": spoilt(segmentations)}
    )
)


@few
@given(st.one_of(requests, atoms), st.one_of(transcripts, atoms), nested, nested)
def test_requests_for_a_context(
    service: MemoryService, request: Any, transcript: Any, one: Any, other: Any
) -> None:
    with answered_or_refused():
        service.compile_context(request)
    with answered_or_refused():
        service.compile_transcript(transcript)
    with answered_or_refused():
        service.explain_compilation(request, one, other)


@few
@given(st.one_of(nested, st.text().map(lambda end: f"ctx://source/{end}")))
@example("ctx://source/" + "9" * 20)
@example("ctx://source/٣")
def test_handles(service: MemoryService, handle: Any) -> None:
    with answered_or_refused():
        service.retrieve_context_source(handle)
    with answered_or_refused():
        service.purge_sources(handle=handle)


# -- what models reply

outlines = st.lists(
    st.tuples(
        st.sampled_from(["", "edge: ", "attr: ", "fact: ", "edge:", "attr: a | k | "]),
        st.lists(st.one_of(anything_written, st.sampled_from(["1e999", "{", "NaN", "[" * 2_000])))
        .map(" | ".join),
    ).map("".join)
).map("\n".join)  # fmt: skip


@few
@given(st.one_of(outlines, atoms))
def test_outlines(text: Any) -> None:
    with answered_or_refused():
        OutlineExtractor().extract(text)


answers = st.dictionaries(
    st.sampled_from([*GraphReply.model_fields, "other"]),
    st.one_of(
        nested,
        st.lists(
            st.dictionaries(
                st.sampled_from(
                    ["text", "topics", "subject", "predicate", "object", "target", "entity", "key",
                     "value"]
                ),
                nested,
            ),
            max_size=4,
        ),
    ),
    max_size=3,
)  # fmt: skip


def written(answer: Any) -> str:
    """Return JSON as a careless model might write it."""
    return json.dumps(answer, default=repr, ensure_ascii=False)


replies = st.one_of(
    st.tuples(st.text(max_size=9), answers.map(written), st.text(max_size=9)).map("".join),
    st.tuples(answers.map(written), st.integers(0, 400)).map(lambda pair: pair[0][: pair[1]]),
    st.text(alphabet='{}[]":,x\\\n0', max_size=60),
)


@few
@given(replies)
@example("{" * 100_000)
@example('{"facts":' * 3_000)
@example('{"attributes": [{"entity": "a", "key": "b", "value": ' + "9" * 5_000 + "}]}")
@example('{"facts": [{"text": "\\ud800"}]}')
def test_replies_of_models(reply: str) -> None:
    class Model:
        def extract(self, text: str) -> Graph:
            return read_reply(reply, "a model")

    with answered_or_refused():
        read_reply(reply, "a model")
    with MemoryService.open(":memory:", extractor=Model()) as service:
        with answered_or_refused():
            service.remember_extracted("the garden")
        service.recall("garden")
