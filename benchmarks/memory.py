"""Peak memory of a build: a child process builds, this one samples its resident memory.

The child has an embedded cluster, so all of it is in one process, and builds a small graph
first: compiled kernels and imported libraries do not count.

Usage of the child: ``python -m benchmarks.memory PATH VERTICES SLOTS``
"""

from __future__ import annotations

import gc
import json
import subprocess
import sys
import threading
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import psutil
import pyarrow as pa

__all__ = ["Seen", "probe"]

#: Seconds between two samples.
INTERVAL = 0.005

#: Bytes of a row of the input: two int64 ids.
ROW = 16

#: Seconds after closing until what is left is read.
SETTLE = 0.5


@dataclass(frozen=True)
class Seen:
    """Bytes, all but the last two resident memory of the child.

    Parameters
    ----------
    before, peak, built, closed : float
        Before the build; the most during it; after it; after ``close()``.
    shards : float
        What the finished shards hold.
    in_hand : float
        The input partitions that are in memory at once: one per slot.
    """

    before: float
    peak: float
    built: float
    closed: float
    shards: float
    in_hand: float


class Sampler(threading.Thread):
    """Samples the resident memory of a process until it is told to stop."""

    def __init__(self, pid: int) -> None:
        super().__init__(daemon=True)
        self.process = psutil.Process(pid)
        self.peak = 0.0
        self.over = threading.Event()

    def now(self) -> float:
        """Return the resident bytes."""
        return float(self.process.memory_info().rss)

    def run(self) -> None:
        """Keep the largest of the samples."""
        while not self.over.wait(INTERVAL):
            self.peak = max(self.peak, self.now())


def probe(path: str, vertices: int, slots: int) -> Seen:
    """Build the graph of a parquet folder in a child and watch it.

    Parameters
    ----------
    path : str
    vertices : int
        Declared ones; 0: those that have edges.
    slots : int
    """
    command = [sys.executable, "-m", "benchmarks.memory", path, str(vertices), str(slots)]
    with subprocess.Popen(
        command,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        cwd=Path(__file__).parents[1],
    ) as child:
        _step(child)
        sampler = Sampler(child.pid)
        before = sampler.now()
        sampler.start()
        found = _step(child, "build")
        sampler.over.set()
        sampler.join()
        built = sampler.now()
        _step(child, "close")
        return Seen(before, max(sampler.peak, built), built, sampler.now(), **found)


def _step(child: subprocess.Popen[str], order: str = "") -> dict[str, float]:
    """Give an order and return the reply; the first reply says that the child is ready."""
    assert child.stdin is not None
    assert child.stdout is not None
    if order:
        child.stdin.write(order + "\n")
        child.stdin.flush()
    line = child.stdout.readline()
    if not line:
        raise RuntimeError(f"the process that builds ended with code {child.wait()}")
    reply: dict[str, float] = json.loads(line)
    return reply


def _say(**values: float) -> None:
    sys.stdout.write(json.dumps(values) + "\n")
    sys.stdout.flush()


def shard_bytes(graph: Any) -> float:
    """Return what `memory_usage` says all shards of a graph hold together."""
    return float(np.sum(graph.memory_usage()))


def main(path: str, vertices: int, slots: int) -> None:
    """Be the child: get ready, build, close, each when told to."""
    from distributed import Client, LocalCluster

    import dgraph as dg

    options: dict[str, Any] = {"vertices": np.arange(vertices)} if vertices else {}
    cluster = LocalCluster(
        processes=False,
        n_workers=1,
        threads_per_worker=slots,
        memory_limit=0,
        dashboard_address="127.0.0.1:0",
    )
    with cluster, Client(cluster):
        edges = dg.read_edges(path)
        dg.from_edges(edges.partitions[0].head(1000), **options).close()
        gc.collect()
        pa.default_memory_pool().release_unused()
        _say()
        sys.stdin.readline()
        graph = dg.from_edges(edges, **options)
        gc.collect()
        partition = graph.report["rows_read"] / edges.npartitions * ROW
        _say(shards=shard_bytes(graph), in_hand=min(slots, edges.npartitions) * partition)
        sys.stdin.readline()
        graph.close()
        del graph
        gc.collect()
        time.sleep(SETTLE)
        _say()


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]))
