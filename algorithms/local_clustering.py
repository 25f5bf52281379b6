"""Local clustering coefficients, as LDBC Graphalytics defines them [1]_.

The coefficient of a vertex is the share of the pairs of its neighbours that have an edge::

    N(v)   = (N_in(v) | N_out(v)) - {v}              d = |N(v)|
    LCC(v) = |{(u, w) : u, w in N(v), edge u -> w}| / (d (d - 1)),  0 if d < 2

Pairs are ordered, so an undirected edge between two neighbours counts twice, and in a directed
graph an edge in both directions does. Loops are ignored, and parallel edges are one. Note that
networkx defines the coefficient of directed graphs in another way.

Example: 1 -> 2, 1 -> 3, 2 -> 3. Each vertex has 2 neighbours with one edge between them in one
of two directions: 1/2. Undirected, each coefficient is 1.

The slots count the edges among the neighbours as :mod:`dgraph.algorithms._wedges` says.

Cost: supersteps: 3, and one for each round of rows. Messages: for each proxy at most the row
N+ of its vertex, which has at most sqrt(2 m) entries, and one count.

References
----------
.. [1] The LDBC Graphalytics Benchmark, arXiv:2011.15028, section 2.3.5
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from dgraph.algorithms._wedges import close_wedges
from dgraph.build.joining import whole_rows
from dgraph.engine.columns import Column, Plain
from dgraph.engine.context import Context
from dgraph.graph import Graph, run_algorithm
from dgraph.keywords import named
from dgraph.shard import Shard

if TYPE_CHECKING:
    from dask.dataframe import DataFrame

__all__ = ["local_clustering", "local_clustering_slot"]


async def local_clustering_slot(ctx: Context, shard: Shard) -> dict[str, Column]:
    """Compute the coefficients of all masters; see :func:`local_clustering`."""
    shard = await whole_rows(ctx, shard)
    opposite, degree = await close_wedges(ctx, shard)
    # an undirected edge is there in both directions
    arcs = opposite if shard.directed else 2 * opposite
    pairs = degree * (degree - 1)
    return {"clustering": Plain(arcs / np.maximum(pairs, 1))}


@named
def local_clustering(g: Graph) -> DataFrame:
    """Compute the local clustering coefficient of every vertex, as LDBC Graphalytics has it.

    Parameters
    ----------
    g : Graph
        Loops are ignored, and kept parallel edges are one.

    Returns
    -------
    dask DataFrame
        A row per vertex: vertex; clustering, float64 from 0 to 1: edges among the neighbours
        on either side, over the number of ordered pairs of them; 0 for a vertex with fewer
        than two neighbours.

    Notes
    -----
    Exact up to the division. In a directed graph this is not what networkx computes.

    References
    ----------
    The LDBC Graphalytics Benchmark, arXiv:2011.15028, section 2.3.5

    Examples
    --------
    >>> import dgraph as dg, numpy as np
    >>> g = dg.from_edges(np.array([[1, 2], [2, 3], [3, 1], [3, 4]]))
    >>> local_clustering(g).compute().sort_values("vertex")["clustering"].round(3).tolist()
    [1.0, 1.0, 0.333, 0.0]
    """
    found: DataFrame = run_algorithm(
        g, "local_clustering", local_clustering_slot, columns={"clustering": "float64"}
    )
    return found
