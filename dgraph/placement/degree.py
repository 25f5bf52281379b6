"""Placement "degree": heaviest first, dealt round the slots."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dgraph.build.strategy import Totals, VertexBlock, no_measure


@dataclass(frozen=True)
class Degree:
    """Deal the vertices round the slots by rank.

    Slots get equally many vertices, give or take one, and equally many edges, give or take the
    heaviest vertex, on skewed graphs as well. Neighbours are not kept together.

    Examples
    --------
    >>> import dgraph.placement
    >>> dgraph.placement.resolve("degree")
    Degree()
    """

    def measure(self, block: VertexBlock) -> NDArray[np.int64]:
        """Return nothing: a rank says enough."""
        return no_measure()

    def slots_of(self, block: VertexBlock, slots: int, totals: Totals) -> NDArray[np.int32]:
        """Return rank modulo slots."""
        return (block.rank % slots).astype(np.int32)
