"""Rhizomes on 16 virtual slots: a star, and a Kronecker graph on 4 domains of 4."""

from __future__ import annotations

import statistics
from collections.abc import Iterator

from benchmarks.bench import Bench
from benchmarks.placement.inputs import kronecker
from benchmarks.placement.layouts import FINE
from benchmarks.placement.rhizomes import far_bytes, star, star_seconds
from benchmarks.row import Row

#: Wall times of a star differ by a few percent: so many more turns.
TURNS = 4


def run(bench: Bench) -> Iterator[Row]:
    """Count, and time runs with combining on two processes."""
    leaves = 10**6 if bench.settings.scale >= 20 else 16 << bench.settings.scale
    client = bench.embedded()
    found = star(client, leaves, turns=bench.settings.turns).set_index("rhizome_max")
    name = f"star of {leaves:,} leaves"
    notes = found.round(4).to_string().splitlines()
    for what, column, target, unit in (
        ("messages at a slot, not combined", "uncombined", 1 / 8, ""),
        ("messages at a slot, combined", "received", 1 / 8, ""),
        ("the hub's edges on a slot", "entries", 1 / 4, ""),
        ("pagerank, a slot's work for the hub", "pagerank_own", 1 / 4, "s"),
        ("cdlp, a slot's work for the hub", "cdlp_own", 1 / 4, "s"),
    ):
        one = {"without": float(found[column][1])}
        yield Row(
            "rhizomes", f"{name}, {what}", float(found[column][16]), one, "without", target,
            unit, notes if column == "uncombined" else [],
        )  # fmt: skip
    yield from _seconds(bench, name, leaves)
    scale = max(4, bench.settings.scale - 2)
    layouts = {
        "degree": {"placement": "degree"},
        "hierarchy": {"placement": "hierarchy"},
        "hierarchy + rhizomes": {"placement": "hierarchy", **FINE},
    }
    table = far_bytes(client, kronecker(scale), layouts)
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
    """Time PageRank and label propagation on the star, split and whole, by turns.

    On two processes: slots of one do each other's rows in PageRank, so there a heavy row alone
    does not keep the others waiting.
    """
    turns = TURNS * bench.settings.turns
    found = star_seconds(bench.processes(), leaves, turns)
    for kernel, seconds in found.items():
        theirs, ours = map(statistics.median, seconds.values())
        what = f"{name}, {kernel}, 10 rounds on 2 processes"
        yield Row("rhizomes", what, ours, {"without": theirs}, "without", 1.0)
