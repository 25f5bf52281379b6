"""Placement "topox": light neighbours are fused and placed as one, heavy vertices dealt out."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dgraph.arguments import integer, number
from dgraph.engine.context import Context
from dgraph.kernels import kernel
from dgraph.placement.draft import Draft
from dgraph.placement.halving import leaf_order
from dgraph.placement.whole import Whole, place_whole
from dgraph.shard import Shard
from dgraph.topology import Topology

__all__ = ["TopoX"]


@dataclass(frozen=True)
class TopoX:
    """Fuse neighbours of at most median degree, then place what is fused where it has edges.

    A simplified reading of TopoX's fusion and fission. Vertices of more than a quarter of a
    slot's edges are dealt round the slots, leaf domain by leaf domain, before all others; with
    ``fission=True`` their edges are split among siblings as well. Fused
    vertices, the heaviest first, go to the slot with most of their edges, weighted by the room
    that is left there. One slot works, which gathers the graph.

    Parameters
    ----------
    size : int
        Vertices that are fused at most.
    eps : float
        A slot gets at most ``1 + eps`` times the mean of vertices.
    topology : Topology, optional
        The graph's own, if left out.
    fission : bool
        Split the edges of heavy vertices; see `rhizome_max` of `dgraph.from_edges`.

    Examples
    --------
    >>> import dgraph.placement
    >>> dgraph.placement.resolve("topox")
    TopoX(size=64, eps=0.05, topology=None, fission=False)
    """

    size: int = 64
    eps: float = 0.05
    topology: Topology | None = None
    fission: bool = False

    def __post_init__(self) -> None:
        """Check the options."""
        integer("size", self.size, 1)
        number("eps", self.eps, 0, 1)

    @property
    def base(self) -> Draft:
        """Runs of ids: they cost nothing."""
        return Draft()

    def on(self, topology: Topology) -> TopoX:
        """Return this strategy for a domain tree, unless it has one already."""
        return self if self.topology is not None else replace(self, topology=topology)

    async def place(self, ctx: Context, shard: Shard) -> NDArray[np.int32]:
        """Return the owner of each master."""
        topology = self.topology or Topology.from_fanouts([ctx.slots])
        return await place_whole(ctx, shard, lambda whole: self._decide(whole, topology))

    def _decide(self, whole: Whole, topology: Topology) -> NDArray[Any]:
        slots, degree = topology.slots, whole.degree
        light = degree <= np.median(degree)
        heavy = np.flatnonzero(degree > len(whole.targets) / 2 / slots / 4)
        cap = max(-(-whole.n // slots), int((1 + self.eps) * whole.n / slots))
        owner = np.full(whole.n, -1, np.int32)
        dealt = heavy[: cap * slots]
        owner[dealt] = leaf_order(topology)[np.arange(dealt.size) % slots]
        _fuse_and_place(whole.offsets, whole.targets, light, self.size, cap, slots, owner)
        return owner


@kernel
def _fuse_and_place(offsets, targets, light, most, cap, slots, owner):  # type: ignore[no-untyped-def]
    n = owner.size
    load = np.zeros(slots, np.int64)
    for v in range(n):
        if owner[v] >= 0:
            load[owner[v]] += 1
    near = np.zeros(slots, np.int64)
    group = np.empty(most, np.int64)
    fused = np.zeros(n, np.bool_)
    for hub in range(n):
        if owner[hub] >= 0:
            continue
        group[0] = hub
        fused[hub] = True
        size, at = 1, 0
        while light[hub] and at < size:  # breadth first over light vertices
            v = group[at]
            at += 1
            for i in range(offsets[v], offsets[v + 1]):
                u = targets[i]
                if size < most and light[u] and owner[u] < 0 and not fused[u]:
                    fused[u] = True
                    group[size] = u
                    size += 1
        for v in group[:size]:
            for i in range(offsets[v], offsets[v + 1]):
                if owner[targets[i]] >= 0:
                    near[owner[targets[i]]] += 1
        done = 0
        while done < size:  # at one slot, unless none has the room
            best, score, room = 0, -1.0, 0
            for s in range(slots):
                free = cap - load[s]
                fits = min(free, size - done)
                value = (near[s] + 1e-3) * free / cap
                if fits > room and (room == 0 or fits == size - done):
                    best, score, room = s, value, fits
                elif fits == room and fits > 0 and value > score:
                    best, score = s, value
            for v in group[done : done + room]:
                owner[v] = best
            load[best] += room
            done += room
        near[:] = 0
