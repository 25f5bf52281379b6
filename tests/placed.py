"""Strategies that see edges, and graphs and trees on which they are tried."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
from hypothesis import strategies as st

from dgraph.placement import Adp, Fennel, Hierarchy, TopoX, XTree
from dgraph.topology import Topology

NAMES = [
    "hash", "chunk", "2d", "hierarchy", "metis", "fennel", "xtree", "adp", "topox", "auto"
]  # fmt: skip
HIERARCHIES = [
    Hierarchy(),
    Hierarchy(refine=0, eps=0.0),
    Hierarchy(order="bfs", metric="grid"),
    Hierarchy(order="dfs", spread="greedy", vol_st=40),
    Hierarchy(order="prim", edges="2d-in-domain"),
]
STRATEGIES = [*HIERARCHIES, Fennel(), XTree(), Adp(), TopoX(size=3)]
TREE = Topology.from_fanouts([2, 2])


def pairs_of(edges: list[tuple[int, int]]) -> pd.DataFrame:
    return pd.DataFrame(edges, columns=["source", "target"], dtype="int64")


def grid(side: int) -> pd.DataFrame:
    number = np.arange(side * side).reshape(side, side)
    low = np.concatenate([number[:, :-1].ravel(), number[:-1].ravel()])
    high = np.concatenate([number[:, 1:].ravel(), number[1:].ravel()])
    return pd.DataFrame({"source": low, "target": high})


def rows_of(n: int, edges: list[tuple[int, int]]) -> tuple[Any, Any, Any]:
    """Return offsets and targets by rank, and which vertex has each rank."""
    near: list[set[int]] = [set() for _ in range(n)]
    for u, v in edges:
        if u != v:
            near[u].add(v)
            near[v].add(u)
    by_rank = sorted(range(n), key=lambda v: (-len(near[v]), v))
    rank = {v: r for r, v in enumerate(by_rank)}
    rows = [sorted(rank[u] for u in near[v]) for v in by_rank]
    offsets = np.cumsum([0, *map(len, rows)])
    return offsets, np.array([t for row in rows for t in row], np.int32), by_rank


small_graphs = st.integers(1, 14).flatmap(
    lambda n: st.tuples(
        st.just(n),
        st.lists(st.tuples(st.integers(0, n - 1), st.integers(0, n - 1)), max_size=30),
    )
)
