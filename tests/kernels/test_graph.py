"""The bounded walk and its candidates against plain loops over a list of edges."""

from collections.abc import Sequence
from random import Random
from typing import Any, TypeAlias

from hypothesis import given, settings
from hypothesis import strategies as st

from plugmem_core.kernels import NO_ID, OPEN, Graph, IdLists, Scope, graph_candidates

from .tables import ALL, EVERY_FACT, facts, scope

Row: TypeAlias = dict[str, int]
"""The columns of an edge."""
Found: TypeAlias = tuple[list[int], list[tuple[int, float]]]
"""The edges met, and the nodes with their weights."""

WIDE = {"max_edges": EVERY_FACT, "max_nodes": EVERY_FACT}


def edge(src: int, relation: int, dst: int, **times: int) -> Row:
    return {
        "src": src,
        "relation": relation,
        "dst": dst,
        "provenance": NO_ID,
        "recorded_at": 0,
        "valid_from": 0,
        "valid_to": OPEN,
        "closed_at": OPEN,
    } | times


def graph_of(edges: list[Row], ranks: Sequence[int] = (0, 1, 2)) -> Graph:
    graph = Graph()
    for relation, rank in enumerate(ranks):
        graph.put_relation(relation, rank)
    for number, row in enumerate(edges):
        graph.put(number, **row)
    return graph


def walk(
    graph: Graph,
    anchors: list[int],
    depth: int,
    *,
    view: Scope = ALL,
    history: bool = False,
    decay: float = 0.5,
    **caps: int,
) -> Found:
    found = graph.walk(anchors, depth, decay, **(WIDE | caps), scope=view, history=history)
    return found.edges, list(zip(found.nodes, found.weights, strict=True))


def statement(row: Row) -> tuple[int, ...]:
    """What two versions of one edge have in common; a walk lists it once."""
    return tuple(row[part] for part in ("src", "relation", "dst", "provenance"))


def expected_walk(
    edges: list[Row],
    ranks: Sequence[int],
    anchors: list[int],
    depth: int,
    clocks: dict[str, Any],
    *,
    history: bool,
    max_edges: int,
    max_nodes: int,
) -> Found:
    def holds(row: Row) -> bool:
        if not history:  # what holds now: open, or with an end known ahead of time
            lasts = row["valid_to"] == OPEN or row["valid_to"] > row["closed_at"]
            return lasts and row["valid_from"] <= clocks["valid_at"] < row["valid_to"]
        ended = row["valid_to"] <= clocks["valid_at"]
        unlearned = clocks["unknown_closings"] and row["closed_at"] > clocks["known_at"]
        began = max(row["valid_from"], OPEN if row["recorded_at"] > clocks["known_at"] else -OPEN)
        return began <= clocks["valid_at"] and (not ended or unlearned)

    def touching(node: int, near: str, far: str) -> list[int]:
        met = [n for n, row in enumerate(edges) if row[near] == node and holds(row)]
        if history:
            return sorted(met, key=lambda n: (-edges[n]["valid_from"], -n))
        return sorted(met, key=lambda n: (ranks[edges[n]["relation"]], edges[n][far], n))

    nodes = dict.fromkeys(anchors, 1.0)
    met: list[int] = []
    frontier, weight = list(nodes), 1.0
    for _ in range(depth):
        weight *= 0.5
        reached = []
        for node in frontier:
            for near, far in (("src", "dst"), ("dst", "src")):
                for number in touching(node, near, far):
                    said = [statement(edges[known]) for known in met]
                    if len(met) < max_edges and statement(edges[number]) not in said:
                        met.append(number)
                    other = edges[number][far]
                    if len(nodes) < max_nodes and other not in nodes:
                        nodes[other] = weight
                        reached.append(other)
                    if len(met) >= max_edges and len(nodes) >= max_nodes:
                        return met, list(nodes.items())
        frontier = reached
    return met, list(nodes.items())


instants = st.integers(0, 4)


@st.composite
def edge_lists(draw: st.DrawFn) -> list[Row]:
    """Edges among six nodes; at most one open version of a triple, as truth allows."""
    rows = draw(
        st.lists(
            st.tuples(
                st.integers(0, 5),
                st.integers(0, 2),
                st.integers(0, 5),
                instants,
                instants,
                instants,
            ),
            max_size=20,
        )
    )
    edges, open_triples = [], set()
    for src, relation, dst, start, length, delay in rows:
        row = edge(src, relation, dst, valid_from=start, recorded_at=start)
        if (src, relation, dst) in open_triples or length:
            end = start + length
            row |= {"valid_to": end, "closed_at": end + delay - 2}
        else:
            open_triples.add((src, relation, dst))
        edges.append(row)
    return edges


@settings(deadline=None, max_examples=300)
@given(
    edge_lists(),
    st.permutations([0, 1, 2]),
    st.lists(st.integers(0, 7), unique=True, max_size=4),
    st.integers(0, 4),
    st.fixed_dictionaries(
        {"valid_at": instants, "known_at": instants, "unknown_closings": st.booleans()}
    ),
    st.booleans(),
    st.integers(1, 12),
    st.integers(1, 8),
    st.randoms(use_true_random=False),
)
def test_a_walk_is_breadth_first_within_its_caps(
    edges: list[Row],
    ranks: Sequence[int],
    anchors: list[int],
    depth: int,
    clocks: dict[str, Any],
    history: bool,
    max_edges: int,
    max_nodes: int,
    random: Random,
) -> None:
    graph = Graph()
    for relation, rank in enumerate(ranks):
        graph.put_relation(relation, rank)
    order = list(range(len(edges)))
    random.shuffle(order)  # versions may arrive in any order, and first as something else
    for number in order:
        if random.random() < 0.3:
            graph.put(number, **edge(random.randrange(6), random.randrange(3), random.randrange(6)))
        graph.put(number, **edges[number])
    caps = {"max_edges": max_edges, "max_nodes": max_nodes}
    found = walk(graph, anchors, depth, view=scope(**clocks), history=history, **caps)
    assert found == expected_walk(edges, ranks, anchors, depth, clocks, history=history, **caps)


def test_open_edges_go_by_relation_then_far_node_outgoing_first() -> None:
    edges = [edge(0, 0, 9), edge(0, 1, 8), edge(0, 1, 2), edge(5, 1, 0), edge(0, 0, 3)]
    graph = graph_of(edges, ranks=(7, 1, 0))
    assert walk(graph, [0], 1)[0] == [2, 1, 4, 0, 3]


def test_an_edge_that_will_end_is_open_until_then() -> None:
    graph = graph_of([edge(0, 0, 1, valid_to=5, closed_at=2), edge(0, 0, 1, valid_from=5)])
    assert walk(graph, [0], 1, view=scope(valid_at=4))[0] == [0]
    assert walk(graph, [0], 1, view=scope(valid_at=5))[0] == [1]


def test_versions_go_latest_start_first_and_end_exclusively() -> None:
    edges = [
        edge(0, 0, 1, valid_from=1, valid_to=5, closed_at=5),
        edge(0, 0, 2, valid_from=3),
        edge(0, 0, 3, valid_from=3),
        edge(4, 0, 0, valid_from=0, recorded_at=6),
    ]
    graph = graph_of(edges)
    assert walk(graph, [0], 1, view=scope(valid_at=4, known_at=4), history=True)[0] == [2, 1, 0]
    assert walk(graph, [0], 1, view=scope(valid_at=5, known_at=5), history=True)[0] == [2, 1]
    assert walk(graph, [0], 1, view=scope(valid_at=6, known_at=6), history=True)[0] == [2, 1, 3]
    late = scope(valid_at=6, known_at=4, unknown_closings=True)
    assert walk(graph, [0], 1, view=late, history=True)[0] == [2, 1, 0]


def test_superseded_edges_stay_out_where_superseded_facts_are_admitted() -> None:
    graph = graph_of([edge(0, 0, 1, valid_to=5, closed_at=5)])
    assert walk(graph, [0], 1, view=scope(valid_at=9, closed=True), history=True)[0] == []


def test_weights_halve_with_every_hop_and_an_anchor_is_its_own() -> None:
    chain = graph_of([edge(0, 0, 1), edge(1, 0, 2), edge(2, 0, 3)])
    assert walk(chain, [0], 2) == ([0, 1], [(0, 1.0), (1, 0.5), (2, 0.25)])
    assert walk(chain, [0], 0) == ([], [(0, 1.0)])
    assert walk(chain, [3, 3, 99], 1) == ([2], [(3, 1.0), (99, 1.0), (2, 0.5)])
    assert walk(chain, [], 3) == ([], [])
    assert walk(Graph(), [4], 3) == ([], [(4, 1.0)])


def test_a_loop_is_met_once() -> None:
    graph = graph_of([edge(0, 0, 0), edge(0, 0, 1)])
    assert walk(graph, [0], 3) == ([0, 1], [(0, 1.0), (1, 0.5)])


def test_each_cap_alone_does_not_stop_the_walk() -> None:
    star = graph_of([edge(0, 0, node) for node in range(1, 6)])
    assert walk(star, [0], 1, max_edges=2)[0] == [0, 1]
    assert [node for node, _ in walk(star, [0], 1, max_edges=2)[1]] == [0, 1, 2, 3, 4, 5]
    assert walk(star, [0], 1, max_nodes=2)[0] == [0, 1, 2, 3, 4]
    assert [node for node, _ in walk(star, [0], 1, max_nodes=2)[1]] == [0, 1]


def test_rows_and_counts_follow_the_edges() -> None:
    graph = graph_of([edge(0, 1, 2, provenance=7, recorded_at=3, valid_from=2)])
    assert graph.row(0) == [0, 1, 2, 7, 3, 2, OPEN, OPEN]
    assert (graph.open(), len(graph), graph.row(5)) == (1, 1, [])
    graph.put(0, **edge(0, 1, 2, valid_to=9, closed_at=9))
    assert (graph.open(), graph.row(0)[6]) == (0, 9)
    graph.put(2, **edge(4, 1, 4))
    assert (graph.open(), len(graph), graph.row(1)) == (1, 3, [])
    graph.put(2, **edge(0, 1, 4))
    assert walk(graph, [4], 1) == ([2], [(4, 1.0), (0, 0.5)])


# -- candidates


def expected_candidates(
    found: Found,
    facts_of: dict[int, list[int]],
    edges: list[Row],
    stored: set[int],
    caps: dict[str, int],
) -> list[tuple[int, float]]:
    chosen: dict[int, float] = {}
    examined = 0
    for node, weight in found[1]:
        for fact in facts_of.get(node, []):
            examined += 1
            if len(chosen) >= caps["max_facts"] or examined > caps["max_examined"]:
                break
            if fact in stored and fact not in chosen:
                chosen[fact] = weight
        else:
            continue
        break
    for number in found[0]:
        fact = edges[number]["provenance"]
        if len(chosen) < caps["max_facts"] and fact in stored and fact not in chosen:
            chosen[fact] = 0.5
    best = sorted(chosen.items(), key=lambda pair: (-pair[1], pair[0]))
    return best[: caps["limit"]]


@settings(deadline=None, max_examples=200)
@given(
    st.lists(
        st.tuples(st.integers(0, 4), st.integers(0, 4), st.integers(0, 12) | st.just(NO_ID)),
        unique_by=lambda row: row[:2],
        max_size=8,
    ),
    st.dictionaries(st.integers(0, 4), st.sets(st.integers(0, 12), max_size=8)),
    st.sets(st.integers(0, 12)),
    st.lists(st.integers(0, 4), unique=True, min_size=1, max_size=2),
    st.fixed_dictionaries(
        {
            "max_facts": st.integers(1, 15),
            "max_examined": st.integers(1, 15),
            "limit": st.integers(1, 15),
        }
    ),
)
def test_candidates_are_taken_in_order_of_the_walk_within_their_caps(
    triples: list[tuple[int, int, int]],
    facts_by_node: dict[int, set[int]],
    stored: set[int],
    anchors: list[int],
    caps: dict[str, int],
) -> None:
    edges = [edge(src, 0, dst, provenance=fact) for src, dst, fact in triples]
    graph = graph_of(edges)
    lists = IdLists()
    for node, members in facts_by_node.items():
        for fact in members:
            lists.add(node, fact)
    found = graph.walk(anchors, 2, 0.5, **WIDE, scope=ALL, history=False)
    ranked = graph_candidates(
        graph, found, lists, **caps, provenance_weight=0.5, facts=facts(stored), scope=ALL
    )
    nodes = list(zip(found.nodes, found.weights, strict=True))
    in_order = {node: sorted(members) for node, members in facts_by_node.items()}
    expected = expected_candidates((found.edges, nodes), in_order, edges, stored, caps)
    assert ranked.items() == expected


def test_a_fact_that_only_an_edge_names_weighs_one_decay_however_far_the_edge() -> None:
    edges = [edge(0, 0, 1, provenance=5), edge(1, 0, 2, provenance=6)]
    graph = graph_of(edges)
    lists = IdLists()
    lists.add(0, 9)
    lists.add(2, 8)
    found = graph.walk([0], 2, 0.5, **WIDE, scope=ALL, history=False)
    ranked = graph_candidates(graph, found, lists, 256, 2048, 128, 0.5, facts(range(10)), ALL)
    assert ranked.items() == [(9, 1.0), (5, 0.5), (6, 0.5), (8, 0.25)]
