"""Two slots against one, on a graph four times as large."""

from __future__ import annotations

from collections.abc import Iterator

from benchmarks.bench import SLOTS, Bench
from benchmarks.cases.bfs import options
from benchmarks.cases.pagerank import one_round
from benchmarks.contest import Contest
from benchmarks.row import Row

#: How much faster the slots must be together.
SPEEDUP = 1.6


def run(bench: Bench) -> Iterator[Row]:
    """Build the graph on one slot and on several; let them take turns."""
    files = bench.kronecker(bench.settings.scale + 2)
    several = f"{SLOTS} slots"
    searches = Contest(files.sources(bench.settings.sources))
    ranks = Contest(range(bench.settings.turns))
    for name, slots in ((several, SLOTS), ("1 slot", 1)):
        ours = bench.ours(files, slots=slots)
        searches.enter_ours(ours, "bfs", options, name)
        ranks.enter(name, lambda turn, ours=ours: one_round(ours))  # type: ignore[misc]
    for kernel, contest in (("pagerank round", ranks), ("bfs", searches)):
        what = f"{files.name}, {kernel}, {several}"
        row = contest.row("slots", what, several, against="1 slot", target=1 / SPEEDUP)
        row.notes.append(f"{1 / row.ratio if row.ratio else 0:.2f} x as fast as one slot")
        yield row
    bench.drop(files)
