"""Levels of a breadth-first search in which all slots of one process have little to do.

On a road network a search has thousands of levels of a few hundred edges. Each would cost a
step of Python on every slot, several times what the edges cost. So if a run has all its slots
in one process, and they go top-down with little to do, one of them does it for all::

    slot 0   shows its arrays ─┐        ┌ level, level, level ... ┐       ┌ goes on
    slot 1   shows its arrays ─┴ vote ──┴ waits ──────────────────┴ vote ─┴ goes on

It does just what the slots would have done: every level is a superstep, in which each slot
pushes from its part of the frontier, and then every owner takes what others have found. The
record counts the messages as if they had been sent.
"""

from __future__ import annotations

from time import perf_counter
from typing import Any, NamedTuple

import numba as nb
import numpy as np
from numba import carray, types  # type: ignore[attr-defined]
from numba.core import cgutils
from numba.extending import intrinsic
from numpy.typing import NDArray

from dgraph.algorithms._search import Search, settle_one, top_down
from dgraph.engine.context import Context
from dgraph.exchange.frame import Frame
from dgraph.exchange.hub import TINY
from dgraph.exchange.request import Inner
from dgraph.shard import Shard
from dgraph.shard.rows import Rows, rows_of

__all__ = ["Progress", "can_push_together", "push_together"]

#: Levels after which the slots look whether the run was cancelled.
LEVELS = 512

#: What one slot would send another: the places of vertices, and the ranks of their parents.
FRAME = Frame(0, 1, (np.zeros(0, np.int32), np.zeros(0, np.int32)), 0)
MESSAGE = 8

Array = NDArray[Any]


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


class Shown(NamedTuple):
    """What a slot shows the one that acts for it."""

    search: Search
    shard: Shard


def can_push_together(ctx: Context, s: Search) -> bool:
    """Tell whether one slot may act for all; the same on all slots."""
    return bool(ctx.companions) and s.parent.dtype == np.int32


async def push_together(
    ctx: Context, shard: Shard, s: Search, now: Progress, limit: int, alpha: int
) -> Progress:
    """Go top-down while there is little to do: one superstep a level, and one before them.

    Everything is settled when this is called, and when it returns.
    """
    shown = await ctx.show(Shown(s, shard))
    if ctx.slot:
        await ctx.allreduce((0, 0, 0, 0), work=0)
    else:
        began = perf_counter()
        sent = np.zeros((LEVELS, ctx.slots, ctx.slots), np.int64)
        mean = now.unexplored // max(shard.num_vertices, 1)
        found = _push(*_tables(shown), *now, mean, limit, alpha, sent)
        levels = found[0] - now.depth
        inner = Inner(sent[:levels], FRAME.nbytes, MESSAGE, perf_counter() - began)
        work = 0 if found[2] * alpha > found[3] else found[2]  # bottom-up begins with little
        await ctx.allreduce(found, work=work, inner=inner)
    return Progress(*ctx.vote.tolist())


def _tables(shown: list[Shown]) -> tuple[Array, Array]:
    """Return where all arrays are.

    Returns
    -------
    arrays : int64 array of shape (slots, 2, 11)
        Address and length of every array of `Search`, of the rows, and of the ranks.
    routes : int64 array of shape (slots, slots, 3)
        For a slot and an owner: where the group of that owner begins, how long it is, and the
        address of what the owner calls its vertices.
    """
    slots = len(shown)
    arrays = [[*some.search, *rows_of(some.shard.out), some.shard.rank] for some in shown]
    table = [[[a.ctypes.data for a in row], [a.size for a in row]] for row in arrays]
    routes = np.zeros((slots, slots, 3), np.int64)
    for slot, (_, shard) in enumerate(shown):
        routes[slot, :, 0] = shard.group_start
        routes[slot, :, 1] = shard.group_size
        routes[:, slot, 2] = [some.ctypes.data for some in shard.shared]
    return np.array(table, np.int64), routes


@intrinsic
def _pointer(typing_context: Any, address: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.inttoptr(arguments[0], cgutils.voidptr_t)

    return types.voidptr(address), generate


@nb.njit(nogil=True, cache=True, inline="always")
def _at(row, column, dtype):  # type: ignore[no-untyped-def]
    return carray(_pointer(row[0, column]), (row[1, column],), dtype)  # type: ignore[call-arg]


@nb.njit(nogil=True, cache=True)
def _search(row):  # type: ignore[no-untyped-def]
    return Search(
        _at(row, 0, np.int32),
        _at(row, 1, np.int32),
        _at(row, 2, np.uint64),
        _at(row, 3, np.uint64),
        _at(row, 4, np.uint64),
        _at(row, 5, np.int32),
        _at(row, 6, np.int32),
        _at(row, 7, np.int32),
    )


@nb.njit(nogil=True, cache=True)
def _push(arrays, routes, depth, awake, edges, unexplored, mean, limit, alpha, sent):  # type: ignore[no-untyped-def]
    """Do levels; return how far the search is, and enter what each slot told each other."""
    slots = arrays.shape[0]
    lengths = np.zeros(slots, np.int64)
    for level in range(sent.shape[0]):
        depth += 1
        awake = edges = 0
        for slot in range(slots):
            row = arrays[slot]
            s, rank = _search(row), _at(row, 10, np.int32)
            out = Rows(_at(row, 8, np.uint64), _at(row, 9, np.uint32))
            none = s.found[:0], s.found_by[:0]
            mine, lengths[slot], more, pushed = top_down(*none, depth, s, out, rank, mean)
            awake += mine + lengths[slot]
            edges += more
            unexplored -= pushed
        for slot in range(slots):
            s = _search(arrays[slot])
            for owner in range(slots):
                if owner != slot and lengths[slot]:
                    found = s.found[: lengths[slot]], s.found_by[: lengths[slot]]
                    route = routes[slot, owner]
                    sent[level, slot, owner] = _deliver(
                        found, route, depth, _search(arrays[owner])
                    )
        if not awake or depth == limit or edges * alpha > unexplored or edges >= TINY:
            break
    return depth, awake, edges, unexplored


@nb.njit(nogil=True, cache=True)
def _deliver(found, route, depth, s):  # type: ignore[no-untyped-def]
    """Let an owner take what a slot has found of its vertices; return how many those are."""
    (vertices, ranks), (start, size, address) = found, (route[0], route[1], route[2])
    names = carray(_pointer(address), (size,), np.int32)  # type: ignore[call-arg]
    taken = 0
    for i in range(vertices.size):
        place = vertices[i] - start
        if 0 <= place < size:
            settle_one(np.uint64(names[place]), ranks[i], depth, s)
            taken += 1
    return taken
