"""The engine on virtual slots: what it sends in every stage of every algorithm, watched.

A graph is built on one in-process worker with as many virtual slots as a domain tree has, and
the slots' own programs run on threads. What they send is :mod:`benchmarks.hierarchy.watched`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Self

import numpy as np
from distributed import Client, LocalCluster

import dgraph as dg
from benchmarks.hierarchy.watched import Apart, Watched
from dgraph.algorithms.betweenness_centrality import betweenness_slot
from dgraph.algorithms.bfs import bfs_slot
from dgraph.algorithms.cdlp import cdlp_slot
from dgraph.algorithms.connected_components import connected_components_slot
from dgraph.algorithms.pagerank import pagerank_slot
from dgraph.algorithms.sssp import sssp_slot
from dgraph.engine.context import Context
from dgraph.engine.network import AUTO
from dgraph.engine.pool import run
from dgraph.exchange.routing.ground import Ground, default_group
from dgraph.exchange.routing.monitors import score
from dgraph.shard import Shard
from dgraph.topology import CostModel, Topology
from dgraph.topology.machine import Machine

__all__ = ["ALGORITHMS", "FIXED", "Lab", "Setting", "in_process"]

#: Routings that "auto" is held against.
FIXED = ("direct", "aml", "mst", "rail", "monitor", "multileader", "tree")

ALGORITHMS = (
    "bfs",
    "sssp",
    "connected_components",
    "pagerank",
    "betweenness_centrality",
    "cdlp",
)


@dataclass(frozen=True)
class Setting:
    """A machine, and what "auto" is told of it."""

    name: str
    machine: Machine
    cost: CostModel

    @classmethod
    def of(cls, name: str, height: int) -> Self:
        """Return one by name.

        "far 100": a frame and a byte cost 100 times as much at the top as below. "links": the
        emulated network, 1 and 10 ms, 100 and 20 MB/s. Others: presets of `CostModel`.
        """
        if name == "far 100":
            cost = CostModel((5e-6,) * height + (5e-4,), (1e-10,) * height + (1e-8,))
            return cls(name, Machine.of(cost, height), cost)
        if name == "links":
            zeros = (0.0,) * max(height - 1, 0)
            latency = (*zeros, 1e-3, 1e-2)[-height - 1 :]
            link = (*zeros, 1 / 100e6, 1 / 20e6)[-height - 1 :]
            overhead, copy = (1e-4,) * (height + 1), (1 / 220e6,) * (height + 1)
            alpha = tuple(each + overhead[0] for each in latency)
            cost = CostModel(alpha, tuple(map(max, copy, link)), latency)
            return cls(name, Machine(latency, overhead, copy, link), cost)
        return cls(name, Machine.of(name, height), CostModel.of(name, height))


@contextmanager
def in_process() -> Iterator[Client]:
    """Yield a client of one worker in this process."""
    with (
        LocalCluster(
            n_workers=1,
            threads_per_worker=2,
            processes=False,
            memory_limit=0,
            dashboard_address="127.0.0.1:0",
        ) as cluster,
        Client(cluster, set_as_default=False) as client,
    ):
        yield client


class Lab:
    """A graph on virtual slots.

    Parameters
    ----------
    edges : Any
        What `dgraph.from_edges` takes.
    topology : Topology
    client : distributed.Client, optional
        One of `in_process`. Default: one of its own.
    **options
        Of `dgraph.from_edges`; "degree" is the placement if none is named.
    """

    def __init__(
        self, edges: Any, topology: Topology, client: Client | None = None, **options: Any
    ) -> None:
        self.topology = topology
        with ExitStack() as stack:
            self._client = client = client or stack.enter_context(in_process())
            with client.as_current():
                self.graph = stack.enter_context(
                    dg.from_edges(
                        edges,
                        topology=topology,
                        virtual_slots=topology.slots,
                        client=client,
                        **{"placement": "degree", **options},  # the same for all routings
                    )
                )
            cluster: Any = client.cluster
            worker = next(iter(cluster.workers.values()))
            store = worker.plugins["dgraph"].shards
            name = self.graph._home.name
            self.shards: list[Shard] = [store.get((name, s)) for s in range(topology.slots)]
            self._stack = stack.pop_all()
        heaviest = [np.diff(shard.out.offsets[:65]) for shard in self.shards]
        self.scores = tuple(score(degrees) for degrees in heaviest)

    @cached_property
    def source(self) -> Any:
        """The vertex that searches begin at: any that has a neighbour."""
        return dg.graph500.search_keys(self.graph, k=1, seed=1)[0]

    @cached_property
    def reached(self) -> int:
        """Edges that a search traverses."""
        with self._client.as_current():
            levels = dg.bfs(self.graph, self.source)
            return int(dg.graph500.traversed_edges(self.graph, levels))

    def __enter__(self) -> Self:
        """Return it."""
        return self

    def __exit__(self, *error: object) -> None:
        """Close the graph and its cluster."""
        self._stack.close()

    def run(
        self,
        algorithm: str,
        routing: str,
        cost: CostModel | None = None,
        combine: bool = True,
        threads: int | None = None,
    ) -> Watched:
        """Run an algorithm and watch what it sends; on one thread, what slots compute too."""
        watched = Watched(self.topology, self._network(routing, cost, combine))
        program, *options = self._program(algorithm)

        async def watch(ctx: Context, shard: Shard) -> None:
            ctx.companions = ()  # as if each slot were a process: none acts for others
            await program(ctx, shard, *options)
            ctx.close()

        run(
            watch,
            self.shards,
            slots=self.topology.slots,
            threads=threads,
            observer=watched,
            network=watched.network,
        )
        return watched

    def _network(self, routing: str, cost: CostModel | None, combine: bool) -> Apart | None:
        if routing == "direct" or self.topology.height == 0:
            return None
        group = default_group(self.topology, cost if routing == AUTO else None)
        if group is None:
            group = default_group(self.topology, None)
        ground = Ground(self.topology, group or 0, self.scores)
        return Apart(ground, routing, combine, cost, range(self.topology.slots))

    def _program(self, algorithm: str) -> Sequence[Any]:
        fixed: dict[str, Sequence[Any]] = {
            "connected_components": (connected_components_slot,),
            "pagerank": (pagerank_slot, 0.85, None, 10, None),
            "cdlp": (cdlp_slot, 5),
        }
        if algorithm in fixed:
            return fixed[algorithm]
        source = self._ids(self.source)
        return {
            "bfs": (bfs_slot, source),
            "sssp": (sssp_slot, source),
            "betweenness_centrality": (betweenness_slot, source, True, False, False),
        }[algorithm]

    def _ids(self, vertex: Any) -> Any:
        for shard in self.shards:
            values = shard.ids.to_pandas()
            at = np.flatnonzero(np.asarray(values == vertex))
            if at.size:
                return shard.ids.take(at)
        raise KeyError(vertex)
