"""Core numbers: those of networkx, however the graph is spread."""

from __future__ import annotations

from typing import Any

import networkx as nx
import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

import dgraph as dg
import dgraph.algorithms.core_number as core_module
from dgraph.algorithms.core_number import core_number, core_number_slot
from tests.harness import Steps, frame_of
from tests.reference import PlainGraph, build, plain
from tests.strategies import spread_graphs


def expected(graph: PlainGraph) -> pd.DataFrame:
    """Ask networkx, which wants no loops and merges parallel edges itself."""
    network = nx.Graph()
    network.add_nodes_from(range(graph.n))
    network.add_edges_from(zip(graph.source.tolist(), graph.target.tolist(), strict=True))
    network.remove_edges_from(list(nx.selfloop_edges(network)))
    cores = nx.core_number(network)
    core = np.array([cores[v] for v in range(graph.n)], np.int64)
    return pd.DataFrame({"vertex": graph.ids.to_pandas(), "core": core})


@given(drawn=spread_graphs(), patience=st.sampled_from([0, 1, 2, 50]))
def test_is_that_of_networkx_for_any_spread(drawn: Any, patience: int) -> None:
    graph, spread = drawn
    if not graph.directed:
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(core_module, "PATIENCE", patience)
            found = frame_of(core_number_slot, spread.shards(graph))
        pd.testing.assert_frame_equal(found, expected(graph))


@pytest.mark.parametrize("patience", [0, 1, 50])
@pytest.mark.parametrize("slots", [1, 2, 5])
def test_is_that_of_networkx_with_hubs(
    slots: int, patience: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(core_module, "PATIENCE", patience)
    rng = np.random.default_rng(2)
    ends = (rng.random((2, 6000)) ** 3 * 500).astype(np.int64)
    graph = plain(*ends, vertices=np.arange(500))
    found = frame_of(core_number_slot, build(graph, slots))
    pd.testing.assert_frame_equal(found, expected(graph))


def test_a_path_takes_no_superstep_for_each_of_its_vertices() -> None:
    n = 400
    graph = plain(np.arange(n - 1), np.arange(1, n))
    for patience, most in ((10, 10 + 4), (1000, n // 2 + 3)):
        steps = Steps()
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(core_module, "PATIENCE", patience)
            found = frame_of(core_number_slot, build(graph, 3), observer=steps)
        assert found["core"].eq(1).all()
        assert ("finish" in steps.stages) == (patience < n // 2)
        assert steps.count() <= most


def test_a_directed_graph_has_no_cores() -> None:
    with (
        dg.from_edges(np.array([[1, 2]]), directed=True, slots=1) as g,
        pytest.raises(ValueError, match="directed=False"),
    ):
        core_number(g)
