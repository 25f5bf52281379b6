"""python-graphblas: SuiteSparse:GraphBLAS, with OpenMP; kernels as LAGraph writes them."""

from __future__ import annotations

from typing import Any

import graphblas as gb
import numpy as np

from benchmarks.edges import Ends

#: Above this share of the vertices in the frontier the search pulls.
DENSE = 1 / 20


def build(source: Ends, target: Ends, vertices: int) -> Any:
    """Build a symmetric Boolean matrix."""
    rows, columns = np.concatenate([source, target]), np.concatenate([target, source])
    matrix = gb.Matrix.from_coo(rows, columns, True, nrows=vertices, ncols=vertices)
    matrix.wait()
    return matrix


def bfs(graph: Any, source: int) -> Any:
    """Find parents (LAGr_BreadthFirstSearch): push while the frontier is small, else pull."""
    count = graph.nrows
    frontier = gb.Vector(np.int64, count)
    frontier[source] = source
    parents = frontier.dup()
    while frontier.nvals:
        if frontier.nvals > DENSE * count:
            step = graph.mxv(frontier, gb.semiring.any_secondi)
        else:
            step = frontier.vxm(graph, gb.semiring.any_firsti)
        frontier(~parents.S, replace=True) << step
        parents(frontier.S) << frontier
    return parents


def bfs_answer(result: Any) -> int:
    """Return the number of vertices reached."""
    return int(result.nvals)


def pagerank(graph: Any, rounds: int = 100, tol: float = 0.0) -> Any:
    """Iterate (LAGr_PageRank, ranks of vertices without an edge spread evenly), in float32."""
    count = graph.nrows
    degrees = graph.reduce_rowwise(gb.agg.count).new(np.float32)
    has_edge = degrees.to_dense(fill_value=0) > 0
    shares = gb.Vector(np.float32, count)
    shares << degrees.apply(gb.binary.truediv, right=0.85)
    ranks = gb.Vector.from_scalar(np.float32(1 / count), count)
    for _ in range(rounds):
        lost = 0.0
        if not has_edge.all():
            lost = 0.85 / count * float(ranks.to_dense()[~has_edge].sum())
        portions = ranks.ewise_mult(shares, gb.binary.truediv).new()
        after = gb.Vector.from_scalar(np.float32(0.15 / count + lost), count)
        after(gb.binary.plus) << graph.mxv(portions, gb.semiring.plus_second)
        ranks, before = after, ranks
        if tol and float(abs(ranks - before).reduce()) < tol:
            break
    return ranks


def pagerank_answer(result: Any) -> float:
    """Return the largest rank."""
    return float(result.reduce(gb.monoid.max).value)
