"""BFS from the corner of a grid: 2,000 supersteps with next to nothing to do in each."""

from __future__ import annotations

from collections.abc import Iterator

from benchmarks.bench import Bench
from benchmarks.cases.bfs import options
from benchmarks.contest import Contest
from benchmarks.row import Row, amount

RIVALS = ("scipy", "igraph", "networkit")


def run(bench: Bench) -> Iterator[Row]:
    """Search from the corner, several times."""
    files = bench.grid()
    ours = bench.ours(files)
    contest = Contest([0] * bench.settings.turns)
    contest.enter_ours(ours, "bfs", options)
    contest.enter_gap(bench, "bfs", files, lambda source: ("-r", source))
    contest.enter_rivals(bench.rivals(RIVALS, files), "bfs", options)
    what = f"{files.name}, median of {len(contest.items)} runs, kernel"
    row = contest.row("grid", what, against="scipy", target=5.0)
    supersteps = ours.log["supersteps"][-1]
    row.notes.append(f"{supersteps:.0f} supersteps, {amount(row.ours / supersteps, 's')} each")
    yield row
    bench.drop(files)
