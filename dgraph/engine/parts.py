"""Between the owner of a split row and the slots that have pieces of it.

Both know which pieces there are, in the same sequence. So a value for every piece travels
without saying which one it is for, and a mark on some of them is a bitmap.

::

    from_pieces   a value of every piece     -->  owner
    from_some     values of some pieces      -->  owner
    to_pieces     marks of heavy masters     -->  their pieces
    ids_of_far_neighbours    in-neighbours of heavy masters that stand in pieces  -->  user ids
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from dgraph.engine.context import Context
from dgraph.engine.translate import ids_of_locals
from dgraph.exchange.combining import can_combine
from dgraph.exchange.frame import Frame
from dgraph.kernels import kernel
from dgraph.shard import Shard, Split
from dgraph.vertices.ids import Ids, concat_ids, ids_from_columns

__all__ = ["from_pieces", "from_some", "ids_of_far_neighbours", "to_pieces"]

Array = NDArray[Any]
Found = tuple[NDArray[np.int32], Array]


async def from_pieces(
    ctx: Context,
    shard: Shard,
    split: Split,
    values: Array,
    combine: str,
    work: int | None = None,
) -> Found:
    """Send a value of every piece to the owners, combined on the way where that is possible.

    Parameters
    ----------
    values : array beside ``split.vertices``
    combine, work
        See :meth:`Context.reduce`.

    Returns
    -------
    masters : int32 array
        One may occur more than once.
    values : array beside them
    """
    if ctx.gateways is not None and can_combine(combine, values.dtype):
        return await ctx.reduce(shard, split.vertices, values, None, work, combine)
    frames = [
        Frame(ctx.slot, target, (values[a:b],), b - a)
        for target, (a, b) in enumerate(_cuts(shard, split))
        if b > a
    ]
    came = await ctx.exchange(frames, work=work)
    if not came:
        return split.heavy[:0], values[:0]
    masters = np.concatenate([split.sent[frame.source] for frame in came])
    return masters, np.concatenate([frame.columns[0] for frame in came])


async def from_some(
    ctx: Context, shard: Shard, split: Split, chosen: NDArray[np.bool_], values: Array
) -> Found:
    """Send values of the chosen pieces to the owners; see :func:`from_pieces`.

    Parameters
    ----------
    chosen : bool array beside ``split.vertices``
    values : array beside ``split.vertices``
        Those of the chosen are sent.
    """
    columns: list[tuple[Array, ...] | None] = []
    for a, b in _cuts(shard, split):
        mine = chosen[a:b]
        columns.append((values[a:b][mine], np.packbits(mine)) if mine.any() else None)
    found = [(split.heavy[:0], values[:0])]
    for slot, some in enumerate(await ctx.alltoall(columns)):
        if some is not None:
            sent = split.sent[slot]
            which = np.unpackbits(some[1], count=sent.size).astype(bool)
            found.append((sent[which], some[0]))
    masters, came = (np.concatenate(some) for some in zip(*found, strict=True))
    return masters, came


async def to_pieces(
    ctx: Context,
    shard: Shard,
    split: Split,
    marked: NDArray[np.bool_],
    vote: Any = None,
    values: Array | None = None,
) -> tuple[NDArray[np.intp], Array]:
    """Tell the slots with pieces which heavy masters are marked.

    Parameters
    ----------
    marked : bool array beside ``split.heavy``
    values : array beside ``split.heavy``, optional
        Those of the marked are sent as well.
    vote : sequence of int, optional
        Summed over the slots on the way; see :attr:`Context.vote`.

    Returns
    -------
    pieces : int array
        Those of marked vertices on this slot: positions in ``split.vertices``, ascending.
    values : array beside `pieces`
        Without values the marks.
    """
    values = marked if values is None else values
    columns: list[tuple[Array, ...] | None] = []
    for sent in split.sent:
        at = np.searchsorted(split.heavy, sent)
        mine = marked[at]
        told = (
            (np.packbits(mine),) if values is marked else (np.packbits(mine), values[at][mine])
        )
        columns.append(told if mine.any() else None)
    marks, told_here = np.zeros(split.vertices.size, bool), [values[:0]]
    cuts = _cuts(shard, split)
    for slot, some in enumerate(await ctx.alltoall(columns, vote)):
        if some is not None:
            a, b = cuts[slot]
            marks[a:b] = np.unpackbits(some[0], count=b - a)
            told_here += some[1:]
    pieces = np.flatnonzero(marks)
    return pieces, marks[pieces] if values is marked else np.concatenate(told_here)


async def ids_of_far_neighbours(
    ctx: Context, shard: Shard, split: Split, codes: Array, local: NDArray[np.int32]
) -> tuple[NDArray[np.int32], Ids]:
    """Return the user ids of in-neighbours that stand in pieces of rows: four exchanges.

    Parameters
    ----------
    codes : array over the masters
        See :func:`~dgraph.engine.translate.local_of_neighbours`.
    local : int32 array over the masters
        What that function has found.

    Returns
    -------
    masters : int32 array
        Those whose in-neighbour `local` does not say.
    ids : Ids
        Beside them.
    """
    heavy = split.heavy
    wanted = (-2 - codes[heavy]).astype(shard.rank.dtype)
    far = (codes[heavy] < -1) & (shard.rank[local[heavy]] != wanted)
    pieces, ranks = await to_pieces(ctx, shard, split, far, values=wanted)
    at = np.empty(pieces.size, np.int64)
    search_pieces(split.rows.offsets, split.rows.targets, shard.rank, pieces, ranks, at)
    pieces, at = pieces[at >= 0], at[at >= 0]
    ids = await ids_of_locals(ctx, shard, split.rows.targets[at])
    columns: list[tuple[Array, ...] | None] = []
    for a, b in _cuts(shard, split):
        begin, end = np.searchsorted(pieces, [a, b])
        named = ids.slice(begin, end).to_columns()
        columns.append((pieces[begin:end] - a, *named) if end > begin else None)
    masters, parts = [heavy[:0]], [shard.ids.slice(0, 0)]
    for slot, some in enumerate(await ctx.alltoall(columns)):
        if some is not None:
            masters.append(split.sent[slot][some[0]])
            parts.append(ids_from_columns(shard.ids.dtype, some[1:]))
    return np.concatenate(masters), concat_ids(parts)


@kernel
def search_pieces(offsets, targets, rank, pieces, wanted, at):  # type: ignore[no-untyped-def]
    """Find an entry of a rank in each of some rows; -1 where there is none."""
    for i in range(pieces.size):
        low, high = offsets[pieces[i]], offsets[pieces[i] + 1]
        while low < high:
            middle = (low + high) >> 1
            if rank[targets[middle]] < wanted[i]:
                low = middle + 1
            else:
                high = middle
        there = low < offsets[pieces[i] + 1] and rank[targets[low]] == wanted[i]
        at[i] = low if there else -1


def _cuts(shard: Shard, split: Split) -> list[tuple[int, int]]:
    """Return which pieces are of vertices of each slot; they are kept with the shard."""
    name = "cuts of pieces of out-edges" if split is shard.out_split else "cuts of pieces"
    cuts: list[tuple[int, int]] | None = shard.derived.get(name)
    if cuts is None:
        starts = np.searchsorted(split.vertices, shard.group_start)
        ends = np.searchsorted(split.vertices, shard.group_start + shard.group_size)
        cuts = shard.derived[name] = list(zip(starts.tolist(), ends.tolist(), strict=True))
    return cuts
