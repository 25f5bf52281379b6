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

Cost: supersteps: levels + changes from top-down to bottom-up + 1. Messages: one a proxy at most
in all top-down levels together, one bit a proxy in a bottom-up level.

References
----------
.. [1] S. Beamer, K. Asanovic, D. Patterson: Direction-optimizing breadth-first search, SC 2012,
   doi:10.1109/SC.2012.50
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numba as nb
import numpy as np
from numpy.typing import NDArray

from dgraph.arguments import as_sources, optional_integer
from dgraph.engine.columns import Column, Neighbours, Nullable
from dgraph.engine.context import Context
from dgraph.engine.translate import masters_of
from dgraph.graph import Graph, check_graph, run_algorithm
from dgraph.results import NULLABLE_VERTEX
from dgraph.shard import Shard
from dgraph.shard.bits import lowest, set_bits, words
from dgraph.shard.rows import rows_of
from dgraph.vertices.ids import Ids

if TYPE_CHECKING:
    from dask.dataframe import DataFrame

__all__ = ["ALPHA", "BETA", "bfs", "bfs_slot"]

#: Beamer's parameters, as in the GAP Benchmark Suite.
ALPHA = 15
BETA = 18

Array = NDArray[Any]
Bits = NDArray[np.uint64]
_ONE = np.uint64(1)
_SIX = np.uint64(6)
_LOW = np.uint64(63)
_ALL = ~np.uint64(0)


class Search(NamedTuple):
    """What a slot knows in the course of a search.

    Parameters
    ----------
    level, parent : arrays over the masters
    seen : bitmap over the local ids
        Masters that are visited or that no edge leads to; proxies that were found here.
    front : bitmap over the local ids
        The frontier. Its proxies are up to date only while the search goes bottom-up.
    filled : bitmap over the words that masters have in `front`
        Those that are not zero: walks a frontier in ascending order at the price of its length.
    queue : int32 array
        Room for the frontier as a list.
    found, found_by : arrays
        Room for the proxies that a top-down step finds, and for the ranks of their parents.
    """

    level: NDArray[np.int32]
    parent: Array
    seen: Bits
    front: Bits
    filled: Bits
    queue: NDArray[np.int32]
    found: NDArray[np.int32]
    found_by: Array


async def bfs_slot(
    ctx: Context, shard: Shard, sources: Ids, depth_limit: int | None = None
) -> dict[str, Column]:
    """Search from `sources`, at most `depth_limit` levels deep; see :func:`bfs`."""
    ctx.stage = "sources"
    _, here = await masters_of(ctx, shard, sources)
    s = _begin(ctx, shard, here)
    out = rows_of(shard.out)
    met = nothing = s.found[:0], s.found_by[:0]  # what other slots have found of mine
    limit = shard.num_vertices if depth_limit is None else depth_limit
    depth, awake, edges, unexplored = 0, len(sources), 0, _arcs(shard)
    mean = unexplored // max(shard.num_vertices, 1)
    while awake and depth < limit:
        if edges * ALPHA > unexplored:
            settle(*met, depth, s)
            met, edges = nothing, 1
            depth, awake = await _bottom_up_levels(ctx, shard, s, depth, awake, limit)
        else:
            ctx.stage = "top-down"
            depth += 1
            mine, sent, edges, pushed = top_down(*met, depth, s, out, shard.rank, mean)
            vote, found = (mine + sent, edges, pushed), (s.found[:sent], s.found_by[:sent])
            met = await ctx.reduce(shard, *found, vote, work=edges)
            awake, edges, pushed = ctx.vote.tolist()
            unexplored -= pushed
    settle(*met, depth, s)
    return {
        "distance": Nullable(s.level, s.level < 0),
        "predecessor": Neighbours(s.parent),
    }


async def _bottom_up_levels(
    ctx: Context, shard: Shard, s: Search, depth: int, awake: int, limit: int
) -> tuple[int, int]:
    """Go bottom-up while the frontier is large; return the depth and the frontier's size."""
    ctx.stage = "bottom-up"
    front, following = s.front, np.zeros_like(s.front)
    into, work = rows_of(shard.into), shard.into.targets.size
    await ctx.broadcast_bits(shard, front, work=work)
    while depth < limit:
        depth += 1
        before = awake
        mine = bottom_up(front, following, depth, s, into)
        front, following = following, front
        await ctx.broadcast_bits(shard, front, vote=(mine,), work=work)
        awake = int(ctx.vote[0])
        if awake == 0 or (awake < before and awake <= shard.num_vertices // BETA):
            break
    s.front[:] = front
    return depth, awake


def _begin(ctx: Context, shard: Shard, sources: NDArray[np.int32]) -> Search:
    """Return the state in which only the sources are visited."""
    masters, proxies = shard.masters, shard.size - shard.masters
    ranks = shard.rank.dtype
    s = Search(
        level=ctx.scratch(shard, masters, np.int32),
        parent=ctx.scratch(shard, masters, ranks),
        seen=_unreachable(shard),
        front=np.zeros(words(shard.size), np.uint64),
        filled=np.zeros(words(words(masters)), np.uint64),
        queue=ctx.scratch(shard, masters, np.int32),
        found=ctx.scratch(shard, proxies, np.int32),
        found_by=ctx.scratch(shard, proxies, ranks),
    )
    s.level.fill(-1)
    s.parent.fill(-1)
    s.level[sources] = 0
    for bits, members in (s.seen, sources), (s.front, sources), (s.filled, sources >> 6):
        set_bits(bits, members)
    return s


def _unreachable(shard: Shard) -> Bits:
    """Return the bitmap of the masters at the end that no edge leads to, and the padding."""
    offsets, masters = shard.into.offsets, shard.masters
    bits = np.zeros(words(shard.size), np.uint64)
    first = int(np.searchsorted(offsets, offsets[-1]))
    bits[first >> 6 : words(masters)] = _ALL
    if first & 63 and masters:
        bits[first >> 6] = _ALL << np.uint64(first & 63)
    return bits


def _arcs(shard: Shard) -> int:
    """Return about how many edges top-down levels could push along in all."""
    return shard.num_edges if shard.directed else 2 * shard.num_edges


@nb.njit(nogil=True, cache=True)
def settle(met, ranks, depth, s):  # type: ignore[no-untyped-def]
    """Take what other slots have found at `depth`: of several parents the first by rank."""
    for i in range(met.size):
        v = np.uint64(met[i])
        code = -2 - ranks[i]
        if s.level[v] < 0:
            visit(v, code, depth, s)
        elif s.level[v] == depth and code > s.parent[v]:
            s.parent[v] = code


@nb.njit(nogil=True, cache=True)
def visit(v, code, depth, s):  # type: ignore[no-untyped-def]
    """Let `v` be in the next frontier."""
    s.level[v] = depth
    s.parent[v] = code
    add(s.seen, v)
    add(s.front, v)
    add(s.filled, v >> _SIX)


@nb.njit(nogil=True, cache=True)
def add(bits, v):  # type: ignore[no-untyped-def]
    """Set the bit of `v`, which is unsigned: that saves a test for indices from the end."""
    bits[v >> _SIX] |= _ONE << (v & _LOW)


@nb.njit(nogil=True, cache=True)
def has(bits, v):  # type: ignore[no-untyped-def]
    """Tell whether the bit of `v` is set."""
    return (bits[v >> _SIX] >> (v & _LOW)) & _ONE


@nb.njit(nogil=True, cache=True)
def drain(s):  # type: ignore[no-untyped-def]
    """Move the frontier from the bitmap to the queue, ascending; return its length."""
    length = 0
    for i in range(s.filled.size):
        while s.filled[i]:
            word = (i << 6) + lowest(s.filled[i])
            bits, s.front[word] = s.front[word], 0
            while bits:
                s.queue[length] = (word << 6) + lowest(bits)
                length += 1
                bits &= bits - _ONE
            s.filled[i] &= s.filled[i] - _ONE
    return length


@nb.njit(nogil=True, cache=True)
def top_down(met, ranks, depth, s, out, rank, mean):  # type: ignore[no-untyped-def]
    """Settle the level before `depth`, then push from it along the out-edges.

    Returns how many masters and proxies were found, about how many edges these have, and how
    many edges were pushed along.
    """
    settle(met, ranks, depth - 1, s)
    mine, found, edges, pushed = 0, 0, np.int64(0), np.int64(0)
    for i in range(drain(s)):
        u = s.queue[i]
        pushed += np.int64(out.offsets[u + 1] - out.offsets[u])
        for j in range(out.offsets[u], out.offsets[u + 1]):
            v = np.uint64(out.targets[j])
            if has(s.seen, v):
                continue
            if v < np.uint64(s.level.size):
                visit(v, -2 - rank[u], depth, s)
                mine += 1
                edges += np.int64(out.offsets[v + _ONE] - out.offsets[v])
            else:
                add(s.seen, v)
                s.found[found] = v
                s.found_by[found] = rank[u]
                found += 1
    # proxies have about as many edges as the masters found with them
    edges += found * (edges // mine if mine else mean)
    return mine, found, edges, pushed


@nb.njit(nogil=True, cache=True)
def bottom_up(front, following, depth, s, into):  # type: ignore[no-untyped-def]
    """Let every unseen master look for its first in-neighbour in `front`.

    Rows are in ascending rank, so the first is the one that the vertex order wants.
    """
    found, masters = 0, (s.level.size + 63) >> 6
    for word in range(masters, front.size):  # never push to proxies of the frontier
        s.seen[word] |= front[word]
    s.filled[:] = 0
    for word in range(masters):
        unseen = ~s.seen[word]
        new = np.uint64(0)
        while unseen:
            v = (word << 6) + lowest(unseen)
            for j in range(into.offsets[v], into.offsets[v + 1]):
                u = np.uint64(into.targets[j])
                if has(front, u):
                    s.level[v] = depth
                    s.parent[v] = u
                    new |= unseen & (~unseen + _ONE)
                    found += 1
                    break
            unseen &= unseen - _ONE
        following[word] = new
        s.seen[word] |= new
        if new:
            add(s.filled, np.uint64(word))
    return found


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
