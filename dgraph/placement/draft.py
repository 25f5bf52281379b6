"""How vertices are spread while a strategy looks at their edges: by runs, on a few slots.

A superstep costs the same however little there is to do. So a small graph is looked at on a
few slots, far from each other: as many as have `ENOUGH` ends of edges each. How many they are
depends on the graph and on the number of slots only, and so does what comes out.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dgraph.build.strategy import Totals, VertexBlock
from dgraph.placement.chunk import Chunk

__all__ = ["Draft"]

#: Ends of edges that make it worth while to have one more slot work.
ENOUGH = 1 << 19


@dataclass(frozen=True)
class Draft:
    """Cut the order of ids into runs, for as many slots as there is work for.

    Parameters
    ----------
    enough : int
        Ends of edges for each of these slots, at least.

    Examples
    --------
    >>> from dgraph.vertices.ids import IntIds
    >>> number = np.arange(8)
    >>> block = VertexBlock(number, number, number, IntIds(number))
    >>> draft = Draft(enough=14)
    >>> draft.slots_of(block, 6, Totals(0, draft.measure(block)[None]))
    array([0, 0, 0, 0, 0, 3, 3, 3], dtype=int32)
    """

    enough: int = ENOUGH

    def is_alone(self, edges: int) -> bool:
        """Tell whether slot 0 gets all vertices of a graph with at most so many edges.

        >>> Draft(enough=14).is_alone(7), Draft(enough=14).is_alone(8)
        (True, False)
        """
        return 2 * edges <= self.enough

    def measure(self, block: VertexBlock) -> NDArray[np.int64]:
        """Return the number of vertices and the sum of their degrees."""
        return Chunk().measure(block)

    def slots_of(self, block: VertexBlock, slots: int, totals: Totals) -> NDArray[np.int32]:
        """Return in which run each vertex is, as the slot that gets the run."""
        ends = int(totals.measures[:, 1].sum())
        few = min(slots, max(1, -(-ends // self.enough)))
        if few == 1:
            return np.zeros(len(block), np.int32)
        spread = np.arange(few, dtype=np.int32) * slots // few
        chosen: NDArray[np.int32] = spread[Chunk(alpha=8).slots_of(block, few, totals)]
        return chosen
