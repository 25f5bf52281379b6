"""The band along the cuts: what is gathered, and that cuts between domains never grow."""

from __future__ import annotations

from typing import Any

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

import dgraph.placement.sharpening as sharpening
from dgraph.engine.alone import Alone
from dgraph.engine.pool import run
from dgraph.placement.growth import Trees
from dgraph.placement.loads import sizes_of
from dgraph.placement.quotient import make_quotient
from dgraph.placement.sharpening import sharpen, sharpen_cuts
from dgraph.placement.whole import links_of
from dgraph.topology import Topology
from tests.reference import PlainGraph
from tests.strategies import Spread, spread_graphs

TREE = Topology.from_fanouts([2, 2])


@given(
    st.integers(8, 60),
    st.lists(st.tuples(st.integers(0, 59), st.integers(0, 59)), max_size=200),
    st.integers(0, 2**32 - 1),
)
@settings(max_examples=40)
def test_the_cut_between_domains_never_grows(
    n: int, edges: list[tuple[int, int]], seed: int
) -> None:
    ends = np.array(edges, np.int32).reshape(-1, 2) % n
    q = make_quotient(
        ends[:, 0], ends[:, 1], np.ones(len(ends), np.int64), np.ones(n, np.int64)
    )
    slot = np.random.default_rng(seed).permutation(np.arange(n) % 4).astype(np.int32)
    before = slot.copy()
    sharpen_cuts(q, slot, TREE, 1.0)
    domain = TREE.domain_of(0)
    cuts = [sum(domain[some[u]] != domain[some[v]] for u, v in ends) for some in (before, slot)]
    assert cuts[1] <= cuts[0]
    assert ((slot >= 0) & (slot < 4)).all()
    sides = np.bincount(domain[slot], minlength=2)
    assert sides.max() - n / 2 <= max(abs(np.bincount(domain[before]) - n / 2).max(), n / 4)


def test_a_ragged_cut_is_made_straight() -> None:
    side = 24
    number = np.arange(side * side).reshape(side, side)
    low, high = np.append(number[:, :-1], number[:-1]), np.append(number[:, 1:], number[1:])
    q = make_quotient(low, high, np.ones(len(low), np.int64), np.ones(side * side, np.int64))
    x, y = np.divmod(np.arange(side * side), side)
    teeth = np.where(y % 4 < 2, 2, -2)  # 24 edges of a straight cut, and the sides of the teeth
    slot = (2 * (x >= side // 2 + teeth) + (y >= side // 2)).astype(np.int32)
    sharpen_cuts(q, slot, TREE, 0.05)
    domain = TREE.domain_of(0)[slot]
    cut = int((domain[low] != domain[high]).sum())
    assert cut <= side + 4


@given(spread_graphs(least=1), st.integers(0, 2**32 - 1), st.booleans())
@settings(max_examples=40)
def test_the_band_is_what_lies_along_the_cuts(
    drawn: tuple[PlainGraph, Spread], seed: int, all_of_it: bool
) -> None:
    """Slot 0 gets the vertices of trees at a cut, each edge once, anchors for all else."""
    graph, spread = drawn
    draw = np.random.default_rng(seed)
    tree_of, start = (
        draw.integers(-1, 4, graph.n + 1),
        draw.integers(0, spread.slots, graph.n + 1),
    )  # the last is that of padding
    seen: list[Any] = []

    def decide(parts: Any, others: Any, *_: Any) -> list[Any]:
        seen.append((parts, others))
        return [(some.slot + 1) % spread.slots for some in parts]

    async def program(ctx: Any, shard: Any) -> Any:
        links, none = links_of(shard), np.zeros(0, np.int64)
        slot_of = start[shard.rank].astype(np.int32)
        trees = Trees(tree_of[shard.rank].astype(np.int32), none, none, 1, 4)
        sizes = await sizes_of(ctx, shard, links)
        topology = Topology.from_fanouts([ctx.slots])
        await sharpen(ctx, shard, links, trees, slot_of, sizes, topology, 0.1)
        own = shard.rank[: shard.masters]
        ends = [
            (int(own[v]), int(shard.rank[u]))
            for v in range(shard.masters)
            for u in links.targets[links.offsets[v] : links.offsets[v + 1]]
        ]
        return own, slot_of[: shard.masters], ends

    old = sharpening._decide, sharpening.PART
    sharpening._decide = decide  # type: ignore[assignment]
    sharpening.PART = 1.0 if all_of_it else 0.0
    try:
        results = run(program, spread.shards(graph), slots=spread.slots)
    finally:
        sharpening._decide, sharpening.PART = old
    links = [end for some in results for end in some[2]]
    touched = {int(tree_of[u]) for u, v in links if start[u] != start[v]} - {-1}
    band = {r for r in range(graph.n) if int(tree_of[r]) in touched}
    band |= {
        u
        for u, v in links
        if tree_of[u] < 0 and (start[u] != start[v] or int(tree_of[v]) in touched)
    }
    if not all_of_it or not any(u in band for u, _ in links):
        assert not seen
        band = set()
    else:
        ((parts, others),) = seen
        assert {int(r) for some in parts for r in some.rank} == band
        once = sum(u not in band or v not in band or u < v for u, v in links if u in band)
        assert sum(len(some.far) for some in parts) == once
        assert others[0].sum() == graph.n - len(band)
        assert others[1].sum() == sum(u not in band for u, _ in links)
    for ranks, slots, _ in results:
        moved = np.array([int(r) in band for r in ranks], np.int64)
        assert np.array_equal(slots, (start[ranks] + moved) % spread.slots)


def test_who_is_alone_hears_of_nobody() -> None:
    async def program(ctx: Any) -> Any:
        near = Alone(ctx)
        told = await near.allreduce([ctx.slot, 1])
        gathered = await near.allgather(np.array([7]))
        came = await near.alltoall([(np.array([to]),) for to in range(ctx.slots)])
        return told.tolist(), [int(some[0][0]) for some in gathered], came

    for slot, (told, gathered, came) in enumerate(run(program, slots=3)):
        assert told == [slot, 1]
        assert gathered == [7 * (slot == other) for other in range(3)]
        assert [other for other in range(3) if came[other] is not None] == [slot]
        assert came[slot][0].tolist() == [slot]
