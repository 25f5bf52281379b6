"""Stage F, settling: every edge becomes two arcs, each a row's entry on the owner of the row.

An arc travels as the seats of its row and of its column. The arcs of a slot come in
blocks of rows with about equally many, so that the slot can lay them out one block at a time.
In an undirected graph there is one family of arcs, and a loop is one arc; in a directed graph
there are two families, of the rows of out-edges and of those of in-edges.
"""

from __future__ import annotations

from collections.abc import Generator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dgraph.build.meeting import PIECE, Filed, count_slots, deal_into, row_orders
from dgraph.build.numberset import NumberSet, mark
from dgraph.build.owning import Seats
from dgraph.engine.context import Context
from dgraph.shard import narrow_dtype

__all__ = ["Arcs", "blocks_of", "settle_edges"]

Array = NDArray[Any]
#: For each family and block of rows, pieces: rows, columns[, weights].
Arcs = list[list[list[tuple[Array, ...]]]]

#: Arcs of a block: enough that walking all columns for each costs little, few enough that the
#: block in hand is small beside the whole.
BLOCK = 1 << 21
MOST_BLOCKS = 64


def blocks_of(edges: int, slots: int) -> int:
    """Return into how many blocks the rows of a slot are cut.

    Examples
    --------
    >>> blocks_of(1000, 2), blocks_of(2**24, 2), blocks_of(2**40, 2)
    (1, 8, 64)
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
    weight = () if filed.weights is None else (filed.weights[:0],)
    for family in arcs:  # a slot without arcs must know as well whether they have weights
        family[0].append((np.empty(0, np.int32), np.empty(0, seat.dtype), *weight))
    seen = NumberSet.empty(int(seats.starts[-1]))
    start = seat.dtype.type(seats.starts[ctx.slot])
    width = 2 if filed.weights is None else 3
    pieces = _pieces(ctx, filed, touch, seat, seats, families)
    rounds = -(-filed.columns.size // PIECE)
    for _ in range(int((await ctx.allreduce([rounds], "max"))[0])):
        for piece in await ctx.alltoall(next(pieces, [None] * ctx.slots)):
            for bucket, at in enumerate(range(0, len(piece or ()), width)):
                assert piece is not None
                rows, *others = piece[at : at + width]
                # copies, so that each block can be let go of apart from the others
                copies = (
                    (rows - start).astype(np.int32, copy=False),
                    *[x.copy() for x in others],
                )
                arcs[bucket // blocks][bucket % blocks].append(copies)
                mark(seen, copies[1], 0)
    pieces.close()
    return arcs, seen


def _pieces(
    ctx: Context, filed: Filed, touch: NumberSet, seat: Array, seats: Seats, families: int
) -> Generator[list[tuple[Array, ...] | None], None, None]:
    """Yield the arcs of one piece of the edges after the other, as columns for every slot."""
    tables = seat, _buckets(seat, seats, families)
    rows = np.flatnonzero(np.diff(filed.offsets))
    orders = row_orders(rows, ctx.slot, ctx.slots).astype(filed.columns.dtype)
    places, ends = touch.positions(orders), filed.offsets[rows + 1]
    for begin in range(0, filed.columns.size, PIECE):
        columns = filed.columns[begin : begin + PIECE]
        some, lengths = _runs(ends, begin, columns.size)
        near = [np.repeat(table[places[some]], lengths) for table in tables]
        place = touch.positions(columns)
        far = [table.take(place, mode="clip") for table in tables]
        if families == 1:
            far[1][near[0] == far[0]] = -1  # a loop is one arc
        else:
            is_first = (np.repeat(orders[some], lengths) + columns) & 1  # see `meeting`
            near[1] += (1 - is_first) * seats.blocks.shape[1]
            far[1] += is_first * seats.blocks.shape[1]
        weights = None if filed.weights is None else filed.weights[begin : begin + PIECE]
        yield _deal_arcs(near, far, weights, seats.blocks.size * families, ctx.slots)


def _buckets(seat: Array, seats: Seats, families: int) -> Array:
    """Return the bucket of the vertices that have these seats.

    There is a bucket for each slot, family and block, in this sequence; a vertex gets that of
    the first family.

    Examples
    --------
    >>> seats = Seats.of(np.array([3, 2]), np.array([3, 2]), np.array([[0, 2], [0, 1]]))
    >>> _buckets(np.array([1, 2, 64, 65]), seats, 2)
    array([0, 1, 4, 5], dtype=int16)
    """
    blocks = seats.blocks.shape[1]
    slot, block = divmod(np.searchsorted(seats.blocks.ravel(), seat, side="right") - 1, blocks)
    bucket: Array = slot * families * blocks + block
    return bucket.astype(narrow_dtype(families * seats.blocks.size))


def _runs(ends: Array, begin: int, size: int) -> tuple[slice, Array]:
    """Return the rows of some consecutive edges, and how many of these each has.

    Parameters
    ----------
    ends : array
        Where the edges of each row end.
    begin, size : int
        The edges.

    Examples
    --------
    >>> _runs(np.array([3, 4, 9]), 2, 4)
    (slice(0, 3, None), array([1, 1, 2]))
    """
    first, last = np.searchsorted(ends, [begin, begin + size - 1], side="right").tolist()
    cuts = np.append(ends[first:last], begin + size)
    return slice(first, last + 1), np.diff(cuts, prepend=begin)


def _deal_arcs(
    near: list[Array], far: list[Array], weights: Array | None, buckets: int, slots: int
) -> list[tuple[Array, ...] | None]:
    """Cut the arcs of edges, in both directions, into those for each bucket of each slot.

    Parameters
    ----------
    near, far : lists of two arrays
        Seat and bucket of both ends of the edges; a negative bucket: there is no such arc.
    weights : array beside them, or None
    buckets, slots : int
    """
    counts = np.zeros(buckets, np.int64)
    for ends in near, far:
        count_slots(ends[1], counts)
    stops = np.cumsum(counts)
    parts = []
    for there, back in ((near[0], far[0]), (far[0], near[0]), (weights, weights)):
        if there is not None and back is not None:
            at, part = stops - counts, np.empty(stops[-1], there.dtype)
            deal_into(there, near[1], at, part)
            deal_into(back, far[1], at, part)
            parts.append(part)
    cuts = np.concatenate([[0], stops]).tolist()
    return [
        tuple(part[cuts[at] : cuts[at + 1]] for at in some for part in parts)
        if cuts[some[0]] < cuts[some[-1] + 1]
        else None
        for some in np.arange(buckets).reshape(slots, -1).tolist()
    ]
