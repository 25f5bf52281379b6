"""Split the rows of heavy vertices over the slots.

::

    owner    cuts the rows of its heavy vertices; pieces to their slots
    slot     keeps the pieces it was sent; all agree on the proxies anew
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dgraph.build.blocks import allot_blocks, block_slots
from dgraph.build.numberset import NumberSet, mark
from dgraph.build.owning import Seats
from dgraph.build.pieces import Pieces, agree_anew, by_family, moved_by, relaid, seats_of
from dgraph.build.rhizomes import Rhizomes, allot, go_home, nearness
from dgraph.build.routing import Groups
from dgraph.distinct import distinct
from dgraph.engine.context import Context
from dgraph.kernels import kernel
from dgraph.shard import Adjacency, Shard, Split
from dgraph.shard.bits import set_bits, words
from dgraph.topology import Topology

__all__ = ["split_rows"]

Array = NDArray[Any]

#: A slot gets at most so much more than the mean of all entries, where that can be chosen, ...
EPS = 0.05
#: ... which is tried so often.
ROUNDS = 4


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
    topology = how.topology or Topology.from_fanouts([ctx.slots])
    near = nearness(topology)
    plans = [
        _plan(shard, rows, rule, cut, near)
        for rows, rule, cut in zip(families, rules, cuts, strict=True)
    ]
    if how.allocation == "sources" and not how.fission:
        await _even_out(ctx, families, plans)
    if how.blocks:
        by_owner = block_slots(topology, ctx.slot)
        plans = [
            plan.beside(_plan_blocks(shard, rows, by_owner))
            for rows, plan in zip(families, plans, strict=True)
        ]
    plans = [plan.trimmed(ctx.slot) for plan in plans]
    counts = [count for plan in plans for count in (plan.heavy.size, plan.pieces)]
    counts += [plan.parted(rows.targets) for rows, plan in zip(families, plans, strict=True)]
    total = (await ctx.allreduce(counts)).tolist()
    parted = [count > 0 for count in total[2 * len(plans) :]]
    told: dict[str, int] = {}
    for at, prefix in enumerate(["out_", ""][-len(families) :]):
        told |= {
            f"{prefix}cutoff": cuts[at][1],
            f"{prefix}split": total[2 * at],
            f"{prefix}pieces": total[2 * at + 1],
        }
    if not any(total):
        return shard, told
    made = await _send_pieces(ctx, shard, families, plans)
    splits = [
        None if split is None else replace(split, parted=flag)
        for (_, split), flag in zip(made.families, parted, strict=True)
    ]
    return replace(made, out_split=splits[0], into_split=splits[-1]), told


@dataclass(slots=True)
class _Plan:
    """Where the entries of a family's heavy rows go.

    Parameters
    ----------
    entries : int64 array
        The entries of the rows, row by row.
    row : int32 array beside `entries`
        The masters whose they are, ascending.
    slot : int32 array beside `entries`
    """

    entries: NDArray[np.int64]
    row: NDArray[np.int32]
    slot: NDArray[np.int32]

    @property
    def heavy(self) -> NDArray[np.int32]:
        """The masters, each once."""
        return distinct(self.row)

    @property
    def pieces(self) -> int:
        """Into how many pieces their rows are cut."""
        slots = int(self.slot.max(initial=0)) + 1
        return int(distinct(self.row.astype(np.int64) * slots + self.slot).size)

    def parted(self, targets: NDArray[np.int32]) -> int:
        """Count parallel edges next to one another that go to different slots."""
        ends, row, slot = targets[self.entries], self.row, self.slot
        same = (row[1:] == row[:-1]) & (ends[1:] == ends[:-1])
        return int(np.count_nonzero(same & (slot[1:] != slot[:-1])))

    def trimmed(self, root: int) -> _Plan:
        """Return the plan without rows of which nothing goes anywhere else."""
        parted = np.isin(self.row, self.row[self.slot != root])
        return _Plan(self.entries[parted], self.row[parted], self.slot[parted])

    def beside(self, others: _Plan) -> _Plan:
        """Return this plan with the rows of another one that it has not itself."""
        new = ~np.isin(others.row, self.row)
        entries = np.append(self.entries, others.entries[new])
        by_row = np.argsort(entries, kind="stable")
        row = np.append(self.row, others.row[new])[by_row]
        slot = np.append(self.slot, others.slot[new])[by_row]
        return _Plan(entries[by_row], row, slot)


def _plan_blocks(shard: Shard, rows: Adjacency, by_owner: NDArray[np.int32]) -> _Plan:
    """Block the rows of a family that have more entries than there are columns."""
    degree = np.diff(rows.offsets)
    many = degree > distinct(by_owner).size
    entries = np.flatnonzero(np.repeat(many, degree))
    row = np.repeat(np.flatnonzero(many).astype(np.int32), degree[many])
    owner = _owners(shard, rows.targets[entries])
    return _Plan(entries, row, allot_blocks(owner, row, shard.slot, by_owner))


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
    owners = _owners(shard, rows.targets[entries])
    where = np.empty(entries.size, np.int32)
    at = 0
    for v, span in zip(heavy.tolist(), spans, strict=True):
        owner, to = owners[at : at + span.size], where[at : at + span.size]
        count = min(most, -(-span.size // cutoff))
        homes = np.bincount(owner, minlength=shard.slots)
        sequence = rule.sequence(count, shard.slot, int(shard.rank[v]), near[shard.slot], homes)
        if rule.at_home:
            go_home(owner, sequence, near, to)
        else:
            piece = np.arange(span.size) // cutoff % count
            sizes = np.bincount(sequence[piece % sequence.size], minlength=shard.slots)
            allot(owner, sizes, near, to)
        at += span.size
    return _Plan(entries, np.repeat(heavy, degree[heavy]), where)


async def _even_out(
    ctx: Context, families: Sequence[Adjacency], plans: Sequence[_Plan]
) -> None:
    """Let entries stay with their roots that would fill a slot too much; a few exchanges."""
    whole = sum(rows.targets.size for rows in families)
    for _ in range(ROUNDS):
        goes = np.bincount(np.concatenate([plan.slot for plan in plans]), minlength=ctx.slots)
        moved = np.where(np.arange(ctx.slots) == ctx.slot, 0, goes)
        load = goes.copy()
        load[ctx.slot] += whole - sum(plan.slot.size for plan in plans)
        total = (await ctx.allreduce(np.append(load, moved))).reshape(2, -1)
        over = total[0] - int((1 + EPS) * total[0].mean())
        stays = 1 - np.clip(over / np.maximum(total[1], 1), 0, 1)
        if (stays == 1).all():
            break
        for plan in plans:
            for slot in np.flatnonzero(stays < 1).tolist():
                there = np.flatnonzero(plan.slot == slot)
                if slot != ctx.slot:  # the lightest rows come last
                    plan.slot[there[int(stays[slot] * there.size) :]] = ctx.slot


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
        _split(ctx.slot, rows, plan, pieces, groups, seats)
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
    np.subtract.at(length, plan.row[plan.slot != shard.slot], 1)
    offsets = np.concatenate([[0], np.cumsum(length)])
    weights = None if rows.weights is None else rows.weights[keep]
    return Adjacency(offsets, rows.targets[keep], weights)


def _split(
    root: int, rows: Adjacency, plan: _Plan, pieces: Pieces, groups: Groups, seats: Seats
) -> Split:
    """Return what a slot holds of the split rows of a family."""
    heavy = plan.heavy
    degree = np.diff(rows.offsets)[heavy]
    sent = tuple(
        distinct(plan.row[plan.slot == slot]) if slot != root else heavy[:0]
        for slot in range(len(groups.size))
    )
    strength = None
    if rows.weights is not None:
        strength = np.array(
            [_row_sum(rows.weights[rows.offsets[v] : rows.offsets[v + 1]]) for v in heavy],
            np.float64,
        )
    owner = np.searchsorted(seats.starts, pieces.row, side="right") - 1
    return Split(
        heavy=heavy,
        degree=degree,
        strength=strength,
        vertices=groups.local.positions(pieces.row),
        placed=(pieces.row - seats.starts[owner] + seats.bases[owner]).astype(np.int64),
        rows=Adjacency(
            np.concatenate([[0], np.cumsum(pieces.length)]),
            groups.local.positions(pieces.column),
            pieces.more[0] if pieces.more else None,
        ),
        sent=sent,
        bits=np.zeros(words(groups.total), np.uint64),
    )


@kernel
def _row_sum(weights):  # type: ignore[no-untyped-def]
    """Add from left to right."""
    total = 0.0
    for weight in weights:
        total += weight
    return total
