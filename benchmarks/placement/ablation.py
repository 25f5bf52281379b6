"""The ablation that the papers lack: placement x routing x combining, each one's own gain."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product
from typing import Any

import pandas as pd

from benchmarks.hierarchy.lab import Setting
from benchmarks.hierarchy.tables import Plot, Table
from benchmarks.placement.figures import OF_BYTES, TREE, Bench, measured
from benchmarks.placement.layouts import RHIZOMES, layouts

__all__ = ["ablation"]

PLACEMENTS = ("degree", "hierarchy", RHIZOMES)
ROUTINGS = ("direct", "aml", "tree")
ALGORITHMS = ("bfs", "pagerank", "connected_components")

#: Nothing of it, and all of it: placement, routing, combining.
NONE, ALL = ("degree", "direct", False), (RHIZOMES, "tree", True)

Way = tuple[str, str, bool]
Figures = dict[str, Any]

#: What is compared.
WHAT = ("far_frames", "far_bytes", "simulated", "of_bytes")

#: What the plot shows.
GAINS = "gain alone: seconds of bytes,gain as the last one: seconds of bytes"


def ablation(bench: Bench) -> Iterator[Table]:
    """Show placement x routing x combining, and what each gains alone and as the last one."""
    setting = Setting.of("far 100", TREE.height)
    for graph, edges in bench.graphs.items():
        cells = dict(_cells(bench, graph, edges, setting))
        rows = [
            {
                "algorithm": algorithm,
                "placement": way[0],
                "routing": way[1],
                "combining": way[2],
                **figures,
            }
            for (algorithm, way), figures in cells.items()
        ]
        notes = [
            "4 domains of 4 slots; a frame and a byte across cost 100 times as much as inside;",
            OF_BYTES,
            "direct has no gateways, so nothing is combined on the way: senders always do;",
            "with combining, bits are handed on too, as bitmaps whose bits count as messages.",
        ]
        title = f"{graph}: between domains, and simulated time"
        yield Table(f"ablation_{graph}", title, rows, notes)
        gains = [row for algorithm in ALGORITHMS for row in _gains(cells, algorithm)]
        notes = [
            f"alone: {_said(NONE)}, over the same with this one only;",
            f"last: all ({_said(ALL)}, or the routing named) without this one, over with it.",
        ]
        plot = Plot("what", "alone of_bytes,last of_bytes", "algorithm", labels=GAINS)
        title = f"{graph}: each one's own gain"
        yield Table(f"ablation_gains_{graph}", title, gains, notes, plot)


def _said(way: Way) -> str:
    return f"{way[0]}, {way[1]}, {'combining' if way[2] else 'no combining'}"


def _cells(
    bench: Bench, graph: str, edges: pd.DataFrame, setting: Setting
) -> Iterator[tuple[tuple[str, Way], Figures]]:
    """Yield the figures of every cell: what crosses between domains, and seconds."""
    for placement, options in layouts(*PLACEMENTS).items():
        bench.say(f"ablation: {graph}, {placement}")
        with bench.lab(edges, TREE, options) as lab:
            for algorithm in ALGORITHMS:
                for routing, combine in product(ROUTINGS, (False, True)):
                    if routing != "direct" or not combine:  # else it is the run before
                        run = lab.run(algorithm, routing, combine=combine)
                        found = measured(run.without_output(), setting)
                    yield (algorithm, (placement, routing, combine)), found


def _gains(cells: dict[tuple[str, Way], Figures], algorithm: str) -> Iterator[Figures]:
    """Yield what each placement, routing and combining gains in one algorithm."""
    steps: dict[str, tuple[Way, Way, Way, Way]] = {}
    for placement in PLACEMENTS[1:]:
        alone: Way = (placement, NONE[1], NONE[2])
        steps[placement] = (NONE, alone, (NONE[0], ALL[1], ALL[2]), (placement, *ALL[1:]))
    for routing in ROUTINGS[1:]:
        alone = (NONE[0], routing, NONE[2])
        steps[routing] = (NONE, alone, (ALL[0], NONE[1], ALL[2]), (ALL[0], routing, ALL[2]))
    for routing in ROUTINGS[1:]:  # without gateways there is nothing to combine at
        steps[f"combining, {routing}"] = (
            (NONE[0], routing, False),
            (NONE[0], routing, True),
            (ALL[0], routing, False),
            (ALL[0], routing, True),
        )
    for what, ways in steps.items():
        found = [cells[algorithm, way] for way in ways]
        row: Figures = {"algorithm": algorithm, "what": what}
        for when, (before, after) in {"alone": found[:2], "last": found[2:]}.items():
            row |= {f"{when} {name}": before[name] / max(after[name], 1e-12) for name in WHAT}
        yield row
