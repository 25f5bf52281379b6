"""Stage F, settling: every edge becomes two arcs, each a row's entry on the owner of the row.

An arc travels as the local id of its row and the seat of its column. The arcs of a slot come in
blocks of rows with about equally many, so that the slot can lay them out one block at a time.
In an undirected graph there is one family of arcs, and a loop is one arc; in a directed graph
there are two families, of the rows of out-edges and of those of in-edges.
"""

from __future__ import annotations

from collections.abc import Generator
from typing import Any

import numba as nb
import numpy as np
from numpy.typing import NDArray

from dgraph.build.meeting import PIECE, Filed, order_of_row
from dgraph.build.numberset import NumberSet, mark, position_of
from dgraph.build.owning import Seats
from dgraph.engine.context import Context

__all__ = ["Arcs", "blocks_of", "settle_edges"]

Array = NDArray[Any]
#: For each family and block of rows, pieces: rows, columns[, weights].
Arcs = list[list[list[tuple[Array, ...]]]]

#: Arcs of a block: enough that walking all columns for each costs little, few enough that the
#: block in hand is small beside the whole.
BLOCK = 1 << 22
MOST_BLOCKS = 16


def blocks_of(edges: int, slots: int) -> int:
    """Return into how many blocks the rows of a slot are cut.

    Examples
    --------
    >>> blocks_of(1000, 2), blocks_of(2**24, 2), blocks_of(2**40, 2)
    (1, 4, 16)
    """
    return min(MOST_BLOCKS, -(-2 * edges // (slots * BLOCK)) or 1)


async def settle_edges(
    ctx: Context, filed: Filed, touch: NumberSet, seat: Array, seats: Seats, directed: bool
) -> tuple[Arcs, NDArray[np.uint64]]:
    """Send the edges to where they live.

    Parameters
    ----------
    filed : Filed
        The edges of this slot.
    touch : NumberSet
        The orders that they touch.
    seat : array
        The seats of these, ascending by order.
    seats : Seats
    directed : bool

    Returns
    -------
    arcs : Arcs
    seen : bitmap
        Of the seats of their columns.
    """
    families, blocks = 1 + directed, seats.blocks.shape[1]
    arcs: Arcs = [[[] for _ in range(blocks)] for _ in range(families)]
    seen = NumberSet.empty(int(seats.starts[-1]))
    width = 2 if filed.weights is None else 3
    pieces = _pieces(ctx, filed, touch, seat, seats, families)
    rounds = -(-filed.columns.size // PIECE)
    for _ in range(int((await ctx.allreduce([rounds], "max"))[0])):
        for piece in await ctx.alltoall(next(pieces, [None] * ctx.slots)):
            # copies, so that each block can be let go of apart from the others
            parts = [part.copy() for part in piece or ()]
            for bucket, at in enumerate(range(0, len(parts), width)):
                arcs[bucket // blocks][bucket % blocks].append(tuple(parts[at : at + width]))
                mark(seen, parts[at + 1], 0)
    pieces.close()
    return arcs, seen


def _pieces(
    ctx: Context, filed: Filed, touch: NumberSet, seat: Array, seats: Seats, families: int
) -> Generator[list[tuple[Array, ...] | None], None, None]:
    """Yield one piece of the edges after the other, as columns for every slot."""
    bucket = np.searchsorted(seats.blocks.ravel(), seat, side="right") - 1
    seat_and_bucket = np.column_stack([seat, bucket.astype(seat.dtype)])  # on one cache line
    origin = np.repeat(seats.starts[:-1], seats.blocks.shape[1])
    row = 0
    for begin in range(0, filed.columns.size, PIECE):
        columns = filed.columns[begin : begin + PIECE]
        ends = np.empty((2, columns.size), seat.dtype)
        buckets = np.empty((2, columns.size), np.int32)
        row = _look_up(
            touch.bits, touch.before, filed.offsets, row, begin, columns,
            ctx.slot, ctx.slots, seat_and_bucket, ends, buckets,
        )  # fmt: skip
        weights = None if filed.weights is None else filed.weights[begin : begin + PIECE]
        yield _deal_arcs(ends, weights, buckets, origin, families, ctx.slots)


def _deal_arcs(
    ends: Array, weights: Array | None, buckets: Array, origin: Array, families: int, slots: int
) -> list[tuple[Array, ...] | None]:
    """Cut the arcs of edges into those for each slot, there by family and block."""
    counts = np.zeros((families, origin.size), np.int64)
    _count(ends, buckets, counts)
    by_slot = counts.reshape(families, slots, -1).transpose(1, 0, 2)
    stops = np.cumsum(by_slot).reshape(by_slot.shape)
    at = np.ascontiguousarray((stops - by_slot).transpose(1, 0, 2)).reshape(counts.shape)
    total = int(counts.sum())
    rows, columns = np.empty(total, np.int32), np.empty(total, ends.dtype)
    dealt_weights = None if weights is None else np.empty(total, weights.dtype)
    _deal(ends, weights, buckets, origin, at, rows, columns, dealt_weights)
    parts = [part for part in (rows, columns, dealt_weights) if part is not None]
    starts = stops - by_slot
    return [
        tuple(
            part[start:stop]
            for start, stop in zip(starts[slot].ravel(), stops[slot].ravel(), strict=True)
            for part in parts
        )
        for slot in range(slots)
    ]


@nb.njit(nogil=True, cache=True)
def _look_up(  # type: ignore[no-untyped-def]
    bits, before, offsets, row, begin, columns, slot, slots, seat_and_bucket, ends, buckets
):
    """Write seat and bucket of both ends of the edges from `begin` on; return their last row.

    `row` is that of the edge before them. The parity tells which end is first: see `meeting`.
    """
    known = -1
    for i in range(columns.size):
        while offsets[row + 1] <= begin + i:
            row += 1
        if row != known:
            known = row
            order = order_of_row(row, slot, slots)
            near = position_of(bits, before, order)
            near_seat, near_bucket = seat_and_bucket[near]
        far = position_of(bits, before, columns[i])
        second = (order + columns[i] + 1) & 1
        ends[second, i], buckets[second, i] = near_seat, near_bucket
        ends[1 - second, i], buckets[1 - second, i] = seat_and_bucket[far]
    return row


@nb.njit(nogil=True, cache=True)
def _count(ends, buckets, counts):  # type: ignore[no-untyped-def]
    into = counts.shape[0] - 1
    for i in range(ends.shape[1]):
        counts[0, buckets[0, i]] += 1
        counts[into, buckets[1, i]] += np.int64((ends[0, i] != ends[1, i]) | (into == 1))


@nb.njit(nogil=True, cache=True)
def _deal(ends, weights, buckets, origin, at, rows, columns, dealt_weights):  # type: ignore[no-untyped-def]
    into = at.shape[0] - 1
    for i in range(ends.shape[1]):
        for end in range(2):
            if end == 1 and into == 0 and ends[0, i] == ends[1, i]:
                continue  # a loop
            bucket = buckets[end, i]
            place = at[end * into, bucket]
            at[end * into, bucket] += 1
            rows[place] = ends[end, i] - origin[bucket]
            columns[place] = ends[1 - end, i]
            if weights is not None:
                dealt_weights[place] = weights[i]
