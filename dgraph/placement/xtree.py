"""Placement "xtree": the order of a breadth-first search, cut along the domain tree."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dgraph.engine.context import Context
from dgraph.kernels import kernel
from dgraph.placement.draft import Draft
from dgraph.placement.halving import leaf_order
from dgraph.placement.whole import Whole, place_whole
from dgraph.shard import Shard
from dgraph.topology import Topology

__all__ = ["XTree"]


@dataclass(frozen=True)
class XTree:
    """Cut the order of a breadth-first search into runs, one for each slot.

    A simplified reading of XTree, a baseline of YH-Light's paper that says no more: the search
    begins at the heaviest vertex of every component, a run follows the next one in the order of
    the domain tree's leaves, and all have equally many vertices, give or take one. The search
    is that of one slot, which gathers the graph.

    Examples
    --------
    >>> import dgraph.placement
    >>> dgraph.placement.resolve("xtree")
    XTree(topology=None)
    """

    topology: Topology | None = None

    @property
    def base(self) -> Draft:
        """Runs of ids: they cost nothing."""
        return Draft()

    def on(self, topology: Topology) -> XTree:
        """Return this strategy for a domain tree, unless it has one already."""
        return self if self.topology is not None else XTree(topology)

    async def place(self, ctx: Context, shard: Shard) -> NDArray[np.int32]:
        """Return the owner of each master."""
        topology = self.topology or Topology.from_fanouts([ctx.slots])
        return await place_whole(ctx, shard, lambda whole: _decide(whole, topology))


def _decide(whole: Whole, topology: Topology) -> NDArray[Any]:
    found = np.empty(whole.n, np.int64)
    search_order(whole.offsets, whole.targets, found)
    owner = np.empty(whole.n, np.int32)
    owner[found] = leaf_order(topology)[np.arange(whole.n) * topology.slots // whole.n]
    return owner


@kernel
def search_order(offsets, targets, found):  # type: ignore[no-untyped-def]
    """Write the vertices in the order in which a breadth-first search finds them."""
    seen = np.zeros(found.size, np.bool_)
    end = 0
    for hub in range(found.size):
        if seen[hub]:
            continue
        seen[hub] = True
        found[end] = hub
        begin = end
        end += 1
        while begin < end:
            v = found[begin]
            begin += 1
            for i in range(offsets[v], offsets[v + 1]):
                u = targets[i]
                if not seen[u]:
                    seen[u] = True
                    found[end] = u
                    end += 1
