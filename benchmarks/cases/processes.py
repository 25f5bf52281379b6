"""The same kernels with two worker processes, held against the embedded figures."""

from __future__ import annotations

from collections.abc import Iterator

from benchmarks.bench import SLOTS, Bench
from benchmarks.cases.bfs import options
from benchmarks.cases.pagerank import one_round
from benchmarks.contest import Contest
from benchmarks.row import Row

PROCESSES = f"{SLOTS} processes"


def run(bench: Bench) -> Iterator[Row]:
    """Let the two forms of the cluster take turns at each kernel."""
    files = bench.kronecker()
    sides = {
        PROCESSES: bench.ours(files, bench.processes()),
        "embedded": bench.ours(files, bench.embedded()),
    }
    turns = range(bench.settings.turns)
    searches = Contest(files.sources(bench.settings.sources))
    labels, ranks = Contest(turns), Contest(turns)
    for name, ours in sides.items():
        searches.enter_ours(ours, "bfs", options, name)
        labels.enter_ours(ours, "connected_components", lambda turn: {}, name)
        ranks.enter(name, lambda turn, ours=ours: one_round(ours))  # type: ignore[misc]
    for kernel, contest in (("bfs", searches), ("cc", labels), ("pagerank round", ranks)):
        what = f"{files.name}, {kernel}, {PROCESSES}"
        yield contest.row("processes", what, PROCESSES, against="embedded", target=1.3)
