"""Breadth-first search whose slots go from level to level abreast.

They do so in one kernel each (:mod:`dgraph.algorithms._levels_abreast`), in one process or in
several of a host.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from dgraph.algorithms._abreast import (
    TEAM,
    Team,
    common_of,
    inner_of,
    join_near_team,
    join_team,
    table_of,
    wishes_of,
)
from dgraph.algorithms._addresses import address
from dgraph.algorithms._levels_abreast import (
    AWAKE,
    BEGINS,
    DEPTH,
    ENOUGH,
    FOUND,
    FOUND_BY,
    FRONT,
    LEVEL,
    NAMED,
    NOBODY,
    PARENT,
    SPARE,
    STAGES,
    STEP,
    UNEXPLORED,
    UNTIL,
    Rules,
    goes_on,
    search,
)
from dgraph.algorithms._search import Search, forget, start
from dgraph.engine.commons import Common, Wishes
from dgraph.engine.context import Context
from dgraph.engine.translate import masters_of, named_by
from dgraph.errors import RunAbortedError
from dgraph.exchange.meeting import watched_by
from dgraph.shard import Shard
from dgraph.shard.bits import words
from dgraph.shard.rows import rows_of
from dgraph.shard.scratch import fresh
from dgraph.vertices.ids import Ids

__all__ = [
    "NearRoom",
    "Room",
    "can_go_abreast",
    "in_common",
    "make_near_room",
    "make_room",
    "near_wishes",
    "search_abreast",
    "search_near",
]

Array = NDArray[Any]


def can_go_abreast(shard: Shard) -> bool:
    """Tell whether a graph can be searched like that; the same on all slots."""
    return shard.out_split is None and shard.rank.dtype == np.int32


class Room(NamedTuple):
    """What a slot needs for a search, ready for the next one: the GIL makes them wait in turn.

    Parameters
    ----------
    search : Search
    now : int64 array
        How far it is, see `DEPTH`.
    table : int64 array
        What it shows, see `SPARE`; the sources are not in it.
    ours : tuple of arrays
        What all slots have in common, if this one comes first.
    others : tuple of arrays
        Those of the table that are nowhere else.
    """

    search: Search
    now: Array
    table: Array
    ours: tuple[Array, ...]
    others: tuple[Array, ...]


def make_room(shard: Shard, search: Search, first: Array) -> Room:
    """Return room for searches of a graph, one at a time.

    Parameters
    ----------
    shard : Shard
    search : Search
        Its arrays, with arbitrary contents.
    first : uint32 array
        The first in-neighbour of each master.
    """
    slots, nothing = len(shard.shared), np.zeros(0, np.int64)
    spare = fresh(search.front.size, np.uint64)
    far = np.zeros(UNTIL + 1, np.int64)
    arrays = _arrays(shard, search, spare, first, np.zeros(0, np.int32), nothing, far)
    ours = common_of(slots, len(arrays), ENOUGH + 1)
    return Room(search, np.zeros_like(far), table_of(arrays), ours, (spare, first, far))


async def search_abreast(
    ctx: Context, shard: Shard, room: Room, sources: Ids, rules: Rules
) -> None:
    """Search from `sources`, all slots in one process.

    Raises
    ------
    VertexNotFoundError
        On every slot alike, if one of `sources` is not in the graph.
    """
    _, named, begins = named_by(shard, sources)
    room.table[:, NAMED], room.table[:, BEGINS] = _place_of(named), _place_of(begins)
    team = join_team(ctx, shard, room.table, room.ours, (room, named, begins))
    now = room.now
    now[:], now[AWAKE] = 0, NOBODY
    while search(team, rules, now):
        if now[DEPTH] < 0:  # it says which
            await masters_of(ctx, shard, sources)
        if await _is_over(ctx, team, rules, now):
            return
    raise RunAbortedError("another slot has failed")


def _place_of(array: Array) -> tuple[int, int]:
    return address(array), array.size


class NearRoom(NamedTuple):
    """The same in memory that several processes have in common, kept as long as that.

    Parameters
    ----------
    search : Search
        Its arrays that others look at are in that memory, see :func:`in_common`. `level` and
        `parent` are each run's own: it makes its result of them when another has the memory.
    now : int64 array
    team : Team
        Without a watcher.
    others : tuple of arrays
        Those that the team looks at and that are nowhere else.
    """

    search: Search
    now: Array
    team: Team
    others: tuple[Array, ...]


def near_wishes(ctx: Context, shard: Shard) -> Wishes:
    """Return what a slot wants of the memory for :func:`search_near`."""
    proxies, front = shard.size - shard.masters, words(shard.size)
    fields = (proxies, np.int32), (proxies, np.int32), (front, np.uint64), (front, np.uint64)
    return wishes_of(ctx, shard, fields, ENOUGH + 1)


def make_near_room(
    ctx: Context, shard: Shard, common: Common, search: Search, first: Array
) -> NearRoom:
    """Return room for searches of a graph; see :func:`make_room`."""
    nothing = np.zeros(0, np.int64)
    named = np.zeros(0, np.int32)
    spare = common[ctx.slot][TEAM + 3]
    arrays = _arrays(shard, search, spare, first, named, nothing, nothing)
    fields = FOUND, FOUND_BY, FRONT, SPARE
    team = join_near_team(ctx, shard, arrays, common, fields, ENOUGH + 1)
    return NearRoom(search, np.zeros(UNTIL + 1, np.int64), team, (first, named, nothing))


async def search_near(
    ctx: Context, shard: Shard, room: NearRoom, here: NDArray[np.int32], rules: Rules
) -> Search:
    """Search in memory that several processes have in common.

    Parameters
    ----------
    ctx : Context
    shard : Shard
    room : NearRoom
    here : int32 array
        The sources that are masters of this slot.
    rules : Rules
    """
    level = ctx.scratch(shard, shard.masters, np.int32)
    parent = ctx.scratch(shard, shard.masters, np.int32)
    s = room.search._replace(level=level, parent=parent)
    forget(s, rules.reachable)
    start(s, here)
    assert ctx.near is not None
    team, now = room.team._replace(watcher=watched_by(ctx.near.hub)), room.now
    for field, array in (LEVEL, level), (PARENT, parent):
        team.shown[ctx.slot, :, field] = _place_of(array)
    now[:], now[AWAKE], now[UNEXPLORED] = 0, rules.sources, rules.arcs
    while search(team, rules, now):
        if await _is_over(ctx, team, rules, now):
            return s
    raise RunAbortedError("another slot has failed")


def in_common(ctx: Context, common: Common) -> tuple[Array, Array, Array]:
    """Return of a search what other slots look at: `found`, `found_by` and `front`."""
    found, found_by, front, _ = common[ctx.slot][TEAM : TEAM + 4]
    return found, found_by, front


def _arrays(
    shard: Shard, s: Search, spare: Array, first: Array, named: Array, begins: Array, far: Array
) -> Sequence[Array]:
    """Return what a slot shows, see `SPARE`."""
    rows = *rows_of(shard.out), *rows_of(shard.into)
    return *s, spare, *rows, first, shard.rank, named, begins, far


async def _is_over(ctx: Context, team: Team, rules: Rules, now: Array) -> bool:
    """Let supersteps be recorded, and return whether they were the last."""
    is_over, steps = not goes_on(now, rules), int(now[STEP])
    if steps:
        ctx.stage = STAGES[team.stages[steps - 1]]
        ctx.inner = inner_of(ctx, team, steps, STAGES, is_over=is_over)
    if not is_over:
        await ctx.exchange(())
    return is_over
