"""igraph: a C library, single-threaded; its PageRank (PRPACK) solves to its own tolerance.

Shortest paths are distances alone: its paths come as a Python list for each vertex. Weights are
copied from Python objects in every call.
"""

from __future__ import annotations

import math
from typing import Any

import igraph
import numpy as np

from benchmarks.edges import Ends


def build(source: Ends, target: Ends, vertices: int, weights: Ends | None = None) -> Any:
    """Build an undirected graph."""
    graph = igraph.Graph(n=vertices, edges=np.stack([source, target], axis=1))
    if weights is not None:
        graph.es["weight"] = weights.astype(np.float64).tolist()
    return graph


def bfs(graph: Any, source: int) -> Any:
    """Search from a vertex: visited, starts of the levels, parents, as lists."""
    return graph.bfs(source)


def bfs_answer(result: Any) -> int:
    """Return the number of vertices reached."""
    return len(result[0])


def sssp(graph: Any, source: int) -> Any:
    """Find the distances from a vertex (Dijkstra, binary heap)."""
    return graph.distances(source, weights="weight")


def sssp_answer(result: Any) -> float:
    """Return the sum of distance + 1 over the vertices reached."""
    return float(sum(distance + 1 for distance in result[0] if distance < math.inf))


def betweenness(graph: Any, source: int) -> Any:
    """Sum up what the shortest paths from one vertex give to all others (Brandes)."""
    return graph.betweenness(sources=[source])


def betweenness_answer(result: Any) -> float:
    """Return the largest, scaled as dgraph's; igraph halves it in undirected graphs.

    >>> betweenness_answer(betweenness(igraph.Graph.Ring(5, circular=False), 0))
    1.0
    """
    return 2 * float(max(result)) / (len(result) - 2)


def communities(graph: Any, rounds: int = 10) -> Any:
    """Propagate labels (Raghavan et al.), one vertex after the other, until it is stable."""
    return graph.community_label_propagation()


def communities_answer(result: Any) -> float:
    """Return NaN: labels that tie are drawn at random, and rounds are not counted."""
    return math.nan


def local_clustering(graph: Any) -> Any:
    """Compute the coefficient of every vertex."""
    return graph.transitivity_local_undirected(mode="zero")


def local_clustering_answer(result: Any) -> float:
    """Return the mean."""
    return float(np.mean(result))


def triangles(graph: Any) -> Any:
    """Count at every vertex: its coefficient times its pairs of neighbours.

    >>> triangles(igraph.Graph.Full(4)).tolist()
    [3, 3, 3, 3]
    """
    degree = np.array(graph.degree())
    share = np.array(graph.transitivity_local_undirected(mode="zero"))
    return np.rint(share * (degree * (degree - 1) / 2)).astype(np.int64)


def triangles_answer(result: Any) -> float:
    """Return the number of triangles of the graph."""
    return float(result.sum() / 3)


def components(graph: Any) -> Any:
    """Label the components."""
    return graph.connected_components()


def components_answer(result: Any) -> int:
    """Return the number of components."""
    return len(result)


def pagerank_whole(graph: Any, tol: float = 1e-6) -> Any:
    """Solve; PRPACK takes no tolerance."""
    return graph.pagerank(damping=0.85)


def pagerank_whole_answer(result: Any) -> float:
    """Return the largest rank."""
    return float(max(result))
