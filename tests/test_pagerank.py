"""PageRank: near the dense oracle, and the same bits however the graph is spread."""

from __future__ import annotations

from itertools import pairwise
from typing import Any
from unittest import mock

import networkx as nx
import numpy as np
import pandas as pd
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from dgraph.algorithms import pagerank as module
from dgraph.algorithms.pagerank import Portions, _as_portions, _parts, pagerank_slot
from dgraph.errors import EdgeValueError, VertexNotFoundError
from tests import oracles
from tests.harness import Steps, frame_of
from tests.reference import PlainGraph, as_ids, build, plain
from tests.strategies import spread_graphs, spreads


def portions(graph: PlainGraph, values: dict[int, float] | None) -> Portions | None:
    """Return what `pagerank` makes of the values of some vertices, given by order."""
    if values is None:
        return None
    numbers = np.array(list(values.values()))
    return graph.ids.take(np.array(list(values), np.int64)), numbers / numbers.sum()


def rank(shards: Any, *options: Any, observer: Any = None) -> pd.DataFrame:
    return frame_of(pagerank_slot, shards, *options, observer=observer)


@given(data=st.data(), drawn=spread_graphs())
def test_is_near_the_oracle_and_the_same_on_any_spread(data: st.DataObject, drawn: Any) -> None:
    graph, spread = drawn
    number = st.floats(0.0, 10.0).map(lambda x: x + 0.1)
    some = st.none() | st.dictionaries(st.integers(0, graph.n - 1), number, min_size=1)
    restart, dangling = (data.draw(some) if graph.n else None for _ in range(2))
    alpha = data.draw(st.sampled_from([0.0, 0.5, 0.85, 0.99]))
    max_iter = data.draw(st.integers(1, 60))
    tol = data.draw(st.sampled_from([None, 1e-1, 1e-6]))
    weighted = data.draw(st.booleans())
    options = (
        alpha, portions(graph, restart), max_iter, tol, weighted, portions(graph, dangling)
    )  # fmt: skip
    with mock.patch.object(module, "LITTLE", data.draw(st.sampled_from([1, 9, 2**16]))):
        found = rank(spread.shards(graph), *options)
    wanted, converged = oracles.pagerank(
        graph, alpha, restart, max_iter, tol, weighted, dangling
    )
    assert found["vertex"].tolist() == graph.ids.to_list()
    np.testing.assert_allclose(found["rank"], wanted, rtol=1e-9, atol=1e-12)
    assert found.attrs["converged"] == converged
    assert found.attrs["rounds"] in range(1 if converged else max_iter, max_iter + 1)
    other = rank(data.draw(spreads(graph)).shards(graph), *options)
    pd.testing.assert_frame_equal(found, other, check_exact=True)


@given(degrees=st.lists(st.integers(0, 2000), max_size=300), little=st.sampled_from([1, 400]))
def test_parts_hold_every_master_once_and_get_smaller(degrees: list[int], little: int) -> None:
    offsets = np.concatenate([[0], np.cumsum(degrees, dtype=np.int64)])
    with mock.patch.object(module, "LITTLE", little):
        parts = _parts(offsets)
    assert [master for part in parts for master in range(*part)] == list(range(len(degrees)))
    assert all(end == begin for (_, end), (begin, _) in pairwise(parts))
    assert len(parts) <= 16
    least = min(little, 4)
    for first, last in parts[:-1]:
        assert offsets[last] - offsets[first] + 4 * (last - first) >= least


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("directed", [False, True])
def test_networkx_agrees(directed: bool, weighted: bool) -> None:
    rng = np.random.default_rng(7)
    source, target, weight = (*rng.integers(0, 300, (2, 1200)), rng.random(1200))
    graph = plain(
        source, target, weight, directed=directed, vertices=np.arange(310), duplicates="min"
    )
    whole = nx.DiGraph() if directed else nx.Graph()
    whole.add_nodes_from(range(310))
    ends = zip(graph.source.tolist(), graph.target.tolist(), strict=True)
    assert graph.weight is not None
    whole.add_weighted_edges_from(
        (*pair, w) for pair, w in zip(ends, graph.weight, strict=True)
    )
    start = {3: 1.0, 305: 2.0}
    wanted = nx.pagerank(
        whole,
        personalization=start,
        tol=1e-14,
        max_iter=500,
        weight="weight" if weighted else None,
    )
    found = rank(build(graph, 3), 0.85, portions(graph, start), 500, 1e-12, weighted)
    assert found["rank"].sum() == pytest.approx(1, abs=1e-12)
    np.testing.assert_allclose(found["rank"], [wanted[v] for v in range(310)], atol=1e-12)


@pytest.fixture
def coarse(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let shares have 32 bits in small graphs too."""
    monkeypatch.setattr("dgraph.algorithms.pagerank.MANY", 0)


@pytest.mark.usefixtures("coarse")
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data(), drawn=spread_graphs())
def test_rounds_that_are_not_exact_change_only_where_it_begins(
    data: st.DataObject, drawn: Any
) -> None:
    graph, spread = drawn
    alpha = data.draw(st.sampled_from([0.0, 0.5, 0.85, 0.99]))
    tol = data.draw(st.sampled_from([1e-1, 1e-6, 1e-12]))
    options = alpha, None, 3000, tol, False, None
    found = rank(spread.shards(graph), *options)
    exact, _ = oracles.pagerank(graph, alpha, None, 5000, 1e-15, False, None)
    assert found.attrs["converged"]
    # both are within alpha / (1 - alpha) times the last change of where the iteration ends
    assert np.abs(found["rank"] - exact).sum() <= tol * alpha / (1 - alpha) + 1e-12
    other = rank(data.draw(spreads(graph)).shards(graph), *options)
    pd.testing.assert_frame_equal(found, other, check_exact=True)


@pytest.mark.usefixtures("coarse")
def test_rounds_that_are_not_exact_end_where_rounding_keeps_ranks_moving() -> None:
    star = plain(np.array([0, 0]), np.array([1, 2]), vertices=np.arange(7))
    found = rank(build(star, 1), 0.99, None, 5000, 1e-12)
    exact, _ = oracles.pagerank(star, 0.99, None, 9000, 1e-15)
    assert found.attrs["converged"]
    np.testing.assert_allclose(found["rank"], exact, rtol=1e-9)


@pytest.mark.usefixtures("coarse")
@pytest.mark.parametrize("tol", [1e-3, 1e-9])
def test_the_last_rounds_are_exact(tol: float) -> None:
    rng = np.random.default_rng(3)
    shards = build(plain(*rng.integers(0, 200, (2, 900))), 3)
    steps = Steps()
    found = rank(shards, 0.85, None, 200, tol, observer=steps)
    rounds = found.attrs["rounds"]
    assert len(steps.stages) == rounds + 2  # what was sent before the first exact round
    exact = rank(shards, 0.85, None, rounds, None)
    np.testing.assert_allclose(found["rank"], exact["rank"], rtol=1e-6)
    assert np.abs(found["rank"] - exact["rank"]).max() > 0


@pytest.mark.usefixtures("coarse")
def test_a_share_that_32_bits_do_not_hold_makes_all_exact() -> None:
    leaves = np.arange(1, 1000)
    ends = np.append(0 * leaves, 1)  # the hub gives the half of all ranks along one arc
    graph = plain(np.append(leaves, 0), ends, directed=True)
    shards = build(graph, 3)
    found = rank(shards, 0.85, None, 300, 1e-3)
    exact = rank(shards, 0.85, None, found.attrs["rounds"], None)
    np.testing.assert_allclose(found["rank"], exact["rank"], rtol=1e-6)


def test_one_superstep_a_round() -> None:
    steps = Steps()
    found = rank(build(plain([1, 2, 3], [2, 3, 1]), 2), 0.85, None, 20, None, observer=steps)
    assert found.attrs == {"converged": True, "rounds": 20}
    assert steps.stages == ["ranks"] * 21  # the last says what the last round has changed


def test_says_that_it_has_not_converged() -> None:
    shards = build(plain([1, 2, 3, 3], [2, 3, 1, 4], directed=True), 2)
    assert rank(shards, 0.85, None, 3, 1e-12).attrs == {"converged": False, "rounds": 3}
    found = rank(shards, 0.85, None, 300, 1e-12).attrs
    assert found["converged"]
    fewest = found["rounds"]
    assert rank(shards, 0.85, None, fewest, 1e-12).attrs == found
    assert not rank(shards, 0.85, None, fewest - 1, 1e-12).attrs["converged"]


@pytest.mark.parametrize("scale", [1e-300, 1.0, 1e300])
def test_only_ratios_of_weights_matter(scale: float) -> None:
    weight = np.array([1.0, 2.0, 5.0, 0.5]) * scale
    shards = build(plain([1, 2, 3, 3], [2, 3, 1, 4], weight, directed=True), 2)
    once = build(plain([1, 2, 3, 3], [2, 3, 1, 4], weight / scale, directed=True), 1)
    found, wanted = (rank(some, 0.85, None, 50, None)["rank"] for some in (shards, once))
    np.testing.assert_allclose(found, wanted, rtol=1e-12)


@pytest.mark.parametrize("slots", [1, 3])
def test_a_negative_weight_is_refused_and_its_edge_named(slots: int) -> None:
    graph = plain(["a", "b", "c"], ["b", "c", "d"], [1, -2, 1], directed=True)
    with pytest.raises(EdgeValueError, match="-2 on the edge from 'b' to 'c'"):
        rank(build(graph, slots))
    rank(build(graph, slots), 0.85, None, 100, 1e-6, False)


def test_an_unknown_vertex_in_personalization_is_named() -> None:
    graph = plain([1, 2], [2, 3])
    with pytest.raises(VertexNotFoundError, match="77"):
        rank(build(graph, 2), 0.85, (as_ids([1, 77]), np.array([0.5, 0.5])))


@pytest.mark.parametrize("slots", [1, 3])
@pytest.mark.parametrize(
    ("weight", "message"), [(1e-309, "at least 5.6e-309"), (1e308, "sum is at most 1.8e308")]
)
def test_weights_at_the_ends_of_float64_are_refused(
    weight: float, message: str, slots: int
) -> None:
    shards = build(plain([2, 2], [1, 3], np.full(2, weight)), slots)
    with pytest.raises(EdgeValueError, match=message):
        rank(shards)


@pytest.mark.parametrize("weight", [1e-307, 4e307])
def test_weights_near_them_are_as_any_others(weight: float) -> None:
    found, wanted = (
        rank(build(plain([2, 2], [1, 3], np.full(2, some)), 2)) for some in (weight, 1.0)
    )
    np.testing.assert_allclose(found["rank"], wanted["rank"], rtol=1e-12)


def test_values_of_any_size_are_portions() -> None:
    ids, numbers = _as_portions({1: 1e308, 2: 1e308}, "int64", "personalization") or ((), ())
    assert len(ids) == 2
    assert list(numbers) == [0.5, 0.5]
