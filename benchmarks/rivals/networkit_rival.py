"""NetworKit: C++ with OpenMP, as many threads as OMP_NUM_THREADS says."""

from __future__ import annotations

import os
from typing import Any

import networkit
import numpy as np

from benchmarks.edges import Ends

networkit.setNumberOfThreads(int(os.environ.get("OMP_NUM_THREADS", "2")))


def build(source: Ends, target: Ends, vertices: int) -> Any:
    """Build an undirected graph."""
    return networkit.GraphFromCoo((source, target), n=vertices, directed=False)


def bfs(graph: Any, source: int) -> Any:
    """Search from a vertex: distances and predecessors."""
    return networkit.distance.BFS(graph, source, storePaths=True).run()


def bfs_answer(result: Any) -> int:
    """Return the number of vertices reached; the others are at the largest float."""
    return int((np.asarray(result.getDistances()) < 1e300).sum())


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
