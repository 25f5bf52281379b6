"""What placements cut and take: "hierarchy" beside METIS, hash, and a build with "degree"."""

from __future__ import annotations

import statistics
from collections.abc import Iterator
from typing import Any

import pandas as pd

import dgraph as dg
from benchmarks.hierarchy.evidence import real_graphs
from benchmarks.hierarchy.tables import Table
from benchmarks.placement.figures import TREE, Bench
from benchmarks.placement.inputs import grid, planted
from benchmarks.placement.layouts import layouts

__all__ = ["quality"]

#: Every turn places with each of them, one after the other.
WAYS = ("degree", "metis", "hierarchy")


def quality(bench: Bench) -> Iterator[Table]:
    """Hold "hierarchy" against METIS, hash and "degree" on graphs that have localities."""
    graphs: dict[str, Any] = {"planted": planted(4, 1 << (bench.settings.scale - 2), 16, 0.05)}
    graphs |= {f"grid {side}": grid(side) for side in bench.settings.sides}
    try:
        graphs |= {name: edges for name, edges, _ in real_graphs(bench.settings.real)}
    except ImportError:
        bench.say("no real graphs: name files with --real, or install networkx")
    rows = [_beside(bench, name, edges) for name, edges in graphs.items()]
    notes = [
        "4 domains of 4 slots; cut: edges between domains; fullest: the most vertices that a",
        "slot has, and most: what 1.1 times the mean allows, at least the mean rounded up;",
        "seconds of placing, beside what any build takes: medians of "
        f"{bench.settings.turns} turns;",
        "/metis, /hash, /build: over METIS's, over hash's, over a whole build with degree.",
    ]
    yield Table("quality", "hierarchy beside METIS, hash and degree", rows, notes)


def _beside(bench: Bench, name: str, edges: Any) -> dict[str, Any]:
    """Return the row of one graph."""
    bench.say(f"quality: {name}")
    options: dict[str, Any] = {"topology": TREE, "client": bench.client}
    ways = list(layouts(*WAYS))
    base = dg.placement.compare(edges, ["hash"], **options)
    turns = [dg.placement.compare(edges, ways, **options) for _ in range(bench.settings.turns)]
    found = pd.concat(turns).groupby("placement", sort=False)
    first = found.first()

    def median(way: str, what: str) -> float:
        return float(statistics.median(found.get_group(way)[what]))

    cut, placing = int(first["cut_top"]["hierarchy"]), median("hierarchy", "seconds")
    mean = _vertices(edges, bench) / TREE.slots
    row = {
        "graph": name,
        "cut": cut,
        "/hash": cut / max(int(base["cut_top"][0]), 1),
        "fullest": round(float(first["vertex_balance"]["hierarchy"]) * mean),
        "most": max(int(1.1 * mean), -(-int(mean * TREE.slots) // TREE.slots)),
        "edge_balance": float(first["edge_balance"]["hierarchy"]),
        "placing": placing,
        "/build": placing / median("degree", "build_seconds"),
    }
    if "metis" in first.index:
        row["/metis"] = cut / max(int(first["cut_top"]["metis"]), 1)
        row["seconds /metis"] = placing / max(median("metis", "seconds"), 1e-9)
    return row


def _vertices(edges: Any, bench: Bench) -> int:
    """Return how many vertices a graph has."""
    with dg.from_edges(edges, virtual_slots=1, client=bench.client) as g:
        return int(g.num_vertices)
