"""What strong components look for inside a slot: trimming, colours, and what reaches a root."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from dgraph.kernels import kernel
from dgraph.shard.bits import lowest

__all__ = [
    "Left",
    "accept",
    "bury",
    "count_edges",
    "hand_on",
    "list_arcs",
    "reach_back",
    "settle",
    "trim",
]

Array = NDArray[Any]
Bits = NDArray[np.uint64]
_ONE = np.uint64(1)


class Left(NamedTuple):
    """What a slot knows of the graph that is left.

    Parameters
    ----------
    out_offsets, out, into_offsets, into : arrays
        Edges of the masters; targets as unsigned views, see `dgraph.shard.rows`.
    root : array over the masters
        Their answers.
    live : bitmap over the local ids
    part, colour : arrays over the local ids
    reached : bitmap over the local ids
        What reaches a root of its colour.
    touched : bitmap over the local ids
        Proxies that other slots are to be told of.
    awake : bitmap over the masters
        Those to look at next.
    queue : int32 array
        Room for the masters in the sequence of a search.
    """

    out_offsets: NDArray[np.int64]
    out: NDArray[np.uint32]
    into_offsets: NDArray[np.int64]
    into: NDArray[np.uint32]
    root: Array
    live: Bits
    part: Array
    colour: Array
    reached: Bits
    touched: Bits
    awake: Bits
    queue: NDArray[np.int32]


@kernel
def has(bits, v):  # type: ignore[no-untyped-def]
    """Return whether a bit is set."""
    return (bits[v >> 6] >> np.uint64(v & 63)) & _ONE != 0


@kernel
def counts(left, v, u):  # type: ignore[no-untyped-def]
    """Return whether an edge between v and u may be in a component."""
    return has(left.live, u) and left.part[u] == left.part[v]


@kernel
def bury(live, vertices):  # type: ignore[no-untyped-def]
    """Clear the bits of vertices."""
    for v in vertices:
        live[v >> 6] &= ~(_ONE << np.uint64(v & 63))


@kernel
def trim(left, order):  # type: ignore[no-untyped-def]
    """Take away awake masters with edges on one side only; write them to the queue."""
    gone = 0
    masters = left.root.size
    waking = True
    while waking:
        waking = False
        for word in range(left.awake.size):
            while left.awake[word]:
                v = (word << 6) + lowest(left.awake[word])
                left.awake[word] &= left.awake[word] - _ONE
                if not has(left.live, v) or (
                    has_neighbour(left, v, left.out_offsets, left.out)
                    and has_neighbour(left, v, left.into_offsets, left.into)
                ):
                    continue
                left.queue[gone] = v
                left.root[v] = order[v]
                left.live[word] &= ~(_ONE << np.uint64(v & 63))
                gone += 1
                first = wake(left, v, left.out_offsets, left.out, masters)
                second = wake(left, v, left.into_offsets, left.into, masters)
                waking |= min(first, second) < word
    return gone


@kernel
def has_neighbour(left, v, offsets, targets):  # type: ignore[no-untyped-def]
    """Return whether a row has a vertex that counts, other than v."""
    for j in range(offsets[v], offsets[v + 1]):
        u = targets[j]
        if u != v and counts(left, v, u):
            return True
    return False


@kernel
def wake(left, v, offsets, targets, masters):  # type: ignore[no-untyped-def]
    """Wake the neighbours of v in a row, on other slots too; return the first word with one."""
    first = left.awake.size
    for j in range(offsets[v], offsets[v + 1]):
        u = np.int64(targets[j])
        if counts(left, v, u):
            bits = left.awake if u < masters else left.touched
            bits[u >> 6] |= _ONE << np.uint64(u & 63)
            first = min(first, u >> 6)
    return first


@kernel
def strength(colour):  # type: ignore[no-untyped-def]
    """Hash a colour: a bijection (the finaliser of splitmix64), so no two are equal."""
    x = np.uint64(colour) + np.uint64(0x9E3779B97F4A7C15)
    x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return x ^ (x >> np.uint64(31))


@kernel
def is_stronger(one, other):  # type: ignore[no-untyped-def]
    """Return whether a colour takes the place of another, or of none."""
    return one != other and (other < 0 or strength(one) > strength(other))


@kernel
def hand_on(left, begin):  # type: ignore[no-untyped-def]
    """Hand colours on along out-edges, first in first out, until no master takes another.

    Returns how many edges that took.
    """
    looked_at = 0
    masters, targets, colour = left.root.size, left.out, left.colour
    room = left.queue.size
    waiting, head = begin.size, 0
    left.queue[:waiting] = begin
    for v in begin:
        left.awake[v >> 6] |= _ONE << np.uint64(v & 63)
    while waiting:
        v = left.queue[head]
        head = head + 1 if head + 1 < room else 0
        waiting -= 1
        left.awake[v >> 6] &= ~(_ONE << np.uint64(v & 63))
        own = colour[v]
        looked_at += left.out_offsets[v + 1] - left.out_offsets[v]
        for j in range(left.out_offsets[v], left.out_offsets[v + 1]):
            u = targets[j]
            if colour[u] == own or not is_stronger(own, colour[u]) or not counts(left, v, u):
                continue
            colour[u] = own
            bit = _ONE << np.uint64(u & 63)
            if u >= masters:
                left.touched[u >> 6] |= bit
            elif not left.awake[u >> 6] & bit:
                left.awake[u >> 6] |= bit
                tail = head + waiting
                left.queue[tail if tail < room else tail - room] = u
                waiting += 1
    return looked_at


@kernel
def accept(left, vertices, colours):  # type: ignore[no-untyped-def]
    """Take stronger colours from other slots; write the masters that do to the queue."""
    count = 0
    for i in range(vertices.size):
        v = vertices[i]
        if has(left.live, v) and is_stronger(colours[i], left.colour[v]):
            left.colour[v] = colours[i]
            bit = _ONE << np.uint64(v & 63)
            if not left.awake[v >> 6] & bit:
                left.awake[v >> 6] |= bit
                left.queue[count] = v
                count += 1
    return count


@kernel
def reach_back(left, begin):  # type: ignore[no-untyped-def]
    """Mark what reaches `begin` along edges inside a colour; vertices may be marked before."""
    masters, targets, colour, reached = left.root.size, left.into, left.colour, left.reached
    height = 0
    for v in begin:
        if not has(reached, v):
            reached[v >> 6] |= _ONE << np.uint64(v & 63)
            left.queue[height] = v
            height += 1
    while height:
        height -= 1
        v = left.queue[height]
        own = colour[v]
        for j in range(left.into_offsets[v], left.into_offsets[v + 1]):
            u = targets[j]
            if has(reached, u) or colour[u] != own or not counts(left, v, u):
                continue
            reached[u >> 6] |= _ONE << np.uint64(u & 63)
            if u >= masters:
                left.touched[u >> 6] |= _ONE << np.uint64(u & 63)
            else:
                left.queue[height] = u
                height += 1


@kernel
def settle(left):  # type: ignore[no-untyped-def]
    """Take away the masters that are reached; write them to the queue, ascending."""
    count = 0
    for word in range(left.awake.size):
        while left.reached[word]:
            v = (word << 6) + lowest(left.reached[word])
            left.reached[word] &= left.reached[word] - _ONE
            left.live[word] &= ~(_ONE << np.uint64(v & 63))
            left.queue[count] = v
            count += 1
    left.reached[:] = 0
    return count


@kernel
def count_edges(left):  # type: ignore[no-untyped-def]
    """Count the out-edges of masters that may be in a component."""
    total = 0
    for v in range(left.root.size):
        if has(left.live, v):
            for j in range(left.out_offsets[v], left.out_offsets[v + 1]):
                total += counts(left, v, left.out[j])
    return total


@kernel
def list_arcs(left, tails, heads):  # type: ignore[no-untyped-def]
    """List the out-edges of masters that may be in a component, by ascending tail."""
    total = 0
    for v in range(left.root.size):
        if has(left.live, v):
            for j in range(left.out_offsets[v], left.out_offsets[v + 1]):
                if counts(left, v, left.out[j]):
                    tails[total], heads[total] = v, left.out[j]
                    total += 1
