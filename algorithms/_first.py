"""The first in-neighbour of every vertex, the heaviest: often all that has to be looked at.

To read the beginning of a row is a cache line from anywhere in memory for every vertex. Beside
each other they are 4 bytes a vertex, read in sequence.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from dgraph.shard import Shard

__all__ = ["first_neighbours"]


def first_neighbours(shard: Shard) -> NDArray[np.uint32]:
    """Return the first in-neighbour of every master, itself if it has none; kept."""
    found: NDArray[np.uint32] | None = shard.derived.get("first in-neighbours")
    if found is None:
        found = np.arange(shard.masters, dtype=np.uint32)
        offsets, targets = shard.into.offsets, shard.into.targets
        rows = np.flatnonzero(offsets[1:] > offsets[:-1])
        found[rows] = targets[offsets[rows]]
        shard.derived["first in-neighbours"] = found
    return found
