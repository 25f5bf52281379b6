"""Routing ``aml``: across first, then inside, as the library of the Graph500 reference does.

A message to another group crosses to the slot there that has the source's local number, and is
forwarded inside the group: p gateways for each group of p slots, and p frames from each group
to each other one. Messages of different slots never meet before they have crossed.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dgraph.exchange.routing.ground import Ground, arrive

__all__ = ["Aml"]


class Aml:
    """``s -> slot of t's group with s's local number -> t``.

    Parameters
    ----------
    ground : Ground
    patient : bool
        Whether messages inside a group wait for the second stage.

    Examples
    --------
    >>> from dgraph.topology import Topology
    >>> Aml(Ground(Topology.from_fanouts([4, 3]))).step(0, [4, 1], [2, 11])
    array([0, 9])
    """

    stages = 2

    def __init__(self, ground: Ground, patient: bool = False) -> None:
        self.ground = ground
        self._patient = patient

    def step(self, stage: int, here: ArrayLike, target: ArrayLike) -> NDArray[np.int64]:
        """Cross, then go to the target."""
        if stage == 1:
            return arrive(here, target)
        twin = self.ground.groups.twin(target, here)
        inside = here if self._patient else target
        return np.where(self.ground.cross(here, target), twin, inside)
