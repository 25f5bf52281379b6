"""The benchmark itself: generate, construct, search, validate, report."""

from __future__ import annotations

import os
import platform
import resource
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from time import perf_counter
from typing import Any

from distributed import Client

from dgraph.algorithms.bfs import bfs
from dgraph.algorithms.sssp import sssp
from dgraph.arguments import flag, integer
from dgraph.clients import call, find_client
from dgraph.create import from_edges
from dgraph.engine.discovery import Given
from dgraph.errors import OptionError
from dgraph.graph import Graph, home_of
from dgraph.graph500.edges import EdgeList, prepare
from dgraph.graph500.keys import draw_keys
from dgraph.graph500.report import Report, Search
from dgraph.graph500.validate import count_edges, validate_tree
from dgraph.ingest import check_slots
from dgraph.keywords import named

__all__ = ["run"]

#: Kernels 2 and 3.
KERNELS: dict[str, Callable[..., Any]] = {"bfs": bfs, "sssp": sssp}


@named
def run(
    scale: int,
    edgefactor: int = 16,
    *,
    roots: int = 64,
    seed: int = 1,
    sssp: bool = False,
    validate: bool = True,
    placement: Any = "auto",
    topology: Given = None,
    slots: int | None = None,
    virtual_slots: int | None = None,
    client: Client | None = None,
) -> Any:
    """Run the Graph500 benchmark.

    Parameters
    ----------
    scale : int
        The edge list names up to 2**scale vertices. Typically 20 to 40.
    edgefactor : int
        Edge tuples for each vertex; official results have 16.
    roots : int
        Search keys; official results have 64.
    seed : int
        Of the edge list and the keys.
    sssp : bool
        Whether to run kernel 3 after kernel 2, on a graph with weights.
    validate : bool
        Whether to hold every result against the five rules, and all tuples.
    placement, topology, slots, virtual_slots, client
        As of `dgraph.from_edges`.

    Returns
    -------
    Report
        An awaitable of it if the client is asynchronous.

    Raises
    ------
    OptionError
        If a number is out of its range.

    Notes
    -----
    Kernel 1 reads a lazy edge list: each partition is generated where it is used, within the
    time of construction. Parallel tuples are merged; a traversed edge is a tuple nevertheless.
    A kernel's time is that of its supersteps and of making parents in the numbers of the edge
    list. The first key is searched from once before; what a kernel prepares then for all its
    searches counts as construction. For each slot, memory beside the graph is 8 bytes a tuple
    of its share (12 with weights) and one result.

    References
    ----------
    Graph500 benchmark specification: https://graph500.org/?page_id=12

    Examples
    --------
    >>> report = run(8, roots=4)
    >>> report.valid, len(report.bfs)
    (True, 4)
    """
    roots = integer("roots", roots, 1)
    validate = flag("validate", validate)
    listed = EdgeList(
        integer("scale", scale, 0, 62),
        integer("edgefactor", edgefactor, 0, 2**40),
        integer("seed", seed),
        flag("sssp", sssp),
    )
    topology = check_slots(slots, virtual_slots, topology)
    edges = listed.frame()
    client = find_client(client)

    async def work() -> Report:
        began = perf_counter()
        made: Any = from_edges(
            edges,
            weight="weight" if sssp else None,
            placement=placement,
            topology=topology,
            slots=slots,
            virtual_slots=virtual_slots,
            client=client,
        )
        graph: Graph = await made
        with graph:
            seconds = perf_counter() - began
            return await _Benchmark(graph, listed, validate).report(roots, seconds)

    return call(client, work)


@dataclass(frozen=True)
class _Benchmark:
    """The kernels on one graph; everything here runs on the loop of the client."""

    graph: Graph
    listed: EdgeList
    validates: bool
    traversed: dict[Any, int] = field(default_factory=dict)

    async def report(self, roots: int, construction_seconds: float) -> Report:
        """Run kernels 2 and 3 and report on all."""
        graph, listed = self.graph, self.listed
        generation = await home_of(graph).ask("edge list", prepare, listed)
        keys = await draw_keys(graph, roots, listed.seed)
        if not keys:
            raise OptionError(
                "expected edges between different vertices, got none: raise scale or edgefactor"
            )
        searches, prepared = await self._searches("bfs", keys)
        shortest: tuple[Search, ...] = ()
        if listed.weighted and not _failed(searches):
            shortest, more = await self._searches("sssp", keys)
            prepared += more
        return Report(
            scale=listed.scale,
            edgefactor=listed.edgefactor,
            seed=listed.seed,
            slots=graph.slots,
            num_vertices=graph.num_vertices,
            num_edges=graph.num_edges,
            generation_seconds=max(generation),
            construction_seconds=construction_seconds + prepared,
            bfs=searches,
            sssp=shortest,
            peak_memory=await _peak_memory(home_of(graph).client),
        )

    async def _searches(
        self, kernel: str, keys: Sequence[Any]
    ) -> tuple[tuple[Search, ...], float]:
        """Search from every key, until a result is not valid.

        The first key is searched from once before. What that takes longer is returned, too: the
        kernel prepares what it keeps for all searches, which belongs to construction.
        """
        _, first = await self._timed(kernel, keys[0])
        done: list[Search] = []
        for key in keys:
            done.append(await self._search(kernel, key))
            if _failed(done[-1:]):
                break
        return tuple(done), max(0.0, first.seconds - done[0].seconds)

    async def _timed(self, kernel: str, key: Any) -> tuple[Any, Search]:
        result = await KERNELS[kernel](self.graph, key)
        record = self.graph.runs[-1]
        seconds = record.seconds + record.output_seconds
        return result, Search(key, seconds, 0, record.supersteps)

    async def _search(self, kernel: str, key: Any) -> Search:
        """Search from one key, then see whether it is right and how many edges it was."""
        result, search = await self._timed(kernel, key)
        if not self.validates:
            return replace(search, edges=await self._edges(key, result))
        began = perf_counter()
        validation = await validate_tree(self.graph, key, result, kernel, self.listed)
        return replace(
            search,
            edges=validation.traversed_edges,
            validation=validation,
            validate_seconds=perf_counter() - began,
        )

    async def _edges(self, key: Any, result: Any) -> int:
        """Return the traversed edges, which are the same for both kernels."""
        if key not in self.traversed:
            self.traversed[key] = await count_edges(self.graph, result, self.listed)
        return self.traversed[key]


def _failed(searches: Sequence[Search]) -> bool:
    return any(search.validation is not None and not search.validation for search in searches)


async def _peak_memory(client: Client) -> int:
    """Return the most memory that the processes have had: of the workers, and of this one."""
    workers: Any = client.run(_resident_peak)
    return sum(dict([*(await workers).values(), _resident_peak()]).values())


def _resident_peak() -> tuple[tuple[str, int], int]:
    """Return which process this is, and the most bytes of memory it has ever had."""
    unit = 1 if sys.platform == "darwin" else 1024
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit
    return (platform.node(), os.getpid()), peak
