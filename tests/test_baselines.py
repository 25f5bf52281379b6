"""The partitioners to compare with do what their readings say, each beside a plainer oracle."""

from __future__ import annotations

from collections import deque
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dgraph.build.strategy import Totals, VertexBlock
from dgraph.placement import Adp, Fennel, TopoX, TwoD
from dgraph.placement.adp import _costs
from dgraph.placement.halving import leaf_order
from dgraph.placement.whole import Whole
from dgraph.placement.xtree import _decide
from dgraph.topology import Topology
from dgraph.vertices.ids import IntIds
from tests.placed import rows_of, small_graphs

CROSSED = Topology.from_paths({0: "a/x", 1: "b/y", 2: "a/x", 3: "b/y"})


def whole_of(n: int, edges: list[tuple[int, int]]) -> tuple[Whole, list[int]]:
    """Return a graph by rank, and the vertex of each rank."""
    offsets, targets, by_rank = rows_of(n, edges)
    return Whole(offsets, targets, None, np.array(by_rank, np.int32)), by_rank


def lists_of(whole: Whole) -> list[list[int]]:
    return [
        whole.targets[a:b].tolist()
        for a, b in zip(whole.offsets, whole.offsets[1:], strict=False)
    ]


@given(small_graphs)
def test_xtree_cuts_the_order_of_a_search_along_the_leaves(
    graph: tuple[int, list[tuple[int, int]]],
) -> None:
    whole, _ = whole_of(*graph)
    rows, found = lists_of(whole), []
    seen: set[int] = set()
    for hub in range(whole.n):
        todo = deque([hub] if hub not in seen else [])
        seen.add(hub)
        while todo:
            found.append(todo.popleft())
            new = [u for u in rows[found[-1]] if u not in seen]
            seen.update(new)
            todo += new
    owner = _decide(whole, CROSSED)
    run = np.argsort(leaf_order(CROSSED))[owner[found]]  # the place among the leaves
    assert run.tolist() == [at * 4 // whole.n for at in range(whole.n)]
    assert sorted(leaf_order(CROSSED)[:2].tolist()) in ([0, 2], [1, 3])


@given(small_graphs, st.sampled_from([1.2, 1.5, 2.0]))
def test_fennel_takes_the_best_score(
    graph: tuple[int, list[tuple[int, int]]], gamma: float
) -> None:
    whole, by_rank = whole_of(*graph)
    n, slots, edges = whole.n, 3, len(whole.targets) / 2
    rows = lists_of(whole)
    cap = max(-(-n // slots), int(1.05 * n / slots))
    alpha = edges * slots ** (gamma - 1) / n**gamma
    owner, sizes = np.full(n, -1), [0] * slots
    for v in np.argsort(by_rank).tolist():
        scores = [
            sum(owner[u] == s for u in rows[v]) - alpha * gamma * sizes[s] ** (gamma - 1)
            for s in range(slots)
        ]
        best = max((s for s in range(slots) if sizes[s] < cap), key=scores.__getitem__)
        owner[v], sizes[best] = best, sizes[best] + 1
    assert Fennel(gamma=gamma)._decide(whole, slots).tolist() == owner.tolist()


@given(small_graphs, st.sampled_from([0.0, 1.0, 5.0]))
def test_adp_never_makes_the_costliest_slot_costlier(
    graph: tuple[int, list[tuple[int, int]]], replica: float
) -> None:
    whole, _ = whole_of(*graph)
    rows, slots = lists_of(whole), 3
    begun, done = (Adp(replica, turns)._decide(whole, slots) for turns in (0, 4))
    assert (np.diff(begun[np.argsort(whole.order)]) >= 0).all()  # runs of ids
    ends = []
    for owner in (begun, done):
        cost = [0.0] * slots
        for v, row in enumerate(rows):
            cost[owner[v]] += len(row) + 1
            for s in {owner[u] for u in row} - {owner[v]}:
                cost[s] += replica
        assert _costs(whole.offsets, whole.targets, owner, slots, replica).tolist() == cost
        ends.append(cost)
    if replica == 0:  # else giving a vertex away makes replicas
        assert max(ends[1]) <= max(ends[0])


def test_adp_gives_the_edges_of_the_fullest_slot_away() -> None:
    whole, _ = whole_of(200, [(v % 20, v) for v in range(20, 200)])  # hubs have small ids
    most = [
        _costs(whole.offsets, whole.targets, Adp(turns=turns)._decide(whole, 4), 4, 1.0).max()
        for turns in (0, 4)
    ]
    assert most[1] < 0.5 * most[0]


def test_topox_fuses_light_neighbours() -> None:
    names = np.random.default_rng(2).permutation(40).reshape(4, 10)  # four rings
    edges = [(int(ring[at]), int(ring[at - 1])) for ring in names for at in range(10)]
    whole, by_rank = whole_of(40, edges)
    owner = np.empty(40, int)
    owner[by_rank] = TopoX(eps=0.0)._decide(whole, Topology.from_fanouts([4]))
    assert [len(set(owner[ring])) for ring in names] == [1] * 4
    owner[by_rank] = TopoX(size=5, eps=0.0)._decide(whole, Topology.from_fanouts([4]))
    assert np.bincount(owner).tolist() == [10] * 4


def test_topox_fuses_no_vertex_above_the_median() -> None:
    # three hubs of two loops of six each: two slots have room for three loops, not for two hubs
    # with all of theirs
    loops = np.arange(3, 39).reshape(6, 6)
    edges = [(int(loop[at]), int(loop[at + 1])) for loop in loops for at in range(5)]
    edges += [(hub // 2, int(loops[hub, end])) for hub in range(6) for end in (0, -1)]
    whole, by_rank = whole_of(39, edges)
    owner = np.empty(39, int)
    owner[by_rank] = TopoX(eps=0.0)._decide(whole, Topology.from_fanouts([2]))
    assert [len(set(owner[loop])) for loop in loops] == [1] * 6


@pytest.mark.parametrize("tree", [Topology.from_fanouts([2, 2]), CROSSED])
def test_topox_deals_heavy_vertices_domain_by_domain(tree: Topology) -> None:
    hubs = [(u, v) for u in range(8) for v in range(u)]  # each has 7 + 6 of 76 edges
    whole, _ = whole_of(56, hubs + [(v, v % 8) for v in range(8, 56)])
    owner = TopoX()._decide(whole, tree)
    assert owner[:8].tolist() == leaf_order(tree).tolist() * 2


@given(st.integers(1, 60), st.integers(1, 12))
def test_2d_is_rows_by_id_and_columns_by_rank(n: int, slots: int) -> None:
    rank = np.random.default_rng(n).permutation(n)
    block = VertexBlock(np.arange(n), rank, np.ones(n, int), IntIds(np.arange(n)))
    owner: Any = TwoD().slots_of(block, slots, Totals(0, TwoD().measure(block)[None]))
    rows = next(m for m in range(int(slots**0.5), 0, -1) if slots % m == 0)
    columns = slots // rows
    assert (owner // columns).tolist() == [v * rows // n for v in range(n)]
    assert (owner % columns).tolist() == (rank % columns).tolist()
