"""What a graph tells about itself: slot programs that list its vertices, degrees and edges.

Rows about vertices follow the masters of each slot, as those of every algorithm do, so all
such frames of one graph line up.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from dgraph.build.joining import whole_rows
from dgraph.engine.columns import Column, Plain, to_frame
from dgraph.engine.context import Context
from dgraph.kernels import kernel
from dgraph.shard import Adjacency, Shard, Split
from dgraph.shard.kept import kept_bytes
from dgraph.vertices.ids import Ids, concat_ids, ids_from_columns

__all__ = ["arcs_slot", "degrees_slot", "edges_slot", "kept_slot", "vertices_slot"]

Array = NDArray[Any]


async def vertices_slot(ctx: Context, shard: Shard) -> pd.DataFrame:
    """List the vertices."""
    return await to_frame(ctx, shard, {})


async def kept_slot(ctx: Context, shard: Shard) -> int:
    """Count the bytes that algorithms keep beside the graph."""
    return kept_bytes(shard)


async def degrees_slot(ctx: Context, shard: Shard) -> dict[str, Column]:
    """List degrees: a loop counts 2, or one in and one out; kept parallels count each."""
    out = shard.out_degree
    if shard.directed:
        return {"in_degree": Plain(shard.into_degree), "out_degree": Plain(out)}
    loops = np.zeros(shard.masters, np.int64)
    _count_loops(np.arange(shard.masters), shard.out.offsets, shard.out.targets, loops)
    if shard.out_split is not None:
        loops += await _loops_elsewhere(ctx, shard, shard.out_split)
    return {"degree": Plain(out + loops)}


async def _loops_elsewhere(ctx: Context, shard: Shard, split: Split) -> NDArray[np.int64]:
    """Return the loops of the masters that stand in pieces of their rows on other slots."""
    found = np.zeros(split.vertices.size, np.int64)
    _count_loops(split.vertices, split.rows.offsets, split.rows.targets, found)
    loops = np.zeros(shard.masters, np.int64)
    np.add.at(loops, *await ctx.reduce(shard, split.vertices, found, combine="sum"))
    return loops


async def edges_slot(ctx: Context, shard: Shard) -> pd.DataFrame:
    """List every edge once, in users' ids; an undirected one with its smaller id first."""
    shard = await whole_rows(ctx, shard)
    near, far, weight = _listed(shard, await _orders(ctx, shard))
    ids, place = await _all_ids(ctx, shard)
    ends = ids.take(near).to_pandas(), ids.take(place[far]).to_pandas()
    return await _edge_table(ctx, *ends, weight)


async def arcs_slot(ctx: Context, shard: Shard) -> pd.DataFrame:
    """List every edge once as `edges_slot` does, but in orders: positions of sorted ids."""
    shard = await whole_rows(ctx, shard)
    order = await _orders(ctx, shard)
    near, far, weight = _listed(shard, order)
    return await _edge_table(ctx, order[near], order[far], weight)


async def _edge_table(
    ctx: Context, source: Any, target: Any, weight: Array | None
) -> pd.DataFrame:
    """Return the rows of this slot; the index counts those of all slots on."""
    counts = await ctx.allgather(np.array([len(source)]))
    first = sum(int(count[0]) for (count,) in counts[: ctx.slot])
    columns = {"source": source, "target": target}
    if weight is not None:
        columns["weight"] = weight.astype(np.float64)
    return pd.DataFrame(columns, index=pd.RangeIndex(first, first + len(source)), copy=False)


async def _orders(ctx: Context, shard: Shard) -> Array:
    """Return the order of every local vertex."""
    order = np.zeros(shard.size, shard.order.dtype)
    order[: shard.masters] = shard.order
    await ctx.broadcast(shard, order)
    return order


async def _all_ids(ctx: Context, shard: Shard) -> tuple[Ids, NDArray[np.int32]]:
    """Return the ids of all local vertices, without padding, and where each stands."""
    came = await ctx.alltoall(
        [shard.ids.take(mine).to_columns() if mine.size else None for mine in shard.shared]
    )
    parts = [shard.ids]
    place = np.zeros(shard.size, np.int32)
    place[: shard.masters] = np.arange(shard.masters)
    end = shard.masters
    for start, size, columns in zip(shard.group_start, shard.group_size, came, strict=True):
        if columns is not None:
            parts.append(ids_from_columns(shard.ids.dtype, columns))
            place[start : start + size] = np.arange(end, end + size)
            end += size
    return concat_ids(parts), place


def _listed(shard: Shard, order: Array) -> tuple[Array, Array, Array | None]:
    """Return the edges that this slot lists, as local ids, and their weights."""
    rows: Adjacency = shard.out
    if shard.directed:
        near = np.repeat(np.arange(shard.masters, dtype=np.int32), np.diff(rows.offsets))
        return near, rows.targets, rows.weights
    count = _count_ascending(rows.offsets, rows.targets, order)
    at = np.empty(count, np.int64)
    near = np.empty(count, np.int32)
    _list_ascending(rows.offsets, rows.targets, order, at, near)
    return near, rows.targets[at], None if rows.weights is None else rows.weights[at]


@kernel
def _count_loops(vertices, offsets, targets, loops):  # type: ignore[no-untyped-def]
    for row in range(len(loops)):
        for at in range(offsets[row], offsets[row + 1]):
            loops[row] += targets[at] == vertices[row]


@kernel
def _count_ascending(offsets, targets, order):  # type: ignore[no-untyped-def]
    count = 0
    for row in range(len(offsets) - 1):
        for at in range(offsets[row], offsets[row + 1]):
            count += order[row] <= order[targets[at]]
    return count


@kernel
def _list_ascending(offsets, targets, order, found, near):  # type: ignore[no-untyped-def]
    count = 0
    for row in range(len(offsets) - 1):
        for at in range(offsets[row], offsets[row + 1]):
            if order[row] <= order[targets[at]]:
                found[count] = at
                near[count] = row
                count += 1
