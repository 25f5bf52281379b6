"""The quotient graph: core trees as vertices, the edges between them as weights.

It is gathered on slot 0. Its size does not grow with the graph: there are at most so many trees
(see `growth`), and of more than `LIMIT` pairs for each of them some are drawn, by a hash.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dgraph.engine.context import Context
from dgraph.kernels import kernel, unsigned
from dgraph.placement.growth import Trees
from dgraph.placement.whole import Links
from dgraph.shard import Shard

__all__ = ["Quotient", "gather_quotient", "make_quotient", "quotient_of"]

Array = NDArray[Any]

#: Pairs of trees that are gathered for each tree, at most, but for chance.
LIMIT = 16


@dataclass(frozen=True, slots=True, eq=False)
class Quotient:
    """A small weighted undirected graph.

    Parameters
    ----------
    offsets : int64 array of length n + 1
    targets : int32 array
    weights : int64 array beside `targets`
    mass : int64 array of length n
        What a vertex weighs where parts are to be even.
    """

    offsets: NDArray[np.int64]
    targets: NDArray[np.int32]
    weights: NDArray[np.int64]
    mass: NDArray[np.int64]

    @property
    def n(self) -> int:
        """Number of vertices."""
        return len(self.mass)

    @property
    def rows(self) -> tuple[Array, Array, Array, Array]:
        """Offsets, targets, weights and mass, as kernels take them."""
        return unsigned(self.offsets), unsigned(self.targets), self.weights, self.mass


async def gather_quotient(
    ctx: Context, shard: Shard, links: Links, trees: Trees
) -> tuple[Array, Array, Array, Array] | None:
    """Return source, target and number of edges between trees, and how many vertices they have.

    On slot 0; None elsewhere.
    """
    source, target, count = _pairs(links.rows, links.degree, trees.tree, trees.count)
    total = int((await ctx.allreduce([source.size]))[0])
    if total > LIMIT * trees.count:
        kept = _drawn(source, target, LIMIT * trees.count / total)
        source, target, count = source[kept], target[kept], count[kept]
    sent: list[Any] = [None] * ctx.slots
    own = trees.tree[: shard.masters]
    sent[0] = (source, target, count, np.bincount(own[own >= 0], minlength=trees.count))
    came = await ctx.alltoall(sent)
    if ctx.slot != 0:
        return None
    parts = [some for some in came if some is not None]
    first, second, number = (np.concatenate([some[at] for some in parts]) for at in range(3))
    return first, second, number, np.sum([some[3] for some in parts], axis=0)


def _drawn(source: Array, target: Array, share: float) -> NDArray[np.bool_]:
    """Return which pairs are in a sample: the same on all slots."""
    mixed = source.astype(np.uint64) << np.uint64(32) | target.astype(np.uint64)
    mixed *= np.uint64(0x9E3779B97F4A7C15)
    mixed ^= mixed >> np.uint64(29)
    mixed *= np.uint64(0xBF58476D1CE4E5B9)
    drawn: NDArray[np.bool_] = (mixed >> np.uint64(11)) < np.uint64(share * 2**53)
    return drawn


def make_quotient(
    source: Array, target: Array, count: Array, mass: NDArray[np.int64]
) -> Quotient:
    """Make a graph of pairs; each counts in both directions, equal ones are added up.

    Examples
    --------
    >>> pairs = np.array([[0, 1], [1, 0], [1, 2]], np.int32).T
    >>> q = make_quotient(*pairs, np.array([1, 1, 5]), np.ones(3, np.int64))
    >>> q.offsets, q.targets, q.weights
    (array([0, 1, 3, 4]), array([1, 0, 2, 1], dtype=int32), array([2, 2, 5, 5]))
    """
    offsets, targets, weights = _lay_out(source, target, count, len(mass))
    return Quotient(offsets, targets, weights, mass)


def quotient_of(
    offsets: NDArray[np.int64], targets: Array, tree: NDArray[np.int32], count: int
) -> tuple[Array, Array, Array]:
    """Return the same of a whole graph, of which no edge is left out."""
    links = Links(offsets, targets)
    found: tuple[Array, Array, Array] = _pairs(links.rows, links.degree, tree, count)
    return found


@kernel
def _pairs(rows, degree, tree, count):  # type: ignore[no-untyped-def]
    """Return the pairs of trees with edges between them, the smaller first, and how many."""
    offsets, targets = rows
    begin = np.zeros(count + 1, np.int64)
    for v in range(degree.size):
        if tree[v] >= 0:
            begin[tree[v] + 1] += degree[v]
    for t in range(count):
        begin[t + 1] += begin[t]
    ends, at = np.empty(begin[count], np.int32), begin[:-1].copy()
    for v in range(degree.size):
        t = tree[v]
        if t >= 0:
            to = at[t]
            for i in range(offsets[v], offsets[v + 1]):
                ends[to] = tree[targets[i]]
                to += ends[to] > t  # not: none, the same, one that sees it
            at[t] = to
    many = np.sum(at - begin[:-1])
    source, target = np.empty(many, np.int32), np.empty(many, np.int32)
    number = np.empty(many, np.int32)
    place = np.full(count, -1, np.int64)
    kept = np.int64(0)
    for t in range(count):
        first = kept
        for i in range(begin[t], at[t]):
            other = ends[i]
            if place[other] >= first:
                number[place[other]] += 1
            else:
                place[other] = kept
                source[kept], target[kept], number[kept] = t, other, 1
                kept += 1
    return source[:kept], target[:kept], number[:kept]


@kernel
def _lay_out(source, target, count, n):  # type: ignore[no-untyped-def]
    """Return the rows of pairs: each in both directions, equal ones added up."""
    offsets = np.zeros(n + 1, np.int64)
    for i in range(source.size):
        offsets[source[i] + 1] += 1
        offsets[target[i] + 1] += 1
    for v in range(n):
        offsets[v + 1] += offsets[v]
    targets, weights = np.empty(offsets[n], np.int32), np.empty(offsets[n], np.int64)
    at = offsets[:-1].copy()
    for i in range(source.size):
        a, b = source[i], target[i]
        targets[at[a]], weights[at[a]] = b, count[i]
        at[a] += 1
        targets[at[b]], weights[at[b]] = a, count[i]
        at[b] += 1
    kept = add_up(offsets, targets, weights)
    return offsets, targets[:kept], weights[:kept]


@kernel
def add_up(offsets, targets, weights):  # type: ignore[no-untyped-def]
    """Add up equal targets of each row, drop loops; return how many entries are left."""
    place = np.full(offsets.size, -1, np.int64)
    kept = np.int64(0)
    begin = offsets[0]
    for row in range(offsets.size - 1):
        end = offsets[row + 1]
        start = kept
        for i in range(begin, end):
            t = targets[i]
            if t == row:
                continue
            if place[t] >= start and targets[place[t]] == t:
                weights[place[t]] += weights[i]
            else:
                place[t] = kept
                targets[kept], weights[kept] = t, weights[i]
                kept += 1
        offsets[row + 1] = kept
        begin = end
    return kept
