"""SciPy: csgraph's serial searches and components, PageRank as sparse matrix times vector."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
from scipy.sparse import csgraph

from benchmarks.edges import symmetric

ALPHA = 0.85


def build(source: Any, target: Any, vertices: int, weights: Any = None) -> Any:
    """Build a symmetric CSR matrix; strings are encoded by pyarrow before."""
    if not isinstance(source, np.ndarray):
        codes = pa.concat_arrays([source, target]).dictionary_encode().indices.to_numpy()
        source, target = codes[: len(source)], codes[len(source) :]
    return symmetric(source, target, vertices, weights)


def bfs(graph: Any, source: int) -> Any:
    """Search from a vertex; the matrix is symmetric, so directed saves SciPy a transpose."""
    return csgraph.breadth_first_order(graph, source, directed=True)


def bfs_answer(result: Any) -> int:
    """Return the number of vertices reached."""
    return len(result[0])


def sssp(graph: Any, source: int) -> Any:
    """Find shortest paths: distances and predecessors (Dijkstra, Fibonacci heap)."""
    return csgraph.dijkstra(graph, indices=np.array(source), return_predecessors=True)


def sssp_answer(result: Any) -> float:
    """Return the sum of distance + 1 over the vertices reached."""
    return float((result[0][np.isfinite(result[0])] + 1).sum())


def components(graph: Any) -> Any:
    """Label the components."""
    return csgraph.connected_components(graph, directed=False)


def components_answer(result: Any) -> int:
    """Return the number of components."""
    return int(result[0])


def pagerank(graph: Any, rounds: int = 100, tol: float = 0.0) -> Any:
    """Iterate as ``networkx.pagerank`` does; stop below an L1 change of `tol`.

    >>> graph = symmetric(np.array([0, 1]), np.array([1, 2]), 3)
    >>> pagerank(graph, rounds=50).round(3).tolist()
    [0.257, 0.486, 0.257]
    """
    count = graph.shape[0]
    degrees = graph.sum(axis=1)
    scale = np.divide(1.0, degrees, out=np.zeros(count), where=degrees > 0)
    ranks = np.full(count, 1 / count)
    for _ in range(rounds):
        before = ranks
        lost = before[degrees == 0].sum()
        ranks = ALPHA * (graph @ (before * scale) + lost / count) + (1 - ALPHA) / count
        if np.abs(ranks - before).sum() < tol:
            break
    return ranks


def pagerank_answer(result: Any) -> float:
    """Return the largest rank."""
    return float(result.max())
