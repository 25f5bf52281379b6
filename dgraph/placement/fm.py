"""Kernels of a bisection: matching, contraction, growing one side, Fiduccia-Mattheyses.

C. M. Fiduccia, R. M. Mattheyses: A linear-time heuristic for improving network partitions,
DAC 1982. A graph is a tuple of offsets, targets, weights and the vertices' mass, simple and
symmetric; a side is 0 or 1 for each vertex.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from dgraph.kernels import copy_into, kernel
from dgraph.placement.heap import pop, push

__all__ = ["contract", "grow", "improve", "match", "try_sides"]


@kernel
def match(rows, heaviest, seed, coarse):  # type: ignore[no-untyped-def]
    """Match each vertex with the free neighbour of the heaviest edge, in random order.

    Writes to `coarse` the number of each vertex's pair, and returns how many pairs there are.
    """
    offsets, targets, weights, mass = rows
    n = mass.size
    np.random.seed(seed)  # noqa: NPY002 - Numba's own generator, one for each thread
    turn = np.random.permutation(n)  # noqa: NPY002
    coarse[:] = -1
    pairs = 0
    for v in turn:
        if coarse[v] >= 0:
            continue
        best, most = -1, -1.0
        for i in range(offsets[v], offsets[v + 1]):
            u = targets[i]
            if coarse[u] < 0 and mass[u] + mass[v] <= heaviest:
                # many edges between light vertices: compact pairs
                rating = weights[i] * (weights[i] / (mass[u] * (1.0 * mass[v])))
                if rating > most:
                    best, most = u, rating
        coarse[v] = pairs
        if best >= 0:
            coarse[best] = pairs
        pairs += 1
    return pairs


@kernel
def contract(rows, coarse, pairs):  # type: ignore[no-untyped-def]
    """Return the rows and masses of the graph of pairs."""
    offsets, targets, weights, mass = rows
    n = mass.size
    first = np.full(pairs, -1, np.int32)
    second = np.full(pairs, -1, np.int32)
    for v in range(n):
        p = coarse[v]
        if first[p] < 0:
            first[p] = v
        else:
            second[p] = v
    to_offsets = np.zeros(pairs + 1, np.uint64)
    to_targets = np.empty(targets.size, np.uint32)
    to_weights = np.empty(targets.size, np.int64)
    to_mass = np.zeros(pairs, np.int64)
    place = np.full(pairs, -1, np.int64)
    at = np.int64(0)
    for p in range(pairs):
        start = at
        for half in range(2):
            v = first[p] if half == 0 else second[p]
            if v < 0:
                continue
            to_mass[p] += mass[v]
            for i in range(offsets[v], offsets[v + 1]):
                q = coarse[targets[i]]
                if q == p:
                    continue
                if place[q] >= start:
                    to_weights[place[q]] += weights[i]
                else:
                    place[q] = at
                    to_targets[at], to_weights[at] = q, weights[i]
                    at += 1
        to_offsets[p + 1] = at
    return to_offsets, to_targets[:at].copy(), to_weights[:at].copy(), to_mass


@kernel
def grow(rows, goal, start, side):  # type: ignore[no-untyped-def]
    """Grow side 0 around a vertex, by the best gain, until its mass reaches the goal."""
    offsets, targets, weights, mass = rows
    n = mass.size
    side[:] = 1
    gain = np.zeros(n, np.int64)
    for v in range(n):
        for i in range(offsets[v], offsets[v + 1]):
            gain[v] -= weights[i]
    keys = np.empty(n + targets.size + 1, np.int64)  # gains, negated: the highest first
    nodes = np.empty(n + targets.size + 1, np.int32)
    size = push(keys, nodes, 0, -gain[start], start)
    have, fresh = 0, 0
    while have < goal:
        if size == 0:  # another component
            while fresh < n and side[fresh] == 0:
                fresh += 1
            if fresh == n:
                break
            size = push(keys, nodes, 0, -gain[fresh], fresh)
        size = pop(keys, nodes, size)
        v = nodes[size]
        if side[v] == 0 or keys[size] != -gain[v]:
            continue
        if have + mass[v] // 2 > goal and have > 0:
            break
        side[v] = 0
        have += mass[v]
        for i in range(offsets[v], offsets[v + 1]):
            u = targets[i]
            if side[u] == 1:
                gain[u] += 2 * weights[i]
                size = push(keys, nodes, size, -gain[u], u)


class Moves(NamedTuple):
    """What the improvement knows of vertices and of the two sides.

    Parameters
    ----------
    gain, total : int64 arrays of length n
        By how much the cut falls if a vertex moves; the weight of all its edges.
    locked : bool array of length n
        Whether it has moved in this pass.
    moved : int32 array of length n
        Those that have, one after the other.
    keys, nodes, size : int64 and int32 arrays of two rows, int64 array of length 2
        A heap for each side of what may move away from it: gains, negated, and vertices. What
        has changed since it was put there is still in it.
    sums : int64 array
        The mass of side 0, and the cut.
    """

    gain: NDArray[np.int64]
    total: NDArray[np.int64]
    locked: NDArray[np.bool_]
    moved: NDArray[np.int32]
    keys: NDArray[np.int64]
    nodes: NDArray[np.int32]
    size: NDArray[np.int64]
    sums: NDArray[np.int64]


@kernel
def improve(rows, side, goal, slack, passes, patience):  # type: ignore[no-untyped-def]
    """Move vertices so that the cut falls while side 0 keeps to ``goal +- slack``.

    Each pass moves the best vertex again and again, even at a loss, at most `patience` times
    beyond the best state, and goes back to that. Returns the cut.
    """
    m = _measure(rows, side)
    n, sums = side.size, m.sums
    for _ in range(passes):
        _fill_heaps(side, abs(sums[0] - goal) > slack, m)
        count, best = 0, 0
        least, least_off = sums[1], abs(sums[0] - goal)
        before, before_off = least, least_off
        while count < n and count - best <= patience:
            pick = _pick(rows, side, goal, slack, m)
            if pick < 0:
                break
            m.size[pick] = pop(m.keys[pick], m.nodes[pick], m.size[pick])
            v = m.nodes[pick, m.size[pick]]
            m.locked[v] = True
            m.moved[count] = v
            count += 1
            _flip(rows, side, v, m, True)
            off = abs(sums[0] - goal)
            over, least_over = max(off - slack, 0), max(least_off - slack, 0)
            if over < least_over or (
                over == least_over
                and (sums[1] < least or (sums[1] == least and off < least_off))
            ):
                best, least, least_off = count, sums[1], off
        for j in range(count - 1, best - 1, -1):
            _flip(rows, side, m.moved[j], m, False)
        for j in range(count):
            m.locked[m.moved[j]] = False
        if sums[1] >= before and max(before_off - slack, 0) <= max(least_off - slack, 0):
            break
    return sums[1]


@kernel
def try_sides(rows, starts, goal, slack, passes, patience):  # type: ignore[no-untyped-def]
    """Return the best of the sides that are grown around some vertices, and improved.

    The most even ones, of those the one that cuts least.
    """
    mass = rows[3]
    best, side = np.ones(mass.size, np.int8), np.empty(mass.size, np.int8)
    least, least_off, least_over = np.int64(-1), np.int64(0), np.int64(0)
    for start in starts:
        grow(rows, goal, start, side)
        cut = improve(rows, side, goal, slack, passes, patience)
        off = abs(mass[side == 0].sum() - goal)
        over = max(off - slack, 0)
        if (
            least < 0
            or over < least_over
            or (over == least_over and (cut < least or (cut == least and off < least_off)))
        ):
            copy_into(best, side)
            least, least_off, least_over = cut, off, over
    return best


@kernel
def _measure(rows, side):  # type: ignore[no-untyped-def]
    """Return the gains of all vertices, and room for the heaps."""
    offsets, targets, weights, mass = rows
    n = mass.size
    gain, total, sums = np.empty(n, np.int64), np.empty(n, np.int64), np.zeros(2, np.int64)
    for v in range(n):
        if side[v] == 0:
            sums[0] += mass[v]
        every, across = np.int64(0), np.int64(0)
        for i in range(offsets[v], offsets[v + 1]):
            every += weights[i]
            across += weights[i] * (side[targets[i]] ^ side[v])
        gain[v], total[v] = 2 * across - every, every
        sums[1] += across
    sums[1] //= 2
    room = n + targets.size + 1
    return Moves(
        gain,
        total,
        np.zeros(n, np.bool_),
        np.empty(n, np.int32),
        np.empty((2, room), np.int64),
        np.empty((2, room), np.int32),
        np.zeros(2, np.int64),
        sums,
    )


@kernel
def _fill_heaps(side, is_uneven, m):  # type: ignore[no-untyped-def]
    """Let vertices move that have a neighbour on the other side; all if sides are uneven."""
    gain, total, keys, nodes, size = m.gain, m.total, m.keys, m.nodes, m.size
    size[:] = 0
    for v in range(side.size):
        # gain == -total: all neighbours are on this side
        if is_uneven or gain[v] > -total[v] or total[v] == 0:
            s = side[v]
            size[s] = push(keys[s], nodes[s], size[s], -gain[v], v)


@kernel
def _pick(rows, side, goal, slack, m):  # type: ignore[no-untyped-def]
    """Return the side whose first vertex is to move, -1 if none may."""
    keys, nodes, size, mass, have = m.keys, m.nodes, m.size, rows[3], m.sums[0]
    gain, locked = m.gain, m.locked
    for s in range(2):  # drop what is out of date
        while size[s] > 0:
            v = nodes[s, 0]
            if not (locked[v] or side[v] != s or gain[v] != -keys[s, 0]):
                break
            size[s] = pop(keys[s], nodes[s], size[s])
    pick, off = -1, abs(have - goal)
    for s in range(2):
        if size[s] == 0:
            continue
        v = nodes[s, 0]
        then = abs(have + (mass[v] if s == 1 else -mass[v]) - goal)
        if then > slack and then >= off:
            continue
        if (
            pick < 0
            or keys[s, 0] < keys[pick, 0]
            or (keys[s, 0] == keys[pick, 0] and (have > goal) == (s == 0))
        ):
            pick = s
    heavy = 0 if have > goal else 1
    if pick >= 0 and off > slack and size[heavy] > 0:
        return heavy  # first of all the sides must be even
    return pick


@kernel
def _flip(rows, side, v, m, again):  # type: ignore[no-untyped-def]
    """Move a vertex to the other side; `again`: put its neighbours onto the heaps anew."""
    offsets, targets, weights, mass = rows
    # Fields that a loop reads from a tuple are counted as references; variables are not.
    gain, locked, keys, nodes, size = m.gain, m.locked, m.keys, m.nodes, m.size
    s = side[v]
    side[v] = 1 - s
    m.sums[0] += mass[v] if s == 1 else -mass[v]
    m.sums[1] -= gain[v]
    gain[v] = -gain[v]
    for i in range(offsets[v], offsets[v + 1]):
        u = targets[i]
        gain[u] += -2 * weights[i] if side[u] == side[v] else 2 * weights[i]
        if again and not locked[u]:
            s = side[u]
            size[s] = push(keys[s], nodes[s], size[s], -gain[u], u)
