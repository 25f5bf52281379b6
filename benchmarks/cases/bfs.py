"""BFS on a Kronecker graph: the kernel, the columns in users' ids, the whole call."""

from __future__ import annotations

import statistics
from collections.abc import Iterator
from typing import Any

from benchmarks.bench import SLOTS, Bench
from benchmarks.contest import Contest
from benchmarks.machine import measure_triad, say_least
from benchmarks.rivals.gap import TRIALS
from benchmarks.row import Row

RIVALS = ("scipy", "igraph", "networkit", "graphblas")


def options(source: Any) -> dict[str, Any]:
    """Return the arguments of one search."""
    return {"source": source}


def run(bench: Bench) -> Iterator[Row]:
    """Search from several sources."""
    files = bench.kronecker()
    ours = bench.ours(files)
    contest = Contest(files.sources(bench.settings.sources))
    contest.enter_ours(ours, "bfs", options)
    contest.enter_gap(bench, "bfs", files, lambda source: ("-r", source))
    contest.enter_rivals(bench.rivals(RIVALS, files), "bfs", options)
    ours.log.clear()
    what = f"{files.name}, median of {len(contest.items)} sources, "
    row = contest.row("bfs", f"{what}kernel", against="GAPBS", target=0.40)
    row.phases = ours.phases(files)
    least = "distance and predecessor written, the first neighbour read"
    say_least(12, least, files, row, measure_triad(files, SLOTS))
    yield row
    log = {name: values[TRIALS:] for name, values in ours.log.items()}  # without the warm-up
    for name, part, limit in (
        ("output", "columns in users' ids", 0.015),
        ("whole", "whole call", 0.070),
    ):
        figure = statistics.median(log[name])
        yield Row(
            "bfs",
            what + part,
            figure,
            {"limit": limit},
            "limit",
            1.0,
            samples={name: log[name]},
        )
