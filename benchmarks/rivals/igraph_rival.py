"""igraph: a C library, single-threaded; its PageRank (PRPACK) solves to its own tolerance."""

from __future__ import annotations

from typing import Any

import igraph
import numpy as np

from benchmarks.edges import Ends


def build(source: Ends, target: Ends, vertices: int) -> Any:
    """Build an undirected graph."""
    return igraph.Graph(n=vertices, edges=np.stack([source, target], axis=1))


def bfs(graph: Any, source: int) -> Any:
    """Search from a vertex: visited, starts of the levels, parents, as lists."""
    return graph.bfs(source)


def bfs_answer(result: Any) -> int:
    """Return the number of vertices reached."""
    return len(result[0])


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
