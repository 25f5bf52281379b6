"""Strongly connected components of a graph that one slot has as a whole."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from dgraph.kernels import kernel
from dgraph.shard import number_dtype

__all__ = ["by_row", "smallest", "smallest_members", "tarjan"]

Array = NDArray[Any]


def smallest_members(vertices: Array, names: Array, sources: Array, targets: Array) -> Array:
    """Return for each vertex the smallest name in its strong component.

    Parameters
    ----------
    vertices, names : arrays
        Numbers of the vertices, and what they are called in the answer.
    sources, targets : arrays
        Arcs between `vertices`.

    Examples
    --------
    >>> sources, targets = np.array([7, 3, 5]), np.array([3, 7, 7])
    >>> smallest_members(np.array([7, 3, 5]), np.array([20, 30, 10]), sources, targets)
    array([20, 20, 10])
    """
    place = np.zeros(int(vertices.max(initial=-1)) + 1, number_dtype(vertices.size))
    place[vertices] = np.arange(vertices.size)
    component = tarjan(*by_row(place[sources], place[targets], vertices.size))
    found: Array = smallest(names, component)[component]
    return found


@kernel
def by_row(rows, columns, count):  # type: ignore[no-untyped-def]
    """Sort arcs by row; return where each row begins, and the columns.

    Examples
    --------
    >>> by_row(np.array([1, 0, 1]), np.array([0, 2, 1]), 3)
    (array([0, 1, 3, 3]), array([2, 0, 1]))
    """
    offsets = np.zeros(count + 1, np.int64)
    for row in rows:
        offsets[row + 1] += 1
    for row in range(count):
        offsets[row + 1] += offsets[row]
    at = offsets[:-1].copy()
    heads = np.empty_like(columns)
    for arc in range(rows.size):
        heads[at[rows[arc]]] = columns[arc]
        at[rows[arc]] += 1
    return offsets, heads


def smallest(values: Array, groups: Array) -> Array:
    """Return the smallest value of each group; groups are 0, 1, ...

    Examples
    --------
    >>> smallest(np.array([4, 2, 3]), np.array([0, 1, 0]))
    array([3, 2])
    """
    count = int(groups.max(initial=-1)) + 1
    found = np.full(count, np.iinfo(values.dtype).max, values.dtype)
    np.minimum.at(found, groups, values)
    return found


@kernel
def tarjan(offsets, heads):  # type: ignore[no-untyped-def]
    """Give strong components numbers: Tarjan's algorithm with a stack of its own.

    R. Tarjan: Depth-first search and linear graph algorithms, SIAM J. Comput. 1, 1972,
    doi:10.1137/0201010

    Examples
    --------
    >>> tarjan(np.array([0, 1, 2, 3]), np.array([1, 0, 0]))
    array([0, 0, 1])
    """
    n = offsets.size - 1
    component = np.full(n, -1, np.int64)
    number = np.zeros(n, np.int64)  # 0: not visited
    low_link = np.zeros(n, np.int64)
    at = offsets[:-1].copy()  # the next arc of each vertex
    path, points = np.empty(n, np.int64), np.empty(n, np.int64)
    count, visited, depth, height = 0, 0, 0, 0
    for start in range(n):
        if number[start]:
            continue
        path[0], depth = start, 1
        while depth:
            v = path[depth - 1]
            if not number[v]:
                visited += 1
                number[v] = low_link[v] = visited
                points[height] = v
                height += 1
            descends = False
            while at[v] < offsets[v + 1]:
                w = heads[at[v]]
                if not number[w]:
                    path[depth] = w
                    depth += 1
                    descends = True
                    break
                if component[w] < 0:
                    low_link[v] = min(low_link[v], low_link[w])
                at[v] += 1
            if descends:
                continue
            depth -= 1
            if low_link[v] == number[v]:  # the root of a component: what is above it
                while component[v] < 0:
                    height -= 1
                    component[points[height]] = count
                count += 1
    return component
