"""Dependencies of one source along weighted edges: Brandes on the graph of tight edges.

A path is shortest if all its edges are tight: ``distance[u] + weight`` is ``distance[v]`` but
for a relative `SLACK`, and u is nearer than v. A vertex is ready when all its tight in-edges
have brought their path counts; those that become ready at the same time are a layer.
Dependencies come back in the opposite sequence.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dgraph.algorithms._by_weight import by_weight
from dgraph.algorithms._delta import Search
from dgraph.algorithms._hops import Tight, link
from dgraph.algorithms._path_counts import add, normalise, scaled
from dgraph.algorithms._sparse import broadcast_some
from dgraph.algorithms._terms import Grids, cut, is_first, pairs, receive_terms
from dgraph.algorithms._tight import tight_edges
from dgraph.algorithms.sssp import search
from dgraph.engine.context import Context
from dgraph.errors import EdgeValueError
from dgraph.kernels import kernel
from dgraph.shard import Shard

__all__ = ["SLACK", "weighted_dependencies"]

Array = NDArray[Any]
Members = NDArray[np.int32]

#: Paths whose lengths differ by less than this part of them are equally long.
SLACK = 1e-9


async def weighted_dependencies(
    ctx: Context, shard: Shard, s: Search, source: int, grids: Grids
) -> tuple[NDArray[np.bool_], NDArray[np.float64]]:
    """Return which masters are reached from a source, and its dependency on each.

    Parameters
    ----------
    shard : Shard
        Without parallel edges; all weights are above 0.
    s : Search
        Room for a search.
    source : int
        Its local id on the slot that owns it, -1 on the others.
    grids : Grids
        At which terms are cut.

    Raises
    ------
    EdgeValueError
        If weights are so different that a path rounds to the length of a part of it.
    """
    lowest = await search(ctx, shard, s, source, None, math.inf)
    distance = s.distance
    ctx.stage = "tight edges"
    await ctx.broadcast(shard, distance)
    rows = by_weight(shard)
    tight = await tight_edges(ctx, shard, s, source, lowest, SLACK, *rows)
    reached = np.isfinite(distance[: shard.masters])
    await _check_sums(ctx, tight, reached, source)
    ctx.stage = "forward"
    sigma, exponent = np.zeros(shard.size), np.zeros(shard.size, np.int32)
    layers = await _count_paths(ctx, shard, tight, source, sigma, exponent)
    ctx.stage = "backward"
    delta = await _accumulate(ctx, shard, tight, layers, (sigma, exponent), grids)
    return reached, delta


async def _check_sums(
    ctx: Context, tight: Tight, reached: NDArray[np.bool_], source: int
) -> None:
    """Refuse weights that vanish in the sums."""
    lost = reached & (np.diff(tight.begin) == 0)
    if source >= 0:
        lost[source] = False
    if (await ctx.allreduce([np.count_nonzero(lost)]))[0]:
        raise EdgeValueError(
            "expected weights of similar size, got some that vanish beside others when they "
            "are added; scale or correct the weights"
        )


async def _count_paths(
    ctx: Context, shard: Shard, tight: Tight, source: int, sigma: Array, exponent: Array
) -> list[Members]:
    """Find the path counts of masters and proxies; return the layers."""
    links = link(tight, np.ones(shard.size, np.bool_))
    missing = np.diff(tight.begin)
    front = np.array([source] if source >= 0 else [], np.int32)
    sigma[front] = 1.0
    layers: list[Members] = []
    while True:
        normalise(front, sigma, exponent)
        told, counts, powers = await broadcast_some(
            ctx,
            shard,
            front,
            sigma[front],
            exponent[front],
            vote=[front.size],
            work=4 * front.size,
        )
        if ctx.vote[0] == 0:
            return layers
        layers.append(front)
        sigma[told], exponent[told] = counts, powers
        members = np.append(front, told)
        front = np.sort(push_counts(members, missing, sigma, exponent, tight, *links))


async def _accumulate(
    ctx: Context,
    shard: Shard,
    tight: Tight,
    layers: list[Members],
    counts: tuple[Array, Array],
    grids: Grids,
) -> NDArray[np.float64]:
    """Return delta of the masters; ``delta[u] = sigma[u] * sum((1 + delta[v]) / sigma[v])``."""
    delta = np.zeros(shard.masters)
    coarse, fine = np.zeros(shard.size), np.zeros(shard.size)
    for layer in reversed(layers[1:]):
        proxies = push_terms(layer, delta, *counts, coarse, fine, *tight, grids)
        sums = pairs(proxies, coarse, fine)
        met, sums = await ctx.reduce(shard, proxies, sums, work=4 * proxies.size)
        receive_terms(met, sums, coarse, fine)
    return delta


@kernel
def push_counts(members, missing, sigma, exponent, tight, heads, first, further):  # type: ignore[no-untyped-def]
    """Follow tight edges; return the masters that are now ready, with their path counts.

    Counts are added along the row of tight edges, whose sequence is the same on any slots.
    """
    begin, tail = tight.begin, tight.tail
    ready = np.empty(missing.size, np.int32)
    count = 0
    for u in members:
        edge = first[u]
        while edge >= 0:
            v = heads[edge]
            missing[v] -= 1
            if missing[v] == 0:
                for e in range(begin[v], begin[v + 1]):
                    add(sigma, exponent, v, sigma[tail[e]], exponent[tail[e]])
                ready[count] = v
                count += 1
            edge = further[edge]
    return ready[:count].copy()


@kernel
def push_terms(members, delta, sigma, exponent, coarse, fine, begin, tail, grids):  # type: ignore[no-untyped-def]
    """Settle the delta of members, and push their terms back; return proxies met."""
    proxies = np.empty(coarse.size - delta.size, np.int32)
    count = 0
    for v in members:
        delta[v] = coarse[v] + fine[v]
        term = (1.0 + delta[v]) / sigma[v]
        for e in range(begin[v], begin[v + 1]):
            u = tail[e]
            x = scaled(term * sigma[u], exponent[u] - exponent[v])
            high, low = cut(x, grids)
            if u >= delta.size and is_first(u, high, low, coarse, fine):
                proxies[count] = u
                count += 1
            coarse[u] += high
            fine[u] += low
    return proxies[:count].copy()
