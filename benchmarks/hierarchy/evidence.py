"""The figures: each a function from what was asked for to tables.

On virtual slots counts are the engine's and times are simulated, and say so; wall time is
measured, on the emulated network (:mod:`benchmarks.hierarchy.wall`) and on this host.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import dgraph as dg
from benchmarks import command
from benchmarks.command import Workbench
from benchmarks.hierarchy.lab import ALGORITHMS, FIXED, Lab, Setting
from benchmarks.hierarchy.netlab import Netlab
from benchmarks.hierarchy.tables import Plot, Table
from benchmarks.hierarchy.virtual import extrapolated, simulations, tree_of
from benchmarks.hierarchy.watched import Watched
from benchmarks.hierarchy.world import World, make_world
from dgraph.topology import Topology

__all__ = ["FIGURES", "Bench", "Settings", "real_graphs"]

#: The machines for which "auto" is held against the fixed routings.
SETTINGS = ("far 100", "links", "decade", "cloud")

#: What "auto" has to reach: frames and bytes of aml across, and time of the best routing.
FRAMES, BYTES, TIME = 0.5, 0.75, 1.1

#: The tree of the targets: 4 domains of 8 slots.
FANOUTS = (8, 4)

#: Virtual slots of Fig. 8.
SCALED = (16, 32, 64, 128)


@dataclass(frozen=True)
class Settings(command.Settings):
    """What the command line says.

    Parameters
    ----------
    slots : tuple of int
        Virtual slots.
    virtual_scale : int
        Of the graph on them.
    real : tuple of str
        Files of edges; none: two of networkx's own graphs.
    netlab : Netlab, optional
        The emulated network; None: `reason` says why there is none.
    netlab_scale : int
        Of the graph there.
    topdown_scale : int
        Of the graph there for "topdown", which is to show bytes, not latency.
    """

    slots: tuple[int, ...] = (64, 256)
    virtual_scale: int = 12
    real: tuple[str, ...] = ()
    netlab: Netlab | None = None
    reason: str = ""
    netlab_scale: int = 16
    topdown_scale: int = 22


@dataclass
class Bench(Workbench[Settings]):
    """What figures share: graphs on virtual slots and their watched runs, each made once."""

    _runs: dict[Any, Watched] = field(default_factory=dict)

    @cached_property
    def lab(self) -> Lab:
        """The Kronecker graph on 4 domains of 8 slots."""
        edges = dg.generate.kronecker(self.settings.scale, weights=True)
        made = Lab(edges, Topology.from_fanouts(FANOUTS), weight="weight")
        return self.stack.enter_context(made)

    @cached_property
    def world(self) -> World:
        """The Kronecker graph for thousands of slots."""
        edges = dg.generate.kronecker(self.settings.virtual_scale).compute(scheduler="sync")
        return make_world(edges["source"].to_numpy(), edges["target"].to_numpy(), 1)

    def watched(
        self, algorithm: str, routing: str, setting: str = "", combine: bool = True
    ) -> Watched:
        """Return a run on the lab; of "auto" what it does on a machine."""
        key = algorithm, routing, setting if routing == "auto" else "", combine
        if key not in self._runs:
            self.say(f"{algorithm} over {routing}")
            cost = self.setting(setting).cost if key[2] else None
            self._runs[key] = self.lab.run(algorithm, routing, cost, combine)
        return self._runs[key]

    def setting(self, name: str) -> Setting:
        """Return a machine for the lab."""
        return Setting.of(name, self.lab.topology.height)


def split(bench: Bench) -> Iterator[Table]:
    """Fig. 1: where the time goes."""
    machine = bench.setting("far 100").machine
    rows = []
    for algorithm in ("bfs", "pagerank"):
        bench.watched(algorithm, "direct")  # what is compiled and kept is so from here on
        for routing in ("direct", "aml", "auto"):
            cost = bench.setting("far 100").cost if routing == "auto" else None
            runs = [
                bench.lab.run(algorithm, routing, cost) for _ in range(bench.settings.turns)
            ]
            found = min(runs, key=lambda run: run.busiest)
            rows.append(
                {"algorithm": algorithm, "routing": routing, **found.split(machine)},
            )
    plot = Plot("routing", "computation,near,far,waiting", "algorithm", "stack")
    notes = [
        "computation and waiting for the slowest slot: measured on threads of one process, in "
        f"the fastest of {bench.settings.turns} runs;",
        "near and far: simulated, a frame and a byte across cost 100 times as much.",
    ]
    yield Table(
        "fig1_split", "computation, waiting; near and far simulated (s)", rows, notes, plot
    )


def teps(bench: Bench) -> Iterator[Table]:
    """Fig. 4: edges traversed per second by routing."""
    rows = []
    for name in SETTINGS:
        machine = bench.setting(name).machine
        for routing in (*FIXED, "auto"):
            seconds = bench.watched("bfs", routing, name).seconds(machine)
            rows.append(
                {
                    "machine": name,
                    "routing": routing,
                    "seconds": seconds,
                    "teps": bench.lab.reached / seconds,
                }
            )
    plot = Plot(
        "routing", "teps", apart="machine", labels="traversed edges per second (simulated)"
    )
    notes = ["simulated: frames on the links of the machine; computation is left out."]
    yield Table("fig4_teps", "BFS: traversed edges per second, simulated", rows, notes, plot)


def traffic(bench: Bench) -> Iterator[Table]:
    """Fig. 7: what crosses between domains, beside aml."""
    rows, missed = [], []
    for algorithm in ("bfs", "sssp", "pagerank", "connected_components"):
        aml = bench.watched(algorithm, "aml").counts()[:, -1]
        for routing in (*FIXED, "auto"):
            found = bench.watched(algorithm, routing, "far 100").counts()[:, -1]
            ratios = (found / aml).tolist()
            rows.append(
                {
                    "algorithm": algorithm,
                    "routing": routing,
                    "far_frames": int(found[0]),
                    "far_messages": int(found[1]),
                    "far_bytes": int(found[2]),
                    "frames/aml": ratios[0],
                    "bytes/aml": ratios[2],
                }
            )
        if algorithm in ("bfs", "sssp") and (ratios[0] > FRAMES or ratios[2] > BYTES):
            missed.append(algorithm)
    notes = [
        f"4 domains of 8 slots; target of auto for bfs and sssp: {FRAMES} of aml's frames and "
        f"{BYTES} of its bytes: {'missed by ' + ', '.join(missed) if missed else 'met'}"
    ]
    labels = "frames between domains / aml's,bytes between domains / aml's"
    plot = Plot("algorithm", "frames/aml,bytes/aml", "routing", labels=labels)
    yield Table("fig7_traffic", "between domains, beside aml: counted", rows, notes, plot)


def scaling(bench: Bench) -> Iterator[Table]:
    """Fig. 8: the same graph on more and more slots."""
    rows = []
    for slots in SCALED:
        tree = tree_of("cloud", slots)
        rows += [
            row.row()
            for row in simulations(bench.world, "cloud", tree, 3, say=bench.say)
            if row.algorithm == "bfs"
        ]
    plot = Plot("slots", "seconds", "routing", "line", log=True, labels="seconds (simulated)")
    notes = ["simulated: a cloud of racks; far_share is the top level's part of all bytes."]
    yield Table("fig8_scaling", "BFS on more slots, simulated", rows, notes, plot)


def real(bench: Bench) -> Iterator[Table]:
    """Fig. 9: all six algorithms on two real graphs."""
    rows = []
    for name, edges, options in real_graphs(bench.settings.real):
        with Lab(edges, Topology.from_fanouts([2, 4]), **options) as lab:
            setting = Setting.of("far 100", lab.topology.height)
            for algorithm in ALGORITHMS:
                bench.say(f"{algorithm} on {name}")
                aml = lab.run(algorithm, "aml")
                auto = lab.run(algorithm, "auto", setting.cost)
                times = aml.seconds(setting.machine), auto.seconds(setting.machine)
                rows.append(
                    {
                        "graph": name,
                        "algorithm": algorithm,
                        "supersteps": auto.supersteps,
                        "far_frames aml": int(aml.counts()[0, -1]),
                        "far_frames auto": int(auto.counts()[0, -1]),
                        "far_bytes aml": int(aml.counts()[2, -1]),
                        "far_bytes auto": int(auto.counts()[2, -1]),
                        "auto/aml": times[1] / times[0],
                    }
                )
    plot = Plot("algorithm", "auto/aml", "graph", labels="time of auto / aml (simulated)")
    notes = ["4 domains of 2 slots; auto/aml: simulated time, far 100 times as expensive."]
    yield Table(
        "fig9_real", "six algorithms on real graphs, times simulated", rows, notes, plot
    )


def real_graphs(paths: Sequence[str]) -> Iterator[tuple[str, Any, dict[str, Any]]]:
    """Yield names, edges and options of files; without any, of two of networkx's own."""
    for path in paths:
        yield Path(path).name, path, {}
    if not paths:
        import networkx as nx

        for make in (nx.karate_club_graph, nx.les_miserables_graph):
            yield make.__name__.removesuffix("_graph"), nx.Graph(make().edges()), {}


def ablation(bench: Bench) -> Iterator[Table]:
    """Each step's own gain over the one before."""
    setting = bench.setting("far 100")
    steps = {
        "aml": ("aml", False),
        "+ hierarchy": ("auto", False),
        "+ combining": ("auto", True),
    }
    rows: list[dict[str, Any]] = []
    for algorithm in ("bfs", "sssp", "connected_components"):
        before = None
        for step, (routing, combine) in steps.items():
            found = bench.watched(algorithm, routing, "far 100", combine)
            frames, _, size = found.counts()[:, -1].tolist()
            seconds = found.seconds(setting.machine)
            rows.append(
                {
                    "algorithm": algorithm,
                    "step": step,
                    "far_frames": frames,
                    "far_bytes": size,
                    "simulated": seconds,
                    "gain": before / seconds if before else 1.0,
                }
            )
            before = seconds
        rows.append({"algorithm": algorithm, "step": "+ dynamic buffers"})
    notes = [
        "gain: simulated time of the step before, divided by this one's.",
        "dynamic buffers: slots of one process have none; see the emulated network's table.",
    ]
    plot = Plot("algorithm", "simulated", "step", labels="seconds (simulated)")
    yield Table("ablation", "aml, and what each step adds, times simulated", rows, notes, plot)


def auto(bench: Bench) -> Iterator[Table]:
    """Auto beside the best fixed routing, on every machine."""
    rows: list[dict[str, Any]] = []
    for name in SETTINGS:
        machine = bench.setting(name).machine
        for algorithm in ALGORITHMS:
            times = {
                routing: bench.watched(algorithm, routing).seconds(machine) for routing in FIXED
            }
            best = min(times, key=lambda routing: times[routing])
            seconds = bench.watched(algorithm, "auto", name).seconds(machine)
            rows.append(
                {
                    "machine": name,
                    "algorithm": algorithm,
                    "best": best,
                    "best_seconds": times[best],
                    "auto_seconds": seconds,
                    "auto/best": seconds / times[best],
                }
            )
    worst = max(row["auto/best"] for row in rows)
    notes = [f"simulated; target: at most {TIME}; the largest is {worst:.3f}"]
    plot = Plot("algorithm", "auto/best", "machine", labels="auto / best fixed (simulated)")
    yield Table("auto", "auto beside the best fixed routing, simulated", rows, notes, plot)


def virtual(bench: Bench) -> Iterator[Table]:
    """Thousands of virtual slots on described machines."""
    rows = [
        row
        for machine in ("tianhe", "cloud")
        for slots in bench.settings.slots
        for row in simulations(bench.world, machine, tree_of(machine, slots), 3, say=bench.say)
    ]
    notes = ["simulated; a slot is a machine; 10 rounds of PageRank; computation is left out."]
    plot = Plot(
        "slots",
        "seconds",
        "routing",
        "line",
        log=True,
        apart="machine,algorithm",
        labels="seconds (simulated)",
    )
    some = [row.row() for row in rows]
    yield Table("virtual", "thousands of virtual slots, simulated", some, notes, plot)
    more = extrapolated(rows)
    yield Table("virtual_full", "the whole machine, simulated and extrapolated", more)


FIGURES: dict[str, Callable[[Bench], Iterator[Table]]] = {
    "split": split,
    "teps": teps,
    "traffic": traffic,
    "scaling": scaling,
    "real": real,
    "ablation": ablation,
    "auto": auto,
    "virtual": virtual,
}
