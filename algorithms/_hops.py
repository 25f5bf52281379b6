"""Hops along the tight edges of a shortest-path search: one slot walks for all where it can.

See :mod:`dgraph.algorithms._tight`; for how a slot acts for others
:mod:`dgraph.algorithms._together`.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from dgraph.algorithms._addresses import array_at
from dgraph.algorithms._sparse import broadcast_some
from dgraph.algorithms._together import Done, Everything, act_for_all, take_of, tell_of
from dgraph.engine.context import Context
from dgraph.exchange.hub import TINY
from dgraph.kernels import copy_into, kernel
from dgraph.shard import Shard

__all__ = ["Tight", "ancestors", "fewest_hops", "link"]

#: Tight edges that are looked at for a vertex, more or less.
EDGES = 4

Array = NDArray[Any]


class Tight(NamedTuple):
    """The tight edges into the masters.

    Parameters
    ----------
    begin : int64 array of length masters + 1
        Where the edges into each master begin.
    tail : int32 array
        The local ids that they come from.
    """

    begin: NDArray[np.int64]
    tail: NDArray[np.int32]

    @property
    def tied(self) -> NDArray[np.int32]:
        """The masters that several tight edges lead to, ascending."""
        return np.flatnonzero(np.diff(self.begin) > 1).astype(np.int32)


class Climb(NamedTuple):
    """What a slot knows while it looks for ancestors.

    Parameters
    ----------
    needed : bool array over the local ids
        What was found.
    stack, height : int32 array over the masters, int64 array of length 1
        Masters to climb from, and how many these are.
    proxies : int32 array
        Those that were found and are to be sent.
    """

    needed: NDArray[np.bool_]
    stack: NDArray[np.int32]
    height: NDArray[np.int64]
    proxies: NDArray[np.int32]


async def ancestors(
    ctx: Context, shard: Shard, tight: Tight, tied: NDArray[np.int32], count: int
) -> NDArray[np.bool_]:
    """Mark the local ids whose hops are needed: `tied`, and what tight paths to them meet.

    Parameters
    ----------
    count : int
        How many are tied on all slots.
    """
    c = Climb(
        np.zeros(shard.size, np.bool_),
        np.empty(shard.masters, np.int32),
        np.zeros(1, np.int64),
        np.empty(shard.size - shard.masters, np.int32),
    )
    push_new(tied, c)
    while count:
        if ctx.companions and EDGES * count < TINY:
            votes = await act_for_all(ctx, shard, (*c, *tight), _climb, 1, [np.bool_])
            count = int(votes[0])
        else:
            found = c.proxies[: climb(c, tight)]
            met, _ = await ctx.reduce(
                shard,
                found,
                c.needed[found],
                vote=[found.size],
                work=EDGES * found.size,
                combine="or",
            )
            push_new(met, c)
            count = int(ctx.vote[0])
    return c.needed


@kernel
def climb(c, tight):  # type: ignore[no-untyped-def]
    """Mark the tails of tight edges into what is on the stack; return the count of proxies."""
    needed, stack, proxies = c.needed, c.stack, c.proxies
    begin, tail = tight.begin, tight.tail
    height, count = c.height[0], 0
    while height:
        height -= 1
        v = stack[height]
        for e in range(begin[v], begin[v + 1]):
            u = tail[e]
            if needed[u]:
                continue
            needed[u] = True
            if u < stack.size:
                stack[height] = u
                height += 1
            else:
                proxies[count] = u
                count += 1
    c.height[0] = 0
    return count


@kernel
def push_new(met, c):  # type: ignore[no-untyped-def]
    """Put masters on the stack that were not marked."""
    for v in met:
        if not c.needed[v]:
            c.needed[v] = True
            c.stack[c.height[0]] = v
            c.height[0] += 1


def _climb(everything: Everything) -> Done:
    count, supersteps = _climb_for_all(everything)
    return Done([count], supersteps, EDGES * count)


@kernel
def _climb_of(row):  # type: ignore[no-untyped-def]
    return Climb(
        array_at(row, 0, np.bool_),
        array_at(row, 1, np.int32),
        array_at(row, 2, np.int64),
        array_at(row, 3, np.int32),
    )


@kernel
def _climb_for_all(everything):  # type: ignore[no-untyped-def]
    """Climb on all slots; return what was sent at last, and the number of supersteps."""
    arrays, routes, vertices, sent = everything
    slots = arrays.shape[0]
    lengths, taken = np.zeros(slots, np.int64), np.empty_like(vertices)
    count = step = 0
    while step < sent.shape[0]:
        count = 0
        for slot in range(slots):
            row = arrays[slot]
            tight = Tight(array_at(row, 4, np.int64), array_at(row, 5, np.int32))
            lengths[slot] = climb(_climb_of(row), tight)
            count += lengths[slot]
        for slot in range(slots):
            found = array_at(arrays[slot], 3, np.int32)[: lengths[slot]]
            for owner in range(slots):
                if owner != slot and found.size:
                    met = take_of(found, found, routes[slot, owner], vertices, taken)
                    push_new(vertices[:met], _climb_of(arrays[owner]))
                    sent[step, slot, owner] = met
        step += 1
        if count == 0 or EDGES * count >= TINY:
            break
    return count, step


class Walk(NamedTuple):
    """What a slot knows while it counts hops.

    Parameters
    ----------
    heads, first, further : arrays
        See :func:`link`.
    hops : int32 array over the masters
        -1: not reached.
    parent : array over the masters
        Local ids.
    rank : array over the local ids
    frontier, length : int32 array over the masters, int64 array of length 1
        Masters of the last level, ascending, and how many these are.
    found : int32 array over the masters
        Those of the next.
    """

    heads: NDArray[np.int32]
    first: NDArray[np.int64]
    further: NDArray[np.int64]
    hops: NDArray[np.int32]
    parent: Array
    rank: Array
    frontier: NDArray[np.int32]
    length: NDArray[np.int64]
    found: NDArray[np.int32]


async def fewest_hops(
    ctx: Context,
    shard: Shard,
    tight: Tight,
    needed: NDArray[np.bool_],
    source: int,
    parent: Array,
) -> None:
    """Search breadth-first from the source along tight edges into needed masters.

    Parameters
    ----------
    source : int
        Its local id on the slot that owns it, -1 on the others.
    parent : array over the masters
        Of those that are needed, it is filled.
    """
    masters = shard.masters
    heads, first, further = link(tight, needed)
    w = Walk(
        heads,
        first,
        further,
        hops=np.full(masters, -1, np.int32),
        parent=parent,
        rank=shard.rank,
        frontier=np.empty(masters, np.int32),
        length=np.zeros(1, np.int64),
        found=np.empty(masters, np.int32),
    )
    if source >= 0:
        w.hops[source], w.frontier[0], w.length[0] = 0, source, 1
    together = bool(ctx.companions) and parent.dtype == np.int32
    level, awake = 0, 1
    while awake:
        if together and EDGES * awake < TINY:
            act = _walk_from(level)
            level, awake = (await act_for_all(ctx, shard, w, act, 2, [])).tolist()
        else:
            size = int(w.length[0])
            (told,) = await broadcast_some(
                ctx, shard, w.frontier[:size], vote=[size], work=EDGES * size
            )
            awake = int(ctx.vote[0])
            level += 1
            walk(told, level, w)


@kernel
def link(tight, needed):  # type: ignore[no-untyped-def]
    """Chain the edges into needed masters by tail.

    Returns the heads of the edges; for each local id its last edge, -1 none; for each edge the
    one before with the same tail, -1 none.
    """
    masters = tight.begin.size - 1
    count = 0
    for v in range(masters):
        if needed[v]:
            count += tight.begin[v + 1] - tight.begin[v]
    heads, further = np.empty(count, np.int32), np.empty(count, np.int64)
    first = np.full(needed.size, -1, np.int64)
    edge = 0
    for v in range(masters):
        if needed[v]:
            for e in range(tight.begin[v], tight.begin[v + 1]):
                u = tight.tail[e]
                heads[edge] = v
                further[edge] = first[u]
                first[u] = edge
                edge += 1
    return heads, first, further


@kernel
def walk(told, level, w):  # type: ignore[no-untyped-def]
    """Go from the frontier and the proxies told of it to the masters of the next level."""
    heads, first, further = w.heads, w.first, w.further
    hops, parent, rank = w.hops, w.parent, w.rank
    frontier, found, size, count = w.frontier, w.found, w.length[0], 0
    for i in range(size + told.size):
        u = frontier[i] if i < size else told[i - size]
        edge = first[u]
        while edge >= 0:
            v = heads[edge]
            if hops[v] < 0:
                hops[v] = level
                parent[v] = u
                found[count] = v
                count += 1
            elif hops[v] == level and rank[u] < rank[parent[v]]:
                parent[v] = u
            edge = further[edge]
    copy_into(frontier, np.sort(found[:count]))
    w.length[0] = count


def _walk_from(level: int) -> Any:
    def act(everything: Everything) -> Done:
        reached, awake, supersteps = _walk_for_all(everything, level)
        return Done([reached, awake], supersteps, EDGES * awake)

    return act


@kernel
def _walk_of(row):  # type: ignore[no-untyped-def]
    return Walk(
        array_at(row, 0, np.int32),
        array_at(row, 1, np.int64),
        array_at(row, 2, np.int64),
        array_at(row, 3, np.int32),
        array_at(row, 4, np.int32),
        array_at(row, 5, np.int32),
        array_at(row, 6, np.int32),
        array_at(row, 7, np.int64),
        array_at(row, 8, np.int32),
    )


@kernel
def _walk_for_all(everything, level):  # type: ignore[no-untyped-def]
    """Go from level to level; return that, the length of the last frontier, the supersteps."""
    arrays, routes, vertices, sent = everything
    slots = arrays.shape[0]
    lengths = np.zeros(slots, np.int64)
    told = np.empty((slots, slots * vertices.size), np.int32)
    awake = step = 0
    while step < sent.shape[0]:
        awake = 0
        lengths[:] = 0
        for owner in range(slots):
            w = _walk_of(arrays[owner])
            frontier = w.frontier[: w.length[0]]
            awake += frontier.size
            for slot in range(slots):
                if slot != owner and frontier.size:
                    room = told[slot, lengths[slot] :]
                    count = tell_of(frontier, routes[slot, owner], room)
                    sent[step, owner, slot] = count
                    lengths[slot] += count
        level += 1
        step += 1
        for slot in range(slots):
            walk(told[slot, : lengths[slot]], level, _walk_of(arrays[slot]))
        if awake == 0 or EDGES * awake >= TINY:
            break
    return level, awake, step
