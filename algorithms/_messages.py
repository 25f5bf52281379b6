"""Messages of vertex programs inside a slot: who gets them, along which edges, combined how.

Messages are computed where they arrive. A slot has the fields of the sender, as a master or as
a proxy, beside the edge; so all messages to a vertex meet on one slot, in the sequence of its
row, and a floating sum has the same bits whatever the placement.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from dgraph.kernels import kernel
from dgraph.shard import Adjacency, Shard

__all__ = [
    "COMBINERS",
    "Arcs",
    "arcs_along",
    "combine",
    "count_arcs",
    "identity",
    "list_arcs",
    "mark_receivers",
]

Array = NDArray[Any]
Bits = NDArray[np.uint64]
_ONE = np.uint64(1)

#: The combiners by name.
COMBINERS = ("min", "max", "sum", "or", "mode")


class Arcs(NamedTuple):
    """Edges by the vertices at which messages arrive, or from which they go: up to two sets.

    Parameters
    ----------
    offsets, sources : arrays
        Rows of the masters.
    more_offsets, more_sources : arrays
        The other side of a directed graph, if messages go both ways; else without edges.
    """

    offsets: NDArray[np.int64]
    sources: NDArray[np.int32]
    more_offsets: NDArray[np.int64]
    more_sources: NDArray[np.int32]


def arcs_along(shard: Shard, direction: str, arriving: bool) -> tuple[Arcs, Array]:
    """Return the edges along which messages arrive at the masters, or go from them.

    Parameters
    ----------
    direction : {"out", "in", "both"}
        How messages go: along the edges, against them, or both.
    arriving : bool

    Returns
    -------
    arcs : Arcs
    weights : float array
        Of all arcs, first those of the one side; empty if the graph is unweighted.
    """
    out, into = shard.out, shard.into
    if direction == "both" and shard.directed:
        sides = [into, out]
    else:
        sides = [into if (direction == "out") is arriving else out]
        sides.append(Adjacency(np.zeros_like(out.offsets), out.targets[:0]))
    weights = [side.weights for side in sides if side.weights is not None]
    whole = weights[0] if len(weights) == 1 else np.concatenate([*weights, np.zeros(0)])
    first, second = sides
    return Arcs(first.offsets, first.targets, second.offsets, second.targets), whole


def identity(combiner: str, dtype: np.dtype[Any]) -> Any:
    """Return what a vertex without a message is given.

    Examples
    --------
    >>> identity("min", np.dtype("float64")), identity("max", np.dtype("int8"))
    (inf, -128)
    """
    if combiner in ("sum", "or"):
        return dtype.type(0).item()
    if combiner == "mode":
        return -1
    if dtype.kind == "f":
        return np.inf if combiner == "min" else -np.inf
    bounds = np.iinfo(dtype)
    return bounds.max if combiner == "min" else bounds.min


@kernel
def count_arcs(arcs, vertices):  # type: ignore[no-untyped-def]
    """Return how many edges each of the vertices has."""
    counts = np.zeros(vertices.size, np.int64)
    for i in range(vertices.size):
        v = vertices[i]
        counts[i] = arcs.offsets[v + 1] - arcs.offsets[v]
        counts[i] += arcs.more_offsets[v + 1] - arcs.more_offsets[v]
    return counts


@kernel
def list_arcs(arcs, vertices, active, room):  # type: ignore[no-untyped-def]
    """List the edges on which messages arrive at some masters, at most `room` of them.

    Returns
    -------
    rows : int64 array
        Which of `vertices` each edge leads to.
    sources : int32 array
        Local ids of the senders, all of them active.
    places : int64 array
        Which edge of the shard it is, for its weight.
    """
    rows, sources = np.empty(room, np.int64), np.empty(room, np.int32)
    places = np.empty(room, np.int64)
    count = 0
    for i in range(vertices.size):
        v = vertices[i]
        for j in range(arcs.offsets[v], arcs.offsets[v + 1]):
            u = arcs.sources[j]
            if (active[u >> 6] >> np.uint64(u & 63)) & _ONE:
                rows[count], sources[count], places[count] = i, u, j
                count += 1
        for j in range(arcs.more_offsets[v], arcs.more_offsets[v + 1]):
            u = arcs.more_sources[j]
            if (active[u >> 6] >> np.uint64(u & 63)) & _ONE:
                rows[count], sources[count] = i, u
                places[count] = arcs.sources.size + j
                count += 1
    return rows[:count], sources[:count], places[:count]


def combine(combiner: str, rows: Array, messages: Array, combined: Array) -> None:
    """Combine messages to the same row, in their sequence, into `combined`.

    Parameters
    ----------
    combiner : {"min", "max", "sum", "or", "mode"}
        "mode": the most frequent message, of several the smallest.
    rows : int64 array
        Ascending.
    messages : array beside them
    combined : array
        An entry for each row; it holds the identity.

    Examples
    --------
    >>> combined = np.full(3, -1)
    >>> combine("mode", np.array([0, 0, 0, 2, 2]), np.array([5, 7, 7, 9, 8]), combined)
    >>> combined
    array([ 7, -1,  8])
    """
    if combiner == "mode":
        take_modes(rows, messages, combined)
    elif combiner == "or":
        unite(rows, messages, combined)
    else:
        fold(COMBINERS.index(combiner), rows, messages, combined)


@kernel
def fold(combiner, rows, messages, combined):  # type: ignore[no-untyped-def]
    for i in range(rows.size):
        row, message = rows[i], messages[i]
        if combiner == 0:
            combined[row] = min(combined[row], message)
        elif combiner == 1:
            combined[row] = max(combined[row], message)
        elif combiner == 2:
            combined[row] += message


@kernel
def unite(rows, messages, combined):  # type: ignore[no-untyped-def]
    for i in range(rows.size):
        combined[rows[i]] |= messages[i]


@kernel
def take_modes(rows, messages, combined):  # type: ignore[no-untyped-def]
    begin = 0
    while begin < rows.size:
        end = begin + 1
        while end < rows.size and rows[end] == rows[begin]:
            end += 1
        ascending = np.sort(messages[begin:end])
        most, run = 0, 0
        for i in range(ascending.size):
            run = run + 1 if i and ascending[i] == ascending[i - 1] else 1
            if run > most:
                most, combined[rows[begin]] = run, ascending[i]
        begin = end


@kernel
def mark_receivers(arcs, senders, marks):  # type: ignore[no-untyped-def]
    """Mark all to whom edges lead from the senders, masters and proxies."""
    for v in senders:
        for j in range(arcs.offsets[v], arcs.offsets[v + 1]):
            u = arcs.sources[j]
            marks[u >> 6] |= _ONE << np.uint64(u & 63)
        for j in range(arcs.more_offsets[v], arcs.more_offsets[v + 1]):
            u = arcs.more_sources[j]
            marks[u >> 6] |= _ONE << np.uint64(u & 63)
