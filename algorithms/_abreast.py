"""Slots that go through supersteps abreast: in compiled code, not coming back to Python.

Between two supersteps Python costs a slot as much as many a level of a search does, and waking
its thread costs that once more. Where all slots are on one host, and each has a thread and a
core, every slot calls a kernel that goes from superstep to superstep. The slots meet in memory
(:mod:`dgraph.exchange.meeting`), and read what others have for them where it lies::

    slot 0   compute ─┐      ┌ take ─┐      ┌ compute ─┐      ┌ take ...
    slot 1   compute ─┴ meet ┴ take ─┴ meet ┴ compute ─┴ meet ┴ take ...

Each does just what it would have done by itself, or a part of what another one has not begun,
and the record counts the messages as if they had been sent. A slot whose program fails is not
waited for: the hub calls the meetings off.

Slots of one process see each other's arrays anyhow (:func:`join_team`). Those of several have
some memory in common (:mod:`dgraph.engine.commons`), and what the others read is there
(:func:`join_near_team`).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import DTypeLike, NDArray

from dgraph.algorithms._addresses import address, array_of
from dgraph.engine.commons import Common, Wishes
from dgraph.engine.context import Context
from dgraph.engine.places import copy_prefix, mask_of
from dgraph.exchange.meeting import NOBODY, SIZE, meet
from dgraph.exchange.request import Inner
from dgraph.kernels import kernel
from dgraph.shard import Shard
from dgraph.shard.bits import compress_bits, gather_bits

__all__ = [
    "LENGTH",
    "LINE",
    "NAMES",
    "START",
    "TEAM",
    "Team",
    "common_of",
    "inner_of",
    "join_near_team",
    "join_team",
    "meet_team",
    "note_sent",
    "pull_bits",
    "table_of",
    "wishes_of",
]

#: The most supersteps of a kernel, and of entries of a slot for a slot in all of them: then the
#: engine records them, and it begins again.
SUPERSTEPS, ENTRIES = 8192, 1 << 18

#: A route: where the group of an owner begins, its length; the address of what the owner calls
#: its vertices; whether these are simply its first ones; else, if they are many, the address
#: and length of their bitmap.
START, LENGTH, NAMES, IS_PREFIX, MASK, WORDS = range(6)

#: Numbers in a cache line.
LINE = 8

#: Arrays of slot 0 for all: where they meet, votes, what was sent, times.
TEAM = 4

Array = NDArray[Any]


class Team(NamedTuple):
    """What a kernel of one slot sees of all slots.

    Parameters
    ----------
    slot : int
        Whose kernel it is.
    words : int64 array
        Where they meet.
    shown : int64 array of shape (slots, 2, fields)
        Address and length of every array that a slot lets the others see.
    routes : int64 array of shape (slots, slots, 6)
        For a slot and an owner, see `START`.
    votes : int64 array of shape (2, slots, numbers)
        To be written before a meeting and read after it, one half and the other in turns.
    sent : int64 array of shape (2, supersteps, slots, slots)
        Messages and bytes from each slot to each other, filled by who takes them.
    times : float64 array of shape (supersteps, slots + 1)
        Seconds that each slot computed, and when the superstep ended, filled by slot 0.
    stages : int64 array of length supersteps
        Filled by all alike.
    watcher : int64 array of length 2
        Who is asked to look after the others.
    cursors : int64 array of length slots * LINE
        The next piece of the work of each slot, each in a cache line of its own, where one that
        is done may take pieces of others.
    """

    slot: int
    words: Array
    shown: Array
    routes: Array
    votes: Array
    sent: Array
    times: Array
    stages: Array
    watcher: Array
    cursors: Array


def join_team(
    ctx: Context, shard: Shard, table: Array, ours: tuple[Array, ...], arrays: Sequence[Any]
) -> Team:
    """Let all slots see some arrays of this one from the next meeting on.

    Parameters
    ----------
    ctx : Context
        One with a `meeting`.
    shard : Shard
    table : int64 array of shape (2, fields)
        See :func:`table_of`; of the same dtypes on all slots.
    ours : tuple of arrays
        What all slots have in common, see :func:`common_of`, if this one comes first.
    arrays : sequence
        Holds those in the table.
    """
    ours = ctx.board.setdefault("team", ours)
    assert ctx.meeting is not None
    team = Team(ctx.slot, ctx.meeting, *ours)
    ctx.board[ctx.slot] = arrays  # who fails must not take them away from the others
    team.shown[ctx.slot] = table
    mine, others = _routes(shard)
    team.routes[ctx.slot, :, START], team.routes[ctx.slot, :, LENGTH] = mine
    team.routes[:, ctx.slot, NAMES:] = others
    return team


def table_of(arrays: Sequence[Array]) -> Array:
    """Return the addresses and lengths of some arrays, as kernels look for them."""
    return np.array([[address(some) for some in arrays], [some.size for some in arrays]])


def _supersteps(slots: int) -> int:
    return max(1, min(SUPERSTEPS, ENTRIES // slots**2))


def common_of(slots: int, fields: int, votes: int) -> tuple[Array, ...]:
    """Return what the slots of one process have in common: of a team all but the first two.

    Parameters
    ----------
    slots : int
    fields : int
        Arrays that each slot shows.
    votes : int
        Of how many numbers a vote is.
    """
    supersteps = _supersteps(slots)
    return (
        np.empty((slots, 2, fields), np.int64),
        np.empty((slots, slots, 6), np.int64),
        np.empty((2, slots, votes), np.int64),
        np.empty((2, supersteps, slots, slots), np.int64),
        np.empty((supersteps, slots + 1)),
        np.empty(supersteps, np.int64),
        NOBODY,
        _no_pieces(slots),
    )


def _no_pieces(slots: int) -> Array:
    return np.full(slots * LINE, 1 << 40)


def wishes_of(
    ctx: Context, shard: Shard, fields: Sequence[tuple[int, DTypeLike]], votes: int
) -> Wishes:
    """Return what a slot wants of memory in which those of several processes go abreast.

    Parameters
    ----------
    ctx : Context
    shard : Shard
    fields : sequence of (int, dtype)
        Lengths of the arrays that other slots look at, of the same dtypes on all slots. In the
        memory those of a slot come after `TEAM` others.
    votes : int
        Of how many numbers a vote is.
    """
    slots, supersteps = ctx.slots, _supersteps(ctx.slots)
    sizes = SIZE, 2 * slots * votes, 2 * supersteps * slots**2, supersteps * (slots + 1)
    dtypes = np.int64, np.int64, np.int64, np.float64
    team = [(0 if ctx.slot else size, dtype) for size, dtype in zip(sizes, dtypes, strict=True)]
    names, masks = [], []
    for peer, some in enumerate(shard.shared):
        mask = _mask_of(shard, peer)
        names.append(some if shard.prefix[peer] < 0 and not mask.size else some[:0])
        masks.append(mask)
    return [*team, *fields], (shard.group_start, np.array(shard.prefix), *names, *masks)


def join_near_team(
    ctx: Context,
    shard: Shard,
    arrays: Sequence[Array],
    common: Common,
    fields: Sequence[int],
    votes: int,
) -> Team:
    """Let slots of several processes go abreast; who is asked to look after them is not said.

    Parameters
    ----------
    ctx : Context
    shard : Shard
    arrays : sequence of arrays
        Of this slot.
    common : sequence of sequences of arrays
        Memory of all slots, see :func:`wishes_of`.
    fields : sequence of int
        Which of `arrays` are those that were asked for there.
    votes : int
        Of how many numbers a vote is.
    """
    slots, me = ctx.slots, ctx.slot
    words, voted, sent, times = common[0][:TEAM]
    shown = np.zeros((slots, 2, len(arrays)), np.int64)
    routes = np.zeros((slots, slots, 6), np.int64)
    for slot, theirs in enumerate(common):
        starts, prefix, *told = theirs[TEAM + len(fields) :]
        for field, some in zip(fields, theirs[TEAM:], strict=False):
            shown[slot, :, field] = address(some), some.size
        routes[slot, me, START], routes[slot, me, LENGTH] = starts[me], shard.shared[slot].size
        routes[slot, me, NAMES] = address(shard.shared[slot])
        names, mask = told[me], told[slots + me]
        routes[me, slot, NAMES:] = address(names), prefix[me] >= 0, 0, 0
        if mask.size:
            routes[me, slot, MASK:] = address(mask), mask.size
    shown[me] = table_of(arrays)
    (routes[me, :, START], routes[me, :, LENGTH]), _ = _routes(shard)
    return Team(
        me,
        words,
        shown,
        routes,
        voted.reshape(2, slots, votes),
        sent.reshape(2, -1, slots, slots),
        times.reshape(-1, slots + 1),
        np.empty(times.size // (slots + 1), np.int64),
        NOBODY,
        _no_pieces(slots),
    )


def _mask_of(shard: Shard, peer: int) -> NDArray[np.uint64]:
    """Return the bitmap by which bits for a slot are gathered, empty if there is none."""
    mask = mask_of(shard, peer) if shard.prefix[peer] < 0 else None
    return np.zeros(0, np.uint64) if mask is None else mask


def _routes(shard: Shard) -> tuple[tuple[Array, Array], Array]:
    """Return what this slot knows of routes: of its own the first half, of others' the rest."""
    kept: tuple[tuple[Array, Array], Array] | None = shard.derived.get("routes abreast")
    if kept is None:
        others = np.zeros((len(shard.shared), 4), np.int64)
        for slot, names in enumerate(shard.shared):
            others[slot, :2] = address(names), shard.prefix[slot] >= 0
            mask = _mask_of(shard, slot)
            if mask.size:
                others[slot, 2:] = address(mask), mask.size
        kept = shard.derived["routes abreast"] = (shard.group_start, shard.group_size), others
    return kept


def inner_of(
    ctx: Context, team: Team, steps: int, names: Sequence[str], *, is_over: bool
) -> Inner | None:
    """Return the record of what the slots of this process did, on the first of them."""
    here = [slot for slot in range(ctx.slots) if slot not in ctx.away]
    if team.slot != here[0]:
        return None
    stages = [names[stage] for stage in team.stages[:steps].tolist()]
    messages, nbytes = team.sent[:, :steps, here]
    times = team.times[:steps].copy()  # it is noted later, when others may have the memory
    return Inner(messages, nbytes, times[:, here], times[:, -1], stages, is_over)


@kernel(no_cpython_wrapper=True)
def meet_team(team):  # type: ignore[no-untyped-def]
    """Wait for all slots; False if another one cannot come."""
    return meet(team.words, team.shown.shape[0], team.watcher)


@kernel(no_cpython_wrapper=True)
def note_sent(team, step, source, target, count, nbytes):  # type: ignore[no-untyped-def]
    """Note what a slot has taken of another, nothing too."""
    team.sent[0, step, source, target] = count
    team.sent[1, step, source, target] = nbytes


@kernel(no_cpython_wrapper=True)
def pull_bits(bits, masters, team, field, step, head):  # type: ignore[no-untyped-def]
    """Copy the bits of the others' masters to the proxies of this slot, as in a broadcast.

    Parameters
    ----------
    bits : uint64 array
    masters : int
        Of this slot.
    team : Team
    field : int
        Which of the arrays that are shown has the bits of a slot.
    step : int
        The superstep in which this counts.
    head : int
        Bytes of a frame without messages.
    """
    for word in range((masters + 63) >> 6, bits.size):
        bits[word] = 0
    for owner in range(team.shown.shape[0]):
        if owner == team.slot:
            continue
        route, shown = team.routes[team.slot, owner], team.shown[owner]
        theirs = array_of(shown[0, field], shown[1, field], np.uint64)
        first = route[START] >> 6
        column = bits[first : first + ((route[LENGTH] + 63) >> 6)]
        if route[IS_PREFIX]:
            copy_prefix(theirs, route[LENGTH], column)
        elif route[MASK]:
            compress_bits(theirs, array_of(route[MASK], route[WORDS], np.uint64), column)
        else:
            gather_bits(theirs, array_of(route[NAMES], route[LENGTH], np.int32), column)
        if _any(column):
            note_sent(team, step, owner, team.slot, route[LENGTH], head + 8 * column.size)
        else:
            note_sent(team, step, owner, team.slot, 0, 0)


@kernel(no_cpython_wrapper=True)
def _any(bits):  # type: ignore[no-untyped-def]
    some = np.uint64(0)
    for word in bits:
        some |= word
    return some != 0
