"""PageRank on a Kronecker graph: time per round, a whole solution, the machine's limit.

GAPBS iterates in place (Gauss-Seidel) in float32, to a tolerance; its time is divided by its
own count of rounds, and so is that of dgraph's call with a tolerance. All others, and dgraph's
call without one, do the same `ROUNDS` rounds of the power iteration in float64 (graphblas:
float32).
"""

from __future__ import annotations

from collections.abc import Iterator

from benchmarks.bench import SLOTS, Bench
from benchmarks.contest import OURS, Contest
from benchmarks.graphs import EdgeFiles
from benchmarks.machine import Limits, measure
from benchmarks.ours import Ours
from benchmarks.rivals.gap import Trials
from benchmarks.row import Row, amount

ROUNDS = 20
ROUND_RIVALS = ("scipy", "networkit", "graphblas")
WHOLE_RIVALS = ("scipy", "igraph", "networkit")
TOLERANCE = 1e-6

#: The name of dgraph's entrant that does a fixed number of rounds.
EXACT = "dgraph, exact rounds"


def run(bench: Bench) -> Iterator[Row]:
    """Time a round, then a whole solution."""
    files = bench.kronecker()
    ours = bench.ours(files)
    row, exact = per_round(bench, files, ours)
    row.phases = ours.phases(files)
    row.notes += limits(files, row.ours, measure(files, SLOTS))
    yield row
    yield exact
    yield whole(bench, files, ours)


def one_round(ours: Ours, rounds: int = ROUNDS) -> tuple[float, float]:
    """Return the seconds of one of exactly `rounds` rounds, and the largest rank."""
    seconds, answer = ours.kernel("pagerank", max_iter=rounds, tol=None)
    return seconds / rounds, answer


def a_round_of_some(ours: Ours) -> tuple[float, float]:
    """Return the seconds of a round of a whole solution, and the largest rank."""
    seconds, answer = ours.kernel("pagerank", tol=TOLERANCE)
    return seconds / ours.graph.runs[-1].notes["rounds"], answer


def per_round(bench: Bench, files: EdgeFiles, ours: Ours) -> tuple[Row, Row]:
    """Compare the time per round: of a whole solution, and of a number of exact rounds."""

    def figure(trials: Trials) -> float:
        return trials.median / trials.rounds

    contest = Contest(range(bench.settings.turns), tolerance=1e-3)
    contest.enter(OURS, lambda turn: a_round_of_some(ours))
    contest.enter(EXACT, lambda turn: one_round(ours))
    contest.enter_gap(bench, "pr", files, lambda turn: ("-i", 100, "-l"), figure)
    rivals = bench.rivals(ROUND_RIVALS, files)
    contest.enter_rivals(rivals, "pagerank", lambda turn: {"rounds": ROUNDS}, per=ROUNDS)
    what = f"{files.name}, median of {len(contest.items)} runs, per round"
    row = contest.row("pagerank", what, against="GAPBS", target=1.0)
    return row, contest.row("pagerank", f"{what}, exact", EXACT, against="GAPBS")


def whole(bench: Bench, files: EdgeFiles, ours: Ours) -> Row:
    """Compare the time to an L1 change below `TOLERANCE`."""
    contest = Contest(range(bench.settings.turns), tolerance=1e-3)
    contest.enter_ours(ours, "pagerank", lambda turn: {"tol": TOLERANCE})
    rivals = dict(bench.rivals(WHOLE_RIVALS, files))
    for name, kernel in (("igraph", "pagerank_whole"), ("*", "pagerank")):
        chosen = {key: rivals[key] for key in rivals if (key == "igraph") == (name == "igraph")}
        contest.enter_rivals(chosen, kernel, lambda turn: {"tol": TOLERANCE})
    what = f"{files.name}, median of {len(contest.items)} runs, whole solution"
    return contest.row("pagerank", what)


def limits(files: EdgeFiles, seconds: float, machine: Limits) -> list[str]:
    """Say what is left between a round and the limit of the machine."""
    moved = 2 * files.edges * 4 + files.vertices * 48
    rate = moved / seconds
    return [
        f"moves at least {moved / files.edges:.1f} bytes per edge and round (two int32 "
        "neighbours per edge; offset, rank, old rank, degree and portion twice per vertex)",
        f"that is {amount(rate, 'B/s')}, {rate / machine.triad:.0%} of the "
        f"{amount(machine.triad, 'B/s')} that a triad reaches on {SLOTS} threads",
        f"the bare gather over the same arcs takes {amount(machine.gather, 's')}: "
        f"{machine.gather / seconds:.0%} of a round",
        f"a random gather from memory takes {amount(machine.random, 's')} an element",
    ]
