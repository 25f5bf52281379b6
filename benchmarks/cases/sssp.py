"""SSSP on a Kronecker graph with weights from 1 to 255.

dgraph, SciPy and NetworKit find predecessors, too; GAPBS and igraph distances alone. GAPBS runs
with the delta of `DELTAS` that suits it best, tried out before on the first source.
"""

from __future__ import annotations

import statistics
from collections.abc import Iterator

from benchmarks.bench import SLOTS, Bench
from benchmarks.cases.bfs import options
from benchmarks.contest import Contest
from benchmarks.graphs import EdgeFiles
from benchmarks.row import Row

RIVALS = ("scipy", "igraph", "networkit")

#: Widths of GAPBS's buckets that are tried out.
DELTAS = (8, 16, 32, 64, 128)


def run(bench: Bench) -> Iterator[Row]:
    """Search from several sources."""
    files = bench.weighted()
    ours = bench.ours(files)
    contest = Contest(files.sources(bench.settings.sources))
    contest.enter_ours(ours, "sssp", options)
    notes = enter_gap(bench, contest, files)
    contest.enter_rivals(bench.rivals(RIVALS, files), "sssp", options)
    ours.log.clear()
    what = f"{files.name}, median of {len(contest.items)} sources, kernel"
    row = contest.row("sssp", what, against="GAPBS", target=0.60, notes=notes)
    row.phases = ours.phases(files)
    row.notes.append(f"{statistics.median(ours.log['supersteps']):.0f} supersteps")
    yield row
    bench.drop(files)


def enter_gap(bench: Bench, contest: Contest, files: EdgeFiles) -> list[str]:
    """Add GAPBS for each number of threads with its best delta; return what they are."""
    notes = []
    for threads in dict.fromkeys((1, SLOTS)):
        found = best_delta(bench, files, contest.items[0], threads)
        if found is not None:
            arguments = ("-d", found)
            contest.enter_gap(
                bench,
                "sssp",
                files,
                lambda source, arguments=arguments: ("-r", source, *arguments),  # type: ignore[misc]
                threads=(threads,),
            )
            notes.append(
                f"GAPBS's delta with {threads} of its threads: {found}, the best of {DELTAS}"
            )
    return notes


def best_delta(bench: Bench, files: EdgeFiles, source: int, threads: int) -> int | None:
    """Return the delta with which GAPBS is fastest, or None without GAPBS."""
    gap = bench.gap("sssp")
    if gap is None:
        return None

    def median(delta: int) -> float:
        options = ("-r", source, "-d", delta)
        return gap.run("sssp", files.serialized, threads, *options).median

    return min(DELTAS, key=median)
