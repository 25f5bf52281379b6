"""Levels of a breadth-first search in which one slot pushes for all."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from dgraph.algorithms._addresses import array_at
from dgraph.algorithms._search import Search, search_at, settle, top_down
from dgraph.algorithms._together import Done, Everything, act_for_all, take_of
from dgraph.engine.context import Context
from dgraph.exchange.hub import TINY
from dgraph.kernels import kernel
from dgraph.shard import Shard
from dgraph.shard.rows import Rows, rows_of

__all__ = ["Progress", "can_push_together", "push_together"]


class Progress(NamedTuple):
    """How far a search is, the same on all slots.

    Parameters
    ----------
    depth : int
    awake : int
        Length of the frontier, or more.
    edges : int
        About how many edges the frontier has.
    unexplored : int
        About how many edges have not been pushed along.
    """

    depth: int
    awake: int
    edges: int
    unexplored: int


def can_push_together(ctx: Context, s: Search) -> bool:
    """Tell whether one slot may act for all; the same on all slots."""
    return bool(ctx.companions) and s.parent.dtype == np.int32


async def push_together(
    ctx: Context, shard: Shard, s: Search, now: Progress, limit: int, alpha: int
) -> Progress:
    """Go top-down while there is little to do: one superstep a level, and one before them.

    Everything is settled when this is called, and when it returns.
    """
    mean = now.unexplored // max(shard.num_vertices, 1)

    def act(everything: Everything) -> Done:
        found = Progress(*_push(everything, *now, mean, limit, alpha))
        # bottom-up begins with little
        work = 0 if found.edges * alpha > found.unexplored else found.edges
        return Done(found, found.depth - now.depth, work)

    arrays = (*s, *rows_of(shard.out), shard.rank)
    votes = await act_for_all(ctx, shard, arrays, act, len(now), [np.int32])
    return Progress(*votes.tolist())


@kernel
def _push(everything, depth, awake, edges, unexplored, mean, limit, alpha):  # type: ignore[no-untyped-def]
    """Do levels; return how far the search is, and enter what each slot told each other."""
    arrays, routes, vertices, sent = everything
    slots = arrays.shape[0]
    lengths, ranks = np.zeros(slots, np.int64), np.empty_like(vertices)
    for level in range(sent.shape[0]):
        depth += 1
        awake = edges = 0
        for slot in range(slots):
            row = arrays[slot]
            s, rank = search_at(row), array_at(row, 10, np.int32)
            out = Rows(array_at(row, 8, np.uint64), array_at(row, 9, np.uint32))
            none = s.found[:0], s.found_by[:0]
            mine, lengths[slot], more, pushed = top_down(*none, depth, s, out, rank, mean)
            awake += mine + lengths[slot]
            edges += more
            unexplored -= pushed
        for slot in range(slots):
            s, length = search_at(arrays[slot]), lengths[slot]
            found, found_by = s.found[:length], s.found_by[:length]
            for owner in range(slots):
                if owner != slot and length:
                    count = take_of(found, found_by, routes[slot, owner], vertices, ranks)
                    settle(vertices[:count], ranks[:count], depth, search_at(arrays[owner]))
                    sent[level, slot, owner] = count
        if not awake or depth == limit or edges * alpha > unexplored or edges >= TINY:
            break
    return depth, awake, edges, unexplored
