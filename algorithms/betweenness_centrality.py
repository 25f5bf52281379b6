"""Betweenness centrality by Brandes' accumulation of dependencies [1]_.

The betweenness of v is the sum, over all pairs (s, t) of other vertices, of the fraction of
shortest paths from s to t that lead through v. Brandes sums it up source by source::

    forward     sigma[v]  = sum of sigma[u]                  over the predecessors u of v
    backward    delta[u]  = sigma[u] * sum of (1 + delta[v]) / sigma[v]
                                                             over the successors v of u
    at last     betweenness[v] += delta[v]                   for v other than the source

Example, the undirected path a - b - c with a tail d - e at b, from the source a::

    a --- b --- c        sigma   a 1, b 1, c 1, d 1, e 1
          |              delta   e 0, c 0, d 1, b 3: paths to c, d and e lead through b
          d --- e

A level, forward and backward, looks only at the edges of one of its two sides: that of fewer
edges. Forward this is the choice of direction of :mod:`dgraph.algorithms.bfs`; bottom-up, an
unvisited vertex adds up the counts of all its in-neighbours in the frontier. Backward, either u
pulls from its successors or v pushes to its predecessors. Edges between the hubs of one level
are so looked at by nobody.

Sources are searched in batches, for the sake of small graphs with many levels: see
:mod:`dgraph.algorithms._brandes`. A batch has as many sources as fit into `BATCH` bytes a slot,
at least one. With weights, sources are searched one by one, in the sequence of distances: see
:mod:`dgraph.algorithms._brandes_weighted`.

The same graph gives the same bits on any slots: counts are exact, or else added along the rows,
see :mod:`dgraph.algorithms._path_counts`, where they are of the right size however many paths
there are; terms are cut so that their sums are exact, see :mod:`dgraph.algorithms._terms`; and
sources follow one another in the same sequence, whatever batches they are in.

Cost: a batch takes 2 supersteps a level forward and 1 backward. Messages: a count a proxy and
level, when most vertices are in the frontier densely; as many terms back, or pairs of sums.

References
----------
.. [1] U. Brandes: A faster algorithm for betweenness centrality, Journal of Mathematical
   Sociology 25(2), 2001, doi:10.1080/0022250X.2001.9990249
"""

from __future__ import annotations

import math
import random
import secrets
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from dgraph.algorithms._brandes import Batch, bytes_per_source, dependencies
from dgraph.algorithms._brandes_weighted import weighted_dependencies
from dgraph.algorithms._delta import begin
from dgraph.algorithms._simple import parallels, simple
from dgraph.algorithms._terms import Grids, grids_for
from dgraph.algorithms._weights import check_weights
from dgraph.arguments import flag, integer, optional_integer
from dgraph.build.joining import whole_rows
from dgraph.engine.columns import Column, Plain
from dgraph.engine.context import Context
from dgraph.engine.translate import masters_of
from dgraph.errors import OptionError
from dgraph.graph import Graph, check_graph, run_algorithm
from dgraph.kernels import kernel
from dgraph.keywords import named
from dgraph.named_ids import as_sources
from dgraph.shard import Shard
from dgraph.vertices.ids import Ids

if TYPE_CHECKING:
    from dask.dataframe import DataFrame

__all__ = ["Sample", "betweenness_centrality", "betweenness_slot", "scales"]

#: Bytes that a batch of sources may take on a slot, unless one source takes more. More sources
#: share supersteps, but fewer of their counts stay in the cache.
BATCH = 2**25

Array = NDArray[Any]


class Sample(NamedTuple):
    """A random choice of `k` vertices, made alike on every slot."""

    k: int
    seed: int


class Located(NamedTuple):
    """The sources.

    Parameters
    ----------
    total : int
        Of all slots.
    positions : int64 array
        Which of all sources this slot owns, ascending.
    masters : int32 array
        Their local ids.
    """

    total: int
    positions: NDArray[np.int64]
    masters: NDArray[np.int32]


async def betweenness_slot(
    ctx: Context,
    shard: Shard,
    chosen: Ids | Sample | None,
    normalized: bool,
    weighted: bool,
    endpoints: bool,
) -> dict[str, Column]:
    """Add up the dependencies of the chosen sources; see :func:`betweenness_centrality`."""
    shard = await whole_rows(ctx, shard)
    ctx.stage = "sources"
    sources = await _locate(ctx, shard, chosen)
    facts = np.diff(shard.out.offsets).max(initial=0), parallels(shard)
    longest, several = (await ctx.allreduce(facts, "max")).tolist()
    graph = simple(shard) if several else shard
    grids = grids_for(shard.num_vertices, longest)
    betweenness = np.zeros(shard.masters)
    if weighted and shard.weighted:
        await check_weights(ctx, shard, positive=True)
        await _add_weighted(ctx, graph, grids, sources, endpoints, betweenness)
    else:
        await _add_batches(ctx, graph, grids, sources, endpoints, betweenness)
    k = None if chosen is None or sources.total == shard.num_vertices else sources.total
    of_sources, of_others = scales(shard.num_vertices, k, normalized, shard.directed, endpoints)
    scale = np.full(shard.masters, of_others)
    scale[sources.masters] = of_sources
    return {"betweenness": Plain(betweenness * scale)}


async def _locate(ctx: Context, shard: Shard, chosen: Ids | Sample | None) -> Located:
    """Find out which sources this slot owns."""
    if isinstance(chosen, Ids):
        return Located(len(chosen), *await masters_of(ctx, shard, chosen))
    by_order = np.argsort(shard.order).astype(np.int32)
    orders = shard.order[by_order].astype(np.int64)
    if chosen is None:
        return Located(shard.num_vertices, orders, by_order)
    # as networkx does it, so the same seed gives the same sources where its nodes are in order
    drawn = random.Random(chosen.seed).sample(range(shard.num_vertices), chosen.k)
    _, positions, mine = np.intersect1d(drawn, orders, return_indices=True)
    sequence = np.argsort(positions)
    return Located(chosen.k, positions[sequence], by_order[mine[sequence]])


async def _add_batches(
    ctx: Context,
    shard: Shard,
    grids: Grids,
    sources: Located,
    endpoints: bool,
    betweenness: Array,
) -> None:
    """Add the dependencies of all sources without weights."""
    room = BATCH // max(bytes_per_source(shard), 1)
    copies = max(int((await ctx.allreduce([room], "min"))[0]), 1)
    proxies = 0 if ctx.gateways is None else (await ctx.gateways.numbers(shard)).total
    batch, ends = None, np.zeros(shard.masters)
    for first in range(0, sources.total, copies):
        size = min(copies, sources.total - first)
        if batch is None or batch.copies != size:
            batch = Batch(ctx, shard, size, grids, proxies)
        batch.clear()
        low, high = np.searchsorted(sources.positions, (first, first + size))
        masters, copy = sources.masters[low:high], sources.positions[low:high] - first
        await dependencies(ctx, batch, (masters * size + copy).astype(np.int32))
        reached = _add(batch.level, batch.delta, size, endpoints, betweenness)
        if endpoints:
            ends[masters] = (await ctx.allreduce(reached))[copy]
    betweenness += ends  # at last, for batches are not the same on any slots


async def _add_weighted(
    ctx: Context,
    shard: Shard,
    grids: Grids,
    sources: Located,
    endpoints: bool,
    betweenness: Array,
) -> None:
    """Add the dependencies of all sources along weighted edges."""
    search = begin(ctx, shard)
    for position in range(sources.total):
        at = np.searchsorted(sources.positions, position)
        mine = at < sources.positions.size and sources.positions[at] == position
        source = int(sources.masters[at]) if mine else -1
        reached, delta = await weighted_dependencies(ctx, shard, search, source, grids)
        if endpoints:
            others = (await ctx.allreduce([np.count_nonzero(reached)]))[0] - 1
            delta += reached
        if mine:
            delta[source] = others if endpoints else 0.0
        betweenness += delta


@kernel
def _add(level, delta, copies, endpoints, betweenness):  # type: ignore[no-untyped-def]
    """Add the dependencies of a batch; return how many vertices each source reaches here."""
    reached = np.zeros(copies, np.int64)
    for v in range(betweenness.size):
        for copy in range(copies):
            member = v * copies + copy
            if level[member] > 0:
                reached[copy] += 1
                betweenness[v] += delta[member] + (1.0 if endpoints else 0.0)
    return reached


def scales(
    n: int, k: int | None, normalized: bool, directed: bool, endpoints: bool
) -> tuple[float, float]:
    """Return the factors of sources and of other vertices, as networkx 3.6 has them.

    Parameters
    ----------
    n : int
        Vertices.
    k : int or None
        How many of them are sources; None: all.

    Examples
    --------
    >>> scales(5, None, True, False, False), scales(5, None, False, False, False)
    ((0.08333333333333333, 0.08333333333333333), (0.5, 0.5))
    >>> scales(5, 1, False, True, False)
    (nan, 4.0)
    """
    pairs = n if endpoints else n - 1  # targets, or sources, that a path through v can have
    if pairs < 2:
        return 1.0, 1.0
    size = pairs if k is None else k
    # a source is no end of paths through itself: it has one source less than the others
    of_source = size if k is None or endpoints else size - 1
    if normalized:
        return _divide(1, of_source * (pairs - 1)), _divide(1, size * (pairs - 1))
    both = 1 if directed else 2  # an undirected pair is met from both ends
    return _divide(pairs, of_source * both), _divide(pairs, size * both)


def _divide(a: int, b: int) -> float:
    return a / b if b else math.nan


@named
def betweenness_centrality(
    g: Graph,
    *,
    k: int | None = None,
    sources: Any = None,
    normalized: bool = True,
    weighted: bool = False,
    endpoints: bool = False,
    seed: int | None = None,
) -> DataFrame:
    """Compute the betweenness of every vertex: how many shortest paths lead through it.

    Parameters
    ----------
    g : Graph
        Loops are ignored, and parallel edges are one edge (with weights: the lightest).
    k : int, optional
        Estimate from so many sources, chosen at random. Time is proportional to it: some tenths
        of a second a source for a graph of 16 million edges.
    sources : list, array or Series of vertices, optional
        Use these sources; scaled like `k` sources.
    normalized : bool
        Divide by the number of pairs of vertices that there are.
    weighted : bool
        Whether the length of a path is the sum of its weights, which must be above 0, or else
        the number of its edges. Lengths that differ by less than 1e-9 of them are equal.
    endpoints : bool
        Whether a path also leads through its ends.
    seed : int, optional
        Of the choice of `k` sources, which depends on it and on the sorted ids alone. Where the
        nodes of a networkx graph are in ascending order, networkx chooses the same.

    Returns
    -------
    dask DataFrame
        Columns vertex; betweenness: float64, scaled as in networkx 3.6. With one source and
        without `endpoints` nothing is known of the source itself: NaN.

    Raises
    ------
    VertexNotFoundError
        If one of `sources` is not a vertex; names it.
    EdgeValueError
        If `weighted` and a weight is not above 0; names an edge.
    OptionError
        If `k` is not between 1 and the number of vertices, if both `k` and `sources` are given,
        or if `sources` is empty.

    Notes
    -----
    The same graph gives the same bits on any slots; networkx, which adds in another sequence,
    finds other last bits. Path counts of any size are right. A share of a path below about
    1e-18 is lost on a graph of 2**24 vertices, 1e-22 on one of 2**14. Memory for about 30 MiB
    of sources, at least one, is taken on every slot.

    References
    ----------
    Brandes: A faster algorithm for betweenness centrality, Journal of Mathematical Sociology
    25(2), 2001, doi:10.1080/0022250X.2001.9990249

    Examples
    --------
    >>> import dgraph as dg
    >>> g = dg.from_edges(np.array([[1, 2], [2, 3], [2, 4], [4, 5]]))
    >>> found = betweenness_centrality(g, normalized=False).compute()
    >>> found.sort_values("vertex", ignore_index=True)
       vertex  betweenness
    0       1          0.0
    1       2          5.0
    2       3          0.0
    3       4          3.0
    4       5          0.0
    """
    check_graph(g)
    flags = {"normalized": normalized, "weighted": weighted, "endpoints": endpoints}
    found: DataFrame = run_algorithm(
        g,
        "betweenness_centrality",
        betweenness_slot,
        _choose(g, k, sources, optional_integer("seed", seed)),
        *(flag(name, value) for name, value in flags.items()),
        columns={"betweenness": "float64"},
    )
    return found


def _choose(g: Graph, k: int | None, sources: Any, seed: int | None) -> Ids | Sample | None:
    """Check the options that say which sources to use."""
    if sources is not None:
        if k is not None:
            raise OptionError(
                "k must be left out where sources is given, or the other way round, not k="
                f"{k} with sources"
            )
        return as_sources(sources, g.id_dtype)
    n = g.num_vertices
    also = ", the number of vertices, or None"
    if k is None or (count := integer("k", k, min(1, n), n, also)) == n:
        return None
    return Sample(count, secrets.randbits(64) if seed is None else seed)
