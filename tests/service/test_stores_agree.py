"""Whatever is done to them, a service in a file and one in dictionaries hold the same."""

from typing import Any

from clocks import SECOND, Clock
from hypothesis import given, settings
from hypothesis import strategies as st

from plugmem_core import InvalidInputError, Memory, NotFoundError
from plugmem_core.extraction import Attribute, ExtractedFact, Graph, Relation
from plugmem_core.service import DictStore, EngineStore, MemoryService, entity_id, memory_id
from service.conftest import everything

TEXTS = ["green tea", "black tea", "node 5", "C", "C#", "Entity: ada"]
NAMES = ["Ada", "ada ", "C", "C#", "!?", ""]
IDS = [memory_id(text) for text in TEXTS] + [entity_id(name) for name in NAMES[:4]] + [5]

texts, names, ids = st.sampled_from(TEXTS), st.sampled_from(NAMES), st.sampled_from(IDS)
labels = st.sampled_from(["to", "about", "mentions", " "])
metadata = st.none() | st.dictionaries(
    st.sampled_from(["a", "b"]), st.none() | st.integers(0, 3) | st.just([1]), max_size=2
)
graphs = st.builds(
    Graph,
    st.tuples(st.builds(ExtractedFact, texts, st.tuples(names, names))),
    st.tuples(st.builds(Relation, names, labels, names)),
    st.tuples(st.builds(Attribute, names, st.sampled_from(["a", "content"]), st.integers(0, 3))),
)
steps = st.one_of(
    st.tuples(
        st.just("remember"),
        texts,
        st.fixed_dictionaries(
            {
                "metadata": metadata,
                "ttl": st.none() | st.just(60),
                "replace": st.booleans(),
                "links": st.lists(st.tuples(ids, labels), max_size=2),
            }
        ),
    ),
    st.tuples(st.just("extract"), graphs, metadata),
    st.tuples(st.just("relate"), ids, ids, labels),
    st.tuples(st.just("unrelate"), ids, ids, labels),
    st.tuples(st.just("forget"), ids),
    st.tuples(st.just("feedback"), ids, st.booleans()),
    st.tuples(st.just("wait")),
    st.tuples(st.just("why"), texts, st.none() | st.just({"a": 1})),
    st.tuples(st.just("entity"), names),
    st.tuples(st.just("status")),
)


class Fixed:
    def __init__(self, graph: Graph) -> None:
        self.graph = graph

    def extract(self, text: str) -> Graph:
        return self.graph


def play(service: MemoryService, step: tuple[Any, ...]) -> Any:
    """Do one step and return what came of it, errors included."""
    verb, *args = step
    try:
        match verb:
            case "remember":
                return service.remember(args[0], **args[1])
            case "extract":
                return service.remember_extracted("…", metadata=args[1], extractor=Fixed(args[0]))
            case "why":
                found = service.why(args[0], 4, args[1], min_score=0.9)
                return found.nodes and (
                    [(node.id, node.hop) for node in found.nodes],
                    found.links,
                    found.truncated,
                )
            case "status":
                return service.memory_status()
            case "wait":
                return None
            case _:
                return getattr(service, verb)(*args)
    except (InvalidInputError, NotFoundError) as error:
        return type(error), str(error)


@settings(max_examples=60)
@given(st.lists(steps, max_size=25))
def test_both_stores_hold_and_answer_the_same(script: list[tuple[Any, ...]]) -> None:
    clock = Clock()
    with Memory.open(":memory:", clock=clock) as memory:
        engine = MemoryService(EngineStore(memory))
        simple = MemoryService(DictStore(clock=clock))
        for step in script:
            clock.tick(61 * SECOND if step[0] == "wait" else SECOND)
            assert play(engine, step) == play(simple, step), step
            assert everything(engine) == everything(simple), step
        assert memory.verify().ok
