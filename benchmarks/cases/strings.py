"""From parquet with string ids to a graph that is ready, held against integers in SciPy."""

from __future__ import annotations

from collections.abc import Iterator

from benchmarks.bench import Bench
from benchmarks.cases.build import build, enter_builds
from benchmarks.contest import OURS, Contest
from benchmarks.row import Row


def run(bench: Bench) -> Iterator[Row]:
    """Read and build, in turns; SciPy once from integers and once from the strings."""
    files = bench.kronecker()
    declared = (
        {} if files.compact else {"vertices": [f"user-{i}" for i in range(files.vertices)]}
    )
    contest = Contest(range(bench.settings.turns))
    contest.enter(OURS, lambda turn: build(files.strings, bench.embedded(), declared))
    rivals = bench.rivals(("scipy",))
    enter_builds(contest, rivals, files.parquet, files.vertices, ", int64 ids")
    enter_builds(contest, rivals, files.strings, files.vertices, ", dictionary_encode")
    what = f"{files.name}, string ids, median of {len(contest.items)} runs, read and build"
    row = contest.row("strings", what, against="pyarrow + scipy CSR, int64 ids", target=6.0)
    bench.forget_rivals()
    yield row
