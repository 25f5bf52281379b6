"""The band along the cuts between slots, which slot 0 gathers alone.

Trees are coarse: a cut along them is as ragged as they are. What lies along the cuts, the
vertices of the trees that touch them, is a small part of a graph that can be cut well at all.
Slot 0 gathers that band, with one anchor for each slot that stands for all else there. Where it
is no small part, there is nothing to gain, and it is not gathered.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from dgraph.engine.context import Context
from dgraph.kernels import kernel
from dgraph.placement.growth import Trees
from dgraph.placement.loads import Sizes
from dgraph.placement.quotient import Quotient
from dgraph.placement.whole import Links
from dgraph.shard import Shard

__all__ = ["Band", "gather_band", "hand_back"]

Array = NDArray[Any]

#: A band of more than this part of all ends of edges, or of more than so many, stays as it is.
PART, MOST = 1 / 2, 1 << 21


class Band(NamedTuple):
    """Anchors, and after them the vertices that slots have sent.

    Parameters
    ----------
    graph : Quotient
    slot : int32 array
        The slot of each.
    ends : dict of int to int
        Where the vertices of each slot that has sent some end, ascending.
    """

    graph: Quotient
    slot: NDArray[np.int32]
    ends: dict[int, int]


async def gather_band(
    ctx: Context,
    shard: Shard,
    links: Links,
    trees: Trees,
    slot_of: Array,
    sizes: Sizes,
) -> tuple[NDArray[np.int64] | None, Band | None]:
    """Return which masters are in the band, and on slot 0 the whole of it.

    The first is None on all slots if nothing is gathered.

    Parameters
    ----------
    slot_of : integer array of length shard.size
        Of every local vertex.
    """
    rows = links.rows
    touched = np.zeros(trees.count, np.int64)
    _touch(rows, trees.tree, slot_of, touched, shard.masters)
    touched = await ctx.allreduce(touched, "max")
    band = np.zeros(shard.size, np.bool_)
    told = np.zeros(2 * ctx.slots + 1, np.int64)
    rest = told[:-1].reshape(2, -1)
    told[-1] = _mark(rows, links.degree, trees.tree, slot_of, touched, band, rest)
    await ctx.broadcast(shard, band, vote=told)
    if not 0 < ctx.vote[-1] <= min(PART * sizes.ends, MOST):
        return None, None
    others = ctx.vote[:-1].reshape(2, -1)
    mine = np.flatnonzero(band[: shard.masters])
    far = _cut_out(rows, links.degree, mine, band, slot_of, shard.rank)
    sent: list[Any] = [None] * ctx.slots
    sent[0] = (slot_of[mine], shard.rank[mine], links.degree[mine], far)
    came = await ctx.alltoall(sent)
    if ctx.slot:
        return mine, None
    parts = {slot: _Part(*some) for slot, some in enumerate(came) if some is not None}
    return mine, _band_of(parts, others, sizes)


async def hand_back(
    ctx: Context, band: Band | None, found: NDArray[np.int32] | None
) -> NDArray[np.int32]:
    """Return the slots that were found for this slot's part of the band; slot 0 knows all."""
    replies: list[Any] = [None] * ctx.slots
    if band is not None and found is not None:
        begin = ctx.slots
        for slot, end in band.ends.items():
            replies[slot] = (found[begin:end],)
            begin = end
    came = (await ctx.alltoall(replies))[0]
    assert came is not None  # slots without vertices are told of none
    return came[0]


class _Part(NamedTuple):
    """What a slot sends of the band: of each vertex, and of the other end of each edge.

    An other end is a position in this part, or, with the length of the part added, the rank of
    a vertex of another one; what is not in the band is -1 less its slot.
    """

    slot: Array
    rank: Array
    degree: Array
    far: Array


def _band_of(parts: dict[int, _Part], others: Array, sizes: Sizes) -> Band:
    """Put the parts of slots together; `others` is what slots have outside, as `Loads` does."""
    slots = others.shape[1]
    ends = np.cumsum([len(part.slot) for part in parts.values()]).tolist()
    slot, rank, degree, _ = (_joined(some) for some in zip(*parts.values(), strict=True))
    table = _table_of(rank) if len(parts) > 1 else np.zeros(1, np.int32)
    targets = [
        _places_of(part.far, len(part.slot), end - len(part.slot), rank, table)
        for part, end in zip(parts.values(), ends, strict=True)
    ]
    mean = max(1, round(16 * sizes.ends / max(sizes.vertices, 1)))
    anchors = mean * others[0] + 16 * others[1]
    mass = np.maximum(np.concatenate([anchors, mean + 16 * degree.astype(np.int64)]), 1)
    offsets, target, weights = _rows_of(degree, _joined(targets), slots)
    return Band(
        Quotient(offsets, target, weights, mass),
        np.concatenate([np.arange(slots, dtype=np.int32), slot]),
        {slot: slots + end for slot, end in zip(parts, ends, strict=True)},
    )


def _joined(columns: Sequence[Array]) -> Array:
    """Return columns after one another."""
    return columns[0] if len(columns) == 1 else np.concatenate(columns)


@kernel(inline="always")
def _hashed(number, size):  # type: ignore[no-untyped-def]
    """Return a place in a table, the size of which is a power of two."""
    mixed = np.uint64(number) * np.uint64(0x9E3779B97F4A7C15)
    return np.int64(mixed >> np.uint64(32)) & (size - 1)


@kernel
def _table_of(rank):  # type: ignore[no-untyped-def]
    """Return a hash table of the places of numbers, each of which is there once."""
    size = 2
    while size < 2 * rank.size:
        size *= 2
    table = np.full(size, -1, np.int32)
    for i in range(rank.size):
        at = _hashed(rank[i], size)
        while table[at] >= 0:
            at = (at + 1) & (size - 1)
        table[at] = i
    return table


@kernel
def _places_of(far, many, first, rank, table):  # type: ignore[no-untyped-def]
    """Return where in the band the other ends of the edges of a part are, or their slots."""
    found = np.empty(far.size, np.int64)
    for i in range(far.size):
        if far[i] < many:
            found[i] = far[i] if far[i] < 0 else far[i] + first
            continue
        at = _hashed(far[i] - many, table.size)
        while rank[table[at]] != far[i] - many:
            at = (at + 1) & (table.size - 1)
        found[i] = table[at]
    return found


@kernel
def _touch(rows, tree, slot_of, touched, masters):  # type: ignore[no-untyped-def]
    """Mark the trees that have a neighbour on another slot."""
    offsets, targets = rows
    for v in range(masters):
        t = tree[v]
        if t < 0 or touched[t]:
            continue
        here = slot_of[v]
        for i in range(offsets[v], offsets[v + 1]):
            if slot_of[targets[i]] != here:
                touched[t] = 1
                break


@kernel
def _mark(rows, degree, tree, slot_of, touched, band, rest):  # type: ignore[no-untyped-def]
    """Mark the vertices of the band; return how many ends of edges they have.

    Of those without a tree: what is beside a tree of the band, or another slot. Adds to `rest`
    the vertices and ends of edges of every slot that are not in the band.
    """
    offsets, targets = rows
    ends = 0
    for v in range(degree.size):
        here = slot_of[v]
        if tree[v] >= 0:
            band[v] = touched[tree[v]] != 0
        else:
            for i in range(offsets[v], offsets[v + 1]):
                u = targets[i]
                if slot_of[u] != here or (tree[u] >= 0 and touched[tree[u]] != 0):
                    band[v] = True
                    break
        if band[v]:
            ends += degree[v]
        elif here >= 0:
            rest[0, here] += 1
            rest[1, here] += degree[v]
    return ends


@kernel
def _cut_out(rows, degree, mine, band, slot_of, rank):  # type: ignore[no-untyped-def]
    """Return the other ends of the edges of some vertices, as in a part."""
    offsets, targets = rows
    many = np.int64(0)
    place = np.full(degree.size, -1, np.int32)
    for j in range(mine.size):
        place[mine[j]] = j
        many += degree[mine[j]]
    far, at = np.empty(many, np.int64), np.int64(0)
    for j in range(mine.size):
        for i in range(offsets[mine[j]], offsets[mine[j] + 1]):
            u = targets[i]
            if not band[u]:
                far[at] = -1 - np.int64(slot_of[u])
            elif u < place.size:
                far[at] = place[u]
            else:
                far[at] = mine.size + rank[u]
            at += 1
    return far


@kernel
def _rows_of(degree, far, slots):  # type: ignore[no-untyped-def]
    """Return the rows of the anchors of so many slots, and of the band."""
    offsets = np.zeros(slots + degree.size + 1, np.int64)
    last = np.full(slots, -1, np.int64)
    at = np.int64(0)
    for v in range(degree.size):  # anchors have one edge to each vertex that is beside them
        for i in range(at, at + degree[v]):
            if far[i] < 0 and last[-1 - far[i]] != v:
                last[-1 - far[i]] = v
                offsets[-far[i]] += 1
        at += degree[v]
    for s in range(slots):
        offsets[s + 1] += offsets[s]
    kept = offsets[slots]
    targets, weights = np.empty(kept + far.size, np.int32), np.empty(kept + far.size, np.int64)
    to = offsets[:slots].copy()
    place = np.full(slots + degree.size, -1, np.int64)
    at = np.int64(0)
    for v in range(degree.size):
        own, first = slots + v, kept
        for i in range(at, at + degree[v]):
            t = slots + far[i] if far[i] >= 0 else -1 - far[i]
            if t == own:
                continue
            if place[t] >= first:
                weights[place[t]] += 1
            else:
                place[t] = kept
                targets[kept], weights[kept] = t, 1
                kept += 1
        at += degree[v]
        offsets[own + 1] = kept
        for i in range(first, kept):
            t = targets[i]
            if t < slots:
                targets[to[t]], weights[to[t]] = own, weights[i]
                to[t] += 1
    return offsets, targets[:kept], weights[:kept]
