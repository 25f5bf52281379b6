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
from dataclasses import dataclass, field
from itertools import product
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


ALGORITHMS = ("bfs", "pagerank")


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


@dataclass
class _Way:
    """What the runs of an algorithm took, and the record of the last one."""

    calls: list[float] = field(default_factory=list)
    supersteps: list[float] = field(default_factory=list)
    frames: int = 0
    bytes: int = 0

    def note(self, taken: float, run: Any, counts: bool) -> None:
        """Note a run; the first one, which warms up, is not timed."""
        self.calls += [taken] * counts
        self.supersteps += [run.seconds] * counts
        self.frames, self.bytes = sum(run.frames.values()), sum(run.bytes.values())

    def row(self) -> dict[str, Any]:
        """Return what is shown."""
        return {
            "call_ms": 1e3 * statistics.median(self.calls),
            "supersteps_ms": 1e3 * statistics.median(self.supersteps),
            "frames": self.frames,
            "bytes": self.bytes,
        }


def baselines(bench: Bench) -> Iterator[Table]:
    """Hold one strategy for everything beside dgraph's own choice."""
    edges = dg.generate.kronecker(bench.settings.scale).compute(scheduler="sync")
    found: dict[tuple[int, str, str], _Way] = {}
    for processes in dict.fromkeys(way[0] for way in WAYS):
        _measure(bench, edges, processes, found)
    rows = [
        {
            "algorithm": name,
            "strategy": what,
            "processes": processes,
            "routing": routing,
            **found[processes, routing, name].row(),
        }
        for name in ALGORITHMS
        for processes, routing, what in WAYS
    ]
    notes = [
        f"wall time, median of {bench.settings.turns} turns, of whole calls and of their "
        "supersteps, with 10 rounds of PageRank;",
        "bytes handed over by reference count as well",
    ]
    plot = Plot("strategy", "supersteps_ms", "algorithm")
    yield Table("baselines", "one strategy for everything, 4 slots here", rows, notes, plot)


def _measure(
    bench: Bench, edges: Any, processes: int, found: dict[tuple[int, str, str], _Way]
) -> None:
    """Time the algorithms over the routings of so many processes, which take turns."""
    what = f"baselines: {processes} processes of {SLOTS // processes} slots"
    bench.say(what)
    routings = [routing for some, routing, _ in WAYS if some == processes]
    with _ring(), _graph(edges, processes) as g:
        for turn in range(bench.settings.turns + 1):
            bench.say(f"{what}: turn {turn} of {bench.settings.turns}")
            for routing, name in product(routings, ALGORITHMS):
                taken = _run(g, name, routing, int(edges["source"][0]))
                way = found.setdefault((processes, routing, name), _Way())
                way.note(taken, g.runs[-1], turn > 0)


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
