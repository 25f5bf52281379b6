"""Core numbers of a graph that one slot has as a whole, after Batagelj and Zaversnik [1]_.

References
----------
.. [1] V. Batagelj, M. Zaversnik: Fast algorithms for determining (generalized) core groups in
   social networks, Advances in Data Analysis and Classification 5, 2011,
   doi:10.1007/s11634-010-0079-y
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from dgraph.kernels import kernel

__all__ = ["peel"]

Array = NDArray[Any]


def peel(vertices: Array, degrees: Array, heads: Array) -> Array:
    """Return the core numbers of a graph that one slot has as a whole.

    Parameters
    ----------
    vertices, degrees : arrays
        Numbers of the vertices, and how many neighbours each has.
    heads : array
        The neighbours of the first vertex, then those of the second ...

    Examples
    --------
    >>> peel(np.array([7, 5, 6, 2]), np.array([2, 3, 2, 1]), np.array([5, 6, 7, 6, 2, 7, 5, 5]))
    array([2, 2, 2, 1], dtype=int32)
    """
    place = np.zeros(int(vertices.max(initial=-1)) + 1, np.int64)
    place[vertices] = np.arange(vertices.size)
    offsets = np.append(0, np.cumsum(degrees, dtype=np.int64))
    found: Array = take_the_least(offsets, place[heads])
    return found


@kernel
def take_the_least(offsets, heads):  # type: ignore[no-untyped-def]
    """Take a vertex of the least degree away again and again; return these degrees.

    `line` has the vertices by degree, `at` where each stands, `begin` where each degree begins.
    """
    n = offsets.size - 1
    core = np.empty(n, np.int32)
    for v in range(n):
        core[v] = offsets[v + 1] - offsets[v]
    begin = np.zeros((core.max() if n else 0) + 2, np.int64)
    for degree in core:
        begin[degree + 1] += 1
    for degree in range(begin.size - 1):
        begin[degree + 1] += begin[degree]
    line, at, end = np.empty(n, np.int64), np.empty(n, np.int64), begin.copy()
    for v in range(n):
        at[v] = end[core[v]]
        line[at[v]] = v
        end[core[v]] += 1
    for i in range(n):
        v = line[i]
        for j in range(offsets[v], offsets[v + 1]):
            u = heads[j]
            degree = core[u]
            if degree > core[v]:  # it changes places with the first of its degree
                first = line[begin[degree]]
                begin[degree] += 1
                line[at[u]], line[at[first]] = first, u
                at[u], at[first] = at[first], at[u]
                core[u] -= 1
    return core
