"""Put rows that are split over slots together again, for what needs whole rows.

::

    slot     sends its pieces back to the owners
    owner    merges them by rank; all agree on the proxies anew

What comes out is, array by array, the shard that was split. It is kept beside that one.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from dgraph.build.numberset import NumberSet, mark
from dgraph.build.owning import Seats
from dgraph.build.pieces import Pieces, agree_anew, by_family, moved_by, relaid, seats_of
from dgraph.build.routing import Groups
from dgraph.engine.context import Context
from dgraph.kernels import kernel
from dgraph.shard import Adjacency, Shard, Split

__all__ = ["whole_rows"]

Array = NDArray[Any]

#: Under what name a split shard keeps the whole one.
WHOLE = "whole rows"


async def whole_rows(ctx: Context, shard: Shard) -> Shard:
    """Return the shard with whole rows: this one if no vertex of the graph is split.

    Put together when it is first asked for, and kept with the split one.
    """
    if shard.out_split is None:
        return shard
    found: Shard | None = shard.derived.get(WHOLE)
    everywhere = await ctx.allreduce([found is not None], "min")
    if found is None or not everywhere[0]:
        stage, ctx.stage = ctx.stage, "whole rows"
        found = await _gather_rows(ctx, shard)
        ctx.stage = stage
        shard.derived[WHOLE] = found
    return found


async def _gather_rows(ctx: Context, shard: Shard) -> Shard:
    """Send the pieces back to the owners and lay the shard out with what came."""
    seats, seat = await seats_of(ctx, shard)
    families = shard.families
    sent: list[tuple[Array, ...] | None] = []
    for slot in range(ctx.slots):
        columns: list[Array] = []
        for _, split in families:
            assert split is not None
            columns += _piece_of(slot, shard, split, seat).columns
        sent.append(tuple(columns) if slot != ctx.slot else None)
    came = await ctx.alltoall(sent)
    found = by_family(came, len(families), shard.weighted, more=1)
    seen = NumberSet.empty(int(seats.starts[-1]))
    for (rows, _), pieces in zip(families, found, strict=True):
        mark(seen, seat[rows.targets], 0)
        mark(seen, pieces.column, 0)
    groups, shared, rank = await agree_anew(ctx, shard, seen, seats)
    moved = moved_by(seat, groups)
    laid = [
        _merged(shard, rows, split, pieces, moved, groups, seats)
        for (rows, split), pieces in zip(families, found, strict=True)
    ]
    return relaid(shard, groups, shared, rank, laid, (None, None))


def _piece_of(slot: int, shard: Shard, split: Split, seat: Array) -> Pieces:
    """Return the pieces of vertices that a slot owns; beside the seats of columns, ranks."""
    start = shard.group_start[slot]
    begin, end = np.searchsorted(split.vertices, [start, start + shard.group_size[slot]])
    rows = split.rows
    entries = slice(rows.offsets[begin], rows.offsets[end])
    more = [shard.rank[rows.targets[entries]]]
    if rows.weights is not None:
        more.append(rows.weights[entries])
    length = np.diff(rows.offsets[begin : end + 1])
    column = seat[rows.targets[entries]]
    return Pieces(seat[split.vertices[begin:end]], length, column, tuple(more))


def _merged(
    shard: Shard,
    rows: Adjacency,
    split: Split | None,
    pieces: Pieces,
    moved: Array,
    groups: Groups,
    seats: Seats,
) -> Adjacency:
    """Return the rows of a family, those that were split with all their pieces, by rank."""
    assert split is not None
    degree = split.whole(np.diff(rows.offsets), split.degree)
    offsets = np.concatenate([[0], np.cumsum(degree)])
    targets = np.empty(offsets[-1], np.int32)
    weights = None if rows.weights is None else np.empty(offsets[-1], rows.weights.dtype)
    _copy_rows(rows.offsets, moved[rows.targets], rows.weights, offsets, targets, weights)
    heavy = np.repeat(pieces.row - seats.starts[shard.slot], pieces.length)
    own = [np.arange(rows.offsets[v], rows.offsets[v + 1]) for v in split.heavy]
    kept = np.concatenate([np.zeros(0, np.int64), *own])
    row = np.append(
        np.repeat(split.heavy, np.diff(rows.offsets)[split.heavy]).astype(np.int64), heavy
    )
    rank = np.append(shard.rank[rows.targets[kept]], pieces.more[0])
    target = np.append(moved[rows.targets[kept]], groups.local.positions(pieces.column))
    keys: tuple[Array, ...] = (rank, row)
    weight = None
    if rows.weights is not None:
        weight = np.append(rows.weights[kept], pieces.more[1])
        keys = (weight, rank, row)  # parallel edges ascend by weight
    by_rank = np.lexsort(keys)
    places = np.concatenate(
        [np.zeros(0, np.int64), *(np.arange(offsets[v], offsets[v + 1]) for v in split.heavy)]
    )
    targets[places] = target[by_rank]
    if weights is not None and weight is not None:
        weights[places] = weight[by_rank]
    return Adjacency(offsets, targets, weights)


@kernel
def _copy_rows(offsets, targets, weights, to_offsets, to_targets, to_weights):  # type: ignore[no-untyped-def]
    """Copy rows to the beginnings of rows that are as long or longer."""
    for row in range(offsets.size - 1):
        to = to_offsets[row]
        for at in range(offsets[row], offsets[row + 1]):
            to_targets[to] = targets[at]
            if weights is not None and to_weights is not None:
                to_weights[to] = weights[at]
            to += 1
