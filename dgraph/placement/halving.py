"""A domain tree as a sequence of cuts: a run of slots in two, each half in two, down to slots.

What follows one another in the run is near. All cuts are one table, so that a kernel can go
through them: between many short kernels each would have to wait for the interpreter.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from dgraph.kernels import kernel
from dgraph.topology import Topology

__all__ = ["Halving", "halving_of", "leaf_order", "parted", "share_of"]

Array = NDArray[Any]


class Halving(NamedTuple):
    """Where the slots of a domain tree are cut.

    Parameters
    ----------
    slots : int64 array
        All slots, those of every domain after one another.
    runs : int64 array of shape (2 * slots - 1, 5)
        Runs of these: begin, where it is cut, end, the number of the run that is its second
        half (the first half is the next one), and 1 if it is more than one leaf domain. The
        whole comes first. Runs are cut between domains of the highest level that can be.
    """

    slots: NDArray[np.int64]
    runs: NDArray[np.int64]

    @property
    def middle(self) -> int:
        """Where the whole is cut."""
        return int(self.runs[0, 1])

    @property
    def seconds(self) -> int:
        """Which run the second half of the whole is."""
        return int(self.runs[0, 3])


def halving_of(topology: Topology) -> Halving:
    """Return the cuts of a domain tree.

    Examples
    --------
    >>> halving_of(Topology.from_fanouts([2, 1])).runs.tolist()
    [[0, 1, 2, 2, 0], [0, 0, 1, 1, 0], [1, 1, 2, 2, 0]]
    """
    slots = leaf_order(topology)
    levels = topology.level(slots[:-1], slots[1:]).tolist()
    runs: list[tuple[int, int, int, int, int]] = []
    todo = [(0, len(slots))]
    while todo:
        begin, end = todo.pop()
        at, highest = begin, max(levels[begin : end - 1], default=0)
        if end - begin > 1:
            at = _middle(levels, begin, end, highest)
            todo += [(at, end), (begin, at)]
        runs.append((begin, at, end, len(runs) + 2 * (at - begin), int(highest > 0)))
    return Halving(slots.astype(np.int64), np.array(runs, np.int64))


def _middle(levels: list[int], begin: int, end: int, highest: int) -> int:
    """Return where a run is cut: between domains of the highest level, near the middle."""
    if not highest:
        return (begin + end) // 2
    cuts = [at for at in range(begin + 1, end) if levels[at - 1] == highest]
    return min(cuts, key=lambda at: abs(2 * at - begin - end))


def share_of(topology: Topology, eps: float) -> float:
    """Return how uneven each cut may be, of all those that follow one another."""
    return eps / int(np.ceil(np.log2(max(topology.slots, 2))))


def leaf_order(topology: Topology) -> Array:
    """Return the slots so that those of every domain follow one another."""
    domains = [topology.domain_of(level) for level in range(topology.height + 1)]
    order: Array = np.lexsort([np.arange(topology.slots), *domains])
    return order


@kernel
def parted(rows, side, names):  # type: ignore[no-untyped-def]
    """Return the rows, masses and names of the vertices of side 0, then those of side 1."""
    offsets, targets, _, mass = rows
    new = np.empty(mass.size, np.int32)
    many, ends = np.zeros(2, np.int64), np.zeros(2, np.int64)
    for v in range(mass.size):
        s = side[v]
        new[v] = many[s]
        many[s] += 1
        for i in range(offsets[v], offsets[v + 1]):
            ends[s] += side[targets[i]] == s
    return _part(rows, side, names, new, 0, many[0], ends[0]), _part(
        rows, side, names, new, 1, many[1], ends[1]
    )


@kernel
def _part(rows, side, names, new, which, many, ends):  # type: ignore[no-untyped-def]
    """Return the rows, masses and names of one side, so many vertices and ends of edges."""
    offsets, targets, weights, mass = rows
    to_offsets, to_mass = np.empty(many + 1, np.uint64), np.empty(many, np.int64)
    to_targets, to_weights = np.empty(ends, np.uint32), np.empty(ends, np.int64)
    to_names = np.empty(many, np.int64)
    to_offsets[0] = 0
    at = np.int64(0)
    for v in range(mass.size):
        if side[v] != which:
            continue
        for i in range(offsets[v], offsets[v + 1]):
            u = targets[i]
            if side[u] == which:
                to_targets[at], to_weights[at] = new[u], weights[i]
                at += 1
        j = new[v]
        to_offsets[j + 1], to_mass[j], to_names[j] = at, mass[v], names[v]
    return (to_offsets, to_targets, to_weights, to_mass), to_names
