"""From parquet with integer ids to a graph that is ready."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping

from distributed import Client

from benchmarks.bench import Bench
from benchmarks.contest import OURS, Contest
from benchmarks.ours import Ours
from benchmarks.rivals.remote import Remote
from benchmarks.row import Row

#: The first is what the target speaks of.
RIVALS = {
    "scipy": "pyarrow + scipy CSR",
    "igraph": "pyarrow + igraph",
    "networkit": "pyarrow + networkit",
    "graphblas": "pyarrow + graphblas",
}


def run(bench: Bench) -> Iterator[Row]:
    """Read and build, in turns; each graph is freed before the next."""
    files = bench.kronecker()
    contest = Contest(range(bench.settings.turns))
    client = bench.embedded()
    contest.enter(OURS, lambda turn: build(files.parquet, client, files.declared))
    enter_builds(contest, bench.rivals(tuple(RIVALS)), files.parquet, files.vertices)
    what = f"{files.name}, int64 ids, median of {len(contest.items)} runs, read and build"
    row = contest.row("build", what, against=RIVALS["scipy"], target=1.5)
    row.phases = {"generation": files.phases.seconds["generation"]}
    bench.forget_rivals()  # what they hold is no longer what they are thought to hold
    yield row


def build(path: str, client: Client, options: Mapping[str, object]) -> tuple[float, float]:
    """Let dgraph read and build."""
    with Ours.build(path, client, **options) as ours:
        return ours.seconds, math.nan


def enter_builds(
    contest: Contest, rivals: dict[str, Remote], path: str, vertices: int, suffix: str = ""
) -> None:
    """Add rivals that read with pyarrow and build; the two together are their figure."""
    for name, rival in rivals.items():

        def run(turn: int, rival: Remote = rival) -> tuple[float, float]:
            took = rival.build(path, vertices)
            return took["reading"] + took["seconds"], math.nan

        contest.enter(RIVALS[name] + suffix, run)
