"""Strong components: those of scipy, named by their smallest vertex, however spread."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

import dgraph as dg
import dgraph.algorithms.strong_components as strong_module
from dgraph.algorithms.strong_components import strong_components_slot
from tests.harness import Steps, frame_of
from tests.reference import PlainGraph, build, plain
from tests.strategies import spread_graphs


def expected(graph: PlainGraph) -> pd.DataFrame:
    ones = np.ones(len(graph.source))
    matrix = coo_array((ones, (graph.source, graph.target)), shape=(graph.n, graph.n))
    smallest = np.zeros(0, np.int64)
    if graph.n:
        count, label = connected_components(matrix, directed=True, connection="strong")
        least = np.full(count, graph.n)
        np.minimum.at(least, label, np.arange(graph.n))
        smallest = least[label]
    ids = graph.ids
    return pd.DataFrame(
        {"vertex": ids.to_pandas(), "component": ids.take(smallest).to_pandas()}
    )


@pytest.fixture(autouse=True)
def nothing_is_small(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let small graphs be searched as large ones are."""
    monkeypatch.setattr(strong_module, "SMALL", 0)


@given(
    drawn=spread_graphs(),
    finish=st.sampled_from([0.0, 0.5, 1.0]),
    patience=st.sampled_from([0, 1, 2, 500]),
)
def test_are_those_of_scipy_for_any_spread(drawn: Any, finish: float, patience: int) -> None:
    graph, spread = drawn
    if not graph.directed:
        return
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(strong_module, "FINISH", finish)
        patch.setattr(strong_module, "PATIENCE", patience)
        found = frame_of(strong_components_slot, spread.shards(graph))
    pd.testing.assert_frame_equal(found, expected(graph))


def chain_of_cycles(count: int, length: int) -> PlainGraph:
    """Return cycles, each with an edge to the next."""
    vertex = np.arange(count * length)
    after = vertex + 1
    after[length - 1 :: length] -= length
    first = vertex[::length]
    return plain(np.append(vertex, first[:-1]), np.append(after, first[1:]), directed=True)


@pytest.mark.parametrize("slots", [2, 3])
@pytest.mark.parametrize("finish", [0.0, 1.0])
@pytest.mark.parametrize("shape", ["random", "hubs", "chain", "path"])
def test_are_those_of_scipy(
    shape: str, finish: float, slots: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    rng = np.random.default_rng(4)
    graph = {
        "random": lambda: plain(*rng.integers(0, 900, (2, 1000)), directed=True),
        "hubs": lambda: plain(
            *(rng.random((2, 3000)) ** 3 * 800).astype(np.int64), directed=True
        ),
        "chain": lambda: chain_of_cycles(60, 3),
        "path": lambda: plain(np.arange(200), np.arange(1, 201), directed=True),
    }[shape]()
    monkeypatch.setattr(strong_module, "FINISH", finish)
    found = frame_of(strong_components_slot, build(graph, slots))
    pd.testing.assert_frame_equal(found, expected(graph))


def test_a_chain_falls_apart_in_few_turns(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(strong_module, "FINISH", 0.0)
    steps = Steps()
    graph = chain_of_cycles(300, 2)
    frame_of(strong_components_slot, build(graph, 2), observer=steps)
    assert steps.stages.count("count") < 20


def test_a_small_rest_is_finished_by_one_slot() -> None:
    steps = Steps()
    graph = chain_of_cycles(300, 2)
    frame_of(strong_components_slot, build(graph, 2), observer=steps)
    assert steps.stages.count("count") <= 5
    assert steps.stages.count("finish") == 3


@pytest.mark.parametrize("slots", [2, 5])
def test_a_small_graph_is_finished_at_once(slots: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(strong_module, "SMALL", 100_000)
    steps = Steps()
    graph = chain_of_cycles(10_000, 3)
    found = frame_of(strong_components_slot, build(graph, slots), observer=steps)
    pd.testing.assert_frame_equal(found, expected(graph))
    assert steps.stages.count("finish") == steps.count() == 3


@pytest.mark.parametrize("slots", [2, 5])
def test_a_search_along_a_long_chain_is_given_up(slots: int) -> None:
    steps = Steps()
    graph = chain_of_cycles(10_000, 3)
    found = frame_of(strong_components_slot, build(graph, slots), observer=steps)
    pd.testing.assert_frame_equal(found, expected(graph))
    assert steps.count() < 150  # of 20,000 that go over to another slot
    assert steps.stages.count("finish") == 3


def test_is_what_connection_strong_asks_for() -> None:
    edges = np.array([[1, 2], [2, 1], [2, 3]])
    with dg.from_edges(edges, directed=True, slots=1) as g:
        found = dg.connected_components(g, connection="strong").compute()
    assert found.sort_values("vertex")["component"].tolist() == [1, 1, 3]
    with dg.from_edges(edges, slots=1) as g:
        found = dg.connected_components(g, connection="strong").compute()
        with pytest.raises(ValueError, match="strong"):
            dg.connected_components(g, connection="string")
    assert found["component"].tolist() == [1, 1, 1]
