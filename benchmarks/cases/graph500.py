"""The Graph500 benchmark: seconds per traversed edge, the inverse of the harmonic-mean TEPS.

All results are validated. The reference is the C program with MPI on 2 ranks; it does not take
part, its figures were measured on the machine that the targets speak of, with nothing else
running.
"""

from __future__ import annotations

import statistics
from collections.abc import Iterator

import dgraph as dg
from benchmarks.bench import SLOTS, Bench
from benchmarks.row import Row

#: Search keys for each source of the settings: 64 if those are not changed.
KEYS = 4

#: Scale -> TEPS of the reference by kernel.
REFERENCE = {18: {"bfs": 6.1e7, "sssp": 2.3e7}, 20: {"bfs": 3.6e7, "sssp": 1.5e7}}

#: How many times the TEPS of the reference there must be.
TIMES = {"bfs": 20, "sssp": 5}


def run(bench: Bench) -> Iterator[Row]:
    """Run it once, both kernels."""
    scale, client = bench.settings.scale, bench.embedded()
    with client.as_current():
        report = dg.graph500.run(
            scale, roots=KEYS * bench.settings.sources, sssp=True, slots=SLOTS, client=client
        )
    if not report.valid:
        raise RuntimeError(f"a result broke a rule: {report.failures[0]}")
    stated = min(REFERENCE, key=lambda known: abs(known - scale))
    for kernel, searches in report.kernels.items():
        pace = [search.seconds / search.edges for search in searches]
        teps = 1 / statistics.mean(pace)
        reference = REFERENCE[stated][kernel]
        yield Row(
            "graph500",
            f"scale {scale}, {kernel}, mean of {len(pace)} keys, per traversed edge",
            1 / teps,
            {f"C/MPI reference, scale {stated}": 1 / reference},
            "C/MPI reference",
            1 / TIMES[kernel],
            notes=[
                f"harmonic mean {teps:.3g} TEPS, {teps / reference:.3g} times the reference",
                f"of each search's own: median {1 / statistics.median(pace):.3g}, "
                f"most {1 / min(pace):.3g}",
            ],
            phases={
                "generation": report.generation_seconds,
                "construction": report.construction_seconds,
                "validation": sum(search.validate_seconds for search in searches),
            },
            samples={"per edge": pace},
        )
