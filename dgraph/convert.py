"""A fetched graph in the forms of other libraries."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd
from scipy import sparse

from dgraph.facts import Facts

__all__ = ["as_networkx", "as_scipy"]

Tables = Sequence[pd.DataFrame]


def as_networkx(facts: Facts, vertices: Tables, edges: Tables) -> Any:
    """Make a networkx graph of its vertices and edges.

    Examples
    --------
    >>> edges = pd.DataFrame({"source": ["a"], "target": ["b"], "weight": [2.5]})
    >>> facts = Facts(3, 1, True, True, False, "str", "degree")
    >>> graph = as_networkx(facts, [pd.DataFrame({"vertex": ["c", "a", "b"]})], [edges])
    >>> list(graph), graph.edges["a", "b"], graph.is_directed()
    (['c', 'a', 'b'], {'weight': 2.5}, True)
    """
    import networkx as nx

    kinds = [[nx.Graph, nx.MultiGraph], [nx.DiGraph, nx.MultiDiGraph]]
    graph = kinds[facts.directed][facts.multigraph]()
    for table in vertices:
        graph.add_nodes_from(table["vertex"].tolist())
    for table in edges:
        columns = [table[name].tolist() for name in table]
        if facts.weighted:
            graph.add_weighted_edges_from(zip(*columns, strict=True))
        else:
            graph.add_edges_from(zip(*columns, strict=True))
    return graph


def as_scipy(facts: Facts, arcs: Tables) -> sparse.csr_array:
    """Make a sparse matrix of edges between orders; an undirected edge is mirrored.

    Examples
    --------
    >>> arcs = pd.DataFrame({"source": [0, 1], "target": [1, 1]})
    >>> as_scipy(Facts(2, 2, False, False, False, "int64", "degree"), [arcs]).toarray()
    array([[0, 1],
           [1, 1]])
    """
    row = np.concatenate([table["source"].to_numpy() for table in arcs])
    column = np.concatenate([table["target"].to_numpy() for table in arcs])
    if facts.weighted:
        weight = np.concatenate([table["weight"].to_numpy(np.float64) for table in arcs])
    else:
        weight = np.ones(len(row), np.int64)
    if not facts.directed:
        back = np.flatnonzero(row != column)
        row, column = np.append(row, column[back]), np.append(column, row[back])
        weight = np.append(weight, weight[back])
    shape = (facts.num_vertices, facts.num_vertices)
    return sparse.coo_array((weight, (row, column)), shape=shape).tocsr()
