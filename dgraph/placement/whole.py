"""The whole graph on one slot, for strategies that cannot do with less.

Vertices are numbered by rank, so number 0 is the heaviest, and neighbours ascend by rank. The
first slot holds 4 bytes for each end of an edge (12 with weights) while such a strategy works.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dgraph.engine.context import Context
from dgraph.kernels import kernel, unsigned
from dgraph.shard import Shard, number_dtype

__all__ = ["Links", "Whole", "gather_whole", "links_of", "place_whole", "tell_owners"]

Array = NDArray[Any]


@dataclass(frozen=True, slots=True, eq=False)
class Links:
    """What a vertex is joined to, whichever way an edge leads.

    Loops and parallels may occur; so does both of u-v and v-u of a directed graph.

    Attributes
    ----------
    degree : integer array
        How many links each vertex has; as narrow as all links allow.
    rows : tuple of arrays
        Offsets and targets as kernels take them.
    """

    offsets: NDArray[np.int64]
    targets: Array
    weights: Array | None = None
    degree: Array = field(init=False)
    rows: tuple[Array, Array] = field(init=False)

    def __post_init__(self) -> None:
        """Derive what is often asked for."""
        degree = np.diff(self.offsets).astype(number_dtype(len(self.targets)))
        object.__setattr__(self, "degree", degree)
        object.__setattr__(self, "rows", (unsigned(self.offsets), unsigned(self.targets)))


def links_of(shard: Shard, weighted: bool = False) -> Links:
    """Return the links of the masters of a shard, as local ids."""
    if not shard.directed:
        weights = shard.out.weights if weighted else None
        return Links(shard.out.offsets, shard.out.targets, weights)
    offsets = shard.out.offsets + shard.into.offsets
    targets = np.empty(int(offsets[-1]), np.int32)
    weights = np.empty(targets.size) if weighted and shard.weighted else None
    shift = np.zeros_like(offsets)
    for family in (shard.out, shard.into):
        _append(
            family.offsets, family.targets, family.weights, offsets, shift, targets, weights
        )
        shift[:-1] += np.diff(family.offsets)
    return Links(offsets, targets, weights)


@dataclass(frozen=True, slots=True, eq=False)
class Whole:
    """A whole graph, simple and undirected, vertices numbered by rank.

    Parameters
    ----------
    offsets : int64 array of length n + 1
    targets : integer array
        Ascending in each row; no loops, each neighbour once.
    weights : float64 array beside `targets`, or None
        The lightest of parallel edges.
    order : integer array of length n
        The order of each vertex.
    """

    offsets: NDArray[np.int64]
    targets: Array
    weights: Array | None
    order: Array

    @property
    def n(self) -> int:
        """Number of vertices."""
        return len(self.offsets) - 1

    @property
    def degree(self) -> NDArray[np.int64]:
        """Number of neighbours of each vertex."""
        return np.diff(self.offsets)


async def gather_whole(ctx: Context, shard: Shard, weighted: bool = False) -> Whole | None:
    """Gather the graph on slot 0; the others get None."""
    links = links_of(shard, weighted)
    own = shard.rank[: shard.masters]
    columns = [own, shard.order, links.degree, shard.rank[links.targets]]
    if links.weights is not None:
        columns.append(links.weights)
    sent: list[Any] = [None] * ctx.slots
    sent[0] = tuple(columns)
    came = await ctx.alltoall(sent)
    if ctx.slot != 0:
        return None
    parts = [some for some in came if some is not None]
    return _join(shard.num_vertices, parts)


def _join(n: int, parts: list[tuple[Array, ...]]) -> Whole:
    length = np.zeros(n, np.int64)
    order = np.empty(n, number_dtype(n))
    for rank, orders, lengths, *_ in parts:
        length[rank], order[rank] = lengths, orders
    offsets = np.concatenate([[0], np.cumsum(length)])
    targets = np.empty(int(offsets[-1]), number_dtype(n))
    weights = np.empty(targets.size) if len(parts[0]) > 4 else None
    for rank, _, lengths, columns, *weight in parts:
        _fill_rows(
            rank, lengths, columns, weight[0] if weight else None, offsets, targets, weights
        )
    targets, weights = _transpose(offsets, targets, weights)
    kept = _simplify(offsets, targets, weights)
    return Whole(offsets, targets[:kept], None if weights is None else weights[:kept], order)


async def tell_owners(ctx: Context, shard: Shard, owner: Array | None) -> NDArray[np.int32]:
    """Tell every slot the owners of its masters, which slot 0 knows by rank."""
    own = shard.rank[: shard.masters]
    sent: list[Any] = [None] * ctx.slots
    sent[0] = (own,)
    asked = await ctx.alltoall(sent)
    replies: list[Any] = [None] * ctx.slots
    if owner is not None:
        owner = owner.astype(np.int32, copy=False)
        replies = [None if some is None else (owner[some[0]],) for some in asked]
    came = (await ctx.alltoall(replies))[0]
    assert came is not None
    return came[0]


async def place_whole(
    ctx: Context,
    shard: Shard,
    decide: Callable[[Whole], Array],
    weighted: bool = False,
) -> NDArray[np.int32]:
    """Let a function on slot 0 decide the owners by rank; return those of this slot's masters.

    With no more vertices than slots each gets a slot of its own, unasked.
    """
    whole = await gather_whole(ctx, shard, weighted)
    owner = None
    if whole is not None:
        owner = np.arange(whole.n) if whole.n <= ctx.slots else decide(whole)
    return await tell_owners(ctx, shard, owner)


@kernel
def _append(offsets, targets, weights, to_offsets, shift, to_targets, to_weights):  # type: ignore[no-untyped-def]
    for row in range(offsets.size - 1):
        at = to_offsets[row] + shift[row]
        for i in range(offsets[row], offsets[row + 1]):
            to_targets[at] = targets[i]
            if to_weights is not None and weights is not None:
                to_weights[at] = weights[i]
            at += 1


@kernel
def _fill_rows(ranks, lengths, columns, weight, offsets, targets, weights):  # type: ignore[no-untyped-def]
    at = 0
    for row in range(ranks.size):
        to = offsets[ranks[row]]
        for i in range(lengths[row]):
            targets[to + i] = columns[at + i]
            if weights is not None and weight is not None:
                weights[to + i] = weight[at + i]
        at += lengths[row]


@kernel
def _transpose(offsets, targets, weights):  # type: ignore[no-untyped-def]
    """Return the same rows, since every link stands in both, with targets ascending."""
    at = offsets[:-1].copy()
    to_targets = np.empty_like(targets)
    to_weights = None if weights is None else np.empty_like(weights)
    for row in range(offsets.size - 1):
        for i in range(offsets[row], offsets[row + 1]):
            to = at[targets[i]]
            at[targets[i]] += 1
            to_targets[to] = row
            if to_weights is not None and weights is not None:
                to_weights[to] = weights[i]
    return to_targets, to_weights


@kernel
def _simplify(offsets, targets, weights):  # type: ignore[no-untyped-def]
    """Drop loops, keep the lightest of parallels; return how many are left."""
    kept = np.int64(0)
    begin = np.int64(0)
    for row in range(offsets.size - 1):
        end = offsets[row + 1]
        start = kept
        for i in range(begin, end):
            if targets[i] == row:
                continue
            if kept > start and targets[kept - 1] == targets[i]:
                if weights is not None:
                    weights[kept - 1] = min(weights[kept - 1], weights[i])
                continue
            targets[kept] = targets[i]
            if weights is not None:
                weights[kept] = weights[i]
            kept += 1
        offsets[row + 1] = kept
        begin = end
    return kept
