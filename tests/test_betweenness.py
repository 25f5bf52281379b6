"""Betweenness: networkx's numbers and exact ones, however the graph is spread."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import replace
from fractions import Fraction
from typing import Any

import networkx as nx
import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from numpy.typing import NDArray

import dgraph as dg
import dgraph.algorithms._path_counts as path_counts
import dgraph.algorithms.betweenness_centrality as module
from dgraph.algorithms._brandes import survey
from dgraph.algorithms._terms import cut, grids_for
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
    found = run_with_room(
        data.draw(ROOMS),
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
def test_any_two_spreads_give_the_same_bits(data: st.DataObject, graph: PlainGraph) -> None:
    if graph.weight is not None:
        graph = replace(graph, weight=graph.weight + 0.1)  # above 0
    chosen = data.draw(st.sampled_from([None, Sample(max(graph.n // 2, 1), 3)]))
    options = {name: data.draw(st.booleans()) for name in ("weighted", "endpoints")}
    assert_same_bits(
        run_with_room(data.draw(ROOMS), graph, chosen, spread.shards(graph), **options)
        for spread in (data.draw(spreads(graph)) for _ in range(2))
    )


#: Bytes for a batch: of one source, of several, of all.
ROOMS = st.sampled_from([0, 1500, 2**25])


def run_with_room(room: int, *arguments: Any, **options: Any) -> Array:
    """Return betweenness, with so many bytes for a batch of sources."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "BATCH", room)
        return run(*arguments, **options)


def assert_same_bits(results: Iterable[Array]) -> None:
    first, *others = results
    for other in others:
        np.testing.assert_array_equal(other.view(np.int64), first.view(np.int64))


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
    sigma = np.array([path_counts.LARGE, path_counts.EXACT, path_counts.EXACT - 1])
    offsets = np.zeros(4, np.int64)
    found = [survey(np.array([v], np.int32), 1, offsets, offsets, sigma)[2:] for v in range(3)]
    assert found == [(1, 1), (1, 0), (0, 0)]


def lattice(height: int, width: int, weights: Any = None) -> PlainGraph:
    """Return a grid whose vertices are numbered at random."""
    at = np.random.default_rng(4).permutation(height * width).reshape(height, width)
    source = np.concatenate([at[1:].ravel(), at[:, 1:].ravel()])
    target = np.concatenate([at[:-1].ravel(), at[:, :-1].ravel()])
    return plain(source, target, None if weights is None else weights(source.size))


def uneven(count: int) -> Array:
    return np.random.default_rng(5).choice([0.1, 0.2, 0.3], count)


@pytest.mark.parametrize(
    ("graph", "weighted"),
    [
        (lattice(15, 15), False),
        (lattice(15, 15, uneven), True),
        (lattice(40, 40), False),  # up to 10**23 paths
        (lattice(40, 40, np.ones), True),
        (layered(150, 6, directed=True), False),  # up to 6**148
        (layered(500, 6), False),  # up to 6**498
    ],
    ids=["small", "small, weights", "many", "many, weights", "more", "beyond floats"],
)
def test_any_spread_and_batch_gives_the_same_bits(graph: PlainGraph, weighted: bool) -> None:
    rng = np.random.default_rng(6)
    layouts = [(build(graph), 2**25), (build(graph, 2), 2**25)]
    for slots, room in ((2, 0), (3, 2**20), (5, 2**17)):
        layouts.append((build(graph, slots, rng.integers(0, slots, graph.n)), room))
    assert_same_bits(
        run_with_room(room, graph, Sample(7, 1), shards, weighted=weighted, endpoints=True)
        for shards, room in layouts
    )


@given(
    st.lists(st.floats(0, 1000), max_size=200),
    st.integers(0, 2**32),
    st.integers(1, 5),
)
def test_terms_add_up_alike_in_any_sequence(terms: list[float], seed: int, parts: int) -> None:
    rng, grids = np.random.default_rng(seed), grids_for(2**18, 200)
    assume(sum(terms) < 2**18)
    pairs = np.array([cut(x, grids) for x in terms]).reshape(-1, 2)
    sums = [0.0, 0.0]
    for some in np.array_split(rng.permutation(pairs), parts):
        part = [0.0, 0.0]
        for pair in some.tolist():
            part = [part[0] + pair[0], part[1] + pair[1]]
        sums = [sums[0] + part[0], sums[1] + part[1]]
    exact = [sum(map(Fraction, some), Fraction(0)) for some in pairs.T.tolist()]
    assert [Fraction(some) for some in sums] == exact
    lost = sum(exact, Fraction(0)) - sum(map(Fraction, terms), Fraction(0))
    assert abs(lost) <= len(terms) * Fraction(2) ** -(51 - 19 + 52 - 8)  # a unit each


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
