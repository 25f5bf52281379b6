"""Draw neighbours: of each row some entries, the same wherever the row lies.

An entry gets a hash of the seed, the batch, the vertex and the neighbour, by their ranks. Of a
row those with the smallest hashes are drawn: without repetition, each entry as likely as any
other, and independent of slots, of placement and of what is drawn beside them.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from dgraph.kernels import kernel

__all__ = ["draw"]

Array = NDArray[Any]
_GOLDEN = np.uint64(0x9E3779B97F4A7C15)
_SPLIT_1 = np.uint64(0xBF58476D1CE4E5B9)
_SPLIT_2 = np.uint64(0x94D049BB133111EB)


def draw(
    offsets: Array,
    targets: Array,
    rank: Array,
    rows: Array,
    batches: Array,
    fanout: int,
    seed: int,
) -> tuple[NDArray[np.int64], NDArray[np.int32]]:
    """Draw at most `fanout` entries of each of some rows.

    Parameters
    ----------
    offsets, targets : arrays
        Rows of targets, each by ascending rank.
    rank : array
        Of the targets.
    rows, batches : int64 arrays
        Which rows, and for which batch; a row may occur once for each batch.
    fanout : int
        -1 for whole rows.
    seed : int

    Returns
    -------
    ends : int64 array beside `rows`
        Where the entries of each row end among all that were drawn.
    drawn : int32 array
        Targets, of each row by ascending rank.

    Examples
    --------
    >>> rows = np.array([0, 4]), np.array([0, 1, 2, 3]), np.arange(4)
    >>> draw(*rows, np.array([0]), np.array([0]), 2, seed=1)
    (array([2]), array([1, 2]))
    """
    degree = offsets[rows + 1] - offsets[rows]
    ends = np.cumsum(degree if fanout < 0 else np.minimum(degree, fanout))
    drawn = np.empty(int(ends[-1]) if ends.size else 0, targets.dtype)
    _draw(offsets, targets, rank, rows, batches, np.uint64(seed), ends, drawn)
    return ends, drawn


@kernel
def _mix(word):  # type: ignore[no-untyped-def]
    """Return the splitmix64 hash of a word."""
    z = word + _GOLDEN
    z = (z ^ (z >> np.uint64(30))) * _SPLIT_1
    z = (z ^ (z >> np.uint64(27))) * _SPLIT_2
    return z ^ (z >> np.uint64(31))


@kernel
def _draw(offsets, targets, rank, rows, batches, seed, ends, drawn):  # type: ignore[no-untyped-def]
    begin = 0
    widest = 0
    for i in range(rows.size):
        widest = max(widest, ends[i] - begin)
        begin = ends[i]
    keys, places = np.empty(widest, np.uint64), np.empty(widest, np.int64)
    begin = 0
    for i in range(rows.size):
        low, high, count = offsets[rows[i]], offsets[rows[i] + 1], ends[i] - begin
        if count == high - low:
            for k in range(count):  # to assign to a slice would take seconds to compile
                drawn[begin + k] = targets[low + k]
        elif count:
            salt = _mix(_mix(seed + _mix(np.uint64(batches[i]))) + np.uint64(rank[rows[i]]))
            _smallest(targets, rank, low, high, salt, count, keys, places)
            _sort(places, count)
            for k in range(count):
                drawn[begin + k] = targets[places[k]]
        begin = ends[i]


@kernel
def _sort(places, count):  # type: ignore[no-untyped-def]
    """Sort the first places, as few as an insertion has found.

    >>> some = np.array([5, 2, 9, 1])
    >>> _sort(some, 3)
    >>> some.tolist()
    [2, 5, 9, 1]
    """
    for k in range(1, count):
        place, spot = places[k], k
        while spot and places[spot - 1] > place:
            places[spot] = places[spot - 1]
            spot -= 1
        places[spot] = place


@kernel
def _smallest(targets, rank, low, high, salt, count, keys, places):  # type: ignore[no-untyped-def]
    """Find the places of the entries with the smallest keys."""
    filled, copy = 0, 0
    for at in range(low, high):
        # parallel edges stand side by side and are told apart by their number
        copy = copy + 1 if at > low and targets[at] == targets[at - 1] else 0
        key = _mix(_mix(salt + np.uint64(rank[targets[at]])) + np.uint64(copy))
        if filled == count and key >= keys[count - 1]:
            continue
        spot = min(filled, count - 1)
        while spot and keys[spot - 1] > key:
            keys[spot], places[spot] = keys[spot - 1], places[spot - 1]
            spot -= 1
        keys[spot], places[spot] = key, at
        filled = min(filled + 1, count)
