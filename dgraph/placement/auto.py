"""Placement "auto": the cheapest of "degree", "chunk" and "hierarchy", by a model.

::

    flat, or two levels   "degree": the most even, and laid out at once
    deeper                a draft of the graph is placed each way, and what a sample of its
                          links costs, 1, 10, 100, ... by level, decides

"degree" stays unless another one saves more than 10 % and gives no slot more than 1.1 times the
mean: it is the most even of them. To look costs what placing by "hierarchy" costs, whatever
comes of it: on three levels a build takes 1.6 to 2.4 times as long as with "degree", though no
run takes longer (``python -m benchmarks.placement --only auto``). So it is not the default.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from dgraph.build.strategy import Strategy, Totals, VertexBlock
from dgraph.engine.context import Context
from dgraph.placement.chunk import Chunk
from dgraph.placement.degree import Degree
from dgraph.placement.distances import tree_distances
from dgraph.placement.draft import Draft
from dgraph.placement.hierarchy import Hierarchy
from dgraph.placement.loads import add_costs, loads_of
from dgraph.placement.whole import Links, links_of
from dgraph.shard import Shard
from dgraph.topology import Topology

__all__ = ["Auto"]

Array = NDArray[Any]

#: Links that the model looks at, about, and which part of the cost must be saved.
SAMPLE, SAVED = 1 << 20, 0.1

#: What a slot may have of the links, in terms of the mean.
EVEN = 1.1


@dataclass(frozen=True)
class _Dealt(Degree):
    """Placement "degree", chosen because of the topology."""

    NAME: ClassVar[str] = "degree"
    why: str = ""


@dataclass(frozen=True)
class Auto:
    """Choose "degree", "chunk" or "hierarchy" by the graph and the topology.

    ``g.report["chosen"]["placement"]`` says in a sentence which one it is, and why;
    ``g.placement`` is its name.

    Parameters
    ----------
    topology : Topology, optional
        The graph's own, if left out.

    Examples
    --------
    >>> import dgraph as dg
    >>> tree = dg.topology.Topology.from_fanouts([2, 2, 2])
    >>> edges = dg.generate.grid(32, 32)
    >>> g = dg.from_edges(edges, placement="auto", virtual_slots=8, topology=tree)
    >>> g.placement, g.report["chosen"]["placement"].startswith("chunk: ")  # strips of the grid
    ('chunk', True)
    """

    topology: Topology | None = field(default=None)

    @property
    def base(self) -> Strategy:
        """As `Hierarchy` wants it."""
        return Draft()

    def on(self, topology: Topology) -> Any:
        """Return "degree" for a topology of at most two levels, else this for the topology."""
        tree = self.topology or topology
        if tree.height <= 1:
            levels = "one level" if tree.height == 0 else "two levels"
            return _Dealt(f"degree: the topology has {levels} only")
        return replace(self, topology=tree)

    async def place(self, ctx: Context, shard: Shard) -> NDArray[np.int32]:
        """Return the owner of each master."""
        topology = self.topology or Topology.from_fanouts([ctx.slots])
        links = links_of(shard)
        ways = {
            "degree": (shard.rank[: shard.masters] % ctx.slots).astype(np.int32),
            "chunk": await _by_chunk(ctx, shard, links),
            "hierarchy": await Hierarchy().on(topology).place(ctx, shard),
        }
        ends = int((await ctx.allreduce([len(links.targets)]))[0])
        step = max(1, ends // SAMPLE)
        unit, costs = tree_distances(topology), {}
        for name, owner in ways.items():
            costs[name] = await _modelled(ctx, shard, links, owner, unit, step)
            if name != "degree" and await _uneven(ctx, links, owner):
                costs[name] = np.inf
        name = min(costs, key=costs.__getitem__)
        if costs[name] >= (1 - SAVED) * costs["degree"]:
            name = "degree"
        found = ", ".join(
            f"{which} {cost:.4g}" if cost < np.inf else f"{which} is too uneven"
            for which, cost in costs.items()
        )
        sample = "all links" if step == 1 else f"the links of every {step}th vertex"
        ctx.notes["placement"] = name
        ctx.notes["why"] = f"{name}: {sample}, at 1, 10, 100, ... by level, would cost {found}"
        return ways[name]


async def _by_chunk(ctx: Context, shard: Shard, links: Links) -> NDArray[np.int32]:
    """Return the owners by "chunk"; a draft is cut into runs of the order of ids already."""
    block = VertexBlock(
        shard.order, shard.rank[: shard.masters], np.diff(links.offsets), shard.ids
    )
    measures = await ctx.allgather(Chunk().measure(block))
    totals = Totals(ctx.slot, np.stack([some[0] for some in measures]))
    return Chunk().slots_of(block, ctx.slots, totals)


async def _uneven(ctx: Context, links: Links, owner: NDArray[np.int32]) -> bool:
    """Tell whether a slot would have far more links than the mean."""
    ends = (await loads_of(ctx, np.diff(links.offsets), owner))[1]
    return bool(ends.max() > EVEN * ends.mean())


async def _modelled(
    ctx: Context, shard: Shard, links: Links, owner: Array, unit: NDArray[np.float64], step: int
) -> float:
    """Return what the links of every so manieth vertex cost."""
    slot_of = np.full(shard.size, -1, np.int32)
    slot_of[: shard.masters] = owner
    await ctx.broadcast(shard, slot_of)
    here = add_costs(links.offsets, links.targets, slot_of, unit, shard.masters, step)
    return float((await ctx.allreduce([here]))[0])
