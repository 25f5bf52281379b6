"""Cuts between domains, improved vertex by vertex: in a band along them (see `band`).

From the top down, as the cuts of the trees were made (C. Chevalier, F. Pellegrini: PT-Scotch,
Parallel Computing 34(6-8), 2008, doi:10.1016/j.parco.2007.12.001). Slot 0, which has the band,
improves the first cut; the halves have nothing to do with each other, and two slots work on.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from dgraph.engine.context import Context
from dgraph.kernels import kernel
from dgraph.placement.band import Band
from dgraph.placement.halving import halving_of, parted, share_of
from dgraph.placement.multilevel import fraction_of, improve_at
from dgraph.placement.quotient import Quotient
from dgraph.topology import Topology

__all__ = ["sharpen_cuts", "sharpen_together"]

Array = NDArray[Any]

#: How often the improvement looks at an end of an edge, about.
LOOKS = 16


async def sharpen_together(
    ctx: Context, band: Band | None, topology: Topology, eps: float
) -> NDArray[np.int32] | None:
    """Return better slots of a band that slot 0 has, there; all slots take part.

    None elsewhere, and if there is none. Two slots, far from each other, take a half each.

    Parameters
    ----------
    eps : float
        How uneven slots may be.
    """
    judges, work = [0, ctx.slots // 2], 0
    sent: list[Any] = [None] * ctx.slots
    slot, halves = None, []
    if band is not None:
        slot, work = band.slot.copy(), LOOKS * len(band.graph.targets)
        halves = _first_cut(band.graph, slot, topology, eps)
        for judge, (rows, names) in zip(judges, halves, strict=True):
            sent[judge] = (*rows, slot[names])
    mine = (await ctx.alltoall(sent, [len(halves)], work))[0]
    if not ctx.vote[0]:
        return None
    told: list[Any] = [None] * ctx.slots
    if mine is not None:
        told[0] = (_half(mine, judges.index(ctx.slot), topology, eps),)
    came = await ctx.alltoall(told)
    if slot is not None:
        for judge, (_, names) in zip(judges, halves, strict=True):
            slot[names] = came[judge][0]  # type: ignore[index]
    return slot


def _first_cut(
    graph: Quotient, slot: NDArray[np.int32], topology: Topology, eps: float
) -> list[tuple[tuple[Array, ...], Array]]:
    """Improve the first cut, in place; return the rows, masses and names of both halves."""
    names, halving = np.arange(graph.n), halving_of(topology)
    return list(_cut(graph.rows, names, halving, 0, share_of(topology, eps), slot))


def _half(mine: tuple[Array, ...], which: int, topology: Topology, eps: float) -> Array:
    """Return better slots of one half: rows, masses and slots."""
    # kernels of what may be written are the only ones there are
    rows, slot = tuple(np.require(some, None, "W") for some in mine[:-1]), mine[-1].copy()
    names, halving = np.arange(slot.size), halving_of(topology)
    run = (1, halving.seconds)[which]
    _sharpen(rows, names, halving, run, share_of(topology, eps), slot)
    return slot


def sharpen_cuts(q: Quotient, slot: NDArray[np.int32], topology: Topology, eps: float) -> None:
    """Improve the cuts of a graph that has slots already, in place."""
    _sharpen(q.rows, np.arange(q.n), halving_of(topology), 0, share_of(topology, eps), slot)


@kernel
def _sharpen(rows, names, halving, run, share, slot):  # type: ignore[no-untyped-def]
    """Improve the cuts of a part of the graph: vertices of these names, on a run of slots."""
    todo = [(rows, names, run)]
    while todo:
        rows, names, run = todo.pop()
        begin, _, end, seconds, _ = halving.runs[run]
        if end - begin > 1:
            first, other = _cut(rows, names, halving, run, share, slot)
            todo.append((*first, run + 1))
            todo.append((*other, seconds))


@kernel
def _cut(rows, names, halving, run, share, slot):  # type: ignore[no-untyped-def]
    """Improve where a run is cut; return the rows, masses and names of both halves."""
    begin, at, end, _, _ = halving.runs[run]
    second = np.empty(halving.slots.size, np.int8)
    second[halving.slots[begin:at]] = 0
    second[halving.slots[at:end]] = 1
    own = slot[names]
    side = second[own]
    goal = np.int64(np.rint(rows[3].sum() * fraction_of(halving, run)))
    improve_at(rows, side, goal, share)
    firsts = halving.slots[begin], halving.slots[at]
    _adopt(rows, side, second, firsts, own)
    slot[names] = own
    return parted(rows, side, names)


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
