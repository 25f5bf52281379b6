"""Local clustering coefficients and triangles of a Kronecker graph.

No rival counts triangles at each vertex: igraph and NetworKit compute coefficients, which are
multiplied by the pairs of neighbours. GAPBS counts those of the whole graph (its program tc).
"""

from __future__ import annotations

from collections.abc import Iterator

from benchmarks.bench import Bench
from benchmarks.contest import Contest
from benchmarks.row import Row

RIVALS = ("igraph", "networkit")


def run(bench: Bench) -> Iterator[Row]:
    """Do the one, then the other, several times."""
    files = bench.kronecker()
    ours = bench.ours(files)
    for kernel in ("local_clustering", "triangles"):
        contest = Contest(range(bench.settings.turns), tolerance=1e-9)
        contest.enter_ours(ours, kernel, lambda turn: {})
        if kernel == "triangles":
            contest.enter_gap(bench, "tc", files, lambda turn: ())
        contest.enter_rivals(bench.rivals(RIVALS, files), kernel, lambda turn: {})
        ours.log.clear()
        what = f"{files.name}, median of {len(contest.items)} runs, {kernel}"
        row = contest.row("lcc", what, against="igraph or networkit", target=1.0)
        row.phases = ours.phases(files)
        yield row
