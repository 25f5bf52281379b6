"""Peak memory while building, and what is left after closing."""

from __future__ import annotations

from collections.abc import Iterator

from benchmarks.bench import SLOTS, Bench
from benchmarks.memory import probe
from benchmarks.row import Row

#: The peak may be this many times the finished shards, plus the partitions in hand.
TIMES = 3


def run(bench: Bench) -> Iterator[Row]:
    """Build in a process of its own and watch its resident memory."""
    files = bench.kronecker()
    seen = probe(files.parquet, files.vertices if not files.compact else 0, SLOTS)
    allowed = TIMES * seen.shards + seen.in_hand
    bases = {f"{TIMES} x shards + partitions": allowed, "shards": seen.shards}
    yield Row(
        "memory",
        f"{files.name}, peak while building above before",
        seen.peak - seen.before,
        bases,
        against=f"{TIMES} x shards",
        target=1.0,
        unit="B",
        notes=[f"{(seen.peak - seen.before) / seen.shards:.2f} x the finished shards"],
    )
    yield Row(
        "memory",
        f"{files.name}, resident after close() above before",
        seen.closed - seen.before,
        {"with the graph": seen.built - seen.before, "shards": seen.shards},
        unit="B",
    )
