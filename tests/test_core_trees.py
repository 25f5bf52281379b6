"""Core trees: disjoint, connected, bounded, and dealt to what has room."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
from distributed import Client
from hypothesis import given
from hypothesis import strategies as st

from dgraph.engine.pool import run
from dgraph.placement import Hierarchy, assign, core_trees
from dgraph.placement.distribution import distribute
from dgraph.placement.growth import grow_trees
from dgraph.placement.trees import ORDERS
from dgraph.placement.whole import links_of
from dgraph.topology import Topology
from tests.placed import TREE, rows_of, small_graphs
from tests.reference import PlainGraph
from tests.strategies import Spread, spread_graphs


def test_the_trees_of_the_path_in_the_seeds() -> None:
    offsets, targets, by_rank = rows_of(10, [(v, v + 1) for v in range(9)])
    tree, taken = core_trees(offsets, targets, 100)
    found = [[by_rank[v] for v in taken if tree[v] == number] for number in range(3)]
    assert found == [[1, 2, 3, 4, 5], [6, 7, 8, 9], [0]]


@given(small_graphs, st.sampled_from(ORDERS), st.integers(1, 200))
def test_trees_are_disjoint_connected_bounded_and_cover_all(
    graph: tuple[int, list[tuple[int, int]]], order: str, vol_st: int
) -> None:
    offsets, targets, _ = rows_of(*graph)
    tree, taken = core_trees(offsets, targets, vol_st, order)
    degree = np.diff(offsets)
    assert np.array_equal(np.flatnonzero(tree >= 0), np.flatnonzero(degree > 0))
    assert sorted(taken) == np.flatnonzero(degree > 0).tolist()
    for number in range(tree.max(initial=-1) + 1):
        members = [v for v in taken if tree[v] == number]
        volumes = [8 + 8 * int(degree[v]) for v in members]
        assert sum(volumes[:-1]) < vol_st
        for at, v in enumerate(members[1:], 1):  # each hangs on one taken before it
            row = targets[offsets[v] : offsets[v + 1]]
            assert set(row.tolist()) & set(members[:at])


@given(small_graphs, st.integers(1, 200), st.sampled_from([0.0, 0.05, 0.5]))
def test_the_greedy_distribution_keeps_to_the_capacities(
    graph: tuple[int, list[tuple[int, int]]], vol_st: int, eps: float
) -> None:
    offsets, targets, _ = rows_of(*graph)
    tree, taken = core_trees(offsets, targets, vol_st)
    owner = distribute(offsets, targets, tree, taken, TREE, eps)
    placed = tree >= 0
    assert ((owner >= 0) == placed).all()
    cap = max(-(-graph[0] // 4), int((1 + eps) * graph[0] / 4))
    assert np.bincount(owner[placed], minlength=4).max() <= cap


def test_a_cluster_that_fits_a_leaf_domain_never_leaves_it() -> None:
    triangles = [(3 * t + a, 3 * t + b) for t in range(4) for a, b in ((0, 1), (1, 2), (0, 2))]
    offsets, targets, _ = rows_of(12, triangles)
    tree, taken = core_trees(offsets, targets, 1000)
    owner = distribute(offsets, targets, tree, taken, TREE, 0.0)
    for number in range(4):
        assert len(set(TREE.domain_of(0)[owner[tree == number]])) == 1


def slots_of(
    edges: list[tuple[int, int]], n: int, vol_st: int, tree: Topology, eps: float = 0.0
) -> Any:
    """Return the slot of each vertex by the greedy distribution."""
    offsets, targets, by_rank = rows_of(n, edges)
    owner = np.empty(n, int)
    trees = core_trees(offsets, targets, vol_st)
    owner[by_rank] = distribute(offsets, targets, *trees, tree, eps)
    return owner


def test_neighbours_of_a_hub_are_taken_out_of_their_own_trees() -> None:
    hub, other, x, y, z, w = range(6)
    edges = [(hub, x), (hub, y), (hub, z), (other, y), (other, z), (other, w), (6, 7)]
    # the trees are hub-y and other-z, and x alone
    domain = TREE.domain_of(0)[slots_of(edges, 8, 33, TREE)]
    assert len({*domain[[hub, x, y, z]]}) == 1
    assert domain[other] != domain[hub]


def test_what_a_leaf_domain_has_no_room_for_goes_to_its_sibling() -> None:
    deep = Topology.from_paths(
        {0: "a/x", 1: "b/x", 2: "a/y", 3: "b/y", 4: "a/x", 5: "b/x", 6: "a/y", 7: "b/y"}
    )
    paths = [(v, v + 1) for v in range(15) if v != 7]  # two trees, each for half of the slots
    owner = slots_of(paths, 16, 10_000, deep)
    for path in (owner[:8], owner[8:]):
        assert len({*deep.domain_of(1)[path]}) == 1
        assert sorted(np.bincount(deep.domain_of(0)[path], minlength=4)) == [0, 0, 4, 4]
        assert len({*path}) == 4  # a slot is full before the next one gets any


def test_a_cluster_goes_to_the_domain_of_its_neighbours() -> None:
    # two hubs that one domain has no room for, and a tail on the last leaf of each
    edges = [(hub, leaf + 10 * hub) for hub in (0, 1) for leaf in range(2, 9)]
    edges += [(v + 10 * hub, v + 1 + 10 * hub) for hub in (0, 1) for v in range(8, 11)]
    owner = slots_of(edges, 22, 16, Topology.from_fanouts([1, 2]), 0.1)
    assert owner[[0, *range(2, 12)]].tolist() == [0] * 11
    assert owner[[1, *range(12, 22)]].tolist() == [1] * 11


def test_trees_grow_depth_first_breadth_first_or_by_the_lightest_edge() -> None:
    #      0         ranks are ids but for 5, which is after 6
    #    1   2   3
    #  4  6  5
    edges = [(0, 1), (0, 2), (0, 3), (1, 4), (1, 6), (2, 5)]
    offsets, targets, by_rank = rows_of(7, edges)
    want = {"dfs": [0, 1, 4, 6, 2, 5, 3], "bfs": [0, 1, 2, 3, 4, 6, 5]}
    for order, sequence in want.items():
        _, taken = core_trees(offsets, targets, 10_000, order)
        assert [by_rank[v] for v in taken] == sequence
    weight = {frozenset(edge): w for edge, w in zip(edges, [5, 3, 1, 2, 9, 4], strict=True)}
    ends = zip(np.repeat(np.arange(7), np.diff(offsets)), targets, strict=True)
    weights = [float(weight[frozenset((by_rank[a], by_rank[b]))]) for a, b in ends]
    _, taken = core_trees(offsets, targets, 10_000, "prim", np.array(weights))
    assert [by_rank[v] for v in taken] == [0, 3, 2, 5, 1, 4, 6]


@pytest.mark.parametrize("light", [(1, 2, 3, 4), (5, 6, 7, 8)])
def test_a_tree_of_a_placement_grows_by_the_weights_of_the_user(
    client: Client, light: tuple[int, ...]
) -> None:
    leaves = np.arange(1, 9)
    star = pd.DataFrame({"source": 0, "target": leaves, "w": 1.0 + ~np.isin(leaves, light)})
    volume = 8 + 8 * 8 + 4 * 16  # the hub and four leaves
    placement = Hierarchy(order="prim", spread="greedy", vol_st=volume, refine=0)
    found = assign(
        star, placement, weight="w", topology=Topology.from_fanouts([2]), client=client
    )
    slot = client.compute(found, sync=True).set_index("vertex")["slot"]
    assert sorted(slot.index[slot == slot[0]]) == [0, *light]


def test_a_tree_is_a_slot_s_share_if_nothing_is_said() -> None:
    greedy = Hierarchy(order="dfs", spread="greedy")
    assert greedy._volume(n=100, ends=500, slots=7) == -(-8 * 600 // 7)
    assert Hierarchy(order="dfs", vol_st=99)._volume(n=100, ends=500, slots=7) == 99


@given(spread_graphs(), st.integers(1, 200))
def test_grown_trees_are_connected_and_counted(
    drawn: tuple[PlainGraph, Spread], vol_st: int
) -> None:
    graph, spread = drawn
    shards = spread.shards(graph)

    async def program(ctx: Any, shard: Any) -> Any:
        links = links_of(shard)
        trees = await grow_trees(ctx, shard, links, vol_st, 100)
        own = trees.tree[: shard.masters]
        ends = [
            (int(own[v]), int(shard.rank[v]), int(trees.tree[u]), int(shard.rank[u]))
            for v in range(shard.masters)
            for u in links.targets[links.offsets[v] : links.offsets[v + 1]]
        ]
        members = np.bincount(own[own >= 0], minlength=trees.count)
        volume = np.bincount(
            own[own >= 0], 8 + 8 * np.diff(links.offsets)[own >= 0], trees.count
        )
        return own, shard.rank[: shard.masters], members, ends, volume, trees.volume

    results = run(program, shards, slots=spread.slots)
    tree = {
        int(r): int(t) for own, ranks, *_ in results for t, r in zip(own, ranks, strict=True)
    }
    members = np.sum([some[2] for some in results], axis=0)
    volume = np.sum([some[4] for some in results], axis=0)
    assert all(np.array_equal(volume, some[5]) for some in results if some[0].size)
    ends = [end for result in results for end in result[3]]
    for number, size in enumerate(members):
        inside = {r for r, t in tree.items() if t == number}
        assert len(inside) == size > 0
        reached, todo = set(), [min(inside)]
        while todo:
            v = todo.pop()
            reached.add(v)
            todo += [u for t, r, _, u in ends if r == v and u in inside - reached]
        assert reached == inside
