"""What is recorded of buffers, put together over the processes of a run."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["BUFFERS", "as_columns", "by_step", "total"]

Table = NDArray[np.float64]

#: Counts, seconds, and the most bytes that a worker held: the fields of a Tally.
BUFFERS = ("switches", "expansions", "stalls", "stalled_seconds", "peak_bytes")


def by_step(tables: Sequence[Table], steps: int) -> Table:
    """Return a row for every superstep: sums over the processes, and the largest peak.

    Parameters
    ----------
    tables : sequence of float64 arrays of shape (some, 6)
        For each process rows with a superstep and its tally; one may have several.
    steps : int

    Examples
    --------
    >>> one, other = np.array([[1, 2, 0, 0, 0, 90.0]]), np.array([[1, 1, 0, 3, 0.5, 70]])
    >>> by_step([one, other], 2)[1].tolist()
    [3.0, 0.0, 3.0, 0.5, 90.0]
    """
    rows = np.zeros((steps, len(BUFFERS)))
    for table in tables:
        for step, *sums, peak in table:
            rows[int(step), :-1] += sums
            rows[int(step), -1] = max(rows[int(step), -1], peak)
    return rows


def as_columns(rows: Table) -> dict[str, NDArray[Any]]:
    """Return a column of each figure; counts are whole numbers.

    Examples
    --------
    >>> as_columns(np.array([[1, 0, 2, 0.5, 100]]))["stalls"]
    array([2])
    """
    return {
        name: column if name == "stalled_seconds" else column.astype(np.int64)
        for name, column in zip(BUFFERS, rows.T, strict=True)
    }


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
