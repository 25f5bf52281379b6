"""Stage B, meeting: all copies of an edge go to one slot, which can then merge them.

An edge is a pair (first, second) of orders: (source, target), or (smaller, larger) in an
undirected graph. One of the two becomes the row under which it is filed, the other the column::

    first + second odd     row = first      so of a star's edges half are filed under the hub,
    first + second even    row = second     and row and column still tell which end is which

Blocks of 16 rows are dealt to the slots, in every round of `slots` blocks beginning with
another slot (by a hash): heavy vertices often lie at regular distances in the users' ids.
"""

from __future__ import annotations

from collections.abc import Generator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dgraph.build.numbering import Lookup, Numbering
from dgraph.build.spec import BuildSpec
from dgraph.edges.chunk import EdgeChunk
from dgraph.engine.context import Context
from dgraph.kernels import kernel
from dgraph.shard import number_dtype
from dgraph.shard.memory import give_back

__all__ = [
    "Filed",
    "Tally",
    "count_slots",
    "deal",
    "deal_into",
    "desk_rows",
    "file_edges",
    "order_of_row",
    "row_orders",
]

Array = NDArray[Any]

#: Edges that a slot encodes and sends at one go.
PIECE = 1 << 19
#: Rows of a partition that `first` can tell apart.
PARTITION = 1 << 40


@dataclass(slots=True)
class Filed:
    """The edges that met on a slot.

    Parameters
    ----------
    offsets : integer array of length rows + 1
    columns : integer array
        Orders, in no particular sequence inside a row.
    weights : float64 array or None
    sequence : int64 array or None
        Position in the input.
    """

    offsets: Array
    columns: Array
    weights: Array | None = None
    sequence: Array | None = None


@dataclass(slots=True)
class Tally:
    """Counts of this slot for the report."""

    rows_read: int = 0
    self_loops: int = 0
    self_loops_dropped: int = 0
    duplicates_merged: int = 0


def desk_rows(vertices: int, slots: int) -> int:
    """Return how many rows each slot has; some of them belong to no vertex.

    Examples
    --------
    >>> desk_rows(100, 2), desk_rows(0, 2)
    (64, 0)
    """
    blocks = -(-vertices // 16)
    return 16 * -(-blocks // slots)


async def file_edges(
    ctx: Context, chunks: list[EdgeChunk], numbering: Numbering, spec: BuildSpec, tally: Tally
) -> Filed:
    """Send every edge to the slot where its copies meet; empties `chunks` on the way."""
    counts = np.zeros(desk_rows(numbering.vertices, ctx.slots), np.int64)
    rounds = sum(-(-len(chunk.source) // PIECE) for chunk in chunks)
    pieces = _encoded(ctx.slots, chunks, numbering, spec, tally)
    held: list[tuple[Array, ...]] = []
    for _ in range(int((await ctx.allreduce([rounds], "max"))[0])):
        for columns in await ctx.alltoall(next(pieces, [None] * ctx.slots)):
            if columns is not None:
                held.append(columns)
                _count_rows(columns[0], counts)
    pieces.close()
    filed = _by_row(held, counts, spec)
    give_back(2 * filed.columns.nbytes)
    return filed


def _encoded(
    slots: int, chunks: list[EdgeChunk], numbering: Numbering, spec: BuildSpec, tally: Tally
) -> Generator[list[tuple[Array, ...] | None], None, None]:
    """Yield one piece of edges after the other, as columns for every slot."""
    while chunks:
        chunk, lookup = chunks.pop(), numbering.lookups.pop()
        for begin in range(0, len(chunk.source), PIECE):
            yield _encode(slots, chunk, slice(begin, begin + PIECE), lookup, spec, tally)


def _encode(
    slots: int, chunk: EdgeChunk, piece: slice, lookup: Lookup, spec: BuildSpec, tally: Tally
) -> list[tuple[Array, ...] | None]:
    """Return rows, columns and what goes with them, of a piece of a chunk, for every slot."""
    first, second = lookup(chunk.source[piece]), lookup(chunk.target[piece])
    rows = np.empty(first.size, np.int32)
    columns = np.empty_like(first)
    desks = np.empty(first.size, np.int16)
    counts = np.zeros(slots, np.int64)
    drop = spec.self_loops == "drop"
    loops = _file(first, second, spec.directed, drop, slots, rows, columns, desks, counts)
    tally.rows_read += first.size
    tally.self_loops += loops
    tally.self_loops_dropped += loops * drop
    parts = [rows, columns]
    if spec.weighted:
        assert chunk.weight is not None
        parts.append(chunk.weight[piece] + 0.0)  # -0.0 becomes 0.0: equal weights, equal bits
        if spec.duplicates == "first":
            start = chunk.partition * PARTITION + piece.start
            parts.append(np.arange(start, start + first.size))
    return deal(parts, desks, counts)


def deal(parts: list[Array], slot_of: Array, counts: Array) -> list[tuple[Array, ...] | None]:
    """Cut columns into those for each slot; entries whose slot is negative are left out.

    Examples
    --------
    >>> deal([np.array([5, 6, 7])], np.array([1, -1, 0]), np.array([1, 1]))
    [(array([7]),), (array([5]),)]
    """
    ends = np.cumsum(counts)
    dealt = [np.empty(ends[-1], part.dtype) for part in parts]
    for part, out in zip(parts, dealt, strict=True):
        deal_into(part, slot_of, ends - counts, out)
    begins = (ends - counts).tolist()
    return [
        tuple(part[begin:end] for part in dealt) if end > begin else None
        for begin, end in zip(begins, ends.tolist(), strict=True)
    ]


def _by_row(held: list[tuple[Array, ...]], counts: NDArray[np.int64], spec: BuildSpec) -> Filed:
    """Group the edges that came by row; empties `held` on the way."""
    total = int(counts.sum())
    offsets = np.zeros(counts.size + 1, number_dtype(total))
    at = offsets[1:]  # where the next edge of a row goes; in the end, where the row ends
    np.cumsum(counts[:-1], out=at[1:])
    columns = np.empty(total, held[0][1].dtype if held else np.int32)
    weights = np.empty(total) if spec.weighted else None
    ordered = spec.weighted and spec.duplicates == "first"
    sequence = np.empty(total, np.int64) if ordered else None
    held.reverse()
    while held:
        rows, column, weight, place = (*held.pop(), None, None)[:4]
        _scatter(rows, column, weight, place, at, columns, weights, sequence)
    return Filed(offsets, columns, weights, sequence)


@kernel(inline="always")
def _turn(group, slots):  # type: ignore[no-untyped-def]
    """Return the slot that gets the first block of a round of blocks."""
    mixed = np.uint64(group) * np.uint64(0x9E3779B97F4A7C15)
    mixed ^= mixed >> np.uint64(29)
    return np.int64(((mixed & np.uint64(0xFFFFFFFF)) * np.uint64(slots)) >> np.uint64(32))


@kernel
def order_of_row(row, slot, slots):  # type: ignore[no-untyped-def]
    """Return the order of the vertex whose row this is on a slot; undoes the dealing."""
    group = row >> 4
    block = slot - _turn(group, slots)
    if block < 0:
        block += slots
    return ((group * slots + block) << 4) | (row & 15)


@kernel
def row_orders(rows, slot, slots):  # type: ignore[no-untyped-def]
    """Return the orders of several rows of a slot."""
    orders = np.empty(rows.size, np.int64)
    for i in range(rows.size):
        orders[i] = order_of_row(rows[i], slot, slots)
    return orders


@kernel
def _file(first, second, directed, drop, slots, rows, columns, desks, counts):  # type: ignore[no-untyped-def]
    """Write row, column and slot of each edge, and return how many are loops."""
    loops = 0
    for i in range(first.size):
        u, v = np.int64(first[i]), np.int64(second[i])
        if u == v:
            loops += 1
            if drop:
                desks[i] = -1
                continue
        if u > v and not directed:
            u, v = v, u
        if (u + v) & 1 == 0:
            u, v = v, u
        block = u >> 4
        group = block // slots
        slot = block - group * slots + _turn(group, slots)
        if slot >= slots:
            slot -= slots
        rows[i] = (group << 4) | (u & 15)
        columns[i] = v
        desks[i] = slot
        counts[slot] += 1
    return loops


@kernel
def deal_into(values, slot_of, at, out):  # type: ignore[no-untyped-def]
    """Write each value to the next place ``at[slot]``; skip those whose slot is negative."""
    for i in range(values.size):
        slot = slot_of[i]
        if slot >= 0:
            out[at[slot]] = values[i]
            at[slot] += 1


@kernel
def count_slots(slot_of, counts):  # type: ignore[no-untyped-def]
    """Add to `counts` how many entries each slot has."""
    for slot in slot_of:
        if slot >= 0:
            counts[slot] += 1


@kernel
def _count_rows(rows, counts):  # type: ignore[no-untyped-def]
    for row in rows:
        counts[row] += 1


@kernel
def _scatter(rows, columns, weights, sequence, at, to_columns, to_weights, to_sequence):  # type: ignore[no-untyped-def]
    """Append edges to their rows."""
    for i in range(rows.size):
        place = at[rows[i]]
        at[rows[i]] += 1
        to_columns[place] = columns[i]
        if weights is not None:
            to_weights[place] = weights[i]
        if sequence is not None:
            to_sequence[place] = sequence[i]
