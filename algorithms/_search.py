"""Kernels of breadth-first search: one level along the out-edges, or along the in-edges."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from dgraph.algorithms._addresses import array_at
from dgraph.algorithms._prefetch import prefetch
from dgraph.kernels import kernel
from dgraph.shard.bits import lowest, ones

__all__ = [
    "AHEAD",
    "Search",
    "ask_for",
    "begin_up",
    "bottom_up",
    "forget",
    "leave_out",
    "look_up",
    "search_at",
    "settle",
    "settle_one",
    "start",
    "top_down",
]

#: Rows that a bottom-up level asks for before it reads them, and vertices found by other slots.
AHEAD = 16

#: The same for the rows of a frontier, which is often short.
NEAR = 8

Array = NDArray[Any]
Bits = NDArray[np.uint64]
_ONE = np.uint64(1)
_SIX = np.uint64(6)
_LOW = np.uint64(63)
_ALL = ~np.uint64(0)


class Search(NamedTuple):
    """What a slot knows in the course of a search.

    Parameters
    ----------
    level, parent : arrays over the masters
    seen : bitmap over the local ids
        Masters that are visited or that no edge leads to; proxies that were found here.
        Of a master that is not seen, `level` and `parent` mean nothing.
    front : bitmap over the local ids
        The frontier. Its proxies are up to date only while the search goes bottom-up.
    filled : bitmap over the words that masters have in `front`
        Those that are not zero: walks a frontier in ascending order at the price of its length.
    queue : int32 array
        Room for the frontier as a list.
    found, found_by : arrays
        Room for the proxies that a top-down step finds, and for the ranks of their parents.
    """

    level: NDArray[np.int32]
    parent: Array
    seen: Bits
    front: Bits
    filled: Bits
    queue: NDArray[np.int32]
    found: NDArray[np.int32]
    found_by: Array


@kernel
def search_at(row):  # type: ignore[no-untyped-def]
    """Return the search whose arrays are the first that a slot has shown."""
    return Search(
        array_at(row, 0, np.int32),
        array_at(row, 1, np.int32),
        array_at(row, 2, np.uint64),
        array_at(row, 3, np.uint64),
        array_at(row, 4, np.uint64),
        array_at(row, 5, np.int32),
        array_at(row, 6, np.int32),
        array_at(row, 7, np.int32),
    )


@kernel
def forget(s, reachable):  # type: ignore[no-untyped-def]
    """Let nothing be visited; masters from `reachable` on, and padding, never will be.

    The levels and parents of all others are written when they are visited, or by `leave_out`.
    """
    s.level[reachable:] = -1
    s.parent[reachable:] = -1
    s.front[:] = 0
    s.filled[:] = 0
    s.seen[:] = 0
    masters = (s.level.size + 63) >> 6
    s.seen[(reachable + 63) >> 6 : masters] = _ALL
    if reachable & 63:
        s.seen[reachable >> 6] = _ALL << np.uint64(reachable & 63)


@kernel(nogil=False)
def start(s, sources):  # type: ignore[no-untyped-def]
    """Let the frontier be the sources."""
    for source in sources:
        visit(np.uint64(source), -1, 0, s)


@kernel
def settle(met, ranks, depth, s):  # type: ignore[no-untyped-def]
    """Take what other slots have found at `depth`: of several parents the first by rank."""
    for i in range(met.size):
        if i + AHEAD < met.size:
            ask_for(np.uint64(met[i + AHEAD]), s)
        settle_one(np.uint64(met[i]), ranks[i], depth, s)


@kernel
def ask_for(v, s):  # type: ignore[no-untyped-def]
    """Ask for what `settle_one` will read and write of `v`."""
    prefetch(s.seen, v >> _SIX)
    prefetch(s.level, v)
    prefetch(s.parent, v)


@kernel
def settle_one(v, rank, depth, s):  # type: ignore[no-untyped-def]
    """Take that the vertex of this rank leads to `v`."""
    code = -2 - rank
    if not has(s.seen, v):
        visit(v, code, depth, s)
    elif s.level[v] == depth and code > s.parent[v]:
        s.parent[v] = code


@kernel
def leave_out(s, reachable):  # type: ignore[no-untyped-def]
    """Enter that masters before `reachable` that were not visited have no level and parent."""
    for word in range((reachable + 63) >> 6):
        rest = ~s.seen[word]
        while rest:
            v = (word << 6) + lowest(rest)
            s.level[v] = s.parent[v] = -1
            rest &= rest - _ONE


@kernel
def visit(v, code, depth, s):  # type: ignore[no-untyped-def]
    """Let `v` be in the next frontier."""
    s.level[v] = depth
    s.parent[v] = code
    add(s.seen, v)
    add(s.front, v)
    add(s.filled, v >> _SIX)


@kernel
def add(bits, v):  # type: ignore[no-untyped-def]
    """Set the bit of `v`, which is unsigned: that saves a test for indices from the end."""
    bits[v >> _SIX] |= _ONE << (v & _LOW)


@kernel
def has(bits, v):  # type: ignore[no-untyped-def]
    """Tell whether the bit of `v` is set."""
    return (bits[v >> _SIX] >> (v & _LOW)) & _ONE


@kernel
def drain(s):  # type: ignore[no-untyped-def]
    """Move the frontier from the bitmap to the queue, ascending; return its length."""
    length = 0
    for i in range(s.filled.size):
        while s.filled[i]:
            word = (i << 6) + lowest(s.filled[i])
            bits, s.front[word] = s.front[word], 0
            while bits:
                s.queue[length] = (word << 6) + lowest(bits)
                length += 1
                bits &= bits - _ONE
            s.filled[i] &= s.filled[i] - _ONE
    return length


@kernel
def top_down(met, ranks, depth, s, out, rank, mean):  # type: ignore[no-untyped-def]
    """Settle the level before `depth`, then push from it along the out-edges.

    Returns how many masters and proxies were found, about how many edges these have, and how
    many edges were pushed along.
    """
    settle(met, ranks, depth - 1, s)
    # Fields that a loop reads from a tuple are counted as references; variables are not.
    level, parent, seen, front, queue = s.level, s.parent, s.seen, s.front, s.queue
    offsets, targets, masters = out.offsets, out.targets, np.uint64(s.level.size)
    mine, found, edges, pushed = 0, 0, np.int64(0), np.int64(0)
    length = drain(s)
    for i in range(length):
        if i + 2 * NEAR < length:
            prefetch(offsets, queue[i + 2 * NEAR])
            prefetch(targets, offsets[queue[i + NEAR]])
        u = np.uint64(queue[i])
        begin, end = offsets[u], offsets[u + _ONE]
        pushed += np.int64(end - begin)
        for j in range(begin, end):
            v = np.uint64(targets[j])
            if (seen[v >> _SIX] >> (v & _LOW)) & _ONE:
                continue
            add(seen, v)
            if v < masters:
                level[v] = depth
                parent[v] = -2 - rank[u]
                add(front, v)
                add(s.filled, v >> _SIX)
                mine += 1
                edges += np.int64(offsets[v + _ONE] - offsets[v])
            else:
                s.found[found] = v
                s.found_by[found] = rank[u]
                found += 1
    # proxies have about as many edges as the masters found with them
    edges += found * (edges // mine if mine else mean)
    return mine, found, edges, pushed


@kernel
def bottom_up(front, following, depth, s, into, first):  # type: ignore[no-untyped-def]
    """Let every unseen master look for its first in-neighbour in `front`.

    Rows are in ascending rank, so the first is the one that the vertex order wants. Returns how
    many masters were found, and how many were not.
    """
    begin_up(front, s)
    whole = s.queue, 0, (s.level.size + 63) >> 6
    return look_up(front, following, depth, s, into, first, *whole)


@kernel
def begin_up(front, s):  # type: ignore[no-untyped-def]
    """Begin a bottom-up level."""
    for word in range((s.level.size + 63) >> 6, front.size):
        s.seen[word] |= front[word]  # never push to proxies of the frontier
    s.filled[:] = 0


@kernel
def look_up(front, following, depth, s, into, first, queue, begin, end):  # type: ignore[no-untyped-def]
    """Do so for the masters of some words of the bitmaps, of which 64 are done by one thread.

    Parameters
    ----------
    queue : int32 array
        Room for these masters.
    begin, end : int
        The words.
    """
    found, length = look_at_first(front, following, depth, s, first, queue, begin, end)
    more = look_at_others(front, following, depth, s, into, queue, length)
    return found + more, length - more


@kernel
def look_at_first(front, following, depth, s, first, queue, begin, end):  # type: ignore[no-untyped-def]
    """Visit the unseen masters whose first in-neighbour is in `front`, queue all others.

    Returns how many were visited, and how many stand in the queue.
    """
    # Fields that a loop reads from a tuple are counted as references; variables are not.
    level, parent, seen = s.level, s.parent, s.seen
    found, length = 0, 0
    for word in range(begin, end):
        unseen, new = ~seen[word], np.uint64(0)
        base = np.uint64(word) << _SIX
        if unseen == _ALL:  # the processor need not guess: nothing depends on what is found
            for bit in range(np.uint64(64)):
                u = np.uint64(first[base + bit])
                new |= ((front[u >> _SIX] >> (u & _LOW)) & _ONE) << bit
            for bit in range(np.uint64(64)):  # of those that are not found it means nothing
                level[base + bit] = depth
                parent[base + bit] = first[base + bit]
        else:
            rest = unseen
            while rest:
                v = base + np.uint64(lowest(rest))
                u = np.uint64(first[v])
                if (front[u >> _SIX] >> (u & _LOW)) & _ONE:
                    new |= rest & (~rest + _ONE)
                    level[v] = depth
                    parent[v] = u
                rest &= rest - _ONE
        rest = unseen & ~new
        while rest:
            queue[length] = base + np.uint64(lowest(rest))
            length += 1
            rest &= rest - _ONE
        found += ones(new)
        following[word] = new
        if new:
            seen[word] |= new
            add(s.filled, np.uint64(word))
    return found, length


@kernel
def look_at_others(front, following, depth, s, into, queue, length):  # type: ignore[no-untyped-def]
    """Do so with the rest of the rows of the queue; return how many masters were visited."""
    level, parent, seen = s.level, s.parent, s.seen
    offsets, targets = into.offsets, into.targets
    found = 0
    for i in range(length):
        if i + AHEAD < length:
            prefetch(targets, offsets[np.uint64(queue[i + AHEAD])] + _ONE)
        v = np.uint64(queue[i])
        for j in range(offsets[v] + _ONE, offsets[v + _ONE]):
            u = np.uint64(targets[j])
            if (front[u >> _SIX] >> (u & _LOW)) & _ONE:
                level[v] = depth
                parent[v] = u
                add(seen, v)
                add(following, v)
                add(s.filled, v >> _SIX)
                found += 1
                break
    return found
