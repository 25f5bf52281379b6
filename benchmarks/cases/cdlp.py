"""Communities by label propagation on a Kronecker graph: 10 rounds of LDBC's CDLP.

What the rivals do is not the same: they give a vertex its new label at once, draw among ties,
and stop when little or nothing changes (igraph: nothing; NetworKit: few, or after 10 rounds).
"""

from __future__ import annotations

from collections.abc import Iterator

from benchmarks.bench import Bench
from benchmarks.contest import Contest
from benchmarks.row import Row

ROUNDS = 10

RIVALS = ("igraph", "networkit")


def run(bench: Bench) -> Iterator[Row]:
    """Propagate labels, several times."""
    files = bench.kronecker()
    ours = bench.ours(files)
    contest = Contest(range(bench.settings.turns))
    contest.enter_ours(ours, "cdlp", lambda turn: {"max_iter": ROUNDS})
    rivals = bench.rivals(RIVALS, files)
    contest.enter_rivals(rivals, "communities", lambda turn: {"rounds": ROUNDS})
    ours.log.clear()
    what = f"{files.name}, median of {len(contest.items)} runs, {ROUNDS} rounds"
    row = contest.row("cdlp", what, against="igraph", target=0.10)
    row.phases = ours.phases(files)
    yield row
