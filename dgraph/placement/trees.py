"""Core trees, grown one after the other: YH-Light's Algorithm 1 in a sound reading.

Take the first vertex, in the vertex order, that is in no tree; grow a tree over its neighbours
that are in none, themselves in the vertex order, until the volume of the tree, ``8 + 8 *
degree`` bytes for each vertex, reaches `vol_st`; begin again, until no vertex with an edge is
left. The paper's own listing returns the first tree only, and has no bound.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from dgraph.kernels import kernel
from dgraph.placement.heap import pop, push

__all__ = ["ORDERS", "core_trees"]

Array = NDArray[Any]

#: In which sequence a tree grows: depth first, breadth first, by the lightest edge.
ORDERS = ("dfs", "bfs", "prim")


def core_trees(
    offsets: NDArray[np.int64],
    targets: Array,
    vol_st: int,
    order: str = "dfs",
    weights: NDArray[np.float64] | None = None,
) -> tuple[NDArray[np.int32], NDArray[np.int64]]:
    """Return the tree of each vertex, and the vertices of all trees as they were taken.

    Parameters
    ----------
    offsets, targets : arrays
        Rows of a simple undirected graph; vertices numbered by rank, neighbours ascending.
    vol_st : int
        Bytes.
    order : {"dfs", "bfs", "prim"}
    weights : float64 array beside `targets`, optional
        For "prim".

    Returns
    -------
    tree : int32 array
        -1 for isolated vertices.
    taken : int64 array

    Examples
    --------
    A path 0-1-2-3, numbered by rank: 1 is 0, 2 is 1, 0 is 2, 3 is 3.

    >>> offsets, targets = np.array([0, 2, 4, 5, 6]), np.array([1, 2, 0, 3, 0, 1])
    >>> core_trees(offsets, targets, vol_st=48)[0]
    array([0, 0, 1, 2], dtype=int32)
    """
    n = len(offsets) - 1
    tree, taken = np.full(n, -1, np.int32), np.empty(n, np.int64)
    if order == "prim":
        light = np.ones(len(targets)) if weights is None else weights
        count = _prim(offsets, targets, light, vol_st, tree, taken)
    else:
        count = _search(offsets, targets, vol_st, order == "dfs", tree, taken)
    return tree, taken[:count]


@kernel
def _search(offsets, targets, vol_st, deep, tree, taken):  # type: ignore[no-untyped-def]
    """Grow depth first (a stack) or breadth first (a queue)."""
    n = tree.size
    at = offsets[:-1].copy()  # where each vertex's row is read on
    pile = np.empty(n, np.int64)
    count, number = 0, 0
    for hub in range(n):
        if tree[hub] >= 0 or offsets[hub] == offsets[hub + 1]:
            continue
        volume = 8 + 8 * (offsets[hub + 1] - offsets[hub])
        tree[hub], taken[count], pile[0] = number, hub, hub
        count += 1
        begin, end = 0, 1
        while begin < end and volume < vol_st:
            v = pile[end - 1] if deep else pile[begin]
            if at[v] == offsets[v + 1]:
                if deep:
                    end -= 1
                else:
                    begin += 1
                continue
            u = targets[at[v]]
            at[v] += 1
            if tree[u] >= 0:
                continue
            tree[u], taken[count], pile[end] = number, u, u
            count += 1
            end += 1
            volume += 8 + 8 * (offsets[u + 1] - offsets[u])
        number += 1
    return count


@kernel
def _prim(offsets, targets, weights, vol_st, tree, taken):  # type: ignore[no-untyped-def]
    """Grow by the lightest edge that leads out, ties to the first in the vertex order."""
    n = tree.size
    keys = np.empty(targets.size + 1, np.float64)
    heap = np.empty(targets.size + 1, np.int64)
    count, number = 0, 0
    for hub in range(n):
        if tree[hub] >= 0 or offsets[hub] == offsets[hub + 1]:
            continue
        volume, size, v = 0, 0, hub
        while True:
            tree[v], taken[count] = number, v
            count += 1
            volume += 8 + 8 * (offsets[v + 1] - offsets[v])
            if volume >= vol_st:
                break
            for i in range(offsets[v], offsets[v + 1]):
                if tree[targets[i]] < 0:
                    size = push(keys, heap, size, weights[i], targets[i])
            v = -1
            while size > 0 and v < 0:
                v = heap[0]
                size = pop(keys, heap, size)
                if tree[v] >= 0:
                    v = -1
            if v < 0:
                break
        number += 1
    return count
