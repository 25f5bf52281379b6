"""Stage D, ranking: degrees, and from them the vertex order.

A slot's edges touch some vertices; it counts the ends at each and sends the counts to the
registrars of their orders. There a vertex's rank is the number of vertices with a higher
degree, plus those of its degree on the registrars before, plus those before it on its own
registrar: counting, no sorting of vertices over the network.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dgraph.build.meeting import Filed, order_of_row
from dgraph.build.numbering import Numbering
from dgraph.build.numberset import NumberSet, mark, position_of
from dgraph.engine.context import Context
from dgraph.kernels import kernel
from dgraph.shard import number_dtype

__all__ = ["Asked", "Degrees", "rank_block", "sum_degrees", "touched"]

Array = NDArray[Any]

#: Degrees are counted in a table while the largest is at most so many times the vertices.
FEW = 8


@dataclass(slots=True)
class Asked:
    """What a registrar remembers of the counts it got, for its replies.

    Parameters
    ----------
    degree : integer array
        Of the vertices of this registrar's block; as narrow as all edges allow.
    positions : list of arrays
        For every slot the positions in the block that its edges touch, ascending.
    """

    degree: Array
    positions: list[Array]


@dataclass(frozen=True, slots=True)
class Degrees:
    """How many vertices of each degree every registrar has; all of them know it.

    Parameters
    ----------
    values : int64 array
        The degrees that there are, ascending.
    counts : int64 array of shape (values, slots)

    Examples
    --------
    >>> some = Degrees(np.array([1, 3]), np.array([[4, 0], [1, 2]]))
    >>> some.by_block.tolist(), some.heaviest, some.squares
    ([[5, 7], [2, 6]], 3, 31.0)
    """

    values: NDArray[np.int64]
    counts: NDArray[np.int64]

    @property
    def by_block(self) -> NDArray[np.int64]:
        """Vertices, and the sum of their degrees, of every registrar: shape (slots, 2)."""
        return np.stack([self.counts.sum(axis=0), self.values @ self.counts], axis=1)

    @property
    def heaviest(self) -> int:
        """The highest degree, 0 if there are no vertices."""
        return int(self.values.max(initial=0))

    @property
    def squares(self) -> float:
        """The sum of the squares of all degrees."""
        return float(self.values.astype(np.float64) ** 2 @ self.counts.sum(axis=1))


def touched(ctx: Context, filed: Filed, vertices: int) -> NumberSet:
    """Return the set of the orders that the edges of this slot touch."""
    bits = NumberSet.empty(vertices)
    mark(bits, filed.columns, 0)
    _mark_rows(bits, filed.offsets, ctx.slot, ctx.slots)
    return NumberSet.of(bits, number_dtype(vertices))


async def sum_degrees(
    ctx: Context, filed: Filed, numbering: Numbering, touch: NumberSet, num_edges: int
) -> Asked:
    """Return the degrees of this registrar's block: ends of edges, so a loop counts 2."""
    ends = np.zeros(len(touch), number_dtype(2 * filed.columns.size))
    _count_ends(
        touch.bits, touch.before, filed.offsets, filed.columns, ctx.slot, ctx.slots, ends
    )
    orders = touch.numbers()
    at = np.searchsorted(orders, numbering.cuts).tolist()
    came = await ctx.alltoall([(orders[a:b], ends[a:b]) for a, b in pairwise(at)])
    begin, end = numbering.cuts[ctx.slot : ctx.slot + 2]
    degree = np.zeros(end - begin, number_dtype(2 * num_edges))
    positions = []
    for some in came:
        assert some is not None
        positions.append(some[0] - some[0].dtype.type(begin))  # as narrow as orders
        degree[positions[-1]] += some[1]  # no vertex twice in one frame
    return Asked(degree, positions)


async def rank_block(ctx: Context, degree: Array, vertices: int) -> tuple[Array, Degrees]:
    """Return the rank of every vertex of this registrar's block, and the degrees of all."""
    values, which, counts = _counted(degree)
    came = await ctx.allgather(values, counts)
    every, at = np.unique(np.concatenate([some[0] for some in came]), return_inverse=True)
    counted = np.zeros((every.size, ctx.slots), np.int64)
    registrars = np.repeat(np.arange(ctx.slots), [some[0].size for some in came])
    counted[at, registrars] = np.concatenate([some[1] for some in came])
    downward = counted[::-1].ravel()  # by degree, highest first, then by registrar
    start = (np.cumsum(downward) - downward).reshape(counted.shape)[::-1, ctx.slot]
    ranks = np.empty(degree.size, number_dtype(vertices))
    _deal_ranks(which, start[np.searchsorted(every, values)], ranks)
    return ranks, Degrees(every.astype(np.int64), counted)


def _counted(degree: Array) -> tuple[Array, Array, Array]:
    """Return the distinct degrees, ascending, which of them each is, and how often it occurs.

    Examples
    --------
    >>> _counted(np.array([7, 0, 7], np.int32))
    (array([0, 7], dtype=int32), array([1, 0, 1]), array([1, 2]))
    """
    if degree.max(initial=0) > FEW * degree.size:
        return np.unique(degree, return_inverse=True, return_counts=True)
    counts = np.bincount(degree)
    values = np.flatnonzero(counts)
    place = np.empty(counts.size, np.intp)
    place[values] = np.arange(values.size)
    return values.astype(degree.dtype), place[degree], counts[values]


@kernel
def _mark_rows(bits, offsets, slot, slots):  # type: ignore[no-untyped-def]
    for row in range(offsets.size - 1):
        if offsets[row + 1] > offsets[row]:
            order = np.uint64(order_of_row(row, slot, slots))
            bits[order >> np.uint64(6)] |= np.uint64(1) << (order & np.uint64(63))


@kernel
def _count_ends(bits, before, offsets, columns, slot, slots, ends):  # type: ignore[no-untyped-def]
    for row in range(offsets.size - 1):
        length = offsets[row + 1] - offsets[row]
        if length > 0:
            ends[position_of(bits, before, order_of_row(row, slot, slots))] += length
    for column in columns:
        ends[position_of(bits, before, column)] += 1


@kernel
def _deal_ranks(which, at, ranks):  # type: ignore[no-untyped-def]
    for i in range(ranks.size):
        ranks[i] = at[which[i]]
        at[which[i]] += 1
