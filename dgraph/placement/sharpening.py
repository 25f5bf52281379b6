"""Cuts between domains, improved vertex by vertex: in a band along them, on slot 0.

Trees are coarse: a cut along them is as ragged as they are. What lies along the cuts between
domains, the vertices of the trees that touch them, is a small part of a graph that can be cut
well at all. Slot 0 gathers that band alone, with one anchor for each slot that stands for all
else there, and improves the cuts from the top down as those of the trees were made (C.
Chevalier, F. Pellegrini: PT-Scotch, Parallel Computing 34(6-8), 2008,
doi:10.1016/j.parco.2007.12.001). Where the band is no small part, there is nothing to gain, and
it is not gathered.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from dgraph.engine.context import Context
from dgraph.kernels import kernel
from dgraph.placement.growth import Trees
from dgraph.placement.halving import halving_of, parted, share_of
from dgraph.placement.loads import Sizes, loads_here
from dgraph.placement.multilevel import fraction_of, improve_at
from dgraph.placement.quotient import Quotient, make_quotient
from dgraph.placement.whole import Links
from dgraph.shard import Shard
from dgraph.topology import Topology

__all__ = ["sharpen", "sharpen_cuts"]

Array = NDArray[Any]

#: A band of more than this part of all ends of edges, or of more than so many, stays as it is.
PART, MOST = 1 / 2, 1 << 21


async def sharpen(
    ctx: Context,
    shard: Shard,
    links: Links,
    trees: Trees,
    slot_of: NDArray[np.int32],
    sizes: Sizes,
    topology: Topology,
    eps: float,
) -> None:
    """Improve the cuts between slots, and between domains, in place.

    Parameters
    ----------
    slot_of : int32 array of length shard.size
        Of every local vertex at first; only of the masters at last.
    eps : float
        How uneven slots may be.
    """
    rows = (links.offsets, links.targets)
    touched = np.zeros(trees.count, np.int64)
    _touch(rows, trees.tree, slot_of, touched, shard.masters)
    touched = await ctx.allreduce(touched, "max")
    band = np.zeros(shard.size, np.bool_)
    told = np.zeros(2 * ctx.slots + 1, np.int64)
    told[-1] = _mark(rows, trees.tree, slot_of, touched, band[: shard.masters])
    told[:-1] = loads_here(
        ctx.slots, np.diff(links.offsets), np.where(band, -1, slot_of)[: shard.masters]
    )
    await ctx.broadcast(shard, band, vote=told)
    *rest, ends = ctx.vote.tolist()
    if not 0 < ends <= min(PART * sizes.ends, MOST):
        return
    mine = np.flatnonzero(band[: shard.masters])
    cut_out = _cut_out(rows, mine, band, slot_of, shard.rank)
    sent: list[Any] = [None] * ctx.slots
    sent[0] = (slot_of[mine], shard.rank[mine], np.diff(links.offsets)[mine], *cut_out)
    came = await ctx.alltoall(sent)
    replies: list[Any] = [None] * ctx.slots
    if ctx.slot == 0:
        others = np.array(rest).reshape(2, -1)
        sources = [slot for slot, some in enumerate(came) if some is not None]
        parts = [_Part(*some) for some in came if some is not None]
        found = _decide(parts, others, sizes, topology, eps)
        for source, slots in zip(sources, found, strict=True):
            replies[source] = (slots,)
    slot_of[mine] = (await ctx.alltoall(replies))[0][0]  # type: ignore[index]


class _Part(NamedTuple):
    """What a slot sends of the band: of each vertex, and of the other end of each edge.

    An edge stands with the end of smaller rank. An other end is a position in this part, or,
    with the length of the part added, the rank of a vertex of another one; what is not in the
    band is -1 less its slot.
    """

    slot: Array
    rank: Array
    degree: Array
    length: Array
    far: Array


def _decide(
    parts: list[_Part], others: Array, sizes: Sizes, topology: Topology, eps: float
) -> list[Array]:
    """Return the slots of the vertices of every part."""
    slots = topology.slots
    ends = slots + np.cumsum([len(part.slot) for part in parts])
    slot, rank, degree, length, _ = (
        np.concatenate(column) for column in zip(*parts, strict=True)
    )
    by_rank = np.argsort(rank, kind="stable") if len(parts) > 1 else rank
    targets = []
    for part, end in zip(parts, ends.tolist(), strict=True):
        many = len(part.slot)
        target = np.where(part.far < 0, -1 - part.far, part.far + (end - many))
        away = np.flatnonzero(part.far >= many)
        if away.size:
            places = np.searchsorted(rank, part.far[away] - many, sorter=by_rank)
            target[away] = slots + by_rank[places]
        targets.append(target)
    source = slots + np.repeat(np.arange(len(rank)), length)
    mean = max(1, round(16 * sizes.ends / max(sizes.vertices, 1)))
    anchors = mean * others[0] + 16 * others[1]
    mass = np.concatenate([anchors, mean + 16 * degree.astype(np.int64)])
    once = np.ones(len(source), np.int64)
    q = make_quotient(source, np.concatenate(targets), once, np.maximum(mass, 1))
    found = np.concatenate([np.arange(slots), slot]).astype(np.int32)
    sharpen_cuts(q, found, topology, eps)
    return np.split(found[slots:], ends[:-1] - slots)


def sharpen_cuts(q: Quotient, slot: NDArray[np.int32], topology: Topology, eps: float) -> None:
    """Improve the cuts of a graph that has slots already, in place."""
    _sharpen(q.rows, np.arange(q.n), halving_of(topology), 0, share_of(topology, eps), slot)


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
def _mark(rows, tree, slot_of, touched, band):  # type: ignore[no-untyped-def]
    """Mark the vertices of the band; return how many ends of edges they have.

    Of those without a tree: what is beside a tree of the band, or another slot.
    """
    offsets, targets = rows
    ends = 0
    for v in range(band.size):
        if tree[v] >= 0:
            band[v] = touched[tree[v]] != 0
        else:
            here = slot_of[v]
            for i in range(offsets[v], offsets[v + 1]):
                u = targets[i]
                if slot_of[u] != here or (tree[u] >= 0 and touched[tree[u]] != 0):
                    band[v] = True
                    break
        if band[v]:
            ends += offsets[v + 1] - offsets[v]
    return ends


@kernel
def _cut_out(rows, mine, band, slot_of, rank):  # type: ignore[no-untyped-def]
    """Return the lengths of the rows of some vertices, and the other ends, as in a part."""
    offsets, targets = rows
    many = np.int64(0)
    place = np.full(offsets.size - 1, -1, np.int32)
    for j in range(mine.size):
        place[mine[j]] = j
        many += offsets[mine[j] + 1] - offsets[mine[j]]
    length, far = np.zeros(mine.size, np.int64), np.empty(many, np.int64)
    at = np.int64(0)
    for j in range(mine.size):
        v, begin = mine[j], at
        for i in range(offsets[v], offsets[v + 1]):
            u = targets[i]
            if not band[u]:
                far[at] = -1 - np.int64(slot_of[u])
            elif rank[v] >= rank[u]:
                continue
            elif u < place.size:
                far[at] = place[u]
            else:
                far[at] = mine.size + rank[u]
            at += 1
        length[j] = at - begin
    return length, far[:at].copy()


@kernel
def _sharpen(rows, names, halving, run, share, slot):  # type: ignore[no-untyped-def]
    """Improve the cuts of a part of the graph: vertices of these names, on a run of slots."""
    second = np.empty(halving.slots.size, np.int8)
    todo = [(rows, names, run)]
    while todo:
        rows, names, run = todo.pop()
        begin, at, end, seconds, _ = halving.runs[run]
        if end - begin == 1:
            continue
        second[halving.slots[begin:at]] = 0
        second[halving.slots[at:end]] = 1
        own = slot[names]
        side = second[own]
        goal = np.int64(np.rint(rows[3].sum() * fraction_of(halving, run)))
        improve_at(rows, side, goal, share)
        firsts = halving.slots[begin], halving.slots[at]
        _adopt(rows, side, second, firsts, own)
        slot[names] = own
        first, other = parted(rows, side, names)
        todo.append((*first, run + 1))
        todo.append((*other, seconds))


@kernel
def _adopt(rows, side, second, firsts, own):  # type: ignore[no-untyped-def]
    """Give vertices that have changed sides the slot there of most of their edges."""
    offsets, targets, weights, _ = rows
    count = np.zeros(second.size, np.int64)
    queue = np.empty(own.size, np.int32)
    many = 0
    for v in range(own.size):
        if second[own[v]] != side[v]:
            queue[many] = v
            many += 1
    while many:
        left = 0
        for j in range(many):
            v = queue[j]
            best, most = -1, 0
            for i in range(offsets[v], offsets[v + 1]):
                s = own[targets[i]]
                if second[s] == side[v]:
                    count[s] += weights[i]
                    if count[s] > most or (count[s] == most and s < best):
                        best, most = s, count[s]
            for i in range(offsets[v], offsets[v + 1]):
                count[own[targets[i]]] = 0
            if best < 0:
                queue[left] = v
                left += 1
            else:
                own[v] = best
        if left == many:  # nobody is beside them
            for j in range(left):
                own[queue[j]] = firsts[side[queue[j]]]
            left = 0
        many = left
