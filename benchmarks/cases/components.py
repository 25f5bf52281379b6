"""Connected components of a Kronecker graph."""

from __future__ import annotations

from collections.abc import Iterator

from benchmarks.bench import SLOTS, Bench
from benchmarks.contest import Contest
from benchmarks.machine import measure_triad, say_least
from benchmarks.row import Row

RIVALS = ("scipy", "igraph", "networkit")


def run(bench: Bench) -> Iterator[Row]:
    """Label the components, several times."""
    files = bench.kronecker()
    contest = Contest(range(bench.settings.turns))
    ours = bench.ours(files)
    contest.enter_ours(ours, "connected_components", lambda turn: {})
    contest.enter_gap(bench, "cc", files, lambda turn: ())
    contest.enter_rivals(bench.rivals(RIVALS, files), "components", lambda turn: {})
    what = f"{files.name}, median of {len(contest.items)} runs, kernel"
    row = contest.row("cc", what, against="GAPBS", target=0.50)
    row.phases = ours.phases(files)
    least = "two neighbours sampled, the label written, and read and written again at the end"
    say_least(20, least, files, row, measure_triad(files, SLOTS))
    yield row
