"""Placement "auto" beside "degree": builds and runs, measured pair by pair.

Two builds of the same graph differ by a quarter on a busy machine. So a pair builds with both,
one just after the other, in turns the one or the other first; what is shown is the median of
the ratios of all pairs, and between which two of them the true median lies with a chance of 95
%. On two levels "auto" is "degree", without a look at the graph: what is shown there is how
far from 1 noise alone gets. What runs take is measured on one graph of each, in turns as well,
and added to every pair; where "auto" chose "degree" the layouts are the same, and so is what
is added.

"auto" is told how often the benchmark set is run: the row "all of them" is what it aims at. The
row of one algorithm shows what is lost if no more is run than that.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from math import comb
from time import perf_counter
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

import dgraph as dg
from benchmarks.hierarchy.lab import Lab, Setting
from benchmarks.hierarchy.tables import Table
from benchmarks.placement.figures import DEEP, MACHINE, TREE, Bench, measured
from benchmarks.placement.inputs import grid
from dgraph.topology import Topology

__all__ = ["auto", "bounds_of_median"]

Array = NDArray[Any]

#: Algorithms with which "auto" is tried: the benchmark set.
ALGORITHMS = ("bfs", "sssp", "connected_components", "pagerank", "cdlp")

#: How far behind "degree" placement "auto" may be.
BEHIND = 1.05

#: Pairs for each turn that was asked for, and seconds after which no other one begins.
PAIRS, SECONDS = 14, 7.0

CALLS: dict[str, Callable[[Lab], Any]] = {
    "bfs": lambda lab: dg.bfs(lab.graph, lab.source),
    "sssp": lambda lab: dg.sssp(lab.graph, lab.source),
    "connected_components": lambda lab: dg.connected_components(lab.graph),
    "pagerank": lambda lab: dg.pagerank(lab.graph, max_iter=10, tol=None),
    "cdlp": lambda lab: dg.cdlp(lab.graph, max_iter=5),
}


@dataclass(frozen=True)
class Case:
    """Where "auto" is tried: a domain tree, a machine, and how often all is run on a graph."""

    tree: Topology
    machine: str
    times: int = 1


#: On slow links there is something to save, and more in many runs, so that "auto" takes chunk
#: or hierarchy.
CASES = (
    Case(TREE, MACHINE),
    Case(DEEP, MACHINE),
    Case(DEEP, "links"),
    Case(DEEP, "links", 100),
)


def auto(bench: Bench) -> Iterator[Table]:
    """Whether "auto" is ever far behind "degree", and with the build."""
    side = max(4, round(2 ** (bench.settings.scale / 2)))
    number = np.arange(side * side).reshape(side, side)
    strips = {
        "source": np.append(number[:, :-1], number[:-1]),
        "target": np.append(number[:, 1:], number[1:]),
    }
    graphs = {**bench.graphs, "grid": grid(side), "grid in order": pd.DataFrame(strips)}
    rows: list[dict[str, Any]] = []
    for graph, edges in graphs.items():
        for case in CASES:
            about = {"graph": graph, "levels": case.tree.height + 1, "machine": case.machine}
            bench.say(", ".join(map(str, ("auto", *about.values(), f"times {case.times}"))))
            found = _beside(bench, edges, case)
            rows += ({**about, "times": case.times, **row} for row in found)
    worst = max(rows, key=lambda row: row["with build"])
    notes = [
        "with auto over with degree; runs, of_bytes: simulated, and of bytes alone;",
        "with build: a build and so many times the runs, both measured here, and what the",
        "frames take on the machine, simulated: the median of so many pairs of builds; it is",
        "between low and high with a chance of 95 %; on 2 levels both are the same code;",
        f"at most {BEHIND} was to be reached, the worst is {worst['with build']:.3f}: "
        f"{worst['graph']}, {worst['levels']} levels of {worst['machine']},",
        f"{worst['algorithm']}, where auto takes {worst['chosen']}",
    ]
    yield Table("auto", "auto beside degree", rows, notes)


def bounds_of_median(values: Any) -> tuple[float, float]:
    """Return two of the values between which their median lies with a chance of 95 %.

    Of fewer than six values the chance is smaller: the first and the last.

    Examples
    --------
    >>> bounds_of_median([5, 1, 2, 4, 3]), bounds_of_median(range(21))
    ((1.0, 5.0), (5.0, 15.0))
    """
    ordered = np.sort(np.asarray(values, np.float64))
    n, skipped, chance = len(ordered), 0, 2.0 * 0.5 ** len(ordered)
    while skipped + 1 < n - skipped - 1 and chance + 2 * comb(n, skipped + 1) / 2**n <= 0.05:
        skipped += 1
        chance += 2 * comb(n, skipped) / 2**n
    return float(ordered[skipped]), float(ordered[n - 1 - skipped])


def _beside(bench: Bench, edges: Any, case: Case) -> Iterator[dict[str, Any]]:
    """Yield a row for the first algorithm, and one for all: "auto" over "degree"."""
    setting = Setting.of(case.machine, case.tree.height)
    ways = {"degree": "degree", "auto": dg.placement.Auto(cost=setting.cost, runs=case.times)}
    chosen, sent, took = _runs(bench, edges, case.tree, ways, setting)
    pairs = list(_pairs(bench, edges, case, ways))
    for algorithm, some in ((ALGORITHMS[0], slice(0, 1)), ("all of them", slice(None))):
        links = {name: sent[name][some].sum(axis=0) for name in ways}
        later = {
            name: case.times * (float(took[name][some].sum()) + float(links[name][0]))
            for name in ways
        }
        ratios = [(ours + later["auto"]) / (dealt + later["degree"]) for dealt, ours in pairs]
        low, high = bounds_of_median(ratios)
        yield {
            "algorithm": algorithm,
            "chosen": chosen,
            "runs": links["auto"][0] / links["degree"][0],
            "of_bytes": links["auto"][1] / max(links["degree"][1], 1e-12),
            "build": float(np.median([ours / dealt for dealt, ours in pairs])),
            "with build": float(np.median(ratios)),
            "low": low,
            "high": high,
            "pairs": len(pairs),
        }


def _runs(
    bench: Bench, edges: Any, tree: Topology, ways: dict[str, Any], setting: Setting
) -> tuple[str, dict[str, Array], dict[str, Array]]:
    """Return what "auto" chose; then for each way what the algorithms send, and take here.

    What they take is the median of twice the turns and one, in which one way follows the other.
    Where "auto" chose "degree", both are one layout, and what runs is one graph.
    """
    with ExitStack() as stack:
        labs = {
            name: stack.enter_context(bench.lab(edges, tree, {"placement": way}))
            for name, way in ways.items()
        }
        chosen = str(labs["auto"].graph.placement)
        labs["auto"].source = labs["degree"].source
        if chosen == "degree":
            del labs["auto"]
        took: dict[str, list[list[float]]] = {name: [] for name in labs}
        for turn in range(2 * bench.settings.turns + 2):
            for name, lab in labs.items():
                seconds = _seconds(lab)
                took[name] += [seconds] if turn else []  # the first one compiles
        medians = {name: np.median(some, axis=0) for name, some in took.items()}
        sent = {
            name: np.array([_simulated(lab, each, setting) for each in ALGORITHMS])
            for name, lab in labs.items()
        }
    last = next(reversed(sent))
    return chosen, sent | {"auto": sent[last]}, medians | {"auto": medians[last]}


def _pairs(
    bench: Bench, edges: Any, case: Case, ways: dict[str, Any]
) -> Iterator[tuple[float, float]]:
    """Yield what builds by "degree" and "auto" took, just after one another."""
    began = perf_counter()
    for turn in range(PAIRS * bench.settings.turns):
        took: dict[str, float] = {}
        for name in ways if turn % 2 else reversed(ways):
            with bench.lab(edges, case.tree, {"placement": ways[name]}) as lab:
                report = lab.graph.report["seconds"]
                took[name] = sum(report[phase] for phase in ("inspect", "absorb", "build"))
        yield took["degree"], took["auto"]
        if perf_counter() - began > SECONDS:
            break


def _seconds(lab: Lab) -> list[float]:
    """Return what one run of each algorithm took."""
    found = []
    for algorithm in ALGORITHMS:
        CALLS[algorithm](lab)
        found.append(lab.graph.runs[-1].seconds)
    return found


def _simulated(lab: Lab, algorithm: str, setting: Setting) -> tuple[float, float]:
    """Return the simulated seconds of a run routed as auto does, and those of bytes alone."""
    run = lab.run(algorithm, "auto", setting.cost).without_output()
    row = measured(run, setting)
    return row["simulated"], row["of_bytes"]
