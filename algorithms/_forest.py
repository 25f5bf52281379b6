"""Which labels are joined: union-find over labels that are far apart, in a hash table."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from dgraph.exchange.room import ROOM
from dgraph.kernels import kernel

__all__ = ["Forest"]

Array = NDArray[Any]

#: Places of the smallest table. Half of a table may be in use.
LEAST = 1 << 6


class Forest:
    """Trees of labels; the smallest label of a tree is its root.

    Parameters
    ----------
    dtype : NumPy dtype
        Of the labels, which are not negative.

    Examples
    --------
    >>> forest = Forest(np.int64)
    >>> forest.join(np.array([7, 5, 9]), np.array([5, 2, 8]))
    >>> forest.smallest(np.array([6, 7, 9, 2]))
    array([6, 2, 8, 2])
    >>> moved, smallest = forest.star()
    >>> sorted(zip(moved.tolist(), smallest.tolist()))
    [(5, 2), (7, 2), (9, 8)]
    """

    def __init__(self, dtype: Any) -> None:
        self._dtype = np.dtype(dtype)
        self._used = 0
        self._clear(LEAST)

    def join(self, left: Array, right: Array) -> None:
        """Put the trees of the labels of each pair together."""
        if 2 * left.size > self._labels.size:  # there are about as many labels as pairs
            self._grow(1 << (2 * left.size - 1).bit_length())
        done = 0
        while done < left.size:
            done, self._used = join_pairs(*self._table, self._used, left, right, done)
            if done < left.size:
                self._grow(2 * self._labels.size)

    def smallest(self, labels: Array) -> Array:
        """Return the smallest label of the tree of each of `labels`: itself, if it is alone."""
        found = ROOM.array(labels.size, self._dtype)
        look_up(*self._table, labels, found)
        return found

    def star(self) -> tuple[Array, Array]:
        """Return all labels that are not the smallest of their trees, and beside each that."""
        moved, smallest = (ROOM.array(self._used, self._dtype) for _ in range(2))
        count = list_moved(*self._table, moved, smallest)
        return moved[:count], smallest[:count]

    @property
    def _table(self) -> tuple[Array, Array]:
        return self._labels, self._parent

    def _grow(self, size: int) -> None:
        moved, smallest = self.star()
        self._clear(max(size, self._labels.size))
        _, self._used = join_pairs(*self._table, 0, moved, smallest, 0)

    def _clear(self, size: int) -> None:
        self._labels = ROOM.array(size, self._dtype)
        self._labels.fill(-1)
        self._parent = ROOM.array(size, np.int64 if size > 1 << 31 else np.int32)
        self._used = 0


@kernel
def place_of(labels, label):  # type: ignore[no-untyped-def]
    """Return where a label stands in the table, or is to stand; -1 is no label."""
    mask = np.uint64(labels.size - 1)
    place = (np.uint64(label) * np.uint64(0x9E3779B97F4A7C15)) >> np.uint64(20) & mask
    while labels[place] != label and labels[place] >= 0:
        place = (place + np.uint64(1)) & mask
    return np.int64(place)


@kernel
def root_of(parent, place):  # type: ignore[no-untyped-def]
    """Return the place of the root of a tree; paths are halved on the way."""
    while parent[place] != place:
        parent[place] = parent[parent[place]]
        place = parent[place]
    return np.int64(place)


@kernel
def join_pairs(labels, parent, used, left, right, done):  # type: ignore[no-untyped-def]
    """Join pairs from `done` on until half of the table is used.

    Returns how many pairs are done, and how many labels the table has.
    """
    for i in range(done, left.size):
        if 2 * (used + 2) > labels.size:
            return i, used
        one = place_of(labels, left[i])
        used += enter(labels, parent, one, left[i])
        other = place_of(labels, right[i])
        used += enter(labels, parent, other, right[i])
        one, other = root_of(parent, one), root_of(parent, other)
        if labels[one] < labels[other]:
            parent[other] = one
        else:
            parent[one] = other
    return left.size, used


@kernel
def enter(labels, parent, place, label):  # type: ignore[no-untyped-def]
    """Let a label be a tree by itself if it is not in the table; tell whether it was not."""
    fresh = labels[place] < 0
    if fresh:
        labels[place], parent[place] = label, place
    return fresh


@kernel
def look_up(labels, parent, asked, found):  # type: ignore[no-untyped-def]
    """Enter beside each label that is asked for the smallest one of its tree."""
    for i in range(asked.size):
        place = place_of(labels, asked[i])
        found[i] = asked[i] if labels[place] < 0 else labels[root_of(parent, place)]


@kernel
def list_moved(labels, parent, moved, smallest):  # type: ignore[no-untyped-def]
    """List the labels that are no roots, and their roots; return how many there are."""
    count = 0
    for place in range(labels.size):
        if labels[place] >= 0 and parent[place] != place:
            moved[count], smallest[count] = labels[place], labels[root_of(parent, place)]
            count += 1
    return count
