"""Where vertices lie: from any ids to numbers, from numbers to what their masters know.

A vertex is named by its placed number here (``bases[owner] + local id there``), the same on
every slot. All of it is done by all slots together.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dgraph.engine.context import Context
from dgraph.shard import Shard, number_dtype
from dgraph.vertices.ids import Ids, IntIds, concat_ids, ids_from_columns

__all__ = ["NO_VERTEX", "ask_masters", "by_owner", "ids_of_placed", "placed_of"]

Array = NDArray[Any]

#: The placed number of an id that is not in the graph.
NO_VERTEX = -2


async def placed_of(ctx: Context, shard: Shard, ids: Ids) -> Array:
    """Return the placed numbers of ids, NO_VERTEX for one not in the graph: three exchanges.

    Parameters
    ----------
    ids : Ids
        Of any kind and dtype, in any sequence, as often as they like; each slot has its own.
    """
    numbers = np.full(len(ids), NO_VERTEX, number_dtype(shard.num_vertices))
    where, possible = _that_fit(ids, shard.ids)
    codes, distinct = possible.factorize()
    holders, ends = await _blocks(ctx, shard, distinct)
    questions: list[Any] = [None] * ctx.slots
    for holder, (begin, end) in zip(holders, pairwise(ends), strict=True):
        if begin < end:
            questions[holder] = distinct.slice(begin, end).to_columns()
    answers = [_look_up(shard, some) for some in await ctx.alltoall(questions)]
    came = [some[0] for some in await ctx.alltoall(answers) if some is not None]
    if came:
        numbers[where] = np.concatenate(came)[codes]
    return numbers


def _that_fit(ids: Ids, known: Ids) -> tuple[Any, Ids]:
    """Return the ids that could be among `known`, in their dtype, and where they stand.

    Examples
    --------
    >>> _that_fit(IntIds(np.array([7, 300, -1])), IntIds(np.zeros(1, np.uint8)))
    (array([0]), IntIds([7]))
    """
    if ids.dtype == known.dtype:
        return slice(None), ids
    if not isinstance(ids, IntIds) or not isinstance(known, IntIds):
        return np.zeros(0, np.int64), known.slice(0, 0)
    bounds = np.iinfo(known.dtype)
    where = np.flatnonzero((ids.values >= bounds.min) & (ids.values <= bounds.max))
    return where, ids.take(where).astype(known.dtype)


async def _blocks(ctx: Context, shard: Shard, distinct: Ids) -> tuple[list[int], list[int]]:
    """Return the slots whose block of the dictionary is not empty, and where `distinct` splits.

    The part of `distinct` from one position to the next is for one of these slots.
    """
    block = shard.dictionary.ids
    came = await ctx.allgather(*block.slice(0, 1).to_columns())
    firsts = [ids_from_columns(block.dtype, columns) for columns in came]
    holders = [slot for slot, first in enumerate(firsts) if len(first)]
    if not holders:
        return [], [0]
    # what comes before the first block is no vertex: let that block say so
    inner = distinct.searchsorted(concat_ids([firsts[holder] for holder in holders]))[1:]
    return holders, [0, *inner.tolist(), len(distinct)]


def _look_up(shard: Shard, columns: Any) -> tuple[Array] | None:
    if columns is None:
        return None
    at = shard.dictionary.ids.locate(ids_from_columns(shard.ids.dtype, columns))
    found = shard.dictionary.placed[at]
    found[at < 0] = NO_VERTEX
    return (found,)


def by_owner(shard: Shard, numbers: Array) -> tuple[Array, list[int]]:
    """Return the sequence that groups placed numbers by owner, and where each group begins.

    Examples
    --------
    >>> from tests.reference import build, plain  # three vertices on two slots: 2 and 1
    >>> shard = build(plain([1, 2], [2, 3]), slots=2)[0]
    >>> by_owner(shard, np.array([2, 0, 2, 1]))
    (array([1, 3, 0, 2]), [0, 2, 4])
    """
    owner = np.searchsorted(shard.bases, numbers, side="right") - 1
    # NumPy sorts integers of 16 bits by radix
    sequence = np.argsort(owner.astype(np.min_scalar_type(shard.slots)), kind="stable")
    counts = np.bincount(owner, minlength=shard.slots)
    return sequence, [0, *np.cumsum(counts).tolist()]


async def ask_masters(
    ctx: Context, shard: Shard, numbers: Array, *values: Array
) -> tuple[Array, ...]:
    """Return what the owners of vertices have in arrays over their masters: two exchanges.

    Parameters
    ----------
    numbers : array
        Placed numbers, as often as they like.
    *values : arrays over the masters
        The same ones on every slot.
    """
    sequence, ends = by_owner(shard, numbers)
    grouped = numbers[sequence]
    questions = [
        (grouped[begin:end] - base,) if begin < end else None
        for (begin, end), base in zip(pairwise(ends), shard.bases[:-1].tolist(), strict=True)
    ]
    answers = [
        None if some is None else tuple(value[some[0]] for value in values)
        for some in await ctx.alltoall(questions)
    ]
    came = [some for some in await ctx.alltoall(answers) if some is not None]
    found = tuple(np.empty(len(numbers), value.dtype) for value in values)
    for column, parts in zip(found, zip(*came, strict=True), strict=False):
        column[sequence] = np.concatenate(parts)
    return found


async def ids_of_placed(ctx: Context, shard: Shard, numbers: list[int]) -> dict[int, Any]:
    """Return the user ids of a few vertices, the same ones on every slot: two exchanges."""
    base, end = shard.bases[shard.slot : shard.slot + 2].tolist()
    mine = np.array([number for number in numbers if base <= number < end], np.int64)
    ids = shard.ids.take(mine - base)
    numbered = await ctx.allgather(mine)
    named = await ctx.allgather(*ids.to_columns())
    return dict(_pairs(shard.ids.dtype, numbered, named))


def _pairs(dtype: str, numbered: Any, named: Any) -> Iterator[tuple[int, Any]]:
    for (numbers,), columns in zip(numbered, named, strict=True):
        yield from zip(
            numbers.tolist(), ids_from_columns(dtype, columns).to_list(), strict=True
        )
