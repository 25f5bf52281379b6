"""Placement "hierarchy": YH-Light in a sound reading, core trees onto the domain tree.

::

    core trees    grown from hubs to a volume          growth: on all slots at once
                                                       trees: one after the other, on one slot
    distribution  trees onto leaf domains, siblings,   bisection: the quotient graph, top down
                  upper domains, by capacities         distribution: the paper's greedy way
    refinement    the cuts, vertex by vertex           sharpening: a band, on one slot
                  vertices move where edges cost less  moving: supersteps on all slots
                  slots give up what is too much       evening

The distributed form, which is the default, never gathers the edge list: trees grow on all slots
that there is work for, and slot 0 sees the graph of the trees, whose size is bounded, and the
band along the cuts, if that is a small part of the graph. It costs nothing in quality. Edges of
a 500 x 500 grid, ids dealt at random, between 4 domains of 4 slots: 1,146, METIS 1,207; of an
850 x 850 grid: 2,082, METIS 2,154. A graph that lies on slot 0 as it is (see `draft`) is placed
there, without supersteps; if it is small and sparse, without trees (see `small`).

YH-Light: a hierarchy-aware graph partitioner, ICS 2025.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dgraph.arguments import choice, integer, number, optional_integer
from dgraph.engine.alone import Alone
from dgraph.engine.context import Context
from dgraph.errors import OptionError
from dgraph.placement.band import gather_band, hand_back
from dgraph.placement.bisection import split, split_together
from dgraph.placement.distances import grid_distances, tree_distances
from dgraph.placement.distribution import distribute
from dgraph.placement.draft import Draft
from dgraph.placement.growth import Trees, grow_trees
from dgraph.placement.loads import Sizes, sizes_of
from dgraph.placement.moving import settle
from dgraph.placement.quotient import Quotient, gather_quotient, make_quotient, quotient_of
from dgraph.placement.sharpening import sharpen_together
from dgraph.placement.small import is_small, place_small, room_of
from dgraph.placement.trees import ORDERS, core_trees
from dgraph.placement.twod import deal_in_domains
from dgraph.placement.whole import Links, Whole, gather_whole, links_of, tell_owners
from dgraph.shard import Shard, narrow_dtype
from dgraph.topology import Topology

__all__ = ["Hierarchy"]

Array = NDArray[Any]

#: Most core trees that slot 0 distributes; where there are fewer, a tree has as many vertices
#: as one has neighbours on the average: so that a tree has many edges to a few other trees.
#: Where trees would be of more than 32 vertices there may be four times as many: the band along
#: their cuts is to stay a small part of the graph.
MOST_TREES = 1 << 12

_ALLOWED = {
    "edges": ("source", "2d-in-domain"),
    "order": ("grown", *ORDERS),
    "spread": ("bisect", "greedy"),
    "metric": ("tree", "grid"),
}


@dataclass(frozen=True)
class Hierarchy:
    """Keep neighbours together in a slot, else in a leaf domain, else in the next one up.

    Parameters
    ----------
    edges : {"source", "2d-in-domain"}
        "source": an edge lives with its source, in the slot that costs least.
        "2d-in-domain": only the leaf domain is chosen by cost; the vertices in it are dealt
        over its slots, and edges are blocked m x n over these: an edge lies in the row of the
        slot of its one end, in the column of that of the other, unless a vertex has no more
        edges than there are columns. On 2 domains of 16 slots a vertex of a Kronecker graph is
        known to 6.9 slots instead of 10.1. Not for grids, where it cuts what could stay in a
        slot. What works on parts of rows works on these, the rest puts rows together: see
        `rhizome_max` of `dgraph.from_edges`.
    vol_st : int, optional
        Volume of a core tree in bytes, ``8 + 8 * degree`` for each vertex. Default: as many
        vertices as there are neighbours of one, or 1 / 4,096 of the graph; for
        ``spread="greedy"`` a slot's share.
    order : {"grown", "dfs", "bfs", "prim"}
        "grown": all trees at once, on all slots. The others: one tree after the other, on one
        slot that gathers the whole graph; "prim" by the lightest edge.
    refine : int
        Supersteps of the refinement at most, it ends when one gains little; 0 for none.
    spread : {"bisect", "greedy"}
        "bisect": the domain tree is cut top down, by multilevel bisection of the graph of the
        trees. "greedy": the paper's way, tree after tree to the leaf domain that has most of
        its neighbours, then siblings, then upper domains; not with ``order="grown"``.
    metric : {"tree", "grid"}
        Unit costs of the refinement: by level of the domain tree, or of grids inside grids.
    eps : float
        A slot gets at most ``1 + eps`` times the mean of vertices and, if its heaviest vertex
        allows, of edges; of those up to a quarter more than the mean where a graph is so small
        and sparse that it is cut without trees.
    topology : Topology, optional
        The graph's own, if left out.
    fission : bool
        Split vertices of more than a quarter of a slot's edges into siblings, in one leaf
        domain first (TopoX's fission; see `rhizome_max` of `dgraph.from_edges`).

    Examples
    --------
    >>> import dgraph as dg
    >>> edges = dg.generate.grid(32, 32)
    >>> g = dg.from_edges(edges, placement=dg.placement.Hierarchy(refine=4), virtual_slots=4)
    >>> g.placement, g.placement.figures().cut_top < 200
    ('hierarchy', True)
    """

    edges: str = "source"
    vol_st: int | None = None
    order: str = "grown"
    refine: int = 8
    spread: str = "bisect"
    metric: str = "tree"
    eps: float = 0.05
    topology: Topology | None = None
    fission: bool = False

    def __post_init__(self) -> None:
        """Check the options."""
        for name, allowed in _ALLOWED.items():
            choice(name, getattr(self, name), allowed)
        if self.spread == "greedy" and self.order == "grown":
            raise OptionError(
                "spread='greedy' distributes trees that were grown one after the other: "
                "use it with order='dfs', 'bfs' or 'prim'"
            )
        optional_integer("vol_st", self.vol_st, 1)
        integer("refine", self.refine, 0)
        number("eps", self.eps, 0, 1)

    @property
    def blocks(self) -> bool:
        """Whether edges are blocked inside leaf domains."""
        return self.edges == "2d-in-domain"

    @property
    def base(self) -> Draft:
        """Runs of ids: they keep neighbours together where near ids are near vertices."""
        return Draft()

    def on(self, topology: Topology) -> Hierarchy:
        """Return this strategy for a domain tree, unless it has one already."""
        return self if self.topology is not None else replace(self, topology=topology)

    async def place(self, ctx: Context, shard: Shard) -> NDArray[np.int32]:
        """Return the owner of each master."""
        topology = self.topology or Topology.from_fanouts([ctx.slots])
        if shard.num_vertices <= ctx.slots:
            return shard.rank[: shard.masters].astype(np.int32)
        if ctx.slots == 1:
            return np.zeros(shard.masters, np.int32)
        if self.order == "grown":
            owner = await self._grown(ctx, shard, topology)
        else:
            owner = await self._one_by_one(ctx, shard, topology)
        if self.blocks:
            owner = await deal_in_domains(ctx, shard, owner, topology)
        return owner.astype(np.int32)

    async def _grown(self, ctx: Context, shard: Shard, topology: Topology) -> Array:
        """Return slots by trees that grow on all slots; the edges stay where they are.

        Where slot 0 has all of them, it asks another one only to cut half of the graph of the
        trees, and half of what lies along the cuts.
        """
        near = ctx
        if shard.bases[1] == shard.num_vertices:
            if ctx.slot:
                told = await split_together(ctx, None, topology, self.eps, for_all=False)
                if self.refine and told is not None:
                    await sharpen_together(ctx, None, topology, self.eps)
                return np.zeros(0, narrow_dtype(ctx.slots))
            near = Alone(ctx)
        links = links_of(shard)
        sizes = await sizes_of(near, shard, links)
        if near is not ctx and self._as_it_is(sizes, ctx.slots):
            await split_together(ctx, None, topology, self.eps)  # nobody is to wait for cuts
            cap, unit = room_of(sizes, ctx.slots, self.eps), self._unit(topology)
            slot_of = place_small(links, sizes, topology, cap, unit, self.eps)
            await settle(near, shard, links, slot_of, cap, unit, self.refine)
            return slot_of
        volume = self._volume(shard.num_vertices, sizes.ends, ctx.slots)
        trees = await grow_trees(near, shard, links, volume, _most(shard.num_vertices))
        quotient = await _quotient(near, shard, links, sizes, trees)
        told = await split_together(ctx, quotient, topology, self.eps, for_all=near is ctx)
        del quotient  # every step needs the room of those before it
        assert told is not None
        own = trees.tree[: shard.masters]
        slot_of = np.full(shard.size, -1, narrow_dtype(ctx.slots))
        slot_of[: shard.masters] = np.where(own < 0, -1, np.append(told, -1)[own])
        del own
        if self.refine:
            await self._settle(near, shard, links, sizes, slot_of, topology, 0)
            mine, band = await gather_band(near, shard, links, trees, slot_of, sizes)
            del trees
            found = await sharpen_together(ctx, band, topology, self.eps)
            if mine is not None:
                slot_of[mine] = await hand_back(near, band, found)
            del band, found
        await self._settle(near, shard, links, sizes, slot_of, topology, self.refine)
        return slot_of[: shard.masters]

    async def _settle(
        self,
        ctx: Context,
        shard: Shard,
        links: Links,
        sizes: Sizes,
        slot_of: Array,
        topology: Topology,
        rounds: int,
    ) -> None:
        """Give every vertex a slot, and let vertices move in so many supersteps, in place."""
        cap = sizes.capacities(ctx.slots, self.eps)
        await settle(ctx, shard, links, slot_of, cap, self._unit(topology), rounds)

    def _unit(self, topology: Topology) -> NDArray[np.float64]:
        """Return what an edge between two slots costs."""
        return (tree_distances if self.metric == "tree" else grid_distances)(topology)

    def _as_it_is(self, sizes: Sizes, slots: int) -> bool:
        """Tell whether the graph is cut without trees."""
        return self.refine > 0 and self.vol_st is None and is_small(sizes, slots)

    async def _one_by_one(self, ctx: Context, shard: Shard, topology: Topology) -> Array:
        """Return slots by trees that slot 0 grows, which gathers the whole graph."""
        links = links_of(shard)
        sizes = await sizes_of(ctx, shard, links)
        whole = await gather_whole(ctx, shard, weighted=self.order == "prim")
        slot_of = np.full(shard.size, -1, narrow_dtype(ctx.slots))
        slot_of[: shard.masters] = await tell_owners(
            ctx, shard, None if whole is None else self._distribute(whole, topology)
        )
        await self._settle(ctx, shard, links, sizes, slot_of, topology, self.refine)
        return slot_of[: shard.masters]

    def _distribute(self, whole: Whole, topology: Topology) -> Array:
        ends = len(whole.targets)
        volume = self._volume(whole.n, ends, topology.slots)
        tree, taken = core_trees(
            whole.offsets, whole.targets, volume, self.order, whole.weights
        )
        if self.spread == "greedy":
            return distribute(whole.offsets, whole.targets, tree, taken, topology, self.eps)
        count = int(tree.max(initial=-1)) + 1
        members = np.bincount(tree[tree >= 0], minlength=count)
        volumes = 8 * members + 8 * np.bincount(
            tree[tree >= 0], whole.degree[tree >= 0], minlength=count
        ).astype(np.int64)
        pairs = quotient_of(whole.offsets, whole.targets, tree, count)
        mass = _mass(volumes, members, whole.n, ends)
        found = split(make_quotient(*pairs, mass), topology, self.eps)
        return np.where(tree < 0, -1, np.append(found, -1)[tree])

    def _volume(self, n: int, ends: int, slots: int) -> int:
        if self.vol_st is not None:
            return self.vol_st
        total = 8 * n + 8 * ends
        if self.spread == "greedy":
            return -(-total // slots)
        small = max(4, round(ends / max(n, 1)))
        trees = min(_most(n), max(n // small, 16 * slots))
        return -(-total // trees)


async def _quotient(
    ctx: Context, shard: Shard, links: Links, sizes: Sizes, trees: Trees
) -> Quotient | None:
    """Return the graph of the trees on slot 0, None elsewhere."""
    pairs = await gather_quotient(ctx, shard, links, trees)
    if pairs is None:
        return None
    mass = _mass(trees.volume, pairs[3], shard.num_vertices, sizes.ends)
    return make_quotient(*pairs[:3], mass)


def _most(n: int) -> int:
    """Return how many trees there are at most.

    >>> [_most(1 << power) for power in (10, 20, 30)]
    [4096, 16384, 16384]
    """
    return min(max(MOST_TREES, n >> 5), 4 * MOST_TREES)


def _mass(volume: Array, members: Array, n: int, ends: int) -> NDArray[np.int64]:
    """Return what trees weigh: half for their vertices, half for their edges.

    >>> _mass(np.array([8 * 2 + 8 * 6, 8 + 8 * 2]), np.array([2, 1]), n=3, ends=8)
    array([182,  75])
    """
    degree = volume // 8 - members
    mean = max(1, round(16 * ends / max(n, 1)))
    mass: NDArray[np.int64] = 16 * degree + mean * members
    return np.maximum(mass, 1)
