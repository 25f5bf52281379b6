"""Stage E, owning: every vertex gets its owner, and there its local id.

A vertex is numbered by its *seat*: ``starts[owner] + local id``, where each slot's seats begin
at a multiple of 64. So a bitmap of seats is made of whole words of each owner, as the groups of
a shard are; the `placed` number is the seat without the gaps.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dgraph.build.numbering import Numbering, concat_columns
from dgraph.engine.context import Context
from dgraph.shard import narrow_dtype, number_dtype
from dgraph.vertices.ids import Ids

__all__ = ["Masters", "Seats", "own", "tell_seats"]

Array = NDArray[Any]


@dataclass(slots=True)
class Masters:
    """The vertices that a slot owns, by ascending rank."""

    rank: Array
    order: Array
    ids: Ids


@dataclass(slots=True)
class Seats:
    """Where the vertices of every owner are.

    Parameters
    ----------
    bases, starts : int64 arrays of length slots + 1
        The first placed number and the first seat of each slot.
    live : int64 array of length slots
        Masters with edges; they come before those without, since their ranks are lower.
    blocks : int64 array of shape (slots, blocks)
        The first seats of blocks of each slot's vertices that have about equally many arcs.
    """

    bases: NDArray[np.int64]
    starts: NDArray[np.int64]
    live: NDArray[np.int64]
    blocks: NDArray[np.int64]

    @classmethod
    def of(
        cls, masters: NDArray[np.int64], live: NDArray[np.int64], cuts: NDArray[np.int64]
    ) -> Seats:
        """Lay out the seats of slots with so many masters.

        Parameters
        ----------
        masters, live : int64 arrays of length slots
        cuts : int64 array of shape (slots, blocks)
            The first local ids of the blocks.

        Examples
        --------
        >>> Seats.of(np.array([3, 70]), np.array([3, 60]), np.array([[0, 1], [0, 9]])).blocks
        array([[ 0,  1],
               [64, 73]])
        """
        bases = np.concatenate([[0], np.cumsum(masters)])
        starts = np.concatenate([[0], np.cumsum(-(-masters // 64) * 64)])
        return cls(bases, starts, live, cuts + starts[:-1, None])

    @property
    def dtype(self) -> np.dtype[Any]:
        """The dtype of a seat."""
        return number_dtype(int(self.starts[-1]))


async def own(
    ctx: Context, numbering: Numbering, rank: Array, degree: Array, owner: Array, blocks: int
) -> tuple[Masters, Seats, Array, Array]:
    """Send the vertices of this registrar's block to their owners.

    Returns
    -------
    masters : Masters
        What this slot owns.
    seats : Seats
        With so many blocks for each slot.
    seat, placed : arrays
        Numbers of the vertices of this registrar's block.
    """
    owner = owner.astype(narrow_dtype(ctx.slots))  # NumPy sorts 16 bits by counting
    by_owner = np.argsort(owner, kind="stable")
    ends = np.searchsorted(owner[by_owner], np.arange(ctx.slots + 1)).tolist()
    first = int(numbering.cuts[ctx.slot])
    every = rank[by_owner], (by_owner + first).astype(rank.dtype), degree[by_owner]
    columns = [
        (*(some[a:b] for some in every), *numbering.ids.take(by_owner[a:b]).to_columns())
        for a, b in pairwise(ends)
    ]
    masters, lay_out, replies = _settle(
        await ctx.alltoall(columns), numbering.ids.dtype, blocks
    )
    came = await ctx.alltoall([(reply, lay_out) for reply in replies])
    told = [some for some in came if some is not None]
    table = np.array([some[1] for some in told])
    seats = Seats.of(table[:, 0], table[:, 1], table[:, 2:])
    local, sizes = np.concatenate([some[0] for some in told]), np.diff(ends)
    placed = np.empty(len(owner), rank.dtype)
    seat = np.empty(len(owner), seats.dtype)
    placed[by_owner] = np.repeat(seats.bases[:-1], sizes) + local
    seat[by_owner] = np.repeat(seats.starts[:-1], sizes) + local
    return masters, seats, seat, placed


def _settle(
    came: list[tuple[Array, ...] | None], dtype: str, blocks: int
) -> tuple[Masters, NDArray[np.int64], list[NDArray[np.int32]]]:
    """Give local ids to the vertices that came.

    Returns
    -------
    masters : Masters
    lay_out : int64 array
        How many they are, how many of them have edges, and the first of each block.
    replies : list of int32 arrays
        The local ids of each sender's.
    """
    told = [some for some in came if some is not None]
    rank, order, degree = (np.concatenate([some[i] for some in told]) for i in range(3))
    by_rank = np.argsort(rank)
    local = np.empty(len(rank), np.int32)
    local[by_rank] = np.arange(len(rank), dtype=np.int32)
    ids = concat_columns(dtype, [some[3:] for some in told]).take(by_rank)
    arcs = np.cumsum(degree[by_rank])
    total = arcs[-1] if arcs.size else 0
    cuts = np.searchsorted(arcs, total * np.arange(blocks) // blocks, side="right")
    cuts[0] = 0
    lay_out = np.array([len(rank), np.count_nonzero(degree), *cuts], np.int64)
    replies = np.split(local, np.cumsum([len(some[0]) for some in told])[:-1])
    return Masters(rank[by_rank], order[by_rank], ids), lay_out, replies


async def tell_seats(ctx: Context, asked: list[Array], seat: Array) -> Array:
    """Return the seats of the vertices that this slot's edges touch, by ascending order."""
    came = await ctx.alltoall([(seat[positions],) for positions in asked])
    return np.concatenate([some[0] for some in came if some is not None])
