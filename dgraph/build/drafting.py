"""A draft of the graph, for placements that ask for edges: laid out fast, and thrown away.

It is a shard whose masters are a run of the order of ids, in that sequence. Every edge is two
links, one at each end, whichever way it leads; rows are in no particular sequence. Nobody needs
to be told who owns a vertex, since the runs say it, and nobody needs its id.

::

    alltoall  edges to the owners of their ends, as row and seat of the other end
    alltoall  ranks of the masters, from their registrars
              groups of proxies, agreed as those of a shard are (see `routing`)

A small graph, of which one slot gets all vertices, goes there in one exchange.
"""

from __future__ import annotations

from collections.abc import Generator
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from dgraph.build.meeting import PIECE, Filed, order_of_row
from dgraph.build.numbering import Numbering, no_ids
from dgraph.build.numberset import NumberSet, mark
from dgraph.build.owning import Masters, Seats
from dgraph.build.routing import Groups, agree, gather_groups, groups_alone
from dgraph.engine.context import Context
from dgraph.kernels import kernel
from dgraph.shard import Adjacency, Dictionary, Shard, narrow_dtype, number_dtype
from dgraph.shard.memory import give_back

__all__ = ["draw_up"]

Array = NDArray[Any]
Columns = tuple[Array, ...]


async def draw_up(
    ctx: Context,
    filed: Filed,
    numbering: Numbering,
    rank: Array,
    owner: NDArray[np.int32] | None,
    num_edges: int,
) -> Shard:
    """Return this slot's part of the draft.

    Parameters
    ----------
    filed : Filed
        The edges of this slot; they stay.
    numbering : Numbering
    rank, owner : arrays
        Of the vertices of this registrar's block; owners must ascend over all blocks. None:
        all vertices are slot 0's.
    num_edges : int
    """
    if owner is None:
        counts, masters = np.zeros((2, ctx.slots), np.int64)
        counts[0], masters[0] = rank.size, numbering.vertices
    else:
        counts = np.bincount(owner, minlength=ctx.slots)
        masters = await ctx.allreduce(counts)
    seats = Seats.of(masters, masters, np.zeros((ctx.slots, 1), np.int64))
    begin, end = seats.bases[ctx.slot : ctx.slot + 2]
    vertices = numbering.vertices
    order = np.arange(begin, end, dtype=number_dtype(vertices))
    if num_edges <= PIECE and np.count_nonzero(masters) == 1:
        draft = await _on_one_slot(ctx, filed, rank, masters, order, vertices)
    else:
        pieces = await _collect(ctx, filed, seats, num_edges)
        rank = await _tell_ranks(ctx, rank, counts)
        draft = await _on_all_slots(ctx, pieces, rank, seats, order, vertices)
    rank, rows, groups, shared = draft
    return Shard(
        slot=ctx.slot,
        slots=ctx.slots,
        num_vertices=vertices,
        num_edges=num_edges,
        directed=False,
        bases=seats.bases,
        group_start=groups.start,
        group_size=groups.size,
        size=groups.total,
        rank=rank,
        order=order,
        ids=no_ids("int64"),
        out=rows,
        into=rows,
        shared=shared,
        dictionary=Dictionary(numbering.cuts, no_ids("int64"), order[:0]),
    )


class _Draft(NamedTuple):
    """What differs between drafts: ranks of all local vertices, rows, groups of proxies."""

    rank: Array
    rows: Adjacency
    groups: Groups
    shared: tuple[Array, ...]


async def _on_one_slot(
    ctx: Context, filed: Filed, rank: Array, masters: Array, order: Array, vertices: int
) -> _Draft:
    """Bring all edges to the slot that has all masters; there are no proxies."""
    rank, edges = await _gather(ctx, filed, rank, int(masters.argmax()))
    groups = groups_alone(ctx.slot, masters)
    rank = np.append(rank, np.full(groups.total - rank.size, vertices, rank.dtype))
    shared = (np.zeros(0, np.int32),) * ctx.slots
    return _Draft(rank, Adjacency(*_rows_of_both(edges, len(order))), groups, shared)


async def _on_all_slots(
    ctx: Context,
    pieces: list[Columns],
    rank: Array,
    seats: Seats,
    order: Array,
    vertices: int,
) -> _Draft:
    """Make rows of the links that came to this slot, and agree on proxies.

    Takes the pieces away.
    """
    offsets, targets, weights = _rows(pieces, len(order))
    freed = sum(column.nbytes for piece in pieces for column in piece)
    pieces.clear()  # what came is in rows now
    give_back(freed)
    seen = NumberSet.empty(int(seats.starts[-1]))
    mark(seen, targets, 0)
    groups = gather_groups(ctx.slot, seen, seats)
    known = Masters(rank, order, no_ids("int64"))
    shared, rank = await agree(ctx, groups, known, vertices)
    rows = Adjacency(offsets, groups.local.positions(targets), weights)
    return _Draft(rank, rows, groups, shared)


async def _gather(
    ctx: Context, filed: Filed, rank: Array, target: int
) -> tuple[Array, list[Columns]]:
    """Send ranks and edges to a slot; return all ranks there, and first, second[, weights]."""
    first = np.empty(filed.columns.size, rank.dtype)
    _orders(filed.offsets, ctx.slot, ctx.slots, first)
    weight = () if filed.weights is None else (filed.weights,)
    edges = first, filed.columns, *weight
    sent: list[Columns | None] = [None] * ctx.slots
    sent[target] = rank, *edges
    came = [some for some in await ctx.alltoall(sent) if some is not None]
    if ctx.slot != target:
        return rank[:0], [tuple(column[:0] for column in edges)]
    return np.concatenate([some[0] for some in came]), [some[1:] for some in came]


async def _tell_ranks(ctx: Context, rank: Array, counts: Array) -> Array:
    """Send the ranks of a block to the owners, and return those of this slot's masters."""
    cuts = np.concatenate([[0], np.cumsum(counts)]).tolist()
    sent = [(rank[a:b],) if b > a else None for a, b in pairwise(cuts)]
    came = [some[0] for some in await ctx.alltoall(sent) if some is not None]
    return np.concatenate(came) if came else rank[:0]


async def _collect(ctx: Context, filed: Filed, seats: Seats, num_edges: int) -> list[Columns]:
    """Send every edge to the owners of its ends; return rows, columns[, weights] that came."""
    weight = () if filed.weights is None else (filed.weights[:0],)
    held: list[Columns] = [(np.empty(0, np.int32), np.empty(0, seats.dtype), *weight)]
    pieces = _pieces(ctx, filed, seats)
    rounds = 1
    if num_edges > PIECE:  # how many slots have nobody needs to ask
        own = -(-filed.columns.size // PIECE)
        rounds = int((await ctx.allreduce([own], "max"))[0])
    for _ in range(rounds):
        came = await ctx.alltoall(next(pieces, [None] * ctx.slots))
        held += [some for some in came if some is not None]
    return held


def _pieces(
    ctx: Context, filed: Filed, seats: Seats
) -> Generator[list[Columns | None], None, None]:
    """Yield one piece of the edges after the other, as columns for every slot."""
    used = np.flatnonzero(np.diff(seats.bases))
    lows = seats.bases[used]
    every = np.arange(0, int(seats.bases[-1]), 64)
    runs = lows, seats.starts[used], np.searchsorted(lows, every, side="right") - 1
    size = filed.columns.size
    for begin in range(0, size, PIECE):
        first, last = np.searchsorted(filed.offsets, [begin, begin + PIECE - 1], side="right")
        piece = (filed.columns, begin, min(begin + PIECE, size))
        rows = (filed.offsets, int(first) - 1, min(int(last), len(filed.offsets) - 1))
        counts = np.zeros(used.size, np.int64)
        near = np.empty(piece[2] - begin, narrow_dtype(used.size))
        far = np.empty_like(near)
        _count(rows, piece, ctx.slot, ctx.slots, runs, near, far, counts)
        ends = np.cumsum(counts)
        out = [np.empty(ends[-1], np.int32), np.empty(ends[-1], seats.dtype)]
        if filed.weights is not None:
            out.append(np.empty(ends[-1], filed.weights.dtype))
        weights = (filed.weights, out[2]) if filed.weights is not None else None
        at = ends - counts
        _deal(rows, piece, ctx.slot, ctx.slots, runs, near, far, at, out[0], out[1], weights)
        sent: list[Columns | None] = [None] * ctx.slots
        for slot, a, b in zip(used.tolist(), (ends - counts).tolist(), ends, strict=True):
            if b > a:
                sent[slot] = tuple(column[a:b] for column in out)
        yield sent


def _rows(pieces: list[Columns], masters: int) -> tuple[NDArray[np.int64], Array, Array | None]:
    """Return rows of the links that came, in the sequence in which they came.

    Examples
    --------
    >>> came = [(np.array([1, 0], np.int32), np.array([64, 1], np.int32))]
    >>> _rows(came, 2)
    (array([0, 1, 2]), array([ 1, 64], dtype=int32), None)
    """
    offsets = np.zeros(masters + 1, np.int64)
    for piece in pieces:
        _count_rows(piece[0], offsets)
    np.cumsum(offsets, out=offsets)
    at = offsets[:-1].copy()
    targets = np.empty(offsets[-1], pieces[0][1].dtype)
    weights = None if len(pieces[0]) < 3 else np.empty(targets.size, pieces[0][2].dtype)
    for rows, columns, *weight in pieces:
        _append(rows, columns, weight[0] if weight else None, at, targets, weights)
    return offsets, targets, weights


def _rows_of_both(
    pieces: list[Columns], masters: int
) -> tuple[NDArray[np.int64], Array, Array | None]:
    """Return rows of edges that came as first, second[, weight], at both ends.

    Of at most `PIECE` edges.

    Examples
    --------
    >>> _rows_of_both([(np.array([0, 1], np.int32), np.array([2, 1], np.int32))], 3)
    (array([0, 1, 2, 3]), array([2, 1, 0], dtype=int32), None)
    """
    many = np.zeros(masters, np.int32)  # narrow: what is looked at here and there is to be near
    for piece in pieces:
        _count_both(piece[0], piece[1], many)
    offsets = np.zeros(masters + 1, np.int64)
    np.cumsum(many, out=offsets[1:])
    at = offsets[:-1].astype(np.int32)
    targets = np.empty(offsets[-1], np.int32)
    weights = None if len(pieces[0]) < 3 else np.empty(targets.size, pieces[0][2].dtype)
    for first, second, *weight in pieces:
        _append_both(first, second, weight[0] if weight else None, at, targets, weights)
    return offsets, targets, weights


@kernel
def _orders(offsets, slot, slots, first):  # type: ignore[no-untyped-def]
    """Write the order under which each edge is filed."""
    for row in range(offsets.size - 1):
        for i in range(offsets[row], offsets[row + 1]):
            first[i] = order_of_row(row, slot, slots)


@kernel
def _count_both(first, second, many):  # type: ignore[no-untyped-def]
    for i in range(first.size):
        many[first[i]] += 1
        many[second[i]] += first[i] != second[i]


@kernel
def _append_both(first, second, weight, at, targets, weights):  # type: ignore[no-untyped-def]
    for i in range(first.size):
        u, v = first[i], second[i]
        for row, column in ((u, v), (v, u)):
            to = at[row]
            at[row] += 1
            targets[to] = column
            if weights is not None and weight is not None:
                weights[to] = weight[i]
            if u == v:
                break


@kernel(inline="always")
def _run(lows, near, order):  # type: ignore[no-untyped-def]
    """Return in which run an order is; `near` has the run of every 64th order."""
    run = near[order >> 6]
    while run + 1 < lows.size and lows[run + 1] <= order:
        run += 1
    return run


@kernel
def _count(rows, piece, slot, slots, runs, near, far, counts):  # type: ignore[no-untyped-def]
    """Find the runs of both ends of edges; -1 for the second end of a loop."""
    offsets, first, last = rows
    columns, begin, end = piece
    for row in range(first, last):
        a, b = max(offsets[row], begin), min(offsets[row + 1], end)
        if a >= b:
            continue
        order = order_of_row(row, slot, slots)
        here = _run(runs[0], runs[2], order)
        for i in range(a, b):
            there = _run(runs[0], runs[2], columns[i])
            near[i - begin] = here
            counts[here] += 1
            if columns[i] == order:
                far[i - begin] = -1
            else:
                far[i - begin] = there
                counts[there] += 1


@kernel
def _deal(rows, piece, slot, slots, runs, near, far, at, out_rows, out_columns, weights):  # type: ignore[no-untyped-def]
    """Write the links of edges where those of their owner are."""
    offsets, first, last = rows
    columns, begin, end = piece
    lows, starts, _ = runs
    for row in range(first, last):
        a, b = max(offsets[row], begin), min(offsets[row + 1], end)
        if a >= b:
            continue
        order = order_of_row(row, slot, slots)
        here = near[a - begin]
        local = order - lows[here]
        seat = local + starts[here]
        for i in range(a, b):
            there = far[i - begin]
            run = there if there >= 0 else here
            far_local = columns[i] - lows[run]
            to = at[here]
            at[here] += 1
            out_rows[to], out_columns[to] = local, far_local + starts[run]
            if weights is not None:
                weights[1][to] = weights[0][i]
            if there < 0:
                continue
            to = at[there]
            at[there] += 1
            out_rows[to], out_columns[to] = far_local, seat
            if weights is not None:
                weights[1][to] = weights[0][i]


@kernel
def _count_rows(rows, offsets):  # type: ignore[no-untyped-def]
    for row in rows:
        offsets[row + 1] += 1


@kernel
def _append(rows, columns, weight, at, targets, weights):  # type: ignore[no-untyped-def]
    for i in range(rows.size):
        to = at[rows[i]]
        at[rows[i]] += 1
        targets[to] = columns[i]
        if weights is not None and weight is not None:
            weights[to] = weight[i]
