"""Say how much memory a graph will need, before it is built.

The partitions of edges are sketched where they lie, see `dgraph.sketch`; what sketches say of a
graph is a :class:`Census`, and from that the bytes of a shard follow.
"""

from __future__ import annotations

import asyncio
from collections.abc import Hashable, Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
from dask.delayed import Delayed, delayed
from distributed import Client, KilledWorker

from dgraph.arguments import slot_counts
from dgraph.build.rhizomes import Rhizomes
from dgraph.census import Census, shard_bytes
from dgraph.clients import find_client, look_and_make
from dgraph.edges.chunk import ChunkSpec, EdgeChunk, make_chunk
from dgraph.edges.inputs import EdgeInput, edge_input
from dgraph.edges.receipt import Receipt
from dgraph.edges.summary import SelfLoops, combine
from dgraph.edges.vertex_chunk import VertexSpec, make_vertex_chunk
from dgraph.edges.vertex_inputs import VertexInput
from dgraph.engine.members import find_members
from dgraph.engine.pauses import Pauses
from dgraph.errors import OptionError, RunError
from dgraph.keywords import named
from dgraph.plurals import counted
from dgraph.policies import Policies
from dgraph.sketch import Sketch
from dgraph.vertices.ids import Codes, Ids, IntIds

__all__ = ["by_slot", "estimate"]

#: Seconds between two looks at whether workers are paused.
LOOK = 1.0

#: Sketches that one task merges.
TOGETHER = 16


@named
def estimate(
    edges_or_counts: Any,
    source: Hashable = "source",
    target: Hashable = "target",
    weight: Hashable = None,
    *,
    directed: bool | None = None,
    vertices: Any = None,
    duplicates: str = "min",
    self_loops: SelfLoops = "keep",
    rhizome_max: int | None = None,
    rhizome_allocation: str = "random",
    rhizome_cutoff: int | None = None,
    slots: int | None = None,
    virtual_slots: int | None = None,
    client: Client | None = None,
) -> pd.Series[int]:
    """Say how much memory each slot will need for a graph.

    Parameters
    ----------
    edges_or_counts : edges in any form that `from_edges` takes, or two numbers
        Numbers of vertices and edges, ``(1_000, 20_000)`` or ``{"vertices": 1_000, "edges":
        20_000}``, give an upper bound: what a graph with int64 ids needs in which all degrees
        are alike.
    source, target, weight, directed, vertices, duplicates, self_loops, rhizome_max, \
rhizome_allocation, rhizome_cutoff, slots, virtual_slots, client
        As in `from_edges`. With counts, any `weight` means float64 weights.

    Returns
    -------
    pandas Series
        int64, bytes by slot, as `Graph.memory_usage` returns; all alike. An awaitable of it if
        the client is asynchronous.

    Raises
    ------
    RunError
        If workers end, or are all paused, for a partition of the edges does not fit.

    Notes
    -----
    Edges are read once. Vertices, parallel edges and proxies are counted in a sample and come
    out within some percent, for placements that scatter neighbours, such as "degree" and
    "hash"; others need less. While the graph is built, up to three times as much is in use.
    A worker process takes 250 MB before it holds anything.

    Algorithms keep some of what they work out, see `Graph.memory_usage`. Most need whole rows;
    if heavy rows are split, the first that does puts the graph together beside the split one,
    which takes as much again as the estimate without `rhizome_max` says.

    Examples
    --------
    >>> estimate((2**20, 2**24), slots=2).to_dict()
    {0: 90177544, 1: 90177544}
    """
    rhizomes = Rhizomes(rhizome_max, rhizome_allocation, rhizome_cutoff)
    policies = Policies(duplicates, self_loops, rhizomes=rhizomes)
    slot_counts(slots, virtual_slots)
    client = find_client(client)
    counts = _counts(edges_or_counts)

    def look() -> EdgeInput | None:
        if counts is not None:
            return None
        with client.as_current():
            return edge_input(
                edges_or_counts, source, target, weight, directed=directed, vertices=vertices
            )

    async def estimated(found: EdgeInput | None) -> pd.Series[int]:
        members = await find_members(client, slots, virtual_slots)
        count = sum(len(member.slots) for member in members)
        if found is None:
            assert counts is not None
            way = bool(directed)
            census = Census.of_counts(*counts, weighted=bool(weight), directed=way)
        else:
            way = found.directed
            census = await _read(client, found, policies)
        return by_slot([shard_bytes(census, count, way, rhizomes)] * count)

    sizes: pd.Series[int] = look_and_make(client, look, estimated)
    return sizes


def _counts(given: Any) -> tuple[int, int] | None:
    """Return numbers of vertices and edges, None if what was given are edges.

    >>> _counts((3, 2)), _counts({"edges": 2, "vertices": 3}), _counts(["a.csv", "b.csv"])
    ((3, 2), (3, 2), None)
    """
    if isinstance(given, Mapping) and set(given) == {"vertices", "edges"}:
        given = (given["vertices"], given["edges"])
    if not isinstance(given, tuple | list) or len(given) != 2:
        return None
    if not all(isinstance(number, int | np.integer) for number in given):
        return None
    if min(given) < 0:
        raise OptionError(f"expected numbers of vertices and edges from 0 on, got {given}")
    return int(given[0]), int(given[1])


async def _read(client: Client, edges: EdgeInput, policies: Policies) -> Census:
    """Sketch all edges, on the workers, and return what the graph will hold."""
    inputs: list[EdgeInput | VertexInput] = [edges, *edges.vertices]
    described = [(part, some.spec) for some in inputs for part in some.parts]
    sketched = [
        delayed(_sketch_part, pure=False)(part, spec, edges.directed, number)
        for number, (part, spec) in enumerate(described)
    ]
    while len(sketched) > 1:
        sketched = [
            delayed(_merge, pure=False)(sketched[at : at + TOGETHER])
            for at in range(0, len(sketched), TOGETHER)
        ]
    sketch, receipts = await _computed(client, sketched[0])
    receipts.sort(key=lambda receipt: receipt.partition)
    count = len(edges.parts)
    summary = combine(receipts[:count], vertices=receipts[count:], nulls="drop")
    return Census.of_sketch(
        sketch,
        summary.dtype,
        edges.weighted,
        policies.duplicates == "keep",
        policies.self_loops == "drop",
        edges.directed,
    )


async def _computed(client: Client, task: Delayed) -> tuple[Sketch, list[Receipt]]:
    """Compute a task on any workers; say what to do if their memory does not suffice.

    Raises
    ------
    RunError
    """
    pauses = Pauses(all=True)
    future = client.compute(task)
    waiting: asyncio.Future[tuple[Sketch, list[Receipt]]] = asyncio.ensure_future(future)
    try:
        while not (await asyncio.wait({waiting}, timeout=LOOK))[0]:
            scheduler: Any = client.scheduler
            await pauses.check(scheduler, await scheduler.ncores())
        return waiting.result()
    except KilledWorker as error:
        times = error.allowed_failures + 1
        raise RunError(
            f"the estimate was given up: {counted(times, 'worker')} ended while a partition of "
            "the edges was read, most likely because its memory did not suffice; give workers "
            "more memory (memory_limit=, --memory-limit), or make partitions smaller "
            "(edges.repartition(partition_size='64MiB'))"
        ) from None
    finally:
        waiting.cancel()


def _sketch_part(
    part: Any, spec: ChunkSpec | VertexSpec, directed: bool, number: int
) -> tuple[Sketch, list[Receipt]]:
    """Sketch one partition; the function of a task."""
    if isinstance(spec, VertexSpec):
        vertices, receipt = make_vertex_chunk(part, spec, number)
        return Sketch.of_vertices(vertices.ids), [receipt]
    chunk, receipt = make_chunk(part, spec, number)
    ends = _ids(chunk, chunk.source), _ids(chunk, chunk.target)
    return Sketch.of(*ends, chunk.weight, directed=directed), [receipt]


def _ids(chunk: EdgeChunk, codes: Codes) -> Ids:
    if chunk.ids is not None:
        return chunk.ids.take(codes)
    wide = np.uint64 if chunk.high >= 2**63 else np.int64
    return IntIds(codes.astype(wide) + wide(chunk.low))


def _merge(
    sketched: Sequence[tuple[Sketch, list[Receipt]]],
) -> tuple[Sketch, list[Receipt]]:
    sketches, receipts = zip(*sketched, strict=True)
    return Sketch.merge_all(sketches), [each for some in receipts for each in some]


def by_slot(sizes: Sequence[float]) -> pd.Series[int]:
    """Return bytes by slot.

    >>> by_slot([10, 20]).to_dict()
    {0: 10, 1: 20}
    """
    index = pd.RangeIndex(len(sizes), name="slot")
    return pd.Series([round(size) for size in sizes], index, np.int64, name="bytes")
