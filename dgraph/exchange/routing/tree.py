"""Routing ``tree``: as monitor, but on all levels of the domain tree.

A message climbs from monitor to monitor until the next domain up also holds its target, crosses
to the domain beside it that does, and climbs down. What arrives early waits, so that everything
for one slot leaves in one frame. Messages of level h cross in stage h.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dgraph.exchange.routing.ground import Ground

__all__ = ["TreeRoute"]


class TreeRoute:
    """``s -> m_0(s) -> ... -> m_{h-1}(s) -> m_{h-1}(t) -> ... -> m_0(t) -> t``, h the level.

    Examples
    --------
    >>> from dgraph.exchange.routing.ground import positions
    >>> from dgraph.topology import Topology
    >>> tree = TreeRoute(Ground(Topology.from_fanouts([2, 2, 2])))
    >>> positions(tree, [7, 3], [3, 1]).T.tolist()
    [[7, 6, 4, 0, 2, 3], [3, 2, 0, 0, 0, 1]]
    """

    def __init__(self, ground: Ground) -> None:
        self.ground = ground
        self.stages = 2 * ground.topology.height + 1

    def step(self, stage: int, here: ArrayLike, target: ArrayLike) -> NDArray[np.int64]:
        """Climb up, cross or wait (stages 0 to H), then climb down."""
        here, target = np.asarray(here, np.int64), np.asarray(target, np.int64)
        monitor, height = self.ground.monitor, self.ground.topology.height
        if stage > height:
            down = 2 * height - stage
            following = monitor[down - 1][target] if down else target
            return np.where(here == monitor[down][target], following, here)
        level = self.ground.topology.level(here, target)
        across = monitor[stage - 1][target] if stage else target
        moved = np.where(level > stage, monitor[stage][here], across)
        return np.where(level < stage, here, moved)
