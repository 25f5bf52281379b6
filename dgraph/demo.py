"""Three algorithms on two graphs, with times: ``python -m dgraph.demo``, or ``make demo``."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator
from time import perf_counter
from typing import Any

import networkx as nx

import dgraph as dg
from dgraph.plurals import counted

__all__ = ["main"]


def main(scale: int = 16) -> None:
    """Run the demonstration on an embedded cluster.

    Parameters
    ----------
    scale : int
        The generated graph has up to ``2**scale`` vertices and 16 times as many edges.
    """
    print(
        "The first run on a machine compiles the kernels; later runs like it find them cached."
    )
    show("Zachary's karate club", nx.karate_club_graph())
    show(f"A Kronecker graph of scale {scale}", dg.generate.kronecker(scale))


def show(title: str, edges: Any) -> None:
    """Build a graph, run the algorithms on it and print what they find."""
    began = perf_counter()
    with dg.from_edges(edges) as graph:
        built = perf_counter() - began
        sizes = counted(graph.num_vertices, "vertex"), counted(graph.num_edges, "edge")
        print(f"\n{title}: {', '.join(sizes)},")
        print(f"in memory on {counted(graph.slots, 'slot')} after {built:.2f} s")

        top = timed(graph, "pagerank", dg.pagerank).nlargest(5, "rank")
        listed(top["rank"], top["vertex"], "rank {:.5f}: vertex {}")

        distances = timed(graph, "bfs", dg.bfs, top["vertex"].iloc[0])["distance"]
        levels = distances.value_counts().sort_index()
        listed(levels.index, vertices(levels), "distance {}: {}")

        components = timed(graph, "connected_components", dg.connected_components)
        sizes = components["component"].value_counts().value_counts()
        sizes = sizes.sort_index(ascending=False).head(5)
        counts = (counted(count, "component") for count in sizes)
        listed(counts, vertices(sizes.index), "{} of {}")


def timed(graph: Any, name: str, algorithm: Callable[..., Any], *arguments: Any) -> Any:
    """Call an algorithm twice, print the times of both calls, and return its result."""
    seconds = []
    for _ in range(2):
        began = perf_counter()
        result = algorithm(graph, *arguments)
        seconds.append(perf_counter() - began)
    run = graph.runs[-1]
    call = f"{name}({', '.join(['g', *map(str, arguments)])})"
    print(f"  {call:<24} first call {seconds[0]:.3f} s, second {seconds[1]:.3f} s,", end=" ")
    print(f"of which {counted(run.supersteps, 'superstep')} {run.seconds * 1000:.2f} ms")
    return result.compute()


def vertices(counts: Iterable[int]) -> Iterator[str]:
    """Put each number before the noun."""
    return (counted(count, "vertex") for count in counts)


def listed(firsts: Iterable[Any], seconds: Iterable[Any], form: str) -> None:
    """Print pairs of values, each on a line."""
    for first, second in zip(firsts, seconds, strict=True):
        print(f"      {form.format(first, second)}")


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
