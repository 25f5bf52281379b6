"""NetworKit: C++ with OpenMP, as many threads as OMP_NUM_THREADS says."""

from __future__ import annotations

import math
import os
from typing import Any

import networkit
import numpy as np

from benchmarks.edges import Ends

#: Vertices that were not reached are at the largest float.
FAR = 1e300

networkit.setNumberOfThreads(int(os.environ.get("OMP_NUM_THREADS", "2")))


def build(source: Ends, target: Ends, vertices: int, weights: Ends | None = None) -> Any:
    """Build an undirected graph."""
    if weights is None:
        return networkit.GraphFromCoo((source, target), n=vertices, directed=False)
    triples = (weights.astype(np.float64), (source, target))
    return networkit.GraphFromCoo(triples, n=vertices, weighted=True, directed=False)


def bfs(graph: Any, source: int) -> Any:
    """Search from a vertex: distances and predecessors."""
    return networkit.distance.BFS(graph, source, storePaths=True).run()


def bfs_answer(result: Any) -> int:
    """Return the number of vertices reached."""
    return int((np.asarray(result.getDistances()) < FAR).sum())


def sssp(graph: Any, source: int) -> Any:
    """Find shortest paths: distances and predecessors (Dijkstra, one thread)."""
    return networkit.distance.Dijkstra(graph, source, storePaths=True).run()


def sssp_answer(result: Any) -> float:
    """Return the sum of distance + 1 over the vertices reached."""
    distances = np.asarray(result.getDistances())
    return float((distances[distances < FAR] + 1).sum())


def betweenness(graph: Any, source: int) -> Any:
    """Sum up what the shortest paths from one vertex give; it draws the vertex itself."""
    networkit.setSeed(source, False)
    return networkit.centrality.EstimateBetweenness(graph, 1).run()


def betweenness_answer(result: Any) -> float:
    """Return NaN: it was another source."""
    return math.nan


def communities(graph: Any, rounds: int = 10) -> Any:
    """Propagate labels at most `rounds` times, in place, only where neighbours changed."""
    return networkit.community.PLP(graph, maxIterations=rounds).run()


def communities_answer(result: Any) -> float:
    """Return NaN: labels that tie depend on the order of the threads."""
    return math.nan


def local_clustering(graph: Any) -> Any:
    """Compute the coefficient of every vertex."""
    return networkit.centrality.LocalClusteringCoefficient(graph, turbo=True).run()


def local_clustering_answer(result: Any) -> float:
    """Return the mean."""
    return float(np.mean(result.scores()))


def triangles(graph: Any) -> Any:
    """Count at every vertex: its coefficient times its pairs of neighbours."""
    share = np.array(local_clustering(graph).scores())
    degree = np.array(networkit.centrality.DegreeCentrality(graph).run().scores())
    return np.rint(share * (degree * (degree - 1) / 2)).astype(np.int64)


def triangles_answer(result: Any) -> float:
    """Return the number of triangles of the graph."""
    return float(result.sum() / 3)


def components(graph: Any) -> Any:
    """Label the components, in parallel."""
    return networkit.components.ParallelConnectedComponents(graph).run()


def components_answer(result: Any) -> int:
    """Return the number of components."""
    return int(result.numberOfComponents())


def pagerank(graph: Any, rounds: int = 100, tol: float = 0.0) -> Any:
    """Iterate at most `rounds` times; stop below an L1 change of `tol`."""
    ranks = networkit.centrality.PageRank(graph, damp=0.85, tol=tol)
    ranks.maxIterations = rounds
    ranks.norm = networkit.centrality.Norm.L1_NORM
    return ranks.run()


def pagerank_answer(result: Any) -> float:
    """Return the largest rank."""
    return float(max(result.scores()))
