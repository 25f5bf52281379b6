"""Between the users' ids and the numbers that slots compute with.

::

    masters_of          user ids          ->  masters of the slots that own them
    local_of_neighbours ranks             ->  local ids, found in the rows of the in-neighbours
    ids_of_locals       local ids         ->  user ids, asked of the owners
    ids_of_orders       orders            ->  user ids, asked of the blocks of the dictionary

Every distinct vertex is asked for once. All of it is done by all slots together: these are
coroutines, and each says how many exchanges it takes.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dgraph.engine.context import Context
from dgraph.errors import VertexNotFoundError
from dgraph.kernels import count_up_to, kernel
from dgraph.shard import Shard
from dgraph.shard.bits import ones, positions, set_bits, words
from dgraph.shard.shard import WIDE
from dgraph.vertices.ids import Ids, IntIds, concat_ids, ids_from_columns

__all__ = [
    "ids_of_locals",
    "ids_of_orders",
    "local_of_neighbours",
    "masters_of",
    "named_by",
    "named_here",
    "refuse_missing",
]

Array = NDArray[Any]
Places = NDArray[np.int64]


async def masters_of(
    ctx: Context, shard: Shard, ids: Ids, work: int | None = None, vote: Sequence[int] = ()
) -> tuple[NDArray[np.int64], NDArray[np.int32]]:
    """Find the vertices that a user named: one exchange.

    Parameters
    ----------
    ids : Ids
        The same on every slot.
    work : int, optional
        Edges that this slot expects to scan in the next superstep.
    vote : sequence of int
        Summed over the slots on the way: the last numbers of `Context.vote`.

    Returns
    -------
    positions : int64 array
        Of those of `ids` whose vertex this slot owns, ascending.
    masters : int32 array
        Their local ids.

    Raises
    ------
    VertexNotFoundError
        On every slot alike, if one of `ids` is not in the graph; names the first such id.
    """
    positions, local, starts = named_by(shard, ids)
    columns: list[tuple[Array, ...] | None] = [
        (positions[begin:end], local[begin:end]) if begin < end else None
        for begin, end in pairwise(starts.tolist())
    ]
    came = [some for some in await ctx.alltoall(columns, [positions.size, *vote], work) if some]
    if ctx.vote[0] != len(ids):
        await _refuse(ctx, ids, positions)
    if not came:
        return np.zeros(0, np.int64), np.zeros(0, np.int32)
    if len(came) == 1:
        return came[0][0], came[0][1]
    where = np.concatenate([some[0] for some in came])
    sequence = np.argsort(where)
    return where[sequence], np.concatenate([some[1] for some in came])[sequence]


def named_by(shard: Shard, ids: Ids) -> tuple[Places, NDArray[np.int32], Places]:
    """Return which vertices a user named, of those in this slot's part of the dictionary.

    Returns
    -------
    positions : int64 array
        Among `ids`, by the owners of their vertices.
    local : int32 array
        What the owners call them.
    starts : int64 array of length slots + 1
        Where those of each owner begin.
    """
    at = shard.dictionary.ids.locate(ids)
    return _by_owner(at, shard.dictionary.placed, shard.bases)  # type: ignore[no-any-return]


@kernel
def _by_owner(at, placed, bases):  # type: ignore[no-untyped-def]
    """Group the queries that stand in the dictionary by the owners of their vertices.

    Returned are their positions among all queries, what the owners call the vertices, and where
    the queries of each owner begin. `at` are their places in the dictionary, -1: nowhere.
    """
    slots = bases.size - 1
    starts = np.zeros(slots + 1, np.int64)
    owners = np.empty(at.size, np.int64)
    for i in range(at.size):
        if at[i] >= 0:
            owners[i] = count_up_to(bases, placed[at[i]]) - 1
            starts[owners[i] + 1] += 1
    for slot in range(slots):
        starts[slot + 1] += starts[slot]
    positions, local = np.empty(starts[slots], np.int64), np.empty(starts[slots], np.int32)
    following = starts.copy()
    for i in range(at.size):
        if at[i] >= 0:
            place = following[owners[i]]
            positions[place] = i
            local[place] = placed[at[i]] - bases[owners[i]]
            following[owners[i]] += 1
    return positions, local, starts


def named_here(shard: Shard, ids: IntIds) -> NDArray[np.int32]:
    """Find those of a few vertices that this slot owns: all of its ids are looked at.

    Whether some slot has each of them is left to see; see :func:`refuse_missing`.

    Examples
    --------
    >>> from tests.reference import build, plain
    >>> shard, = build(plain([10, 20], [20, 30]))
    >>> named_here(shard, IntIds(np.array([20, 7])))
    array([0], dtype=int32)
    """
    assert isinstance(shard.ids, IntIds)
    found = [shard.ids.places_of(int(each)) for each in ids.values]
    return np.concatenate(found).astype(np.int32)


async def refuse_missing(ctx: Context, shard: Shard, ids: IntIds) -> None:
    """Raise the error that names the first id that no slot has."""
    assert isinstance(shard.ids, IntIds)
    has = [shard.ids.places_of(int(each)).size > 0 for each in ids.values]
    await _refuse(ctx, ids, np.flatnonzero(has))


async def _refuse(ctx: Context, ids: Ids, positions: Places) -> None:
    """Raise the error that names the first id that no slot has found."""
    found = np.zeros(len(ids), np.int64)
    found[positions] = 1
    first = int(np.argmin(await ctx.allreduce(found, op="max")))
    raise VertexNotFoundError(
        f"expected a vertex of the graph, got {ids[first]!r}; "
        "name one that occurs in the edges or was declared in vertices="
    )


def local_of_neighbours(
    shard: Shard, codes: Array, out: NDArray[np.int32] | None = None
) -> NDArray[np.int32]:
    """Return the local ids of one in-neighbour of each master.

    Parameters
    ----------
    codes : array over the masters
        ``v >= 0`` is the local id v, -1 none, ``-2 - r`` the in-neighbour whose rank is r.
    out : int32 array over the masters, optional
        Where to write them.

    Examples
    --------
    >>> from tests.reference import build, plain  # the path 10 - 20 - 30; 20 has rank 0
    >>> shard, = build(plain([10, 20], [20, 30]))
    >>> local_of_neighbours(shard, np.array([1, -1, -2 - 0]))
    array([ 1, -1,  0], dtype=int32)
    """
    local = np.empty(codes.size, np.int32) if out is None else out
    _search_rows(shard.into.offsets, shard.into.targets, shard.rank, codes, local)
    return local


@kernel
def _search_rows(offsets, targets, rank, codes, local):  # type: ignore[no-untyped-def]
    for v in range(codes.size):
        if codes[v] >= -1:
            local[v] = codes[v]
            continue
        wanted = -2 - codes[v]
        # rows are in ascending rank
        low, high = offsets[v], offsets[v + 1] - 1
        while low < high:
            middle = (low + high) >> 1
            if rank[targets[middle]] < wanted:
                low = middle + 1
            else:
                high = middle
        local[v] = targets[low]


async def ids_of_locals(ctx: Context, shard: Shard, locals_: NDArray[np.int32]) -> Ids:
    """Return the user ids of vertices that this slot has masters or proxies of: two exchanges.

    Parameters
    ----------
    locals_ : int32 array
        Local ids, in any sequence, as often as they like.
    """
    room = ctx.scratch(shard, locals_.size, np.int32)
    codes, distinct = _factorize(locals_, shard.size, room)
    groups = zip(shard.group_start.tolist(), shard.group_size.tolist(), strict=True)
    places = [_between(distinct, start, start + size) for start, size in groups]

    def answer(slot: int, places: Array) -> Ids:
        return shard.ids.take(places if slot == shard.slot else shard.shared[slot][places])

    found = await _ask(ctx, shard, places, answer)
    own = found.pop(shard.slot)  # the masters come first among the local ids
    return concat_ids([own, *found]).take(codes)


def _factorize(numbers: Array, size: int, room: NDArray[np.int32]) -> tuple[Array, Array]:
    """Return where each number stands among the distinct ones, and these, ascending.

    Parameters
    ----------
    numbers : integer array
        From 0 to `size`.
    room : int32 array beside `numbers`
        May be written to and returned.

    Examples
    --------
    >>> _factorize(np.array([70, 3, 70], np.int32), 128, np.empty(3, np.int32))
    (array([1, 0, 1], dtype=int32), array([ 3, 70], dtype=int32))
    """
    if size > 64 * numbers.size or size >= WIDE:
        codes, distinct = IntIds(numbers).factorize()
        return codes, distinct.values
    # a bitmap stays in the cache, unlike a table with an entry for every number
    bits = np.zeros(words(size), np.uint64)
    set_bits(bits, numbers)
    found = np.empty(_positions_among(bits, numbers, room), np.int32)
    positions(bits, found)
    return room, found


@kernel
def _positions_among(bits, members, codes):  # type: ignore[no-untyped-def]
    """Write how many bits stand before that of each member; return how many there are."""
    before = np.empty(bits.size, np.int32)
    total = 0
    for word in range(bits.size):
        before[word] = total
        total += ones(bits[word])
    for i in range(members.size):
        at = np.uint64(members[i]) >> np.uint64(6)
        below = (np.uint64(1) << np.uint64(members[i] & 63)) - np.uint64(1)
        codes[i] = before[at] + ones(bits[at] & below)
    return total


async def ids_of_orders(ctx: Context, shard: Shard, orders: Array) -> Ids:
    """Return the user ids of vertices given by their orders: two exchanges.

    Parameters
    ----------
    orders : array
        Of any vertices of the graph, as often as they like.
    """
    room = ctx.scratch(shard, orders.size, np.int32)
    codes, distinct = _factorize(orders, shard.num_vertices, room)
    blocks = pairwise(shard.dictionary.cuts.tolist())
    places = [_between(distinct, low, high) for low, high in blocks]
    found = await _ask(ctx, shard, places, lambda _, some: shard.dictionary.ids.take(some))
    return concat_ids(found).take(codes)


def _between(numbers: Array, low: int, high: int) -> Array:
    """Return the ascending numbers from `low` to `high`, counted from `low`.

    Examples
    --------
    >>> _between(np.array([1, 3, 5, 8]), 3, 8)
    array([0, 2])
    """
    begin, end = np.searchsorted(numbers, (low, high))
    return numbers[begin:end] - low


async def _ask(
    ctx: Context,
    shard: Shard,
    places: Sequence[Array],
    answer: Callable[[int, Array], Ids],
) -> list[Ids]:
    """Send each slot `places`; what it answers to them comes back, by slot."""
    questions = [(some,) if some.size else None for some in places]
    asked = await ctx.alltoall(questions)
    answers = [
        None if some is None else answer(slot, some[0]).to_columns()
        for slot, some in enumerate(asked)
    ]
    nothing = shard.ids.slice(0, 0)
    return [
        nothing if some is None else ids_from_columns(shard.ids.dtype, some)
        for some in await ctx.alltoall(answers)
    ]
