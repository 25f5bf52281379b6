r"""Close wedges: what triangles and clustering coefficients are counted by.

Every edge is oriented from its vertex of lower degree to that of higher degree, that is towards
the smaller rank [1]_. No vertex has more than sqrt(2 m) edges that way, however large the hubs
are. A triangle is then one vertex c with edges to b and a, and one edge from b to a::

        c             rank a < rank b < rank c
       / \
      v   v           N+(v): the vertices to which edges of v are oriented, by ascending rank
      b -> a

and each triangle is found once, where c is at home, as a wedge b - c - a that N+(b) closes::

    for each b:
        mark N+(b)
        for each c with b in N+(c):
            for each a in N+(c) before b:
                if a is marked: the triangle c, b, a

What that costs are the pairs in the rows N+(c), not those at the hubs. Of a vertex b that is
at home on another slot, N+(b) is asked for if it has such pairs here, and comes as ranks. The
owners send in rounds of at most `ROUND` vertices to a slot, so memory stays bounded.

Counted is for each vertex the number of edges opposite to it. In a directed graph a neighbour
may be on either side, and an edge in both directions counts 2.

References
----------
.. [1] T. Schank, D. Wagner: Finding, counting and listing all triangles in large graphs, an
   experimental study, WEA 2005, doi:10.1007/11427186_54: algorithm "forward"
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from dgraph.algorithms._forward import Forward, Locals, forward_rows
from dgraph.engine.context import Context
from dgraph.kernels import kernel
from dgraph.shard import Shard

__all__ = ["ROUND", "close_wedges"]

#: Vertices of rows that a slot receives in a round: 64 MiB of ranks.
ROUND = 2**24

Array = NDArray[Any]


class Whereabouts(NamedTuple):
    """Which local id has a rank: ranks ascending, and where their high bits change."""

    ranks: Array
    locals: NDArray[np.int64]
    begin: NDArray[np.int64]
    shift: int


class Answer(NamedTuple):
    """What a slot has asked for: rows, their places in its group, where the portions begin."""

    places: NDArray[np.int32]
    rows: NDArray[np.int32]
    begin: NDArray[np.int64]


async def close_wedges(
    ctx: Context, shard: Shard
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return for each master the edges opposite to it in triangles, and its degree.

    The degree is the number of distinct neighbours other than itself.
    """
    f = forward_rows(shard)
    mark, credit = np.zeros(shard.size, np.uint8), np.zeros(shard.size, np.int64)
    ctx.stage = "ask for rows"
    asked = await ctx.alltoall(_missing_rows(shard, f))
    answers = [_answer(shard, f, slot, some) for slot, some in enumerate(asked)]
    own = max(answer.begin.size - 1 for answer in answers)
    rounds = int((await ctx.allreduce([own], op="max"))[0])
    close(f, np.arange(shard.masters), f.offsets, f.heads, f.arcs, mark, credit)
    where = _whereabouts(shard)
    ctx.stage = "rows"
    for turn in range(rounds):
        portions = [_portion(shard, f, answer, turn) for answer in answers]
        for source, some in enumerate(await ctx.alltoall(portions)):
            if some is not None:
                places, offsets, ranks, arcs = some
                heads, offsets, arcs = find_here(ranks, offsets, arcs, *where)
                bs = places + shard.group_start[source]
                close(f, bs, offsets, heads, arcs, mark, credit)
    ctx.stage = "credit"
    proxies = (shard.masters + np.flatnonzero(credit[shard.masters :])).astype(np.int32)
    vertices, values = await ctx.reduce(shard, proxies, credit[proxies], combine="sum")
    np.add.at(credit, vertices, values)
    return credit[: shard.masters], f.degree


def _missing_rows(shard: Shard, f: Forward) -> list[tuple[Array, ...] | None]:
    """Return for each slot the places of its vertices whose rows N+ are needed here."""
    wanted = heads_of_wedges(f.by_head, f.places, shard.masters)
    columns: list[tuple[Array, ...] | None] = [None] * shard.slots
    for peer in shard.peers:
        begin = np.searchsorted(wanted, shard.group_start[peer])
        end = np.searchsorted(wanted, shard.group_start[peer] + shard.group_size[peer])
        if end > begin:
            columns[peer] = ((wanted[begin:end] - shard.group_start[peer]).astype(np.int32),)
    return columns


@kernel
def heads_of_wedges(by_head, places, masters):  # type: ignore[no-untyped-def]
    """Return the proxies that stand behind another vertex in a row N+ here."""
    found = np.empty(by_head.size - 1 - masters, np.int32)
    count = 0
    for v in range(masters, by_head.size - 1):
        for k in range(by_head[v], by_head[v + 1]):
            if places[k] > 0:
                found[count] = v
                count += 1
                break
    return found[:count]


def _answer(shard: Shard, f: Forward, slot: int, asked: tuple[Array, ...] | None) -> Answer:
    """Cut the rows that a slot has asked for into portions."""
    if asked is None:
        nothing = np.zeros(0, np.int32)
        return Answer(nothing, nothing, np.zeros(1, np.int64))
    rows = shard.shared[slot][asked[0]]
    ends = np.cumsum(f.offsets[rows + 1] - f.offsets[rows])
    share = max(1, ROUND // (shard.slots - 1))
    portions = -(-int(ends[-1]) // share)
    begin = np.searchsorted(ends, share * np.arange(portions), side="right")
    return Answer(asked[0], rows, np.append(begin, rows.size))


def _portion(shard: Shard, f: Forward, answer: Answer, turn: int) -> tuple[Array, ...] | None:
    """Return places, offsets, ranks and arcs of the rows that are sent in a round."""
    if turn >= answer.begin.size - 1:
        return None
    chosen = slice(answer.begin[turn], answer.begin[turn + 1])
    return (answer.places[chosen], *copy_rows(f, answer.rows[chosen], shard.rank))


@kernel
def copy_rows(f, rows, rank):  # type: ignore[no-untyped-def]
    offsets = np.zeros(rows.size + 1, np.int64)
    for i in range(rows.size):
        offsets[i + 1] = offsets[i] + f.offsets[rows[i] + 1] - f.offsets[rows[i]]
    ranks = np.empty(offsets[-1], rank.dtype)
    arcs = np.empty(offsets[-1] if f.arcs.size else 0, np.uint8)
    at = 0
    for row in rows:
        for j in range(f.offsets[row], f.offsets[row + 1]):
            ranks[at] = rank[f.heads[j]]
            if f.arcs.size:
                arcs[at] = f.arcs[j]
            at += 1
    return offsets, ranks, arcs


def _whereabouts(shard: Shard) -> Whereabouts:
    """Index the local ids by rank; about one of them has the same high bits."""
    present = np.flatnonzero(shard.rank < shard.num_vertices)
    here = present[np.argsort(shard.rank[present], kind="stable")]
    ranks = shard.rank[here]
    shift = max(0, int(shard.num_vertices).bit_length() - int(here.size).bit_length())
    high = np.arange((shard.num_vertices >> shift) + 2)
    return Whereabouts(ranks, here, np.searchsorted(ranks, high << shift), shift)


@kernel
def find_here(ranks, offsets, arcs, known, locals_, begin, shift):  # type: ignore[no-untyped-def]
    """Turn ranks into local ids, without the vertices that no edge here touches."""
    heads, kept_arcs = np.empty(ranks.size, np.uint32), np.empty_like(arcs)
    kept = np.zeros_like(offsets)
    count = 0
    for row in range(offsets.size - 1):
        for j in range(offsets[row], offsets[row + 1]):
            low, high = begin[ranks[j] >> shift], begin[(ranks[j] >> shift) + 1]
            while low < high:
                middle = (low + high) >> 1
                if known[middle] < ranks[j]:
                    low = middle + 1
                else:
                    high = middle
            if low < known.size and known[low] == ranks[j]:
                heads[count] = locals_[low]
                if arcs.size:
                    kept_arcs[count] = arcs[j]
                count += 1
        kept[row + 1] = count
    return heads, kept, kept_arcs


def close(
    f: Forward,
    bs: NDArray[np.int64],
    offsets: NDArray[np.int64],
    heads: Locals,
    arcs: NDArray[np.uint8],
    mark: NDArray[np.uint8],
    credit: NDArray[np.int64],
) -> None:
    """Credit the triangles in which b, by rank, is the middle one, for several b.

    Parameters
    ----------
    bs : local ids
    offsets, heads, arcs : arrays
        N+(b) beside them.
    mark : uint8 array over the local ids, zero
    credit : int64 array over the local ids
        Is added to.
    """
    kernel = close_directed if f.arcs.size else close_undirected
    kernel(f, bs.astype(np.int64), offsets, heads, arcs, mark, credit)


@kernel
def close_undirected(f, bs, offsets, heads, arcs, mark, credit):  # type: ignore[no-untyped-def]
    row = f.heads
    for i in range(bs.size):
        b = bs[i]
        for j in range(offsets[i], offsets[i + 1]):
            mark[heads[j]] = 1
        of_b = np.int64(0)
        for k in range(f.by_head[b], f.by_head[b + 1]):
            c = f.tails[k]
            begin = f.offsets[c]
            of_c = np.int64(0)
            for j in range(begin, begin + f.places[k]):
                a = row[j]
                closed = np.int64(mark[a])
                of_c += closed
                credit[a] += closed
            credit[c] += of_c
            of_b += of_c
        credit[b] += of_b
        for j in range(offsets[i], offsets[i + 1]):
            mark[heads[j]] = 0


@kernel
def close_directed(f, bs, offsets, heads, arcs, mark, credit):  # type: ignore[no-untyped-def]
    row = f.heads
    for i in range(bs.size):
        b = bs[i]
        for j in range(offsets[i], offsets[i + 1]):
            mark[heads[j]] = arcs[j]
        of_b = np.int64(0)
        for k in range(f.by_head[b], f.by_head[b + 1]):
            c = f.tails[k]
            begin = f.offsets[c]
            from_c_to_b = np.int64(f.arcs[begin + f.places[k]])
            of_c = np.int64(0)
            for j in range(begin, begin + f.places[k]):
                a = row[j]
                from_b_to_a = np.int64(mark[a])
                closed = np.int64(from_b_to_a > 0)
                of_c += from_b_to_a
                of_b += closed * f.arcs[j]
                credit[a] += closed * from_c_to_b
            credit[c] += of_c
        credit[b] += of_b
        for j in range(offsets[i], offsets[i + 1]):
            mark[heads[j]] = 0
