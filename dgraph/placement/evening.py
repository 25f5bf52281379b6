"""Slots that have too much give vertices away; vertices without a slot get one."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from dgraph.engine.context import Context
from dgraph.kernels import kernel
from dgraph.placement.loads import Refinement, find_cost, find_costs, loads_of, tally
from dgraph.shard import Shard

__all__ = ["fill_up", "shed", "water"]

Array = NDArray[Any]


async def shed(now: Refinement) -> None:
    """Take what is too much off the slots, in place, what costs least first."""
    for _ in range(4):
        if not await _shed(now):
            break
        now.loads.have = await loads_of(now.ctx, now.links.degree, now.slot_of)


async def fill_up(now: Refinement) -> None:
    """Give what has no slot, isolated vertices among it, to the emptiest slots, in place.

    No slot stays empty if there are enough vertices.
    """
    have = now.loads.have[0]
    if have.all() and not now.loose:
        return
    await _fill_up(now.ctx, now.shard, now.slot_of, have)
    await now.ctx.broadcast(now.shard, now.slot_of)


async def _shed(now: Refinement) -> bool:
    """Take vertices off slots that have too many; return whether there were any."""
    ctx, shard = now.ctx, now.shard
    excess = np.maximum(now.loads.have - now.loads.cap, 0)
    if not excess.any():
        return False
    own = now.slot_of[: shard.masters]
    full = excess.any(axis=0)
    near = np.flatnonzero((own >= 0) & full[own])
    loss = np.zeros(near.size, np.int64)
    _loss(now.links.rows, now.slot_of, now.unit, full, near, loss)
    here = np.bincount(own[own >= 0], minlength=ctx.slots)
    counts = np.stack([some[0] for some in await ctx.allgather(here)])
    before, total = counts[: ctx.slot].sum(axis=0), np.maximum(counts.sum(axis=0), 1)
    # this slot's part of the excess: the parts of all add up to it exactly
    parts = [-(-excess * (before + more) // total) for more in (0, here)]
    quota = parts[1] - parts[0]
    _drop(own, near[np.argsort(loss, kind="stable")], now.links.degree, quota)
    await ctx.broadcast(shard, now.slot_of)
    return True


async def _fill_up(ctx: Context, shard: Shard, slot_of: Array, have: NDArray[np.int64]) -> None:
    """Deal the vertices that have no slot yet, the emptiest slots first."""
    own = slot_of[: shard.masters]
    here = np.bincount(own[own >= 0], minlength=ctx.slots)
    free = np.flatnonzero(own < 0)
    came = await ctx.allgather(np.append(here, free.size))
    counts = np.stack([some[0] for some in came])
    left = int(counts[:, -1].sum())
    poor = np.flatnonzero(have == 0)
    if left < len(poor) <= shard.num_vertices:  # each takes one from the richest
        for _ in range(len(poor) - left):
            rich = int(np.argmax(have))
            if have[rich] < 2:
                break
            giver = int(np.flatnonzero(counts[:, rich])[-1])
            counts[giver, rich] -= 1
            counts[giver, -1] += 1
            have[rich] -= 1
            if giver == ctx.slot:
                own[np.flatnonzero(own == rich)[-1]] = -1
        free = np.flatnonzero(own < 0)
    left = int(counts[:, -1].sum())
    places = np.repeat(np.arange(ctx.slots), water(have, left))
    first = int(counts[: ctx.slot, -1].sum())
    own[free] = places[first : first + free.size]


def water(have: Array, more: int) -> NDArray[np.int64]:
    """Return how much each gets so that the emptiest are filled up first.

    Examples
    --------
    >>> water(np.array([5, 1, 2]), 4)
    array([0, 3, 1])
    """
    low, high = int(have.min()), int(have.max()) + more
    while low < high:
        level = (low + high + 1) // 2
        if np.maximum(level - have, 0).sum() <= more:
            low = level
        else:
            high = level - 1
    gets: NDArray[np.int64] = np.maximum(low - have, 0)
    rest = more - int(gets.sum())
    gets[np.flatnonzero(have + gets == low)[:rest]] += 1
    return gets


@kernel
def _loss(rows, slot_of, unit, full, near, loss):  # type: ignore[no-untyped-def]
    """Find how much more each of some vertices of full slots would cost elsewhere."""
    slots = full.size
    count = np.zeros(slots, np.int64)
    touched = np.empty(slots + 1, np.int64)
    costs = np.empty(slots, np.float64)
    for at in range(near.size):
        v = near[at]
        now = slot_of[v]
        many = tally(v, rows, slot_of, count, touched)
        known = find_costs(unit, count, touched, many, costs)
        least = -1.0
        for j in range(many):
            s = touched[j]
            if not full[s]:
                there = costs[s] if known else find_cost(s, unit, count, touched, many)
                if least < 0 or there < least:
                    least = there
        cost = find_cost(now, unit, count, touched, many)
        # without a neighbour elsewhere: after all those that have one
        loss[at] = np.int64(least - cost) if least >= 0 else (1 << 40) + count[now]
        for j in range(many):
            count[touched[j]] = 0


@kernel
def _drop(slot_of, by, degree, quota):  # type: ignore[no-untyped-def]
    """Take the slots of vertices away, in a sequence, until the quota of each slot is met."""
    for v in by:
        s = slot_of[v]
        if s >= 0 and (quota[0, s] > 0 or (quota[1, s] > 0 and degree[v] > 0)):
            quota[0, s] -= 1
            quota[1, s] -= degree[v]
            slot_of[v] = -1
