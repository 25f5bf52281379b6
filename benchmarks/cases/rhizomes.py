"""Rhizomes on 16 virtual slots: a star, and a Kronecker graph on 4 domains of 4."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pandas as pd

import dgraph as dg
from benchmarks.bench import Bench
from benchmarks.placement.rhizomes import far_bytes, kronecker, star
from benchmarks.row import Row
from dgraph.build.rhizomes import Rhizomes

#: What the Kronecker graph is laid out with, beside "degree".
FINE = Rhizomes(64, "sources")


def run(bench: Bench) -> Iterator[Row]:
    """Count, and time runs with combining on two threads."""
    leaves = 10**6 if bench.settings.scale >= 20 else 16 << bench.settings.scale
    found = star(leaves).set_index("rhizome_max")
    name = f"star of {leaves:,} leaves"
    notes = found.round(4).to_string().splitlines()
    for what, column, target in (
        ("messages at a slot, not combined", "uncombined", 1 / 8),
        ("messages at a slot, combined", "received", 1 / 8),
        ("the hub's edges on a slot", "entries", 1 / 4),
    ):
        one = {"without": float(found[column][1])}
        yield Row(
            "rhizomes", f"{name}, {what}", float(found[column][16]), one, "without", target, "",
            notes if column == "uncombined" else [],
        )  # fmt: skip
    yield from _seconds(bench, name, leaves)
    scale = max(4, bench.settings.scale - 2)
    layouts: dict[str, tuple[str, Rhizomes | None]] = {
        "degree": ("degree", None),
        "hierarchy": ("hierarchy", None),
        "hierarchy + rhizomes": ("hierarchy", FINE),
    }
    table = far_bytes(kronecker(scale), layouts)
    lines = table.round(3).to_string(index=False).splitlines()
    mine = table[table["layout"] == "hierarchy + rhizomes"].set_index("routing")
    base = table[table["layout"] == "degree"].set_index("routing")
    for routing in mine.index:
        for kernel in ("bfs", "pagerank"):
            ours, theirs = float(mine[kernel][routing]), float(base[kernel][routing])
            what = f"kronecker {scale}, {kernel}, {routing}: bytes between domains"
            yield Row("rhizomes", what, ours, {"degree": theirs}, "degree", 0.8, "B", lines)
            lines = []
    what = f"kronecker {scale}, fullest slot"
    even = float(mine["edge_balance"].iloc[0])
    yield Row("rhizomes", what, even, {"mean": 1.0}, "mean", 1.1, "")


def _seconds(bench: Bench, name: str, leaves: int) -> Iterator[Row]:
    """Time PageRank and label propagation on the star, split and whole, by turns."""
    frame = pd.DataFrame({"source": np.zeros(leaves, int), "target": np.arange(1, leaves + 1)})
    kernels: dict[str, Callable[[dg.Graph], object]] = {
        "pagerank": lambda g: dg.pagerank(g, max_iter=10, tol=None),
        "cdlp": lambda g: dg.cdlp(g),
    }
    options: dict[str, Any] = {"virtual_slots": 16, "client": bench.embedded()}
    with (
        dg.from_edges(frame, **options) as whole,
        dg.from_edges(frame, rhizome_max=16, **options) as split,
    ):
        for kernel, call in kernels.items():
            seconds: dict[str, list[float]] = {"split": [], "whole": []}
            for _ in range(bench.settings.repeat + 1):
                for key, g in (("split", split), ("whole", whole)):
                    call(g)
                    seconds[key].append(g.runs[-1].seconds)
            ours, theirs = (float(np.median(some[1:])) for some in seconds.values())
            what = f"{name}, {kernel}, 10 rounds on 2 threads"
            yield Row("rhizomes", what, ours, {"without": theirs}, "without", 1.0)
