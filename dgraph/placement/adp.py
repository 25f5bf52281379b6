"""Placement "adp": application-driven refinement, the fullest slot gives vertices away."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dgraph.arguments import integer, number
from dgraph.engine.context import Context
from dgraph.kernels import kernel
from dgraph.placement.draft import Draft
from dgraph.placement.whole import Whole, place_whole
from dgraph.shard import Shard
from dgraph.topology import Topology

__all__ = ["Adp"]


@dataclass(frozen=True)
class Adp:
    """Begin with runs of ids and let the slot of the highest cost give vertices away.

    A simplified reading of ADP, a baseline of YH-Light's paper: a slot costs its ends of edges,
    and `replica` for each vertex of other slots that it has to hold. The paper fits such a cost
    to measured runs of an application; here it is given. The costliest slot moves the
    vertices that have most neighbours on one other, cheaper slot there, until it costs the
    mean; each slot has a few turns. One slot works, which gathers the graph.

    Parameters
    ----------
    replica : float
        What a replica costs beside an end of an edge.
    turns : int
        Turns of each slot, on the average.

    Examples
    --------
    >>> import dgraph.placement
    >>> dgraph.placement.resolve("adp")
    Adp(replica=1.0, turns=4)
    """

    replica: float = 1.0
    turns: int = 4

    def __post_init__(self) -> None:
        """Check the options."""
        number("replica", self.replica, 0)
        integer("turns", self.turns, 0)

    @property
    def base(self) -> Draft:
        """Runs of ids: from these it begins."""
        return Draft()

    def on(self, topology: Topology) -> Adp:
        """Return itself: domains are not known."""
        return self

    async def place(self, ctx: Context, shard: Shard) -> NDArray[np.int32]:
        """Return the owner of each master."""
        return await place_whole(ctx, shard, lambda whole: self._decide(whole, ctx.slots))

    def _decide(self, whole: Whole, slots: int) -> NDArray[Any]:
        by_id = np.argsort(whole.order)
        weight = np.cumsum(whole.degree[by_id] + 8 * (slots - 1) + 1)
        owner = np.empty(whole.n, np.int32)
        owner[by_id] = (weight - 1) * slots // weight[-1]
        for _ in range(self.turns * slots):
            cost = _costs(whole.offsets, whole.targets, owner, slots, self.replica)
            if not _give(whole.offsets, whole.targets, owner, cost):
                break
        return owner


@kernel
def _costs(offsets, targets, owner, slots, replica):  # type: ignore[no-untyped-def]
    """Return what every slot costs."""
    cost = np.zeros(slots)
    seen = np.full(slots, -1, np.int64)
    for v in range(owner.size):
        cost[owner[v]] += offsets[v + 1] - offsets[v] + 1
        for i in range(offsets[v], offsets[v + 1]):
            s = owner[targets[i]]
            if s != owner[v] and seen[s] != v:  # slot s holds a replica of v
                seen[s] = v
                cost[s] += replica
    return cost


@kernel
def _give(offsets, targets, owner, cost):  # type: ignore[no-untyped-def]
    """Move vertices off the costliest slot; return whether any went."""
    slots = cost.size
    full = np.argmax(cost)
    mean = cost.mean()
    near = np.zeros(slots, np.int64)
    wish = np.full(owner.size, -1, np.int32)
    gain = np.zeros(owner.size, np.int64)
    for v in range(owner.size):
        if owner[v] != full:
            continue
        for i in range(offsets[v], offsets[v + 1]):
            near[owner[targets[i]]] += 1
        best = -1
        for s in range(slots):
            if s == full or near[s] == 0 or cost[s] >= mean:
                continue
            if best < 0 or near[s] > near[best]:
                best = s
        if best >= 0:
            wish[v] = best
            gain[v] = near[best] - near[full]
        near[:] = 0
    some = np.flatnonzero(wish >= 0)
    moved = 0
    for v in some[np.argsort(-gain[some], kind="mergesort")]:
        weight = offsets[v + 1] - offsets[v] + 1
        if cost[full] - weight < mean:
            break
        if cost[wish[v]] + weight <= mean:
            cost[full] -= weight
            cost[wish[v]] += weight
            owner[v] = wish[v]
            moved += 1
    return moved > 0
