"""The band along the cuts: what is gathered, and that cuts between domains never grow."""

from __future__ import annotations

from collections import Counter
from typing import Any
from unittest import mock

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from dgraph.engine.alone import Alone
from dgraph.engine.pool import run
from dgraph.placement import band as band_module
from dgraph.placement.band import Band, gather_band, hand_back
from dgraph.placement.growth import Trees
from dgraph.placement.loads import sizes_of
from dgraph.placement.quotient import make_quotient
from dgraph.placement.sharpening import sharpen_cuts, sharpen_together
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
    """Slot 0 gets the vertices of trees at a cut, their edges, and anchors for all else."""
    graph, spread = drawn
    draw = np.random.default_rng(seed)
    tree_of, start = (
        draw.integers(-1, 4, graph.n + 1),
        draw.integers(0, spread.slots, graph.n + 1),
    )  # the last is that of padding

    async def program(ctx: Any, shard: Any) -> Any:
        links, none = links_of(shard), np.zeros(0, np.int64)
        slot_of = start[shard.rank].astype(np.int32)
        trees = Trees(tree_of[shard.rank].astype(np.int32), none, none, 1, 4)
        sizes = await sizes_of(ctx, shard, links)
        mine, band = await gather_band(ctx, shard, links, trees, slot_of, sizes)
        own = shard.rank[: shard.masters]
        if mine is not None:
            found = None if band is None else (band.slot + 1) % ctx.slots
            slot_of[mine] = await hand_back(ctx, band, found)
        ends = [
            (int(own[v]), int(shard.rank[u]))
            for v in range(shard.masters)
            for u in links.targets[links.offsets[v] : links.offsets[v + 1]]
        ]
        members = [] if mine is None else own[mine].tolist()
        return own, slot_of[: shard.masters], ends, members, band

    with mock.patch.object(band_module, "PART", 1.0 if all_of_it else 0.0):
        results = run(program, spread.shards(graph), slots=spread.slots)
    links = [end for some in results for end in some[2]]
    touched = {int(tree_of[u]) for u, v in links if start[u] != start[v]} - {-1}
    band = {r for r in range(graph.n) if int(tree_of[r]) in touched}
    band |= {
        u
        for u, v in links
        if tree_of[u] < 0 and (start[u] != start[v] or int(tree_of[v]) in touched)
    }
    if not all_of_it or not any(u in band for u, _ in links):
        assert all(some[-1] is None for some in results)
        band = set()
    else:
        members = [r for some in results for r in some[3]]
        assert set(members) == band
        check_band(results[0][-1], members, links, start, spread.slots)
    for ranks, slots, *_ in results:
        moved = np.array([int(r) in band for r in ranks], np.int64)
        assert np.array_equal(slots, (start[ranks] + moved) % spread.slots)


def check_band(
    band: Band, members: list[int], links: list[tuple[int, int]], start: Any, slots: int
) -> None:
    """Check the edges of a band of these members, by rank, against a count by hand."""
    name = {r: slots + at for at, r in enumerate(members)}
    wanted: Counter[tuple[int, int]] = Counter()
    for u, v in links:
        if u in name and u != v:
            far = name.get(v, int(start[v]))
            wanted[name[u], far] += 1
            if v not in name:
                wanted[far, name[u]] += 1
    q = band.graph
    source = np.repeat(np.arange(q.n), np.diff(q.offsets)).tolist()
    pairs = zip(source, q.targets.tolist(), strict=True)
    assert Counter(dict(zip(pairs, q.weights.tolist(), strict=True))) == wanted
    assert len(source) == len(wanted)
    assert band.slot.tolist() == [*range(slots), *start[members].tolist()]
    mean = max(1, round(16 * len(links) / (len(start) - 1)))
    degree = Counter(u for u, _ in links)
    outside = [r for r in range(len(start) - 1) if r not in name]
    mass = [
        sum(mean + 16 * degree[r] for r in outside if start[r] == slot) for slot in range(slots)
    ]
    mass += [mean + 16 * degree[r] for r in members]
    assert q.mass.tolist() == np.maximum(mass, 1).tolist()


@given(
    st.integers(2, 5),
    st.integers(8, 80),
    st.lists(st.tuples(st.integers(0, 79), st.integers(0, 79)), max_size=300),
    st.integers(0, 2**32 - 1),
)
@settings(max_examples=40)
def test_halves_are_sharpened_apart_as_they_are_together(
    slots: int, n: int, edges: list[tuple[int, int]], seed: int
) -> None:
    ends = np.array(edges, np.int32).reshape(-1, 2) % n
    q = make_quotient(
        ends[:, 0], ends[:, 1], np.ones(len(ends), np.int64), np.ones(n, np.int64)
    )
    slot = np.random.default_rng(seed).integers(0, slots, n).astype(np.int32)
    tree = Topology.from_fanouts([slots])

    async def program(ctx: Any, shown: Band | None) -> Any:
        return await sharpen_together(ctx, shown, tree, 0.2)

    shown = [Band(q, slot, {}), *[None] * (slots - 1)]
    found, *others = run(program, shown, slots=slots)
    together = slot.copy()
    sharpen_cuts(q, together, tree, 0.2)
    assert found.tolist() == together.tolist()
    assert others == [None] * (slots - 1)
    assert run(program, [None] * slots, slots=slots) == [None] * slots


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
