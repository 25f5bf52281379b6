"""Numbering of integers that lie close together: the dictionary is a bitmap.

::

    each slot     bitmap of the ids in its chunks, over low .. high
    alltoall      every slot collects one block of words of all bitmaps: or
    allgather     every slot gets the whole; order = set bits before an id's own
"""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dgraph.build.numbering import Lookup, Numbering, ids_above, raise_undeclared
from dgraph.build.numberset import NumberSet, mark
from dgraph.build.spec import BuildSpec
from dgraph.edges.chunk import EdgeChunk
from dgraph.edges.vertex_chunk import VertexChunk
from dgraph.engine.context import Context
from dgraph.shard import number_dtype
from dgraph.vertices.ids import Ids, IntIds

__all__ = ["number_dense"]

Bits = NDArray[np.uint64]


async def number_dense(
    ctx: Context, edges: list[EdgeChunk], vertices: list[VertexChunk], spec: BuildSpec
) -> Numbering:
    """Give orders to the ids that edges name or, if some are declared, to those."""
    assert spec.low is not None
    assert spec.high is not None
    used, declared = _occurring(edges, vertices, spec.low, spec.high)
    starts = used.size * np.arange(ctx.slots + 1) // ctx.slots
    block = await _collect(ctx, used, starts)
    if spec.declared:
        known = await _collect(ctx, declared, starts)
        await _check_declared(ctx, block & ~known, int(starts[ctx.slot]) << 6, spec.low)
        block = known
    return await _spread(ctx, block, starts, edges, vertices, spec)


def _occurring(
    edges: list[EdgeChunk], vertices: list[VertexChunk], low: int, high: int
) -> tuple[Bits, Bits]:
    """Return the bitmaps of the ids that edges name and of those that are declared."""
    used, declared = NumberSet.empty(high - low + 1), NumberSet.empty(high - low + 1)
    for chunk in edges:
        if chunk.ids is not None:
            mark(used, _numbers(chunk.ids, low), 0)
        else:
            mark(used, chunk.source, chunk.low - low)
            mark(used, chunk.target, chunk.low - low)
    for some in vertices:
        if some.declared:
            mark(declared, _numbers(some.ids, low), 0)
    return used, declared


async def _collect(ctx: Context, bits: Bits, starts: NDArray[np.int64]) -> Bits:
    """Return this slot's block of words of the union of all slots' bitmaps."""
    came = await ctx.alltoall([(bits[a:b],) for a, b in pairwise(starts)])
    block: Bits = np.bitwise_or.reduce([some[0] for some in came if some is not None])
    return block


async def _check_declared(ctx: Context, undeclared: Bits, begin: int, low: int) -> None:
    """Raise an error that names the least undeclared id, the same on every slot."""
    none = np.iinfo(np.int64).max
    words = np.flatnonzero(undeclared)
    least = none
    if words.size:
        word = int(undeclared[words[0]])
        least = begin + 64 * int(words[0]) + (word & -word).bit_length() - 1
    least = int((await ctx.allreduce([least], "min"))[0])
    if least != none:
        raise_undeclared(low + least)


async def _spread(
    ctx: Context,
    block: Bits,
    starts: NDArray[np.int64],
    edges: list[EdgeChunk],
    vertices: list[VertexChunk],
    spec: BuildSpec,
) -> Numbering:
    """Put the blocks together again and count the bits before each word."""
    assert spec.low is not None
    bits = np.concatenate([some[0] for some in await ctx.allgather(block)])
    counted = NumberSet.of(bits, np.int64)
    cuts = np.append(counted.before, len(counted))[starts]
    counted.before = counted.before.astype(number_dtype(len(counted)))
    ids = ids_above(spec.low + 64 * int(starts[ctx.slot]), _set_bits(block), spec.ids)
    return Numbering(
        cuts,
        ids,
        [_lookup(chunk, counted, spec.low) for chunk in edges],
        [_orders(counted, some.ids, spec.low, spec.high) for some in vertices],
    )


def _set_bits(bits: Bits) -> NDArray[Any]:
    return NumberSet.of(bits, np.int64).numbers()


def _lookup(chunk: EdgeChunk, counted: NumberSet, low: int) -> Lookup:
    if chunk.ids is None:
        return Lookup(counted, chunk.low - low)
    return Lookup(orders=counted.positions(_numbers(chunk.ids, low)))


def _orders(counted: NumberSet, ids: Ids, low: int, high: int | None) -> NDArray[Any]:
    """Return the orders of ids of which some may be no vertices: -1 for these."""
    assert high is not None
    numbers = _numbers(ids, low).view(np.uint64)
    found = numbers <= np.uint64(high - low)
    numbers = np.where(found, numbers, np.uint64(0))
    bit = counted.bits[numbers >> np.uint64(6)] >> (numbers & np.uint64(63))
    found &= bit & np.uint64(1) != 0
    return np.where(found, counted.positions(numbers), -1)


def _numbers(ids: Ids, low: int) -> NDArray[np.int64]:
    """Return ``id - low`` modulo 2**64, so that no dtype can overflow.

    Examples
    --------
    >>> _numbers(IntIds(np.array([2**64 - 1, 2**63], np.uint64)), 2**63)
    array([9223372036854775807,                   0])
    """
    assert isinstance(ids, IntIds)
    wide = np.int64 if ids.values.dtype.kind == "i" else np.uint64
    words = ids.values.astype(wide).view(np.uint64)
    return (words - np.uint64(low & (2**64 - 1))).view(np.int64)
