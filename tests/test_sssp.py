"""Shortest paths: the oracle's distances and tree, bit for bit, however the graph is spread."""

from __future__ import annotations

import heapq
import math
from typing import Any

import networkx as nx
import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy.sparse import coo_array
from scipy.sparse.csgraph import dijkstra

import dgraph as dg
import dgraph.algorithms.sssp as sssp_module
import dgraph.engine.context as context_module
from dgraph.algorithms.sssp import sssp_slot
from dgraph.engine.records import Recorder
from dgraph.errors import EdgeValueError, OptionError, VertexNotFoundError
from dgraph.topology import Topology
from tests.harness import Steps, frame_of
from tests.reference import PlainGraph, build, plain
from tests.strategies import graphs, spread_graphs, spreads


def oracle(
    graph: PlainGraph, source: int, limit: float = math.inf
) -> tuple[list[float], list[int]]:
    """Return distances by Dijkstra, and of the tight in-neighbours the first by hops, rank."""
    tail, head, weight = graph.arcs
    weight = np.ones(len(tail)) if weight is None else weight
    arcs = list(zip(tail.tolist(), head.tolist(), weight.tolist(), strict=True))
    rows: list[list[tuple[int, float]]] = [[] for _ in range(graph.n)]
    for u, v, w in arcs:
        rows[u].append((v, w))
    distance = [math.inf] * graph.n
    distance[source] = 0.0
    queue = [(0.0, source)]
    while queue:
        d, u = heapq.heappop(queue)
        for v, w in rows[u]:
            if d == distance[u] and d + w < distance[v] and d + w <= limit:
                distance[v] = d + w
                heapq.heappush(queue, (d + w, v))
    tight = [(u, v) for u, v, w in arcs if distance[u] + w == distance[v] < math.inf]
    hops = {source: 0}
    predecessor = [-1] * graph.n
    for level in range(graph.n):
        for v in {v for u, v in tight if hops.get(u) == level and v not in hops}:
            before = [u for u, head in tight if head == v and hops.get(u) == level]
            predecessor[v] = min(before, key=lambda u: int(graph.rank[u]))
            hops[v] = level + 1
    return distance, predecessor


def expected(graph: PlainGraph, source: int, limit: float = math.inf) -> pd.DataFrame:
    distance, before = oracle(graph, source, limit)
    predecessor = np.array(before)
    missing = predecessor < 0
    return pd.DataFrame(
        {
            "vertex": graph.ids.to_pandas(),
            "distance": np.array(distance),
            "predecessor": graph.ids.take(np.maximum(predecessor, 0)).to_nullable(missing),
        }
    )


def run(graph: PlainGraph, source: int, shards: Any = None, **options: Any) -> pd.DataFrame:
    named = graph.ids.take(np.array([source]))
    arguments = options.get("delta"), options.get("limit")
    shards = build(graph) if shards is None else shards
    return frame_of(sssp_slot, shards, named, *arguments, observer=options.get("observer"))


@given(data=st.data(), drawn=spread_graphs(least=1))
def test_is_the_oracles_for_any_spread_and_options(data: st.DataObject, drawn: Any) -> None:
    graph, spread = drawn
    source = data.draw(st.integers(0, graph.n - 1))
    delta = data.draw(st.sampled_from([None, 1e-3, 0.3, 1.0, 1e9]))
    limit = data.draw(st.sampled_from([math.inf, 0.0, 0.35, 2.0]))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sssp_module, "PULL", data.draw(st.sampled_from([-1.0, 0.1, 1.0, 1e9])))
        patch.setattr(sssp_module, "NEAR", data.draw(st.sampled_from([0.0, 0.3, 1.0])))
        patch.setattr(sssp_module, "SPARSE", data.draw(st.sampled_from([0.0, math.inf])))
        patch.setattr(context_module, "MOST_COMPANIONS", data.draw(st.sampled_from([0, 16])))
        found = run(graph, source, spread.shards(graph), delta=delta, limit=limit)
    pd.testing.assert_frame_equal(found, expected(graph, source, limit), check_exact=True)


@given(data=st.data(), graph=graphs(least=1, weights=True))
def test_any_two_spreads_give_the_same_bits(data: st.DataObject, graph: PlainGraph) -> None:
    # sums of these depend on the sequence of additions, and some are absorbed
    scale = st.sampled_from([0.0, 1e-17, 0.1, 0.2, 0.3, 0.7, 1.0, 1e16])
    weight = data.draw(st.lists(scale, min_size=len(graph.source), max_size=len(graph.source)))
    graph = PlainGraph(
        graph.ids, graph.source, graph.target, np.array(weight, np.float64), graph.directed
    )
    source = data.draw(st.integers(0, graph.n - 1))
    found = [run(graph, source, data.draw(spreads(graph)).shards(graph)) for _ in range(2)]
    pd.testing.assert_frame_equal(found[0], found[1], check_exact=True)
    pd.testing.assert_frame_equal(found[0], expected(graph, source), check_exact=True)


@given(data=st.data(), drawn=spread_graphs(least=1, weights=True))
def test_what_a_slot_does_for_all_is_recorded_as_if_each_did_it(
    data: st.DataObject, drawn: Any
) -> None:
    graph, spread = drawn
    source = data.draw(st.integers(0, graph.n - 1))
    shards = spread.shards(graph)
    sent: list[Any] = []
    for most in (0, 16):
        recorder = Recorder(Topology.from_fanouts([spread.slots]), range(spread.slots))
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(context_module, "MOST_COMPANIONS", most)
            patch.setattr(sssp_module, "PULL", 1e9)
            patch.setattr(sssp_module, "SPARSE", 0.0)  # else the buckets are not the same
            run(graph, source, shards, observer=recorder)
        log = recorder.log("output")
        # an exchange without messages comes before what one slot does for all
        sent.append(
            [
                [row.tolist() for row in log.counts[log.stage == at] if row.any()]
                for at, stage in enumerate(log.stages)
                if stage in ("relax", "predecessors")
            ]
        )
        assert len(log.times) == len(log.counts) == len(log.stage)
    assert sent[0] == sent[1]


def kronecker(weights: str, scale: int = 10) -> PlainGraph:
    """Return a graph with hubs, so that the unsettled vertices pull."""
    rng = np.random.default_rng(2)
    ends = np.zeros((2, 8 << scale), np.int64)
    for _ in range(scale):
        ends = 2 * ends + (rng.random(ends.shape) > 0.65)
    count = ends.shape[1]
    weight: NDArray[Any] = rng.integers(0, 256, count)
    if weights == "float":
        weight = rng.random(count, np.float32)
    return plain(ends[0], ends[1], weight, directed=weights == "directed", duplicates="min")


@pytest.mark.parametrize("slots", [1, 2, 5])
@pytest.mark.parametrize("weights", ["int", "float", "directed"])
def test_pulls_where_hubs_are(weights: str, slots: int) -> None:
    graph, steps = kronecker(weights), Steps()
    shards = build(graph, slots)
    tail, head, weight = graph.arcs
    for source in (int(graph.by_rank[0]), int(graph.by_rank[graph.n // 3])):
        found = run(graph, source, shards, observer=steps)
        distance, before = oracle(graph, source)
        assert found["distance"].tolist() == distance
        predecessor = [-1 if u is pd.NA else u for u in found["predecessor"]]
        assert [graph.ids[u] if u >= 0 else -1 for u in before] == predecessor
        assert weight is not None
        nonzero = np.maximum(weight, 1e-300)  # an explicit 0 is no edge to scipy
        matrix: Any = coo_array((nonzero, (tail, head)), shape=(graph.n, graph.n)).tocsr()
        theirs = dijkstra(matrix, indices=source)  # type: ignore[call-overload]
        np.testing.assert_allclose(found["distance"], theirs, atol=1e-200)
    assert "pull" in steps.stages


@pytest.mark.parametrize("slots", [1, 3])
def test_a_long_road(slots: int) -> None:
    n = 2000
    graph = plain(np.arange(n - 1), np.arange(1, n), np.full(n - 1, 0.1))
    steps = Steps()
    found = run(graph, 0, build(graph, slots), observer=steps)
    assert found["distance"].tolist() == np.cumsum(np.append(0.0, np.full(n - 1, 0.1))).tolist()
    assert found["predecessor"].tolist()[1:] == list(range(n - 1))


@pytest.mark.parametrize("companions", [0, 16])
def test_weights_over_many_decades(monkeypatch: pytest.MonkeyPatch, companions: int) -> None:
    """Buckets are narrow first: in one that holds all distances, all is improved many times."""
    monkeypatch.setattr(context_module, "MOST_COMPANIONS", companions)
    rng, steps = np.random.default_rng(3), Steps()
    ends = rng.integers(0, 400, (2, 2000))
    graph = plain(ends[0], ends[1], 10.0 ** rng.uniform(-8, 8, 2000), duplicates="min")
    found = run(graph, 0, build(graph, 3), observer=steps)
    pd.testing.assert_frame_equal(found, expected(graph, 0), check_exact=True)
    if not companions:
        assert steps.stages.count("relax") > 30


def test_between_processes_a_sparse_graph_takes_fewer_supersteps(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(context_module, "MOST_COMPANIONS", 0)
    numbers = np.arange(20 * 20).reshape(20, 20)
    tails = np.append(numbers[:, :-1], numbers[:-1])
    heads = np.append(numbers[:, 1:], numbers[1:])
    graph = plain(tails, heads, np.random.default_rng(4).random(tails.size))
    shards, taken = build(graph, 2), []
    for sparse in (0.0, 8.0):
        monkeypatch.setattr(sssp_module, "SPARSE", sparse)
        steps = Steps()
        found = run(graph, 0, shards, observer=steps)
        pd.testing.assert_frame_equal(found, expected(graph, 0), check_exact=True)
        taken.append(steps.stages.count("relax"))
    assert taken[1] < 0.6 * taken[0]


def test_a_circle_of_zero_weights_gives_a_tree() -> None:
    graph = plain([0, 1, 2, 3, 4, 9], [1, 2, 3, 4, 1, 0], [0.0, 0, 0, 0, 0, 5], vertices=[77])
    found = run(graph, int(np.flatnonzero(graph.ids.to_pandas() == 9)[0]), build(graph, 2))
    assert found["distance"].tolist() == [5.0] * 5 + [0.0, math.inf]
    assert found["predecessor"].tolist() == [9, 0, 1, 2, 1, pd.NA, pd.NA]


@pytest.mark.parametrize("slots", [1, 3])
@pytest.mark.parametrize("directed", [False, True])
def test_a_negative_weight_is_refused_with_the_edge(slots: int, directed: bool) -> None:
    graph = plain(["a", "b", "c"], ["b", "c", "d"], [1, -2.5, 3], directed=directed)
    steps = Steps()
    named = "from 'b' to 'c'" if directed else "between ('b' and 'c'|'c' and 'b')"
    with pytest.raises(EdgeValueError, match=rf"-2\.5 on the edge {named}; "):
        run(graph, 0, build(graph, slots), observer=steps)
    assert set(steps.stages) == {"source"}


def test_minus_zero_is_zero() -> None:
    graph = plain([0, 0, 1], [1, 2, 2], [1.0, 3.0, -0.0])
    assert run(graph, 0)["distance"].tolist() == [0.0, 1.0, 1.0]


def test_options_and_sources_are_checked() -> None:
    g = dg.from_edges(np.array([[1, 2], [2, 3]]))
    with pytest.raises(VertexNotFoundError, match="99"):
        dg.sssp(g, 99)
    with pytest.raises(OptionError, match="delta"):
        dg.sssp(g, 1, delta=0)
    with pytest.raises(OptionError, match="limit"):
        dg.sssp(g, 1, limit=-1)
    assert dg.sssp(g, 1, limit=1.5).compute().sort_values("vertex")["distance"].tolist() == [
        0.0,
        1.0,
        math.inf,
    ]


def test_agrees_with_networkx() -> None:
    theirs = nx.karate_club_graph()
    g = dg.from_edges(theirs, weight="weight")
    found = dg.sssp(g, 5).compute().set_index("vertex")
    for v, distance in nx.single_source_dijkstra_path_length(theirs, 5).items():
        assert found["distance"][v] == distance
    record = g.runs[-1]
    assert record.algorithm == "sssp"
    assert record.supersteps > 0
