"""The limit of the machine: memory bandwidth, random gather, and the gather of a graph.

Kernels release the GIL and run on plain threads, as dgraph's do.
"""

from __future__ import annotations

import statistics
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

import numpy as np
from numba import njit

from benchmarks.edges import read, symmetric
from benchmarks.graphs import EdgeFiles
from benchmarks.row import Row, amount
from benchmarks.timing import timed

__all__ = ["Limits", "measure", "measure_triad", "say_least"]

#: Elements of an array of the triad: 256 MiB each, beyond every cache.
LARGE = 1 << 25


@dataclass(frozen=True)
class Limits:
    """What the machine can do.

    Parameters
    ----------
    triad : float
        Bytes per second of STREAM's triad (McCalpin, 1995), 24 bytes an element.
    random : float
        Seconds per element of a sum gathered at random from an array beyond the caches.
    gather : float
        Seconds of the sum of all vertices' neighbours: one round of PageRank without the rest.
    """

    triad: float
    random: float
    gather: float


def measure(files: EdgeFiles, threads: int, size: int = LARGE, repeat: int = 5) -> Limits:
    """Measure on so many threads; every figure is a median of `repeat` runs."""
    triad = measure_triad(files, threads, size, repeat)
    size = _size(files, size)
    values, parts = np.ones(size), np.linspace(0, size // 4, threads + 1).astype(np.int64)
    index = np.random.default_rng(1).integers(0, size, size // 4).astype(np.int32)
    random = _median(threads, repeat, lambda i: _gather(values, index, parts[i], parts[i + 1]))
    rows = heaviest_first(symmetric(*read(files.parquet), files.vertices))
    cuts = np.searchsorted(rows.indptr, np.linspace(0, rows.nnz, threads + 1))
    portions, sums = np.ones(files.vertices), np.zeros(files.vertices)
    gather = _median(
        threads,
        repeat,
        lambda i: _pull(rows.indptr, rows.indices, portions, sums, cuts[i], cuts[i + 1]),
    )
    return Limits(triad, random / len(index), gather)


def measure_triad(files: EdgeFiles, threads: int, size: int = LARGE, repeat: int = 5) -> float:
    """Return the bytes per second of the triad alone; of less memory for a small graph."""
    size = _size(files, size)
    a, b, c = (np.full(size, float(value)) for value in range(3))
    parts = np.linspace(0, size, threads + 1).astype(np.int64)
    return (
        24 * size / _median(threads, repeat, lambda i: _triad(a, b, c, parts[i], parts[i + 1]))
    )


def say_least(
    bytes_per_vertex: int, what: str, files: EdgeFiles, row: Row, triad: float
) -> None:
    """Note beside a figure how long the memory takes that cannot be spared.

    Parameters
    ----------
    bytes_per_vertex : int
    what : str
        What these bytes are.
    files : EdgeFiles
    row : Row
    triad : float
        Bytes per second.
    """
    least = bytes_per_vertex * files.vertices / triad
    row.notes.append(
        f"moves at least {bytes_per_vertex} bytes per vertex ({what}): {amount(least, 's')} at "
        f"the {amount(triad, 'B/s')} of a triad, {least / row.ours:.0%} of the figure"
    )


def _size(files: EdgeFiles, size: int) -> int:
    return min(size, max(1 << 16, 64 * files.edges))


def heaviest_first(rows: Any) -> Any:
    """Renumber the vertices of a symmetric CSR matrix by descending degree.

    >>> rows = symmetric(np.array([0, 1]), np.array([1, 2]), 3)
    >>> heaviest_first(rows).indices.tolist()
    [1, 2, 0, 0]
    """
    order = np.argsort(-np.diff(rows.indptr), kind="stable")
    renumbered = rows[order][:, order]
    renumbered.sort_indices()
    return renumbered


def _median(threads: int, repeat: int, part: Callable[[int], Any]) -> float:
    """Return the median seconds for all parts, each on its own thread; once to warm up."""
    with ThreadPoolExecutor(threads) as pool:
        runs = [
            timed(lambda: list(pool.map(part, range(threads))))[0] for _ in range(repeat + 1)
        ]
    return statistics.median(runs[1:])


@njit(nogil=True, cache=True)
def _triad(a: Any, b: Any, c: Any, start: int, stop: int) -> None:
    for i in range(start, stop):
        a[i] = b[i] + 3.0 * c[i]


@njit(nogil=True, cache=True)
def _gather(values: Any, index: Any, start: int, stop: int) -> float:
    total = 0.0
    for i in range(start, stop):
        total += values[index[i]]
    return total


@njit(nogil=True, cache=True)
def _pull(
    offsets: Any, neighbours: Any, portions: Any, sums: Any, start: int, stop: int
) -> None:
    for vertex in range(start, stop):
        total = 0.0
        for i in range(offsets[vertex], offsets[vertex + 1]):
            total += portions[neighbours[i]]
        sums[vertex] = total
