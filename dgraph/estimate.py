"""Say how much memory a graph will need, before it is built.

The partitions of edges are sketched where they lie, see `dgraph.sketch`; what sketches say of a
graph is a :class:`Census`, and from that the bytes of a shard follow.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
import pandas as pd
from dask.delayed import delayed
from distributed import Client
from numpy.typing import NDArray

from dgraph.arguments import slot_counts
from dgraph.clients import find_client, look_and_make
from dgraph.edges.chunk import ChunkSpec, EdgeChunk, make_chunk
from dgraph.edges.inputs import EdgeInput, edge_input
from dgraph.edges.receipt import Receipt
from dgraph.edges.summary import combine
from dgraph.edges.vertex_chunk import VertexSpec, make_vertex_chunk
from dgraph.edges.vertex_inputs import VertexInput
from dgraph.engine.members import find_members
from dgraph.errors import OptionError
from dgraph.shard import number_dtype
from dgraph.sketch import Sketch
from dgraph.vertices.ids import Codes, Ids, IntIds

__all__ = ["Census", "by_slot", "estimate", "shard_bytes"]

#: Groups of proxies start at multiples of this.
ALIGNED = 64

#: Sketches that one task merges.
TOGETHER = 16


def estimate(
    edges_or_counts: Any,
    source: Hashable = "source",
    target: Hashable = "target",
    weight: Hashable = None,
    *,
    directed: bool | None = None,
    vertices: Any = None,
    duplicates: str = "min",
    self_loops: str = "keep",
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
    source, target, weight, directed, vertices, duplicates, self_loops, slots, virtual_slots, \
client
        As in `from_edges`. With counts, any `weight` means float64 weights.

    Returns
    -------
    pandas Series
        int64, bytes by slot, as `Graph.memory_usage` returns; all alike. An awaitable of it if
        the client is asynchronous.

    Notes
    -----
    Edges are read once. Vertices, parallel edges and proxies are counted in a sample and come
    out within some percent, for placements that scatter neighbours, such as "degree" and
    "hash"; others need less. While the graph is built, up to three times as much is in use.

    Examples
    --------
    >>> estimate((2**20, 2**24), slots=2).to_dict()
    {0: 90177544, 1: 90177544}
    """
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
            census = Census.of_counts(*counts, weighted=bool(weight))
            return by_slot([shard_bytes(census, count, bool(directed))] * count)
        sketch, dtype = await _read(client, found)
        census = Census.of_sketch(
            sketch, dtype, found.weighted, duplicates == "keep", self_loops == "drop"
        )
        return by_slot([shard_bytes(census, count, found.directed)] * count)

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


async def _read(client: Client, edges: EdgeInput) -> tuple[Sketch, str]:
    """Sketch all edges, on the workers; return the dtype of their ids as well."""
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
    sketch, receipts = await client.compute(sketched[0])
    receipts.sort(key=lambda receipt: receipt.partition)
    count = len(edges.parts)
    summary = combine(receipts[:count], vertices=receipts[count:], nulls="drop")
    return sketch, summary.dtype


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


@dataclass(frozen=True, slots=True)
class Census:
    """The figures of a graph that decide how large its shards are.

    Parameters
    ----------
    vertices, edges, loops : float
        After the policies; `loops` are counted in `edges`.
    id_bytes, weight_bytes : float
        Bytes of one id, and of one weight (0: unweighted).
    neighbours : array
        Distinct neighbours of each vertex of a sample.

    Examples
    --------
    >>> Census.of_counts(30, 75).neighbours
    array([5.])
    """

    vertices: float
    edges: float
    loops: float
    id_bytes: float
    weight_bytes: int
    neighbours: NDArray[Any]

    @classmethod
    def of_counts(cls, vertices: int, edges: int, weighted: bool = False) -> Self:
        """Make a census of two numbers: int64 ids, and all degrees the same.

        Uneven degrees need fewer proxies, so this is an upper bound.
        """
        mean = 2 * edges / max(vertices, 1)
        return cls(vertices, edges, 0, 8, 8 * weighted, np.array([mean]))

    @classmethod
    def of_sketch(
        cls, sketch: Sketch, dtype: str, weighted: bool, parallels: bool, loopless: bool
    ) -> Self:
        """Make a census of what a sketch saw.

        Parameters
        ----------
        sketch : Sketch
        dtype : str
            Of the ids.
        weighted : bool
        parallels, loopless : bool
            Whether parallel edges are kept, and loops dropped.
        """
        if parallels:
            edges, loops = float(sketch.rows), float(sketch.loops)
        else:
            edges = sketch.edges.keys
            loops = float(sketch.edges.rows[:, 1].sum()) * 2**sketch.edges.level
        if loopless:
            edges, loops = edges - loops, 0.0
        sizes = sketch.sizes.rows[:, 1] if dtype == "str" else [np.dtype(dtype).itemsize]
        return cls(
            vertices=sketch.ends.keys,
            edges=edges,
            loops=loops,
            id_bytes=float(np.mean(sizes)) if len(sizes) else 0.0,
            weight_bytes=(8 if sketch.wide else 4) if weighted else 0,
            neighbours=sketch.neighbours,
        )


def shard_bytes(census: Census, slots: int, directed: bool) -> float:
    """Return the bytes of one of so many shards, if the owners of vertices are random.

    Examples
    --------
    >>> round(shard_bytes(Census.of_counts(2**20, 2**24), 2, directed=False) / 2**20)
    86
    """
    number = number_dtype(int(census.vertices)).itemsize
    masters = census.vertices / slots
    # A vertex has a proxy on each other slot that owns one of its neighbours.
    reached = 1 - (1 - 1 / slots) ** census.neighbours
    proxies = masters * (slots - 1) * float(reached.mean()) if len(reached) else 0.0
    rank = number * _local_size(masters, proxies, slots)
    order_and_ids = (number + census.id_bytes) * masters
    dictionary = (number + census.id_bytes) * masters
    routes = 4 * proxies
    rows = 2 if directed else 1
    entries = (2 * census.edges - (0 if directed else census.loops)) / slots
    adjacency = 8 * rows * (masters + 1) + (4 + census.weight_bytes) * entries
    return rank + order_and_ids + dictionary + routes + adjacency


def by_slot(sizes: Sequence[float]) -> pd.Series[int]:
    """Return bytes by slot.

    >>> by_slot([10, 20]).to_dict()
    {0: 10, 1: 20}
    """
    index = pd.RangeIndex(len(sizes), name="slot")
    return pd.Series([round(size) for size in sizes], index, np.int64, name="bytes")


def _local_size(masters: float, proxies: float, slots: int) -> float:
    """Return the length of an array over local ids: groups start at multiples of ALIGNED."""
    if slots == 1 or proxies == 0:
        return masters
    group = proxies / (slots - 1)
    blocks = np.ceil(masters / ALIGNED) + (slots - 2) * np.ceil(group / ALIGNED)
    return float(blocks * ALIGNED + group)
