"""How unevenly messages are spread over the domains of the tree.

A vertex of high degree has a proxy of almost every vertex beside it, so the slot that holds it
sends many times as many messages as others (and gets as many values). Of few slots each has
many vertices, and this evens out. Of thousands it does not: on a Kronecker graph of scale 20
and 4,096 slots those of the fullest board of eight have five times the proxies of others,
and all that they send passes one monitor.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from dgraph.topology import Topology

__all__ = ["uneven"]


def uneven(topology: Topology, messages: NDArray[np.int64]) -> tuple[float, ...]:
    """Return how many times as many messages as on average the fullest domain has, by level.

    Parameters
    ----------
    topology : Topology
    messages : int64 array
        Of each slot.

    Returns
    -------
    tuple of float
        By reach, from 1 on: of the fullest slot first, then of a slot of the fullest domain of
        level 0, ..., and at last of that of the top, which is 1.

    Examples
    --------
    >>> uneven(Topology.from_fanouts([2, 2]), np.array([6, 2, 3, 1]))
    (2.0, 1.3333333333333333, 1.0)
    """
    mean = messages.sum() / topology.slots
    if not mean:
        return (1.0,) * (topology.height + 2)
    most = [float(messages.max() / mean)]
    for level in range(topology.height + 1):
        domain = topology.domain_of(level)
        most.append(float((np.bincount(domain, messages) / np.bincount(domain)).max() / mean))
    return tuple(most)
