"""Vertices move to where their neighbours are: size-constrained label propagation.

A superstep: every vertex finds the slot at which its edges cost least; wishes that gain are
counted, the slots of the engine take turns at the room of each target, and admit the best.
In even supersteps vertices move to slots of higher numbers only, in odd ones to lower, so that
two neighbours do not change places. The cheapest state seen is what counts. (H. Meyerhenke, P.
Sanders, C. Schulz: Parallel graph partitioning for complex networks, IEEE TPDS 28(9), 2017,
doi:10.1109/TPDS.2017.2671868.)
"""

from __future__ import annotations

import numba as nb
import numpy as np
from numpy.typing import NDArray

from dgraph.engine.context import Context
from dgraph.placement.loads import (
    Loads,
    admit_best,
    find_cost,
    find_costs,
    loads_of,
    share_room,
    tally,
)
from dgraph.placement.whole import Links
from dgraph.shard import Shard

__all__ = ["move"]

#: Two supersteps that each lower the cost by no more than this part of it are the last ones.
ENOUGH = 200


async def move(
    ctx: Context,
    shard: Shard,
    links: Links,
    slot_of: NDArray[np.int32],
    cap: NDArray[np.int64],
    unit: NDArray[np.float64],
    rounds: int,
) -> None:
    """Let vertices move, in place.

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
    best, least, idle, tired = slot_of.copy(), np.iinfo(np.int64).max, 0, 0
    for turn in range(rounds + 1):
        wish = np.full(shard.masters, -1, np.int32)
        gain = np.zeros(shard.masters, np.int64)
        wanted = np.zeros((2, ctx.slots), np.int64)
        room = loads.room
        direction = (1 if turn % 2 == 0 else -1) if turn < rounds else 0
        cost = _wish(
            links.offsets, links.targets, slot_of, unit, degree, room, direction,
            wish, gain, wanted,
        )  # fmt: skip
        share, total, any_wish = await share_room(ctx, room, wanted, turn, cost)
        tired = tired + 1 if least - total <= least // ENOUGH else 0
        if total < least:
            best[:], least = slot_of, total
        idle = 0 if any_wish else idle + 1
        if turn == rounds or idle == 2 or tired == 2:  # no use, either way
            break
        if idle:
            continue
        changed = admit_best(wish, gain, degree, share, slot_of)
        await ctx.broadcast(shard, slot_of, vote=changed.ravel())
        loads.have = loads.have + ctx.vote.reshape(2, -1)
    slot_of[:] = best


@nb.njit(nogil=True, cache=True)
def _wish(offsets, targets, slot_of, unit, degree, room, direction, wish, gain, wanted):  # type: ignore[no-untyped-def]
    """Find where each vertex would cost less; return what all cost now."""
    slots = room.shape[1]
    count = np.zeros(slots, np.int64)
    touched = np.empty(slots + 1, np.int64)
    costs = np.empty(slots, np.float64)
    total = 0.0
    for v in range(wish.size):
        now = slot_of[v]
        many = tally(v, offsets, targets, slot_of, count, touched)
        if many == 0 or (many == 1 and touched[0] == now):
            if many:
                count[now] = 0
            continue
        cost = find_cost(now, unit, count, touched, many)
        total += cost
        best, least = -1, cost
        known = direction != 0 and find_costs(unit, count, touched, many, costs)
        for j in range(many):
            s = touched[j]
            if (s - now) * direction > 0 and room[0, s] > 0 and room[1, s] >= degree[v]:
                there = costs[s] if known else find_cost(s, unit, count, touched, many)
                if there < least or (there == least and best >= 0 and s < best):
                    best, least = s, there
        for j in range(many):
            count[touched[j]] = 0
        if best >= 0:
            wish[v] = best
            gain[v] = np.int64(cost - least)
            wanted[0, best] += 1
            wanted[1, best] += degree[v]
    return np.int64(total)
