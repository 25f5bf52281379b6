"""What the slots exchange in each superstep of BFS and PageRank, from the whole graph.

The programs of `dgraph.algorithms.bfs` and `pagerank` are followed step by step, with what each
slot knows, but only as far as it decides who sends what about which vertex. What that becomes
on a routing, :mod:`benchmarks.hierarchy.counting` counts.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numba as nb
import numpy as np
from numpy.typing import NDArray

from benchmarks.hierarchy.world import World, gather
from dgraph.algorithms._afar import expected
from dgraph.algorithms.bfs import ALPHA, BETA
from dgraph.shard import number_dtype

__all__ = ["Bits", "Dense", "Exchange", "Reduce", "bfs", "pagerank"]

Numbers = NDArray[np.int64]


@dataclass(frozen=True)
class Reduce:
    """Some proxies have something to say to their masters.

    Parameters
    ----------
    places : int64 array
        Which proxies, as places in ``world.holders``, ascending.
    vertices : int64 array
        Whose they are.
    width : int
        Bytes of a value.
    ahead : int
        About how many places the next one has, as the slots say; or how many this one has.
    """

    places: Numbers
    vertices: Numbers
    width: int
    stage: str = "top-down"
    ahead: int = 0


@dataclass(frozen=True)
class Bits:
    """All masters tell all proxies a bit; only of `vertices` it is set."""

    vertices: Numbers
    stage: str = "bottom-up"


@dataclass(frozen=True)
class Dense:
    """All masters tell all proxies a value of so many bytes, `times` supersteps long."""

    width: int
    times: int
    stage: str = "ranks"


Exchange = Reduce | Bits | Dense


def pagerank(world: World, rounds: int) -> Iterator[Exchange]:
    """Yield the exchanges of so many rounds of an unweighted PageRank."""
    yield Dense(8, rounds)


def bfs(world: World, source: int) -> Iterator[Exchange]:
    """Yield the exchanges of a breadth-first search from the vertex of this rank."""
    starts, holders = world.proxies
    level = np.full(world.n, -1, np.int32)
    seen = np.zeros(holders.size, bool)  # proxies that were found or are never pushed to
    front = np.array([source])
    level[source] = 0
    width = number_dtype(world.n).itemsize
    depth, awake, edges, unexplored = 0, 1, 0, 2 * world.edges
    mean = unexplored // max(world.n, 1)
    unheard = np.bincount(holders, minlength=world.slots)
    while awake:
        if edges * ALPHA > unexplored:
            edges = 1
            while True:
                yield Bits(front)
                depth, before = depth + 1, awake
                seen[gather(starts, front)[0]] = True
                front = _pull(world.offsets, world.targets, level, depth)
                awake = front.size
                if awake == 0 or (awake < before and awake <= world.n // BETA):
                    yield Bits(front)
                    break
        else:
            depth += 1
            places, vertices, mine, following, pushed = _push(
                front, level, depth, seen, world, mean
            )
            sent = np.bincount(holders[places], minlength=world.slots)
            unheard -= sent
            share = following * world.slots
            ahead = np.where(
                share * ALPHA > unexplored, 0, expected(following, unheard, world.slots)
            )
            yield Reduce(places, vertices, width, ahead=int(np.maximum(sent, ahead).sum()))
            awake, edges = mine + places.size, int(following.sum())
            unexplored -= pushed
            front = np.flatnonzero(level == depth)


def _push(
    front: Numbers, level: Any, depth: int, seen: Any, world: World, mean: int
) -> tuple[Any, ...]:
    """Do a top-down step on all slots; their sums as `top_down` of the search has them."""
    slots = world.slots
    starts, holders = world.proxies
    found, mine, sent, edges, pushed = _push_all(
        front,
        (world.offsets, world.targets, world.owner, starts, holders),
        level,
        depth,
        seen,
        slots,
    )
    some = mine > 0
    each = np.full(slots, mean, np.int64)
    each[some] = edges[some] // mine[some]
    edges = edges + sent * each
    places = np.sort(found)
    vertices = np.searchsorted(starts, places, side="right") - 1
    return places, vertices, int(mine.sum()), edges, int(pushed)


@nb.njit(cache=True)
def _push_all(front, graph, level, depth, seen, slots):  # type: ignore[no-untyped-def]
    offsets, targets, owner, starts, holders = graph
    mine, sent = np.zeros(slots, np.int64), np.zeros(slots, np.int64)
    edges, pushed = np.zeros(slots, np.int64), 0
    own = np.zeros(owner.size, np.bool_)  # masters that their own slot has found
    found, count = np.empty(1024, np.int64), 0
    for u in front:
        slot = owner[u]
        pushed += offsets[u + 1] - offsets[u]
        for j in range(offsets[u], offsets[u + 1]):
            v = targets[j]
            if owner[v] == slot:
                if (level[v] < 0 or level[v] == depth) and not own[v]:
                    own[v] = True
                    level[v] = depth
                    mine[slot] += 1
                    edges[slot] += offsets[v + 1] - offsets[v]
                continue
            low, high = starts[v], starts[v + 1]
            while low < high:
                middle = (low + high) >> 1
                if holders[middle] < slot:
                    low = middle + 1
                else:
                    high = middle
            if seen[low]:
                continue
            seen[low] = True
            if level[v] < 0:
                level[v] = depth
            sent[slot] += 1
            if count == found.size:
                more = np.empty(2 * count, np.int64)
                more[:count] = found
                found = more
            found[count] = low
            count += 1
    return found[:count], mine, sent, edges, pushed


@nb.njit(cache=True)
def _pull(offsets, targets, level, depth):  # type: ignore[no-untyped-def]
    """Do a bottom-up step; return the new frontier."""
    found, count = np.empty(level.size, np.int64), 0
    for v in range(level.size):
        if level[v] >= 0:
            continue
        for j in range(offsets[v], offsets[v + 1]):
            if level[targets[j]] == depth - 1:
                level[v] = depth
                found[count] = v
                count += 1
                break
    return found[:count]
