"""Kernels over columns of byte strings: offsets (int64, one more than strings) and bytes."""

from __future__ import annotations

import numpy as np
from numba import njit
from numpy.typing import NDArray

StringColumns = tuple[NDArray[np.int64], NDArray[np.uint8]]


def search_strings(
    table: StringColumns, queries: StringColumns, after: bool
) -> NDArray[np.int64]:
    """Return where each query belongs in the ascending table, before or after its equals.

    >>> import numpy as np
    >>> table = np.array([0, 1, 3]), np.frombuffer(b"abb", np.uint8)
    >>> search_strings(table, (np.array([0, 1, 2]), np.frombuffer(b"ab", np.uint8)), False)
    array([0, 1])
    """
    positions: NDArray[np.int64] = _search(*table, *queries, after)
    return positions


@njit(nogil=True, cache=True)
def _compare(a, a_start, a_stop, b, b_start, b_stop):  # type: ignore[no-untyped-def]
    a_size, b_size = a_stop - a_start, b_stop - b_start
    for i in range(min(a_size, b_size)):
        if a[a_start + i] != b[b_start + i]:
            return np.int64(a[a_start + i]) - np.int64(b[b_start + i])
    return a_size - b_size


@njit(nogil=True, cache=True)
def _search(offsets, data, q_offsets, q_data, after):  # type: ignore[no-untyped-def]
    positions = np.empty(len(q_offsets) - 1, np.int64)
    for q in range(len(positions)):
        low, high = 0, len(offsets) - 1
        while low < high:
            middle = (low + high) >> 1
            start, stop = offsets[middle], offsets[middle + 1]
            order = _compare(data, start, stop, q_data, q_offsets[q], q_offsets[q + 1])
            if order < 0 or (after and order == 0):
                low = middle + 1
            else:
                high = middle
        positions[q] = low
    return positions
