"""Placement "hash": by the id alone."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dgraph.build.strategy import Totals, VertexBlock, no_measure


@dataclass(frozen=True)
class Hash:
    """Place each vertex by the stable hash of its id.

    A vertex has the same owner in every graph, whatever its edges: the baseline of the papers.

    Examples
    --------
    >>> import dgraph.placement
    >>> dgraph.placement.resolve("hash")
    Hash()
    """

    def measure(self, block: VertexBlock) -> NDArray[np.int64]:
        """Return nothing: an id says enough."""
        return no_measure()

    def slots_of(self, block: VertexBlock, slots: int, totals: Totals) -> NDArray[np.int32]:
        """Return hash modulo slots."""
        return (block.ids.hash() % np.uint64(slots)).astype(np.int32)
