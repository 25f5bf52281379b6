"""What the policy "error" finds, said in the users' ids and the same on every slot."""

from __future__ import annotations

from typing import Any, NoReturn

import numpy as np
from numpy.typing import NDArray

from dgraph.build.meeting import Filed, Tally, row_orders
from dgraph.build.merging import repeated_edges
from dgraph.build.numbering import Numbering, ids_of
from dgraph.build.spec import BuildSpec
from dgraph.engine.context import Context
from dgraph.errors import EdgeValueError

__all__ = ["check_loops", "check_parallels"]

Array = NDArray[Any]


async def check_loops(
    ctx: Context, filed: Filed, numbering: Numbering, spec: BuildSpec, tally: Tally
) -> None:
    """Raise if there are loops and the policy forbids them."""
    if spec.self_loops != "error":
        return
    rows = _rows_of(ctx, filed)
    loops = rows[rows == filed.columns]
    found, least = await _least(ctx, loops, loops, tally.self_loops)
    if found:
        vertex = await ids_of(ctx, numbering, least[0], spec.ids)
        raise EdgeValueError(
            f"expected no self-loops, got {found}, the first at vertex {vertex}; pass "
            "self_loops='keep' or 'drop' or clean the edges"
        )


async def check_parallels(
    ctx: Context, filed: Filed, numbering: Numbering, spec: BuildSpec
) -> None:
    """Raise if there are parallel edges and the policy forbids them."""
    if spec.duplicates != "error":
        return
    places, copies = repeated_edges(filed)
    rows, columns = _rows_of(ctx, filed)[places], filed.columns[places]
    is_first = (rows + columns) & 1 == 1  # the row is the first end: see `meeting`
    first, second = np.where(is_first, rows, columns), np.where(is_first, columns, rows)
    found, least = await _least(ctx, first, second, copies)
    if found:
        await _raise_parallel(ctx, numbering, spec, found, least)


async def _raise_parallel(
    ctx: Context, numbering: Numbering, spec: BuildSpec, found: int, edge: tuple[int, int]
) -> NoReturn:
    first = await ids_of(ctx, numbering, edge[0], spec.ids)
    second = await ids_of(ctx, numbering, edge[1], spec.ids)
    arrow = "->" if spec.directed else "-"
    raise EdgeValueError(
        f"expected no parallel edges, got {found} that repeat another one, such as "
        f"{first} {arrow} {second}; pass duplicates='min' or another policy (--duplicates)"
    )


def _rows_of(ctx: Context, filed: Filed) -> Array:
    """Return for each edge the order of its row."""
    rows = np.repeat(np.arange(filed.offsets.size - 1), np.diff(filed.offsets))
    orders: Array = row_orders(rows, ctx.slot, ctx.slots)
    return orders


async def _least(
    ctx: Context, first: Array, second: Array, count: int
) -> tuple[int, tuple[int, int]]:
    """Return the sum of `count` over all slots, and the least of all their edges."""
    by = np.lexsort((second, first))[:1]
    came = await ctx.allgather(
        np.array([count]), first[by].astype(np.int64), second[by].astype(np.int64)
    )
    edges = [(int(some[1][0]), int(some[2][0])) for some in came if some[1].size]
    return sum(int(some[0][0]) for some in came), min(edges, default=(-1, -1))
