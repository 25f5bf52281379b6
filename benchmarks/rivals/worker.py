"""The process a rival runs in: requests come as lines of JSON, replies go back the same way.

Usage: ``python -m benchmarks.rivals.worker MODULE``
"""

from __future__ import annotations

import gc
import importlib
import json
import os
import sys
from typing import Any, TextIO

import psutil

from benchmarks.edges import read, read_weights
from benchmarks.timing import timed

__all__ = ["main"]


class Rival:
    """A rival's module and the graph it built last."""

    def __init__(self, module: str) -> None:
        self.module: Any = importlib.import_module(f"benchmarks.rivals.{module}")
        self.graph: Any = None

    def build(self, path: str, vertices: int) -> dict[str, float]:
        """Read the edges, then build the graph; the two are timed apart."""
        self.graph = None
        gc.collect()
        reading, (source, target) = timed(read, path)
        weights = read_weights(path)
        more = () if weights is None else (weights,)
        seconds, self.graph = timed(self.module.build, source, target, vertices, *more)
        return {"reading": reading, "seconds": seconds}

    def kernel(self, name: str, options: dict[str, Any]) -> dict[str, float]:
        """Run a kernel and reduce what it returned to one number."""
        seconds, result = timed(getattr(self.module, name), self.graph, **options)
        answer = getattr(self.module, f"{name}_answer")(result)
        rss = psutil.Process().memory_info().rss
        return {"seconds": seconds, "answer": float(answer), "rss": float(rss)}


def main(module: str, requests: TextIO, replies: TextIO) -> None:
    """Answer requests until the parent closes the pipe."""
    rival = Rival(module)
    for line in requests:
        request = json.loads(line)
        try:
            reply = getattr(rival, request["do"])(*request["arguments"])
        except Exception as error:
            reply = {"error": f"{type(error).__name__}: {error}"}
        replies.write(json.dumps(reply) + "\n")
        replies.flush()


if __name__ == "__main__":
    # Libraries print; only replies may go where the parent reads.
    answers = os.fdopen(os.dup(sys.stdout.fileno()), "w")
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())
    main(sys.argv[1], sys.stdin, answers)
