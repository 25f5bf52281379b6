"""A search over slow links spares supersteps, and finds what it finds without."""

from __future__ import annotations

from typing import Any

import dask
import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import dgraph as dg
from dgraph.algorithms.bfs import bfs_slot
from dgraph.engine.context import Context
from dgraph.engine.pool import run
from dgraph.errors import RunError, VertexNotFoundError
from dgraph.exchange.routing.ground import Ground
from dgraph.topology import CostModel, Topology
from dgraph.vertices.ids import IntIds
from tests.clusters import cluster
from tests.peers import joined, run_apart
from tests.reference import build, plain

SLOTS = 3

#: A superstep takes 10 ms between any two slots.
SLOW = CostModel((0.0, 0.0, 1e-2), (1e-9, 1e-9, 1e-9))
TREE = Topology.from_fanouts([1, 1, SLOTS])


def ranked(found: Any, shard: Any) -> list[Any]:
    """Return the levels of a slot, and the ranks of the parents: of either code for them."""
    codes = found["predecessor"].codes.astype(np.int64)
    ranks = np.where(codes < -1, -2 - codes, shard.rank[np.maximum(codes, 0)])
    return [found["distance"].values.tolist(), np.where(codes == -1, -1, ranks).tolist()]


def searched(shards: Any, sources: IntIds, limit: int | None) -> list[Any]:
    """Search over links that are said to be slow; return levels and parents of each slot."""

    async def program(ctx: Context, slot: int) -> list[Any]:
        assert ctx.gateways is not None
        ctx.gateways.network.kept = dict(enumerate(shards))
        found = await bfs_slot(ctx, shards[slot], sources, limit)
        return ranked(found, shards[slot])

    owners = range(SLOTS)
    with joined(owners) as links:
        ways = Ground(TREE, 1), "auto"
        return list(run_apart(program, owners, links, owners, ways, cost=SLOW).values())


@settings(max_examples=25)
@given(
    ends=st.lists(st.tuples(st.integers(0, 30), st.integers(0, 30)), min_size=1, max_size=60),
    directed=st.booleans(),
    limit=st.sampled_from([None, 0, 1, 2]),
    data=st.data(),
)
def test_levels_and_parents_are_those_of_one_process(
    ends: list[tuple[int, int]], directed: bool, limit: int | None, data: st.DataObject
) -> None:
    graph = plain(*np.array(ends).T, directed=directed)
    shards = build(graph, SLOTS)
    known = st.sampled_from(graph.ids.to_list())
    sources = IntIds(np.array(data.draw(st.lists(known, min_size=1, max_size=3, unique=True))))

    async def program(ctx: Context, slot: int) -> list[Any]:
        found = await bfs_slot(ctx, shards[slot], sources, limit)
        return ranked(found, shards[slot])

    assert searched(shards, sources, limit) == run(program, range(SLOTS), slots=SLOTS)


def test_a_source_that_is_no_vertex_is_named() -> None:
    shards = build(plain([1, 2, 2], [2, 3, 4]), SLOTS)
    with pytest.raises(RunError) as raised:
        searched(shards, IntIds(np.array([3, 77, 99])), None)
    assert isinstance(raised.value.__cause__, VertexNotFoundError)
    assert "got 77" in str(raised.value)


def stages_over_slow_links(edges: pd.DataFrame, source: int) -> dict[str, list[str]]:
    """Return by routing the stages of a search, which finds the same over each."""
    slow = {"alpha": [0.0, 1e-5, 1e-2], "beta": [1e-9] * 3}
    tree = Topology.from_fanouts([1, 2, 2])
    stages, found = {}, {}
    with (
        cluster(2) as client,
        client.as_current(),
        dask.config.set({"dgraph.cost": slow}),
        dg.from_edges(edges, topology=tree, virtual_slots=4) as g,
    ):
        for routing in ("direct", "auto"):
            with dask.config.set({"dgraph.routing": routing}):
                found[routing] = dg.bfs(g, source).compute().sort_values("vertex")
            steps = g.runs[-1].steps["stage"]
            stages[routing] = [each for each in steps if each not in ("routes", "output")]
    pd.testing.assert_frame_equal(found["direct"], found["auto"])
    return stages


def test_a_superstep_at_the_begin_and_what_finds_nothing_at_the_end_are_spared() -> None:
    """A hub with leaves: a level finds them, and they find nothing."""
    edges = pd.DataFrame({"source": np.zeros(40, np.int64), "target": np.arange(1, 41)})
    stages = stages_over_slow_links(edges, 0)
    assert stages["direct"][:2] == ["sources", "top-down"]
    assert len(stages["direct"]) > 2
    assert stages["auto"] == ["top-down"]


def test_a_frontier_is_told_of_as_it_is_found_where_the_search_will_turn() -> None:
    """A path to a vertex near many others, of which few have many edges."""
    random = np.random.default_rng(1)
    ends = np.zeros((2, 16000), np.int64)
    for _ in range(11):
        ends = 2 * ends + (random.random(ends.shape) > 0.65)
    path = np.array([[5000, 5001, 5002], [5001, 5002, 3]])
    edges = pd.DataFrame(np.hstack([ends, path]).T, columns=["source", "target"])
    stages = stages_over_slow_links(edges, 5000)
    # one tells of the frontier before the first bottom-up level, one of that after the last
    assert stages["direct"].count("bottom-up") == stages["auto"].count("bottom-up") + 2
    assert stages["auto"].count("bottom-up") > 0
