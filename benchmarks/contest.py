"""A contest: contenders do the same items in turns, and must agree on the answers."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from benchmarks.bench import SLOTS, Bench
from benchmarks.graphs import EdgeFiles
from benchmarks.ours import Ours
from benchmarks.rivals.gap import Trials
from benchmarks.rivals.remote import Remote
from benchmarks.row import Row
from benchmarks.timing import medians

__all__ = ["Contest"]

#: Does an item; returns the seconds it took and its answer (NaN: has none to compare).
Entrant = Callable[[Any], tuple[float, float]]
Options = Callable[[Any], Mapping[str, Any]]

#: The name of dgraph's entrant.
OURS = "dgraph"


class Contest:
    """Contenders that do the same items in turns.

    The order rotates from item to item, so nobody always runs after the same other. Each does
    the first item once before, uncounted: compilation, first page faults.

    Parameters
    ----------
    items : sequence
        Sources, or the numbers of the repetitions.
    tolerance : float
        Relative, between the answers of two contenders.

    Examples
    --------
    >>> contest = Contest([2, 4])
    >>> contest.enter("dgraph", lambda item: (item / 1, item))
    >>> contest.enter("rival", lambda item: (item / 2, item + 1))
    >>> contest.hold()
    {'dgraph': [2.0, 4.0], 'rival': [1.0, 2.0]}
    >>> contest.disagreements()
    ['rival disagrees: item 2: 3, dgraph 2']
    """

    def __init__(self, items: Sequence[Any], tolerance: float = 0.0) -> None:
        self.items = items
        self.tolerance = tolerance
        self._entrants: dict[str, Entrant] = {}
        self._samples: dict[str, list[float]] = {}
        self._answers: dict[str, list[float]] = {}

    def enter(self, name: str, entrant: Entrant) -> None:
        """Add a contender."""
        self._entrants[name] = entrant

    def enter_ours(
        self, ours: Ours, algorithm: str, options: Options, name: str = OURS
    ) -> None:
        """Add dgraph, timed by ``runs[-1].seconds``."""

        def run(item: Any) -> tuple[float, float]:
            return ours.kernel(algorithm, **options(item))

        self.enter(name, run)

    def enter_rivals(
        self, rivals: Mapping[str, Remote], kernel: str, options: Options, per: float = 1.0
    ) -> None:
        """Add rivals that run in their own processes; their seconds are divided by `per`."""
        for name, rival in rivals.items():

            def run(item: Any, rival: Remote = rival) -> tuple[float, float]:
                reply = rival.run(kernel, **options(item))
                return reply.seconds / per, reply.answer

            self.enter(name, run)

    def enter_gap(
        self,
        bench: Bench,
        program: str,
        files: EdgeFiles,
        options: Callable[[Any], Sequence[str | int]],
        figure: Callable[[Trials], float] = lambda trials: trials.median,
        threads: Sequence[int] = (1, SLOTS),
    ) -> None:
        """Add the GAP Benchmark Suite, once for each number of threads."""
        gap = bench.gap(program)
        if gap is None:
            return
        for number in dict.fromkeys(threads):

            def run(item: Any, number: int = number) -> tuple[float, float]:
                trials = gap.run(program, files.serialized, number, *options(item))
                return figure(trials), math.nan

            self.enter(f"GAPBS {number} thread{'s' * (number > 1)}", run)

    def hold(self) -> dict[str, list[float]]:
        """Let all do everything, once, and return their seconds."""
        if self._samples:
            return self._samples
        for entrant in self._entrants.values():
            entrant(self.items[0])
        names = list(self._entrants)
        self._samples = {name: [] for name in names}
        self._answers = {name: [] for name in names}
        for turn, item in enumerate(self.items):
            first = turn % len(names)
            for name in names[first:] + names[:first]:
                seconds, answer = self._entrants[name](item)
                self._samples[name].append(seconds)
                self._answers[name].append(answer)
        return self._samples

    def medians(self) -> dict[str, float]:
        """Return the median of each contender's seconds."""
        return medians(self.hold())

    def disagreements(self, ours: str = OURS) -> list[str]:
        """Return a line for each contender whose answer differs from ours somewhere."""
        self.hold()
        lines = []
        for name, answers in self._answers.items():
            for item, own, other in zip(self.items, self._answers[ours], answers, strict=True):
                if math.isfinite(other) and not math.isclose(
                    own, other, rel_tol=self.tolerance
                ):
                    lines.append(f"{name} disagrees: item {item}: {other:g}, {ours} {own:g}")
                    break
        return lines

    def row(self, case: str, what: str, ours: str = OURS, **fields: Any) -> Row:
        """Return the outcome as a row; `fields` are those of `Row`: against, target, notes."""
        figures = self.medians()
        disagreements = self.disagreements(ours)
        notes = [*fields.pop("notes", []), *disagreements]
        own = figures.pop(ours)
        return Row(case, what, own, figures, notes=notes, samples=self.hold(), **fields)
