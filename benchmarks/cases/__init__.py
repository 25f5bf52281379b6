"""The cases: one file each, with ``run(bench)``, which yields rows."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterator

from benchmarks.bench import Bench
from benchmarks.row import Row

__all__ = ["CASES", "load"]

#: Name on the command line -> module. In the order in which they run: what needs the room of
#: the whole machine comes last.
CASES = {
    "bfs": "bfs",
    "cc": "components",
    "pagerank": "pagerank",
    "betweenness": "betweenness",
    "cdlp": "cdlp",
    "lcc": "clustering",
    "sssp": "sssp",
    "grid": "grid",
    "processes": "processes",
    "latency": "latency",
    "recipe": "recipe",
    "build": "build",
    "strings": "strings",
    "graph500": "graph500",
    "memory": "memory",
    "placement": "placement",
    "rhizomes": "rhizomes",
    "slots": "slots",
}


def load(name: str) -> Callable[[Bench], Iterator[Row]]:
    """Return the function that runs a case.

    >>> load("bfs").__module__
    'benchmarks.cases.bfs'
    """
    run: Callable[[Bench], Iterator[Row]] = importlib.import_module(
        f"benchmarks.cases.{CASES[name]}"
    ).run
    return run
