"""Routing ``mst``: as monitor, but the gateway is always the first slot of the group.

A baseline after the MST library, which packs messages at the gateway but does not combine them,
and has buffers of a fixed number and size. A run over ``mst`` is like that whatever the options
say.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from dgraph.exchange.routing.monitor import Monitor

__all__ = ["Mst"]


class Mst(Monitor):
    """``s -> first slot of s's group -> first slot of t's group -> t``.

    Examples
    --------
    >>> from dgraph.exchange.routing.ground import Ground
    >>> from dgraph.topology import Topology
    >>> Mst(Ground(Topology.from_fanouts([4, 3]))).step(0, 6, [2, 5])
    array([4, 5])
    """

    @property
    def gate(self) -> NDArray[np.int64]:
        """For each slot, the first slot of its group."""
        groups = self.ground.groups
        first: NDArray[np.int64] = groups.members[groups.starts[groups.group]]
        return first
