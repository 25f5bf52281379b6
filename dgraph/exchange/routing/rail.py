"""Routing ``rail``: inside first, then across, as in figure 3(b) of TuCOMM; NCCL calls it PXN.

A message to another group goes to the slot of its own group that has the target's local number,
and crosses from there. It sends as many frames across as aml, but all messages of a group to
one vertex meet before they cross, so a combiner makes one of them.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dgraph.exchange.routing.ground import Ground, arrive

__all__ = ["Rail"]


class Rail:
    """``s -> slot of s's group with t's local number -> t``.

    Examples
    --------
    >>> from dgraph.topology import Topology
    >>> Rail(Ground(Topology.from_fanouts([4, 3]))).step(0, [4, 1], [2, 11])
    array([6, 3])
    """

    stages = 2

    def __init__(self, ground: Ground) -> None:
        self.ground = ground

    def step(self, stage: int, here: ArrayLike, target: ArrayLike) -> NDArray[np.int64]:
        """Go to the twin of the target, then across."""
        if stage == 1:
            return arrive(here, target)
        twin = self.ground.groups.twin(here, target)
        return np.where(self.ground.cross(here, target), twin, target)
