"""Kernels of breadth-first search whose slots go from level to level abreast.

What each slot does in a level is in :mod:`dgraph.algorithms._search`, when it does it in
:mod:`dgraph.algorithms.bfs`, and how slots come together in :mod:`dgraph.algorithms._abreast`.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from dgraph.algorithms._abreast import (
    LENGTH,
    LINE,
    NAMES,
    START,
    meet_team,
    note_sent,
    pull_bits,
)
from dgraph.algorithms._addresses import array_at, array_of
from dgraph.algorithms._prefetch import prefetch
from dgraph.algorithms._search import (
    AHEAD,
    ask_for,
    begin_up,
    forget,
    leave_out,
    look_up,
    search_at,
    settle_one,
    start,
    top_down,
)
from dgraph.exchange.frame import Frame
from dgraph.exchange.meeting import clock, next_number, set_number
from dgraph.kernels import copy_into, kernel
from dgraph.shard.rows import Rows

__all__ = [
    "AWAKE",
    "BEGINS",
    "DEPTH",
    "ENOUGH",
    "FOUND",
    "FOUND_BY",
    "FRONT",
    "LEVEL",
    "NAMED",
    "NOBODY",
    "PARENT",
    "SPARE",
    "STAGES",
    "STEP",
    "UNEXPLORED",
    "UNTIL",
    "Rules",
    "goes_on",
    "search",
]

Array = NDArray[Any]

#: The stages of the record.
STAGES = "top-down", "bottom-up", "sources"
TOP_DOWN, BOTTOM_UP, SOURCES = range(3)

#: What a slot shows: its search, the other bitmap of the frontier, what it reads of the shard,
#: the masters of the sources, and where those of a slot begin; and how far slot 0 has come
#: that acts for all, if it sees what all have.
LEVEL, PARENT, FRONT, FOUND, FOUND_BY = 0, 1, 3, 6, 7
SPARE, OUT, INTO, FIRST, RANK = 8, 9, 11, 13, 14
NAMED, BEGINS, TOGETHER = 15, 16, 17

#: How far a search is, the same on all slots: the level, as in `_levels.Progress`; whether it
#: goes bottom-up; whether the frontier is in the other bitmap; supersteps so far; votes so far;
#: whether these supersteps are to be recorded, and from when on, in milliseconds.
DEPTH, AWAKE, EDGES, UNEXPLORED, IS_UP, IS_SPARE, STEP, TURN, IS_ENOUGH, UNTIL = range(10)

#: `AWAKE` before the search has begun.
NOBODY = -1

#: A slot's vote: found, their edges, edges pushed along; proxies found; whether it is time to
#: record, of which the first slot's counts.
MINE, MORE, PUSHED, TOLD, ENOUGH = range(5)

#: With fewer edges than that slot 0 does a level for all: each meeting takes a microsecond or
#: two, but milliseconds where others keep the cores busy and a slot was put off.
FEW = 400

#: Words of the bitmaps of masters that are a piece of a bottom-up level: a multiple of 64.
PIECE = 256

#: Supersteps are recorded, and listeners told of them, after so many milliseconds.
LONG = 500

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
    few: int = FEW
    long: int = LONG


class _Way(NamedTuple):
    out: Rows
    into: Rows
    first: NDArray[np.uint32]
    rank: NDArray[np.int32]
    spare: NDArray[np.uint64]


@kernel(nogil=False)
def goes_on(now, rules):  # type: ignore[no-untyped-def]
    return now[AWAKE] > 0 and now[DEPTH] < rules.limit


@kernel(no_cpython_wrapper=True)
def _may_step(now, rules, team):  # type: ignore[no-untyped-def]
    return goes_on(now, rules) and now[STEP] < team.stages.size and now[IS_ENOUGH] == 0


@kernel(no_cpython_wrapper=True)
def _way(row):  # type: ignore[no-untyped-def]
    return _Way(
        Rows(array_at(row, OUT, np.uint64), array_at(row, OUT + 1, np.uint32)),
        Rows(array_at(row, INTO, np.uint64), array_at(row, INTO + 1, np.uint32)),
        array_at(row, FIRST, np.uint32),
        array_at(row, RANK, np.int32),
        array_at(row, SPARE, np.uint64),
    )


@kernel
def search(team, rules, now):  # type: ignore[no-untyped-def]
    """Go from level to level; False if another slot cannot.

    The level is -1 if a source was not found.
    """
    row = team.shown[team.slot]
    s, way = search_at(row), _way(row)
    begins = now[AWAKE] == NOBODY
    if begins:
        forget(s, rules.reachable)
    now[STEP], now[IS_ENOUGH], now[UNTIL] = 0, 0, 1e3 * clock() + rules.long
    if not meet_team(team):
        return False
    if begins and not _begin(s, rules, now, team):
        return now[DEPTH] < 0
    while _may_step(now, rules, team):
        before = now[AWAKE]
        if now[IS_UP]:
            going = _look_up(s, way, now, team)
        elif now[EDGES] * rules.alpha > now[UNEXPLORED]:
            now[IS_UP], team.times[now[STEP], team.slot] = 1, 0
            going = meet_team(team)  # all have brought their frontiers
        elif row[1, TOGETHER] and _is_little(now, rules):
            if not _push_together(rules, now, team):
                return False
            continue
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
    if not goes_on(now, rules):
        leave_out(s, rules.reachable)
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
        note_sent(team, 0, slot, team.slot, count, HEAD + SOURCE * count)
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
    started = clock()
    mine, told, more, pushed = _find(s, way, rules, now)
    votes = team.votes[now[TURN] & 1]
    vote = votes[team.slot]
    vote[MINE], vote[MORE], vote[PUSHED], vote[TOLD] = mine + told, more, pushed, told
    if not _vote(now, team, started):
        return False
    for slot in range(votes.shape[0]):
        if slot != team.slot:
            _take(s, now, team, slot, team.slot, votes[slot, TOLD])
    return meet_team(team)  # what was found may be overwritten


@kernel(no_cpython_wrapper=True)
def _find(s, way, rules, now):  # type: ignore[no-untyped-def]
    none = s.found[:0], s.found_by[:0]
    return top_down(*none, now[DEPTH], s, way.out, way.rank, rules.mean)


@kernel(no_cpython_wrapper=True)
def _take(s, now, team, slot, owner, length):  # type: ignore[no-untyped-def]
    """Settle what a slot has found for an owner, whose search is `s`."""
    route, shown = team.routes[slot, owner], team.shown[slot, 0]
    start, size = route[START], route[LENGTH]
    names = array_of(route[NAMES], size, np.int32)
    found = array_of(shown[FOUND], length, np.int32)
    found_by = array_of(shown[FOUND_BY], length, np.int32)
    count = 0
    for i in range(length):
        if i + 2 * AHEAD < length:
            place = found[i + 2 * AHEAD] - start
            if 0 <= place < size:
                prefetch(names, place)
            place = found[i + AHEAD] - start
            if 0 <= place < size:
                ask_for(np.uint64(names[place]), s)
        place = found[i] - start
        if 0 <= place < size:
            settle_one(np.uint64(names[place]), found_by[i], now[DEPTH], s)
            count += 1
    note_sent(team, now[STEP], slot, owner, count, HEAD + MESSAGE * count)


@kernel(no_cpython_wrapper=True)
def _is_little(now, rules):  # type: ignore[no-untyped-def]
    """Tell whether the next level has few edges; who knows of that of the sources."""
    return now[DEPTH] > 0 and max(now[EDGES], now[AWAKE] * max(rules.mean, 1)) < rules.few


@kernel(no_cpython_wrapper=True)
def _push_together(rules, now, team):  # type: ignore[no-untyped-def]
    """Let slot 0 do levels top-down for all, while there is little to do."""
    if not meet_team(team):  # all have settled what was found, and brought their frontiers
        return False
    far = array_at(team.shown[0], TOGETHER, np.int64)
    if team.slot == 0:
        while _may_step(now, rules, team) and _is_little(now, rules):
            if now[EDGES] * rules.alpha > now[UNEXPLORED]:
                break
            _push_for_all(rules, now, team)
        copy_into(far, now)
    if not meet_team(team):
        return False
    copy_into(now, far)
    return True


@kernel(no_cpython_wrapper=True)
def _push_for_all(rules, now, team):  # type: ignore[no-untyped-def]
    now[DEPTH] += 1
    started, votes = clock(), team.votes[now[TURN] & 1]
    now[AWAKE] = now[EDGES] = 0
    for slot in range(votes.shape[0]):
        row = team.shown[slot]
        mine, told, more, pushed = _find(search_at(row), _way(row), rules, now)
        votes[slot, TOLD] = told
        now[AWAKE] += mine + told
        now[EDGES] += more
        now[UNEXPLORED] -= pushed
        team.times[now[STEP], slot] = 0
    for owner in range(votes.shape[0]):
        s = search_at(team.shown[owner])
        for slot in range(votes.shape[0]):
            if slot != owner:
                _take(s, now, team, slot, owner, votes[slot, TOLD])
    ended = clock()
    now[IS_ENOUGH] = 1e3 * ended > now[UNTIL]
    team.times[now[STEP], 0] = ended - started
    team.stages[now[STEP]] = TOP_DOWN
    _end_step(now, team)


@kernel(no_cpython_wrapper=True)
def _look_up(s, way, now, team):  # type: ignore[no-untyped-def]
    """Do a level bottom-up."""
    now[DEPTH] += 1
    started = clock()
    front, _ = _fronts(s, way, now)
    begin_up(front, s)
    set_number(team.cursors, LINE * team.slot, 0)
    mine = _look_up_pieces(s.queue, now, team)
    vote = team.votes[now[TURN] & 1, team.slot]
    vote[MINE], vote[MORE], vote[PUSHED] = mine, 1, 0
    now[IS_SPARE] ^= 1
    return _vote(now, team, started)


@kernel(no_cpython_wrapper=True)
def _fronts(s, way, now):  # type: ignore[no-untyped-def]
    """Return the frontier, and room for the next one."""
    return (way.spare, s.front) if now[IS_SPARE] else (s.front, way.spare)


@kernel(no_cpython_wrapper=True)
def _look_up_pieces(queue, now, team):  # type: ignore[no-untyped-def]
    """Do what the slot has to do, and then what others of its process have not begun."""
    slots, found = team.shown.shape[0], 0
    for turn in range(slots):
        owner = (team.slot + turn) % slots
        row = team.shown[owner]
        s, way = search_at(row), _way(row)
        front, following = _fronts(s, way, now)
        words = (s.level.size + 63) >> 6
        while True:
            begin = PIECE * next_number(team.cursors, LINE * owner)
            if not 0 <= begin < words:
                break
            end = min(begin + PIECE, words)
            mine, _ = look_up(
                front, following, now[DEPTH], s, way.into, way.first, queue, begin, end
            )
            found += mine
    return found


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
    ended, votes = clock(), team.votes[now[TURN] & 1]
    team.times[now[STEP], team.slot] = ended - started
    votes[team.slot, ENOUGH] = 1e3 * ended > now[UNTIL]
    now[TURN] += 1
    if not meet_team(team):
        return False
    now[IS_ENOUGH] = votes[0, ENOUGH]
    now[AWAKE] = now[EDGES] = 0
    for slot in range(votes.shape[0]):
        now[AWAKE] += votes[slot, MINE]
        now[EDGES] += votes[slot, MORE]
        now[UNEXPLORED] -= votes[slot, PUSHED]
    return True
