"""Routing ``monitor``: gather at the group's monitor, one frame across, scatter.

It sends the fewest frames across, one for each pair of groups, and all messages of a group to
one vertex meet before they cross. But everything passes through one slot of each group.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dgraph.exchange.routing.ground import Ground, arrive

__all__ = ["Monitor"]

Numbers = NDArray[np.int64]


class Monitor:
    """``s -> monitor of s's group -> monitor of t's group -> t``.

    Examples
    --------
    >>> from dgraph.topology import Topology
    >>> monitor = Monitor(Ground(Topology.from_fanouts([4, 3]), scores=(0, 5) + (0,) * 10))
    >>> [monitor.step(stage, here, 2).tolist() for stage, here in enumerate((6, 4, 1))]
    [4, 1, 2]
    """

    stages = 3

    def __init__(self, ground: Ground) -> None:
        self.ground = ground

    @property
    def gate(self) -> Numbers:
        """For each slot, the gateway of its group."""
        return self.ground.gate

    def step(self, stage: int, here: ArrayLike, target: ArrayLike) -> Numbers:
        """Go to the gateway, across, and to the target."""
        if stage == 2:
            return arrive(here, target)
        gate = self.gate[np.asarray(here if stage == 0 else target)]
        return np.where(self.ground.cross(here, target), gate, target)
