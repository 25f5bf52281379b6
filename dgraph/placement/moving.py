"""Vertices move to where their neighbours are: size-constrained label propagation.

A superstep: every vertex finds the slot at which its edges cost least; wishes that gain are
counted, the slots of the engine take turns at the room of each target, and admit the best.
In even supersteps vertices move to slots of higher numbers only, in odd ones to lower, so that
two neighbours do not change places. The cheapest state seen is what counts. (H. Meyerhenke, P.
Sanders, C. Schulz: Parallel graph partitioning for complex networks, IEEE TPDS 28(9), 2017,
doi:10.1109/TPDS.2017.2671868.)
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

__all__ = ["Loads", "capacities", "even_out", "move"]

Array = NDArray[Any]

#: Supersteps in which vertices without a slot may follow their neighbours.
FOLLOW = 32


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
    loads = Loads(await _loads(ctx, shard, degree, slot_of), cap)
    unit = np.rint(unit * 8).astype(np.int64)  # whole numbers: sums do not depend on sequence
    best, least, idle = slot_of.copy(), np.iinfo(np.int64).max, 0
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
        share, total, any_wish = await _shares(ctx, room, wanted, turn, cost)
        if total < least:
            best[:], least = slot_of, total
        idle = 0 if any_wish else idle + 1
        if turn == rounds or idle == 2:  # nobody wants to go either way
            break
        if idle:
            continue
        changed = _admit_best(wish, gain, degree, share, slot_of)
        await ctx.broadcast(shard, slot_of, vote=changed.ravel())
        loads.have = loads.have + ctx.vote.reshape(2, -1)
    slot_of[:] = best


async def even_out(
    ctx: Context,
    shard: Shard,
    links: Links,
    slot_of: NDArray[np.int32],
    cap: NDArray[np.int64],
    unit: NDArray[np.float64],
) -> None:
    """Give every vertex a slot and keep to the capacities, in place.

    What is too much on a slot leaves it, what costs least first; then vertices without a slot
    follow their neighbours where there is room; what is left, isolated vertices among it, fills
    up the emptiest slots. No slot stays empty if there are enough vertices.
    """
    degree = np.diff(links.offsets)
    whole = np.rint(unit * 8).astype(np.int64)
    for _ in range(4):
        have = await _loads(ctx, shard, degree, slot_of)
        if not await _shed(ctx, shard, links, slot_of, have, cap, whole):
            break
    loads = Loads(await _loads(ctx, shard, degree, slot_of), cap)
    for turn in range(FOLLOW):
        wish = np.full(shard.masters, -1, np.int32)
        gain = np.zeros(shard.masters, np.int64)
        wanted = np.zeros((2, ctx.slots), np.int64)
        _follow(
            links.offsets, links.targets, slot_of, whole, degree, loads.room, wish, gain, wanted
        )
        share, _, any_wish = await _shares(ctx, loads.room, wanted, turn)
        if not any_wish:
            break
        changed = _admit_best(wish, gain, degree, share, slot_of)
        await ctx.broadcast(shard, slot_of, vote=changed.ravel())
        loads.have = loads.have + ctx.vote.reshape(2, -1)
        if not ctx.vote.any():
            break
    await _fill_up(ctx, shard, slot_of, loads.have[0])
    await ctx.broadcast(shard, slot_of)


async def _shares(
    ctx: Context, room: Array, wanted: Array, turn: int, cost: int = 0
) -> tuple[NDArray[np.int64], int, bool]:
    """Return the room that is this slot's, the cost of all, and whether any wants any.

    The slots of the engine are served one after the other, in every turn another one first.
    """
    came = await ctx.allgather(np.append(wanted.ravel(), cost))
    told = np.stack([some[0] for some in came])
    first = (7 * turn) % ctx.slots
    earlier = (np.arange(ctx.slots) - first) % ctx.slots < (ctx.slot - first) % ctx.slots
    before = told[earlier, :-1].sum(axis=0).reshape(wanted.shape)
    left: NDArray[np.int64] = np.maximum(room - before, 0)
    return left, int(told[:, -1].sum()), bool(told[:, :-1].any())


async def _loads(
    ctx: Context, shard: Shard, degree: Array, slot_of: NDArray[np.int32]
) -> NDArray[np.int64]:
    own = slot_of[: shard.masters]
    placed = own >= 0
    sums = np.zeros((2, ctx.slots), np.int64)
    sums[0] = np.bincount(own[placed], minlength=ctx.slots)
    np.add.at(sums[1], own[placed], degree[placed])
    total: NDArray[np.int64] = (await ctx.allreduce(sums.ravel())).reshape(2, -1).copy()
    return total


async def _shed(
    ctx: Context,
    shard: Shard,
    links: Links,
    slot_of: NDArray[np.int32],
    have: NDArray[np.int64],
    cap: NDArray[np.int64],
    unit: NDArray[np.int64],
) -> bool:
    """Take vertices off slots that have too many; return whether there were any."""
    excess = np.maximum(have - cap, 0)
    if not excess.any():
        return False
    own = slot_of[: shard.masters]
    degree = np.diff(links.offsets)
    loss = np.zeros(shard.masters, np.int64)
    _loss(links.offsets, links.targets, slot_of, unit, excess.any(axis=0), loss)
    here = np.bincount(own[own >= 0], minlength=ctx.slots)
    counts = np.stack([some[0] for some in await ctx.allgather(here)])
    before, total = counts[: ctx.slot].sum(axis=0), np.maximum(counts.sum(axis=0), 1)
    # this slot's part of the excess: the parts of all add up to it exactly
    parts = [-(-excess * (before + more) // total) for more in (0, here)]
    quota = parts[1] - parts[0]
    _drop(own, np.lexsort([np.arange(loss.size), loss]), degree, quota)
    await ctx.broadcast(shard, slot_of)
    return True


async def _fill_up(
    ctx: Context, shard: Shard, slot_of: NDArray[np.int32], have: NDArray[np.int64]
) -> None:
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


@nb.njit(nogil=True, cache=True, inline="always")
def _tally(v, offsets, targets, slot_of, count, touched):  # type: ignore[no-untyped-def]
    """Count the neighbours of a vertex by slot; return how many slots there are."""
    many = 0
    for i in range(offsets[v], offsets[v + 1]):
        u = targets[i]
        s = slot_of[u]
        if s >= 0 and u != v:
            if count[s] == 0:
                touched[many] = s
                many += 1
            count[s] += 1
    return many


@nb.njit(nogil=True, cache=True, inline="always")
def _cost_at(s, unit, count, touched, many):  # type: ignore[no-untyped-def]
    cost = 0
    for j in range(many):
        cost += count[touched[j]] * unit[s, touched[j]]
    return cost


@nb.njit(nogil=True, cache=True)
def _wish(offsets, targets, slot_of, unit, degree, room, direction, wish, gain, wanted):  # type: ignore[no-untyped-def]
    """Find where each vertex would cost less; return what all cost now."""
    slots = room.shape[1]
    count = np.zeros(slots, np.int64)
    touched = np.empty(slots, np.int64)
    total = 0
    for v in range(wish.size):
        now = slot_of[v]
        inside = True
        for i in range(offsets[v], offsets[v + 1]):
            if slot_of[targets[i]] != now:
                inside = False
                break
        if inside:
            continue
        many = _tally(v, offsets, targets, slot_of, count, touched)
        cost = _cost_at(now, unit, count, touched, many)
        total += cost
        best, least = -1, cost
        for j in range(many):
            s = touched[j]
            if (s - now) * direction > 0 and room[0, s] > 0 and room[1, s] >= degree[v]:
                there = _cost_at(s, unit, count, touched, many)
                if there < least or (there == least and best >= 0 and s < best):
                    best, least = s, there
        for j in range(many):
            count[touched[j]] = 0
        if best >= 0:
            wish[v] = best
            gain[v] = cost - least
            wanted[0, best] += 1
            wanted[1, best] += degree[v]
    return total


@nb.njit(nogil=True, cache=True)
def _follow(offsets, targets, slot_of, unit, degree, room, wish, gain, wanted):  # type: ignore[no-untyped-def]
    """Find for each vertex without a slot the cheapest that has room, of its neighbours'."""
    slots = room.shape[1]
    count = np.zeros(slots, np.int64)
    touched = np.empty(slots, np.int64)
    for v in range(wish.size):
        if slot_of[v] >= 0:
            continue
        many = _tally(v, offsets, targets, slot_of, count, touched)
        best, least = -1, 0
        for j in range(many):
            s = touched[j]
            if room[0, s] > 0 and room[1, s] >= degree[v]:
                there = _cost_at(s, unit, count, touched, many)
                if best < 0 or there < least or (there == least and s < best):
                    best, least = s, there
        for j in range(many):
            count[touched[j]] = 0
        if best >= 0:
            wish[v] = best
            gain[v] = -least
            wanted[0, best] += 1
            wanted[1, best] += degree[v]


@nb.njit(nogil=True, cache=True)
def _admit_best(wish, gain, degree, share, slot_of):  # type: ignore[no-untyped-def]
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


@nb.njit(nogil=True, cache=True)
def _loss(offsets, targets, slot_of, unit, full, loss):  # type: ignore[no-untyped-def]
    """Find how much more each vertex of a full slot would cost elsewhere."""
    slots = full.size
    count = np.zeros(slots, np.int64)
    touched = np.empty(slots, np.int64)
    for v in range(loss.size):
        now = slot_of[v]
        if now < 0 or not full[now]:
            continue
        many = _tally(v, offsets, targets, slot_of, count, touched)
        least = -1
        for j in range(many):
            s = touched[j]
            if not full[s]:
                there = _cost_at(s, unit, count, touched, many)
                if least < 0 or there < least:
                    least = there
        cost = _cost_at(now, unit, count, touched, many)
        # without a neighbour elsewhere: after all those that have one
        loss[v] = least - cost if least >= 0 else (1 << 40) + count[now]
        for j in range(many):
            count[touched[j]] = 0


@nb.njit(nogil=True, cache=True)
def _drop(slot_of, by, degree, quota):  # type: ignore[no-untyped-def]
    """Take the slots of vertices away, in a sequence, until the quota of each slot is met."""
    for v in by:
        s = slot_of[v]
        if s >= 0 and (quota[0, s] > 0 or (quota[1, s] > 0 and degree[v] > 0)):
            quota[0, s] -= 1
            quota[1, s] -= degree[v]
            slot_of[v] = -1
