"""Numbering of any ids: strings, and integers far apart.

::

    each slot     distinct ids of its chunks, and what each is known from (flags)
    allgather     a sample of them, the same for the same ids: splitters of the id range
    alltoall      ids to the slot of their range, their registrar: distinct, ascending, counted
    allgather     counts: where the orders of each registrar begin
    alltoall      the orders back to those who asked
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dgraph.build.numbering import (
    Lookup,
    Numbering,
    chunk_numbers,
    concat_columns,
    ids_above,
    no_ids,
    raise_undeclared,
)
from dgraph.build.numberset import NumberSet
from dgraph.build.spec import BuildSpec
from dgraph.edges.chunk import EdgeChunk
from dgraph.edges.vertex_chunk import VertexChunk
from dgraph.engine.context import Context
from dgraph.shard import number_dtype
from dgraph.vertices.ids import Ids, IntIds, concat_ids

__all__ = ["number_sparse"]

Array = NDArray[Any]

#: What an id is known from.
EDGE, DECLARED = 1, 2
#: Ids that a slot puts into the sample, for each slot of the run: blocks of the dictionary then
#: differ by some ten percent. No slot sends more than the limit.
SAMPLE, SAMPLE_LIMIT = 64, 4096


async def number_sparse(
    ctx: Context, edges: list[EdgeChunk], vertices: list[VertexChunk], spec: BuildSpec
) -> Numbering:
    """Give orders to the ids that edges name or, if some are declared, to those."""
    sets = [None if chunk.ids is not None else chunk_numbers(chunk) for chunk in edges]
    parts = [_edge_ids(*some, spec) for some in zip(edges, sets, strict=True)]
    parts += [some.ids for some in vertices]
    flags = [EDGE] * len(edges) + [DECLARED * some.declared for some in vertices]
    codes, mine, known = _distinct(parts, flags, spec.ids)
    splitters = await _splitters(ctx, mine)
    cuts, ids, orders = await _number(ctx, mine, known, splitters, spec)
    tables = [orders[some] for some in codes]
    lookups = [Lookup(numbers, 0, table) for numbers, table in zip(sets, tables, strict=False)]
    return Numbering(cuts, ids, lookups, tables[len(edges) :])


def _edge_ids(chunk: EdgeChunk, numbers: NumberSet | None, spec: BuildSpec) -> Ids:
    """Return the distinct ids that a chunk of edges names."""
    if numbers is None:
        assert chunk.ids is not None
        return chunk.ids
    return ids_above(chunk.low, numbers.numbers(), spec.ids)


def _distinct(
    parts: Sequence[Ids], flags: Sequence[int | NDArray[np.uint8]], dtype: str
) -> tuple[list[Array], Ids, NDArray[np.uint8]]:
    """Return for each part its codes, then the distinct ids and the flags of each.

    Examples
    --------
    >>> parts = [IntIds(np.array([5, 9])), IntIds(np.array([9, 7]))]
    >>> codes, ids, known = _distinct(parts, [EDGE, DECLARED], "int64")
    >>> ids, known
    (IntIds([5, 7, 9]), array([1, 2, 3], dtype=uint8))
    """
    whole = concat_ids([no_ids(dtype), *parts])
    codes, ids = whole.factorize()
    ends = np.cumsum([len(part) for part in parts], dtype=np.int64)
    pieces = np.split(codes, ends[:-1])[: len(parts)]
    known = np.zeros(len(ids), np.uint8)
    for piece, flag in zip(pieces, flags, strict=True):
        known[piece] |= flag
    return pieces, _typed(ids, dtype), known


def _typed(ids: Ids, dtype: str) -> Ids:
    return ids.astype(dtype) if isinstance(ids, IntIds) else ids


async def _splitters(ctx: Context, mine: Ids) -> Ids:
    """Return the first ids of all registrars but the first, the same on every slot."""
    sampled = _sample(mine, min(SAMPLE * ctx.slots, SAMPLE_LIMIT))
    came = await ctx.allgather(*sampled.to_columns())
    sample = concat_columns(mine.dtype, came).unique()
    return (
        sample.take(len(sample) * np.arange(1, ctx.slots) // ctx.slots)
        if len(sample)
        else sample
    )


def _sample(ids: Ids, size: int) -> Ids:
    """Return those of the distinct `ids` that have the least hashes."""
    if len(ids) <= size:
        return ids
    return ids.take(np.argpartition(ids.hash(), size)[:size])


async def _number(
    ctx: Context, mine: Ids, known: NDArray[np.uint8], splitters: Ids, spec: BuildSpec
) -> tuple[NDArray[np.int64], Ids, Array]:
    """Return the cuts, the ids of this slot's block, and the orders of `mine`."""
    came = await _to_registrars(ctx, mine, known, splitters)
    codes, ids, flags = _distinct(
        [concat_columns(spec.ids, [some[:-1]]) for some in came],
        [some[-1] for some in came],
        spec.ids,
    )
    if spec.declared:
        await _check_declared(ctx, ids, flags)
    exists = flags & (DECLARED if spec.declared else EDGE) != 0
    counts = await ctx.allgather(np.array([np.count_nonzero(exists)]))
    cuts = np.concatenate([[0], np.cumsum([int(some[0][0]) for some in counts])])
    orders = np.where(exists, cuts[ctx.slot] + np.cumsum(exists) - 1, -1)
    orders = orders.astype(number_dtype(int(cuts[-1])))
    replies = await ctx.alltoall([(orders[some],) for some in codes])
    asked = np.concatenate([some[0] for some in replies if some is not None])
    return cuts, ids.take(np.flatnonzero(exists)), asked


async def _to_registrars(
    ctx: Context, mine: Ids, known: NDArray[np.uint8], splitters: Ids
) -> list[tuple[Array, ...]]:
    """Send each id, and what it is known from, to the slot of its range."""
    ends = [0, *mine.searchsorted(splitters).tolist()]
    ends += [len(mine)] * (ctx.slots + 1 - len(ends))
    came = await ctx.alltoall(
        [(*mine.slice(a, b).to_columns(), known[a:b]) for a, b in pairwise(ends)]
    )
    return [some for some in came if some is not None]


async def _check_declared(ctx: Context, ids: Ids, flags: NDArray[np.uint8]) -> None:
    """Raise an error that names the least undeclared id, the same on every slot."""
    undeclared = np.flatnonzero(flags == EDGE)[:1]
    came = await ctx.allgather(*ids.take(undeclared).to_columns())
    named = concat_columns(ids.dtype, came)
    if len(named):
        raise_undeclared(named[0])
