"""All slots of a small graph at once: vertices move, one by one, even at a loss for a while.

C. M. Fiduccia, R. M. Mattheyses, DAC 1982, between many parts (L. A. Sanchis: Multiple-way
network partitioning, IEEE Trans. Computers 38(1), 1989, doi:10.1109/12.8730), on contracted
graphs first and on finer ones after them. Each slot has two capacities, of vertices and of ends
of edges. Where one is exceeded, what makes that less comes first: squares of the parts that are
too much are added up, so that vertices go on through full slots to where there is room.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from dgraph.kernels import copy_into, kernel
from dgraph.placement.fm import contract
from dgraph.placement.heap import pop, push

__all__ = ["TINY", "improve_all", "overload"]

Array = NDArray[Any]

#: A graph of so many vertices, or of so many for each slot, is not contracted further.
SMALL, EACH = 96, 12

#: No contracted vertex is more than this part of what a slot may have.
PART = 8

#: Passes on every level, and moves beyond the best state before a pass ends.
PASSES, PATIENCE = 4, 100

#: Differences of overloads that are no differences.
TINY = 1e-9


class Moves(NamedTuple):
    """What is known of vertices and slots while vertices move.

    Parameters
    ----------
    cost : int64 array of shape (n, slots)
        What the edges of each vertex would cost if it were on each slot.
    have : int64 array of shape (2, slots)
        The vertices and ends of edges of each slot.
    full : float64 array of length slots
        How much too much each has, see `overload`.
    locked : bool array of length n
        What has moved in this pass.
    moved, left : int32 arrays of length n
        Those that have, one after the other, and the slots that they left.
    keys, nodes : int64 and int32 arrays
        A heap of what may move, by what it costs more then.
    sums : int64 array
        What all edges cost, and the size of the heap.
    """

    cost: NDArray[np.int64]
    have: NDArray[np.int64]
    full: NDArray[np.float64]
    locked: NDArray[np.bool_]
    moved: NDArray[np.int32]
    left: NDArray[np.int32]
    keys: NDArray[np.int64]
    nodes: NDArray[np.int32]
    sums: NDArray[np.int64]


@kernel
def improve_all(rows, loads, slot, cap, unit, seed):  # type: ignore[no-untyped-def]
    """Lower what edges cost, and what slots have too much, in place.

    Returns the cost of all edges, and the overload of all slots.

    Parameters
    ----------
    rows : tuple of arrays
        As in `fm`.
    loads : int64 array of shape (2, n)
        The vertices and ends of edges that each vertex stands for.
    slot : int32 array of length n
    cap : int64 array of shape (2, slots)
    unit : int64 array of shape (slots, slots)
        What an edge between two slots costs.
    seed : int
        Of the contraction.
    """
    finer, weigh, on, pair_of = [rows], [loads], [slot], [np.zeros(0, np.int32)]
    small = max(SMALL, EACH * cap.shape[1])
    while on[-1].size > small:
        coarse = np.empty(on[-1].size, np.int32)
        pairs = _match(finer[-1], weigh[-1], on[-1], cap, seed + len(on), coarse)
        if pairs > 0.97 * coarse.size:
            break
        sums, there = np.zeros((2, pairs), np.int64), np.empty(pairs, np.int32)
        for v in range(coarse.size):
            there[coarse[v]] = on[-1][v]
            for c in range(2):
                sums[c, coarse[v]] += weigh[-1][c, v]
        finer.append(contract(finer[-1], coarse, pairs))
        weigh.append(sums)
        on.append(there)
        pair_of.append(coarse)
    for level in range(len(on) - 1, 0, -1):
        _improve(finer[level], weigh[level], on[level], cap, unit)
        copy_into(on[level - 1], on[level][pair_of[level]])
    return _improve(rows, loads, slot, cap, unit)


@kernel
def overload(vertices, ends, slot, cap):  # type: ignore[no-untyped-def]
    """Return how much too much so many vertices and ends of edges are on a slot.

    >>> overload(30, 5, 0, np.array([[20], [10]]))
    0.25
    """
    first = max(vertices / cap[0, slot] - 1.0, 0.0)
    second = max(ends / cap[1, slot] - 1.0, 0.0)
    return first * first + second * second


@kernel
def _match(rows, loads, slot, cap, seed, coarse):  # type: ignore[no-untyped-def]
    """Match vertices as `fm.match` does, but only inside slots; return how many pairs."""
    offsets, targets, weights, _ = rows
    np.random.seed(seed)  # noqa: NPY002 - Numba's own generator, one for each thread
    turn = np.random.permutation(slot.size)  # noqa: NPY002
    most = cap[0].max() // PART, cap[1].max() // PART
    coarse[:] = -1
    pairs = 0
    for v in turn:
        if coarse[v] >= 0:
            continue
        best, rated = -1, -1.0
        for i in range(offsets[v], offsets[v + 1]):
            u = targets[i]
            if coarse[u] >= 0 or slot[u] != slot[v]:
                continue
            vertices, ends = loads[0, u] + loads[0, v], loads[1, u] + loads[1, v]
            if vertices <= most[0] and ends <= most[1]:
                both = (loads[0, u] + loads[1, u]) * 1.0 * (loads[0, v] + loads[1, v])
                rating = weights[i] * (weights[i] / both)
                if rating > rated:
                    best, rated = u, rating
        coarse[v] = pairs
        if best >= 0:
            coarse[best] = pairs
        pairs += 1
    return pairs


@kernel
def _improve(rows, loads, slot, cap, unit):  # type: ignore[no-untyped-def]
    """Do the same on one level: passes until one gains nothing."""
    m = _measure(rows, loads, slot, cap, unit)
    sums, full = m.sums, m.full
    for _ in range(PASSES):
        _fill_heap(rows, loads, slot, cap, m)
        before, before_full = sums[0], full.sum()
        least, least_full = before, before_full
        count, best = 0, 0
        while sums[1] > 0 and count - best <= PATIENCE:
            sums[1] = pop(m.keys, m.nodes, sums[1])
            v, key = m.nodes[sums[1]], m.keys[sums[1]]
            if m.locked[v]:
                continue
            to, more = _cheapest(v, loads, slot, cap, m)
            if to < 0 or (more >= 0 and full[slot[v]] == 0.0 and full.any()):
                continue
            if more > key:  # what was cheaper has no more room
                sums[1] = push(m.keys, m.nodes, sums[1], more, v)
                continue
            m.locked[v] = True
            m.moved[count], m.left[count] = v, slot[v]
            count += 1
            _move(rows, loads, slot, cap, unit, v, to, m)
            _push_around(rows, loads, slot, cap, v, m)
            now = full.sum()
            if now < least_full - TINY or (now <= least_full + TINY and sums[0] < least):
                best, least, least_full = count, sums[0], now
        for j in range(count - 1, best - 1, -1):
            _move(rows, loads, slot, cap, unit, m.moved[j], m.left[j], m)
        m.locked[m.moved[:count]] = False
        if least >= before and least_full >= before_full - TINY:
            break
    return sums[0], full.sum()


@kernel
def _measure(rows, loads, slot, cap, unit):  # type: ignore[no-untyped-def]
    """Return what is known at first."""
    offsets, targets, weights, _ = rows
    n, slots = slot.size, cap.shape[1]
    cost, have = np.zeros((n, slots), np.int64), np.zeros((2, slots), np.int64)
    full, sums = np.zeros(slots), np.zeros(2, np.int64)
    for v in range(n):
        have[0, slot[v]] += loads[0, v]
        have[1, slot[v]] += loads[1, v]
        for i in range(offsets[v], offsets[v + 1]):
            row = unit[slot[targets[i]]]
            for s in range(slots):
                cost[v, s] += weights[i] * row[s]
        sums[0] += cost[v, slot[v]]
    sums[0] //= 2
    for s in range(slots):
        full[s] = overload(have[0, s], have[1, s], s, cap)
    room = n + targets.size + 1
    return Moves(
        cost,
        have,
        full,
        np.zeros(n, np.bool_),
        np.empty(n, np.int32),
        np.empty(n, np.int32),
        np.empty(room, np.int64),
        np.empty(room, np.int32),
        sums,
    )


@kernel
def _fill_heap(rows, loads, slot, cap, m):  # type: ignore[no-untyped-def]
    """Let vertices move that have a neighbour elsewhere, or whose slot has too much."""
    offsets, targets = rows[0], rows[1]
    m.sums[1] = 0
    for v in range(slot.size):
        may = m.full[slot[v]] > 0.0
        for i in range(offsets[v], offsets[v + 1]):
            may = may or slot[targets[i]] != slot[v]
        if may:
            to, more = _cheapest(v, loads, slot, cap, m)
            if to >= 0:
                m.sums[1] = push(m.keys, m.nodes, m.sums[1], more, v)


@kernel
def _push_around(rows, loads, slot, cap, v, m):  # type: ignore[no-untyped-def]
    """Put the neighbours of what has moved onto the heap anew."""
    offsets, targets = rows[0], rows[1]
    for i in range(offsets[v], offsets[v + 1]):
        u = targets[i]
        if not m.locked[u]:
            to, more = _cheapest(u, loads, slot, cap, m)
            if to >= 0:
                m.sums[1] = push(m.keys, m.nodes, m.sums[1], more, u)


@kernel
def _cheapest(v, loads, slot, cap, m):  # type: ignore[no-untyped-def]
    """Return the other slot on which a vertex costs least, and how much more; -1: none.

    It has room there, or there is less too much afterwards.
    """
    cost, have, full = m.cost, m.have, m.full
    here, vertices, ends = slot[v], loads[0, v], loads[1, v]
    less = 0.0
    if full[here] > 0.0:
        after = overload(have[0, here] - vertices, have[1, here] - ends, here, cap)
        less = full[here] - after
    best, least = -1, np.int64(0)
    for s in range(full.size):
        more = cost[v, s] - cost[v, here]
        if s == here or (best >= 0 and more >= least):
            continue
        then = overload(have[0, s] + vertices, have[1, s] + ends, s, cap)
        if then == 0.0 or then - full[s] < less - TINY:
            best, least = s, more
    return best, least


@kernel
def _move(rows, loads, slot, cap, unit, v, to, m):  # type: ignore[no-untyped-def]
    """Move a vertex to a slot."""
    offsets, targets, weights, _ = rows
    cost, have = m.cost, m.have
    here = slot[v]
    m.sums[0] += cost[v, to] - cost[v, here]
    slot[v] = to
    for c in range(2):
        have[c, here] -= loads[c, v]
        have[c, to] += loads[c, v]
    m.full[here] = overload(have[0, here], have[1, here], here, cap)
    m.full[to] = overload(have[0, to], have[1, to], to, cap)
    more = unit[to] - unit[here]
    for i in range(offsets[v], offsets[v + 1]):
        u = targets[i]
        for s in range(more.size):
            cost[u, s] += weights[i] * more[s]
