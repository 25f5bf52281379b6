"""The edges of a shard, each oriented from its vertex of larger rank to the other."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from dgraph.kernels import kernel
from dgraph.shard import Adjacency, Shard

__all__ = ["Forward", "Locals", "forward_rows"]

Locals = NDArray[np.uint32]  # unsigned: Numba then does not look for negative indices


class Forward(NamedTuple):
    """The rows N+ of the masters, and the same edges by their heads.

    Parameters
    ----------
    offsets : int64 array of length masters + 1
    heads : array of local ids
        Inside a row by ascending rank.
    arcs : uint8 array beside `heads`
        Whether the edge is there in one direction or in 2. Empty if the graph is undirected.
    degree : int64 array over the masters
        Distinct neighbours, without the vertex itself.
    by_head : int64 array of length size + 1
    tails, places : arrays, grouped by head
        The master c, and the place of the head in the row of c.
    """

    offsets: NDArray[np.int64]
    heads: Locals
    arcs: NDArray[np.uint8]
    degree: NDArray[np.int64]
    by_head: NDArray[np.int64]
    tails: Locals
    places: NDArray[np.int32]


def forward_rows(shard: Shard) -> Forward:
    """Orient the edges of the masters: without loops, and of parallel edges one.

    Examples
    --------
    >>> from tests.reference import build, plain  # by rank: 3, then 1, 2, 4
    >>> shard, = build(plain([1, 2, 3, 3, 3], [2, 3, 1, 4, 4]))
    >>> rows = forward_rows(shard)
    >>> rows.offsets.tolist(), rows.heads.tolist(), rows.degree.tolist()
    ([0, 0, 1, 3, 4], [0, 0, 1, 0], [3, 2, 2, 1])
    """
    out, into = shard.out, shard.into
    if not shard.directed:
        into = Adjacency(np.zeros_like(out.offsets), out.targets[:0])
    rows = (out.offsets, out.targets, into.offsets, into.targets, shard.rank)
    offsets, degree = count_forward(*rows)
    heads = np.empty(offsets[-1], np.uint32)
    arcs = np.empty(offsets[-1] if shard.directed else 0, np.uint8)
    fill_forward(*rows, offsets, heads, arcs)
    return Forward(offsets, heads, arcs, degree, *group_by_head(offsets, heads, shard.size))


@kernel
def count_forward(out_offsets, out, into_offsets, into, rank):  # type: ignore[no-untyped-def]
    """Return the offsets of the rows N+, and the distinct neighbours of each master."""
    masters = out_offsets.size - 1
    offsets, degree = np.zeros(masters + 1, np.int64), np.zeros(masters, np.int64)
    for v in range(masters):
        forward = 0
        i, out_end = out_offsets[v], out_offsets[v + 1]
        j, into_end = into_offsets[v], into_offsets[v + 1]
        if j == into_end:
            for k in range(i, out_end):
                new = out[k] != v and (k == i or out[k - 1] != out[k])
                degree[v] += new
                forward += new and rank[out[k]] < rank[v]
        else:
            while i < out_end or j < into_end:
                u, i, j, _ = next_neighbour(out, i, out_end, into, j, into_end, rank)
                degree[v] += u != v
                forward += rank[u] < rank[v]
        offsets[v + 1] = offsets[v] + forward
    return offsets, degree


@kernel
def fill_forward(  # type: ignore[no-untyped-def]
    out_offsets, out, into_offsets, into, rank, offsets, heads, arcs
):
    """Write the rows N+, and beside them whether an edge is there in both directions."""
    for v in range(offsets.size - 1):
        i, out_end = out_offsets[v], out_offsets[v + 1]
        j, into_end = into_offsets[v], into_offsets[v + 1]
        for at in range(offsets[v], offsets[v + 1]):  # they come first in the rows
            heads[at], i, j, sides = next_neighbour(out, i, out_end, into, j, into_end, rank)
            if arcs.size:
                arcs[at] = sides


@kernel
def next_neighbour(out, i, out_end, into, j, into_end, rank):  # type: ignore[no-untyped-def]
    """Merge two rows: the first neighbour by rank, the places after it, on how many sides."""
    from_out = j == into_end or (i < out_end and rank[out[i]] <= rank[into[j]])
    u = out[i] if from_out else into[j]
    sides = 0
    if i < out_end and out[i] == u:
        sides += 1
        while i < out_end and out[i] == u:
            i += 1
    if j < into_end and into[j] == u:
        sides += 1
        while j < into_end and into[j] == u:
            j += 1
    return u, i, j, sides


@kernel
def group_by_head(offsets, heads, size):  # type: ignore[no-untyped-def]
    """Return the edges by their heads: offsets, tails, and the head's place in its row."""
    by_head = np.zeros(size + 1, np.int64)
    for head in heads:
        by_head[head + 1] += 1
    for v in range(size):
        by_head[v + 1] += by_head[v]
    at = by_head[:-1].copy()
    tails, places = np.empty(heads.size, np.uint32), np.empty(heads.size, np.int32)
    for c in range(offsets.size - 1):
        for j in range(offsets[c], offsets[c + 1]):
            k = at[heads[j]]
            tails[k], places[k] = c, j - offsets[c]
            at[heads[j]] += 1
    return by_head, tails, places
