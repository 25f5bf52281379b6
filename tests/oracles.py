"""Serial oracles of the algorithms: each follows its definition and is as stupid as it can be.

All take a `tests.reference.PlainGraph`, and number vertices by `order`.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

from tests.reference import PlainGraph

Array = NDArray[Any]


def in_neighbours(graph: PlainGraph) -> list[list[int]]:
    """Return for each vertex those with an arc to it, in the vertex order."""
    rows: list[set[int]] = [set() for _ in range(graph.n)]
    source, target, _ = graph.arcs
    for u, v in zip(source.tolist(), target.tolist(), strict=True):
        rows[v].add(u)
    return [sorted(row, key=lambda u: int(graph.rank[u])) for row in rows]


def bfs(
    graph: PlainGraph, sources: Iterable[int], depth_limit: int | None = None
) -> tuple[list[int], list[int]]:
    """Return distances and predecessors, -1 where there is none."""
    before = in_neighbours(graph)
    distance = [-1] * graph.n
    for source in sources:
        distance[source] = 0
    depth, limit = 0, math.inf if depth_limit is None else depth_limit
    while depth < limit:
        found = [
            v
            for v in range(graph.n)
            if distance[v] < 0 and any(distance[u] == depth for u in before[v])
        ]
        if not found:
            break
        depth += 1
        for v in found:
            distance[v] = depth
    predecessor = [
        next(u for u in before[v] if distance[u] == distance[v] - 1) if distance[v] > 0 else -1
        for v in range(graph.n)
    ]
    return distance, predecessor


def components(graph: PlainGraph) -> list[int]:
    """Return for each vertex the smallest vertex of its weak component."""
    ones = np.ones(len(graph.source))
    matrix = coo_array((ones, (graph.source, graph.target)), shape=(graph.n, graph.n))
    if graph.n == 0:
        return []
    count, label = connected_components(matrix, directed=False)
    smallest = np.full(count, graph.n)
    np.minimum.at(smallest, label, np.arange(graph.n))
    found: list[int] = smallest[label].tolist()
    return found


def pagerank(
    graph: PlainGraph,
    alpha: float = 0.85,
    personalization: Mapping[int, float] | None = None,
    max_iter: int = 100,
    tol: float | None = 1e-6,
    weighted: bool = True,
    dangling: Mapping[int, float] | None = None,
) -> tuple[Array, bool]:
    """Return ranks and whether they have converged, by the dense matrix of the definition."""
    n = graph.n
    source, target, weight = graph.arcs
    ones = np.ones(len(source))
    matrix = np.zeros((n, n))
    np.add.at(matrix, (source, target), weight if weighted and weight is not None else ones)
    strength = matrix.sum(axis=1)
    sinks = strength == 0
    matrix[~sinks] /= strength[~sinks, None]
    restart = _spread(personalization, n, np.full(n, 1 / max(n, 1)))
    matrix[sinks] = _spread(dangling, n, restart)
    rank = np.full(n, 1 / max(n, 1))
    for _ in range(max_iter):
        before = rank
        rank = alpha * before @ matrix + (1 - alpha) * restart
        if tol is not None and np.abs(rank - before).sum() < tol:
            return rank, True
    return rank, tol is None or n == 0


def _spread(values: Mapping[int, float] | None, n: int, default: Array) -> Array:
    if values is None:
        return default
    whole = np.zeros(n)
    for vertex, value in values.items():
        whole[vertex] = value
    shares: Array = whole / whole.sum()
    return shares
