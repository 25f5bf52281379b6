"""Single-source shortest paths by delta-stepping, after Meyer and Sanders [1]_.

Returned are, for every vertex, its distance along out-edges and its predecessor. The distance
is the least length of a path, where the length is the floating-point sum of the weights from
the source on. Addition rounds monotonically, so ``a <= b`` gives ``a + w <= b + w``: the least
length of a path to v is the least ``distance[u] + w`` over the edges into v, and every method
that relaxes edges until nothing improves comes to the same bits, in whatever sequence. Of the
tight in-neighbours (``distance[u] + w == distance[v]``) the predecessor is the first in the
vertex order of those with the fewest hops from the source: a tree even if weights are 0.

Delta-stepping relaxes the edges of the vertices in a bucket, which may improve one another,
until none changes, and goes on to the next bucket. What costs is to look at edges that improve
nothing, which most do. Here an edge is relaxed in the bucket in which it *lands*::

    distance   0 . . . . . . . . . . . . before . . . . horizon . . . . . . . . . . .
                                           |  this bucket  |
    u  ----light edge--------------------->|------->*      |   relaxed now
    u  ----heavy edge--------------------->|---------------|------->*   put off

With the rows by weight, a vertex relaxes a part of its row in every bucket and stops at the
first edge that lands beyond the horizon. So most edges of the hubs are put off until almost
everything is settled. Then nobody relaxes them: once, the few unsettled vertices look
for their best in-neighbour instead (pull). They too stop early, at the first weight that is too
large to improve the best one found so far. How large that is depends on the least distance that
an in-neighbour may have; so the few *near* vertices, those on the way from the source to the
first hub, relax all their edges before (flush), and do not count.

The first buckets are `delta` wide. The fewer edges into unsettled vertices are left, the less
can be done twice in a bucket, and the wider buckets get: delta x edges / those left.

Encodings: see :class:`dgraph.algorithms._delta.Search`. Without weights this is a breadth-first
search.

Cost: 2 supersteps a bucket, and 1 for each time that an improvement goes to another slot and
back; one a level of the tree of predecessors if there are ties. Messages: a proxy and a
distance for each improvement; all distances once, and once more for a pull.

References
----------
.. [1] U. Meyer, P. Sanders: Delta-stepping: a parallelizable shortest path algorithm, Journal
   of Algorithms 49(1), 2003, doi:10.1016/S0196-6774(03)00076-2
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from dgraph.algorithms._buckets import Rules, begin_at, go_on
from dgraph.algorithms._by_weight import by_weight
from dgraph.algorithms._delta import Search, begin, flush, lower, pull, reset, start
from dgraph.algorithms._tight import predecessors
from dgraph.algorithms._weights import check_weights
from dgraph.algorithms.bfs import bfs_slot
from dgraph.arguments import optional_number
from dgraph.build.joining import whole_rows
from dgraph.engine.columns import Column, Neighbours, Nullable, Plain
from dgraph.engine.context import Context
from dgraph.engine.translate import masters_of
from dgraph.errors import OptionError
from dgraph.graph import Graph, check_graph, run_algorithm
from dgraph.keywords import named
from dgraph.named_ids import as_sources
from dgraph.results import NULLABLE_VERTEX
from dgraph.shard import Shard
from dgraph.vertices.ids import Ids

if TYPE_CHECKING:
    from dask.dataframe import DataFrame

__all__ = ["search", "sssp", "sssp_slot"]

#: The first buckets are so wide: this times the mean weight, divided by the square root of the
#: mean degree of a neighbour. On Kronecker graphs of scale 20 the time changes by less than a
#: quarter between 1/2 and 2.
DELTA = 1.0

#: Unsettled vertices pull when the edges put off are so many times those into unsettled
#: vertices and the vertices together. Between 1/2 and 2 it makes little difference.
PULL = 1.0

#: While the settled vertices have less than this part of the edges, they count as near.
NEAR = 1 / 64

#: Between processes, buckets with little to do get wider where neighbours have fewer edges than
#: this on average, as on grids and roads. Elsewhere what a bucket reaches grows too fast.
SPARSE = 8.0


async def sssp_slot(
    ctx: Context,
    shard: Shard,
    source: Ids,
    delta: float | None = None,
    limit: float | None = None,
) -> dict[str, Column]:
    """Search from the one vertex `source`; see :func:`sssp`."""
    if not shard.weighted:
        return await _sssp_unweighted(ctx, shard, source, limit)
    shard = await whole_rows(ctx, shard)
    ctx.stage = "source"
    _, here = await masters_of(ctx, shard, source)
    at = int(here[0]) if here.size else -1
    s = begin(ctx, shard)
    lowest = await search(ctx, shard, s, at, delta, math.inf if limit is None else limit)
    ctx.stage = "predecessors"
    await ctx.broadcast(shard, s.distance)
    rows = by_weight(shard)
    parent = await predecessors(ctx, shard, s, at, lowest, *rows)
    distance = s.distance[: shard.masters].copy()
    return {"distance": Plain(distance), "predecessor": Neighbours(parent, shard)}


async def _sssp_unweighted(
    ctx: Context, shard: Shard, source: Ids, limit: float | None
) -> dict[str, Column]:
    """Search where every edge has the weight 1."""
    steps = None if limit is None else int(min(limit, shard.num_vertices))
    found = await bfs_slot(ctx, shard, source, steps)
    levels = found["distance"]
    assert isinstance(levels, Nullable)
    return found | {"distance": Plain(np.where(levels.values < 0, np.inf, levels.values))}


async def search(
    ctx: Context, shard: Shard, s: Search, source: int, delta: float | None, limit: float
) -> float:
    """Find the distances from a source; of proxies, those that this slot happens to hear of.

    Parameters
    ----------
    s : Search
        Where they are put.
    source : int
        Its local id on the slot that owns it, -1 on the others.
    delta : float or None
    limit : float
        What is farther than this counts as unreached.

    Returns
    -------
    lowest : float
        Vertices nearer than this are near: they have few edges.
    """
    scale = await check_weights(ctx, shard)
    widest = delta or DELTA * scale.spread or 1.0
    least = delta or DELTA * scale.small or widest
    beyond = float(np.nextafter(limit, np.inf))
    patient = not (ctx.companions and scale.alike) and scale.degree < SPARSE
    rules = Rules(
        least, widest, beyond, scale.arcs, shard.num_vertices, PULL, NEAR, scale.alike, patient
    )
    out, into = by_weight(shard)
    reset(s, into)
    if source >= 0:
        start(source, s, out)
    now, pulled = begin_at(rules), 0.0
    while True:
        ctx.stage = "relax"
        now = await go_on(ctx, shard, s, now, rules)
        if now.is_over:
            break
        if now.is_pull_due(rules):
            ctx.stage = "pull"
            sent, distances = flush(now.lowest, s, out)
            lower(*await ctx.reduce(shard, sent, distances, combine="min"), s)
            await ctx.broadcast(shard, s.distance)
            pull(max(now.lowest, pulled), now.horizon, s, out, into)
            pulled = now.horizon
            now = now.after_pull(shard.num_vertices)
    far = s.distance[: shard.masters] > limit
    s.distance[: shard.masters][far] = math.inf
    return now.lowest


@named
def sssp(
    g: Graph, source: Any, *, delta: float | None = None, limit: float | None = None
) -> DataFrame:
    """Find the shortest paths along out-edges from a vertex.

    Parameters
    ----------
    g : Graph
        With weights of at least 0; without weights every edge has the weight 1.
    source : int or str
    delta : float, optional
        The width of the first buckets of distances; positive. It does not change the result.
        Default: chosen from the weights and degrees.
    limit : float, optional
        Stop at this distance; what is farther counts as unreached.

    Returns
    -------
    dask DataFrame
        Columns vertex; distance: float64, inf where no path leads; predecessor: of the
        in-neighbours on shortest paths, of them those with the fewest hops from the source, the
        first in the vertex order (higher degree first, then smaller id), <NA> for the source
        and for what was not reached.

    Raises
    ------
    VertexNotFoundError
        If the source is not a vertex; names it.
    EdgeValueError
        If a weight is negative; names an edge.
    OptionError
        If `delta` is not positive, `limit` is negative, or there is not one source.

    Notes
    -----
    Deterministic: distances are bit-identical whatever the slots and the placement, for they
    are least sums from the source on. The first search on a graph makes a copy of its edges in
    which each vertex has them by weight; it stays in memory with the graph.

    References
    ----------
    Meyer, Sanders: Delta-stepping: a parallelizable shortest path algorithm, Journal of
    Algorithms 49(1), 2003, doi:10.1016/S0196-6774(03)00076-2

    Examples
    --------
    >>> import dgraph as dg
    >>> edges = np.array([[1, 2, 4], [1, 3, 1], [3, 2, 2]])
    >>> g = dg.from_edges(edges, weight=True)
    >>> sssp(g, 1).compute().sort_values("vertex", ignore_index=True)
       vertex  distance  predecessor
    0       1       0.0         <NA>
    1       2       3.0            3
    2       3       1.0            1
    """
    check_graph(g)
    sources = as_sources(source, g.id_dtype)
    if len(sources) != 1:
        raise OptionError(f"source must be one vertex, not {len(sources)}; call sssp for each")
    width = optional_number("delta", delta, above=0)
    farthest = optional_number("limit", limit, 0)
    found: DataFrame = run_algorithm(
        g,
        "sssp",
        sssp_slot,
        sources,
        width,
        farthest,
        columns={"distance": "float64", "predecessor": NULLABLE_VERTEX},
    )
    return found
