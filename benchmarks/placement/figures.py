"""The figures: each a function from what was asked for to tables.

Frames and bytes are the engine's own, on virtual slots of one process (`benchmarks.hierarchy`'s
lab), without those of the result's columns. Times of runs are simulated, frames on the links of
a described machine, and say so; seconds of builds and of computation are measured here.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import pandas as pd
from distributed import Client

import dgraph as dg
from benchmarks import command
from benchmarks.command import Workbench
from benchmarks.hierarchy.evidence import real_graphs
from benchmarks.hierarchy.lab import Lab, Setting, in_process
from benchmarks.hierarchy.tables import Plot, Table
from benchmarks.hierarchy.watched import Watched
from benchmarks.placement import rhizomes
from benchmarks.placement.inputs import kronecker, planted
from benchmarks.placement.layouts import layouts
from dgraph.topology import Topology

__all__ = ["DEEP", "FIGURES", "MACHINE", "OF_BYTES", "TREE", "Bench", "Settings", "measured"]

#: Of the machine on which the traffic is simulated.
MACHINE = "tianhe"

#: 4 domains of 4 slots, and the same slots with a level more.
TREE, DEEP = Topology.from_fanouts([4, 4]), Topology.from_fanouts([4, 2, 2])

#: The part of the edges of a planted partition that leaves its block; neighbours of a vertex.
OUTSIDE, NEIGHBOURS = 0.05, 16

#: On more virtual slots than that, where a build is frames by the slots squared, 9 us each,
#: only these placements are shown.
MANY, FEW = 64, ("hash", "degree", "metis", "hierarchy")

#: What the column says.
OF_BYTES = "of_bytes: the same of bytes alone, which the time tends to where graphs are large;"


@dataclass(frozen=True)
class Settings(command.Settings):
    """What the command line says.

    Parameters
    ----------
    slots : tuple of int
        Virtual slots of teps.
    real : tuple of str
        Files of edges; none: two of networkx's own graphs.
    leaves : int
        Of the star.
    sides : tuple of int
        Of the grids of quality.
    """

    slots: tuple[int, ...] = (16, 64)
    real: tuple[str, ...] = ()
    leaves: int = 1 << 16
    sides: tuple[int, ...] = (300,)


class Bench(Workbench[Settings]):
    """What figures share."""

    @cached_property
    def client(self) -> Client:
        """A client of one worker in this process."""
        return self.stack.enter_context(in_process())

    @cached_property
    def kronecker(self) -> pd.DataFrame:
        """A graph without localities."""
        return kronecker(self.settings.scale)

    @cached_property
    def planted(self) -> pd.DataFrame:
        """A graph of four blocks, of about as many vertices as the Kronecker graph has."""
        return planted(4, max(8, 1 << (self.settings.scale - 3)), NEIGHBOURS, OUTSIDE)

    @property
    def graphs(self) -> dict[str, pd.DataFrame]:
        """Both."""
        return {"kronecker": self.kronecker, "planted": self.planted}

    def lab(self, edges: Any, tree: Topology, options: Any) -> Lab:
        """Return a graph on virtual slots, to be closed."""
        return Lab(edges, tree, self.client, **options)


def tree_of(slots: int) -> Topology:
    """Return a domain tree of so many slots, four in a domain on each level.

    Examples
    --------
    >>> tree_of(64).height, tree_of(8).height
    (2, 1)
    """
    fanouts = []
    while slots > 1:
        fanouts.append(min(4, slots))
        slots //= fanouts[-1]
    return Topology.from_fanouts(fanouts or [1])


def measured(found: Watched, setting: Setting) -> dict[str, Any]:
    """Return what crosses between domains of the top level, and simulated times."""
    frames, messages, size = found.counts()[:, -1].tolist()
    return {
        "far_frames": frames,
        "far_messages": messages,
        "far_bytes": size,
        "simulated": found.seconds(setting.machine),
        "of_bytes": found.seconds_of_bytes(setting.machine),
    }


def teps(bench: Bench) -> Iterator[Table]:
    """YH-Light, Fig. 3: edges traversed per second by placement and slots."""
    rows: list[dict[str, Any]] = []
    for graph, edges in bench.graphs.items():
        with bench.lab(edges, tree_of(1), {}) as lab:
            source, reached = lab.source, lab.reached  # the same however it is laid out
        for slots in bench.settings.slots:
            tree = tree_of(slots)
            setting = Setting.of(MACHINE, tree.height)
            for name, options in layouts(*(FEW if slots > MANY else ())).items():
                bench.say(f"{graph}: {name} on {slots} slots")
                with bench.lab(edges, tree, options) as lab:
                    lab.source = source
                    figures = lab.graph.placement.figures()
                    row: dict[str, Any] = {"graph": graph, "slots": slots, "placement": name}
                    row |= _run(lab, "bfs", setting)
                    row["edge_balance"] = figures.edge_balance
                    row["teps"] = reached / row["simulated"]
                    row["teps of_bytes"] = reached / row["of_bytes"]
                rows.append(row)
    notes = [
        f"simulated: frames on the links of {MACHINE}, routed as auto does;",
        OF_BYTES,
        "computation is left out, and with it what uneven slots cost: edge_balance is the "
        "fullest slot over the mean.",
    ]
    plot = Plot("placement", "teps of_bytes", "slots", labels="edges per second of bytes alone")
    for graph in bench.graphs:
        some = [row for row in rows if row["graph"] == graph]
        title = f"{graph}, BFS: traversed edges per second, simulated"
        yield Table(f"yh3_teps_{graph}", title, some, notes, plot)


def preprocessing(bench: Bench) -> Iterator[Table]:
    """YH-Light, Fig. 4: what placing takes, and the build with it."""
    rows = []
    for graph, edges in bench.graphs.items():
        ways = list(layouts().values())
        bench.say(f"{graph}: preprocessing")
        found = [
            dg.placement.compare(edges, ways, topology=TREE, client=bench.client)
            for _ in range(bench.settings.turns)
        ]
        for at, name in enumerate(layouts()):
            row = found[0].iloc[at]
            seconds = {
                key: min(float(some[key][at]) for some in found)
                for key in ("seconds", "build_seconds")
            }
            rows.append(
                {
                    "graph": graph,
                    "placement": name,
                    "placing": seconds["seconds"],
                    "build": seconds["build_seconds"],
                    "cut_top": int(row["cut_top"]),
                    "replication": float(row["replication"]),
                    "edge_balance": float(row["edge_balance"]),
                    "cost": float(row["cost"]),
                }
            )
    notes = [
        f"seconds, the least of {bench.settings.turns} turns (the first one compiles), 16 "
        "slots on two threads;",
        "placing: beside what any build takes; with rhizomes an edge counts as cut",
        "where its part and its other end are apart, not for what the parts tell each other",
    ]
    labels = "seconds of placing,seconds of a build"
    plot = Plot("placement", "placing,build", "graph", labels=labels)
    yield Table("yh4_preprocessing", "placing and building", rows, notes, plot)


def real(bench: Bench) -> Iterator[Table]:
    """YH-Light, Fig. 5: two real graphs."""
    try:
        graphs = list(real_graphs(bench.settings.real))
    except ImportError:
        yield Table("yh5_real", "skipped: name files with --real, or install networkx")
        return
    notes = [
        OF_BYTES,
        "4 domains of 4 slots, routed as auto does; hash/this: of_bytes; same: whether answers "
        "are those of hash",
    ]
    for graph, edges, more in graphs:
        rows: list[dict[str, Any]] = []
        known: list[pd.DataFrame] = []
        for name, options in layouts().items():
            bench.say(f"{graph}: {name}")
            with bench.lab(edges, TREE, {**more, **options}) as lab:
                answers = _answers(lab, bench.client)
                known = known or answers
                same = all(map(pd.DataFrame.equals, answers, known))
                rows += [{**row, "same": same} for row in _three(lab, name)]
        first = {row["algorithm"]: row["of_bytes"] for row in reversed(rows)}
        for row in rows:
            row["hash/this"] = first[row["algorithm"]] / max(row["of_bytes"], 1e-12)
        label = "hash over this: seconds of bytes alone"
        plot = Plot("placement", "hash/this", "algorithm", labels=label)
        yield Table(f"yh5_real_{graph}", f"{graph}: simulated", rows, notes, plot)


def _three(lab: Lab, name: str) -> Iterator[dict[str, Any]]:
    """Yield a row for each of three algorithms."""
    setting = Setting.of(MACHINE, TREE.height)
    for algorithm in ("bfs", "pagerank", "connected_components"):
        yield {"algorithm": algorithm, "placement": name} | _run(lab, algorithm, setting)


def _answers(lab: Lab, client: Client) -> list[pd.DataFrame]:
    """Return the results of three algorithms, by vertex."""
    frames = (
        dg.bfs(lab.graph, lab.source),
        dg.pagerank(lab.graph, max_iter=10, tol=None),
        dg.connected_components(lab.graph),
    )
    return [
        frame.compute(scheduler=client.get).sort_values("vertex", ignore_index=True)
        for frame in frames
    ]


def star(bench: Bench) -> Iterator[Table]:
    """Show the star: what rhizomes are for."""
    leaves = bench.settings.leaves
    bench.say(f"star of {leaves:,} leaves")
    found = rhizomes.star(bench.client, leaves, turns=bench.settings.turns)
    title = f"star of {leaves:,} leaves on 16 slots"
    notes = [
        "messages are counted; seconds are measured on one thread, one slot after the other:",
        "busiest: what a core for each slot would take; own: its work for the hub.",
    ]
    rows: Any = found.to_dict("records")
    yield Table("star", title, rows, notes)
    walls = rhizomes.star_walls(bench.client, leaves, bench.settings.turns)
    notes = [f"wall time of 10 rounds on 2 threads, median of {bench.settings.turns} turns"]
    yield Table("star_wall", "the star: rhizome_max 1 and as many as slots", walls, notes)


def by_rhizomes(bench: Bench) -> Iterator[Table]:
    """Rhizomes, Fig. 3: speed-up by rhizome_max."""
    bench.say("speed-up by rhizome_max")
    rows = rhizomes.speed_up(bench.client, bench.kronecker)
    notes = [
        "kronecker, PageRank, 16 slots: counts, and seconds of the busiest slot (measured)"
    ]
    labels = "gain: seconds of the busiest slot,gain: most messages of a slot not combined"
    plot = Plot("rhizome_max", "busiest_gain,uncombined_gain", kind="line", labels=labels)
    yield Table("rh3_speed_up", "without rhizomes over with rhizome_max", rows, notes, plot)


def contention(bench: Bench) -> Iterator[Table]:
    """Rhizomes, Fig. 4: how the load spreads over links."""
    bench.say("contention")
    found = rhizomes.contention(bench.client, bench.kronecker, MACHINE)
    links, histogram, waiting = found
    yield Table("rh4_links", "kronecker, PageRank: messages of directed links", links)
    plot = Plot("messages up to", "links", "rhizome_max")
    yield Table("rh4_histogram", "links from slot to slot by messages", histogram, [], plot)
    notes = [
        "all links, and all supersteps; most and gini: over each link in each superstep,",
        "of which a round has a second, small one where vertices are split;",
        f"waited: seconds that frames stand in line before a link of {MACHINE} (simulated)",
    ]
    yield Table("rh4_waiting", "kronecker, PageRank: the links of domains", waiting, notes)


def scaling(bench: Bench) -> Iterator[Table]:
    """Rhizomes, Fig. 5: strong scaling."""
    bench.say("scaling")
    rows = rhizomes.scaling(bench.client, bench.kronecker)
    notes = ["kronecker, PageRank; busiest: seconds of the busiest slot (measured)"]
    label = "seconds of the busiest slot"
    plot = Plot("slots", "busiest", "rhizome_max", "line", log=True, labels=label)
    yield Table("rh5_scaling", "the busiest slot by slots", rows, notes, plot)


def _run(lab: Lab, algorithm: str, setting: Setting) -> dict[str, Any]:
    """Return what an algorithm sends, routed as auto does."""
    return measured(lab.run(algorithm, "auto", setting.cost).without_output(), setting)


FIGURES: dict[str, Callable[[Bench], Iterator[Table]]] = {
    "teps": teps,
    "preprocessing": preprocessing,
    "real": real,
    "star": star,
    "rhizomes": by_rhizomes,
    "contention": contention,
    "scaling": scaling,
}
