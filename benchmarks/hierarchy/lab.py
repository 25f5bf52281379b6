"""The engine on virtual slots: what it sends in every stage of every algorithm, watched.

A graph is built on one in-process worker with as many virtual slots as a domain tree has, and
the slots' own programs run on threads. An observer of the hub notes every frame, so that
counts are the engine's, and `dgraph.topology.simulate` turns them into the time that the links
of a described machine would take: a modelled time, never a measured one.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from functools import cached_property
from itertools import pairwise
from typing import Any, Self

import numpy as np
from distributed import Client, LocalCluster
from numpy.typing import NDArray

import dgraph as dg
from dgraph.algorithms.betweenness_centrality import betweenness_slot
from dgraph.algorithms.bfs import bfs_slot
from dgraph.algorithms.cdlp import cdlp_slot
from dgraph.algorithms.connected_components import connected_components_slot
from dgraph.algorithms.pagerank import pagerank_slot
from dgraph.algorithms.sssp import sssp_slot
from dgraph.engine.context import Context
from dgraph.engine.network import AUTO, Network
from dgraph.engine.pool import run
from dgraph.engine.records import ROUTES
from dgraph.exchange.hop import Hop
from dgraph.exchange.hub import Request
from dgraph.exchange.routing.choice import HEAD, STAGE
from dgraph.exchange.routing.ground import Ground, default_group, positions
from dgraph.exchange.routing.monitors import score
from dgraph.exchange.routing.schedule import alone
from dgraph.shard import Shard
from dgraph.topology import CostModel, Topology
from dgraph.topology.simulate import Machine, Traffic, simulate

__all__ = ["ALGORITHMS", "FIXED", "Lab", "Setting", "Watched"]

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

Numbers = NDArray[np.int64]


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


class _Apart(Network):
    """A network whose slots count as processes of their own, though one process has them."""

    def hops(self, name: str, backwards: bool | None) -> tuple[Hop, ...]:
        """Return the stages, and remember of which routing they are."""
        found = self._hops.get((name, backwards))
        if found is None:
            found = alone(name, backwards, self.ground)
            self._hops[name, backwards] = found
            for hop in found:
                self.known[id(hop)] = self._links(name, backwards, hop.stage)
        return found

    @cached_property
    def known(self) -> dict[int, Numbers]:
        """For each stage the links that carry at least votes: source * slots + target."""
        return {}

    def _links(self, name: str, backwards: bool | None, stage: int) -> Numbers:
        slots = np.arange(self.slots)
        pairs = [some.ravel() for some in np.meshgrid(slots, slots)]
        links = [np.zeros(0, np.int64)]
        for direction in (False, True) if backwards is None else (backwards,):
            where = positions(self.strategy(name, direction), *pairs)
            here, there = list(pairwise(where))[stage]
            links.append((here * self.slots + there)[here != there])
        return np.unique(np.concatenate(links))


@dataclass
class _Stage:
    """What one stage sent: rows of source, target, messages, bytes; and what slots computed."""

    name: str
    last: bool
    rows: Numbers
    links: Numbers
    computation: list[float]


@dataclass
class Watched:
    """A run that was watched; also the Observer of its hub.

    Parameters
    ----------
    topology : Topology
    network : Network or None
    """

    topology: Topology
    network: _Apart | None
    stages: list[_Stage] = field(default_factory=list)

    def superstep(
        self,
        stage: str,
        requests: Mapping[int, Request],
        compute: Mapping[int, float],
        exchange: float,
        elapsed: float,
    ) -> None:
        """Note a stage: called by the hub."""
        if stage == ROUTES:
            return
        rows = [
            (frame.source, frame.target, frame.count, frame.nbytes)
            for request in requests.values()
            for frame in request.frames
        ]
        hop = next(iter(requests.values())).hop
        if hop is None or self.network is None:
            slots = self.topology.slots
            links = np.flatnonzero(~np.eye(slots, dtype=bool))
        else:
            links = self.network.known[id(hop)]
        self.stages.append(
            _Stage(
                stage,
                hop is None or hop.last,
                np.array(rows, np.int64).reshape(-1, 4),
                links,
                list(compute.values()),
            )
        )

    @property
    def supersteps(self) -> int:
        """How many there were."""
        return sum(stage.last for stage in self.stages)

    def counts(self) -> NDArray[np.int64]:
        """Return frames, messages and bytes by level."""
        total = np.zeros((3, self.topology.height + 1), np.int64)
        for stage in self.stages:
            source, target, messages, size = stage.rows.T
            level = self.topology.level(source, target)
            for row, amount in enumerate((np.ones(level.size), messages, size)):
                found = np.bincount(level, amount, minlength=self.topology.height + 1)
                total[row] += found.astype(np.int64)
        return total

    def traffic(self, far: bool = True) -> Iterator[Traffic]:
        """Yield each stage, with frames for votes only; not far: without the top level's."""
        slots = self.topology.slots
        for stage in self.stages:
            source, target, _, size = stage.rows.T
            more = np.setdiff1d(stage.links, source * slots + target)
            source = np.concatenate([source, more // slots])
            target = np.concatenate([target, more % slots])
            size = np.concatenate([size, np.full(more.size, HEAD)])
            if not far:
                near = self.topology.level(source, target) < self.topology.height
                source, target, size = source[near], target[near], size[near]
            yield Traffic.of(source, target, size)

    def seconds(self, machine: Machine, far: bool = True) -> float:
        """Return the modelled time of all frames, and of the engine's stages beside them."""
        found = simulate(self.topology, self.traffic(far), machine)
        return found.seconds + STAGE * len(self.stages)

    def split(self, machine: Machine) -> dict[str, float]:
        """Return seconds of computation (measured), near and far exchange (modelled), waiting.

        Slots wait for the one that computes longest.
        """
        means = [float(np.mean(stage.computation)) for stage in self.stages]
        longest = [max(stage.computation) for stage in self.stages]
        near = self.seconds(machine, far=False)
        return {
            "computation": sum(means),
            "near": near,
            "far": self.seconds(machine) - near,
            "waiting": sum(longest) - sum(means),
        }


class Lab:
    """A graph on virtual slots.

    Parameters
    ----------
    edges : Any
        What `dgraph.from_edges` takes.
    topology : Topology
    **options
        Of `dgraph.from_edges`.
    """

    def __init__(self, edges: Any, topology: Topology, **options: Any) -> None:
        self.topology = topology
        with ExitStack() as stack:
            cluster = stack.enter_context(
                LocalCluster(
                    n_workers=1,
                    threads_per_worker=2,
                    processes=False,
                    memory_limit=0,
                    dashboard_address="127.0.0.1:0",
                )
            )
            client = stack.enter_context(Client(cluster, set_as_default=False))
            with client.as_current():
                self.graph = stack.enter_context(
                    dg.from_edges(
                        edges,
                        topology=topology,
                        virtual_slots=topology.slots,
                        client=client,
                        **options,
                    )
                )
                self.source = dg.graph500.search_keys(self.graph, k=1, seed=1)[0]
                self.reached = int(
                    dg.graph500.traversed_edges(self.graph, dg.bfs(self.graph, self.source))
                )
            worker = next(iter(cluster.workers.values()))
            store = worker.plugins["dgraph"].shards
            found = {shard.slot: shard for shard in _shards(store)}
            self.shards: list[Shard] = [found[slot] for slot in range(topology.slots)]
            self._stack = stack.pop_all()
        heaviest = [np.diff(shard.out.offsets[:65]) for shard in self.shards]
        self.scores = tuple(score(degrees) for degrees in heaviest)

    def __enter__(self) -> Self:
        """Return it."""
        return self

    def __exit__(self, *error: object) -> None:
        """Close the graph and its cluster."""
        self._stack.close()

    def run(
        self, algorithm: str, routing: str, cost: CostModel | None = None, combine: bool = True
    ) -> Watched:
        """Run an algorithm and watch what it sends."""
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
            observer=watched,
            network=watched.network,
        )
        return watched

    def _network(self, routing: str, cost: CostModel | None, combine: bool) -> _Apart | None:
        if routing == "direct" or self.topology.height == 0:
            return None
        group = default_group(self.topology, cost if routing == AUTO else None)
        if group is None:
            group = default_group(self.topology, None)
        ground = Ground(self.topology, group or 0, self.scores)
        return _Apart(ground, routing, combine, cost, range(self.topology.slots))

    def _program(self, algorithm: str) -> Sequence[Any]:
        source = self._ids(self.source)
        return {
            "bfs": (bfs_slot, source),
            "sssp": (sssp_slot, source),
            "connected_components": (connected_components_slot,),
            "pagerank": (pagerank_slot, 0.85, None, 10, None),
            "betweenness_centrality": (betweenness_slot, source, True, False, False),
            "cdlp": (cdlp_slot, 5),
        }[algorithm]

    def _ids(self, vertex: Any) -> Any:
        for shard in self.shards:
            values = shard.ids.to_pandas()
            at = np.flatnonzero(np.asarray(values == vertex))
            if at.size:
                return shard.ids.take(at)
        raise KeyError(vertex)


def _shards(store: Any) -> Iterator[Shard]:
    """Yield the shards that a worker holds; the graph is the only one there."""
    yield from store._values.values()
