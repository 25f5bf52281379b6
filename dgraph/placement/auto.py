"""Placement "auto": the cheapest of "degree", "chunk" and "hierarchy", by a model.

::

    flat, or two levels    "degree": the most even, and laid out at once
    little to be saved     "degree": all links together cost next to nothing
    "chunk" saves enough   "chunk": priced on a sample of the links, it costs nothing to place
    more is to be saved    "hierarchy", if it saves more than it takes to place; on the draft of
    than placing takes     the graph it is then set beside the other two

What is saved: in so many runs of the benchmark set (`RUNS`, one) a value crosses every cut
link `PASSES` times, all slots sending at the same time. Bytes are priced as routing "auto" does
it, frames are not. How much "hierarchy" would save is not known before it has placed; a random
graph of mean degree d can be cut in two with ``0.76 / sqrt(d)`` of its edges less than half of
them (A. Dembo, A. Montanari, S. Sen: Extremal cuts of sparse random graphs, Annals of
Probability 45(2), 2017, doi:10.1214/15-AOP1084), and real ones better. For d the mean over ends
of edges is taken: hubs cannot be kept together with their neighbours.

"degree" stays unless another one saves more than 10 % and gives no slot more than 1.1 times the
mean of edges: it is the most even of them. To look takes three supersteps and no draft. It
is not the default: on three levels, where it looked and stayed with "degree", small builds took
up to a third longer, and a build with one run of five algorithms up to 1.2 times as long. Over
slow links and 100 runs it took "hierarchy" or "chunk", and all 0.69 to 0.96 of the time
(``python -m benchmarks.placement --only auto``).
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from dgraph.arguments import number
from dgraph.build.meeting import order_of_row
from dgraph.build.strategy import EdgeStrategy, Look, Strategy, Totals, VertexBlock
from dgraph.config import Options
from dgraph.engine.context import Context
from dgraph.errors import OptionError
from dgraph.exchange.routing.choice import measured
from dgraph.kernels import kernel
from dgraph.placement.chunk import Chunk
from dgraph.placement.degree import Degree
from dgraph.placement.distances import tree_distances
from dgraph.placement.draft import Draft
from dgraph.placement.hierarchy import Hierarchy
from dgraph.placement.loads import add_costs, loads_of
from dgraph.placement.whole import Links, links_of
from dgraph.shard import Shard
from dgraph.topology import CostModel, Topology

__all__ = ["Auto"]

Array = NDArray[Any]

#: Links that are looked at, about: before there is a draft, and on it.
FEW, SAMPLE = 1 << 14, 1 << 20

#: Which part of the cost must be saved, and what a slot may have in terms of the mean.
SAVED, EVEN = 0.1, 1.1

#: How often the benchmark set is run, and how often a value crosses a link in it: once in a
#: breadth-first search, 3 times in SSSP and in components, 20 in PageRank, 10 in CDLP.
RUNS, PASSES = 1.0, 37

#: Bytes of a value that crosses a link.
VALUE = 8

#: Seconds that "hierarchy" takes, and more for each edge that a slot looks at: on 2 cores, as
#: many slots as work at it, 500,000 edges took 0.17 s.
PLACING = 0.05, 5e-7

#: Where all links cost no more than so many seconds, nobody looks at them.
LEAST = 0.01


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
    runs : float
        How often the benchmark set (BFS, SSSP, components, PageRank, CDLP) is going to be run,
        or what comes to it: the more often, the longer placing may take. Typical: 1 to 1000.
    cost : CostModel, str or mapping, optional
        What a byte costs by level; see `dgraph.topology.CostModel.of`. Default: the option
        ``dgraph.cost``.

    Examples
    --------
    >>> import dgraph as dg
    >>> tree = dg.topology.Topology.from_fanouts([2, 2, 2])
    >>> edges, auto = dg.generate.grid(32, 32), dg.placement.Auto(runs=10_000)
    >>> g = dg.from_edges(edges, placement=auto, virtual_slots=8, topology=tree)
    >>> g.placement, g.report["chosen"]["placement"].startswith("chunk: ")  # strips of the grid
    ('chunk', True)
    """

    topology: Topology | None = field(default=None)
    runs: float = RUNS
    cost: Any = None

    def __post_init__(self) -> None:
        """Check the options."""
        if number("runs", self.runs, 0) == np.inf:
            raise OptionError("runs must be a finite number, not inf")

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
        cost = Options.read().cost if self.cost is None else self.cost
        model = measured(tree.height) if cost is None else CostModel.of(cost, tree)
        return replace(self, topology=tree, cost=model)

    async def choose(self, ctx: Context, look: Look) -> Strategy | EdgeStrategy:
        """Return the strategy by which the vertices are to be placed."""
        topology = self.topology or Topology.from_fanouts([ctx.slots])
        ends = min(2 * look.num_edges, look.num_vertices * (ctx.slots - 1))
        prices = self._prices(topology, ends)
        dealt = _dealt(topology, prices)
        about = f"in {self.runs:g} runs of the benchmark set links would cost"
        runs, heavy, is_even = await _runs(ctx, look.block)
        level = await _sampled(ctx, look, runs, topology)
        chunk = float(level[1:] @ prices) / max(int(level.sum()), 1) if is_even else np.inf
        kept = min(0.9, 2 * 0.76 / max(heavy, 1.0) ** 0.5)
        grown = (1 - kept) * dealt
        few = max(1, min(ctx.slots, 2 * look.num_edges // Draft().enough))
        price = PLACING[0] + PLACING[1] * look.num_edges / few
        name = "chunk" if chunk < (1 - SAVED) * dealt else "degree"
        least = min(chunk, dealt)
        chunks = f"{chunk:.2g} s with chunk" if is_even else "chunk is too uneven"
        ctx.notes["why"] = (
            f"{about} {dealt:.2g} s with degree, {chunks}, about {grown:.2g} s with hierarchy, "
            f"which takes {price:.2g} s to place"
        )
        if kept > SAVED and least - grown > price:
            return self
        ctx.notes["placement"] = name
        ctx.notes["why"] = f"{name}: {ctx.notes['why']}"
        return Chunk() if name == "chunk" else Degree()

    def at_most(self, edges: int) -> Any:
        """Return "degree" if nobody needs to look at so few edges, else this."""
        assert self.topology is not None
        dealt = _dealt(self.topology, self._prices(self.topology, 2 * edges))
        if dealt > LEAST:
            return self
        about = f"in {self.runs:g} runs of the benchmark set links would cost"
        return _Dealt(f"degree: {about} {dealt:.2g} s at most")

    def _prices(self, topology: Topology, ends: int) -> NDArray[np.float64]:
        """Return what the runs would cost if all links were at one level, by level, seconds."""
        model = measured(topology.height) if self.cost is None else self.cost
        size = VALUE * PASSES * self.runs * ends / topology.slots
        return size * np.array(model.beta[: topology.height + 1])

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
        ctx.notes["why"] = (
            f"{name}: {sample}, at 1, 10, 100, ... by level, would cost {found}; "
            f"{ctx.notes.get('why', '')}".rstrip("; ")
        )
        return ways[name]


def _dealt(topology: Topology, prices: NDArray[np.float64]) -> float:
    """Return what links cost whose ends are dealt at random; one that stays at home is free.

    >>> _dealt(Topology.from_fanouts([2, 2]), np.array([1.0, 10.0]))
    5.25
    """
    slots = np.arange(topology.slots)
    all_of_them = float(prices[topology.level(slots[:, None], slots)].sum())
    return (all_of_them - len(slots) * float(prices[0])) / len(slots) ** 2


async def _runs(ctx: Context, block: VertexBlock) -> tuple[NDArray[np.int64], float, bool]:
    """Return where "chunk" begins its runs, the mean degree of ends, and if runs are even."""
    degree = block.degree.astype(np.float64)
    told = np.zeros((ctx.slots + 1, 2), np.int64)
    told[ctx.slot] = Chunk().measure(block)
    told[-1, 0] = int((degree * degree).sum() / 64)
    total = (await ctx.allreduce(told.ravel())).reshape(-1, 2)
    ends = max(int(total[:-1, 1].sum()), 1)
    cuts = Chunk().cuts(block, ctx.slots, Totals(ctx.slot, total[:-1]))
    before = np.concatenate([[0], np.cumsum(block.degree, dtype=np.int64)])
    bounds = np.concatenate([[0], cuts, [len(block)]])
    sums = np.concatenate([np.diff(bounds), np.diff(before[bounds])])
    counts, has = (await ctx.allreduce(sums)).reshape(2, -1)
    is_even = bool(has.max() <= EVEN * has.mean())
    return np.concatenate([[0], np.cumsum(counts)]), 64 * int(total[-1, 0]) / ends, is_even


async def _sampled(
    ctx: Context, look: Look, runs: NDArray[np.int64], topology: Topology
) -> NDArray[np.int64]:
    """Return how many links of a sample are inside a run, and between runs by level."""
    slots = np.arange(ctx.slots)
    level = topology.level(slots[:, None], slots) + 1
    np.fill_diagonal(level, 0)
    counts = np.zeros(topology.height + 2, np.int64)
    share = FEW / max(look.num_edges, 1)
    rows = (look.filed.offsets, look.filed.columns)
    _count(rows, ctx.slot, ctx.slots, runs, level, share, counts)
    total: NDArray[np.int64] = (await ctx.allreduce(counts)).copy()
    return total


@kernel
def _count(rows, slot, slots, runs, level, share, counts):  # type: ignore[no-untyped-def]
    """Count the links of some vertices, drawn by a hash, by the level at which they are."""
    offsets, columns = rows
    for row in range(offsets.size - 1):
        if offsets[row] == offsets[row + 1]:
            continue
        order = order_of_row(row, slot, slots)
        drawn = np.uint64(order) * np.uint64(0x9E3779B97F4A7C15)
        drawn ^= drawn >> np.uint64(32)
        if (
            np.int64((drawn * np.uint64(0xD6E8FEB86659FD93)) >> np.uint64(11))
            >= share * 2.0**53
        ):
            continue
        here = np.searchsorted(runs, order, side="right") - 1
        for i in range(offsets[row], offsets[row + 1]):
            if columns[i] != order:
                counts[level[here, np.searchsorted(runs, columns[i], side="right") - 1]] += 1


async def _by_chunk(ctx: Context, shard: Shard, links: Links) -> NDArray[np.int32]:
    """Return the owners by "chunk"; a draft is cut into runs of the order of ids already."""
    block = VertexBlock(shard.order, shard.rank[: shard.masters], links.degree, shard.ids)
    measures = await ctx.allgather(Chunk().measure(block))
    totals = Totals(ctx.slot, np.stack([some[0] for some in measures]))
    return Chunk().slots_of(block, ctx.slots, totals)


async def _uneven(ctx: Context, links: Links, owner: NDArray[np.int32]) -> bool:
    """Tell whether a slot would have far more links than the mean."""
    ends = (await loads_of(ctx, links.degree, owner))[1]
    return bool(ends.max() > EVEN * ends.mean())


async def _modelled(
    ctx: Context, shard: Shard, links: Links, owner: Array, unit: NDArray[np.float64], step: int
) -> float:
    """Return what the links of every so manieth vertex cost."""
    slot_of = np.full(shard.size, -1, np.int32)
    slot_of[: shard.masters] = owner
    await ctx.broadcast(shard, slot_of)
    here = add_costs(links.rows, slot_of, unit, shard.masters, step)
    return float((await ctx.allreduce([here]))[0])
