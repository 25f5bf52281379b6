"""dgraph's side of a contest: a resident graph, and what its runs took."""

from __future__ import annotations

import math
import statistics
from collections import defaultdict
from dataclasses import dataclass, field
from typing import Any, Self

from distributed import Client

import dgraph as dg
from benchmarks.graphs import EdgeFiles
from benchmarks.rivals.gap import TRIALS
from benchmarks.timing import timed

__all__ = ["ANSWERS", "Ours"]

#: One number per result, to hold against the rivals' (see `benchmarks.rivals`).
ANSWERS = {
    "bfs": lambda frame: float(frame["distance"].count()),
    "connected_components": lambda frame: float(frame["component"].nunique()),
    "pagerank": lambda frame: float(frame["rank"].max()),
    # over the vertices reached: integers, so the sum is exact in any order
    "sssp": lambda frame: float((frame["distance"][frame["distance"] < math.inf] + 1).sum()),
    "betweenness_centrality": lambda frame: float(frame["betweenness"].max()),
    "cdlp": lambda frame: float(frame["label"].nunique()),
    "local_clustering": lambda frame: float(frame["clustering"].mean()),
    "triangles": lambda frame: float(frame["triangles"].sum() / 3),
}


@dataclass
class Ours:
    """A graph of dgraph and the client it lives with.

    Parameters
    ----------
    graph : dgraph.Graph
    client : distributed.Client
    seconds : float
        What reading and building took.
    log : dict of str to list of float
        Of all calls so far: "kernel" (``runs[-1].seconds``), "launch", "output", "whole"
        (wall time of the call), "supersteps", "validation".
    """

    graph: Any
    client: Client
    seconds: float
    log: dict[str, list[float]] = field(default_factory=lambda: defaultdict(list))

    @classmethod
    def build(cls, path: str, client: Client, **options: Any) -> Self:
        """Read edges and build their graph."""

        def build() -> Any:
            return dg.from_edges(dg.read_edges(path), client=client, **options)

        with client.as_current():
            seconds, graph = timed(build)
        return cls(graph, client, seconds)

    def call(self, algorithm: str, **options: Any) -> Any:
        """Run an algorithm, note what it took, and return its result."""
        with self.client.as_current():
            whole, result = timed(getattr(dg, algorithm), self.graph, **options)
        record = self.graph.runs[-1]
        self.log["whole"].append(whole)
        self.log["kernel"].append(record.seconds)
        self.log["launch"].append(record.launch_seconds)
        self.log["output"].append(record.output_seconds)
        self.log["supersteps"].append(record.supersteps)
        return result

    def kernel(self, algorithm: str, **options: Any) -> tuple[float, float]:
        """Run an algorithm: seconds of its supersteps, and the number of the answer.

        As many runs in succession as GAPBS does in one process, and their median.
        """
        for _ in range(TRIALS):
            result = self.call(algorithm, **options)
        seconds, answer = timed(lambda: ANSWERS[algorithm](self.compute(result)))
        self.log["validation"].append(seconds)
        return statistics.median(self.log["kernel"][-TRIALS:]), answer

    def phases(self, files: EdgeFiles) -> dict[str, float]:
        """Return the seconds around the kernel; validation: fetching and checking a result."""
        checks = self.log["validation"]
        return files.phases.seconds | {
            "ingest": self.seconds,
            "validation": statistics.median(checks) if checks else 0.0,
        }

    def compute(self, result: Any) -> Any:
        """Return a result as a pandas DataFrame."""
        with self.client.as_current():
            return result.compute()

    def close(self) -> None:
        """Free the graph."""
        self.graph.close()

    def __enter__(self) -> Self:
        """Return itself."""
        return self

    def __exit__(self, *error: object) -> None:
        """Free the graph."""
        self.close()
