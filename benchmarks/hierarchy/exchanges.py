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
from dgraph.algorithms._expected import likely_bits, to_masters, unheard_of
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
    about : int, optional
        About how many places all slots reckon with. None: as many as there were the last time.
    """

    places: Numbers
    vertices: Numbers
    width: int
    stage: str = "top-down"
    about: int | None = None


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
    unheard, likely = world.n + holders.size, _likely_bits(world)
    while awake:
        if edges * ALPHA > unexplored:
            edges = 1
            while True:
                yield Bits(front)
                depth, before = depth + 1, awake
                seen[gather(starts, front)[0]] = True
                front = _pull(world.offsets, world.targets, level, depth)
                awake = front.size
                unheard = unheard_of(_left(world.offsets, level), world.n, holders.size)
                if awake == 0 or (awake < before and awake <= world.n // BETA):
                    yield Bits(front)
                    break
        else:
            depth += 1
            along = edges if edges > 1 else awake * mean
            about = to_masters(along, unheard, world.n, holders.size)
            places, vertices, mine, edges, pushed = _push(
                front, level, depth, seen, world, likely
            )
            yield Reduce(places, vertices, width, about=about)
            awake = mine + places.size
            unexplored -= pushed
            unheard = max(unheard - awake, 0)
            front = np.flatnonzero(level == depth)


def _push(
    front: Numbers, level: Any, depth: int, seen: Any, world: World, likely: Any
) -> tuple[Numbers, Numbers, int, int, int]:
    """Do a top-down step on all slots; their sums as the search has them."""
    starts, holders = world.proxies
    graph = world.offsets, world.targets, world.owner, starts, holders
    found, mine, edges, pushed = _push_all(front, graph, level, depth, seen, world.slots)
    places = np.sort(found)
    vertices = np.searchsorted(starts, places, side="right") - 1
    bits = likely[places].astype(np.int64)
    edges += int(np.where(bits < 2, bits, (3 << bits) >> 2).sum())
    return places, vertices, mine, edges, pushed


def _likely_bits(world: World) -> NDArray[np.uint8]:
    """Return for each proxy of how many bits its slot takes the degree to be."""
    degrees, by_owner = np.diff(world.offsets), np.argsort(world.owner, kind="stable")
    by_holder, ends = np.argsort(world.holders, kind="stable"), world.bases
    held = np.cumsum(np.bincount(world.holders, minlength=world.slots))
    vertices = np.repeat(np.arange(world.n), np.diff(world.starts))
    found = np.empty(world.holders.size, np.uint8)
    for slot, places in enumerate(np.split(by_holder, held[:-1])):
        own = by_owner[ends[slot] : ends[slot + 1]]
        found[places] = likely_bits(vertices[places], own, degrees[own], world.n)
    return found


@nb.njit(cache=True)
def _push_all(front, graph, level, depth, seen, slots):  # type: ignore[no-untyped-def]
    offsets, targets, owner, starts, holders = graph
    mine = edges = pushed = 0
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
                    mine += 1
                    edges += offsets[v + 1] - offsets[v]
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
            if count == found.size:
                more = np.empty(2 * count, np.int64)
                more[:count] = found
                found = more
            found[count] = low
            count += 1
    return found[:count], mine, edges, pushed


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


def _left(offsets: Numbers, level: Any) -> int:
    """Return how many vertices with neighbours have not been found."""
    return int(np.count_nonzero((level < 0) & (np.diff(offsets) > 0)))
