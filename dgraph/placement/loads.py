"""What slots have and may have, and what a vertex costs where.

All slots of the engine know the loads of all.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dgraph.engine.context import Context
from dgraph.kernels import kernel
from dgraph.placement.whole import Links
from dgraph.shard import Shard, narrow_dtype

__all__ = [
    "Loads",
    "Refinement",
    "Sizes",
    "add_costs",
    "find_cost",
    "find_costs",
    "loads_here",
    "loads_of",
    "sizes_of",
    "tally",
]

Array = NDArray[Any]


@dataclass(slots=True)
class Loads:
    """What every slot has, and may have.

    Parameters
    ----------
    have, cap : int64 arrays of shape (2, slots)
        Vertices; ends of edges.
    """

    have: NDArray[np.int64]
    cap: NDArray[np.int64]

    @property
    def room(self) -> NDArray[np.int64]:
        """What each slot may still get."""
        left: NDArray[np.int64] = np.maximum(self.cap - self.have, 0)
        return left


@dataclass(slots=True)
class Refinement:
    """A placement that is being improved, as one slot of the engine knows it.

    Parameters
    ----------
    ctx : Context
    shard : Shard
    links : Links
        Of the masters.
    slot_of : integer array of length shard.size
        The slot of every local vertex; -1: none yet. Of the dtype that `narrow_dtype` says.
    loads : Loads
        Of all slots, as all `slot_of` together say.
    unit : float64 array of shape (slots, slots)
        Cost of an edge between two slots, in whole numbers: sums do not depend on sequence.
    """

    ctx: Context
    shard: Shard
    links: Links
    slot_of: Array
    loads: Loads
    unit: NDArray[np.float64]

    @property
    def loose(self) -> int:
        """How many vertices have no slot, on all slots of the engine."""
        return self.shard.num_vertices - int(self.loads.have[0].sum())


@dataclass(frozen=True, slots=True)
class Sizes:
    """What all slots have together.

    Parameters
    ----------
    vertices, ends, heaviest : int
        Vertices; ends of edges, and how many the heaviest vertex has.
    """

    vertices: int
    ends: int
    heaviest: int

    def capacities(self, slots: int, eps: float) -> NDArray[np.int64]:
        """Return how many vertices and ends of edges each slot may have.

        ``1 + eps`` times the mean, but room for every vertex, and for the heaviest one.

        >>> Sizes(vertices=10, ends=40, heaviest=6).capacities(2, 0.5).tolist()
        [[7, 7], [30, 30]]
        """
        mean = self.vertices / slots
        vertices = max(-(-self.vertices // slots), int((1 + eps) * mean))
        most = max(int((1 + eps) * self.ends / slots), self.ends // slots + self.heaviest)
        return np.repeat(np.array([[vertices], [most]], np.int64), slots, axis=1)


async def sizes_of(ctx: Context, shard: Shard, links: Links) -> Sizes:
    """Return the sizes of a graph, after one exchange."""
    degree = links.degree
    told = np.zeros(ctx.slots + 1, np.int64)
    told[-1], told[ctx.slot] = degree.sum(), degree.max(initial=0)
    total = await ctx.allreduce(told)
    return Sizes(shard.num_vertices, int(total[-1]), int(total[:-1].max()))


def loads_here(slots: int, degree: Array, slot_of: Array) -> NDArray[np.int64]:
    """Return the vertices and the ends of edges that every slot has from this one, flat."""
    sums = np.zeros((2, slots), np.int64)
    _add_up(slot_of.astype(narrow_dtype(slots), copy=False), degree, sums)
    return sums.ravel()


async def loads_of(ctx: Context, degree: Array, slot_of: Array) -> NDArray[np.int64]:
    """Return the vertices and the ends of edges that every slot has, as `Loads` does."""
    total = await ctx.allreduce(loads_here(ctx.slots, degree, slot_of))
    return total.reshape(2, -1).copy()


@kernel
def _add_up(slot_of, degree, sums):  # type: ignore[no-untyped-def]
    for v in range(degree.size):
        if slot_of[v] >= 0:
            sums[0, slot_of[v]] += 1
            sums[1, slot_of[v]] += degree[v]


@kernel(inline="always")
def tally(v, rows, slot_of, count, touched):  # type: ignore[no-untyped-def]
    """Count the neighbours of a vertex by slot; return how many slots there are."""
    offsets, targets = rows
    many = 0
    begin, end = offsets[v], offsets[v + 1]
    if end - begin > count.size:  # which slots they are is asked once, not for each neighbour
        for i in range(begin, end):
            u = targets[i]
            if slot_of[u] >= 0 and u != v:
                count[slot_of[u]] += 1
        for s in range(count.size):
            touched[many] = s
            many += count[s] > 0
        return many
    for i in range(begin, end):
        u = targets[i]
        s = slot_of[u]
        if s >= 0 and u != v:
            if count[s] == 0:
                touched[many] = s
                many += 1
            count[s] += 1
    return many


@kernel(inline="always")
def find_costs(unit, count, touched, many, costs):  # type: ignore[no-untyped-def]
    """Find what a vertex costs on every slot, if its neighbours are on many; tell whether.

    Whole numbers as floats: all slots in a row are vector instructions.
    """
    if many * many < costs.size:
        return False
    costs[:] = 0.0
    for j in range(many):
        number = np.float64(count[touched[j]])
        row = unit[touched[j]]
        for s in range(costs.size):
            costs[s] += number * row[s]
    return True


@kernel(inline="always")
def find_cost(slot, unit, count, touched, many):  # type: ignore[no-untyped-def]
    """Find what a vertex with so many neighbours on each slot costs on a slot."""
    total = 0.0
    for j in range(many):
        total += count[touched[j]] * unit[touched[j], slot]
    return total


@kernel
def add_costs(rows, slot_of, unit, masters, step):  # type: ignore[no-untyped-def]
    """Return what the links of every so manieth master cost."""
    offsets, targets = rows
    total = 0.0
    for v in range(0, masters, step):
        row = unit[slot_of[v]]
        for i in range(offsets[v], offsets[v + 1]):
            total += row[slot_of[targets[i]]]
    return np.int64(total)
