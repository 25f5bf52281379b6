"""Triangles at every vertex of an undirected graph, counted exactly [1]_.

A triangle is three vertices that are neighbours of one another; it counts at each of them, so
the sum over all vertices is three times the number of triangles in the graph. Loops are
ignored, and parallel edges are one.

The slots count them as :mod:`dgraph.algorithms._wedges` says.

Cost: supersteps: 3, and one for each round of rows. Messages: for each proxy at most the row
N+ of its vertex, which has at most sqrt(2 m) entries, and one count.

References
----------
.. [1] T. Schank, D. Wagner: Finding, counting and listing all triangles in large graphs, an
   experimental study, WEA 2005, doi:10.1007/11427186_54
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from dgraph.algorithms._wedges import close_wedges
from dgraph.build.joining import whole_rows
from dgraph.engine.columns import Column, Plain
from dgraph.engine.context import Context
from dgraph.graph import Graph, check_undirected, run_algorithm
from dgraph.keywords import named
from dgraph.shard import Shard

if TYPE_CHECKING:
    from dask.dataframe import DataFrame

__all__ = ["triangles", "triangles_slot"]


async def triangles_slot(ctx: Context, shard: Shard) -> dict[str, Column]:
    """Count the triangles at every master; see :func:`triangles`."""
    shard = await whole_rows(ctx, shard)
    opposite, _ = await close_wedges(ctx, shard)
    return {"triangles": Plain(opposite)}


@named
def triangles(g: Graph) -> DataFrame:
    """Count the triangles at every vertex of an undirected graph.

    Parameters
    ----------
    g : Graph
        Loops are ignored, and kept parallel edges are one.

    Returns
    -------
    dask DataFrame
        A row per vertex: vertex; triangles, int64. Their sum is three times the number of
        triangles in the graph.

    Raises
    ------
    OptionError
        If the graph is directed.

    Notes
    -----
    Exact. Three supersteps and a few more where rows come from other slots.

    References
    ----------
    Schank, Wagner: Finding, counting and listing all triangles in large graphs, WEA 2005,
    doi:10.1007/11427186_54

    Examples
    --------
    >>> import dgraph as dg, numpy as np
    >>> g = dg.from_edges(np.array([[1, 2], [2, 3], [3, 1], [3, 4]]))
    >>> triangles(g).compute().sort_values("vertex")["triangles"].tolist()
    [1, 1, 1, 0]
    """
    check_undirected(g, "triangles are counted in")
    found: DataFrame = run_algorithm(
        g, "triangles", triangles_slot, columns={"triangles": "int64"}
    )
    return found
