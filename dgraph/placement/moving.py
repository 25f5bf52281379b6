"""Vertices move to where their neighbours are: size-constrained label propagation.

A superstep: every slot of the engine gets a part of the room on each target and goes through
its vertices; one that would cost less elsewhere moves there, at once, so that those after it
see it; the others learn of it at the end. The cheaper of the first and the last state is what
counts. (H. Meyerhenke, P. Sanders, C. Schulz: Parallel graph partitioning for complex networks,
IEEE TPDS 28(9), 2017, doi:10.1109/TPDS.2017.2671868.)
"""

from __future__ import annotations

import numba as nb
import numpy as np
from numpy.typing import NDArray

from dgraph.engine.context import Context
from dgraph.placement.loads import (
    Loads,
    add_costs,
    find_cost,
    find_costs,
    loads_of,
    tally,
)
from dgraph.placement.whole import Links
from dgraph.shard import Shard

__all__ = ["move"]

#: A superstep that lowers the cost by no more than this part of it is the last one.
ENOUGH = 100


async def move(
    ctx: Context,
    shard: Shard,
    links: Links,
    slot_of: NDArray[np.int32],
    cap: NDArray[np.int64],
    unit: NDArray[np.float64],
    rounds: int,
) -> bool:
    """Let vertices move, in place; return whether a slot is empty now.

    Parameters
    ----------
    slot_of : int32 array of length shard.size
        Of every local vertex, right for proxies too; -1: none yet.
    cap : int64 array of shape (2, slots)
    unit : float64 array of shape (slots, slots)
        Cost of an edge between two slots.
    rounds : int
    """
    degree = np.diff(links.offsets)
    loads = Loads(await loads_of(ctx, degree, slot_of), cap)
    unit = np.rint(unit * 8)  # whole numbers: sums do not depend on sequence
    workers = [slot for slot, some in enumerate(np.diff(shard.bases)) if some]
    before = await _cost(ctx, links, slot_of, unit, shard.masters)
    kept = slot_of.copy()
    for turn in range(rounds):
        changed = np.zeros(2 * ctx.slots + 1, np.int64)
        if shard.masters:
            share = _part(loads.room, len(workers), workers.index(ctx.slot) + turn)
            changed[-1] = _sweep(
                links.offsets, links.targets, slot_of, unit, degree, share,
                changed[:-1].reshape(2, -1),
            )  # fmt: skip
        await ctx.broadcast(shard, slot_of, vote=changed)
        loads.have = loads.have + ctx.vote[:-1].reshape(2, -1)
        if ctx.vote[-1] <= before // ENOUGH:
            break
    if await _cost(ctx, links, slot_of, unit, shard.masters) > before:
        slot_of[:] = kept
    return bool((loads.have[0] == 0).any())


def _part(room: NDArray[np.int64], parts: int, which: int) -> NDArray[np.int64]:
    """Return one of so many parts of the room; all together they are the room.

    Examples
    --------
    >>> [_part(np.array([7]), 3, which).tolist() for which in range(3)]
    [[3], [2], [2]]
    """
    part: NDArray[np.int64] = room // parts + (which % parts < room % parts)
    return part


async def _cost(
    ctx: Context,
    links: Links,
    slot_of: NDArray[np.int32],
    unit: NDArray[np.float64],
    masters: int,
) -> int:
    """Return what all edges cost."""
    here = add_costs(links.offsets, links.targets, slot_of, unit, masters, 1)
    return int((await ctx.allreduce([here]))[0])


@nb.njit(nogil=True, cache=True)
def _sweep(offsets, targets, slot_of, unit, degree, room, changed):  # type: ignore[no-untyped-def]
    """Move each vertex to where it costs least; return what all save, by what is known here."""
    slots = room.shape[1]
    count = np.zeros(slots, np.int64)
    touched = np.empty(slots + 1, np.int64)
    costs = np.empty(slots, np.float64)
    saved = 0.0
    for v in range(degree.size):
        now = np.int64(slot_of[v])
        many = tally(v, offsets, targets, slot_of, count, touched)
        if many == 0 or (many == 1 and touched[0] == now):
            if many:
                count[now] = 0
            continue
        known = find_costs(unit, count, touched, many, costs)
        cost = find_cost(now, unit, count, touched, many)
        best, least = -1, cost
        for j in range(many):
            s = touched[j]
            if s != now and room[0, s] > 0 and room[1, s] >= degree[v]:
                there = costs[s] if known else find_cost(s, unit, count, touched, many)
                if there < least or (there == least and best >= 0 and s < best):
                    best, least = s, there
        for j in range(many):
            count[touched[j]] = 0
        if best >= 0:
            slot_of[v] = best
            saved += cost - least
            for s, sign in ((now, -1), (best, 1)):
                changed[0, s] += sign
                changed[1, s] += sign * degree[v]
                room[0, s] -= sign
                room[1, s] -= sign * degree[v]
    return np.int64(saved)
