"""What a run of the benchmark gives: the official block, a table for people, a dict.

The names, their sequence and what they mean are those of the reference implementation [1]_.
TEPS are traversed edges per second; their mean is harmonic, and its standard deviation is
Norris's [2]_.

References
----------
.. [1] https://github.com/graph500/graph500, version 3
.. [2] N. Norris: The standard errors of the geometric and harmonic means and their application
   to index numbers, Annals of Mathematical Statistics 11 (1940), doi:10.1214/aoms/1177731830
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from html import escape
from typing import Any

import numpy as np
import pandas as pd
from dask.utils import format_bytes

from dgraph.graph500.validate import Validation
from dgraph.plurals import counted

__all__ = ["Report", "Search", "Statistics"]

INVALID = "No results printed for invalid run."

#: The figure that counts; the reference marks it.
SCORE = "harmonic_mean_TEPS"


@dataclass(frozen=True, slots=True)
class Search:
    """One timed search.

    Parameters
    ----------
    key : int
        The vertex that it began from.
    seconds : float
        Wall time of the supersteps and of making the result in the numbers of the edge list.
    edges : int
        Traversed input tuples.
    supersteps : int
    validation : Validation or None
        None: it was not asked for.
    validate_seconds : float
        -1 without validation.
    """

    key: int
    seconds: float
    edges: int
    supersteps: int
    validation: Validation | None = None
    validate_seconds: float = -1.0

    @property
    def teps(self) -> float:
        """Traversed edges per second."""
        return self.edges / self.seconds


@dataclass(frozen=True, slots=True)
class Statistics:
    """Order statistics, mean and standard deviation of a sample, as Graph500 defines them.

    Examples
    --------
    >>> Statistics.of([4, 1, 3, 2])
    Statistics(min=1.0, firstquartile=1.5, median=2.5, thirdquartile=3.5, max=4.0, mean=2.5, \
stddev=1.2909944487358056)
    """

    min: float
    firstquartile: float
    median: float
    thirdquartile: float
    max: float
    mean: float
    stddev: float

    @classmethod
    def of(cls, sample: Sequence[float]) -> Statistics:
        """Describe a sample of at least one number; the deviation of one number is NaN."""
        values = np.asarray(sample, np.float64)
        # between two numbers, where a quartile falls there: their mean
        cuts = np.quantile(values, [0, 0.25, 0.5, 0.75, 1], method="averaged_inverted_cdf")
        stddev = values.std(ddof=1) if values.size > 1 else np.nan
        low, first, median, third, high = cuts.tolist()
        return cls(low, first, median, third, high, float(values.mean()), float(stddev))

    @classmethod
    def of_rates(cls, searches: Sequence[Search]) -> Statistics:
        """Describe TEPS: the order statistics, the harmonic mean and its deviation.

        Examples
        --------
        >>> fast, slow = Search(0, 1.0, 6, 1), Search(1, 1.0, 3, 1)
        >>> Statistics.of_rates([fast, slow]).mean
        4.0
        """
        # seconds for an edge: the fastest search has the least
        pace = cls.of([search.seconds / search.edges for search in searches])
        roots = len(searches)
        stddev = pace.stddev / (pace.mean**2 * np.sqrt(roots - 1)) if roots > 1 else np.nan
        return cls(
            1 / pace.max,
            1 / pace.thirdquartile,
            1 / pace.median,
            1 / pace.firstquartile,
            1 / pace.min,
            1 / pace.mean,
            float(stddev),
        )

    def items(self) -> Iterator[tuple[str, float]]:
        """Yield names and values, in the official sequence."""
        for name in self.__slots__:
            yield name, getattr(self, name)


@dataclass(frozen=True)
class Report:
    """The results of a run of the benchmark.

    ``print(report)`` shows the official block; a notebook shows a table.

    Parameters
    ----------
    scale, edgefactor, seed : int
    slots : int
    num_vertices, num_edges : int
        Of the graph that kernel 1 made: no isolated vertices, parallel tuples merged.
    generation_seconds : float
        To generate all tuples once, as the slots do for validation.
    construction_seconds : float
        Of kernel 1, in which the tuples are generated once more, and of what kernels 2 and 3
        prepare for all their searches.
    bfs, sssp : tuple of Search
        Kernels 2 and 3. They end with the first search whose result is not valid.
    peak_memory : int
        Bytes: the most that each process of workers and client has ever had, added up.
    """

    scale: int
    edgefactor: int
    seed: int
    slots: int
    num_vertices: int
    num_edges: int
    generation_seconds: float
    construction_seconds: float
    bfs: tuple[Search, ...]
    sssp: tuple[Search, ...]
    peak_memory: int

    @property
    def kernels(self) -> dict[str, tuple[Search, ...]]:
        """The searches, by the kernels that ran."""
        return {"bfs": self.bfs} | ({"sssp": self.sssp} if self.sssp else {})

    @property
    def failures(self) -> list[Validation]:
        """The validations that failed."""
        checks = [search.validation for some in self.kernels.values() for search in some]
        return [check for check in checks if check is not None and not check]

    @property
    def valid(self) -> bool:
        """Whether no validation has failed."""
        return not self.failures

    def __str__(self) -> str:
        """Return the official block and the peak memory, or that the run is invalid."""
        if not self.valid:
            return INVALID
        return "\n".join(_line(name, value) for name, value in self._lines())

    def _lines(self) -> Iterator[tuple[str, str]]:
        yield "SCALE", str(self.scale)
        yield "edgefactor", str(self.edgefactor)
        yield "NBFS", str(len(self.bfs))
        yield "graph_generation", f"{self.generation_seconds:g}"
        yield "num_mpi_processes", str(self.slots)
        yield "construction_time", f"{self.construction_seconds:g}"
        for kernel, searches in self.kernels.items():
            sample = Statistics.of([search.seconds for search in searches])
            yield from _block(sample, kernel, "time")
        edges = Statistics.of([search.edges for search in self.bfs])
        yield from ((f"{name}_nedge", f"{value:.11g}") for name, value in edges.items())
        for kernel, searches in self.kernels.items():
            yield from _rates(Statistics.of_rates(searches), kernel)
        for kernel, searches in self.kernels.items():
            sample = Statistics.of([search.validate_seconds for search in searches])
            yield from _block(sample, kernel, "validate")
        yield "peak_memory_bytes", str(self.peak_memory)

    def summary(self) -> pd.DataFrame:
        """Return a row for each kernel, for people.

        Columns: kernel, searches, median_seconds, harmonic_mean_TEPS, min_TEPS, max_TEPS,
        supersteps (median), validation_seconds (median), valid.
        """
        return pd.DataFrame([_row(name, some) for name, some in self.kernels.items()])

    def to_frame(self) -> pd.DataFrame:
        """Return a row for each search.

        Columns: kernel, key, seconds, edges, TEPS, supersteps, validate_seconds, valid.
        """
        return pd.DataFrame(
            [
                {
                    "kernel": kernel,
                    "key": search.key,
                    "seconds": search.seconds,
                    "edges": search.edges,
                    "TEPS": search.teps,
                    "supersteps": search.supersteps,
                    "validate_seconds": search.validate_seconds,
                    "valid": None if search.validation is None else search.validation.valid,
                }
                for kernel, searches in self.kernels.items()
                for search in searches
            ]
        )

    def to_dict(self) -> dict[str, Any]:
        """Return everything as numbers, strings, lists and dicts, ready for JSON."""
        return {
            "scale": self.scale,
            "edgefactor": self.edgefactor,
            "seed": self.seed,
            "slots": self.slots,
            "num_vertices": self.num_vertices,
            "num_edges": self.num_edges,
            "generation_seconds": self.generation_seconds,
            "construction_seconds": self.construction_seconds,
            "peak_memory_bytes": self.peak_memory,
            "valid": self.valid,
            "failures": [str(failure) for failure in self.failures],
            "kernels": self._statistics() if self.valid else {},
            "searches": self.to_frame().to_dict("records"),
        }

    def _statistics(self) -> dict[str, Any]:
        return {
            kernel: {
                "TEPS": _plain(Statistics.of_rates(searches)),
                "seconds": _plain(Statistics.of([search.seconds for search in searches])),
            }
            for kernel, searches in self.kernels.items()
        }

    def table(self) -> str:
        """Return the summary as text."""
        if not self.valid:
            return INVALID
        rows = self.summary().to_string(index=False, float_format="{:.4g}".format)
        return f"{self._title()}\n{rows}"

    def _title(self) -> str:
        return (
            f"Graph500, scale {self.scale}, edge factor {self.edgefactor}: "
            f"{counted(self.num_vertices, 'vertex')}, {counted(self.num_edges, 'edge')} on "
            f"{counted(self.slots, 'slot')}; "
            f"construction {self.construction_seconds:.4g} s, "
            f"peak memory {format_bytes(self.peak_memory)}"
        )

    def _repr_html_(self) -> str:
        if not self.valid:
            return f"<p>{INVALID} {escape('; '.join(map(str, self.failures)))}</p>"
        rows = self.summary().to_html(index=False, float_format="{:.4g}".format)
        return f"<p>{self._title()}</p>{rows}"


def _block(sample: Statistics, kernel: str, what: str) -> Iterator[tuple[str, str]]:
    for name, value in sample.items():
        yield f"{kernel:<4} {name}_{what}", f"{value:g}"


def _rates(rates: Statistics, kernel: str) -> Iterator[tuple[str, str]]:
    harmonic = {"mean": "harmonic_mean", "stddev": "harmonic_stddev"}
    for name, value in rates.items():
        yield f"{kernel:<4} {harmonic.get(name, name)}_TEPS", f"{value:g}"


def _line(name: str, value: str) -> str:
    """Return a line of the official block.

    Examples
    --------
    >>> _line("SCALE", "20"), _line("bfs  harmonic_mean_TEPS", "3.5e+07")
    ('SCALE:                          20', 'bfs  harmonic_mean_TEPS:     !  3.5e+07')
    """
    return f"{name + ':':<29}{'!' if name.endswith(SCORE) else ' '}  {value}"


def _row(kernel: str, searches: Sequence[Search]) -> dict[str, Any]:
    rates = Statistics.of_rates(searches)
    checks = [search.validation for search in searches]
    return {
        "kernel": kernel,
        "searches": len(searches),
        "median_seconds": float(np.median([search.seconds for search in searches])),
        "harmonic_mean_TEPS": rates.mean,
        "min_TEPS": rates.min,
        "max_TEPS": rates.max,
        "supersteps": float(np.median([search.supersteps for search in searches])),
        "validation_seconds": float(np.median([each.validate_seconds for each in searches])),
        "valid": "not checked" if None in checks else str(all(checks)).lower(),
    }


def _plain(statistics: Statistics) -> dict[str, float | None]:
    """Return a dict in which None stands for what JSON cannot hold.

    Examples
    --------
    >>> _plain(Statistics.of([2]))["mean"], _plain(Statistics.of([2]))["stddev"]
    (2.0, None)
    """
    return {name: value if np.isfinite(value) else None for name, value in statistics.items()}
