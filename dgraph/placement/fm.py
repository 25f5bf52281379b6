"""Kernels of a bisection: matching, contraction, growing one side, Fiduccia-Mattheyses.

C. M. Fiduccia, R. M. Mattheyses: A linear-time heuristic for improving network partitions,
DAC 1982. A graph is a tuple of offsets, targets, weights and the vertices' mass, simple and
symmetric; a side is 0 or 1 for each vertex.
"""

from __future__ import annotations

import numba as nb
import numpy as np

from dgraph.placement.heap import pop, push

__all__ = ["contract", "grow", "improve", "match", "restrict"]


@nb.njit(nogil=True, cache=True)
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


@nb.njit(nogil=True, cache=True)
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
    to_offsets = np.zeros(pairs + 1, np.int64)
    to_targets = np.empty(targets.size, np.int32)
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


@nb.njit(nogil=True, cache=True)
def restrict(rows, kept, new):  # type: ignore[no-untyped-def]
    """Return the rows and masses of some vertices; `new` has their new numbers, else -1."""
    offsets, targets, weights, mass = rows
    to_offsets = np.zeros(kept.size + 1, np.int64)
    to_targets = np.empty(targets.size, np.int32)
    to_weights = np.empty(targets.size, np.int64)
    at = np.int64(0)
    for j in range(kept.size):
        for i in range(offsets[kept[j]], offsets[kept[j] + 1]):
            u = new[targets[i]]
            if u >= 0:
                to_targets[at], to_weights[at] = u, weights[i]
                at += 1
        to_offsets[j + 1] = at
    return to_offsets, to_targets[:at].copy(), to_weights[:at].copy(), mass[kept]


@nb.njit(nogil=True, cache=True)
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


@nb.njit(nogil=True, cache=True)
def improve(rows, side, goal, slack, passes, patience):  # type: ignore[no-untyped-def]
    """Move vertices so that the cut falls while side 0 keeps to ``goal +- slack``.

    Each pass moves the best vertex again and again, even at a loss, at most `patience` times
    beyond the best state, and goes back to that. Returns the cut.
    """
    offsets, targets, weights, mass = rows
    n = mass.size
    gain = np.zeros(n, np.int64)
    have = np.int64(0)
    cut = np.int64(0)
    for v in range(n):
        if side[v] == 0:
            have += mass[v]
        for i in range(offsets[v], offsets[v + 1]):
            if side[targets[i]] == side[v]:
                gain[v] -= weights[i]
            else:
                gain[v] += weights[i]
                cut += weights[i]
    cut //= 2
    room = n + targets.size + 1
    keys = np.empty((2, room), np.int64)  # gains, negated
    nodes = np.empty((2, room), np.int32)
    moved = np.empty(n, np.int32)
    locked = np.zeros(n, np.bool_)
    for _ in range(passes):
        size = np.zeros(2, np.int64)
        for v in range(n):
            boundary = offsets[v] == offsets[v + 1]
            for i in range(offsets[v], offsets[v + 1]):
                if side[targets[i]] != side[v]:
                    boundary = True
                    break
            if boundary or abs(have - goal) > slack:
                s = side[v]
                size[s] = push(keys[s], nodes[s], size[s], -gain[v], v)
        count, best = 0, 0
        least, least_off = cut, abs(have - goal)
        before, before_off = cut, least_off
        while count < n and count - best <= patience:
            for s in range(2):  # drop what is out of date
                while size[s] > 0:
                    v = nodes[s, 0]
                    if locked[v] or side[v] != s or gain[v] != -keys[s, 0]:
                        size[s] = pop(keys[s], nodes[s], size[s])
                    else:
                        break
            pick = -1
            off = abs(have - goal)
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
            if pick < 0:
                break
            if off > slack:  # first of all the sides must be even
                heavy = 0 if have > goal else 1
                if size[heavy] > 0:
                    pick = heavy
            size[pick] = pop(keys[pick], nodes[pick], size[pick])
            v = nodes[pick, size[pick]]
            side[v] = 1 - pick
            locked[v] = True
            moved[count] = v
            count += 1
            have += -mass[v] if pick == 0 else mass[v]
            cut -= gain[v]
            gain[v] = -gain[v]
            for i in range(offsets[v], offsets[v + 1]):
                u = targets[i]
                gain[u] += -2 * weights[i] if side[u] == side[v] else 2 * weights[i]
                if not locked[u]:
                    s = side[u]
                    size[s] = push(keys[s], nodes[s], size[s], -gain[u], u)
            off = abs(have - goal)
            over, least_over = max(off - slack, 0), max(least_off - slack, 0)
            if over < least_over or (
                over == least_over and (cut < least or (cut == least and off < least_off))
            ):
                best, least, least_off = count, cut, off
        for j in range(count - 1, best - 1, -1):
            v = moved[j]
            s = side[v]
            side[v] = 1 - s
            have += mass[v] if s == 1 else -mass[v]
            cut -= gain[v]
            gain[v] = -gain[v]
            for i in range(offsets[v], offsets[v + 1]):
                u = targets[i]
                gain[u] += -2 * weights[i] if side[u] == side[v] else 2 * weights[i]
        for j in range(count):
            locked[moved[j]] = False
        if cut >= before and max(before_off - slack, 0) <= max(least_off - slack, 0):
            break
    return cut
