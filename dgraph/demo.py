"""Three algorithms on two graphs, with times: ``python -m dgraph.demo``, or ``make demo``."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator
from time import perf_counter
from typing import Any

import dask
import networkx as nx
from distributed import Client

import dgraph as dg
from dgraph.clients import find_client
from dgraph.engine.compiling import seconds_compiled
from dgraph.engine.members import find_members
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
        "The first call on a machine compiles kernels, which can take a minute; lines say for\n"
        "how long. Later ones find them cached. A call sends tasks to the workers, these do\n"
        "supersteps and make columns, and the rest of it makes a Dask DataFrame of them."
    )
    with dask.config.set({"dgraph.progress": False}):  # which would say so, too
        show("Zachary's karate club", nx.karate_club_graph())
        show(f"A Kronecker graph of scale {scale}", dg.generate.kronecker(scale))


def show(title: str, edges: Any) -> None:
    """Build a graph, run the algorithms on it and print what they find."""
    print(f"\n{title}:", end=" ", flush=True)
    client = find_client()
    client.sync(find_members, client)  # so that workers can be asked what they compile
    graph, built = timed(client, dg.from_edges, edges)
    with graph:
        sizes = counted(graph.num_vertices, "vertex"), counted(graph.num_edges, "edge")
        print(f"{', '.join(sizes)},")
        print(f"in memory on {counted(graph.slots, 'slot')} after {built}")

        top = twice(client, "pagerank", dg.pagerank, graph).nlargest(5, "rank")
        listed(top["rank"], top["vertex"], "rank {:.5f}: vertex {}")

        distances = twice(client, "bfs", dg.bfs, graph, top["vertex"].iloc[0])["distance"]
        levels = distances.value_counts().sort_index()
        listed(levels.index, vertices(levels), "distance {}: {}")

        components = twice(client, "connected_components", dg.connected_components, graph)
        sizes = components["component"].value_counts().value_counts()
        sizes = sizes.sort_index(ascending=False).head(5)
        counts = (counted(count, "component") for count in sizes)
        listed(counts, vertices(sizes.index), "{} of {}")


def twice(
    client: Client, name: str, algorithm: Callable[..., Any], graph: Any, *arguments: Any
) -> Any:
    """Call an algorithm twice, print what both calls took, and return its result."""
    call = f"{name}({', '.join(['g', *map(str, arguments)])})"
    print(f"  {call:<24} first call", end=" ", flush=True)
    _, first = timed(client, algorithm, graph, *arguments)
    print(first)
    result, second = timed(client, algorithm, graph, *arguments)
    run = graph.runs[-1]
    parts = {
        counted(run.supersteps, "superstep"): run.seconds,
        "sending tasks": run.launch_seconds,
        "columns": run.output_seconds,
    }
    told = ", ".join(f"{what} {1000 * seconds:.2f} ms" for what, seconds in parts.items())
    print(f"  {'':<24} second {second}: {told}")
    return result.compute()


def timed(client: Client, function: Callable[..., Any], *arguments: Any) -> tuple[Any, str]:
    """Call a function; return its result, and in words how long it took and compiled."""
    before = client.sync(seconds_compiled, client)
    began = perf_counter()
    result = function(*arguments)
    seconds = perf_counter() - began
    compiled = client.sync(seconds_compiled, client) - before
    words = f"{seconds:.3f} s"
    return result, f"{words} ({compiled:.1f} s of it compiling)" if compiled > 0.05 else words


def vertices(counts: Iterable[int]) -> Iterator[str]:
    """Put each number before the noun."""
    return (counted(count, "vertex") for count in counts)


def listed(firsts: Iterable[Any], seconds: Iterable[Any], form: str) -> None:
    """Print pairs of values, each on a line."""
    for first, second in zip(firsts, seconds, strict=True):
        print(f"      {form.format(first, second)}")


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
