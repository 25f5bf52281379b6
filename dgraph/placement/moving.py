"""Vertices move to where their neighbours are: size-constrained label propagation.

A superstep: every slot of the engine gets a part of the room on each target and goes through
its vertices; one that would cost less elsewhere moves there, at once, so that those after it
see it; the others learn of it at the end. One without a slot takes the cheapest that has room.
Where all slots are full they swap: as many vertices may go from one to another as want to come
from there. The cheaper of the first and the last state is what counts. (H. Meyerhenke,
P. Sanders, C. Schulz: Parallel graph partitioning for complex networks, IEEE TPDS 28(9), 2017,
doi:10.1109/TPDS.2017.2671868; J. Ugander, L. Backstrom: Balanced label propagation for
partitioning massive graphs, WSDM 2013, doi:10.1145/2433396.2433461.)
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from dgraph.engine.context import Context
from dgraph.kernels import kernel
from dgraph.placement.evening import fill_up, shed
from dgraph.placement.loads import (
    Loads,
    Refinement,
    find_cost,
    find_costs,
    loads_here,
    tally,
)
from dgraph.placement.whole import Links
from dgraph.shard import Shard

__all__ = ["move", "settle"]

Array = NDArray[Any]

#: A superstep that lowers the cost by no more than this part of it is the last one.
ENOUGH = 100

#: Supersteps in which vertices without a slot follow their neighbours, at least; it ends when
#: none does.
FOLLOWING = 8

#: More slots than that do not swap: who wants to go where is a number for each pair.
MOST_TO_SWAP = 256


async def settle(
    ctx: Context,
    shard: Shard,
    links: Links,
    slot_of: Array,
    cap: NDArray[np.int64],
    unit: NDArray[np.float64],
    rounds: int,
    *,
    swap: bool = False,
) -> None:
    """Give every vertex a slot, keep to the capacities, and lower the cost, in place.

    What is too much on a slot leaves it; then vertices move, and those without a slot follow
    their neighbours; what is left, isolated vertices among it, fills up the emptiest slots.

    Parameters
    ----------
    slot_of : integer array of length shard.size
        Of the masters at first, -1: none yet; of every local vertex at last.
    cap : int64 array of shape (2, slots)
    unit : float64 array of shape (slots, slots)
        Cost of an edge between two slots.
    rounds : int
        Supersteps in which vertices move, at most.
    swap : bool
        Whether vertices may move to full slots while as many come from there. What is too much
        then leaves again.
    """
    await ctx.broadcast(shard, slot_of, vote=loads_here(ctx.slots, links.degree, slot_of))
    loads = Loads(ctx.vote.reshape(2, -1).copy(), cap)
    now = Refinement(ctx, shard, links, slot_of, loads, np.rint(unit * 8))
    await shed(now)
    await move(now, rounds, swap)
    if swap:
        await shed(now)
        await move(now, 0)
    await fill_up(now)


async def move(now: Refinement, rounds: int, swap: bool = False) -> None:
    """Let vertices move and follow, in place, in so many supersteps."""
    ctx, slot_of, loads = now.ctx, now.slot_of, now.loads
    swap = swap and ctx.slots <= MOST_TO_SWAP
    # where nothing moves that has a slot, there is nothing to go back to
    kept = np.copy if rounds else np.asarray
    first, first_have, gained, wrong, saved = kept(slot_of), loads.have, 0, 0, 0
    active = np.ones(now.shard.masters, np.bool_)
    for turn in range(max(rounds, FOLLOWING)):
        loose = now.loose
        if turn >= rounds and not loose:
            break
        before = kept(slot_of)
        moves = turn < rounds
        saved, seen, misjudged = await _move_once(now, active, turn, moves, swap, wrong)
        gained += 2 * saved - misjudged
        wrong = _misjudged(now.links.rows, slot_of, before, now.unit, now.shard.masters)
        if loose:  # what they cost cannot be told from what it was before
            first, first_have, gained, wrong = kept(slot_of), loads.have, 0, 0
        follow = 0 < now.loose < loose  # those beside them are next
        if saved <= seen // ENOUGH and not (follow or (swap and turn < rounds // 2)):
            break
    if saved:  # something moved in the last superstep
        gained -= int((await ctx.allreduce([wrong]))[0])
    if gained < 0:
        slot_of[:] = first
        loads.have = first_have


async def _move_once(
    now: Refinement, active: NDArray[np.bool_], turn: int, moves: bool, swap: bool, wrong: int
) -> list[int]:
    """Let vertices move in one superstep.

    Parameters
    ----------
    active : bool array of length shard.masters
        Vertices that are to be looked at: something beside them has changed.
    turn : int
    moves : bool
        Whether vertices that have a slot may move.
    swap : bool
    wrong : int
        What the last superstep cost beyond what was said, by this slot.

    Returns
    -------
    list of int
        Over all slots: what was saved, what those cost that have neighbours elsewhere, `wrong`.
    """
    ctx, shard, loads = now.ctx, now.shard, now.loads
    told = np.zeros(2 * ctx.slots + 3, np.int64)
    quota = np.zeros((ctx.slots, 0), np.int64)
    if swap:
        active[:] = True
        quota = await _quota(now, turn)
    if shard.masters:
        workers = [slot for slot, some in enumerate(np.diff(shard.bases)) if some]
        share = _part(loads.room, len(workers), workers.index(ctx.slot) + turn)
        told[-3:-1] = _sweep(
            now.links.rows, now.slot_of, now.unit, now.links.degree, (share, quota),
            told[:-3].reshape(2, -1), active, turn if swap else -1, shard.rank, moves,
        )  # fmt: skip
    told[-1] = wrong
    await ctx.broadcast(shard, now.slot_of, vote=told)
    loads.have = loads.have + ctx.vote[:-3].reshape(2, -1)
    sums: list[int] = ctx.vote[-3:].tolist()
    return sums


async def _quota(now: Refinement, turn: int) -> NDArray[np.int64]:
    """Return how many of this slot's vertices may swap, from each slot to each other."""
    slots, shard = now.ctx.slots, now.shard
    wanted = np.zeros((slots, slots), np.int64)
    _want(now.links.rows, now.slot_of, now.unit, turn, shard.rank, shard.masters, wanted)
    total = (await now.ctx.allreduce(wanted.ravel())).reshape(slots, slots)
    granted = np.minimum(total, total.T)
    quota: NDArray[np.int64] = granted * wanted // np.maximum(total, 1)
    return quota


def _part(room: NDArray[np.int64], parts: int, which: int) -> NDArray[np.int64]:
    """Return one of so many parts of the room; all together they are the room.

    Examples
    --------
    >>> [_part(np.array([7]), 3, which).tolist() for which in range(3)]
    [[3], [2], [2]]
    """
    part: NDArray[np.int64] = room // parts + (which % parts < room % parts)
    return part


@kernel(inline="always")
def _turns(rank, turn):  # type: ignore[no-untyped-def]
    """Tell whether a vertex may swap in this turn: half of them, so that neighbours do not."""
    return ((np.uint64(rank) * np.uint64(0x9E3779B97F4A7C15)) >> np.uint64(40)) & np.uint64(
        1
    ) == np.uint64(turn & 1)


@kernel
def _want(rows, slot_of, unit, turn, rank, masters, wanted):  # type: ignore[no-untyped-def]
    """Count the vertices that would cost less elsewhere, by slot and cheapest slot."""
    count = np.zeros(unit.shape[0], np.int64)
    touched = np.empty(unit.shape[0] + 1, np.int64)
    for v in range(masters):
        now = np.int64(slot_of[v])
        if now < 0 or not _turns(rank[v], turn):
            continue
        many = tally(v, rows, slot_of, count, touched)
        best, least = now, find_cost(now, unit, count, touched, many)
        for j in range(many):
            s = touched[j]
            there = find_cost(s, unit, count, touched, many)
            if there < least or (there == least and best != now and s < best):
                best, least = s, there
        wanted[now, best] += best != now
        for j in range(many):
            count[touched[j]] = 0


@kernel
def _sweep(rows, slot_of, unit, degree, may, changed, active, turn, rank, moves):  # type: ignore[no-untyped-def]
    """Move each vertex to where it costs least, by what is known here.

    Returns what all save, and what those cost that have neighbours elsewhere. Without `moves`
    only those without a slot get one; with a turn of at least 0 they swap by quota.
    """
    offsets, targets = rows
    room, quota = may
    slots = room.shape[1]
    count = np.zeros(slots, np.int64)
    touched = np.empty(slots + 1, np.int64)
    costs = np.empty(slots, np.float64)
    saved, seen = 0.0, 0.0
    for v in range(degree.size):
        now = np.int64(slot_of[v])
        if not active[v] or (now >= 0 and not moves):
            continue
        if not _looks_away(v, rows, slot_of):
            active[v] = now < 0
            continue
        many = tally(v, rows, slot_of, count, touched)
        known = find_costs(unit, count, touched, many, costs)
        cost = find_cost(now, unit, count, touched, many) if now >= 0 else np.inf
        may_swap = turn >= 0 and now >= 0 and _turns(rank[v], turn)
        best, least, swaps = -1, cost, False
        for j in range(many):
            s = touched[j]
            if s == now:
                continue
            has_room = room[0, s] > 0 and room[1, s] >= degree[v]
            if has_room or (may_swap and quota[now, s] > 0):
                there = costs[s] if known else find_cost(s, unit, count, touched, many)
                if there < least or (there == least and best >= 0 and s < best):
                    best, least, swaps = s, there, not has_room
        for j in range(many):
            count[touched[j]] = 0
        if now >= 0:
            seen += cost
        if best < 0:
            continue
        slot_of[v] = best
        if now >= 0:
            saved += cost - least
        _book(now, best, degree[v], changed, room, quota, swaps)
        for i in range(offsets[v], offsets[v + 1]):
            if targets[i] < active.size:
                active[targets[i]] = True
    return np.int64(saved), np.int64(seen)


@kernel(inline="always")
def _book(before, after, degree, changed, room, quota, swaps):  # type: ignore[no-untyped-def]
    """Note that a vertex has moved: what slots have, and what they may still get."""
    changed[0, after] += 1
    changed[1, after] += degree
    if before >= 0:
        changed[0, before] -= 1
        changed[1, before] -= degree
    if swaps:
        quota[before, after] -= 1
    else:
        room[0, after] -= 1
        room[1, after] -= degree
        if before >= 0:
            room[0, before] += 1
            room[1, before] += degree


@kernel(inline="always")
def _looks_away(v, rows, slot_of):  # type: ignore[no-untyped-def]
    """Tell whether a vertex has a neighbour on another slot."""
    offsets, targets = rows
    now = slot_of[v]
    for i in range(offsets[v], offsets[v + 1]):
        s = slot_of[targets[i]]
        if s != now and s >= 0:
            return True
    return False


@kernel
def _misjudged(rows, slot_of, before, unit, masters):  # type: ignore[no-untyped-def]
    """Return how much more links cost, both ends of which moved on different slots, than said.

    Each end took the other one for where it had been.
    """
    offsets, targets = rows
    more = 0.0
    for v in range(masters):
        a, b = before[v], slot_of[v]
        if a == b or a < 0:
            continue
        for i in range(offsets[v], offsets[v + 1]):
            u = targets[i]
            c, d = before[u], slot_of[u]
            if u >= masters and c != d and c >= 0:
                more += unit[b, d] - unit[b, c] - unit[a, d] + unit[a, c]
    return np.int64(more)
