"""What is recorded of buffers, put together over the processes of a run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dgraph.exchange.buffers import Pool

__all__ = [
    "BUFFERS",
    "WIDTH",
    "as_columns",
    "by_level",
    "by_step",
    "named",
    "shown",
    "taken",
    "total",
]

Table = NDArray[np.float64]

#: Counts, seconds, and the most bytes that a worker held: the fields of a Tally.
BUFFERS = ("switches", "expansions", "stalls", "stalled_seconds", "peak_bytes")

#: Instead of a level: all of them.
ALL = -1

#: A row: which superstep, which level, and the figures.
WIDTH = 2 + len(BUFFERS)


def taken(pool: Pool, step: int) -> list[float]:
    """Return rows, one after another, of what was counted since the last time.

    Examples
    --------
    >>> pool = Pool()
    >>> pool.stalls = 2
    >>> taken(pool, 7)
    [7, -1, 0, 0, 2, 0.0, 0]
    """
    found: list[float] = [step, ALL, *pool.take()]
    for level, counts in pool.levels.items():
        tally = counts.take()
        if any(tally):
            found += [step, level, *tally]
    return found


def by_step(tables: Sequence[Table], steps: int, level: int = ALL) -> Table:
    """Return a row for every superstep: sums over the processes, and the largest peak.

    Parameters
    ----------
    tables : sequence of float64 arrays of shape (some, 7)
        For each process rows with a superstep, a level and a tally; there may be several.
    steps : int
    level : int
        Of the buffers; default: of all.

    Examples
    --------
    >>> one = np.array([[1, -1, 2, 0, 0, 0, 90.0], [1, 2, 2, 0, 0, 0, 90.0]])
    >>> other = np.array([[1, -1, 1, 0, 3, 0.5, 70]])
    >>> by_step([one, other], 2)[1].tolist()
    [3.0, 0.0, 3.0, 0.5, 90.0]
    >>> by_step([one, other], 2, level=2)[1].tolist()
    [2.0, 0.0, 0.0, 0.0, 90.0]
    """
    rows = np.zeros((steps, len(BUFFERS)))
    for table in tables:
        for step, _, *sums, peak in table[table[:, 1] == level]:
            rows[int(step), :-1] += sums
            rows[int(step), -1] = max(rows[int(step), -1], peak)
    return rows


def by_level(tables: Sequence[Table], steps: int, levels: int) -> dict[str, dict[int, float]]:
    """Return, for each figure, what the buffers did in the whole run by level.

    Examples
    --------
    >>> by_level([np.array([[0, 1, 2, 0, 0, 0, 90.0]])], 1, 2)["switches"]
    {0: 0, 1: 2}
    """
    found = [total(by_step(tables, steps, level)) for level in range(levels)]
    return {name: {level: some[name] for level, some in enumerate(found)} for name in BUFFERS}


def shown(figures: Mapping[str, Mapping[int, float]]) -> dict[str, Mapping[int, float]]:
    """Return what a table of a run shows of figures by level: those that are not all 0.

    Examples
    --------
    >>> shown({"stalls": {0: 0, 1: 2}, "switches": {0: 0, 1: 0}})
    {'buffers: stalls by level': {0: 0, 1: 2}}
    """
    names = [name for name, some in figures.items() if any(some.values())]
    return {f"buffers: {name} by level": figures[name] for name in names}


def named(names: Sequence[str], table: Any) -> dict[str, dict[int, int]]:
    """Return the rows of a table of counts by level, by their names.

    Examples
    --------
    >>> named(("frames", "bytes"), np.array([[1, 2], [8, 16]]))
    {'frames': {0: 1, 1: 2}, 'bytes': {0: 8, 1: 16}}
    """
    rows = zip(names, np.asarray(table).tolist(), strict=True)
    return {name: dict(enumerate(row)) for name, row in rows}


def as_columns(tables: Sequence[Table], steps: int, levels: int) -> dict[str, NDArray[Any]]:
    """Return columns with an entry for every superstep, of all levels and of each.

    Examples
    --------
    >>> found = as_columns([np.array([[0, 1, 2, 0, 0, 0, 90.0]])], 1, 2)
    >>> found["stalls"], found["switches_0"], found["switches_1"]
    (array([0]), array([0]), array([2]))
    """
    found: dict[str, NDArray[Any]] = {}
    for level in (ALL, *range(levels)):
        end = "" if level == ALL else f"_{level}"
        for name, column in zip(BUFFERS, by_step(tables, steps, level).T, strict=True):
            whole = name != "stalled_seconds"  # the others are counts
            found[name + end] = column.astype(np.int64) if whole else column
    return found


def total(rows: Table) -> dict[str, float]:
    """Return what the buffers did in the whole run; counts are whole numbers.

    Examples
    --------
    >>> total(np.array([[1, 0, 2, 0.5, 100], [3, 0, 0, 0.25, 70]]))
    {'switches': 4, 'expansions': 0, 'stalls': 2, 'stalled_seconds': 0.75, 'peak_bytes': 100}
    """
    figures = [*rows[:, :-1].sum(axis=0).tolist(), float(rows[:, -1].max(initial=0))]
    return {
        name: some if name == "stalled_seconds" else int(some)
        for name, some in zip(BUFFERS, figures, strict=True)
    }
