"""A whole graph in this process and the slots that its vertices live on, without shards.

For thousands of virtual slots there is no room, and no need, for a shard each: what a slot
would send follows from who owns the neighbours. Vertices are numbered by rank (higher degree
first, then smaller id), as ties are decided; the undirected graph is one CSR.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numba as nb
import numpy as np
from numpy.typing import NDArray

__all__ = ["World", "gather", "make_world"]

Numbers = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class World:
    """A graph and where its vertices live.

    Parameters
    ----------
    offsets : int64 array of length n + 1
    targets : int32 array
        Neighbours by rank; a loop stands once in its row.
    edges : int
        As the user counts them.
    owner : int32 array of length n
        The slot of each vertex.
    slots : int
    ids : int64 array
        The user's id of each vertex.

    Examples
    --------
    >>> world = make_world(np.array([5, 6, 7]), np.array([6, 7, 5]), slots=3)
    >>> world.ids.tolist(), world.owner.tolist(), world.targets.tolist()
    ([5, 6, 7], [0, 1, 2], [1, 2, 0, 2, 0, 1])
    >>> world.holders.tolist()
    [1, 2, 0, 2, 0, 1]
    """

    offsets: Numbers
    targets: NDArray[np.int32]
    edges: int
    owner: NDArray[np.int32]
    slots: int
    ids: Numbers

    @property
    def n(self) -> int:
        """Vertices."""
        return self.owner.size

    @cached_property
    def bases(self) -> Numbers:
        """Masters on the slots before each slot."""
        counts = np.bincount(self.owner, minlength=self.slots)
        return np.concatenate([[0], np.cumsum(counts)])

    @cached_property
    def placed(self) -> Numbers:
        """Of each vertex its place when they are grouped by owner, by rank in each group."""
        found = np.empty(self.n, np.int64)
        found[np.argsort(self.owner, kind="stable")] = np.arange(self.n)
        return found

    @cached_property
    def proxies(self) -> tuple[Numbers, NDArray[np.int32]]:
        """For each vertex the other slots that have a neighbour of it, ascending: a CSR."""
        room = _count_holders(self.offsets, self.targets, self.owner, self.slots)
        starts = np.concatenate([[0], np.cumsum(room)])
        held = np.empty(starts[-1], np.int32)
        _list_holders(self.offsets, self.targets, self.owner, self.slots, starts, held)
        return starts, held

    @property
    def starts(self) -> Numbers:
        """Where each vertex's holders begin."""
        return self.proxies[0]

    @property
    def holders(self) -> NDArray[np.int32]:
        """The slots with proxies, vertex by vertex."""
        return self.proxies[1]

    def on(self, slots: int, owner: Any = None) -> World:
        """Return the same graph on so many slots; by default dealt round them by rank."""
        place = np.arange(self.n) % slots if owner is None else np.asarray(owner)
        return World(
            self.offsets, self.targets, self.edges, place.astype(np.int32), slots, self.ids
        )


def make_world(source: Any, target: Any, slots: int, owner: Any = None) -> World:
    """Return the undirected graph of an edge list; of parallel edges one is kept.

    Parameters
    ----------
    source, target : int arrays
        User ids.
    slots : int
    owner : int array, optional
        The slot of each vertex, by ascending user id. Default: dealt round by rank.
    """
    ids, codes = np.unique(np.concatenate([source, target]), return_inverse=True)
    n = ids.size
    u, v = np.split(codes.astype(np.int64), 2)
    pairs = np.unique(np.minimum(u, v) * n + np.maximum(u, v))
    u, v = np.divmod(pairs, max(n, 1))
    degree = np.bincount(u, minlength=n) + np.bincount(v, minlength=n)
    by_rank = np.argsort(-degree, kind="stable")
    rank = np.empty(n, np.int64)
    rank[by_rank] = np.arange(n)
    u, v = rank[u], rank[v]
    back = u != v
    arcs = np.sort(np.concatenate([u * n + v, v[back] * n + u[back]]))
    row, column = np.divmod(arcs, max(n, 1))
    offsets = np.concatenate([[0], np.cumsum(np.bincount(row, minlength=n))])
    world = World(
        offsets,
        column.astype(np.int32),
        pairs.size,
        np.zeros(n, np.int32),
        1,
        ids[by_rank],
    )
    return world.on(slots, None if owner is None else np.asarray(owner)[by_rank])


@nb.njit(cache=True)
def _count_holders(offsets, targets, owner, slots):  # type: ignore[no-untyped-def]
    last = np.full(slots, -1, np.int32)
    counts = np.zeros(owner.size, np.int64)
    for v in range(owner.size):
        last[owner[v]] = v
        for j in range(offsets[v], offsets[v + 1]):
            slot = owner[targets[j]]
            if last[slot] != v:
                last[slot] = v
                counts[v] += 1
    return counts


@nb.njit(cache=True)
def _list_holders(offsets, targets, owner, slots, starts, held):  # type: ignore[no-untyped-def]
    last = np.full(slots, -1, np.int32)
    for v in range(owner.size):
        last[owner[v]] = v
        at = starts[v]
        for j in range(offsets[v], offsets[v + 1]):
            slot = owner[targets[j]]
            if last[slot] != v:
                last[slot] = v
                held[at] = slot
                at += 1
        held[starts[v] : at].sort()


@nb.njit(cache=True)
def gather(starts, chosen):  # type: ignore[no-untyped-def]
    """Return the places of the holders of some vertices, and which vertex each is of.

    Examples
    --------
    >>> gather(np.array([0, 2, 2, 5]), np.array([0, 2]))
    (array([0, 1, 2, 3, 4]), array([0, 0, 2, 2, 2]))
    """
    total = 0
    for v in chosen:
        total += starts[v + 1] - starts[v]
    places, vertices = np.empty(total, np.int64), np.empty(total, np.int64)
    at = 0
    for v in chosen:
        for place in range(starts[v], starts[v + 1]):
            places[at], vertices[at] = place, v
            at += 1
    return places, vertices
