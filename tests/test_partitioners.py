"""Placements that see edges: what SEEDS asks of them, and that no result shows them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
from distributed import Client
from hypothesis import given, settings
from hypothesis import strategies as st

import dgraph as dg
from dgraph.engine.pool import run
from dgraph.placement import Adp, Hierarchy
from dgraph.placement.bisection import bisect, split
from dgraph.placement.distances import grid_distances, tree_distances
from dgraph.placement.evening import water
from dgraph.placement.quotient import make_quotient
from dgraph.placement.whole import place_whole
from dgraph.topology import Topology
from tests.placed import NAMES, STRATEGIES, TREE, grid, pairs_of, small_graphs
from tests.reference import PlainGraph
from tests.strategies import Spread, spread_graphs


def planted(blocks: int, size: int, degree: int, outside: float) -> tuple[pd.DataFrame, Any]:
    """Return edges of which few leave a block, and the block of each vertex."""
    draw = np.random.default_rng(7)
    n = blocks * size
    block = draw.permutation(np.arange(n) % blocks)
    members = np.array([np.flatnonzero(block == b) for b in range(blocks)])
    source = draw.integers(0, n, n * degree // 2)
    near = members[block[source], draw.integers(0, size, source.size)]
    far = draw.integers(0, n, source.size)
    target = np.where(draw.random(source.size) < outside, far, near)
    return pd.DataFrame({"source": source, "target": target}), block


# Distances and costs


def test_the_distances_of_the_seeds() -> None:
    far = grid_distances(Topology.from_fanouts([4, 4]), (1, 10), (1, 10))
    assert far[0, [3, 4 * 1, 4 * 3 + 3]].tolist() == [2, 10, 22]


@pytest.mark.parametrize("fanouts", [[3], [4, 4], [1, 3, 2], [5, 2, 2]])
@pytest.mark.parametrize("distances", [tree_distances, grid_distances])
def test_distances_are_a_metric(fanouts: list[int], distances: Any) -> None:
    far = distances(Topology.from_fanouts(fanouts))
    assert np.array_equal(far, far.T)
    assert (np.diag(far) == 0).all()
    assert (far[:, None, :] <= far[:, :, None] + far[None, :, :] + 1e-9).all()


def brute_figures(edges: pd.DataFrame, slot: pd.Series[int], tree: Topology) -> Any:
    ends = edges[edges.source != edges.target].drop_duplicates()
    u, v = slot[ends.source].to_numpy(), slot[ends.target].to_numpy()
    level = tree.level(u, v)[u != v]
    cut = np.bincount(level, minlength=tree.height + 1)
    far = tree_distances(tree)[u, v].sum()
    held = {(x, s) for a, b in ends.itertuples(index=False) for x, s in
            ((a, slot[a]), (b, slot[b]), (a, slot[b]), (b, slot[a]))}  # fmt: skip
    return cut.tolist(), far, len(held | set(slot.items()))


@given(st.lists(st.tuples(st.integers(0, 9), st.integers(0, 9)), min_size=1, max_size=25),
       st.booleans(), st.randoms())  # fmt: skip
@settings(max_examples=15)
def test_figures_are_those_counted_by_hand(
    client: Client, edges: list[tuple[int, int]], directed: bool, random: Any
) -> None:
    if not directed:
        edges = [(min(e), max(e)) for e in edges]
    frame = pairs_of(edges)
    ids = sorted({v for edge in edges for v in edge})
    slot = pd.Series({v: random.randrange(4) for v in ids})
    table = pd.DataFrame({"vertex": ids, "slot": slot.to_numpy()})
    with dg.from_edges(
        frame,
        directed=directed,
        placement=table,
        virtual_slots=4,
        topology=TREE,
        client=client,
    ) as g:
        figures = g.placement.figures()
        assert figures == g.placement.figures()
    cut, cost, held = brute_figures(frame, slot, TREE)
    assert list(figures.cut) == cut
    assert figures.cost == cost
    assert figures.replication == held / len(ids)
    vertices = np.bincount(slot, minlength=4)
    assert figures.vertex_balance == vertices.max() / vertices.mean()
    ends = frame.drop_duplicates()
    far = ends if directed else ends[ends.source != ends.target]  # a loop is one entry of a row
    entries = np.bincount(np.append(slot[ends.source], slot[far.target]), minlength=4)
    assert figures.edge_balance == entries.max() / entries.mean()


def test_swapping_slots_of_a_leaf_domain_leaves_far_levels_alone(client: Client) -> None:
    frame = grid(6)
    slot = np.random.default_rng(3).integers(0, 4, 36)
    cuts = []
    for swap in ([0, 1, 2, 3], [1, 0, 2, 3], [2, 1, 0, 3]):
        table = pd.DataFrame({"vertex": np.arange(36), "slot": np.array(swap)[slot]})
        options: Any = {"virtual_slots": 4, "topology": TREE, "client": client}
        with dg.from_edges(frame, placement=table, **options) as g:
            cuts.append(g.placement.figures().cut)
    assert cuts[0] == cuts[1]
    assert cuts[0] != cuts[2]


# Owners


def owners(strategy: Any, graph: PlainGraph, spread: Spread) -> Any:
    """Return the slot of each vertex by rank."""
    placed = strategy.on(Topology.from_fanouts([spread.slots]))

    async def program(ctx: Any, shard: Any) -> Any:
        return shard.rank[: shard.masters], await placed.place(ctx, shard)

    owner = np.full(graph.n, -1)
    for ranks, some in run(program, spread.shards(graph), slots=spread.slots):
        assert some.dtype == np.int32
        owner[ranks] = some
    return owner


@pytest.mark.parametrize("strategy", STRATEGIES, ids=repr)
@given(drawn=spread_graphs())
@settings(max_examples=25)
def test_every_vertex_gets_one_slot_and_no_slot_too_many(
    strategy: Any, drawn: tuple[PlainGraph, Spread]
) -> None:
    graph, spread = drawn
    owner = owners(strategy, graph, spread)
    assert ((owner >= 0) & (owner < spread.slots)).all()
    assert np.array_equal(owner, owners(strategy, graph, spread))
    loads = np.bincount(owner, minlength=spread.slots)
    bounded = not isinstance(strategy, Adp)
    if bounded and graph.n:
        eps = getattr(strategy, "eps", 0.0)
        cap = max(-(-graph.n // spread.slots), int((1 + eps) * graph.n / spread.slots))
        assert loads.max() <= cap
    if isinstance(strategy, Hierarchy) and bounded and graph.n >= spread.slots:
        assert loads.min() > 0


@given(spread_graphs(least=1))
@settings(max_examples=25)
def test_a_whole_graph_is_simple_and_symmetric(drawn: tuple[PlainGraph, Spread]) -> None:
    graph, spread = drawn
    seen: list[Any] = []

    def decide(whole: Any) -> Any:
        seen.append(whole)
        return np.zeros(whole.n, np.int32)

    async def program(ctx: Any, shard: Any) -> Any:
        return await place_whole(ctx, shard, decide)

    run(program, spread.shards(graph), slots=spread.slots)
    for whole in seen:
        row = np.repeat(np.arange(whole.n), whole.degree)
        found = set(zip(row.tolist(), whole.targets.tolist(), strict=True))
        assert len(found) == len(row)
        assert found == {(b, a) for a, b in found}
        assert not any(a == b for a, b in found)


@given(st.lists(st.integers(0, 20), min_size=1, max_size=8), st.integers(0, 40))
def test_water_fills_the_emptiest_first(have: list[int], more: int) -> None:
    gets = water(np.array(have), more)
    after = np.array(have) + gets
    assert gets.sum() == more
    assert (gets >= 0).all()
    assert after[gets > 0].max(initial=0) <= after.min() + 1


@given(small_graphs, st.sampled_from([0.25, 0.5]))
def test_a_bisection_is_as_even_as_it_can_be(
    graph: tuple[int, list[tuple[int, int]]], fraction: float
) -> None:
    n, edges = graph
    ends = np.array(edges, np.int32).reshape(-1, 2)
    q = make_quotient(
        ends[:, 0], ends[:, 1], np.ones(len(ends), np.int32), np.ones(n, np.int64)
    )
    side = bisect(q, fraction, 0.0, 1)
    assert abs(int((side == 0).sum()) - n * fraction) <= 1
    owner = split(q, TREE, 0.0)
    assert ((owner >= 0) & (owner < 4)).all()


# Quality


def cut_top(frame: pd.DataFrame, placement: Any, client: Client, fanouts: list[int]) -> int:
    tree = Topology.from_fanouts(fanouts)
    found = dg.placement.compare(frame, [placement], topology=tree, client=client)
    if not isinstance(placement, str):
        assert found["vertex_balance"][0] <= 1.1
    return int(found["cut_top"][0])


@pytest.mark.parametrize("fanouts", [[4, 4], [2, 3]])
def test_planted_blocks_are_found(client: Client, fanouts: list[int]) -> None:
    frame, block = planted(fanouts[1], 600, 12, 0.05)
    between = int((block[frame.source] != block[frame.target]).sum())
    for placement in (Hierarchy(), Hierarchy(order="bfs")):
        cut = cut_top(frame, placement, client, fanouts)
        assert cut <= 1.3 * between
    assert 4 * cut < cut_top(frame, "2d", client, fanouts)
    greedy = Hierarchy(order="bfs", spread="greedy", vol_st=2000, refine=0)
    assert cut_top(frame, greedy, client, fanouts) < cut_top(frame, "hash", client, fanouts)


def test_a_grid_is_cut_nearly_straight(client: Client) -> None:
    frame = grid(64).sample(frac=1, random_state=1)
    names = np.random.default_rng(5).permutation(64 * 64)  # ids say nothing of the place
    frame = pd.DataFrame({"source": names[frame.source], "target": names[frame.target]})
    assert cut_top(frame, Hierarchy(), client, [4, 4]) <= 1.6 * 128


def test_the_partitions_of_the_input_do_not_matter(client: Client) -> None:
    frame, _ = planted(4, 100, 8, 0.1)
    for name in NAMES:
        if name == "metis":
            pytest.importorskip("pymetis", reason="extra metis")
        found = [
            dg.placement.assign(dd_of(frame, parts), name, slots=5, client=client)
            for parts in (1, 4)
        ]
        tables = [
            client.compute(some, sync=True).sort_values("vertex", ignore_index=True)
            for some in found
        ]
        pd.testing.assert_frame_equal(*tables)


def dd_of(frame: pd.DataFrame, parts: int) -> Any:
    import dask.dataframe as dd

    mixed = frame.sample(frac=1, random_state=parts)
    return dd.from_pandas(mixed, npartitions=parts, sort=False)


def test_refining_costs_less_and_keeps_the_bound(client: Client) -> None:
    frame = grid(20)
    options: Any = {"virtual_slots": 4, "topology": TREE, "client": client}
    with dg.from_edges(frame, placement="hash", **options) as g:
        before = g.placement.figures()
        better = dg.placement.refine(g, 12)
        assert g.runs[-1].algorithm == "refine"
        table = client.compute(better, sync=True)
    assert table.groupby("slot").size().max() <= 105
    with dg.from_edges(frame, placement=better, **options) as g:
        assert g.placement == "frame"
        assert g.placement.figures().cost < 0.8 * before.cost
