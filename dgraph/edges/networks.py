"""Networkx graphs as columns."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from dgraph.errors import EdgeValueError

__all__ = ["network_edges", "network_vertices"]


def network_vertices(graph: Any) -> NDArray[np.object_]:
    """Return the vertices of a networkx graph."""
    return np.fromiter(graph, np.object_, len(graph))


def network_edges(graph: Any, weight: Hashable | None) -> pd.DataFrame:
    """Return the edges of a networkx graph, parallel ones each on its own.

    Parameters
    ----------
    graph : networkx graph of any class
    weight : attribute or None
        Usually a str; an edge that lacks it weighs 1, as everywhere in networkx.

    Examples
    --------
    >>> import networkx as nx
    >>> graph = nx.MultiGraph([("a", "b"), ("a", "b", {"km": 3})])
    >>> network_edges(graph, "km")["weight"].to_list()
    [1, 3]
    """
    count = graph.number_of_edges()
    columns = [np.empty(count, np.object_) for _ in range(2 if weight is None else 3)]
    rows = graph.edges() if weight is None else graph.edges(data=weight, default=_LACKING)
    for row, values in enumerate(rows):
        for column, value in zip(columns, values, strict=True):
            column[row] = value
    if weight is not None:
        lacking = np.fromiter((value is _LACKING for value in columns[2]), np.bool_, count)
        if count and lacking.all():
            raise EdgeValueError(f"no edge of the networkx graph has an attribute {weight!r}")
        columns[2][lacking] = 1
    names = ("source", "target", "weight")
    return pd.DataFrame(dict(zip(names, columns, strict=False)), copy=False)


_LACKING = object()
