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
mean of edges: it is the most even of them. "hierarchy" must also save twice what it takes, and
nobody asks it where one vertex has so many edges that a slot cannot be even.

What it costs to choose: nothing on one level or two, and where the client sees by the number
of edges that little can be saved: the placement it sends is "degree". Else a superstep, about
5 % of a small build on 16 virtual slots: from the ranking every slot knows how many vertices of
each degree every block has. So builds by "auto", with the benchmark set run as often as `runs`
says, are never far behind "degree" (``python -m benchmarks.placement --only auto``).
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import lru_cache
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
from dgraph.placement.loads import Sizes, add_costs, loads_of
from dgraph.placement.whole import Links, links_of
from dgraph.plurals import counted
from dgraph.shard import Shard, narrow_dtype
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

#: How much uneven "hierarchy" is, if no vertex is heavy; and what it must save in terms of what
#: it takes: both are known about, and whoever runs less than the benchmark set gets less of it.
EPS, PAYS = 0.05, 2.0

#: Where all links cost no more than so many seconds, nobody looks at them: "hierarchy" would
#: never pay.
LEAST = PAYS * PLACING[0]


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
    def base(self) -> Draft:
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
        """Return the strategy by which the vertices are to be placed; one superstep."""
        topology = self.topology or Topology.from_fanouts([ctx.slots])
        ends = min(2 * look.num_edges, look.num_vertices * (ctx.slots - 1))
        prices = self._prices(topology, ends)
        dealt = float(_ground(topology)[1] @ prices)
        if dealt <= LEAST:  # of fewer vertices, or edges, than the client had to reckon with
            ctx.notes["placement"], ctx.notes["why"] = "degree", self._too_little(dealt)
            return Degree()
        level, is_even = await _look_at(ctx, look, topology)
        chunk = float(level[1:] @ prices) / max(int(level.sum()), 1) if is_even else np.inf
        kept, placing = _hopes(ctx.slots, look)
        grown = (1 - kept) * dealt
        name = "chunk" if chunk < (1 - SAVED) * dealt else "degree"
        chunks = f"{chunk:.2g} s with chunk" if is_even else "chunk is too uneven"
        others = f"about {grown:.2g} s with hierarchy, which takes {placing:.2g} s to place"
        ctx.notes["why"] = f"{self._about} {dealt:.2g} s with degree, {chunks}, " + (
            others if kept else "with hierarchy one slot may have too many edges"
        )
        if kept > SAVED and min(chunk, dealt) - grown > PAYS * placing:
            return self
        ctx.notes["placement"] = name
        ctx.notes["why"] = f"{name}: {ctx.notes['why']}"
        return Chunk() if name == "chunk" else Degree()

    @property
    def _about(self) -> str:
        return f"in {counted(self.runs, 'run')} of the benchmark set links would cost"

    def _too_little(self, dealt: float) -> str:
        return f"degree: {self._about} {dealt:.2g} s at most"

    def at_most(self, edges: int) -> Any:
        """Return "degree" if nobody needs to look at so few edges, else this."""
        assert self.topology is not None
        dealt = float(_ground(self.topology)[1] @ self._prices(self.topology, 2 * edges))
        if dealt > LEAST:
            return self
        return _Dealt(self._too_little(dealt))

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


@lru_cache(maxsize=64)  # every slot of a process asks the same
def _ground(topology: Topology) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Return the domain of each slot by level; of links dealt at random, which part is there.

    >>> _ground(Topology.from_fanouts([2, 2]))[1]  # a quarter stays at home
    array([0.25, 0.5 ])
    """
    domains = np.stack([topology.domain_of(level) for level in range(topology.height + 1)])
    together = [int((np.bincount(domain) ** 2).sum()) for domain in domains]
    pairs = np.diff([topology.slots, *together])
    return domains, pairs / topology.slots**2


def _hopes(slots: int, look: Look) -> tuple[float, float]:
    """Return which part "hierarchy" would save, about, 0 if it may be uneven; and seconds."""
    ends, degrees = max(2 * look.num_edges, 1), look.degrees
    few = max(1, min(slots, ends // Draft().enough))
    placing = PLACING[0] + PLACING[1] * look.num_edges / few
    most = Sizes(look.num_vertices, ends, degrees.heaviest).capacities(slots, EPS)[1, 0]
    if most * slots > EVEN * ends:
        return 0.0, placing
    return min(0.9, 2 * 0.76 / max(degrees.squares / ends, 1.0) ** 0.5), placing


async def _look_at(
    ctx: Context, look: Look, topology: Topology
) -> tuple[NDArray[np.int64], bool]:
    """Return how many links of a sample "chunk" has inside a run, and between runs by level.

    Then whether its runs are even. Where they begin is exact for the second, and for the first
    inside of a block as if all vertices there had the same degree.
    """
    by_block = look.degrees.by_block
    counts = np.zeros(topology.height + 2, np.int64)
    share = FEW / max(look.num_edges, 1)
    domains, _ = _ground(topology)
    rows = (look.filed.offsets, look.filed.columns)
    _count(rows, ctx.slot, ctx.slots, _runs(by_block), domains, share, counts)
    before = np.concatenate([[0], np.cumsum(look.block.degree, dtype=np.int64)])
    cuts = Chunk().cuts(look.block, ctx.slots, Totals(ctx.slot, by_block))
    has = np.diff(before[np.concatenate([[0], cuts, [len(look.block)]])])
    total = await ctx.allreduce(np.concatenate([counts, has]))
    has = total[len(counts) :]
    return total[: len(counts)].copy(), bool(has.max() <= EVEN * has.mean())


def _runs(by_block: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return where "chunk" begins its runs, about, by the vertices and degrees of each block.

    >>> _runs(np.array([[10, 40], [10, 40]]))
    array([ 0, 10])
    """
    slots = len(by_block)
    weight = np.cumsum(by_block @ [8 * (slots - 1), 1])
    shares = weight[-1] * np.arange(slots) // slots
    vertices = np.append(0, np.cumsum(by_block[:, 0]))
    begins: Array = np.interp(shares, np.append(0, weight), vertices)
    return begins.astype(np.int64)


@kernel
def _count(rows, slot, slots, runs, domains, share, counts):  # type: ignore[no-untyped-def]
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
                there = np.searchsorted(runs, columns[i], side="right") - 1
                level = np.int64(here != there)
                for above in domains:
                    level += above[here] != above[there]
                counts[level] += 1


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
    slot_of = np.full(shard.size, -1, narrow_dtype(ctx.slots))
    slot_of[: shard.masters] = owner
    await ctx.broadcast(shard, slot_of)
    here = add_costs(links.rows, slot_of, unit, shard.masters, step)
    return float((await ctx.allreduce([here]))[0])
