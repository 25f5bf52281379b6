"""Placements on their own: `assign` says where vertices would live, `refine` where better."""

from __future__ import annotations

from collections.abc import Hashable
from time import perf_counter
from typing import TYPE_CHECKING, Any

import numpy as np
from distributed import Client

from dgraph.arguments import choice, integer, number
from dgraph.build.joining import whole_rows
from dgraph.build.strategy import EdgeStrategy, Strategy
from dgraph.clients import find_client, look_and_make
from dgraph.edges.inputs import EdgeInput, edge_input
from dgraph.edges.vertex_inputs import VertexInput, placement_input
from dgraph.engine.columns import Column, Plain
from dgraph.engine.context import Context
from dgraph.graph import Graph, home_of, run_algorithm
from dgraph.ingest import find_home, ingest
from dgraph.placement.distances import grid_distances, tree_distances
from dgraph.placement.frame import Frame
from dgraph.placement.loads import add_costs, loads_here, sizes_of
from dgraph.placement.moving import settle
from dgraph.placement.resolve import resolve, settled
from dgraph.placement.whole import Links, links_of
from dgraph.policies import Policies
from dgraph.results import table
from dgraph.shard import Shard, narrow_dtype
from dgraph.topology import Topology

if TYPE_CHECKING:
    from dask.dataframe import DataFrame

__all__ = ["assign", "build_graph", "refine"]

SLOT = {"slot": "int64"}


def assign(
    edges: Any,
    placement: Any,
    source: Hashable = "source",
    target: Hashable = "target",
    weight: Hashable = None,
    *,
    slots: int | None = None,
    topology: Topology | None = None,
    directed: bool | None = None,
    vertices: Any = None,
    client: Client | None = None,
) -> DataFrame:
    """Say on which slot a placement would put each vertex, without keeping a graph.

    Parameters
    ----------
    edges, source, target, weight, directed, vertices
        As in `dgraph.from_edges`. Of the placements "hierarchy" with ``order="prim"`` asks for
        weights.
    placement : str, object of `dgraph.placement`, or frame
    slots : int, optional
        How many slots there are to be; they need not exist. Default: those of `topology`, else
        those of the cluster.
    topology : Topology, optional
        The domain tree over them. Default: processes and hosts, as they are found.
    client : distributed.Client, optional

    Returns
    -------
    dask DataFrame
        Columns vertex, slot: int64; `dgraph.from_edges` takes it as ``placement=``. An
        awaitable of it if the client is asynchronous.

    Examples
    --------
    >>> import numpy as np
    >>> edges = np.array([[1, 2], [2, 3], [3, 1], [3, 4], [4, 5], [5, 6], [6, 4]])
    >>> found = assign(edges, "hierarchy", slots=2).compute()
    >>> sorted(found.groupby("slot")["vertex"].apply(sorted).tolist())
    [[1, 2, 3], [4, 5, 6]]
    """
    strategy = resolve(placement)
    client = find_client(client)
    options = {"weight": weight, "directed": directed, "vertices": vertices}
    graph = build_graph(edges, strategy, source, target, slots, topology, client, options)
    if client.asynchronous:
        return _assigned_later(graph)  # type: ignore[return-value]
    return _assigned(graph)  # type: ignore[no-any-return]


def _assigned(graph: Graph) -> Any:
    with graph:
        return table(home_of(graph), graph.id_dtype, "assign", _assign_slot, columns=SLOT)


async def _assigned_later(graph: Any) -> Any:
    made = await graph
    try:
        return await table(home_of(made), made.id_dtype, "assign", _assign_slot, columns=SLOT)
    finally:
        made.close()


def build_graph(
    edges: Any,
    strategy: Strategy | EdgeStrategy,
    source: Hashable,
    target: Hashable,
    slots: int | None,
    topology: Topology | None,
    client: Client,
    options: dict[str, Any],
    policies: Policies | None = None,
) -> Any:
    """Build a graph on virtual slots; an awaitable of it if the client is asynchronous."""
    if slots is None and topology is not None:
        slots = topology.slots

    def look() -> tuple[EdgeInput, VertexInput | None, float]:
        began = perf_counter()
        with client.as_current():
            found = edge_input(edges, source, target, **options)
            placed = placement_input(strategy.table) if isinstance(strategy, Frame) else None
        return found, placed, perf_counter() - began

    async def make(found: tuple[EdgeInput, VertexInput | None, float]) -> Graph:
        home = await find_home(client, None, slots, topology)
        inputs, placed, seconds = found
        chosen = settled(strategy, home.topology)
        rules = policies or Policies()
        return Graph(home, await ingest(home, inputs, rules, chosen, placed, seconds))

    return look_and_make(client, look, make)


async def _assign_slot(ctx: Context, shard: Shard) -> dict[str, Column]:
    """Return the slot of each master."""
    return {"slot": Plain(np.full(shard.masters, shard.slot, np.int64))}


def refine(g: Graph, rounds: int = 8, *, eps: float = 0.05, metric: str = "tree") -> DataFrame:
    """Move vertices of a graph to where their edges cost less, slots staying even.

    Size-constrained label propagation, as supersteps on the slots of the graph. Graphs do not
    change: what is returned is a placement for another one.

    Parameters
    ----------
    g : Graph
    rounds : int
        Supersteps at most.
    eps : float
        A slot gets at most ``1 + eps`` times the mean of vertices and, if the heaviest vertex
        allows, of edges.
    metric : {"tree", "grid"}
        Unit costs: by level of the domain tree, 1, 10, 100, ..., or of grids inside grids.

    Returns
    -------
    dask DataFrame
        Columns vertex, slot: int64. Costs no more than the placement of `g` does, if that keeps
        to the bound. An awaitable of it if the client is asynchronous.

    Examples
    --------
    >>> import dgraph as dg
    >>> with dg.from_edges(dg.generate.grid(9, 9), placement="hash", virtual_slots=3) as g:
    ...     better = refine(g)
    ...     before = g.placement.figures().cost
    >>> with dg.from_edges(dg.generate.grid(9, 9), placement=better, virtual_slots=3) as g:
    ...     g.placement.figures().cost < before
    True
    """
    integer("rounds", rounds, 0)
    number("eps", eps, 0, 1)
    choice("metric", metric, ("tree", "grid"))
    unit = (tree_distances if metric == "tree" else grid_distances)(g.topology)
    found: DataFrame = run_algorithm(g, "refine", _refine_slot, rounds, eps, unit, columns=SLOT)
    return found


async def _refine_slot(
    ctx: Context, shard: Shard, rounds: int, eps: float, unit: Any
) -> dict[str, Column]:
    """Refine the placement that the shards have."""
    shard = await whole_rows(ctx, shard)
    links = links_of(shard)
    slot_of = np.full(shard.size, -1, narrow_dtype(ctx.slots))
    slot_of[: shard.masters] = shard.slot
    cap = (await sizes_of(ctx, shard, links)).capacities(ctx.slots, eps)
    await settle(ctx, shard, links, slot_of, cap, unit, rounds, swap=True)
    if await _is_better(ctx, shard, links, slot_of, cap, unit):
        return {"slot": Plain(slot_of[: shard.masters].astype(np.int64))}
    return {"slot": Plain(np.full(shard.masters, shard.slot, np.int64))}


async def _is_better(
    ctx: Context, shard: Shard, links: Links, slot_of: Any, cap: Any, unit: Any
) -> bool:
    """Tell whether owners cost less than those there are, or those break the bound."""
    was = np.full(shard.size, shard.slot, slot_of.dtype)
    await ctx.broadcast(shard, was)
    whole = np.rint(unit * 8)
    costs = [add_costs(links.rows, some, whole, shard.masters, 1) for some in (slot_of, was)]
    degree = links.degree
    told = np.concatenate([costs, loads_here(ctx.slots, degree, was[: shard.masters])])
    total = await ctx.allreduce(told)
    return bool(total[0] < total[1] or (total[2:].reshape(2, -1) > cap).any())
