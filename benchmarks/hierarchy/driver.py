"""Run by `netlab.on_workers` in slot 0: times algorithms over every routing, taking turns.

A worker with one thread runs in each slot. What is measured is ``runs[-1]``: the wall time of
the supersteps, and where it went. Routings take turns, so that a neighbour who takes the
processor falls on all alike; figures are medians over the turns, the first one left out.
"""

from __future__ import annotations

import json
import statistics
import sys
from collections.abc import Collection, Iterator, Mapping
from dataclasses import replace
from importlib import import_module
from typing import Any

import dask
import numpy as np
from distributed import Client
from numpy.typing import NDArray

import dgraph as dg
from dgraph.topology.probed import Link, Probe

__all__ = ["TOP_DOWN", "main", "measure"]

#: Where the scheduler of the emulated network listens.
SCHEDULER = "tcp://10.199.1.1:8786"

#: Supersteps that :mod:`benchmarks.hierarchy.exchanges` knows nothing of.
NOT_COUNTED = ("routes", "output", "sources")

#: BFS that never turns to bottom-up, as in the papers.
TOP_DOWN = "bfs (top-down)"

#: When the engine's own turns.
ALPHA = import_module("dgraph.algorithms.bfs").ALPHA

#: Seconds of the probe for each pair; searches whose medians count.
PROBE = 0.2


def measure(client: Client, wanted: Mapping[str, Any]) -> dict[str, Any]:
    """Return the costs that were probed, and a row for each algorithm and routing."""
    hosts = wanted["hosts"]
    probe = dg.topology.probe(client, topology=hosts, keep=False, seconds=PROBE)
    weight = "weight" if wanted.get("weights", True) else None
    edges = dg.generate.kronecker(wanted["scale"], weights=weight is not None)
    rows = []
    layout = {"topology": hosts, "weight": weight, "placement": "degree"}  # as in the lab
    with dg.from_edges(edges, client=client, **layout) as g:
        height = g.topology.height
        cost = _cost_of(probe, height)
        by_comm = _cost_of(replace(probe, links=tuple(_without_sockets(probe))), height)
        sources = [int(key) for key in dg.graph500.search_keys(g, k=wanted["turns"], seed=1)]
        if "source" in wanted:
            sources = [wanted["source"]] * wanted["turns"]
        first = dg.bfs(g, sources[0])
        edges_reached = int(dg.graph500.traversed_edges(g, first))
        for algorithm in wanted["algorithms"]:
            client.run(turn_round, 0 if algorithm == TOP_DOWN else ALPHA)
            ways = {
                name: options
                for name, options in wanted["ways"].items()
                if algorithm == "bfs" or "dgraph.transport" not in options
            }
            runs: dict[str, list[Any]] = {name: [] for name in ways}
            for turn in range(wanted["turns"] + 1):
                for name, options in ways.items():
                    told = by_comm if options.get("dgraph.transport") == "comm" else cost
                    with dask.config.set({"dgraph.cost": told, **options}):
                        call(g, algorithm, sources[max(turn - 1, 0)])
                    runs[name] += [g.runs[-1]] * (turn > 0)
                    print(f"{algorithm} {name}: {g.runs[-1].seconds:.4f} s", flush=True)
            rows += [_row(algorithm, name, some, cost) for name, some in runs.items()]
    return {"cost": cost, "height": height, "reached": edges_reached, "rows": rows}


def _cost_of(probe: Probe, height: int) -> dict[str, Any]:
    alpha, beta = probe.costs(height)
    return {"alpha": alpha, "beta": beta, "latency": probe.latencies(height)}


def _without_sockets(probe: Probe) -> Iterator[Link]:
    return (link for link in probe.links if link.transport != "tcp")


def call(g: Any, algorithm: str, source: int) -> Any:
    """Run an algorithm once."""
    options: dict[str, dict[str, Any]] = {
        "bfs": {"source": source},
        TOP_DOWN: {"source": source},
        "sssp": {"source": source},
        "pagerank": {"max_iter": 10, "tol": None},
        "betweenness_centrality": {"sources": [source]},
        "cdlp": {"max_iter": 5},
    }
    return getattr(dg, algorithm.removesuffix(TOP_DOWN[3:]))(g, **options.get(algorithm, {}))


def turn_round(alpha: int) -> None:
    """Let searches in this process turn to bottom-up at `alpha`; 0: never.

    No user has this option.
    """
    vars(import_module("dgraph.algorithms.bfs"))["ALPHA"] = alpha


def _row(algorithm: str, name: str, runs: list[Any], cost: Mapping[str, Any]) -> dict[str, Any]:
    middle = sorted(runs, key=lambda run: run.seconds)[len(runs) // 2]
    steps = middle.steps[~middle.steps["stage"].isin(["routes", "output"])]
    far = len(cost["alpha"]) - 1
    exchange = near = 0.0
    for _, step in steps.iterrows():
        work = [
            a * step[f"frames_{level}"] + b * step[f"bytes_{level}"]
            for level, (a, b) in enumerate(zip(cost["alpha"], cost["beta"], strict=True))
        ]
        exchange += step["exchange"]
        near += step["exchange"] * (sum(work[:far]) / sum(work) if sum(work) else 0.0)
    computation = float(steps["computation"].sum())
    mean = _of_steps(middle, ("routes", "output"), 2).mean()
    return {
        "algorithm": algorithm,
        "routing": name,
        "seconds": statistics.median(run.seconds for run in runs),
        "least": min(run.seconds for run in runs),
        "exchanged": statistics.median(map(_exchanged, runs)),
        "launch": statistics.median(run.launch_seconds for run in runs),
        "supersteps": len(steps),
        "far_frames": int(steps[f"frames_{far}"].sum()),
        "far_bytes": int(steps[f"bytes_{far}"].sum()),
        "computation": computation,
        "near": near,
        "far": exchange - near,
        # steps say how long the slowest slot took, which is another one in each: domains that
        # are half a superstep apart wait in turns
        "waiting": max(0.0, float(mean) - computation - exchange),
    }


def _exchanged(run: Any) -> float:
    """Return the seconds of the supersteps that are counted, without computation."""
    return float((_of_steps(run, NOT_COUNTED, 2) - _of_steps(run, NOT_COUNTED, 0)).max())


def _of_steps(run: Any, left_out: Collection[str], column: int) -> NDArray[np.float64]:
    """Return a column of a run's times, added up over most stages, for each process."""
    found = []
    for log in run._logs:
        out = [at for at, name in enumerate(log.stages) if name in left_out]
        found.append(float(log.times[~np.isin(log.stage, out), column].sum()))
    return np.array(found)


def main() -> None:
    """Measure what the first argument says, and print it."""
    wanted = json.loads(sys.argv[1])
    with Client(SCHEDULER, set_as_default=False) as client, client.as_current():
        client.wait_for_workers(wanted["slots"], timeout=120)
        print(json.dumps(measure(client, wanted)))


if __name__ == "__main__":
    main()
