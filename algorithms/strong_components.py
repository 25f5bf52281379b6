"""Strongly connected components: trimming, one pivot, then colours [1]_.

Returned is, for every vertex, the smallest vertex (by user id) that it can reach and that can
reach it. Depth-first search, which finds them one after another, does not spread over slots.
Instead::

    trim        a vertex without an in-neighbour or without an out-neighbour is a component;
                take it away, and look at its neighbours again
    pivot       of the heaviest vertex left: what it reaches, and what of that reaches it, is
                its component; in most networks this is nearly all that is left
    colours     every vertex v hands its colour on along its edges, and takes the strongest
                that comes: colour(v) = the strongest of the vertices that reach v. One whose
                colour is its own is a root, and what of its colour reaches it is its component
    finish      as soon as few edges are left, or a search takes too many supersteps, every slot
                contracts the components of what it has itself, slot 0 has what is left of that
                and finds its components by Tarjan's algorithm

A search over a long chain that changes slots at every step would take a superstep for each, and
on a road network colours are overtaken again and again. So the searches end when they have
taken as long as slot 0 would, which then finishes.

An edge between two vertices of different colours is in no component, and counts no more. How
strong a colour is is a hash of the vertex, so that a chain of many components falls apart into
pieces in each turn, not at one end [2]_. On one slot there is nothing but the finish.

All of it goes on inside a slot as far as it can before anything is sent. Loops and parallel
edges change nothing.

Encodings: `root` over the masters: the smallest order in their component, -1 for those that are
left. `live` is a bitmap over the local ids of what is left. `part` over the local ids is
the colour of the turn before, `colour` that of this one: the order of a vertex, -1 none.

Cost: supersteps: 3 if few edges are there; else those of a few searches in which each slot goes
as far as it can, and as many again for each turn of colours; all searches together never take
more than `PATIENCE` and one for each `STEP` edges. Messages: a few for each proxy and turn, and
at most a share of a slot's edges to slot 0; all that is left, contracted, if a search was given
up.

References
----------
.. [1] G. Slota, S. Rajamanickam, K. Madduri: BFS and coloring-based parallel algorithms for
   strongly connected components and related problems, IPDPS 2014, doi:10.1109/IPDPS.2014.64
.. [2] G. Blelloch, Y. Gu, J. Shun, Y. Sun: Parallelism in randomized incremental algorithms,
   Journal of the ACM 67, 2020, doi:10.1145/3402819
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dgraph.algorithms._colours import (
    Left,
    accept,
    bury,
    count_edges,
    hand_on,
    list_arcs,
    reach_back,
    settle,
    trim,
)
from dgraph.algorithms._finish import finish_on_one
from dgraph.algorithms._tarjan import by_row, smallest, smallest_members, tarjan
from dgraph.build.joining import whole_rows
from dgraph.engine.changes import exchange_changes
from dgraph.engine.columns import Column, Orders
from dgraph.engine.context import Context
from dgraph.shard import Shard
from dgraph.shard.bits import positions, set_bits, words
from dgraph.vertices.ids import IntIds

__all__ = ["FINISH", "PATIENCE", "SMALL", "STEP", "TRIM_PAYS", "strong_components_slot"]

#: Slot 0 finishes when there are no more edges than this many times an even share of a slot.
FINISH = 1.0

#: Or no more than so many, which take it as long as the supersteps of a search or two.
SMALL = 1 << 13

#: Searches are given up when they have taken as long as slot 0 would take for what is left: it
#: and handing colours on take about 200 ns an edge, the latter on all slots at the same time,
#: and a superstep takes 200 us. Most networks need about 20 supersteps for everything.
PATIENCE = 50
STEP = 1000

#: Trimming goes on while a superstep takes away one in so many vertices that are left.
TRIM_PAYS = 100

Array = NDArray[Any]
Bits = NDArray[np.uint64]
_NOBODY = np.zeros(0, np.int32)


@dataclass
class Patience:
    """How long all searches together may take, in supersteps; the same on all slots.

    Examples
    --------
    >>> patience = Patience(slots=2)
    >>> patience.grant(10_000)
    >>> patience.spend(100_000)
    >>> patience.most, patience.spent, patience.is_over
    (60.0, 51.0, False)
    """

    slots: int
    most: float = 0.0
    spent: float = 0.0

    def grant(self, edges: int) -> None:
        """Allow as much as it would take to finish with so many edges."""
        self.most = PATIENCE + edges / STEP

    def spend(self, looked_at: int) -> None:
        """Note a superstep in which the slots looked at so many edges together."""
        self.spent += 1 + looked_at / self.slots / STEP

    @property
    def is_over(self) -> bool:
        """Whether slot 0 should finish."""
        return self.spent >= self.most


async def strong_components_slot(ctx: Context, shard: Shard) -> dict[str, Column]:
    """Label every master with the smallest vertex of its strong component."""
    shard = await whole_rows(ctx, shard)
    if shard.slots == 1:
        component = tarjan(shard.out.offsets, shard.out.targets)
        return {"component": Orders(smallest(shard.order, component)[component])}
    left = _whole(shard)
    edges, vertices = shard.num_edges, shard.num_vertices
    few, patience = max(FINISH * edges / ctx.slots, SMALL), Patience(ctx.slots)
    search = _search_pivot
    while edges > few:
        patience.grant(edges)
        await _trim(ctx, shard, left, vertices)
        if not await search(ctx, shard, left, patience):
            break
        search = _search_colours
        ctx.stage = "count"
        counts = count_edges(left), _masters(left).size
        edges, vertices = (await ctx.allreduce(counts)).tolist()
    await _finish(ctx, shard, left)
    return {"component": Orders(left.root)}


def _whole(shard: Shard) -> Left:
    out, into, number = shard.out, shard.into, shard.order.dtype
    live = np.zeros(words(shard.size), np.uint64)
    set_bits(live, np.flatnonzero(shard.rank < shard.num_vertices).astype(np.int32))
    return Left(
        out.offsets,
        out.targets.view(np.uint32),
        into.offsets,
        into.targets.view(np.uint32),
        root=np.full(shard.masters, -1, number),
        live=live,
        part=np.full(shard.size, -1, number),
        colour=np.full(shard.size, -1, number),
        reached=np.zeros_like(live),
        touched=np.zeros_like(live),
        awake=live[: words(shard.masters)].copy(),
        queue=np.empty(shard.masters + 64, np.int32),
    )


def _masters(left: Left) -> NDArray[np.int32]:
    """Return the masters that are left, ascending; valid until the queue is used again."""
    return left.queue[: positions(left.live[: left.awake.size], left.queue)]


async def _trim(ctx: Context, shard: Shard, left: Left, remaining: int) -> None:
    """Take away vertices that have edges on one side only, while it pays."""
    ctx.stage = "trim"
    left.awake[:] = left.live[: left.awake.size]
    while True:
        gone = np.sort(left.queue[: trim(left, shard.order)])
        await _take_away(ctx, shard, left, gone, left.touched)
        left.awake[:] = left.touched[: left.awake.size]
        left.touched[:] = 0
        remaining -= int(ctx.vote[0])
        if ctx.vote[0] * TRIM_PAYS <= remaining:
            break


async def _take_away(
    ctx: Context, shard: Shard, left: Left, gone: NDArray[np.int32], marks: Bits | None = None
) -> None:
    """Tell the proxies of masters that these are gone; the vote is how many there are."""
    proxies = await exchange_changes(ctx, shard, gone, (), marks, (gone.size,))
    bury(left.live, proxies)


async def _search_pivot(ctx: Context, shard: Shard, left: Left, patience: Patience) -> bool:
    """Find the component of the heaviest vertex that is left."""
    ctx.stage = "pivot"
    first = _masters(left)[:1].copy()  # masters are in the vertex order
    ranks = shard.rank[first].tolist() or [shard.num_vertices]
    heaviest = await ctx.allreduce(ranks, op="min")
    pivot = first[shard.rank[first] == heaviest]
    left.colour[pivot] = shard.order[pivot]
    return await _find_components(ctx, shard, left, pivot, patience)


async def _search_colours(ctx: Context, shard: Shard, left: Left, patience: Patience) -> bool:
    """Find a component of each colour."""
    own = _masters(left).copy()
    left.colour[:] = -1
    left.colour[own] = shard.order[own]
    return await _find_components(ctx, shard, left, own, patience)


async def _find_components(
    ctx: Context, shard: Shard, left: Left, begin: NDArray[np.int32], patience: Patience
) -> bool:
    """Hand the colours of `begin` on, find the components of the roots, take them away.

    Returns whether the search has come to its end; when the patience is over it is given up,
    and nothing has been taken away.
    """
    ctx.stage = "forward"
    candidates = begin
    while not patience.is_over:
        looked_at = hand_on(left, begin)
        proxies = _take(left.touched, shard)
        vertices, colours = await ctx.reduce(
            shard, proxies, left.colour[proxies], (proxies.size, looked_at)
        )
        if ctx.vote[0] == 0:
            break
        patience.spend(int(ctx.vote[1]))
        begin = left.queue[: accept(left, vertices, colours)].copy()
    else:
        return False
    own = _masters(left).copy()
    ctx.stage = "backward"
    await exchange_changes(ctx, shard, own, (left.colour,))
    begin = candidates[left.colour[candidates] == shard.order[candidates]]
    while not patience.is_over:
        reach_back(left, begin)
        sent = int(np.bitwise_count(left.touched).sum())
        await exchange_changes(ctx, shard, _NOBODY, (), left.touched, (sent,))
        if ctx.vote[0] == 0:
            break
        patience.spend(0)
        begin = left.queue[: positions(left.touched[: left.awake.size], left.queue)].copy()
        left.touched[:] = 0
    else:
        return False
    gone = left.queue[: settle(left)].copy()
    await _take_away(ctx, shard, left, gone)
    left.root[gone] = await _smallest(ctx, left.colour[gone], shard.order[gone])
    left.part[:] = left.colour
    return True


def _take(bits: Bits, shard: Shard) -> NDArray[np.int32]:
    """Return the proxies in a bitmap and clear it."""
    first = words(shard.masters)
    room = np.empty(64 * (bits.size - first), np.int32)
    found = room[: positions(bits[first:], room)] + np.int32(64 * first)
    bits[:] = 0
    return found


async def _finish(ctx: Context, shard: Shard, left: Left) -> None:
    """Let slot 0 find the components of all that is left, contracted."""
    ctx.stage = "finish"
    own = _masters(left).copy()
    tails, heads = np.empty((2, count_edges(left)), np.int32)
    list_arcs(left, tails, heads)
    group, names = _contract(own, shard.order, tails, heads)
    # the number of a group on all slots: the rank of a member, which its proxies learn
    member = np.empty(names.size, np.int32)
    member[group] = own
    number = np.full(shard.size, -1, shard.rank.dtype)
    number[own] = shard.rank[member[group]]
    await ctx.broadcast(shard, number)
    sources, targets = number[tails], number[heads]
    differ = sources != targets
    columns = (shard.rank[member], names, sources[differ], targets[differ])
    root = await finish_on_one(ctx, columns, smallest_members)
    left.root[own] = root[group]


def _contract(own: Array, order: Array, tails: Array, heads: Array) -> tuple[Array, Array]:
    """Return for each of the masters `own` the number of its component on this slot.

    And for each component the smallest order in it. An arc to a proxy is left out.
    """
    place = np.full(int(own.max(initial=-1)) + 1, -1, np.int32)
    place[own] = np.arange(own.size, dtype=np.int32)
    inside = heads < place.size
    rows, columns = place[tails[inside]], place[heads[inside]]
    columns, rows = columns[columns >= 0], rows[columns >= 0]
    group = tarjan(*by_row(rows, columns, own.size))
    return group, smallest(order[own], group)


async def _smallest(ctx: Context, labels: Array, order: Array) -> Array:
    """Return for each label the smallest order beside it on any slot: two exchanges."""
    codes, distinct = IntIds(labels).factorize()
    mine = distinct.values
    least = smallest(order, codes)
    places = [np.flatnonzero(mine % ctx.slots == slot) for slot in range(ctx.slots)]
    asked = await ctx.alltoall(
        [(mine[some], least[some]) if some.size else None for some in places]
    )
    came = [some for some in asked if some is not None]
    ends = np.cumsum([some[0].size for some in came])
    if came:
        codes_here, _ = IntIds(np.concatenate([some[0] for some in came])).factorize()
        values = np.concatenate([some[1] for some in came])
        final = iter(np.split(smallest(values, codes_here)[codes_here], ends[:-1]))
    answers = [None if some is None else (next(final),) for some in asked]
    for some, answer in zip(places, await ctx.alltoall(answers), strict=True):
        if answer is not None:
            least[some] = answer[0]
    return least[codes]
