"""Core trees, grown from many hubs at once: the distributed form of YH-Light's first step.

A vertex becomes a hub with a chance that is its share of the volume `vol_st`, by a hash of its
order: heavy ones always. In every superstep each vertex without a tree joins that of most of
its neighbours, as long as the tree has room; what no tree touches gets hubs of its own, which
are the first of their neighbourhoods in the vertex order. Vertices whose neighbours' trees are
full stay without one: they will follow the neighbours, not the trees. No slot learns of other
edges than those it holds. What it costs in quality beside trees grown one after the other: a
tree that meets another one stops there, so that some stay small.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dgraph.engine.context import Context
from dgraph.kernels import kernel
from dgraph.placement.whole import Links
from dgraph.shard import Shard

__all__ = ["Trees", "grow_trees"]

Array = NDArray[Any]

#: Supersteps of one generation of hubs, and generations.
ROUNDS, GENERATIONS = 48, 3

#: A generation ends when no more than this share of those without a tree have joined one, and
#: no more than in the superstep before (fronts of large trees begin small and grow), or when no
#: more than this share of all is left: they will follow their neighbours.
FEW, LAST = 1 / 8, 1 / 64

#: So few slots each take their part of a tree's room, and do not ask who else wants it.
FEW_SLOTS = 2

#: Most trees there may be, as a multiple of those that were wanted.
MORE = 4


@dataclass(slots=True)
class Trees:
    """Who belongs to which tree.

    Parameters
    ----------
    tree : int32 array of length shard.size
        Of every local vertex; -1: of none.
    volume : int64 array of length count
        Of every tree: the sum of its vertices' ``8 + 8 * degree`` bytes. On slots that hold
        vertices.
    nothing : int64 array of length count + 1
        What a slot votes that has no part in it.
    workers : int
        How many slots hold vertices.
    count : int
        How many trees there are.
    loose : uint32 array
        Masters with neighbours that are in none, and some that have joined one just now.
    """

    tree: NDArray[np.int32]
    volume: NDArray[np.int64]
    nothing: NDArray[np.int64]
    workers: int
    count: int = 0
    loose: NDArray[np.uint32] = field(default_factory=lambda: np.zeros(0, np.uint32))


async def grow_trees(ctx: Context, shard: Shard, links: Links, vol_st: int, most: int) -> Trees:
    """Grow core trees over all slots.

    Parameters
    ----------
    links : Links
        Of the masters.
    vol_st : int
        The volume that a tree is to reach, bytes; about twice that at most, unless one vertex
        is heavier.
    most : int
        How many trees are wanted at most; there may be `MORE` times as many.
    """
    volume = 8 + 8 * links.degree.astype(np.int64)
    workers = int(np.count_nonzero(np.diff(shard.bases)))
    none = np.zeros(0, np.int64)
    trees = Trees(np.full(shard.size, -1, np.int32), none, none, workers)
    hubs = _drawn(shard.order, volume, vol_st)
    trees.loose = np.flatnonzero(volume > 8).astype(np.uint32)
    joinable = 0
    for generation in range(GENERATIONS):
        hubs &= volume > 8
        planted, loose = await _plant(ctx, shard, trees, hubs, volume, MORE * most)
        if not generation:
            joinable = left = loose
        if not planted:
            break
        left -= planted
        before = 0
        for _ in range(ROUNDS):
            joined = await _join(ctx, shard, links, trees, volume, 2 * vol_st)
            left -= joined
            slows = joined <= before and joined <= FEW * (left + joined)
            if slows or left <= LAST * joinable:
                break
            before = joined
        hubs[:] = False
        _first_around(links.rows, trees.tree, shard.rank, trees.loose, hubs)
    trees.loose = trees.loose[:0].copy()  # nobody asks any more
    return trees


async def _plant(
    ctx: Context, shard: Shard, trees: Trees, hubs: Array, volume: Array, most: int
) -> tuple[int, int]:
    """Begin a tree at every hub that there is room for.

    Returns how many there are, and how many vertices have neighbours at all.
    """
    found = np.flatnonzero(hubs)
    told = np.zeros(ctx.slots + 1, np.int64)
    told[ctx.slot], told[-1] = found.size, np.count_nonzero(volume > 8)
    *counts, joinable = (await ctx.allreduce(told)).tolist()
    before, first = trees.count, trees.count + sum(counts[: ctx.slot])
    trees.count = min(before + sum(counts), most)
    if trees.count == before:
        return 0, joinable
    found = found[: max(0, trees.count - first)]
    numbers = np.arange(first, first + found.size)
    trees.tree[found] = numbers
    sums = np.zeros(trees.count, np.int64)
    sums[numbers] = volume[found]
    await ctx.broadcast(shard, trees.tree, vote=sums)
    trees.volume = _longer(trees.volume, ctx.vote)
    trees.nothing = np.zeros(trees.count + 1, np.int64)
    return trees.count - before, joinable


def _longer(old: Array, more: Array) -> Array:
    """Return the sum of two arrays, the first of which may be shorter.

    >>> _longer(np.array([1]), np.array([1, 2]))
    array([2, 2])
    """
    total = more.copy()
    total[: old.size] += old
    return total


async def _join(
    ctx: Context, shard: Shard, links: Links, trees: Trees, volume: Array, cap: int
) -> int:
    """Let every vertex without a tree join one; return how many did."""
    sums = trees.nothing
    wanted = sums[:-1]
    if shard.masters:
        wish = np.empty(trees.loose.size, np.int32)
        wanted, sums = np.zeros_like(wanted), np.zeros_like(sums)
        room = np.maximum(cap - trees.volume, 0)
        _choose(links.rows, trees.tree, trees.loose, volume, room, wish, wanted)
    if trees.workers > FEW_SLOTS:
        total = await ctx.allreduce(wanted)
    elif shard.masters:
        total = trees.workers * wanted
    if shard.masters:
        chance = np.minimum(room / np.maximum(total, 1), 1.0)
        salt = int(total.sum())
        left = _admit(trees.loose, wish, volume, chance, shard.order, salt, trees.tree, sums)
        trees.loose = trees.loose[:left]
    await ctx.broadcast(shard, trees.tree, vote=sums)
    if shard.masters:
        trees.volume = trees.volume + ctx.vote[:-1]
    return int(ctx.vote[-1])


@kernel
def _uniform(number):  # type: ignore[no-untyped-def]
    """Return a hash of a number, from 0 to 1."""
    hashed = np.uint64(number) * np.uint64(0x9E3779B97F4A7C15)
    hashed ^= hashed >> np.uint64(32)
    hashed *= np.uint64(0xD6E8FEB86659FD93)
    return np.int64(hashed >> np.uint64(11)) / 2.0**53


@kernel
def _drawn(order, volume, vol_st):  # type: ignore[no-untyped-def]
    """Return which vertices become hubs: by a hash, with the chance ``volume / vol_st``."""
    drawn = np.zeros(order.size, np.bool_)
    for v in range(order.size):
        drawn[v] = _uniform(order[v]) * vol_st < volume[v]
    return drawn


@kernel
def _choose(rows, tree, loose, volume, room, wish, wanted):  # type: ignore[no-untyped-def]
    """Find for each vertex without a tree the one of most neighbours, ties to the oldest."""
    offsets, targets = rows
    taken = _taken(tree)  # most looks end here, in the fast cache
    votes = np.zeros(room.size, np.int64)  # the vertex that they are of, and how many
    for j in range(loose.size):
        v = loose[j]
        wish[j] = -1
        if tree[v] >= 0:
            continue
        none = (np.int64(v) + 1) << 32
        best, most = -1, none
        for i in range(offsets[v], offsets[v + 1]):
            u = targets[i]
            if not (taken[u >> 6] >> np.uint64(u & 63)) & np.uint64(1):
                continue
            t = tree[u]
            if room[t] >= volume[v]:
                now = max(votes[t], none) + 1
                votes[t] = now
                if now > most or (now == most and t < best):
                    best, most = t, now
        if best >= 0:
            wish[j] = best
            wanted[best] += volume[v]


@kernel
def _taken(tree):  # type: ignore[no-untyped-def]
    """Return a bit for each vertex: whether it is in a tree."""
    taken = np.zeros((tree.size >> 6) + 1, np.uint64)
    for word in range(tree.size >> 6):
        bits = np.uint64(0)
        for at in range(64):
            bits |= np.uint64(tree[(word << 6) + at] >= 0) << np.uint64(at)
        taken[word] = bits
    for v in range(tree.size & ~63, tree.size):
        taken[v >> 6] |= np.uint64(tree[v] >= 0) << np.uint64(v & 63)
    return taken


@kernel
def _admit(loose, wish, volume, chance, order, salt, tree, sums):  # type: ignore[no-untyped-def]
    """Let vertices into the trees of their wish, by chance where there is not room for all.

    The others come to the front of `loose`; returns how many they are.
    """
    left = 0
    for j in range(loose.size):
        v, t = loose[j], wish[j]
        if t >= 0 and (chance[t] >= 1.0 or _uniform(order[v] + salt) < chance[t]):
            tree[v] = t
            sums[t] += volume[v]
            sums[-1] += 1
        elif tree[v] < 0:
            loose[left] = v
            left += 1
    return left


@kernel
def _first_around(rows, tree, rank, loose, hubs):  # type: ignore[no-untyped-def]
    """Mark vertices that no tree touches and that precede all their neighbours."""
    offsets, targets = rows
    for v in loose:
        first = tree[v] < 0
        for i in range(offsets[v], offsets[v + 1] if first else offsets[v]):
            u = targets[i]
            if tree[u] >= 0 or rank[u] < rank[v]:
                first = False
                break
        hubs[v] = first
