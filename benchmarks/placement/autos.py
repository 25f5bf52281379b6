"""Placement "auto" beside "degree": builds measured pair by pair, and runs.

Two builds of the same graph differ by a quarter on a busy machine. So every turn builds and
runs with both, one just after the other, in turns the one or the other first, and what is
shown is the median of the ratios of the turns, with their quartiles.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pandas as pd

import dgraph as dg
from benchmarks.hierarchy.lab import Lab, Setting
from benchmarks.hierarchy.tables import Table
from benchmarks.placement.figures import DEEP, MACHINE, TREE, Bench, measured
from benchmarks.placement.inputs import grid
from dgraph.topology import Topology

__all__ = ["auto"]

#: Algorithms with which "auto" is tried: the benchmark set.
ALGORITHMS = ("bfs", "sssp", "connected_components", "pagerank", "cdlp")

#: How far behind "degree" placement "auto" may be.
BEHIND = 1.05

#: On slow links there is something to save, so that "auto" does not always take "degree".
MACHINES = ((TREE, MACHINE), (DEEP, MACHINE), (DEEP, "links"))

CALLS: dict[str, Callable[[Lab], Any]] = {
    "bfs": lambda lab: dg.bfs(lab.graph, lab.source),
    "sssp": lambda lab: dg.sssp(lab.graph, lab.source),
    "connected_components": lambda lab: dg.connected_components(lab.graph),
    "pagerank": lambda lab: dg.pagerank(lab.graph, max_iter=10, tol=None),
    "cdlp": lambda lab: dg.cdlp(lab.graph, max_iter=5),
}


def auto(bench: Bench) -> Iterator[Table]:
    """Whether "auto" is ever far behind "degree", and with the build."""
    side = max(4, round(2 ** (bench.asked.scale / 2)))
    number = np.arange(side * side).reshape(side, side)
    strips = {
        "source": np.append(number[:, :-1], number[:-1]),
        "target": np.append(number[:, 1:], number[1:]),
    }
    graphs = {**bench.graphs, "grid": grid(side), "grid in order": pd.DataFrame(strips)}
    rows: list[dict[str, Any]] = []
    for graph, edges in graphs.items():
        for tree, machine in MACHINES:
            bench.say(f"{graph}: auto on {tree.height + 1} levels, {machine}")
            about = {"graph": graph, "levels": tree.height + 1, "machine": machine}
            setting = Setting.of(machine, tree.height)
            rows += ({**about, **row} for row in _beside(bench, edges, setting, tree))
    worst = max(rows, key=lambda row: row["with build"])
    notes = [
        "with auto over with degree; runs, of_bytes: simulated, and of bytes alone;",
        "with build: a build and one run, both measured here, and what its frames take on the",
        f"machine, simulated: the median of {bench.asked.turns} pairs, and their quartiles;",
        f"at most {BEHIND} was to be reached, the worst is {worst['with build']:.3f}: "
        f"{worst['graph']}, {worst['levels']} levels of {worst['machine']},",
        f"{worst['algorithm']}, where auto takes {worst['chosen']}",
    ]
    yield Table("auto", "auto beside degree", rows, notes)


def _beside(
    bench: Bench, edges: Any, setting: Setting, tree: Topology
) -> Iterator[dict[str, Any]]:
    """Yield a row for each algorithm, and one for all: "auto" over "degree"."""
    ways = {"degree": "degree", "auto": dg.placement.Auto(cost=setting.cost)}
    took: dict[str, list[list[float]]] = {"degree": [], "auto": []}
    found: dict[str, list[tuple[float, float]]] = {}
    for turn in range(bench.asked.turns + 1):  # the first one compiles
        for name in ways if turn % 2 else reversed(ways):
            with bench.lab(edges, tree, {"placement": ways[name]}) as lab:
                seconds = _seconds(lab)
                if turn:
                    took[name].append(seconds)
                else:
                    found[name] = [_simulated(lab, each, setting) for each in ALGORITHMS]
                if name == "auto":
                    chosen = str(lab.graph.placement)
    # simulated seconds and those of bytes; columns of `took`: the build, then the algorithms
    runs = {name: np.array([(0.0, 0.0), *some]) for name, some in found.items()}
    whole = {name: np.array(some) + runs[name][:, 0] for name, some in took.items()}
    build = {name: some[:, 0] for name, some in whole.items()}
    for at, algorithm in enumerate((*ALGORITHMS, "all of them"), 1):
        which = [at] if at <= len(ALGORITHMS) else list(range(1, len(ALGORITHMS) + 1))
        sent = {name: some[which].sum(axis=0) for name, some in runs.items()}
        both = {name: some[:, [0, *which]].sum(axis=1) for name, some in whole.items()}
        low, middle, high = np.quantile(both["auto"] / both["degree"], (0.25, 0.5, 0.75))
        yield {
            "algorithm": algorithm,
            "chosen": chosen,
            "runs": sent["auto"][0] / sent["degree"][0],
            "of_bytes": sent["auto"][1] / max(sent["degree"][1], 1e-12),
            "build": float(np.median(build["auto"] / build["degree"])),
            "with build": float(middle),
            "low": float(low),
            "high": float(high),
        }


def _seconds(lab: Lab) -> list[float]:
    """Return what the build took, and one run of each algorithm."""
    report, found = lab.graph.report["seconds"], []
    found.append(sum(report[phase] for phase in ("inspect", "absorb", "build")))
    for algorithm in ALGORITHMS:
        CALLS[algorithm](lab)
        found.append(lab.graph.runs[-1].seconds)
    return found


def _simulated(lab: Lab, algorithm: str, setting: Setting) -> tuple[float, float]:
    """Return the simulated seconds of a run routed as auto does, and those of bytes alone."""
    run = lab.run(algorithm, "auto", setting.cost).without_output()
    row = measured(run, setting)
    return row["simulated"], row["of_bytes"]
