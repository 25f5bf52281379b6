"""Compressed rows out of arcs, each row by ascending rank of its targets.

No row is sorted. The arcs are grouped by column, then the columns are walked by ascending rank
and each arc is appended to its row: two passes of scattered writes ("double transposition").
The rows are done block by block, so that the arcs of a block can go when it is done, and what
is written at random lies close together.
"""

from __future__ import annotations

from typing import Any

import numba as nb
import numpy as np
from numpy.typing import NDArray

from dgraph.shard.memory import give_back
from dgraph.shard.shard import Adjacency, number_dtype

__all__ = ["compress"]

Array = NDArray[Any]
Pieces = list[tuple[Array, ...]]


def compress(blocks: list[Pieces], masters: int, by_rank: NDArray[np.int32]) -> Adjacency:
    """Return the rows of the masters.

    Parameters
    ----------
    blocks : list of lists of tuples of arrays
        Arcs in pieces: rows, columns[, weights], both local ids. The rows of a block come
        before those of the next one. The lists are emptied on the way.
    masters : int
        How many rows there are.
    by_rank : int32 array
        All local ids, by ascending rank.

    Examples
    --------
    >>> arcs = [(np.array([0, 1, 0], np.int32), np.array([1, 2, 2], np.int32))]
    >>> rows = compress([arcs], 2, np.array([2, 0, 1], np.int32))
    >>> rows.offsets, rows.targets
    (array([0, 2, 3]), array([2, 1, 2], dtype=int32))
    """
    every = [piece for pieces in blocks for piece in pieces]
    lengths = np.zeros(masters, np.int64)
    for piece in every:
        _count(piece[0], lengths)
    offsets = np.concatenate([[0], np.cumsum(lengths)])
    weighted = bool(every) and len(every[0]) > 2
    targets = np.empty(offsets[-1], np.int32)
    weights = np.empty(offsets[-1], every[0][2].dtype) if weighted else None
    del every
    at = offsets[:-1].astype(number_dtype(targets.size))
    for pieces in blocks:
        ends, heights, held, held_weights = _group(pieces, by_rank, weights)
        _append(by_rank, ends, heights, held, held_weights, at, targets, weights)
        give_back()
    return Adjacency(offsets, targets, weights)


def _group(
    pieces: Pieces, by_rank: NDArray[np.int32], like: Array | None
) -> tuple[Array, Array, NDArray[np.int32], Array | None]:
    """Group the arcs of a block by column.

    Returns
    -------
    ends, heights : arrays beside the local ids
        Where the arcs of each column end, and how many they are.
    held : int32 array
        The rows of the arcs.
    weights : array beside `held`, or None
    """
    total = sum(piece[0].size for piece in pieces)
    heights = np.zeros(int(by_rank.max(initial=-1)) + 1, number_dtype(total))
    for piece in pieces:
        _count(piece[1], heights)
    at = np.cumsum(heights, dtype=heights.dtype) - heights
    held = np.empty(total, np.int32)
    weights = None if like is None else np.empty(total, like.dtype)
    pieces.reverse()
    while pieces:
        rows, columns, weight = (*pieces.pop(), None)[:3]
        _scatter(rows, columns, weight, at, held, weights)
    return at, heights, held, weights


@nb.njit(nogil=True, cache=True)
def _count(numbers, counts):  # type: ignore[no-untyped-def]
    for number in numbers:
        counts[number] += 1


@nb.njit(nogil=True, cache=True)
def _scatter(rows, columns, weight, at, held, weights):  # type: ignore[no-untyped-def]
    for i in range(rows.size):
        place = at[columns[i]]
        at[columns[i]] += 1
        held[place] = rows[i]
        if weight is not None:
            weights[place] = weight[i]


@nb.njit(nogil=True, cache=True)
def _append(  # type: ignore[no-untyped-def]
    by_rank, ends, heights, held, held_weights, at, targets, weights
):
    for column in by_rank:
        for i in range(ends[column] - heights[column], ends[column]):
            place = at[held[i]]
            at[held[i]] += 1
            targets[place] = column
            if held_weights is not None:
                weights[place] = held_weights[i]
