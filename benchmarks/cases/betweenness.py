"""Betweenness from one source on a Kronecker graph: Brandes's two sweeps, without weights.

NetworKit draws the source itself, so its answer is not compared.
"""

from __future__ import annotations

from collections.abc import Iterator

from benchmarks.bench import Bench
from benchmarks.cases.bfs import options
from benchmarks.contest import Contest
from benchmarks.row import Row

RIVALS = ("igraph", "networkit")


def run(bench: Bench) -> Iterator[Row]:
    """Add up from one source after the other."""
    files = bench.kronecker()
    ours = bench.ours(files)
    contest = Contest(files.sources(bench.settings.sources), tolerance=1e-9)
    contest.enter_ours(ours, "betweenness_centrality", lambda source: {"sources": [source]})
    contest.enter_gap(bench, "bc", files, lambda source: ("-i", 1, "-r", source))
    contest.enter_rivals(bench.rivals(RIVALS, files), "betweenness", options)
    ours.log.clear()
    what = f"{files.name}, median of {len(contest.items)} sources, one source"
    row = contest.row("betweenness", what, against="GAPBS", target=0.60)
    row.phases = ours.phases(files)
    yield row
