"""Connected components: the oracle's labels, however the graph is spread."""

from __future__ import annotations

from typing import Any

import networkx as nx
import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

import dgraph.algorithms.connected_components as module
from dgraph.algorithms._forest import Forest
from dgraph.algorithms.connected_components import connected_components_slot
from tests import oracles
from tests.harness import Steps, frame_of
from tests.reference import PlainGraph, build, plain
from tests.strategies import spread_graphs


def expected(graph: PlainGraph) -> pd.DataFrame:
    smallest = np.array(oracles.components(graph), np.int64)
    return pd.DataFrame(
        {
            "vertex": graph.ids.to_pandas(),
            "component": graph.ids.take(smallest).to_pandas(),
        }
    )


@given(st.lists(st.lists(st.tuples(st.integers(0, 99), st.integers(0, 99)))), st.booleans())
def test_the_smallest_label_of_a_tree_is_its_root(
    batches: list[list[tuple[int, int]]], far: bool
) -> None:
    spread = 2**44 if far else 1  # labels of the same hash are as good
    forest, joined = Forest(np.int64), nx.Graph()
    for pairs in batches:
        left, right = np.array(pairs, np.int64).reshape(-1, 2).T * spread
        forest.join(left, right)
        joined.add_edges_from(zip(left.tolist(), right.tolist(), strict=True))
    smallest = {v: min(some) for some in nx.connected_components(joined) for v in some}
    labels, roots = forest.star()
    assert dict(zip(labels.tolist(), roots.tolist(), strict=True)) == {
        label: root for label, root in smallest.items() if label != root
    }
    asked = np.arange(100) * spread
    told = forest.smallest(asked)
    assert told.tolist() == [smallest.get(label, label) for label in asked.tolist()]


@given(drawn=spread_graphs(), rounds=st.integers(0, 2), some=st.sampled_from([1, 2, 16]))
def test_is_the_oracles_for_any_spread(drawn: Any, rounds: int, some: int) -> None:
    graph, spread = drawn
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "ROUNDS", rounds)
        patch.setattr(module, "SOME", some)
        found = frame_of(connected_components_slot, spread.shards(graph))
    pd.testing.assert_frame_equal(found, expected(graph))


@pytest.mark.parametrize("directed", [False, True])
@pytest.mark.parametrize("slots", [1, 2, 5])
def test_many_components(slots: int, directed: bool) -> None:
    rng = np.random.default_rng(slots)
    graph = plain(*rng.integers(0, 2000, (2, 900)), directed=directed, vertices=np.arange(2000))
    found = frame_of(connected_components_slot, build(graph, slots))
    pd.testing.assert_frame_equal(found, expected(graph))


@pytest.mark.parametrize("bridges", [[], [(40, 41)]])
def test_edges_left_out_in_vain_are_linked_after_all(bridges: list[tuple[int, int]]) -> None:
    """Each slot has a large tree, and the only edge between them is among those left out."""
    clique = [(u, v) for u in range(20) for v in range(u)]
    other = [(u + 20, v + 20) for u, v in clique]
    light = [(40, v) for v in range(5)] + [(41, v + 20) for v in range(5)]
    graph, steps = plain(*np.array(clique + other + light + bridges).T), Steps()
    owner = np.repeat([0, 1, 0, 1], [20, 20, 1, 1])
    found = frame_of(connected_components_slot, build(graph, 2, owner), observer=steps)
    pd.testing.assert_frame_equal(found, expected(graph))
    once = ["labels", "labels", "merge", "merge"]
    assert steps.stages == [*once, *once, "output", "output"]


@pytest.mark.parametrize("placement", ["degree", "hash", "chunk"])
@pytest.mark.parametrize("slots", [2, 6, 64])
def test_a_long_path_takes_few_supersteps(slots: int, placement: str) -> None:
    n, steps = 100_000, Steps()
    graph = plain(np.arange(n - 1), np.arange(1, n))
    hashed = (np.arange(n) * 2654435761) % 2**32
    owner = {"hash": hashed % slots, "chunk": np.arange(n) * slots // n}.get(placement)
    found = frame_of(connected_components_slot, build(graph, slots, owner), observer=steps)
    assert (found["component"] == 0).all()
    assert steps.count() < 20


def test_a_path_of_a_million_vertices() -> None:
    n, steps = 1_000_000, Steps()
    graph = plain(np.arange(n - 1), np.arange(1, n))
    owner = np.random.default_rng(0).integers(0, 6, n)
    found = frame_of(connected_components_slot, build(graph, 6, owner), observer=steps)
    assert (found["component"] == 0).all()
    assert steps.count() == 2 + 2 * 3
