"""Routing ``multileader``: as monitor, but a group has several monitors that share the work.

Which one serves a message is told by the local number of its target: between monitor (one) and
rail (all slots of the group).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dgraph.exchange.routing.ground import Ground, arrive
from dgraph.exchange.routing.monitors import leaders

__all__ = ["LEADERS", "MultiLeader"]

Numbers = NDArray[np.int64]

#: Monitors in a group, at most one for each slot.
LEADERS = 2


class MultiLeader:
    """``s -> a leader of s's group -> a leader of t's group -> t``.

    Parameters
    ----------
    ground : Ground
    backwards : bool
        The source's number tells the leader, not the target's.

    Examples
    --------
    >>> from dgraph.topology import Topology
    >>> MultiLeader(Ground(Topology.from_fanouts([4, 3]))).step(0, 6, [2, 3])
    array([4, 5])
    """

    stages = 3

    def __init__(self, ground: Ground, backwards: bool = False) -> None:
        self.ground = ground
        self._backwards = backwards
        groups = ground.groups
        found = [leaders(members, ground.scores, LEADERS) for members in groups.split()]
        self.count = np.array([some.size for some in found])
        self.leader = np.array([np.resize(some, LEADERS) for some in found])
        #: For each leader its place among those of its group.
        self._place = np.zeros(groups.group.size, np.int64)
        for some in found:
            self._place[some] = np.arange(some.size)

    def step(self, stage: int, here: ArrayLike, target: ArrayLike) -> Numbers:
        """Go to a leader, across, and to the target."""
        here, target = np.asarray(here), np.asarray(target)
        if stage == 2:
            return arrive(here, target)
        local, group = self.ground.groups.local, self.ground.groups.group
        inside = group[here if stage == 0 else target]
        if not self._backwards:
            number = local[target]
        else:
            number = local[here] if stage == 0 else self._place[here]
        leader = self.leader[inside, number % self.count[inside]]
        return np.where(self.ground.cross(here, target), leader, target)
