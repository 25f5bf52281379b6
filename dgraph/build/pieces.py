"""Pieces of rows on their way, and the shard that is laid out with them anew.

A vertex travels as its seat (see `owning`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dgraph.build.owning import Masters, Seats
from dgraph.build.routing import Groups, agree, gather_groups
from dgraph.engine.context import Context
from dgraph.shard import Adjacency, Shard, Split

__all__ = ["Pieces", "agree_anew", "by_family", "moved_by", "relaid", "seats_of"]

Array = NDArray[Any]


@dataclass(slots=True)
class Pieces:
    """Pieces of rows, one after the other.

    Parameters
    ----------
    row : array
        The seat of the vertex of each piece, or of each entry.
    length : int64 array beside `row`
    column : array
        The seats of the other ends.
    more : tuple of arrays beside `column`
        Weights, if there are any, and what else travels.
    """

    row: Array
    length: NDArray[np.int64]
    column: Array
    more: tuple[Array, ...]

    @property
    def columns(self) -> tuple[Array, ...]:
        """What is sent."""
        return self.row, self.length, self.column, *self.more


def by_family(
    came: Sequence[tuple[Array, ...] | None], families: int, weighted: bool, more: int = 0
) -> list[Pieces]:
    """Put the pieces of all slots together, for each family; by ascending seat."""
    width = 3 + weighted + more
    there = [some for some in came if some is not None]
    found = []
    for at in range(0, families * width, width):
        columns = [np.concatenate([some[at + i] for some in there]) for i in range(width)]
        found.append(Pieces(columns[0], columns[1], columns[2], tuple(columns[3:])))
    return found


async def seats_of(ctx: Context, shard: Shard) -> tuple[Seats, Array]:
    """Return the seats of all owners, and the seat of every local vertex."""
    masters = np.diff(shard.bases)
    degree = shard.out_degree + (shard.into_degree if shard.directed else 0)
    live = [int(some[0][0]) for some in await ctx.allgather(_count(degree))]
    none = np.zeros((ctx.slots, 1), np.int64)
    seats = Seats.of(masters, np.array(live), none)
    seat = np.zeros(shard.size, seats.dtype)
    seat[: shard.masters] = np.arange(shard.masters) + seats.starts[ctx.slot]
    await ctx.broadcast(shard, seat)
    return seats, seat


def _count(degree: Array) -> Array:
    return np.array([np.count_nonzero(degree)])


async def agree_anew(
    ctx: Context, shard: Shard, seen: NDArray[np.uint64], seats: Seats
) -> tuple[Groups, tuple[NDArray[np.int32], ...], Array]:
    """Lay the groups of the seen vertices out, and agree on them with their owners."""
    groups = gather_groups(ctx.slot, seen, seats)
    masters = Masters(shard.rank[: shard.masters], shard.order, shard.ids)
    return (groups, *await agree(ctx, groups, masters, shard.num_vertices))


def moved_by(seat: Array, groups: Groups) -> Array:
    """Return the new local id of each old one; of those that are no more, any."""
    return groups.local.positions(seat)


def relaid(
    shard: Shard,
    groups: Groups,
    shared: tuple[NDArray[np.int32], ...],
    rank: Array,
    rows: Sequence[Adjacency],
    splits: Sequence[Split | None],
) -> Shard:
    """Return the shard with other rows, over other local ids."""
    return replace(
        shard,
        group_start=groups.start,
        group_size=groups.size,
        size=groups.total,
        rank=rank,
        out=rows[0],
        into=rows[-1],
        shared=shared,
        out_split=splits[0],
        into_split=splits[-1],
    )
