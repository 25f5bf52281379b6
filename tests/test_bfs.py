"""Breadth-first search: the oracle's answer, bit for bit, however the graph is spread."""

from __future__ import annotations

from itertools import groupby
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

import dgraph.algorithms.bfs as bfs_module
import dgraph.engine.context as context_module
from dgraph.algorithms.bfs import bfs_slot
from dgraph.engine.records import Recorder
from dgraph.errors import VertexNotFoundError
from dgraph.topology import Topology
from dgraph.vertices.ids import Ids
from tests import oracles
from tests.harness import Steps, frame_of
from tests.reference import PlainGraph, as_ids, build, plain
from tests.strategies import spread_graphs


def expected(graph: PlainGraph, sources: list[int], limit: int | None) -> pd.DataFrame:
    distance, predecessor = map(np.array, oracles.bfs(graph, sources, limit))
    ids = graph.ids
    return pd.DataFrame(
        {
            "vertex": ids.to_pandas(),
            "distance": pd.arrays.IntegerArray(distance.astype(np.int64), distance < 0),
            "predecessor": ids.take(np.maximum(predecessor, 0)).to_nullable(predecessor < 0),
        }
    )


@given(data=st.data(), drawn=spread_graphs(least=1))
def test_is_the_oracles_for_any_spread_and_direction(data: st.DataObject, drawn: Any) -> None:
    graph, spread = drawn
    sources = data.draw(
        st.lists(st.integers(0, graph.n - 1), min_size=1, max_size=3, unique=True)
    )
    limit = data.draw(st.none() | st.integers(0, 4))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(bfs_module, "ALPHA", data.draw(st.sampled_from([0, 3, 15, 10**9])))
        patch.setattr(bfs_module, "BETA", data.draw(st.sampled_from([1, 2, 18])))
        patch.setattr(context_module, "MOST_COMPANIONS", data.draw(st.sampled_from([0, 16])))
        found = frame_of(
            bfs_slot, spread.shards(graph), graph.ids.take(np.array(sources)), limit
        )
    pd.testing.assert_frame_equal(found, expected(graph, sources, limit))


@given(data=st.data(), drawn=spread_graphs(least=1))
def test_what_a_slot_does_for_all_is_recorded_as_if_each_did_it(
    data: st.DataObject, drawn: Any
) -> None:
    graph, spread = drawn
    source = graph.ids.take(np.array([data.draw(st.integers(0, graph.n - 1))]))
    shards, sent = spread.shards(graph), []
    for most in (0, 16):
        recorder = Recorder(Topology.from_fanouts([spread.slots]), range(spread.slots))
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(bfs_module, "ALPHA", 0)  # only top-down
            patch.setattr(context_module, "MOST_COMPANIONS", most)
            frame_of(bfs_slot, shards, source, None, observer=recorder)
        log = recorder.log("output")
        pushed = log.counts[log.stage == log.stages.index("top-down")]
        # one exchange before the first level, and the last level finds nothing
        sent.append([row.tolist() for row in pushed if row.any()])
        assert len(log.times) == len(log.counts) == len(log.stage)
        assert (log.times >= 0).all()
    assert sent[0] == sent[1]


def kronecker(scale: int = 10) -> PlainGraph:
    """Return a graph with hubs, so that the direction changes both ways."""
    rng = np.random.default_rng(1)
    ends = np.zeros((2, 8 << scale), np.int64)
    for _ in range(scale):
        ends = 2 * ends + (rng.random(ends.shape) > 0.65)
    return plain(*ends, directed=True, duplicates="min", self_loops="drop")


@pytest.mark.parametrize("slots", [1, 2, 5])
def test_changes_direction_both_ways(slots: int) -> None:
    graph = kronecker()
    recorder = Recorder(Topology.from_fanouts([slots]), range(slots))
    source = int(np.argmin(np.where(graph.degree > 1, graph.degree, 99)))
    ids = graph.ids.take(np.array([source]))
    found = frame_of(bfs_slot, build(graph, slots), ids, None, observer=recorder)
    pd.testing.assert_frame_equal(found, expected(graph, [source], None))
    log = recorder.log("output")
    runs = [log.stages[stage] for stage, _ in groupby(log.stage.tolist())]
    assert runs == ["sources", "top-down", "bottom-up", "top-down", "output"]


def test_a_superstep_a_level() -> None:
    n = 3000
    graph = plain(np.arange(n - 1), np.arange(1, n))
    recorder = Recorder(Topology.from_fanouts([3]), range(3))
    found = frame_of(bfs_slot, build(graph, 3), as_ids([0]), None, observer=recorder)
    assert found["distance"].tolist() == list(range(n))
    log = recorder.log("output")
    steps = np.count_nonzero(log.stage != log.stages.index("output"))
    # the last levels may go bottom-up, with a change before each
    assert n <= steps <= n + 60


@pytest.mark.parametrize("threads", [1, 2])
def test_a_limit_beyond_every_integer_dtype_is_none(threads: int) -> None:
    graph = plain([1, 2, 3], [2, 3, 4])
    for limit in (2**63, 10**20):
        found = frame_of(bfs_slot, build(graph, 2), as_ids([1]), limit, threads=threads)
        assert found["distance"].tolist() == [0, 1, 2, 3]


@pytest.mark.parametrize("sources", [as_ids([1, 99]), as_ids(["99"])])
@pytest.mark.parametrize("slots", [1, 3])
def test_an_unknown_source_is_named_before_any_superstep(sources: Ids, slots: int) -> None:
    graph, steps = plain([1, 2, 3], [2, 3, 1]), Steps()
    with pytest.raises(VertexNotFoundError, match="99"):
        frame_of(bfs_slot, build(graph, slots), sources, None, observer=steps)
    assert set(steps.stages) == {"sources"}
