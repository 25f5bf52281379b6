"""Breadth-first search where rows are split over slots.

Top-down, a heavy vertex of the frontier is announced to the slots that have pieces of its row,
and these push along them. Bottom-up, a slot looks for the first in-neighbour in its piece as
the owner does in its own, and tells the owner, who takes the first of all. Either is a second
superstep of the level, and left out where no heavy vertex is concerned.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from dgraph.algorithms._levels import Progress
from dgraph.algorithms._search import Search, add, bottom_up, drain, has, settle, top_down
from dgraph.engine.context import Context
from dgraph.engine.parts import from_some, to_pieces
from dgraph.kernels import kernel
from dgraph.shard import Shard, Split
from dgraph.shard.bits import set_bits
from dgraph.shard.rows import rows_of

__all__ = ["search_with_pieces"]

Array = NDArray[Any]
_ONE = np.uint64(1)
_SIX = np.uint64(6)


async def search_with_pieces(
    ctx: Context,
    shard: Shard,
    s: Search,
    now: Progress,
    first: NDArray[np.uint32],
    bounds: tuple[int, int, int],
) -> int:
    """Search from the frontier; return the depth. The supersteps are those of `bfs`.

    Parameters
    ----------
    now : Progress
    first : uint32 array over the masters
        The first entry of each one's row.
    bounds : ALPHA, BETA, and the largest depth
    """
    split = shard.out_split
    assert split is not None
    alpha, _, limit = bounds
    out, mean = rows_of(shard.out), now.unexplored // max(shard.num_vertices, 1)
    met = nothing = s.found[:0], s.found_by[:0]
    depth, awake, edges, unexplored = now
    heavy = 1  # how many of the frontier, if it is known
    while awake and depth < limit:
        if edges * alpha > unexplored:
            settle(*met, depth, s)
            met, edges, heavy = nothing, 1, 1
            depth, awake = await _bottom_up_levels(ctx, shard, s, depth, awake, first, bounds)
            continue
        ctx.stage = "top-down"
        depth += 1
        if heavy:
            counts = await push_all(ctx, shard, split, met, depth, s, mean)
        else:
            counts = top_down(*met, depth, s, out, shard.rank, mean)
        mine, sent, edges, pushed = counts
        vote = mine + sent, edges, pushed, heavy_found(split, s, depth, sent)
        found = s.found[:sent], s.found_by[:sent]
        met = await ctx.reduce(shard, *found, vote, work=max(sent, edges), combine="min")
        awake, edges, pushed, heavy = ctx.vote.tolist()
        unexplored -= pushed
    settle(*met, depth, s)
    return depth


async def _bottom_up_levels(
    ctx: Context,
    shard: Shard,
    s: Search,
    depth: int,
    awake: int,
    first: NDArray[np.uint32],
    bounds: tuple[int, int, int],
) -> tuple[int, int]:
    """Go bottom-up while the frontier is large; return the depth and the frontier's size."""
    ctx.stage = "bottom-up"
    split, (_, beta, limit) = shard.into_split, bounds
    assert split is not None
    front, following = s.front, ctx.scratch(shard, s.front.size, np.uint64)
    into = rows_of(shard.into)
    # who was visited before is known where the pieces are: from top-down levels, or as a proxy
    # in a frontier; else the owner passes over what is found
    await ctx.broadcast_bits(shard, front, vote=(int(unseen(split.heavy, s)),))
    left = int(ctx.vote[0])
    while depth < limit:
        depth += 1
        before = awake
        mine, lost = bottom_up(front, following, depth, s, into, first)
        if left:
            mine += await find_in_pieces(ctx, shard, split, front, following, depth, s)
        vote = mine, int(unseen(split.heavy, s))
        front, following = following, front
        await ctx.broadcast_bits(shard, front, vote=vote, work=lost + s.front.size)
        awake, left = ctx.vote.tolist()
        if awake == 0 or (awake < before and awake <= shard.num_vertices // beta):
            break
    s.front[:] = front
    return depth, awake


def heavy_found(split: Split, s: Search, depth: int, sent: int) -> int:
    """Count the heavy vertices among the masters and proxies that a level has found."""
    mine = np.count_nonzero(at_level(split.heavy, depth, s))
    found = s.found[:sent]
    return int(mine + count_set(split.bits, found))


async def push_all(
    ctx: Context,
    shard: Shard,
    split: Split,
    met: tuple[Array, Array],
    depth: int,
    s: Search,
    mean: int,
) -> tuple[int, int, int, int]:
    """Do a top-down level whose frontier has heavy vertices.

    Returns what :func:`~dgraph.algorithms._search.top_down` does.
    """
    settle(*met, depth - 1, s)
    pieces, _ = await to_pieces(ctx, shard, split, at_level(split.heavy, depth - 1, s))
    set_bits(s.seen, split.vertices[pieces])
    pieces = pieces[np.argsort(shard.rank[split.vertices[pieces]])]
    found: tuple[int, int, int, int] = push(
        s,
        depth,
        rows_of(shard.out),
        rows_of(split.rows),
        split.vertices,
        pieces,
        shard.rank,
        mean,
    )
    return found


async def find_in_pieces(
    ctx: Context,
    shard: Shard,
    split: Split,
    front: Array,
    following: Array,
    depth: int,
    s: Search,
) -> int:
    """Look for the first in-neighbours in the frontier in all pieces; return how many visited.

    Parameters
    ----------
    front : bitmap over the local ids
    following : bitmap
        The next frontier.
    """
    hit = np.zeros(split.vertices.size, np.bool_)
    ranks = np.empty(hit.size, shard.rank.dtype)
    look_in_pieces(front, s.seen, rows_of(split.rows), split.vertices, shard.rank, hit, ranks)
    met = await from_some(ctx, shard, split, hit, ranks)
    return int(adopt(*met, shard.rank, depth, following, s))


@kernel
def at_level(vertices, depth, s):  # type: ignore[no-untyped-def]
    """Say which masters were visited at a depth; of one not seen the level is nothing."""
    found = seen_of(vertices, s)
    for i in range(found.size):
        found[i] &= s.level[vertices[i]] == depth
    return found


@kernel
def seen_of(vertices, s):  # type: ignore[no-untyped-def]
    """Say which vertices are seen."""
    found = np.zeros(vertices.size, np.bool_)
    for i in range(found.size):
        found[i] = has(s.seen, np.uint64(vertices[i])) != 0
    return found


@kernel
def unseen(vertices, s):  # type: ignore[no-untyped-def]
    """Count the vertices that are not seen."""
    return vertices.size - np.count_nonzero(seen_of(vertices, s))


@kernel
def count_set(bits, vertices):  # type: ignore[no-untyped-def]
    """Count the vertices whose bits are set."""
    count = 0
    for v in vertices:
        if has(bits, np.uint64(v)):
            count += 1
    return count


@kernel
def push(s, depth, out, more, vertices, pieces, rank, mean):  # type: ignore[no-untyped-def]
    """Push along the out-edges of the frontier and of some pieces, by ascending rank."""
    length = drain(s)
    totals = np.zeros(4, np.int64)  # masters found, proxies found, edges of these, pushed
    i, k = 0, 0
    while i < length or k < pieces.size:
        if k == pieces.size or (i < length and rank[s.queue[i]] < rank[vertices[pieces[k]]]):
            u = np.uint64(s.queue[i])
            push_row(s, depth, out, u, rank[u], out.offsets, totals)
            i += 1
        else:
            piece = np.uint64(pieces[k])
            push_row(s, depth, more, piece, rank[vertices[piece]], out.offsets, totals)
            k += 1
    mine, found, edges, pushed = totals[0], totals[1], totals[2], totals[3]
    edges += found * (edges // mine if mine else mean)
    return mine, found, edges, pushed


@kernel
def push_row(s, depth, rows, row, rank, offsets, totals):  # type: ignore[no-untyped-def]
    masters = np.uint64(s.level.size)
    begin, end = rows.offsets[row], rows.offsets[row + _ONE]
    totals[3] += np.int64(end - begin)
    for j in range(begin, end):
        v = np.uint64(rows.targets[j])
        if has(s.seen, v):
            continue
        add(s.seen, v)
        if v < masters:
            s.level[v] = depth
            s.parent[v] = -2 - rank
            add(s.front, v)
            add(s.filled, v >> _SIX)
            totals[0] += 1
            totals[2] += np.int64(offsets[v + _ONE] - offsets[v])
        else:
            s.found[totals[1]] = v
            s.found_by[totals[1]] = rank
            totals[1] += 1


@kernel
def look_in_pieces(front, seen, rows, vertices, rank, hit, ranks):  # type: ignore[no-untyped-def]
    """Say which unseen vertices have an in-neighbour in the frontier, and the first's rank."""
    for piece in range(vertices.size):
        if has(seen, np.uint64(vertices[piece])):
            continue
        for j in range(rows.offsets[piece], rows.offsets[piece + 1]):
            u = np.uint64(rows.targets[j])
            if has(front, u):
                hit[piece], ranks[piece] = True, rank[u]
                break


@kernel
def adopt(met, ranks, rank, depth, following, s):  # type: ignore[no-untyped-def]
    """Visit what has been found in pieces; return how many were not visited before."""
    found = 0
    for i in range(met.size):
        v = np.uint64(met[i])
        if not has(s.seen, v):
            s.level[v] = depth
            s.parent[v] = -2 - ranks[i]
            add(s.seen, v)
            add(following, v)
            add(s.filled, v >> _SIX)
            found += 1
        elif s.level[v] == depth:
            parent = np.int64(s.parent[v])
            if ranks[i] < (rank[parent] if parent >= 0 else -2 - parent):
                s.parent[v] = -2 - ranks[i]
    return found
