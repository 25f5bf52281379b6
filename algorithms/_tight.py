"""The tight edges of a shortest-path search, and the tree of fewest hops among them.

Once distances are final, an edge from u to v is *tight* if ``distance[u] + weight`` is
``distance[v]``: the shortest paths are exactly the paths of tight edges. With zero weights they
may run in circles, so a predecessor must also be nearer to the source in hops: the tree is a
breadth-first search along tight edges.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numba as nb
import numpy as np
from numpy.typing import NDArray

from dgraph.algorithms._by_weight import WeightedRows
from dgraph.algorithms._delta import Search
from dgraph.algorithms._sparse import broadcast_some
from dgraph.engine.context import Context
from dgraph.shard import Shard

__all__ = ["Tight", "link", "predecessors", "tight_edges"]

Array = NDArray[Any]


class Tight(NamedTuple):
    """The tight edges into the masters.

    Parameters
    ----------
    begin : int64 array of length masters + 1
        Where the edges into each master begin.
    tail : int32 array
        The local ids that they come from.
    """

    begin: NDArray[np.int64]
    tail: NDArray[np.int32]

    @property
    def tied(self) -> NDArray[np.int32]:
        """The masters that several tight edges lead to, ascending."""
        return np.flatnonzero(np.diff(self.begin) > 1).astype(np.int32)


async def predecessors(
    ctx: Context,
    shard: Shard,
    s: Search,
    source: int,
    lowest: float,
    out: WeightedRows,
    into: WeightedRows,
) -> Array:
    """Return the predecessor of each master, coded as `Neighbours` has them.

    Of the tight in-neighbours it is one with the fewest hops from the source, of those the
    first in the vertex order. Most vertices have only one, so hops are found only for those
    that others with several depend on.

    Parameters
    ----------
    s : Search
        Its distances are final, those of proxies too. The rest of it serves as room.
    source : int
        Its local id on the slot that owns it, -1 on the others.
    lowest : float
        Few edges leave the vertices that are nearer than this.
    """
    tight = await tight_edges(ctx, shard, s, source, lowest, 0.0, out, into)
    parent = np.full(shard.masters, -1, shard.rank.dtype)
    _take_first(tight, parent)
    tied = tight.tied
    if (await ctx.allreduce([tied.size]))[0]:
        needed = await _ancestors(ctx, shard, tight, tied)
        await _fewest_hops(ctx, shard, tight, needed, source, parent)
    return parent


async def tight_edges(
    ctx: Context,
    shard: Shard,
    s: Search,
    source: int,
    lowest: float,
    slack: float,
    out: WeightedRows,
    into: WeightedRows,
) -> Tight:
    """Find the tight edges into the masters: one exchange.

    The in-neighbours of v that are not near can only be tight by edges up to
    ``distance[v] - lowest``, a short piece of a row by weight. What tight edges lead to from
    the near vertices, which have few, is found from their side; its row is searched in full.

    Parameters
    ----------
    slack : float
        0: ``distance[u] + weight == distance[v]``. Else it may be more by this part of it, but
        then u must be nearer than v.
    """
    near = np.flatnonzero(s.distance[: shard.masters] < lowest)
    full = s.mark.view(np.bool_)
    full.fill(False)
    proxies = _reach(near, s.distance, slack, full, s.outbox, out)
    met, _ = await ctx.reduce(shard, proxies, full[proxies], combine="or")
    full[met] = True
    begin = s.landing.view(np.int64)[: shard.masters + 1]
    tail = _tight_edges(s.distance, source, lowest, slack, full, into, begin, s.pile)
    return Tight(begin, tail)


@nb.njit(nogil=True, cache=True)
def _reach(near, distance, slack, full, proxies, out):  # type: ignore[no-untyped-def]
    """Mark in `full` what tight edges lead to from `near`; return the proxies among it."""
    offsets, targets, weights = out.offsets, out.targets, out.weights
    count = 0
    for u in near:
        for j in range(offsets[u], offsets[u + 1]):
            v = targets[j]
            if distance[u] + weights[j] <= distance[v] * (1.0 + slack) and not full[v]:
                full[v] = True
                if v >= offsets.size - 1:
                    proxies[count] = v
                    count += 1
    return proxies[:count]


@nb.njit(nogil=True, cache=True)
def _tight_edges(distance, source, lowest, slack, full, into, begin, tail):  # type: ignore[no-untyped-def]
    """Fill `begin`, and `tail` or a longer array that is returned."""
    offsets, targets, weights = into.offsets, into.targets, into.weights
    masters = begin.size - 1
    count = 0
    for v in range(masters):
        begin[v] = count
        if distance[v] == np.inf or v == source:
            continue
        most = distance[v] * (1.0 + slack)
        least = 0.0 if full[v] else lowest
        for j in range(np.uint64(offsets[v]), np.uint64(offsets[v + 1])):
            if least + weights[j] > most:
                break  # the row is by weight
            u = targets[j]
            if distance[u] + weights[j] > most or u == v:
                continue
            if slack > 0.0 and distance[u] >= distance[v]:
                continue
            if count == tail.size:
                tail = _twice(tail)
            tail[count] = u
            count += 1
    begin[masters] = count
    return tail[:count]


@nb.njit(nogil=True, cache=True)
def _twice(values):  # type: ignore[no-untyped-def]
    """Return a copy with twice the room."""
    larger = np.empty(2 * values.size, values.dtype)
    for i in range(values.size):
        larger[i] = values[i]
    return larger


@nb.njit(nogil=True, cache=True)
def _take_first(tight, parent):  # type: ignore[no-untyped-def]
    for v in range(parent.size):
        if tight.begin[v] < tight.begin[v + 1]:
            parent[v] = tight.tail[tight.begin[v]]


async def _ancestors(
    ctx: Context, shard: Shard, tight: Tight, tied: NDArray[np.int32]
) -> NDArray[np.bool_]:
    """Mark the local ids whose hops are needed: `tied`, and what tight paths to them meet."""
    needed = np.zeros(shard.size, np.bool_)
    needed[tied] = True
    stack = np.empty(shard.masters, np.int32)
    stack[: tied.size] = tied
    height = tied.size
    while True:
        proxies = _climb(stack, height, needed, tight)
        count = proxies.size
        met, _ = await ctx.reduce(
            shard, proxies, needed[proxies], vote=[count], work=4 * count, combine="or"
        )
        if ctx.vote[0] == 0:
            return needed
        height = _push_new(met, needed, stack)


@nb.njit(nogil=True, cache=True)
def _climb(stack, height, needed, tight):  # type: ignore[no-untyped-def]
    """Mark the tails of tight edges into what is on the stack; return the new proxies."""
    proxies = np.empty(needed.size, np.int32)
    count = 0
    while height:
        height -= 1
        v = stack[height]
        for e in range(tight.begin[v], tight.begin[v + 1]):
            u = tight.tail[e]
            if needed[u]:
                continue
            needed[u] = True
            if u < stack.size:
                stack[height] = u
                height += 1
            else:
                proxies[count] = u
                count += 1
    return proxies[:count].copy()


@nb.njit(nogil=True, cache=True)
def _push_new(met, needed, stack):  # type: ignore[no-untyped-def]
    height = 0
    for v in met:
        if not needed[v]:
            needed[v] = True
            stack[height] = v
            height += 1
    return height


async def _fewest_hops(
    ctx: Context,
    shard: Shard,
    tight: Tight,
    needed: NDArray[np.bool_],
    source: int,
    parent: Array,
) -> None:
    """Search breadth-first from the source along tight edges into needed masters."""
    heads, first, further = link(tight, needed)
    hops = np.full(shard.masters, -1, np.int32)
    frontier = np.array([source] if source >= 0 else [], np.int32)
    hops[frontier] = 0
    level = 0
    while True:
        (told,) = await broadcast_some(
            ctx, shard, frontier, vote=[frontier.size], work=4 * frontier.size
        )
        if ctx.vote[0] == 0:
            return
        level += 1
        frontier = np.sort(
            _step(frontier, told, level, hops, parent, shard.rank, heads, first, further)
        )


@nb.njit(nogil=True, cache=True)
def link(tight, needed):  # type: ignore[no-untyped-def]
    """Chain the edges into needed masters by tail.

    Returns the heads of the edges; for each local id its last edge, -1 none; for each edge the
    one before with the same tail, -1 none.
    """
    masters = tight.begin.size - 1
    count = 0
    for v in range(masters):
        if needed[v]:
            count += tight.begin[v + 1] - tight.begin[v]
    heads, further = np.empty(count, np.int32), np.empty(count, np.int64)
    first = np.full(needed.size, -1, np.int64)
    edge = 0
    for v in range(masters):
        if needed[v]:
            for e in range(tight.begin[v], tight.begin[v + 1]):
                u = tight.tail[e]
                heads[edge] = v
                further[edge] = first[u]
                first[u] = edge
                edge += 1
    return heads, first, further


@nb.njit(nogil=True, cache=True)
def _step(  # type: ignore[no-untyped-def]
    frontier, told, level, hops, parent, rank, heads, first, further
):
    """Go from the frontier and the proxies told of it to the masters of the next level."""
    found = np.empty(hops.size, np.int32)
    count = 0
    for i in range(frontier.size + told.size):
        u = frontier[i] if i < frontier.size else told[i - frontier.size]
        edge = first[u]
        while edge >= 0:
            v = heads[edge]
            if hops[v] < 0:
                hops[v] = level
                parent[v] = u
                found[count] = v
                count += 1
            elif hops[v] == level and rank[u] < rank[parent[v]]:
                parent[v] = u
            edge = further[edge]
    return found[:count]
