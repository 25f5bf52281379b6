"""Stage E, first half: every registrar asks the placement for the owners of its vertices."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dgraph.build.meeting import deal
from dgraph.build.numbering import Numbering
from dgraph.build.strategy import EdgeStrategy, Given, Strategy, Totals, VertexBlock
from dgraph.edges.vertex_chunk import VertexChunk
from dgraph.engine.context import Context
from dgraph.shard import Shard

__all__ = ["ask_with_edges", "choose_owners"]

Array = NDArray[Any]


async def choose_owners(
    ctx: Context,
    numbering: Numbering,
    vertices: list[VertexChunk] | None,
    rank: Array,
    degree: Array,
    strategy: Strategy,
) -> NDArray[np.int32]:
    """Return the owner of every vertex of this registrar's block; None: nobody has tables."""
    begin, end = numbering.cuts[ctx.slot : ctx.slot + 2]
    given = None if vertices is None else await _collect_given(ctx, numbering, vertices)
    block = VertexBlock(np.arange(begin, end), rank, degree, numbering.ids, given)
    measure = strategy.measure(block)
    if measure.size == 0:  # then it is on every slot: there is nothing to tell
        nothing = np.zeros((ctx.slots, 0), np.int64)
        return strategy.slots_of(block, ctx.slots, Totals(ctx.slot, nothing))
    measures = await ctx.allgather(measure)
    totals = Totals(ctx.slot, np.stack([some[0] for some in measures]))
    return strategy.slots_of(block, ctx.slots, totals)


async def ask_with_edges(
    ctx: Context, cuts: NDArray[np.int64], draft: Shard, strategy: EdgeStrategy
) -> NDArray[np.int32]:
    """Return the owner of every vertex of this registrar's block, by what a draft shows."""
    owner = await strategy.place(ctx, draft)
    at = np.searchsorted(draft.order, cuts).tolist()
    sent = [(owner[a:b],) if b > a else None for a, b in pairwise(at)]
    came = [some[0] for some in await ctx.alltoall(sent) if some is not None]
    return np.concatenate([np.zeros(0, np.int32), *came])


async def _collect_given(
    ctx: Context, numbering: Numbering, vertices: list[VertexChunk]
) -> Given | None:
    """Send the rows of the user's own placement to the registrars of their vertices."""
    orders, slots = [np.zeros(0, np.int64)], [np.zeros(0, np.int32)]
    for chunk, known in zip(vertices, numbering.orders, strict=True):
        if chunk.slots is not None:
            orders.append(known[known >= 0])
            slots.append(chunk.slots[known >= 0])
    order = np.concatenate(orders)
    registrar = np.searchsorted(numbering.cuts, order, side="right") - 1
    counts = np.bincount(registrar, minlength=ctx.slots)
    came = await ctx.alltoall(deal([order, np.concatenate(slots)], registrar, counts))
    rows = [some for some in came if some is not None]
    if not rows:
        return None
    places = np.concatenate([some[0] for some in rows]) - numbering.cuts[ctx.slot]
    return Given(numbering.ids.take(places), np.concatenate([some[1] for some in rows]))
