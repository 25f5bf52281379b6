"""Split the rows of heavy vertices over the slots, and put them together again.

::

    split_rows    owner    cuts the rows of its heavy vertices; pieces to their slots
                  slot     keeps the pieces it was sent; all agree on the proxies anew
    whole_rows    slot     sends its pieces back to the owners
                  owner    merges them by rank; all agree on the proxies anew

A vertex travels as its seat (see `owning`). What `whole_rows` returns is, array by array, the
shard that was split. It is kept beside that one, for algorithms that need whole rows.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numba as nb
import numpy as np
from numpy.typing import NDArray

from dgraph.build.numberset import NumberSet, mark
from dgraph.build.owning import Masters, Seats
from dgraph.build.rhizomes import Rhizomes, allot, nearness
from dgraph.build.routing import Groups, agree, gather_groups
from dgraph.engine.context import Context
from dgraph.shard import Adjacency, Shard, Split
from dgraph.shard.bits import set_bits, words
from dgraph.topology import Topology

__all__ = ["split_rows", "whole_rows"]

Array = NDArray[Any]

#: Under what name a split shard keeps the whole one.
WHOLE = "whole rows"


@dataclass(slots=True)
class _Pieces:
    """Pieces of rows, one after the other.

    Parameters
    ----------
    row : array
        The seat of the vertex of each piece, or of each entry.
    length : int64 array beside `row`
    column : array
        The seats of the other ends.
    more : tuple of arrays beside `column`
        Weights, if there are any, and what else travels.
    """

    row: Array
    length: NDArray[np.int64]
    column: Array
    more: tuple[Array, ...]

    @property
    def columns(self) -> tuple[Array, ...]:
        """What is sent."""
        return self.row, self.length, self.column, *self.more


async def split_rows(ctx: Context, shard: Shard, how: Rhizomes) -> tuple[Shard, dict[str, int]]:
    """Split the rows of heavy vertices; all slots take part.

    Parameters
    ----------
    shard : Shard
        With whole rows.
    how : Rhizomes

    Returns
    -------
    shard : Shard
        The same one if nothing is split.
    told : dict
        Of the whole graph: `cutoff`, `split` (vertices), `pieces` of the in-edges, and with
        "out_" before them of the out-edges of a directed graph.
    """
    families = (shard.out, shard.into)[: 1 + shard.directed]
    largest = [int(np.diff(rows.offsets).max(initial=0)) for rows in families]
    rules = [how.ghosts(), how][-len(families) :]
    cuts = [
        rule.cut(int(most), shard.num_edges, ctx.slots)
        for rule, most in zip(rules, await ctx.allreduce(largest, "max"), strict=True)
    ]
    near = nearness(how.topology or Topology.from_fanouts([ctx.slots]))
    plans = [
        _plan(shard, rows, rule, cut, near)
        for rows, rule, cut in zip(families, rules, cuts, strict=True)
    ]
    counts = [count for plan in plans for count in (plan.heavy.size, plan.pieces)]
    total = (await ctx.allreduce(counts)).tolist()
    told: dict[str, int] = {}
    for at, prefix in enumerate(["out_", ""][-len(families) :]):
        told |= {
            f"{prefix}cutoff": cuts[at][1],
            f"{prefix}split": total[2 * at],
            f"{prefix}pieces": total[2 * at + 1],
        }
    if not any(total):
        return shard, told
    return await _send_pieces(ctx, shard, families, plans), told


@dataclass(slots=True)
class _Plan:
    """Where the entries of a family's heavy rows go.

    Parameters
    ----------
    heavy : int32 array
        Masters, ascending.
    pieces : int
        Into how many their rows are cut.
    entries : int64 array
        The entries of their rows.
    slot : int32 array beside `entries`
    """

    heavy: NDArray[np.int32]
    pieces: int
    entries: NDArray[np.int64]
    slot: NDArray[np.int32]


def _plan(
    shard: Shard, rows: Adjacency, rule: Rhizomes, cut: tuple[int, int], near: Array
) -> _Plan:
    """Cut the rows of a family that have more entries than the cutoff."""
    most, cutoff = cut
    degree = np.diff(rows.offsets)
    split = degree > cutoff if most > 1 and shard.slots > 1 else np.zeros(degree.size, bool)
    heavy = np.flatnonzero(split).astype(np.int32)
    spans = [np.arange(rows.offsets[v], rows.offsets[v + 1]) for v in heavy]
    entries = np.concatenate([np.zeros(0, np.int64), *spans])
    where = np.empty(entries.size, np.int32)
    pieces = at = 0
    for v, span in zip(heavy.tolist(), spans, strict=True):
        owner = _owners(shard, rows.targets[span])
        count = min(most, -(-span.size // cutoff))
        homes = np.bincount(owner, minlength=shard.slots)
        sequence = rule.sequence(count, shard.slot, int(shard.rank[v]), near[shard.slot], homes)
        piece = np.arange(span.size) // cutoff % count
        sizes = np.bincount(sequence[piece % sequence.size], minlength=shard.slots)
        allot(owner, sizes, near, where[at : at + span.size])
        pieces, at = pieces + count, at + span.size
    return _Plan(heavy, pieces, entries, where)


def _owners(shard: Shard, locals_: NDArray[np.int32]) -> NDArray[np.int64]:
    """Return the slots that own some local ids."""
    peers = np.array([shard.slot, *shard.peers])
    found: NDArray[np.int64] = peers[np.searchsorted(shard.peer_start, locals_, side="right")]
    return found


async def _send_pieces(
    ctx: Context, shard: Shard, families: Sequence[Adjacency], plans: Sequence[_Plan]
) -> Shard:
    """Send the pieces to their slots and lay the shard out with what came."""
    seats, seat = await _seats(ctx, shard)
    sent: list[tuple[Array, ...] | None] = []
    for slot in range(ctx.slots):
        columns = [
            column
            for rows, plan in zip(families, plans, strict=True)
            for column in _piece_for(slot, rows, plan, seat).columns
        ]
        sent.append(tuple(columns) if slot != ctx.slot else None)
    came = await ctx.alltoall(sent)
    found = _by_family(came, len(families), shard.weighted)
    kept = [_kept(shard, rows, plan) for rows, plan in zip(families, plans, strict=True)]
    seen = NumberSet.empty(int(seats.starts[-1]))
    for rows in kept:
        mark(seen, seat[rows.targets], 0)
    for pieces in found:
        mark(seen, pieces.row, 0)
        mark(seen, pieces.column, 0)
    groups, shared, rank = await _agree(ctx, shard, seen, seats)
    moved = _moved(seat, groups)
    laid = [Adjacency(rows.offsets, moved[rows.targets], rows.weights) for rows in kept]
    splits = [
        _split(rows, plan, pieces, groups, seats)
        for rows, plan, pieces in zip(families, plans, found, strict=True)
    ]
    made = _relaid(shard, groups, shared, rank, laid, splits)
    for split in splits:
        set_bits(split.bits, split.heavy)
        await ctx.broadcast_bits(made, split.bits)
    return made


def _piece_for(slot: int, rows: Adjacency, plan: _Plan, seat: Array) -> _Pieces:
    """Return what a slot gets of the heavy rows of a family."""
    chosen = plan.entries[plan.slot == slot]
    row = np.searchsorted(rows.offsets, chosen, side="right") - 1
    heavy, length = np.unique(row, return_counts=True)
    more = () if rows.weights is None else (rows.weights[chosen],)
    return _Pieces(seat[heavy], length.astype(np.int64), seat[rows.targets[chosen]], more)


def _by_family(
    came: Sequence[tuple[Array, ...] | None], families: int, weighted: bool, more: int = 0
) -> list[_Pieces]:
    """Put the pieces of all slots together, for each family; by ascending seat."""
    width = 3 + weighted + more
    there = [some for some in came if some is not None]
    found = []
    for at in range(0, families * width, width):
        columns = [np.concatenate([some[at + i] for some in there]) for i in range(width)]
        found.append(_Pieces(columns[0], columns[1], columns[2], tuple(columns[3:])))
    return found


def _kept(shard: Shard, rows: Adjacency, plan: _Plan) -> Adjacency:
    """Return the rows without what goes to other slots."""
    keep = np.ones(rows.targets.size, bool)
    keep[plan.entries[plan.slot != shard.slot]] = False
    length = np.diff(rows.offsets)
    length[plan.heavy] = [
        np.count_nonzero(keep[rows.offsets[v] : rows.offsets[v + 1]]) for v in plan.heavy
    ]
    offsets = np.concatenate([[0], np.cumsum(length)])
    weights = None if rows.weights is None else rows.weights[keep]
    return Adjacency(offsets, rows.targets[keep], weights)


def _split(
    rows: Adjacency, plan: _Plan, pieces: _Pieces, groups: Groups, seats: Seats
) -> Split:
    """Return what a slot holds of the split rows of a family."""
    degree = np.diff(rows.offsets)[plan.heavy]
    strength = None
    if rows.weights is not None:
        strength = np.array(
            [_row_sum(rows.weights[rows.offsets[v] : rows.offsets[v + 1]]) for v in plan.heavy],
            np.float64,
        )
    owner = np.searchsorted(seats.starts, pieces.row, side="right") - 1
    return Split(
        heavy=plan.heavy,
        degree=degree,
        strength=strength,
        vertices=groups.local.positions(pieces.row),
        placed=(pieces.row - seats.starts[owner] + seats.bases[owner]).astype(np.int64),
        rows=Adjacency(
            np.concatenate([[0], np.cumsum(pieces.length)]),
            groups.local.positions(pieces.column),
            pieces.more[0] if pieces.more else None,
        ),
        bits=np.zeros(words(groups.total), np.uint64),
    )


async def whole_rows(ctx: Context, shard: Shard) -> Shard:
    """Return the shard with whole rows: this one if no vertex of the graph is split.

    Put together when it is first asked for, and kept with the split one.
    """
    if shard.out_split is None:
        return shard
    found: Shard | None = shard.derived.get(WHOLE)
    everywhere = await ctx.allreduce([found is not None], "min")
    if found is None or not everywhere[0]:
        stage, ctx.stage = ctx.stage, "whole rows"
        found = await _gather_rows(ctx, shard)
        ctx.stage = stage
        shard.derived[WHOLE] = found
    return found


async def _gather_rows(ctx: Context, shard: Shard) -> Shard:
    """Send the pieces back to the owners and lay the shard out with what came."""
    seats, seat = await _seats(ctx, shard)
    families = shard.families
    sent: list[tuple[Array, ...] | None] = []
    for slot in range(ctx.slots):
        columns: list[Array] = []
        for _, split in families:
            assert split is not None
            columns += _piece_of(slot, shard, split, seat).columns
        sent.append(tuple(columns) if slot != ctx.slot else None)
    came = await ctx.alltoall(sent)
    found = _by_family(came, len(families), shard.weighted, more=1)
    seen = NumberSet.empty(int(seats.starts[-1]))
    for (rows, _), pieces in zip(families, found, strict=True):
        mark(seen, seat[rows.targets], 0)
        mark(seen, pieces.column, 0)
    groups, shared, rank = await _agree(ctx, shard, seen, seats)
    moved = _moved(seat, groups)
    laid = [
        _merged(shard, rows, split, pieces, moved, groups, seats)
        for (rows, split), pieces in zip(families, found, strict=True)
    ]
    return _relaid(shard, groups, shared, rank, laid, (None, None))


def _piece_of(slot: int, shard: Shard, split: Split, seat: Array) -> _Pieces:
    """Return the pieces of vertices that a slot owns; beside the seats of columns, ranks."""
    start = shard.group_start[slot]
    begin, end = np.searchsorted(split.vertices, [start, start + shard.group_size[slot]])
    rows = split.rows
    entries = slice(rows.offsets[begin], rows.offsets[end])
    more = [shard.rank[rows.targets[entries]]]
    if rows.weights is not None:
        more.append(rows.weights[entries])
    length = np.diff(rows.offsets[begin : end + 1])
    column = seat[rows.targets[entries]]
    return _Pieces(seat[split.vertices[begin:end]], length, column, tuple(more))


def _merged(
    shard: Shard,
    rows: Adjacency,
    split: Split | None,
    pieces: _Pieces,
    moved: Array,
    groups: Groups,
    seats: Seats,
) -> Adjacency:
    """Return the rows of a family, those that were split with all their pieces, by rank."""
    assert split is not None
    degree = split.whole(np.diff(rows.offsets), split.degree)
    offsets = np.concatenate([[0], np.cumsum(degree)])
    targets = np.empty(offsets[-1], np.int32)
    weights = None if rows.weights is None else np.empty(offsets[-1], rows.weights.dtype)
    _copy_rows(rows.offsets, moved[rows.targets], rows.weights, offsets, targets, weights)
    heavy = np.repeat(pieces.row - seats.starts[shard.slot], pieces.length)
    own = [np.arange(rows.offsets[v], rows.offsets[v + 1]) for v in split.heavy]
    kept = np.concatenate([np.zeros(0, np.int64), *own])
    row = np.append(
        np.repeat(split.heavy, np.diff(rows.offsets)[split.heavy]).astype(np.int64), heavy
    )
    rank = np.append(shard.rank[rows.targets[kept]], pieces.more[0])
    target = np.append(moved[rows.targets[kept]], groups.local.positions(pieces.column))
    keys: tuple[Array, ...] = (rank, row)
    weight = None
    if rows.weights is not None:
        weight = np.append(rows.weights[kept], pieces.more[1])
        keys = (weight, rank, row)  # parallel edges ascend by weight
    by_rank = np.lexsort(keys)
    places = np.concatenate(
        [np.zeros(0, np.int64), *(np.arange(offsets[v], offsets[v + 1]) for v in split.heavy)]
    )
    targets[places] = target[by_rank]
    if weights is not None and weight is not None:
        weights[places] = weight[by_rank]
    return Adjacency(offsets, targets, weights)


async def _seats(ctx: Context, shard: Shard) -> tuple[Seats, Array]:
    """Return the seats of all owners, and the seat of every local vertex."""
    masters = np.diff(shard.bases)
    degree = shard.out_degree + (shard.into_degree if shard.directed else 0)
    live = [int(some[0][0]) for some in await ctx.allgather(_count(degree))]
    none = np.zeros((ctx.slots, 1), np.int64)
    seats = Seats.of(masters, np.array(live), none)
    seat = np.zeros(shard.size, seats.dtype)
    seat[: shard.masters] = np.arange(shard.masters) + seats.starts[ctx.slot]
    await ctx.broadcast(shard, seat)
    return seats, seat


def _count(degree: Array) -> Array:
    return np.array([np.count_nonzero(degree)])


async def _agree(
    ctx: Context, shard: Shard, seen: NDArray[np.uint64], seats: Seats
) -> tuple[Groups, tuple[NDArray[np.int32], ...], Array]:
    groups = gather_groups(ctx.slot, seen, seats)
    masters = Masters(shard.rank[: shard.masters], shard.order, shard.ids)
    return (groups, *await agree(ctx, groups, masters, shard.num_vertices))


def _moved(seat: Array, groups: Groups) -> Array:
    """Return the new local id of each old one; of those that are no more, any."""
    return groups.local.positions(seat)


def _relaid(
    shard: Shard,
    groups: Groups,
    shared: tuple[NDArray[np.int32], ...],
    rank: Array,
    rows: Sequence[Adjacency],
    splits: Sequence[Split | None],
) -> Shard:
    """Return the shard with other rows, over other local ids."""
    return replace(
        shard,
        group_start=groups.start,
        group_size=groups.size,
        size=groups.total,
        rank=rank,
        out=rows[0],
        into=rows[-1],
        shared=shared,
        out_split=splits[0],
        into_split=splits[-1],
    )


@nb.njit(nogil=True, cache=True)
def _row_sum(weights):  # type: ignore[no-untyped-def]
    """Add from left to right."""
    total = 0.0
    for weight in weights:
        total += weight
    return total


@nb.njit(nogil=True, cache=True)
def _copy_rows(offsets, targets, weights, to_offsets, to_targets, to_weights):  # type: ignore[no-untyped-def]
    """Copy rows to the beginnings of rows that are as long or longer."""
    for row in range(offsets.size - 1):
        to = to_offsets[row]
        for at in range(offsets[row], offsets[row + 1]):
            to_targets[to] = targets[at]
            if weights is not None and to_weights is not None:
                to_weights[to] = weights[at]
            to += 1
