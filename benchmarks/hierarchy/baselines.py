"""One strategy for everything, the baselines of ChattyGraph, on four slots of this machine.

::

    shared memory only   as WS-VR       one process, whose slots hand over arrays by reference
    point to point       as Groute      four processes, each in a ring: a frame goes to the next
      in a ring                         slot only, which passes it on
    point to point       -              four processes, a frame from each to each
    dgraph               ChattyGraph    two processes: by reference inside, sockets between them

Results are the same. Between processes of one host dgraph has sockets, and MPI's shared memory:
arrays are shared inside a process only, so that is where the first one is.
"""

from __future__ import annotations

import statistics
from collections.abc import Iterator
from contextlib import contextmanager
from time import perf_counter
from typing import Any

import dask
import numpy as np
from distributed import Client, LocalCluster
from numpy.typing import ArrayLike, NDArray

import dgraph as dg
from benchmarks.hierarchy.evidence import Bench
from benchmarks.hierarchy.tables import Plot, Table
from dgraph import config
from dgraph.exchange.routing.ground import Ground
from dgraph.exchange.routing.strategies import BACKWARDS, STRATEGIES

__all__ = ["Ring", "baselines"]

SLOTS = 4

#: Processes, routing, and what that is.
WAYS = (
    (1, "direct", "shared memory only"),
    (4, "ring", "point to point, ring"),
    (4, "direct", "point to point"),
    (2, "ring", "ring of two processes"),
    (2, "auto", "dgraph"),
)


class Ring:
    """``s -> s + 1 -> s + 2 -> ... -> t``.

    Examples
    --------
    >>> from dgraph.topology import Topology
    >>> Ring(Ground(Topology.from_fanouts([2, 2]))).step(0, 3, [3, 0, 2])
    array([3, 0, 0])
    """

    def __init__(self, ground: Ground) -> None:
        self.slots = ground.topology.slots
        self.stages = max(self.slots - 1, 1)

    def step(self, stage: int, here: ArrayLike, target: ArrayLike) -> NDArray[np.int64]:
        """Go to the next slot, unless the target is here."""
        at, to = np.broadcast_arrays(np.asarray(here, np.int64), np.asarray(target, np.int64))
        return np.where(at == to, at, (at + 1) % self.slots)


def know_ring() -> None:
    """Let this process know the routing "ring"."""
    STRATEGIES["ring"] = BACKWARDS["ring"] = Ring


@contextmanager
def _ring() -> Iterator[None]:
    """Allow "ring" as an option in the block, for who sends runs."""
    known: Any = config
    before = known.ROUTINGS
    known.ROUTINGS = (*before, "ring")
    know_ring()
    try:
        yield
    finally:
        known.ROUTINGS = before
        del STRATEGIES["ring"], BACKWARDS["ring"]


def baselines(bench: Bench) -> Iterator[Table]:
    """Hold one strategy for everything beside dgraph's own choice."""
    edges = dg.generate.kronecker(bench.asked.scale).compute(scheduler="sync")
    times: dict[tuple[int, str, str], list[float]] = {}
    counts: dict[tuple[int, str, str], tuple[int, int]] = {}
    for processes in dict.fromkeys(way[0] for way in WAYS):
        bench.say(f"baselines: {processes} processes of {SLOTS // processes} slots")
        with _ring(), _graph(edges, processes) as g:
            routings = [routing for some, routing, _ in WAYS if some == processes]
            for turn in range(bench.asked.turns + 1):
                for routing in routings:
                    for name in ("bfs", "pagerank"):
                        taken = _run(g, name, routing, int(edges["source"][0]))
                        key = processes, routing, name
                        times.setdefault(key, []).extend([taken] * (turn > 0))
                        run = g.runs[-1]
                        counts[key] = sum(run.frames.values()), sum(run.bytes.values())
    rows = [
        {
            "algorithm": name,
            "strategy": what,
            "processes": processes,
            "routing": routing,
            "ms": 1e3 * statistics.median(times[processes, routing, name]),
            "frames": counts[processes, routing, name][0],
            "bytes": counts[processes, routing, name][1],
        }
        for name in ("bfs", "pagerank")
        for processes, routing, what in WAYS
    ]
    notes = [
        f"wall time, median of {bench.asked.turns} turns, of whole calls with 10 rounds of "
        "PageRank; bytes handed over by reference count as well"
    ]
    plot = Plot("strategy", "ms", "algorithm")
    yield Table("baselines", "one strategy for everything, 4 slots here", rows, notes, plot)


@contextmanager
def _graph(edges: Any, processes: int) -> Iterator[dg.Graph]:
    """Yield the graph on four slots of so many processes."""
    with (
        LocalCluster(
            n_workers=processes,
            threads_per_worker=SLOTS // processes,
            dashboard_address="127.0.0.1:0",
            memory_limit=0,
        ) as cluster,
        Client(cluster, set_as_default=False) as client,
        dg.from_edges(edges, client=client) as g,
    ):
        client.run(know_ring)
        yield g


def _run(g: dg.Graph, name: str, routing: str, source: int) -> float:
    """Return what a run takes."""
    options: dict[str, Any] = {"bfs": {"source": source}, "pagerank": {"max_iter": 10}}
    if name == "pagerank":
        options[name]["tol"] = None
    with dask.config.set({"dgraph.routing": routing}):
        began = perf_counter()
        getattr(dg, name)(g, **options[name])
        return perf_counter() - began
