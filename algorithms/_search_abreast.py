"""Breadth-first search whose slots go from level to level abreast.

See :mod:`dgraph.algorithms._abreast`. What each slot does in a level is in
:mod:`dgraph.algorithms._search`, when it does it in :mod:`dgraph.algorithms.bfs`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from dgraph.algorithms._abreast import (
    LENGTH,
    NAMES,
    START,
    TEAM,
    Team,
    inner_of,
    join_near_team,
    join_team,
    meet_team,
    note_sent,
    pull_bits,
    take_commons,
)
from dgraph.algorithms._addresses import array_at, array_of
from dgraph.algorithms._search import (
    Search,
    bottom_up,
    forget,
    leave_out,
    search_at,
    settle_one,
    start,
    top_down,
)
from dgraph.engine.commons import Claim, Common
from dgraph.engine.context import Context
from dgraph.engine.translate import masters_of, named_by
from dgraph.errors import RunAbortedError
from dgraph.exchange.frame import Frame
from dgraph.exchange.meeting import clock
from dgraph.kernels import kernel
from dgraph.shard import Shard
from dgraph.shard.bits import words
from dgraph.shard.rows import Rows, rows_of
from dgraph.vertices.ids import Ids

__all__ = [
    "Rules",
    "can_go_abreast",
    "in_common",
    "search_abreast",
    "search_near",
    "take_search_commons",
]

Array = NDArray[Any]

#: The stages of the record.
STAGES = "top-down", "bottom-up", "sources"
TOP_DOWN, BOTTOM_UP, SOURCES = range(3)

#: What a slot shows: its search, the other bitmap of the frontier, what it reads of the shard,
#: which masters were not reached; the masters of the sources, and where those of a slot begin.
FOUND, FOUND_BY, FRONT = 6, 7, 3
SPARE, OUT, INTO, FIRST, RANK, MISSING, NAMED, BEGINS = 8, 9, 11, 13, 14, 15, 16, 17

#: How far a search is, the same on all slots: the level, as in `_levels.Progress`; whether it
#: goes bottom-up; whether the frontier is in the other bitmap; supersteps so far; votes so far.
DEPTH, AWAKE, EDGES, UNEXPLORED, IS_UP, IS_SPARE, STEP, TURN = range(8)

#: `AWAKE` before the search has begun.
NOBODY = -1

#: A slot's vote: found, their edges, edges pushed along; and proxies found.
MINE, MORE, PUSHED, TOLD = range(4)

#: Bytes of a frame without messages, with two columns and with one of bits; of a message of a
#: level (place, rank), and of one that names a source (position, place).
HEAD = Frame(0, 1, (np.zeros(0, np.int32), np.zeros(0, np.int32)), 0).nbytes
HEAD_OF_BITS = Frame(0, 1, (np.zeros(0, np.uint64),), 0).nbytes
MESSAGE, SOURCE = 8, 12


class Rules(NamedTuple):
    """When to go which way; `reachable`, `mean`, `arcs` as in :mod:`dgraph.algorithms.bfs`."""

    limit: int
    alpha: int
    beta: int
    sources: int
    vertices: int
    reachable: int
    mean: int
    arcs: int


class _Way(NamedTuple):
    out: Rows
    into: Rows
    first: NDArray[np.uint32]
    rank: NDArray[np.int32]
    spare: NDArray[np.uint64]
    missing: NDArray[np.bool_]


def can_go_abreast(shard: Shard) -> bool:
    """Tell whether a graph can be searched like that; the same on all slots."""
    return shard.out_split is None and shard.rank.dtype == np.int32


async def search_abreast(
    ctx: Context, shard: Shard, s: Search, sources: Ids, first: Array, rules: Rules
) -> NDArray[np.bool_]:
    """Search from `sources`, all slots in one process; return which masters were not reached.

    Raises
    ------
    VertexNotFoundError
        On every slot alike, if one of `sources` is not in the graph.
    """
    _, named, begins = named_by(shard, sources)
    spare = ctx.scratch(shard, s.front.size, np.uint64)
    arrays = _arrays(shard, s, spare, first, named, begins)
    team = join_team(ctx, shard, arrays, TOLD + 1)
    now = np.zeros(TURN + 1, np.int64)
    now[AWAKE] = NOBODY
    while _search(team, rules, now):
        if now[DEPTH] < 0:  # it says which
            await masters_of(ctx, shard, sources)
        if await _is_over(ctx, team, rules, now):
            return arrays[MISSING]
    raise RunAbortedError("another slot has failed")


async def take_search_commons(
    ctx: Context, shard: Shard, claim: Claim, vote: Array
) -> Common | None:
    """Return memory for :func:`search_near`, if all slots can have some."""
    proxies, front = shard.size - shard.masters, words(shard.size)
    fields = (proxies, np.int32), (proxies, np.int32), (front, np.uint64), (front, np.uint64)
    return await take_commons(ctx, shard, claim, vote, fields, TOLD + 1)


async def search_near(
    ctx: Context,
    shard: Shard,
    s: Search,
    sources: NDArray[np.int32],
    common: Common,
    first: Array,
    rules: Rules,
) -> NDArray[np.bool_]:
    """Search in memory that several processes have in common.

    Parameters
    ----------
    s : Search
        Its arrays that others look at are in `common`, see :func:`in_common`.
    sources : int32 array
        Those that are masters of this slot.

    Returns
    -------
    bool array
        Which masters were not reached.
    """
    forget(s, rules.reachable)
    start(s, sources)
    nobody = np.zeros(0, np.int32), np.zeros(0, np.int64)
    arrays = _arrays(shard, s, common[ctx.slot][TEAM + 3], first, *nobody)
    fields = FOUND, FOUND_BY, FRONT, SPARE
    team = join_near_team(ctx, shard, arrays, common, fields, TOLD + 1)
    now = np.zeros(TURN + 1, np.int64)
    now[AWAKE], now[UNEXPLORED] = rules.sources, rules.arcs
    while _search(team, rules, now):
        if await _is_over(ctx, team, rules, now):
            return arrays[MISSING]
    raise RunAbortedError("another slot has failed")


def in_common(ctx: Context, common: Common) -> tuple[Array, Array, Array]:
    """Return of a search what other slots look at: `found`, `found_by` and `front`."""
    found, found_by, front, _ = common[ctx.slot][TEAM : TEAM + 4]
    return found, found_by, front


def _arrays(
    shard: Shard, s: Search, spare: Array, first: Array, named: Array, begins: Array
) -> Sequence[Array]:
    """Return what a slot shows."""
    rows = *rows_of(shard.out), *rows_of(shard.into)
    missing = np.zeros(shard.masters, np.bool_)
    return *s, spare, *rows, first, shard.rank, missing, named, begins


async def _is_over(ctx: Context, team: Team, rules: Rules, now: Array) -> bool:
    """Let supersteps be recorded, and return whether they were the last."""
    is_over, steps = not _goes_on(now, rules), int(now[STEP])
    if steps:
        ctx.stage = STAGES[team.stages[steps - 1]]
        ctx.inner = inner_of(ctx, team, steps, STAGES, is_over=is_over)
    if not is_over:
        await ctx.exchange(())
    return is_over


@kernel(nogil=False)
def _goes_on(now, rules):  # type: ignore[no-untyped-def]
    return now[AWAKE] > 0 and now[DEPTH] < rules.limit


@kernel(no_cpython_wrapper=True)
def _way(row):  # type: ignore[no-untyped-def]
    return _Way(
        Rows(array_at(row, OUT, np.uint64), array_at(row, OUT + 1, np.uint32)),
        Rows(array_at(row, INTO, np.uint64), array_at(row, INTO + 1, np.uint32)),
        array_at(row, FIRST, np.uint32),
        array_at(row, RANK, np.int32),
        array_at(row, SPARE, np.uint64),
        array_at(row, MISSING, np.bool_),
    )


@kernel
def _search(team, rules, now):  # type: ignore[no-untyped-def]
    """Go from level to level; False if another slot cannot.

    The level is -1 if a source was not found.
    """
    row = team.shown[team.slot]
    s, way = search_at(row), _way(row)
    begins = now[AWAKE] == NOBODY
    if begins:
        forget(s, rules.reachable)
    now[STEP] = 0
    if not meet_team(team):
        return False
    if begins and not _begin(s, rules, now, team):
        return now[DEPTH] < 0
    while _goes_on(now, rules) and now[STEP] < team.stages.size:
        before = now[AWAKE]
        if now[IS_UP]:
            going = _look_up(s, way, now, team)
        elif now[EDGES] * rules.alpha > now[UNEXPLORED]:
            now[IS_UP], team.times[now[STEP], team.slot] = 1, 0
            going = meet_team(team)  # all have brought their frontiers
        else:
            going = _push(s, way, rules, now, team)
        if not going:
            return False
        team.stages[now[STEP]] = BOTTOM_UP if now[IS_UP] else TOP_DOWN
        if now[IS_UP]:
            front = way.spare if now[IS_SPARE] else s.front
            field = SPARE if now[IS_SPARE] else FRONT
            pull_bits(front, s.level.size, team, field, now[STEP], HEAD_OF_BITS)
            if now[AWAKE] < before and now[AWAKE] <= rules.vertices // rules.beta:
                if not meet_team(team):  # nobody looks at the frontier any more
                    return False
                now[IS_UP], now[EDGES] = 0, 1
                _bring_front(s, way, now)
        _end_step(now, team)
    if not meet_team(team):  # others may let go of what this slot has looked at
        return False
    _bring_front(s, way, now)
    if not _goes_on(now, rules):
        leave_out(s, rules.reachable, way.missing)
    return True


@kernel(no_cpython_wrapper=True)
def _end_step(now, team):  # type: ignore[no-untyped-def]
    if team.slot == 0:
        team.times[now[STEP], -1] = clock()
    now[STEP] += 1


@kernel(no_cpython_wrapper=True)
def _begin(s, rules, now, team):  # type: ignore[no-untyped-def]
    """Let the frontier be the sources, of which every slot has found some."""
    slots, found = team.shown.shape[0], 0
    for slot in range(slots):
        row = team.shown[slot]
        begins = array_at(row, BEGINS, np.int64)
        found += begins[slots]
        count = begins[team.slot + 1] - begins[team.slot]
        start(s, array_at(row, NAMED, np.int32)[begins[team.slot] : begins[team.slot + 1]])
        note_sent(team, 0, slot, count, HEAD + SOURCE * count)
    if found != rules.sources:
        now[DEPTH] = -1
        return False
    now[AWAKE], now[UNEXPLORED] = found, rules.arcs
    team.stages[0], team.times[0, team.slot] = SOURCES, 0
    _end_step(now, team)
    return True


@kernel(no_cpython_wrapper=True)
def _push(s, way, rules, now, team):  # type: ignore[no-untyped-def]
    """Do a level top-down."""
    now[DEPTH] += 1
    started, none = clock(), (s.found[:0], s.found_by[:0])
    found = top_down(*none, now[DEPTH], s, way.out, way.rank, rules.mean)
    mine, told, more, pushed = found
    votes = team.votes[now[TURN] & 1]
    vote = votes[team.slot]
    vote[MINE], vote[MORE], vote[PUSHED], vote[TOLD] = mine + told, more, pushed, told
    if not _vote(now, team, started):
        return False
    for slot in range(votes.shape[0]):
        if slot != team.slot:
            _take(s, now, team, slot, votes[slot, TOLD])
    return meet_team(team)  # what was found may be overwritten


@kernel(no_cpython_wrapper=True)
def _take(s, now, team, slot, length):  # type: ignore[no-untyped-def]
    """Settle what another slot has found for this one."""
    route, shown = team.routes[slot, team.slot], team.shown[slot, 0]
    start, size = route[START], route[LENGTH]
    names = array_of(route[NAMES], size, np.int32)
    found = array_of(shown[FOUND], length, np.int32)
    found_by = array_of(shown[FOUND_BY], length, np.int32)
    count = 0
    for i in range(length):
        place = found[i] - start
        if 0 <= place < size:
            settle_one(np.uint64(names[place]), found_by[i], now[DEPTH], s)
            count += 1
    note_sent(team, now[STEP], slot, count, HEAD + MESSAGE * count)


@kernel(no_cpython_wrapper=True)
def _look_up(s, way, now, team):  # type: ignore[no-untyped-def]
    """Do a level bottom-up."""
    now[DEPTH] += 1
    started = clock()
    if now[IS_SPARE]:
        front, following = way.spare, s.front
    else:
        front, following = s.front, way.spare
    mine, _ = bottom_up(front, following, now[DEPTH], s, way.into, way.first)
    vote = team.votes[now[TURN] & 1, team.slot]
    vote[MINE], vote[MORE], vote[PUSHED] = mine, 1, 0
    now[IS_SPARE] ^= 1
    return _vote(now, team, started)


@kernel(no_cpython_wrapper=True)
def _bring_front(s, way, now):  # type: ignore[no-untyped-def]
    """Let the frontier be where pushing looks for it."""
    if now[IS_SPARE]:
        for word in range(s.front.size):
            s.front[word] = way.spare[word]
        now[IS_SPARE] = 0


@kernel(no_cpython_wrapper=True)
def _vote(now, team, started):  # type: ignore[no-untyped-def]
    """Meet, and learn how far the search is; False if another slot has failed."""
    team.times[now[STEP], team.slot] = clock() - started
    votes = team.votes[now[TURN] & 1]
    now[TURN] += 1
    if not meet_team(team):
        return False
    now[AWAKE] = now[EDGES] = 0
    for slot in range(votes.shape[0]):
        now[AWAKE] += votes[slot, MINE]
        now[EDGES] += votes[slot, MORE]
        now[UNEXPLORED] -= votes[slot, PUSHED]
    return True
