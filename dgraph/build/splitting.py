"""Split the rows of heavy vertices over the slots.

::

    owner    cuts the rows of its heavy vertices; pieces to their slots
    slot     keeps the pieces it was sent; all agree on the proxies anew
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numba as nb
import numpy as np
from numpy.typing import NDArray

from dgraph.build.numberset import NumberSet, mark
from dgraph.build.owning import Seats
from dgraph.build.pieces import Pieces, agree_anew, by_family, moved_by, relaid, seats_of
from dgraph.build.rhizomes import Rhizomes, allot, nearness
from dgraph.build.routing import Groups
from dgraph.engine.context import Context
from dgraph.shard import Adjacency, Shard, Split
from dgraph.shard.bits import set_bits, words
from dgraph.topology import Topology

__all__ = ["split_rows"]

Array = NDArray[Any]


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
        pieces += int(np.count_nonzero(sizes))
        allot(owner, sizes, near, where[at : at + span.size])
        at += span.size
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
    seats, seat = await seats_of(ctx, shard)
    sent: list[tuple[Array, ...] | None] = []
    for slot in range(ctx.slots):
        columns = [
            column
            for rows, plan in zip(families, plans, strict=True)
            for column in _piece_for(slot, rows, plan, seat).columns
        ]
        sent.append(tuple(columns) if slot != ctx.slot else None)
    came = await ctx.alltoall(sent)
    found = by_family(came, len(families), shard.weighted)
    kept = [_kept(shard, rows, plan) for rows, plan in zip(families, plans, strict=True)]
    seen = NumberSet.empty(int(seats.starts[-1]))
    for rows in kept:
        mark(seen, seat[rows.targets], 0)
    for pieces in found:
        mark(seen, pieces.row, 0)
        mark(seen, pieces.column, 0)
    groups, shared, rank = await agree_anew(ctx, shard, seen, seats)
    moved = moved_by(seat, groups)
    laid = [Adjacency(rows.offsets, moved[rows.targets], rows.weights) for rows in kept]
    splits = [
        _split(rows, plan, pieces, groups, seats)
        for rows, plan, pieces in zip(families, plans, found, strict=True)
    ]
    made = relaid(shard, groups, shared, rank, laid, splits)
    for split in splits:
        set_bits(split.bits, split.heavy)
        await ctx.broadcast_bits(made, split.bits)
    return made


def _piece_for(slot: int, rows: Adjacency, plan: _Plan, seat: Array) -> Pieces:
    """Return what a slot gets of the heavy rows of a family."""
    chosen = plan.entries[plan.slot == slot]
    row = np.searchsorted(rows.offsets, chosen, side="right") - 1
    heavy, length = np.unique(row, return_counts=True)
    more = () if rows.weights is None else (rows.weights[chosen],)
    return Pieces(seat[heavy], length.astype(np.int64), seat[rows.targets[chosen]], more)


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


def _split(rows: Adjacency, plan: _Plan, pieces: Pieces, groups: Groups, seats: Seats) -> Split:
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


@nb.njit(nogil=True, cache=True)
def _row_sum(weights):  # type: ignore[no-untyped-def]
    """Add from left to right."""
    total = 0.0
    for weight in weights:
        total += weight
    return total
