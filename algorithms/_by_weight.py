"""A copy of the rows of a shard in which the lightest edge of every row comes first.

Shortest-path searches relax the edges of a vertex in this sequence, so they stop at the first
edge that is too heavy for the moment instead of looking at all of them. The rows of a shard
itself are in the vertex order, which other algorithms need. The copy is made at the first
search and kept in `Shard.derived`; it takes as much memory as the targets and the weights.

Rows are sorted many at a time, in chunks that fit a core's cache: the bits of a weight >= 0 are
in the same order as the weights, so this is a radix sort by the digits of the bits and at last
by the row.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from dgraph.kernels import kernel
from dgraph.shard import Adjacency, Shard

__all__ = ["WeightedRows", "by_weight", "sort_rows"]

Array = NDArray[Any]

#: Arcs sorted together: keys and positions, twice, are 1 MiB.
CHUNK = 2**16

#: Bits of a digit. 2,048 counters stay in the first level of the cache.
DIGIT = 11


class WeightedRows(NamedTuple):
    """Rows of the masters, each by ascending weight; for kernels.

    Parameters
    ----------
    offsets : int64 array of length masters + 1
    targets : uint32 array
        Local ids. Numba looks at every signed index whether it counts from the end.
    weights : float32 or float64 array beside them
        Not negative. It lies interleaved with `targets`: short pieces of rows, which searches
        look at, then cost one line of the cache and not two.
    """

    offsets: NDArray[np.int64]
    targets: NDArray[np.uint32]
    weights: Array

    @property
    def nbytes(self) -> int:
        """Bytes that the copy takes; it shares the offsets with the shard."""
        return int(self.targets.size * self.targets.strides[0])


def by_weight(shard: Shard) -> tuple[WeightedRows, WeightedRows]:
    """Return the out-edges and the in-edges of the masters of a weighted shard by weight.

    No weight may be negative.
    """
    if "out by weight" not in shard.derived:
        shard.derived["out by weight"] = sort_rows(shard.out)
        if shard.into is not shard.out:
            shard.derived["into by weight"] = sort_rows(shard.into)
    out = shard.derived["out by weight"]
    return out, shard.derived.get("into by weight", out)


def sort_rows(rows: Adjacency) -> WeightedRows:
    """Return a copy in which every row is by ascending weight.

    Examples
    --------
    >>> rows = Adjacency(
    ...     np.array([0, 3, 5]),
    ...     np.array([7, 8, 9, 5, 6], np.int32),
    ...     np.array([2.5, 0.0, 1.0, 4.0, 3.0]),
    ... )
    >>> sort_rows(rows)[1:]
    (array([8, 9, 7, 6, 5], dtype=uint32), array([0. , 1. , 2.5, 3. , 4. ]))
    """
    assert rows.weights is not None
    arc = np.dtype([("target", np.uint32), ("weight", rows.weights.dtype)], align=True)
    arcs = np.empty(rows.targets.size, arc)
    targets, weights = arcs["target"], arcs["weight"]
    bits = rows.weights.view(f"uint{8 * rows.weights.itemsize}")
    _sort_rows(rows.offsets, rows.targets, rows.weights, bits, targets, weights)
    return WeightedRows(rows.offsets, targets, weights)


@kernel
def _sort_rows(offsets, targets, weights, bits, new_targets, new_weights):  # type: ignore[no-untyped-def]
    rows = offsets.size - 1
    room = CHUNK
    for row in range(rows):
        room = max(room, offsets[row + 1] - offsets[row])
    keys, more_keys = np.empty(room, bits.dtype), np.empty(room, bits.dtype)
    arcs, more_arcs = np.empty(room, np.int64), np.empty(room, np.int64)
    row_of = np.empty(room, np.int32)
    begin = 0
    while begin < rows:
        end = begin + 1
        while end < rows and offsets[end + 1] - offsets[begin] <= CHUNK:
            end += 1
        first, count = offsets[begin], offsets[end] - offsets[begin]
        sequence = _by_digits(bits, first, count, keys, more_keys, arcs, more_arcs)
        _append_to_rows(
            begin, end, offsets, sequence, row_of, targets, weights, new_targets, new_weights
        )
        begin = end


@kernel
def _by_digits(bits, first, count, keys, more_keys, arcs, more_arcs):  # type: ignore[no-untyped-def]
    """Return the arcs from `first` on by ascending weight."""
    width = bits.itemsize * 8
    for i in range(count):
        keys[i] = bits[first + i] & ~(bits.dtype.type(1) << bits.dtype.type(width - 1))  # -0.0
        arcs[i] = first + i
    ends = np.empty(1 << DIGIT, np.int64)
    for low in range(0, width, DIGIT):
        shift, mask = bits.dtype.type(low), bits.dtype.type((1 << DIGIT) - 1)
        ends[:] = 0
        for i in range(count):
            ends[(keys[i] >> shift) & mask] += 1
        if count and ends[(keys[0] >> shift) & mask] == count:
            continue  # all have the same digit
        total = 0
        for digit in range(ends.size):
            total += ends[digit]
            ends[digit] = total - ends[digit]
        for i in range(count):
            digit = (keys[i] >> shift) & mask
            more_keys[ends[digit]] = keys[i]
            more_arcs[ends[digit]] = arcs[i]
            ends[digit] += 1
        keys, more_keys = more_keys, keys
        arcs, more_arcs = more_arcs, arcs
    return arcs[:count]


@kernel
def _append_to_rows(  # type: ignore[no-untyped-def]
    begin, end, offsets, sequence, row_of, targets, weights, new_targets, new_weights
):
    """Append arcs of the rows `begin` to `end`, in `sequence`, to the new rows."""
    first = offsets[begin]
    for row in range(begin, end):
        row_of[offsets[row] - first : offsets[row + 1] - first] = row - begin
    at = offsets[begin:end].copy()
    for arc in sequence:
        row = row_of[arc - first]
        new_targets[at[row]] = targets[arc]
        new_weights[at[row]] = weights[arc]
        at[row] += 1
