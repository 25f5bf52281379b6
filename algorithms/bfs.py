"""Breadth-first search that changes direction, after Beamer, Asanovic and Patterson [1]_.

Returned are, for every vertex, its distance (edges on a shortest path along out-edges from the
nearest source) and its predecessor: of all in-neighbours that are one step nearer, the first in
the vertex order. Both are thereby defined whatever the slots, the placement and the direction.

A search goes level by level, one superstep a level::

    top-down    every frontier vertex pushes to its out-neighbours; what it finds of other
                slots' vertices goes to their owners (reduce)
    bottom-up   every unvisited vertex looks for its first in-neighbour in the frontier, a
                bitmap that every slot has of the vertices its edges touch (broadcast)

Top-down costs the edges of the frontier, bottom-up a part of those of the unvisited. Bottom-up
begins when the frontier has more than 1 / `ALPHA` of the edges not yet explored, and ends when
the frontier shrinks below 1 / `BETA` of the vertices. What a slot votes on with its frames is
how many vertices it has found and about how many edges these have, so every slot knows the next
direction without another superstep.

Encodings: `level` int32, -1 unvisited. `parent`, of the dtype of ranks: -1 none; ``v >= 0`` the
local id v (bottom-up, where it is at hand); ``-2 - r`` the in-neighbour of rank r (top-down,
where it may lie on another slot). Of several codes the largest is the smallest rank.

If all slots are on one host, and each has a thread and a core, they go through all levels in
compiled code (:mod:`dgraph.algorithms._search_abreast`). Else each level is a superstep of the
engine (:mod:`dgraph.algorithms._by_frames`). With fewer threads in one process, one of them
does it for all while there is little to do (:mod:`dgraph.algorithms._together`). Where rows are
split over slots, a level may take two supersteps (:mod:`dgraph.algorithms._pieces`).

Cost: supersteps: levels + changes from top-down to bottom-up + 1, and one more whenever one
slot begins to act for all; where they are slow up to four less, see
:mod:`dgraph.algorithms._afar`. Messages: one a proxy at most in all top-down levels together,
one bit a proxy in a bottom-up level.

References
----------
.. [1] S. Beamer, K. Asanovic, D. Patterson: Direction-optimizing breadth-first search, SC 2012,
   doi:10.1109/SC.2012.50
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from dgraph.algorithms._afar import Afar, spares_supersteps
from dgraph.algorithms._by_frames import search_by_frames
from dgraph.algorithms._first import first_neighbours
from dgraph.algorithms._levels_abreast import Rules
from dgraph.algorithms._search import (
    Search,
    forget,
    leave_out,
    start,
)
from dgraph.algorithms._search_abreast import (
    NearRoom,
    Room,
    can_go_abreast,
    in_common,
    make_near_room,
    make_room,
    near_wishes,
    search_abreast,
    search_near,
)
from dgraph.arguments import optional_integer
from dgraph.engine.columns import Column, Neighbours, Nullable
from dgraph.engine.commons import Common, claim_commons
from dgraph.engine.context import Context
from dgraph.engine.telling import all_told
from dgraph.engine.translate import masters_of, named_here, refuse_missing
from dgraph.graph import Graph, check_graph, run_algorithm
from dgraph.keywords import named
from dgraph.named_ids import as_sources
from dgraph.results import NULLABLE_VERTEX
from dgraph.shard import Shard
from dgraph.shard.bits import words
from dgraph.shard.scratch import fresh
from dgraph.vertices.ids import Ids, IntIds

if TYPE_CHECKING:
    from dask.dataframe import DataFrame

__all__ = ["ALPHA", "BETA", "bfs", "bfs_slot"]

#: Beamer's parameters, as in the GAP Benchmark Suite.
ALPHA = 15
BETA = 18

Array = NDArray[Any]


async def bfs_slot(
    ctx: Context, shard: Shard, sources: Ids, depth_limit: int | None = None
) -> dict[str, Column]:
    """Search from `sources`, at most `depth_limit` levels deep; see :func:`bfs`."""
    ctx.stage = "sources"
    vertices = shard.num_vertices
    limit = vertices if depth_limit is None else min(depth_limit, vertices)
    counts = len(sources), vertices, _reachable(shard), _mean_degree(shard), _arcs(shard)
    rules = Rules(limit, ALPHA, BETA, *counts)
    abreast = can_go_abreast(shard)
    if abreast and ctx.meeting is not None:
        room = ctx.borrow(shard, "search", lambda: _room(shard))
        await search_abreast(ctx, shard, room, sources, rules)
        s = room.search
    else:
        s = await _search_apart(ctx, shard, sources, rules, may_meet=abreast)
    return {"distance": Nullable(s.level), "predecessor": Neighbours(s.parent)}


async def _search_apart(
    ctx: Context, shard: Shard, sources: Ids, rules: Rules, *, may_meet: bool
) -> Search:
    """Search by slots of several processes, or without a core for each."""
    if rules.limit and spares_supersteps(ctx, shard, sources):
        return await _search_afar(ctx, shard, sources, rules)
    few = (rules.sources - 1) * rules.mean  # the edges of one source are all on one slot
    with claim_commons(ctx, shard, wanted=may_meet) as claim:
        work = None if claim.vote else few
        _, here = await masters_of(ctx, shard, sources, work, claim.vote)
        common = await claim.take(ctx.vote[1:], lambda: near_wishes(ctx, shard))
        if common is not None:
            room = claim.keep("search", lambda: _near_room(ctx, shard, common))
            return await search_near(ctx, shard, room, here, rules)
    s, _ = await _search_from(ctx, shard, here, rules)
    return s


async def _search_afar(ctx: Context, shard: Shard, sources: Ids, rules: Rules) -> Search:
    """Search where supersteps are slow, in fewer."""
    assert ctx.gateways is not None
    assert isinstance(sources, IntIds)
    here = named_here(shard, sources)
    outlook = await ctx.gateways.outlook(shard)
    numbers = await ctx.gateways.numbers(shard)
    if ctx.gateways.network.may_tell(0):
        all_told(shard, numbers.bases, numbers.placed)  # made ready
    afar = Afar(here.size, numbers.total, outlook, shard.directed, shard.masters)
    s, are_vertices = await _search_from(ctx, shard, here, rules, afar)
    if not are_vertices:
        await refuse_missing(ctx, shard, sources)
    return s


async def _search_from(
    ctx: Context, shard: Shard, here: Array, rules: Rules, afar: Afar | None = None
) -> tuple[Search, bool]:
    """Search from the sources that this slot owns; see :func:`search_by_frames`."""
    s = _search_in(shard, lambda *form: ctx.scratch(shard, *form))
    forget(s, rules.reachable)
    start(s, here)
    first = partial(first_neighbours, shard)
    are_vertices = await search_by_frames(ctx, shard, s, rules, first, afar)
    leave_out(s, rules.reachable)
    return s, are_vertices


def _room(shard: Shard) -> Room:
    return make_room(shard, _search_in(shard, fresh), first_neighbours(shard))


def _near_room(ctx: Context, shard: Shard, common: Common) -> NearRoom:
    search, nothing = _search_in(shard, fresh, in_common(ctx, common)), np.zeros(0, np.int32)
    search = search._replace(level=nothing, parent=nothing)
    return make_near_room(ctx, shard, common, search, first_neighbours(shard))


def _search_in(
    shard: Shard, make: Callable[[int, Any], Array], told: tuple[Array, ...] | None = None
) -> Search:
    """Return a search with arbitrary contents, in arrays that `make` makes.

    Those that other processes look at may be there: `told`, see `in_common`.
    """
    masters, proxies, ranks = shard.masters, shard.size - shard.masters, shard.rank.dtype
    if told is None:
        front = make(words(shard.size), np.uint64)
        told = make(proxies, np.int32), make(proxies, ranks), front
    found, found_by, front = told
    return Search(
        level=make(masters, np.int32),
        parent=make(masters, ranks),
        seen=make(words(shard.size), np.uint64),
        front=front,
        filled=make(words(words(masters)), np.uint64),
        queue=make(masters, np.int32),
        found=found,
        found_by=found_by,
    )


def _reachable(shard: Shard) -> int:
    """Return from which master on no edge leads to any; kept."""
    found: int | None = shard.derived.get("reachable")
    if found is None:
        offsets = shard.into.offsets
        found = shard.derived["reachable"] = int(np.searchsorted(offsets, offsets[-1]))
    return found


def _mean_degree(shard: Shard) -> int:
    return _arcs(shard) // max(shard.num_vertices, 1)


def _arcs(shard: Shard) -> int:
    """Return about how many edges top-down levels could push along in all."""
    return shard.num_edges if shard.directed else 2 * shard.num_edges


@named
def bfs(g: Graph, source: Any, *, depth_limit: int | None = None) -> DataFrame:
    """Search breadth-first along out-edges, from one vertex or several.

    Parameters
    ----------
    g : Graph
    source : vertex, or list, array or Series of vertices
        With several, distances are to the nearest.
    depth_limit : int, optional
        The largest distance to look at. Default: none.

    Returns
    -------
    dask DataFrame
        A row per vertex: vertex; distance, Int64, <NA> if it was not reached; predecessor, of
        the in-neighbours one step nearer the first in the vertex order (higher degree first,
        then smaller id), <NA> for sources and for what was not reached.

    Raises
    ------
    VertexNotFoundError
        If a source is not a vertex; names it.
    OptionError
        If there is no source, or `depth_limit` is negative.

    Notes
    -----
    Deterministic, whatever the slots and the placement. One superstep a level.

    References
    ----------
    Beamer, Asanovic, Patterson: Direction-optimizing breadth-first search, SC 2012,
    doi:10.1109/SC.2012.50

    Examples
    --------
    >>> import dgraph as dg
    >>> g = dg.from_edges(np.array([[1, 2], [2, 3], [8, 9]]))
    >>> bfs(g, 1).compute().sort_values("vertex", ignore_index=True).head(3)
       vertex  distance  predecessor
    0       1         0         <NA>
    1       2         1            1
    2       3         2            2
    """
    check_graph(g)
    limit = optional_integer("depth_limit", depth_limit, 0)
    found: DataFrame = run_algorithm(
        g,
        "bfs",
        bfs_slot,
        as_sources(source, g.id_dtype),
        limit,
        columns={"distance": "Int64", "predecessor": NULLABLE_VERTEX},
    )
    return found
