"""Strategies that see edges, and graphs and trees on which they are tried."""

from __future__ import annotations

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


small_graphs = st.integers(1, 14).flatmap(
    lambda n: st.tuples(
        st.just(n),
        st.lists(st.tuples(st.integers(0, n - 1), st.integers(0, n - 1)), max_size=30),
    )
)
