"""Placements on 4 domains of 4 virtual slots: what they cut between domains, what they take."""

from __future__ import annotations

import importlib.util
import statistics
from collections.abc import Iterator

import pandas as pd
from distributed import Client

import dgraph as dg
from benchmarks.bench import Bench
from benchmarks.placement.inputs import grid, planted
from benchmarks.row import Row
from benchmarks.timing import timed
from dgraph.topology import Topology

TREE = Topology.from_fanouts([4, 4])

#: Placements that are shown beside "hierarchy"; the targets speak of "metis" and "hash".
OTHERS = ("metis", "hash", "degree", "chunk", "2d", "fennel", "xtree", "adp", "topox")


def run(bench: Bench) -> Iterator[Row]:
    """Place a planted partition and a grid with ids that say nothing."""
    side = bench.settings.side
    size = max(16, 1 << max(0, bench.settings.scale - 4))
    graphs = {
        f"planted 4 x {size}, degree 16, 5 % outside": planted(4, size, 16, 0.05),
        f"grid {side} x {side}": grid(side),
    }
    for name, frame in graphs.items():
        yield from judge(name, frame, bench.embedded(), min(3, bench.settings.turns))


def judge(name: str, frame: pd.DataFrame, client: Client, repeat: int) -> Iterator[Row]:
    """Yield the rows of one graph."""
    others = [x for x in OTHERS if x != "metis" or importlib.util.find_spec("pymetis")]
    compare = dg.placement.compare
    compare(frame, ["hierarchy"], topology=TREE, client=client)  # compiles
    found = compare(frame, others, topology=TREE, client=client)
    ours = compare(frame, ["hierarchy"] * repeat, topology=TREE, client=client)
    table = pd.concat([found, ours.iloc[:1]], ignore_index=True)
    builds = [_build(frame, client) for _ in range(repeat)]
    cuts = dict(zip(others, map(float, found["cut_top"]), strict=True))
    seconds = float(ours["seconds"].median())
    took = dict(zip(others, map(float, found["seconds"]), strict=True))
    shown = [
        "placement", "seconds", "cut_top", "replication", "vertex_balance", "edge_balance",
        "cost",
    ]  # fmt: skip
    notes = table[shown].round(3).to_string(index=False).splitlines()
    cut = float(ours["cut_top"].iloc[0])
    yield Row("placement", f"{name}, cut between domains", cut, cuts, "metis", 1.3, "", notes)
    yield Row("placement", f"{name}, cut against hash", cut, cuts, "hash", 0.1, "")
    yield Row("placement", f"{name}, seconds", seconds, took, "metis", 0.5)
    build = {"build with degree": statistics.median(builds)}
    yield Row("placement", f"{name}, seconds beside a build", seconds, build, "build", 1.5)
    even = {"mean": 1.0}
    largest = float(ours["vertex_balance"].iloc[0])
    yield Row("placement", f"{name}, fullest slot", largest, even, "mean", 1.1, "")


def _build(frame: pd.DataFrame, client: Client) -> float:
    def build() -> None:
        dg.from_edges(frame, virtual_slots=TREE.slots, topology=TREE, client=client).close()

    return float(timed(build)[0])
