"""Stage C, merging: what becomes of parallel edges.

The edges of a row are looked up one after the other in a small hash table, so no row has to be
sorted and no slot needs an array with an entry for every vertex. What the look-up yields, for
each edge the kept edge that it is a copy of, is all that the policies need.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dgraph.build.meeting import Filed
from dgraph.errors import EdgeValueError
from dgraph.kernels import kernel

__all__ = ["merge", "repeated_edges"]

Array = NDArray[Any]


def merge(filed: Filed, policy: str) -> int:
    """Leave one edge of each set of parallel ones, in place, and return how many went.

    Parameters
    ----------
    filed : Filed
    policy : {"min", "max", "sum", "first", "keep", "error"}
    """
    before = filed.columns.size
    if policy == "error":  # there are none
        return 0
    if policy == "keep":
        if filed.weights is not None:
            _sort_rows(filed.offsets, filed.columns, filed.weights)
        return 0
    copy_of = None if filed.weights is None else np.empty(before, filed.offsets.dtype)
    kept = int(_merge_rows(filed.offsets, filed.columns, copy_of))
    filed.columns = filed.columns[:kept]
    if copy_of is not None and filed.weights is not None:
        filed.weights = _FOLDS[policy](filed, filed.weights, copy_of, kept)
        filed.sequence = None
    return before - kept


def repeated_edges(filed: Filed) -> tuple[NDArray[np.intp], int]:
    """Merge the edges; return which of them had copies, and how many copies there were."""
    before = filed.columns.size
    copy_of = np.empty(before, filed.offsets.dtype)
    kept = _merge_rows(filed.offsets, filed.columns, copy_of)
    filed.columns = filed.columns[:kept]
    return np.flatnonzero(np.bincount(copy_of, minlength=kept) > 1), before - kept


def _least(filed: Filed, weights: Array, copy_of: Array, kept: int) -> Array:
    out = np.full(kept, np.inf)
    _fold_least(weights, copy_of, out)
    return out


def _greatest(filed: Filed, weights: Array, copy_of: Array, kept: int) -> Array:
    return -_least(filed, -weights, copy_of, kept) + 0.0


def _earliest(filed: Filed, weights: Array, copy_of: Array, kept: int) -> Array:
    out = np.empty(kept)
    _fold_earliest(weights, copy_of, filed.sequence, np.full(kept, np.iinfo(np.int64).max), out)
    return out


def _total(filed: Filed, weights: Array, copy_of: Array, kept: int) -> Array:
    """Return the exactly rounded sums: the same whatever the sequence of the terms."""
    ends = np.cumsum(np.bincount(copy_of, minlength=kept))
    grouped = np.empty(weights.size)
    _group(weights, copy_of, np.concatenate([[0], ends[:-1]]), grouped)
    sums = np.empty(kept)
    _sum_groups(grouped, ends, sums)
    for at in np.flatnonzero(~np.isfinite(sums)):
        sums[at] = _exact_sum(grouped[0 if at == 0 else ends[at - 1] : ends[at]])
    return sums + 0.0


def _exact_sum(terms: NDArray[np.float64]) -> float:
    """Sum terms whose partial sums overflow.

    Examples
    --------
    >>> _exact_sum(np.array([1e308, 1e308, -1e308]))
    1e+308
    """
    try:
        return float(sum(map(Fraction, terms.tolist())))
    except OverflowError:
        raise EdgeValueError(
            f"expected parallel edges whose weights have a finite sum, got {terms.size} edges "
            f"with weights up to {np.abs(terms).max():g}; scale the weights or use another "
            "policy than duplicates='sum'"
        ) from None


_FOLDS = {"min": _least, "max": _greatest, "first": _earliest, "sum": _total}


@kernel
def _merge_rows(offsets, columns, copy_of):  # type: ignore[no-untyped-def]
    """Move the first of each set of copies to the front; return how many edges are left.

    ``copy_of[i]`` becomes the place of the edge that was at i, or of which it was a copy.
    """
    longest = 0
    for row in range(offsets.size - 1):
        longest = max(longest, offsets[row + 1] - offsets[row])
    size = 2
    while size < 2 * longest:
        size *= 2
    table = np.empty(size, np.int32)  # place in the row, of the kept edge with this hash
    begin = np.int64(0)
    kept = 0
    for row in range(offsets.size - 1):
        end = np.int64(offsets[row + 1])
        start = kept
        size, shift = 2, 63
        while size < 2 * (end - begin):
            size *= 2
            shift -= 1
        table[:size] = -1
        for i in range(begin, end):
            column = columns[i]
            at = np.int64(
                (np.uint64(column) * np.uint64(0x9E3779B97F4A7C15)) >> np.uint64(shift)
            )
            while table[at] >= 0 and columns[start + table[at]] != column:
                at = (at + 1) & (size - 1)
            if table[at] < 0:
                table[at] = kept - start
                columns[kept] = column
                kept += 1
            if copy_of is not None:
                copy_of[i] = start + table[at]
        offsets[row + 1] = kept
        begin = end
    return kept


@kernel
def _sort_rows(offsets, columns, weights):  # type: ignore[no-untyped-def]
    """Sort each row by weight: so parallel edges come in the same sequence every time."""
    for row in range(offsets.size - 1):
        begin, end = offsets[row], offsets[row + 1]
        if end - begin > 1:
            by = np.argsort(weights[begin:end])
            sorted_weights, sorted_columns = weights[begin:end][by], columns[begin:end][by]
            for i in range(end - begin):  # to assign to slices would take seconds to compile
                weights[begin + i], columns[begin + i] = sorted_weights[i], sorted_columns[i]


@kernel
def _fold_least(weights, copy_of, out):  # type: ignore[no-untyped-def]
    for i in range(weights.size):
        out[copy_of[i]] = min(out[copy_of[i]], weights[i])


@kernel
def _fold_earliest(weights, copy_of, sequence, earliest, out):  # type: ignore[no-untyped-def]
    for i in range(weights.size):
        if sequence[i] < earliest[copy_of[i]]:
            earliest[copy_of[i]] = sequence[i]
            out[copy_of[i]] = weights[i]


@kernel
def _group(weights, copy_of, at, out):  # type: ignore[no-untyped-def]
    for i in range(weights.size):
        out[at[copy_of[i]]] = weights[i]
        at[copy_of[i]] += 1


@kernel
def _sum_groups(terms, ends, out):  # type: ignore[no-untyped-def]
    begin = 0
    for group in range(ends.size):
        out[group] = exact_sum(terms[begin : ends[group]])
        begin = ends[group]


@kernel
def exact_sum(terms):  # type: ignore[no-untyped-def]
    """Return the exactly rounded sum, as `math.fsum` does; NaN or inf if a partial overflows.

    Shewchuk's algorithm (doi:10.1007/PL00009321) keeps the sum as partials that do not overlap,
    smallest first; the last step rounds half to even across them.
    """
    if terms.size == 1:
        return terms[0]
    if terms.size == 2:
        return terms[0] + terms[1]
    partials = np.empty(terms.size)
    count = 0
    for term in terms:
        x = term
        left = 0
        for j in range(count):
            y = partials[j]
            if abs(x) < abs(y):
                x, y = y, x
            high = x + y
            low = y - (high - x)
            if low != 0.0:
                partials[left] = low
                left += 1
            x = high
        partials[left] = x
        count = left + 1
    return _round_partials(partials, count)


@kernel
def _round_partials(partials, count):  # type: ignore[no-untyped-def]
    high = partials[count - 1]
    low = 0.0
    at = count - 1
    while at > 0 and low == 0.0:
        at -= 1
        x, y = high, partials[at]
        high = x + y
        low = y - (high - x)
    if at > 0 and (
        (low < 0.0 and partials[at - 1] < 0.0) or (low > 0.0 and partials[at - 1] > 0.0)
    ):
        twice = low * 2.0  # exactly halfway, and the rest points the same way: round away
        x = high + twice
        if twice == x - high:
            high = x
    return high
