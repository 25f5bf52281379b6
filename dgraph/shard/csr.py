"""Compressed rows out of arcs, each row by ascending rank of its targets.

No row is sorted. The arcs are grouped by column, then the columns are walked by ascending rank
and each arc is appended to its row: two passes of scattered writes ("double transposition").
The rows are done block by block, so that the arcs of a block can go when it is done, and what
is written at random lies close together.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from dgraph.kernels import kernel
from dgraph.shard.adjacency import Adjacency
from dgraph.shard.memory import give_back
from dgraph.shard.shard import number_dtype

__all__ = ["compress"]

Array = NDArray[Any]
Pieces = list[tuple[Array, ...]]


def compress(blocks: list[Pieces], masters: int, by_rank: NDArray[np.int32]) -> Adjacency:
    """Return the rows of the masters.

    Parameters
    ----------
    blocks : list of lists of tuples of arrays
        Arcs in pieces: rows, columns[, weights]. A row is a local id, and the rows of a block
        come before those of the next one; a column is a place in `by_rank`. The lists are
        emptied on the way.
    masters : int
        How many rows there are.
    by_rank : int32 array
        All local ids, by ascending rank.

    Examples
    --------
    >>> arcs = [(np.array([0, 1, 0], np.int32), np.array([2, 0, 0], np.int32))]
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
    ends = np.empty(by_rank.size, number_dtype(targets.size))
    for pieces in blocks:
        held, held_weights = _group(pieces, ends, weights)
        _append(by_rank, ends, held, held_weights, at, targets, weights)
        give_back(held.size * (8 + (0 if weights is None else weights.itemsize)))
    return Adjacency(offsets, targets, weights)


def _group(
    pieces: Pieces, ends: Array, like: Array | None
) -> tuple[NDArray[np.int32], Array | None]:
    """Group the arcs of a block by column.

    Parameters
    ----------
    pieces : list of tuples of arrays
        Is emptied on the way.
    ends : array
        Where the arcs of each column end; overwritten.
    like : array or None
        Of the dtype of the weights.

    Returns
    -------
    held : int32 array
        The rows of the arcs.
    weights : array beside `held`, or None
    """
    ends[:] = 0
    for piece in pieces:
        _count(piece[1], ends)
    held = np.empty(_counts_to_starts(ends), np.int32)
    weights = None if like is None else np.empty(held.size, like.dtype)
    pieces.reverse()
    while pieces:
        row, column, weight = (*pieces.pop(), None)[:3]
        _scatter(row, column, weight, ends, held, weights)
    return held, weights


@kernel
def _counts_to_starts(counts):  # type: ignore[no-untyped-def]
    """Replace counts by where each one's entries start; return how many there are."""
    total = np.int64(0)
    for i in range(counts.size):
        count = np.int64(counts[i])
        counts[i] = total
        total += count
    return total


@kernel
def _count(numbers, counts):  # type: ignore[no-untyped-def]
    for number in numbers:
        counts[number] += 1


@kernel
def _scatter(rows, columns, weight, at, held, weights):  # type: ignore[no-untyped-def]
    for i in range(rows.size):
        place = at[columns[i]]
        at[columns[i]] += 1
        held[place] = rows[i]
        if weight is not None:
            weights[place] = weight[i]


@kernel
def _append(by_rank, ends, held, held_weights, at, targets, weights):  # type: ignore[no-untyped-def]
    begin = 0
    for column in range(ends.size):
        for i in range(begin, ends[column]):
            place = at[held[i]]
            at[held[i]] += 1
            targets[place] = by_rank[column]
            if held_weights is not None:
                weights[place] = held_weights[i]
        begin = ends[column]
