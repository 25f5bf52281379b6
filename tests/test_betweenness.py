"""Betweenness: networkx's numbers and exact ones, however the graph is spread."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import networkx as nx
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

import dgraph as dg
import dgraph.algorithms._path_counts as path_counts
import dgraph.algorithms.betweenness_centrality as module
from dgraph.algorithms._brandes import survey
from dgraph.algorithms.betweenness_centrality import Sample, betweenness_slot, scales
from dgraph.errors import EdgeValueError, OptionError, VertexNotFoundError
from tests.harness import Steps, frame_of
from tests.reference import PlainGraph, build, plain
from tests.strategies import graphs, spread_graphs, spreads

Array = NDArray[Any]


def oracle(
    graph: PlainGraph, sources: list[int], weighted: bool, endpoints: bool
) -> list[Fraction]:
    """Return the sums of dependencies exactly, by counting paths over all pairs."""
    n = graph.n
    length: dict[tuple[int, int], Fraction] = {}
    tail, head, weight = graph.arcs
    for i, (u, v) in enumerate(zip(tail.tolist(), head.tolist(), strict=True)):
        w = Fraction(float(weight[i])) if weighted and weight is not None else Fraction(1)
        if u != v:
            length[u, v] = min(w, length.get((u, v), w))
    distance = [[math.inf if u != v else Fraction(0) for v in range(n)] for u in range(n)]
    for (u, v), w in length.items():
        distance[u][v] = w
    for k in range(n):
        for u in range(n):
            for v in range(n):
                distance[u][v] = min(distance[u][v], distance[u][k] + distance[k][v])
    paths = [[0] * n for _ in range(n)]
    for s in range(n):
        paths[s][s] = 1
        for v in sorted(range(n), key=lambda v: distance[s][v]):
            if v != s and distance[s][v] < math.inf:
                paths[s][v] = sum(
                    paths[s][u]
                    for (u, to), w in length.items()
                    if to == v and distance[s][u] + w == distance[s][v]
                )
    found = [Fraction(0)] * n
    for s in sources:
        for t in range(n):
            if s == t or distance[s][t] == math.inf:
                continue
            for v in range(n):
                if v in (s, t):
                    found[v] += endpoints
                elif distance[s][v] + distance[v][t] == distance[s][t]:
                    found[v] += Fraction(paths[s][v] * paths[v][t], paths[s][t])
    return found


def run(
    graph: PlainGraph,
    chosen: Any = None,
    shards: Any = None,
    *,
    normalized: bool = False,
    weighted: bool = False,
    endpoints: bool = False,
    observer: Any = None,
) -> Array:
    """Return betweenness by order; `chosen` are orders of sources, a Sample, or None."""
    if isinstance(chosen, list):
        chosen = graph.ids.take(np.array(chosen))
    shards = build(graph) if shards is None else shards
    options = chosen, normalized, weighted, endpoints
    found: Array = frame_of(betweenness_slot, shards, *options, observer=observer)[
        "betweenness"
    ].to_numpy()
    return found


def exact_weights(graph: PlainGraph, draw: Any) -> PlainGraph:
    """Return the graph with small integers as weights, which add up without rounding."""
    count = len(graph.source)
    weight = draw(st.lists(st.integers(1, 4), min_size=count, max_size=count))
    return PlainGraph(
        graph.ids, graph.source, graph.target, np.array(weight, float), graph.directed
    )


@given(data=st.data(), drawn=spread_graphs(least=1))
def test_is_exact_for_any_spread_and_options(data: st.DataObject, drawn: Any) -> None:
    graph, spread = drawn
    weighted = data.draw(st.booleans())
    if weighted:
        graph = exact_weights(graph, data.draw)
    vertices = st.integers(0, graph.n - 1)
    sources = data.draw(st.lists(vertices, min_size=1, unique=True) | st.none())
    endpoints, normalized = data.draw(st.booleans()), data.draw(st.booleans())
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "BATCH", data.draw(st.sampled_from([0, 1500, 2**25])))
        found = run(
            graph,
            sources,
            spread.shards(graph),
            normalized=normalized,
            weighted=weighted,
            endpoints=endpoints,
        )
    chosen = list(range(graph.n)) if sources is None else sources
    sums = np.array([float(x) for x in oracle(graph, chosen, weighted, endpoints)])
    k = None if sources is None or len(sources) == graph.n else len(sources)
    of_sources, of_others = scales(graph.n, k, normalized, graph.directed, endpoints)
    expected = sums * of_others
    expected[chosen] = sums[chosen] * of_sources
    np.testing.assert_allclose(found, expected, rtol=1e-12)


@given(data=st.data(), graph=graphs(least=1))
def test_any_two_spreads_agree(data: st.DataObject, graph: PlainGraph) -> None:
    found = [run(graph, None, data.draw(spreads(graph)).shards(graph)) for _ in range(2)]
    np.testing.assert_allclose(found[0], found[1], rtol=1e-12)


def as_networkx(graph: PlainGraph) -> Any:
    theirs: Any = nx.DiGraph() if graph.directed else nx.Graph()
    theirs.add_nodes_from(range(graph.n))
    ends = zip(graph.source.tolist(), graph.target.tolist(), strict=True)
    theirs.add_edges_from((u, v) for u, v in ends if u != v)
    return theirs


@pytest.mark.filterwarnings("ignore:invalid value")
@pytest.mark.parametrize("endpoints", [False, True])
@pytest.mark.parametrize("normalized", [False, True])
@given(drawn=spread_graphs(weights=False), data=st.data())
def test_scales_and_samples_as_networkx(
    normalized: bool, endpoints: bool, drawn: Any, data: st.DataObject
) -> None:
    graph, spread = drawn
    k = data.draw(st.integers(1, graph.n) | st.none()) if graph.n else None
    theirs = nx.betweenness_centrality(
        as_networkx(graph), k=k, seed=5, normalized=normalized, endpoints=endpoints
    )
    chosen = None if k is None or k == graph.n else Sample(k, 5)
    found = run(graph, chosen, spread.shards(graph), normalized=normalized, endpoints=endpoints)
    np.testing.assert_allclose(found, [theirs[v] for v in range(graph.n)], rtol=1e-9)


def layered(layers: int, width: int, *, directed: bool = False) -> PlainGraph:
    """Return layers of vertices, with all edges between neighbouring layers."""
    i, a, b = np.indices((layers - 1, width, width)).reshape(3, -1)
    return plain(i * width + a, (i + 1) * width + b, directed=directed)


@pytest.mark.parametrize("slots", [1, 2, 3])
@pytest.mark.parametrize("weighted", [False, True])
def test_directed_layers_of_many_paths(slots: int, weighted: bool) -> None:
    # 10**23 paths from the first layer to the last, more than 2**63
    graph = layered(25, 10, directed=True)
    if weighted:
        ones = np.ones(len(graph.source))
        graph = PlainGraph(graph.ids, graph.source, graph.target, ones, True)
    found = run(graph, None, build(graph, slots), weighted=weighted)
    layer = np.arange(250) // 10
    expected = 10 * layer * (24 - layer)
    assert np.rint(found).tolist() == expected.tolist()
    np.testing.assert_allclose(found, expected, rtol=1e-15)  # that is up to rounding


@pytest.mark.parametrize("slots", [1, 2, 3])
@pytest.mark.parametrize("weighted", [False, True])
def test_path_counts_beyond_integers(slots: int, weighted: bool) -> None:
    graph = layered(25, 10)
    if weighted:
        ones = np.ones(len(graph.source))
        graph = PlainGraph(graph.ids, graph.source, graph.target, ones, False)
    found = run(graph, None, build(graph, slots), weighted=weighted)
    inside = nx.betweenness_centrality(as_networkx(graph), normalized=False)
    np.testing.assert_allclose(found, [inside[v] for v in range(250)], rtol=1e-9)


@pytest.mark.parametrize("slots", [1, 2])
@pytest.mark.parametrize("weighted", [False, True])
def test_path_counts_beyond_floats(slots: int, weighted: bool) -> None:
    # 2,500 diamonds in a row have 2**2500 paths; beside them, one path as long
    n = 2500
    i = np.arange(n) * 3
    source = np.concatenate([i, i, i + 1, i + 2])
    target = np.concatenate([i + 1, i + 2, i + 3, i + 3])
    chain = np.concatenate([[0], 3 * n + 1 + np.arange(2 * n - 1), [3 * n]])
    source, target = np.append(source, chain[:-1]), np.append(target, chain[1:])
    graph = plain(source, target, np.ones(len(source)) if weighted else None, directed=True)
    found = run(graph, [0], build(graph, slots), weighted=weighted)
    found = found / (graph.n - 1)  # the scale of one source of a directed graph
    beyond = 3.0 * (n - 1 - np.arange(n))  # vertices after the end of each diamond
    np.testing.assert_allclose(found[i[1:]], beyond[:-1], rtol=1e-9)
    np.testing.assert_allclose(found[i + 1], (beyond + 1.0) / 2, rtol=1e-9)
    np.testing.assert_allclose(found[chain[1:-1]], np.arange(2 * n - 2, -1, -1), atol=1e-9)


def test_large_counts_are_noticed_in_time() -> None:
    sigma = np.array([path_counts.LARGE, 1.0])
    offsets = np.zeros(3, np.int64)
    assert survey(np.array([0], np.int32), 1, offsets, offsets, sigma)[2]
    assert not survey(np.array([1], np.int32), 1, offsets, offsets, sigma)[2]


@pytest.mark.parametrize("slots", [1, 2, 5])
def test_changes_direction(slots: int) -> None:
    rng = np.random.default_rng(1)
    ends = np.zeros((2, 8 << 9), np.int64)
    for _ in range(9):
        ends = 2 * ends + (rng.random(ends.shape) > 0.65)
    graph = plain(ends[0], ends[1], duplicates="min")
    sources = [int(graph.by_rank[0]), int(graph.by_rank[graph.n // 2])]
    found = run(graph, sources, build(graph, slots))
    sums = np.zeros(graph.n)
    theirs = as_networkx(graph)
    for s in sources:
        subset = nx.betweenness_centrality_subset(theirs, [s], range(graph.n))
        sums += [2 * subset[v] for v in range(graph.n)]
    of_sources, of_others = scales(graph.n, 2, False, False, False)
    sums *= of_others
    sums[sources] *= of_sources / of_others
    np.testing.assert_allclose(found, sums, rtol=1e-9)


def test_nearly_equal_lengths_are_ties() -> None:
    # half-way round is 0.6 or 0.6000000000000001 by either side
    ring = plain(np.arange(6), (np.arange(6) + 1) % 6, [0.1, 0.2, 0.3, 0.1, 0.2, 0.3])
    assert run(ring, weighted=True).tolist() == pytest.approx([2.0] * 6)


@pytest.mark.parametrize("slots", [1, 3])
def test_zero_weights_are_refused(slots: int) -> None:
    graph, steps = plain([1, 2, 3], [2, 3, 4], [1.0, 0.0, 2.0]), Steps()
    with pytest.raises(
        EdgeValueError, match=r"above 0, got 0 on the edge between (2 and 3|3 and 2)"
    ):
        run(graph, None, build(graph, slots), weighted=True, observer=steps)
    assert set(steps.stages) == {"sources"}
    assert run(graph, None, build(graph, slots)).tolist() == [0, 2, 2, 0]


def test_weights_that_vanish_in_sums_are_refused() -> None:
    graph = plain([1, 2], [2, 3], [1e20, 1.0])
    with pytest.raises(EdgeValueError, match="vanish"):
        run(graph, weighted=True)


def test_parallel_edges_are_one_and_loops_none() -> None:
    many = plain([0, 0, 1, 1, 0, 2, 0], [1, 1, 1, 3, 2, 3, 1], [5, 1, 1, 1, 1, 1, 1])
    assert run(many).tolist() == run(many, weighted=True).tolist() == [0.5, 0.5, 0.5, 0.5]


def test_no_vertices() -> None:
    graph = plain([], [])
    assert run(graph, None, build(graph, 2)).size == 0


def test_options_are_checked() -> None:
    g = dg.from_edges(np.array([[1, 2], [2, 3]]))
    with pytest.raises(OptionError, match="k must be left out"):
        dg.betweenness_centrality(g, k=1, sources=[1])
    for k in (0, 4, -1):
        with pytest.raises(OptionError, match="k must be an integer from 1 to 3, "):
            dg.betweenness_centrality(g, k=k)
    with pytest.raises(OptionError, match="empty"):
        dg.betweenness_centrality(g, sources=[])
    with pytest.raises(VertexNotFoundError, match="99"):
        dg.betweenness_centrality(g, sources=[1, 99])
    one = dg.betweenness_centrality(g, sources=[1], normalized=False).compute()
    assert one.set_index("vertex")["betweenness"].fillna(-1).to_dict() == {1: -1, 2: 1, 3: 0}


def test_seed_and_default_are_repeatable() -> None:
    g = dg.from_edges(nx.karate_club_graph())
    theirs = nx.betweenness_centrality(nx.karate_club_graph(), k=10, seed=3)
    found = dg.betweenness_centrality(g, k=10, seed=3).compute().set_index("vertex")
    for v, value in theirs.items():
        assert found["betweenness"][v] == pytest.approx(value, rel=1e-9)
    assert dg.betweenness_centrality(g, k=10).compute()["betweenness"].notna().all()
