"""Monitors: the slot of each domain that gathers what leaves it and scatters what comes.

A monitor should hold heavy vertices, for then much of what it gathers is its own; and as many
monitors as possible should stand under one switch.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dgraph.topology import Topology

__all__ = ["HEAVIEST", "elect", "leaders", "score"]

Numbers = NDArray[np.int64]

#: A slot's score is the sum of the degrees of so many of its vertices.
HEAVIEST = 64

#: Scores within 5 % of the best are as good: then the switch decides.
CLOSE = 0.95


def score(degrees: ArrayLike) -> int:
    """Return the score of a slot from the degrees of its vertices, heaviest first.

    Examples
    --------
    >>> score([5, 2, 1]), score([])
    (8, 0)
    """
    return int(np.asarray(degrees, np.int64)[:HEAVIEST].sum())


def elect(topology: Topology, scores: Sequence[int] = ()) -> Numbers:
    """Return for each level and slot the monitor of the slot's domain at that level.

    Parameters
    ----------
    topology : Topology
    scores : sequence of int, one for each slot
        Default: all the same.

    Notes
    -----
    Domains elect from the leaves up, each among the monitors of its children: of those whose
    score is within 5 % of the best, the one under whose child domain most monitors stand
    already, then the one with the best score, then the one with the lowest number. A monitor
    of a domain is thereby the monitor of one of its children.

    Examples
    --------
    >>> elect(Topology.from_fanouts([2, 2]), [1, 9, 5, 0]).tolist()
    [[1, 1, 2, 2], [1, 1, 1, 1]]
    """
    known = np.zeros(topology.slots, np.int64) if len(scores) == 0 else np.asarray(scores)
    monitor = np.empty((topology.height + 1, topology.slots), np.int64)
    carried = np.zeros(topology.slots, np.int64)  # monitors so far in the domain of each slot
    for level in range(topology.height + 1):
        below = np.arange(topology.slots) if level == 0 else monitor[level - 1]
        for domain in topology.domains(level):
            candidates = np.unique(below[domain])
            chosen = _best(candidates, known, carried)
            monitor[level, domain] = chosen
            new = level == 0 or candidates.size > 1  # else it is the domain of the level below
            carried[domain] = (carried[candidates].sum() if level else 0) + new
    return monitor


def _best(candidates: Numbers, scores: Numbers, carried: Numbers) -> int:
    close = candidates[scores[candidates] >= CLOSE * scores[candidates].max()]
    return int(min(close, key=lambda slot: (-carried[slot], -scores[slot], slot)))


def leaders(members: Numbers, scores: Sequence[int], count: int) -> Numbers:
    """Return the slots of a group with the highest scores, ascending; ties: lowest number.

    Examples
    --------
    >>> leaders(np.array([4, 5, 6]), [0, 0, 0, 0, 1, 7, 1], 2)
    array([4, 5])
    """
    known = np.zeros(members.max() + 1) if len(scores) == 0 else np.asarray(scores)
    return np.sort(members[np.argsort(-known[members], kind="stable")[:count]])
