"""A small sparse graph, cut as it is: without trees, and each cut again and again.

Trees are as large as a vertex has neighbours: of three neighbours they are hardly anything, and
what grows from place to place in a tree-like graph is one way to cut it out of many. Where all
of it is small, the ways can be tried. Cuts are made top down as those of the trees' graph (see
`bisection`). Vertices and ends of edges are told apart: where a graph is dense here and sparse
there, halves of as much of both together are not even. What no cut sees, as each knows only its
half, is improved on all slots at once at last (see `kway`).
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from dgraph.kernels import copy_into, kernel
from dgraph.placement.halving import halving_of, parted, share_of
from dgraph.placement.kway import TINY, improve_all, overload
from dgraph.placement.loads import Sizes
from dgraph.placement.multilevel import cut, fraction_of
from dgraph.placement.quotient import make_quotient
from dgraph.placement.whole import Links
from dgraph.shard import narrow_dtype
from dgraph.topology import Topology

__all__ = ["is_small", "place_small", "room_of"]

Array = NDArray[Any]

#: Most ends of edges times slots, and most ends of edges to a vertex.
MOST, SPARSE = 1 << 18, 8

#: A cut between domains is tried until the best one has come so often, and so often at most;
#: how many sides are grown for it each time.
TWICE, AGAIN, TRIES = 2, 4, 12

#: How far apart the seeds of such tries are.
STRIDE = 101

#: What a slot may have above the mean of ends of edges: of so few, what it computes takes less
#: time than a frame takes.
EDGES = 1 / 4

#: How much of what slots may have above the mean is used up before the last cut.
USED = 0.9


def is_small(sizes: Sizes, slots: int) -> bool:
    """Tell whether a graph is to be cut as it is.

    >>> is_small(Sizes(5000, 13_000, 19), 16), is_small(Sizes(1024, 16_000, 30), 16)
    (True, False)
    """
    return 0 < sizes.ends <= min(MOST // slots, SPARSE * sizes.vertices)


def room_of(sizes: Sizes, slots: int, eps: float) -> NDArray[np.int64]:
    """Return how many vertices and ends of edges each slot may have.

    >>> room_of(Sizes(vertices=100, ends=400, heaviest=6), 2, 0.1).tolist()
    [[55, 55], [250, 250]]
    """
    cap = sizes.capacities(slots, eps)
    cap[1] = np.maximum(cap[1], int((1 + max(EDGES, eps)) * sizes.ends / slots))
    return cap


def place_small(
    links: Links,
    sizes: Sizes,
    topology: Topology,
    cap: NDArray[np.int64],
    unit: NDArray[np.float64],
    eps: float,
) -> Array:
    """Return a slot for every vertex of a whole graph, -1 for isolated ones.

    Parameters
    ----------
    links : Links
        Of all vertices.
    cap : int64 array of shape (2, slots)
        What each slot may have, see `room_of`.
    unit : float64 array of shape (slots, slots)
        Cost of an edge between two slots.
    eps : float
        How uneven slots may be.
    """
    near = np.flatnonzero(links.degree)
    new = np.full(len(links.degree), -1, np.int32)
    new[near] = np.arange(near.size, dtype=np.int32)
    degree = links.degree[near].astype(np.int64)
    key = np.repeat(new[near].astype(np.int64), degree) * near.size + new[links.targets]
    key.sort()  # how edges came does not matter
    source, target = (some.astype(np.int32) for some in np.divmod(key, near.size))
    mean = max(1, round(16 * sizes.ends / sizes.vertices))
    graph = make_quotient(source, target, np.ones(target.size, np.int32), mean + 16 * degree)
    loads = np.stack([np.ones_like(degree), degree])
    slot = np.zeros(near.size, np.int32)
    _split(graph.rows, loads, halving_of(topology), cap, share_of(topology, eps), slot)
    improve_all(graph.rows, loads, slot, cap, np.rint(unit * 8).astype(np.int64), 1)
    slot_of = np.full(len(links.degree), -1, narrow_dtype(topology.slots))
    slot_of[near] = slot
    return slot_of


@kernel
def _split(rows, loads, halving, cap, share, owner):  # type: ignore[no-untyped-def]
    """Write the slots of all vertices."""
    whole, slots = loads, halving.slots.size
    todo = [(rows, np.arange(owner.size), 0, 1)]
    while todo:
        rows, names, run, seed = todo.pop()
        begin, at, end, seconds, _ = halving.runs[run]
        if end - begin == 1:
            owner[names] = halving.slots[begin]
        elif names.size:
            own = whole[:, names]
            room = _room(whole, cap, slots, at - begin, end - at)
            side = _cut(rows, own, halving, run, room, share, seed)
            first, second = parted(rows, side, names)
            todo.append((*first, run + 1, 2 * seed))
            todo.append((*second, seconds, 2 * seed + 1))


@kernel
def _room(loads, cap, slots, first, second):  # type: ignore[no-untyped-def]
    """Return what both sides may have that get so many slots each, as `cap` does."""
    room = np.empty((2, 2), np.int64)
    for c in range(2):
        mean = loads[c].sum() / slots
        most = mean + (cap[c, 0] - mean) * (USED if first + second > 2 else 1.0)
        room[c, 0] = np.int64(max(first * most, 1.0))
        room[c, 1] = np.int64(max(second * most, 1.0))
    return room


@kernel
def _cut(rows, loads, halving, run, room, share, seed):  # type: ignore[no-untyped-def]
    """Return the side of each vertex where a run is cut: the best of several tries.

    `room`: what both sides may have, of vertices and of ends of edges.
    """
    goal = np.int64(np.rint(rows[3].sum() * fraction_of(halving, run)))
    best, least, least_over, came = np.empty(0, np.int8), np.int64(0), 0.0, 0
    for turn in range(AGAIN if halving.runs[run, 4] else 1):
        side = cut(rows, goal, share, seed + STRIDE * turn, TRIES)
        enough = least if came and least_over == 0.0 else np.int64(-1)
        cost, over = _even_up(rows, loads, side, room, seed + STRIDE * turn, enough)
        same = over <= least_over + TINY
        if came == 0 or over < least_over - TINY or (same and cost < least):
            best, least, least_over, came = side, cost, over, 1
        elif same and cost == least:
            came += 1
            if came == TWICE:
                break
    return best


@kernel
def _even_up(rows, loads, side, room, seed, enough):  # type: ignore[no-untyped-def]
    """Take what is too much off a side, in place; return what is cut, and too much then.

    Not if so many edges are cut before, -1: always.
    """
    offsets, targets, weights, _ = rows
    have, cost, over = np.zeros((2, 2), np.int64), np.int64(0), 0.0
    for v in range(side.size):
        have[0, side[v]] += loads[0, v]
        have[1, side[v]] += loads[1, v]
        for i in range(offsets[v], offsets[v + 1]):
            cost += weights[i] * (side[targets[i]] ^ side[v])
    for s in range(2):
        over += overload(have[0, s], have[1, s], s, room)
    if over == 0.0 or 0 <= enough <= cost // 2:
        return cost // 2, over
    unit = np.zeros((2, 2), np.int64)
    unit[0, 1] = unit[1, 0] = 1
    slot = side.astype(np.int32)
    found = improve_all(rows, loads, slot, room, unit, seed)
    copy_into(side, slot)
    return found
