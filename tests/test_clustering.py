"""Triangles and local clustering: exact, however the graph is spread and the rows travel."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import networkx as nx
import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

import dgraph as dg
import dgraph.algorithms._wedges as wedges_module
from dgraph.algorithms.local_clustering import local_clustering_slot
from dgraph.algorithms.triangles import triangles, triangles_slot
from tests.harness import Steps, frame_of
from tests.reference import PlainGraph, build, plain
from tests.strategies import spread_graphs


def oracle(graph: PlainGraph) -> tuple[list[int], list[float]]:
    """Count the arcs among the neighbours of every vertex by looking at all pairs."""
    source, target, _ = graph.arcs
    arcs = set(zip(source.tolist(), target.tolist(), strict=True))
    counts, shares = [], []
    for v in range(graph.n):
        near = {u for arc in arcs if v in arc for u in arc} - {v}
        count = sum((u, w) in arcs for u in near for w in near if u != w)
        counts.append(count)
        shares.append(count / (len(near) * (len(near) - 1)) if len(near) > 1 else 0.0)
    return counts, shares


@given(drawn=spread_graphs(), room=st.sampled_from([0, 3, 2**24]))
def test_are_the_oracles_for_any_spread(drawn: Any, room: int) -> None:
    graph, spread = drawn
    counts, shares = oracle(graph)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(wedges_module, "ROUND", room)
        found = frame_of(local_clustering_slot, spread.shards(graph))
        want = pd.DataFrame({"vertex": graph.ids.to_pandas(), "clustering": shares})
        pd.testing.assert_frame_equal(
            found, want.astype({"clustering": "float64"}), check_exact=True
        )
        if not graph.directed:
            found = frame_of(triangles_slot, spread.shards(graph))
            halves = np.array(counts, np.int64) // 2
            want = pd.DataFrame({"vertex": graph.ids.to_pandas(), "triangles": halves})
            pd.testing.assert_frame_equal(found, want)


def hubs(directed: bool) -> PlainGraph:
    """Return a graph with parallel edges, loops, hubs, and many triangles."""
    rng = np.random.default_rng(5)
    ends = (rng.random((2, 3000)) ** 3 * 200).astype(np.int64)
    return plain(*ends, directed=directed, vertices=np.arange(200))


@pytest.mark.parametrize("slots", [1, 2, 5])
def test_triangles_are_those_of_networkx(slots: int) -> None:
    graph = hubs(directed=False)
    network = nx.Graph()
    network.add_nodes_from(range(200))
    network.add_edges_from(zip(graph.source.tolist(), graph.target.tolist(), strict=True))
    network.remove_edges_from(nx.selfloop_edges(network))
    found = frame_of(triangles_slot, build(graph, slots))
    assert dict(zip(found["vertex"], found["triangles"], strict=True)) == nx.triangles(network)


@pytest.mark.parametrize("directed", [False, True])
def test_rows_travel_in_bounded_rounds(directed: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    graph = hubs(directed)
    want = frame_of(local_clustering_slot, build(graph, 1))
    np.testing.assert_array_equal(want["clustering"], oracle(graph)[1])
    for room, least in ((2**24, 1), (100, 5)):
        monkeypatch.setattr(wedges_module, "ROUND", room)
        steps = Steps()
        found = frame_of(local_clustering_slot, build(graph, 3), observer=steps)
        pd.testing.assert_frame_equal(found, want)
        assert steps.stages.count("rows") >= least


def test_agrees_with_lagraph(shared: Path) -> None:
    lines = (shared / "data/lagraph/west0067.mtx").read_text().splitlines()
    rows = [line.split()[:2] for line in lines if not line.startswith("%")]
    ends = np.array(rows[1:], np.int64).T
    want = pd.read_csv(shared / "data/lagraph/expected/west0067-lcc.csv")
    found = frame_of(local_clustering_slot, build(plain(*ends, directed=True), 2))
    np.testing.assert_allclose(found.iloc[:, 1], want.iloc[:, 1], atol=5e-7)


def test_a_directed_graph_has_no_triangles() -> None:
    with (
        dg.from_edges(np.array([[1, 2]]), directed=True, slots=1) as g,
        pytest.raises(ValueError, match="directed=False"),
    ):
        triangles(g)
