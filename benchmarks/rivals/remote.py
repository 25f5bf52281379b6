"""The end of a rival's process that gives the orders."""

from __future__ import annotations

import importlib.util
import json
import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

__all__ = ["Remote", "Reply", "missing"]

#: The library each rival needs.
LIBRARIES = {
    "scipy": "scipy",
    "igraph": "igraph",
    "networkit": "networkit",
    "graphblas": "graphblas",
}


def missing(rival: str) -> str | None:
    """Return why a rival cannot run, or None.

    >>> missing("scipy") is None
    True
    """
    library = LIBRARIES[rival]
    if importlib.util.find_spec(library) is not None:
        return None
    return f"{rival} is skipped: {library} is not installed (pip install 'dask-dgraph[bench]')"


@dataclass(frozen=True)
class Reply:
    """What a kernel took, and the number that tells whether its result agrees with ours."""

    seconds: float
    answer: float
    rss: float


class Remote:
    """A rival in a process of its own, with its graph in memory.

    Parameters
    ----------
    name : str
        Its module in `benchmarks.rivals`, without the ending ``_rival``.
    threads : int
        How many it may use, if it can use several.
    """

    def __init__(self, name: str, threads: int) -> None:
        self.name = name
        environment = os.environ | {
            "OMP_NUM_THREADS": str(threads),
            "OMP_WAIT_POLICY": "passive",  # its idle threads must not spin beside the others
            "PYTHONPATH": os.pathsep.join(filter(None, sys.path)),
        }
        self._process = subprocess.Popen(
            [sys.executable, "-m", "benchmarks.rivals.worker", f"{name}_rival"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env=environment,
            cwd=Path(__file__).parents[2],
        )

    def build(self, path: str, vertices: int) -> dict[str, float]:
        """Read the edges and build the graph: seconds of "reading" and of "seconds"."""
        return self._ask("build", path, vertices)

    def run(self, kernel: str, **options: Any) -> Reply:
        """Run a kernel on the graph built last."""
        return Reply(**self._ask("kernel", kernel, options))

    def _ask(self, do: str, *arguments: Any) -> dict[str, float]:
        requests, replies = self._process.stdin, self._process.stdout
        assert requests is not None
        assert replies is not None
        requests.write(json.dumps({"do": do, "arguments": arguments}) + "\n")
        requests.flush()
        line = replies.readline()
        reply: dict[str, Any] = json.loads(line) if line else {"error": "its process ended"}
        if "error" in reply:
            raise RuntimeError(f"{self.name}, asked to {do} {arguments}: {reply['error']}")
        return reply

    def close(self) -> None:
        """End the process; it ends by itself when no orders can come any more."""
        if self._process.poll() is None:
            self._process.communicate()

    def __enter__(self) -> Self:
        """Return itself."""
        return self

    def __exit__(self, *error: object) -> None:
        """End the process."""
        self.close()
