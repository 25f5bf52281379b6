"""The slot program that turns partitions of edges into shards.

::

    chunks    A numbering    user ids -> order, the dictionary of every registrar
              B meeting      copies of an edge on one slot
              C merging      policies: parallel edges
              D ranking      degrees -> rank
              E owning       placement -> owner, local id
                             a placement that asks for edges: it looks at a draft of the
                             graph first (see `drafting`) and says who the owners are
              F settling     edges to the owners of their ends
    shard     G routes, rows groups of proxies agreed with their owners; CSR
              H rhizomes     if asked for: the rows of heavy vertices split over slots

Only A and E touch user ids. No slot ever holds an array with an entry for every vertex, only
bitmaps; edges travel in pieces, and every stage lets go of what it has used up.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from time import perf_counter
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dgraph.build.complaints import check_loops, check_parallels
from dgraph.build.dense import number_dense
from dgraph.build.drafting import draw_up
from dgraph.build.meeting import Filed, Tally, file_edges
from dgraph.build.merging import merge
from dgraph.build.numbering import Numbering
from dgraph.build.numberset import NumberSet
from dgraph.build.owning import Masters, Seats, own, tell_seats
from dgraph.build.placing import ask_with_edges, choose_owners
from dgraph.build.ranking import Asked, Degrees, rank_block, sum_degrees, touched
from dgraph.build.routing import agree, gather_groups
from dgraph.build.settling import Arcs, blocks_of, settle_edges
from dgraph.build.sparse import number_sparse
from dgraph.build.spec import BuildSpec
from dgraph.build.splitting import split_rows
from dgraph.build.strategy import EdgeStrategy, Look, Strategy, VertexBlock
from dgraph.edges.chunk import EdgeChunk
from dgraph.edges.vertex_chunk import VertexChunk
from dgraph.engine.context import Context
from dgraph.shard import Adjacency, Dictionary, Shard
from dgraph.shard.csr import compress
from dgraph.shard.memory import give_back

__all__ = ["build"]

Array = NDArray[Any]


class _Phases:
    """Seconds of each stage, as this slot sees them."""

    def __init__(self, ctx: Context) -> None:
        self.seconds: dict[str, float] = {}
        self._ctx = ctx
        self._began = perf_counter()

    def begin(self, stage: str) -> None:
        """End the stage that runs and begin another."""
        now = perf_counter()
        if self._ctx.stage:
            before = self.seconds.get(self._ctx.stage, 0.0)  # auto looks, then places
            self.seconds[self._ctx.stage] = before + now - self._began
        self._ctx.stage, self._began = stage, now


async def build(
    ctx: Context, chunks: list[EdgeChunk | VertexChunk], spec: BuildSpec
) -> tuple[Shard, dict[str, Any]]:
    """Build this slot's shard; every slot of the run takes part.

    Parameters
    ----------
    chunks : list of EdgeChunk and VertexChunk
        What lies on this slot, in any sequence; the list is emptied on the way.
    spec : BuildSpec
        The same on every slot.

    Returns
    -------
    shard : Shard
    report : dict
        Of the whole graph: rows_read, self_loops (among them), self_loops_dropped,
        duplicates_merged; rhizomes if there are to be any; placement and why, if it was chosen
        by what the edges are like. Of this slot: seconds, a dict by stage, and bytes, of the
        shard.

    Raises
    ------
    EdgeValueError
        If a policy is "error" and finds something, an edge names an undeclared vertex, or a
        sum of weights overflows.
    """
    phases, tally = _Phases(ctx), Tally()
    phases.begin("numbering")
    edges = [chunk for chunk in chunks if isinstance(chunk, EdgeChunk) and len(chunk.source)]
    vertices = [chunk for chunk in chunks if isinstance(chunk, VertexChunk)]
    chunks.clear()
    give_back(sum(chunk.nbytes for chunk in edges))  # what reading them has left behind
    number = number_sparse if spec.low is None else number_dense
    numbering = await number(ctx, edges, vertices, spec)
    phases.begin("meeting")
    filed = await file_edges(ctx, edges, numbering, spec, tally)
    await check_loops(ctx, filed, numbering, spec, tally)
    phases.begin("merging")
    await check_parallels(ctx, filed, numbering, spec)
    tally.duplicates_merged = merge(filed, spec.duplicates)
    num_edges, report = await _sum_up(ctx, filed, tally)
    phases.begin("ranking")
    touch = touched(ctx, filed, numbering.vertices)
    asked = await sum_degrees(ctx, filed, numbering, touch, num_edges)
    rank, degrees = await rank_block(ctx, asked.degree, numbering.vertices)
    known = _Known(numbering, rank, asked, filed, touch, num_edges, degrees)
    del numbering, asked, rank, filed, touch, degrees
    owner = await _choose(ctx, phases, known, vertices, spec)
    phases.begin("owning")
    shard = await _lay_out(ctx, phases.begin, [known], owner, spec)
    if spec.rhizomes is not None:
        phases.begin("rhizomes")
        shard, report["rhizomes"] = await split_rows(ctx, shard, spec.rhizomes)
        give_back(shard.nbytes)
    phases.begin("")
    return shard, report | {"seconds": phases.seconds, "bytes": shard.nbytes} | ctx.notes


@dataclass(slots=True)
class _Known:
    """What one slot knows of the graph before it has owners."""

    numbering: Numbering
    rank: Array
    asked: Asked
    filed: Filed
    touch: NumberSet
    num_edges: int
    degrees: Degrees | None


async def _choose(
    ctx: Context, phases: _Phases, known: _Known, vertices: list[VertexChunk], spec: BuildSpec
) -> NDArray[np.int32]:
    """Return the owners of this registrar's block; with a draft of the graph if need be."""

    def blind(
        strategy: Strategy, tables: list[VertexChunk] | None
    ) -> Awaitable[NDArray[np.int32]]:
        degree = known.asked.degree
        return choose_owners(ctx, known.numbering, tables, known.rank, degree, strategy)

    strategy: Any = spec.placement
    if hasattr(strategy, "choose"):  # a Chooser
        phases.begin("placing")
        begin, end = known.numbering.cuts[ctx.slot : ctx.slot + 2]
        order, ids = np.arange(begin, end), known.numbering.ids
        block = VertexBlock(order, known.rank, known.asked.degree, ids)
        assert known.degrees is not None
        edges, degrees = known.num_edges, known.degrees
        look = Look(block, known.filed, degrees, edges, known.numbering.vertices)
        strategy = await strategy.choose(ctx, look)
        del degrees, look
    known.degrees = None
    if not isinstance(strategy, EdgeStrategy):
        phases.begin("placing")
        return await blind(strategy, vertices)
    phases.begin("draft")
    base = None  # if nobody has to be asked
    if not strategy.base.is_alone(known.num_edges):
        base = await blind(strategy.base, None)
    draft = await draw_up(ctx, known.filed, known.numbering, known.rank, base, known.num_edges)
    del base
    phases.begin("placing")
    owner = await ask_with_edges(ctx, known.numbering.cuts, draft, strategy)
    freed = draft.nbytes
    del draft
    give_back(freed)
    return owner


async def _lay_out(
    ctx: Context,
    begin: Callable[[str], None],
    held: list[_Known],
    owner: NDArray[np.int32],
    spec: BuildSpec,
) -> Shard:
    """Return the shard of this slot, once all vertices have owners.

    Takes one entry of `held` away, so that what is known is let go of with the last one.
    """
    known = held.pop()
    num_edges = known.num_edges
    blocks = blocks_of(num_edges, ctx.slots)
    masters, seats, seat, placed = await own(
        ctx, known.numbering, known.rank, known.asked.degree, owner, blocks
    )
    dictionary = Dictionary(known.numbering.cuts, known.numbering.ids, placed)
    seat = await tell_seats(ctx, known.asked.positions, seat)
    begin("settling")
    filed, touch = known.filed, known.touch
    del known, owner
    arcs, seen = await settle_edges(ctx, filed, touch, seat, seats, spec.directed)
    freed = filed.columns.nbytes + touch.bits.nbytes + seat.nbytes
    del filed, touch, seat
    give_back(freed)
    begin("routes")
    return await _assemble(ctx, begin, arcs, seen, masters, seats, dictionary, num_edges, spec)


async def _sum_up(ctx: Context, filed: Filed, tally: Tally) -> tuple[int, dict[str, Any]]:
    """Return the number of edges, and the counts of all slots for the report.

    Where all weights of the graph are float32 numbers, this slot's become float32.
    """
    narrow, lossy = None, 0
    if filed.weights is not None:
        with np.errstate(over="ignore", under="ignore"):
            narrow = filed.weights.astype(np.float32)
        lossy = int(not np.array_equal(narrow, filed.weights))
    counts = [filed.columns.size, lossy, tally.rows_read, tally.self_loops]
    total = await ctx.allreduce([*counts, tally.self_loops_dropped, tally.duplicates_merged])
    if total[1] == 0:
        filed.weights = narrow
    names = ("rows_read", "self_loops", "self_loops_dropped", "duplicates_merged")
    return int(total[0]), dict(zip(names, total[2:].tolist(), strict=True))


async def _assemble(
    ctx: Context,
    begin: Callable[[str], None],
    arcs: Arcs,
    seen: NDArray[np.uint64],
    masters: Masters,
    seats: Seats,
    dictionary: Dictionary,
    num_edges: int,
    spec: BuildSpec,
) -> Shard:
    """Agree on the groups, then lay the edges out in rows."""
    vertices = int(seats.bases[-1])
    groups = gather_groups(ctx.slot, seen, seats)
    shared, rank = await agree(ctx, groups, masters, vertices)
    begin("rows")
    by_rank = np.argsort(rank, kind="stable")  # sorted runs: merged, not sorted
    by_rank = by_rank[: int(groups.size.sum())].astype(np.int32)
    rows = [_rows(family, groups.local, len(masters.rank), by_rank) for family in arcs]
    return Shard(
        slot=ctx.slot,
        slots=ctx.slots,
        num_vertices=vertices,
        num_edges=num_edges,
        directed=spec.directed,
        bases=seats.bases,
        group_start=groups.start,
        group_size=groups.size,
        size=groups.total,
        rank=rank,
        order=masters.order,
        ids=masters.ids,
        out=rows[0],
        into=rows[-1],
        shared=shared,
        dictionary=dictionary,
    )


def _rows(
    family: list[list[tuple[Array, ...]]], local: NumberSet, masters: int, by_rank: Array
) -> Adjacency:
    """Return the rows of a family of arcs, which it uses up."""
    place = np.empty(int(by_rank.max(initial=-1)) + 1, np.int32)
    place[by_rank] = np.arange(by_rank.size, dtype=np.int32)
    for pieces in family:
        for at, (rows, columns, *weights) in enumerate(pieces):
            pieces[at] = (rows, place.take(local.positions(columns), mode="clip"), *weights)
    return compress(family, masters, by_rank)
