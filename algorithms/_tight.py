"""The tight edges of a shortest-path search, and the tree of fewest hops among them.

Once distances are final, an edge from u to v is *tight* if ``distance[u] + weight`` is
``distance[v]``: the shortest paths are exactly the paths of tight edges. With zero weights they
may run in circles, so a predecessor must also be nearer to the source in hops: the tree is a
breadth-first search along tight edges.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from dgraph.algorithms._by_weight import WeightedRows
from dgraph.algorithms._delta import Search
from dgraph.algorithms._hops import Tight, ancestors, fewest_hops
from dgraph.engine.context import Context
from dgraph.kernels import kernel
from dgraph.shard import Shard

__all__ = ["predecessors", "tight_edges"]

Array = NDArray[Any]


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
    count = int((await ctx.allreduce([tied.size]))[0])
    if count:
        needed = await ancestors(ctx, shard, tight, tied, count)
        await fewest_hops(ctx, shard, tight, needed, source, parent)
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


@kernel
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


@kernel
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


@kernel
def _twice(values):  # type: ignore[no-untyped-def]
    """Return a copy with twice the room."""
    larger = np.empty(2 * values.size, values.dtype)
    for i in range(values.size):
        larger[i] = values[i]
    return larger


@kernel
def _take_first(tight, parent):  # type: ignore[no-untyped-def]
    for v in range(parent.size):
        if tight.begin[v] < tight.begin[v + 1]:
            parent[v] = tight.tail[tight.begin[v]]
