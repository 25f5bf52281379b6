"""Community detection by label propagation, as LDBC Graphalytics defines it [1]_.

Every vertex begins with its own id as its label. In each round all vertices at the same time
take the label that most of their neighbours have, of several such labels the smallest::

    L_0(v) = v
    L_i(v) = min(argmax over l of |{u in N_in(v): L_i-1(u) = l}| + |{u in N_out(v): ...}|)

There are exactly `max_iter` rounds, whether the labels settle or not: on the edge 1 - 2 the two
labels change places for ever. In a directed graph a neighbour in both directions votes twice.
A kept parallel edge votes each time. A loop is a vote of the vertex for its own label, two in a
directed graph (it is an in- and an out-neighbour). A vertex without an edge keeps its label.

How a round is cheap: a vertex of which no neighbour has changed keeps its label without being
looked at. Of the others most keep it because more than half of the neighbours have it, which
takes only comparisons. The rest count votes, in an array of a counter for each label, or in a
hash table of twice the votes where that array would be too large. In the first round all labels
differ, and a neighbour has as many votes as it has parallel edges.

Where the rows of heavy vertices are split over slots, the votes for these are counted where the
edges are, and only labels with their counts travel, see `_votes`.

Encodings: a label is the `order` of the vertex, so the smallest label is the smallest id.
`awake` is a bitmap of the masters that have a changed neighbour.

Cost: supersteps: one a round, three with split rows, and no more when no label changes.
Messages: a label for each proxy of a changed vertex, and a bit for each proxy with a changed
neighbour.

References
----------
.. [1] The LDBC Graphalytics Benchmark, arXiv:2011.15028, section 2.3.4; after U. N. Raghavan,
   R. Albert, S. Kumara: Near linear time algorithm to detect community structures in
   large-scale networks, Phys. Rev. E 76, 036106, 2007, doi:10.1103/PhysRevE.76.036106
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from dgraph.algorithms._votes import Votes
from dgraph.arguments import integer
from dgraph.engine.changes import exchange_changes
from dgraph.engine.columns import Column, Orders
from dgraph.engine.context import Context
from dgraph.graph import Graph, check_graph, run_algorithm
from dgraph.kernels import kernel
from dgraph.keywords import named
from dgraph.results import VERTEX
from dgraph.shard import Adjacency, Shard
from dgraph.shard.bits import lowest, words

if TYPE_CHECKING:
    from dask.dataframe import DataFrame

__all__ = ["COUNTERS", "FEW", "cdlp", "cdlp_slot"]

#: The most vertices for which there is a counter for every label: 64 MiB a slot.
COUNTERS = 2**24

#: Neighbours of changed vertices are looked up if the changed have less than 1 / FEW of the
#: edges; else every vertex is looked at again. On a Kronecker graph either is rare: rounds
#: change nearly all or nearly nothing.
FEW = 16

Array = NDArray[Any]
Bits = NDArray[np.uint64]
_ONE = np.uint64(1)
_ALL = ~np.uint64(0)
_MIX = np.uint64(0x9E3779B97F4A7C15)  # 2**64 / golden ratio, for multiplicative hashing


class Rows(NamedTuple):
    """The votes: out-edges of the masters; in-edges, of which an undirected graph has none.

    Targets as unsigned views, see `dgraph.shard.rows`; the ranks of the local ids; masters /
    vertices.
    """

    out_offsets: NDArray[np.int64]
    out: NDArray[np.uint32]
    into_offsets: NDArray[np.int64]
    into: NDArray[np.uint32]
    rank: Array
    share: float


async def cdlp_slot(ctx: Context, shard: Shard, max_iter: int = 10) -> dict[str, Column]:
    """Propagate labels for `max_iter` rounds; see :func:`cdlp`."""
    rows, masters = _rows(shard), shard.masters
    label = np.zeros(shard.size, shard.order.dtype)
    label[:masters] = shard.order
    changed, new = np.empty(masters, np.int32), np.empty(masters, label.dtype)
    awake, marks = np.empty(words(masters), np.uint64), np.zeros(words(shard.size), np.uint64)
    counters = _counters(shard, rows)
    votes_for_heavy = None if shard.out_split is None else Votes(ctx, shard, counters[1])
    ctx.stage = "labels"
    await ctx.broadcast(shard, label)
    everyone = True
    for turn in range(max_iter):
        ctx.stage = "round"
        awake[:] = _ALL if everyone else marks[: awake.size]
        heavy = 0
        if votes_for_heavy is not None:
            awake &= ~votes_for_heavy.bits
            elected, labels = await votes_for_heavy.elect(label, turn == 0)
            heavy = elected.size
        count = find_changes(rows, label, awake, turn == 0, *counters, changed, new)
        if heavy:
            count = insert(elected, labels, changed, new, count)
        votes = adopt(rows, label, changed[:count], new)
        marks[:] = 0
        many = heavy > 0 or votes * FEW > rows.out.size + rows.into.size
        work = None if many else mark_neighbours(rows, changed[:count], masters, marks)
        await exchange_changes(
            ctx, shard, changed[:count], (label,), marks, (count, many), work, most=True
        )
        everyone = ctx.vote[1] > 0
        if ctx.vote[0] == 0:
            break
    return {"label": Orders(label[:masters])}


def _rows(shard: Shard) -> Rows:
    out, into = shard.out, shard.into
    if not shard.directed:
        into = Adjacency(np.zeros_like(out.offsets), out.targets[:0])
    share = shard.masters / max(shard.num_vertices, 1)
    return Rows(
        out.offsets,
        out.targets.view(np.uint32),
        into.offsets,
        into.targets.view(np.uint32),
        shard.rank,
        share,
    )


def _counters(shard: Shard, rows: Rows) -> tuple[Array | None, NDArray[np.int32]]:
    """Return the keys (None: every label has its own counter) and the counters, all zero."""
    if shard.num_vertices <= COUNTERS:
        return None, np.zeros(shard.num_vertices, np.int32)
    votes = np.diff(rows.out_offsets) + np.diff(rows.into_offsets)
    room = 1 << int(2 * votes.max(initial=1) - 1).bit_length()
    return np.full(room, -1, shard.order.dtype), np.zeros(room, np.int32)


def insert(elected: Array, labels: Array, changed: Array, new: Array, count: int) -> int:
    """Add vertices and their new labels to those that change, ascending; return how many."""
    at, total = np.searchsorted(changed[:count], elected), count + elected.size
    changed[:total] = np.insert(changed[:count], at, elected)
    new[:total] = np.insert(new[:count], at, labels)
    return total


@kernel
def find_changes(rows, label, awake, first, keys, counters, changed, new):  # type: ignore[no-untyped-def]
    """Find the new labels of the vertices that are awake; return how many change."""
    count = 0
    out, into = rows.out, rows.into  # looked up here, not in inner loops: a third faster
    masters = rows.out_offsets.size - 1
    for word in range(awake.size):
        bits = awake[word]
        while bits:
            v = (word << 6) + lowest(bits)
            bits &= bits - _ONE
            if v >= masters:
                break
            begin, end = rows.out_offsets[v], rows.out_offsets[v + 1]
            back, back_end = rows.into_offsets[v], rows.into_offsets[v + 1]
            votes = end - begin + back_end - back
            if votes == 0:
                continue
            best = label[v]
            if votes == 1:  # as many vertices have: no need to count
                best = label[out[begin] if end > begin else into[back]]
            elif first and back == back_end and all_differ(out, begin, end):
                best = smallest(label, out, begin, end)
            elif (
                first
                or 2
                * (
                    votes_for(best, label, out, begin, end)
                    + votes_for(best, label, into, back, back_end)
                )
                <= votes
            ):
                best = most_frequent(label, out[begin:end], into[back:back_end], keys, counters)
            if best != label[v]:
                changed[count], new[count] = v, best
                count += 1
    return count


@kernel
def all_differ(targets, begin, end):  # type: ignore[no-untyped-def]
    """Return whether no edges of a row are parallel: such stand together."""
    same = 0
    for j in range(begin + 1, end):
        same += targets[j - 1] == targets[j]
    return same == 0


@kernel
def smallest(label, targets, begin, end):  # type: ignore[no-untyped-def]
    """Return the smallest label in a row that is not empty."""
    best = label[targets[begin]]
    for j in range(begin + 1, end):
        best = min(best, label[targets[j]])
    return best


@kernel
def votes_for(one, label, targets, begin, end):  # type: ignore[no-untyped-def]
    """Return how many in a row have a label."""
    votes = 0
    for j in range(begin, end):
        votes += label[targets[j]] == one
    return votes


@kernel
def most_frequent(label, row, back, keys, counters):  # type: ignore[no-untyped-def]
    """Return the label with most votes in two rows, of several the smallest.

    It leaves all counters at 0.
    """
    bits = 0
    if keys is not None:
        while (1 << bits) < 2 * (row.size + back.size):
            bits += 1
    best, most = tally(label, row, label.dtype.type(-1), 0, keys, counters, bits)
    best, most = tally(label, back, best, most, keys, counters, bits)
    if keys is not None:
        keys[: 1 << bits] = -1
        counters[: 1 << bits] = 0
    else:
        for u in row:
            counters[label[u]] = 0
        for u in back:
            counters[label[u]] = 0
    return best


@kernel
def tally(label, row, best, most, keys, counters, bits):  # type: ignore[no-untyped-def]
    """Count the votes of a row; return the best label so far, and its votes.

    Each label comes by when it has reached its number of votes, so of those that reach the
    highest number the smallest is what remains.
    """
    for u in row:
        vote = label[u]
        place = np.int64(vote)
        if keys is not None:
            place = np.int64((np.uint64(vote) * _MIX) >> np.uint64(64 - bits))
            while keys[place] >= 0 and keys[place] != vote:
                place = (place + 1) & ((1 << bits) - 1)
            keys[place] = vote
        votes = counters[place] + 1
        counters[place] = votes
        if votes > most or (votes == most and vote < best):
            best, most = vote, votes
    return best, most


@kernel
def adopt(rows, label, changed, new):  # type: ignore[no-untyped-def]
    """Give the changed vertices their new labels; return how many votes they have."""
    votes = 0
    for i in range(changed.size):
        v = changed[i]
        label[v] = new[i]
        votes += degree(rows, v)
    return votes


@kernel
def degree(rows, v):  # type: ignore[no-untyped-def]
    """Return how many votes the neighbours of v have."""
    out = rows.out_offsets[v + 1] - rows.out_offsets[v]
    return out + rows.into_offsets[v + 1] - rows.into_offsets[v]


@kernel
def mark_neighbours(rows, changed, masters, marks):  # type: ignore[no-untyped-def]
    """Mark all neighbours of the changed vertices; return about how many votes these have."""
    work = 0
    for v in changed:
        for j in range(rows.out_offsets[v], rows.out_offsets[v + 1]):
            work += _mark(rows.out[j], rows, masters, marks)
        for j in range(rows.into_offsets[v], rows.into_offsets[v + 1]):
            work += _mark(rows.into[j], rows, masters, marks)
    return work


@kernel
def _mark(u, rows, masters, marks):  # type: ignore[no-untyped-def]
    bit = _ONE << np.uint64(u & 63)
    if marks[u >> 6] & bit:
        return 0
    marks[u >> 6] |= bit
    # a proxy has about the degree of the master of the same relative rank
    return degree(rows, u if u < masters else int(rows.rank[u] * rows.share))


@named
def cdlp(g: Graph, *, max_iter: int = 10) -> DataFrame:
    """Detect communities by label propagation, as LDBC Graphalytics defines it.

    Parameters
    ----------
    g : Graph
    max_iter : int, default 10
        The number of rounds. Labels need not settle, and more rounds need not be better.

    Returns
    -------
    dask DataFrame
        A row per vertex: vertex; label, a vertex: those with the same label are a community,
        whose label need not be a member.

    Raises
    ------
    OptionError
        If `max_iter` is negative.

    Notes
    -----
    In- and out-neighbours vote, one in both directions twice; kept parallel edges each; a loop
    once, in a directed graph twice. Ties go to the smallest label. Deterministic, whatever the
    slots and the placement. One superstep a round.

    References
    ----------
    The LDBC Graphalytics Benchmark, arXiv:2011.15028. Raghavan, Albert, Kumara 2007,
    doi:10.1103/PhysRevE.76.036106

    Examples
    --------
    >>> import dgraph as dg
    >>> g = dg.from_edges(np.array([[1, 2], [2, 3], [3, 1], [8, 9], [9, 10], [10, 8]]))
    >>> cdlp(g, max_iter=5).compute().sort_values("vertex")["label"].tolist()
    [1, 1, 1, 8, 8, 8]
    """
    check_graph(g)
    rounds = integer("max_iter", max_iter, 0)
    found: DataFrame = run_algorithm(g, "cdlp", cdlp_slot, rounds, columns={"label": VERTEX})
    return found
