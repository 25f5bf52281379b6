"""Routing ``direct``: from the source straight to the target. The baseline."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dgraph.exchange.routing.ground import Ground, arrive

__all__ = ["Direct"]


class Direct:
    """``s -> t``.

    Examples
    --------
    >>> from dgraph.topology import Topology
    >>> Direct(Ground(Topology.from_fanouts([2, 2]))).step(0, 0, [1, 3])
    array([1, 3])
    """

    stages = 1

    def __init__(self, ground: Ground) -> None:
        self.ground = ground

    def step(self, stage: int, here: ArrayLike, target: ArrayLike) -> NDArray[np.int64]:
        """Go to the target."""
        return arrive(here, target)
