"""What slots have and may have, and how wishes for room on them are granted.

All slots of the engine know the loads of all; each grants the wishes of its own vertices, out
of a part of the room that is left when others have had theirs.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numba as nb
import numpy as np
from numpy.typing import NDArray

from dgraph.engine.context import Context
from dgraph.placement.whole import Links
from dgraph.shard import Shard

__all__ = [
    "Loads",
    "add_costs",
    "admit_best",
    "capacities",
    "find_cost",
    "find_costs",
    "loads_of",
    "share_room",
    "tally",
]

Array = NDArray[Any]


@dataclass(slots=True)
class Loads:
    """What every slot has, and may have.

    Parameters
    ----------
    have, cap : int64 arrays of shape (2, slots)
        Vertices; ends of edges.
    """

    have: NDArray[np.int64]
    cap: NDArray[np.int64]

    @property
    def room(self) -> NDArray[np.int64]:
        """What each slot may still get."""
        left: NDArray[np.int64] = np.maximum(self.cap - self.have, 0)
        return left


async def capacities(ctx: Context, shard: Shard, links: Links, eps: float) -> NDArray[np.int64]:
    """Return how many vertices and ends of edges each slot may have.

    ``1 + eps`` times the mean, but room for every vertex, and for the heaviest one.
    """
    degree = np.diff(links.offsets)
    heaviest = int((await ctx.allreduce([degree.max(initial=0)], "max"))[0])
    ends = int((await ctx.allreduce([degree.sum()]))[0])
    n, slots = shard.num_vertices, ctx.slots
    vertices = max(-(-n // slots), int((1 + eps) * n / slots))
    most = max(int((1 + eps) * ends / slots), ends // slots + heaviest)
    return np.repeat(np.array([[vertices], [most]], np.int64), slots, axis=1)


async def loads_of(
    ctx: Context, degree: NDArray[np.int64], slot_of: NDArray[np.int32]
) -> NDArray[np.int64]:
    """Return the vertices and the ends of edges that every slot has, as `Loads` does."""
    sums = np.zeros((2, ctx.slots), np.int64)
    _add_up(slot_of, degree, sums)
    total: NDArray[np.int64] = (await ctx.allreduce(sums.ravel())).reshape(2, -1).copy()
    return total


async def share_room(
    ctx: Context, room: Array, wanted: Array, turn: int, cost: int = 0
) -> tuple[NDArray[np.int64], int, bool]:
    """Return the room that is this slot's, the cost of all, and whether any wants any.

    The slots of the engine are served one after the other, in every turn another one first.
    """
    came = await ctx.allgather(np.append(wanted.ravel(), [cost, wanted[0].sum()]))
    told = [some[0] for some in came]
    left: NDArray[np.int64] = room.ravel()
    if told[ctx.slot][-1]:
        first = (7 * turn) % ctx.slots
        mine = (ctx.slot - first) % ctx.slots
        before = [some for slot, some in enumerate(told) if (slot - first) % ctx.slots < mine]
        if before:
            left = np.maximum(left - np.sum(before, axis=0)[:-2], 0)
    total = sum(int(some[-2]) for some in told)
    return left.reshape(room.shape).copy(), total, any(some[-1] for some in told)


@nb.njit(nogil=True, cache=True)
def _add_up(slot_of, degree, sums):  # type: ignore[no-untyped-def]
    for v in range(degree.size):
        if slot_of[v] >= 0:
            sums[0, slot_of[v]] += 1
            sums[1, slot_of[v]] += degree[v]


@nb.njit(nogil=True, cache=True, inline="always")
def tally(v, offsets, targets, slot_of, count, touched):  # type: ignore[no-untyped-def]
    """Count the neighbours of a vertex by slot; return how many slots there are."""
    many = 0
    begin, end = offsets[v], offsets[v + 1]
    if end - begin > count.size:  # which slots they are is asked once, not for each neighbour
        for i in range(begin, end):
            u = targets[i]
            if slot_of[u] >= 0 and u != v:
                count[slot_of[u]] += 1
        for s in range(count.size):
            touched[many] = s
            many += count[s] > 0
        return many
    for i in range(begin, end):
        u = targets[i]
        s = slot_of[u]
        if s >= 0 and u != v:
            if count[s] == 0:
                touched[many] = s
                many += 1
            count[s] += 1
    return many


@nb.njit(nogil=True, cache=True, inline="always")
def find_costs(unit, count, touched, many, costs):  # type: ignore[no-untyped-def]
    """Find what a vertex costs on every slot, if its neighbours are on many; tell whether.

    Whole numbers as floats: all slots in a row are vector instructions.
    """
    if many * many < costs.size:
        return False
    costs[:] = 0.0
    for j in range(many):
        number = np.float64(count[touched[j]])
        row = unit[touched[j]]
        for s in range(costs.size):
            costs[s] += number * row[s]
    return True


@nb.njit(nogil=True, cache=True, inline="always")
def find_cost(slot, unit, count, touched, many):  # type: ignore[no-untyped-def]
    """Find what a vertex with so many neighbours on each slot costs on a slot."""
    total = 0.0
    for j in range(many):
        total += count[touched[j]] * unit[touched[j], slot]
    return total


@nb.njit(nogil=True, cache=True)
def add_costs(offsets, targets, slot_of, unit, masters, step):  # type: ignore[no-untyped-def]
    """Return what the links of every so manieth master cost."""
    total = 0.0
    for v in range(0, masters, step):
        row = unit[slot_of[v]]
        for i in range(offsets[v], offsets[v + 1]):
            total += row[slot_of[targets[i]]]
    return np.int64(total)


@nb.njit(nogil=True, cache=True)
def admit_best(wish, gain, degree, share, slot_of):  # type: ignore[no-untyped-def]
    """Grant the wishes of the highest gain, and return what every slot gets more."""
    some = np.flatnonzero(wish >= 0)
    changed = np.zeros_like(share)
    by = some[np.argsort(-gain[some], kind="mergesort")]
    for v in by:
        s = wish[v]
        if share[0, s] >= 1 and share[1, s] >= degree[v]:
            share[0, s] -= 1
            share[1, s] -= degree[v]
            if slot_of[v] >= 0:
                changed[0, slot_of[v]] -= 1
                changed[1, slot_of[v]] -= degree[v]
            changed[0, s] += 1
            changed[1, s] += degree[v]
            slot_of[v] = s
    return changed
