"""Placement "chunk": runs of neighbouring ids, of even weight (Gemini).

X. Zhu et al.: Gemini: A Computation-Centric Distributed Graph Processing System, OSDI 2016.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dgraph.arguments import optional_integer
from dgraph.build.strategy import Totals, VertexBlock


@dataclass(frozen=True)
class Chunk:
    """Cut the ascending order of ids into one run for each slot.

    A vertex weighs ``alpha + degree``, and a slot's run at most its share of the total weight
    plus one vertex. Keeps neighbours together where near ids mean near vertices: grids, roads,
    crawled web pages.

    Parameters
    ----------
    alpha : int, optional
        Weight of a vertex beside that of its edges. Default: Gemini's ``8 * (slots - 1)``.

    Examples
    --------
    >>> import dgraph.placement
    >>> dgraph.placement.Chunk(alpha=16)
    Chunk(alpha=16)
    """

    alpha: int | None = None

    def __post_init__(self) -> None:
        """Check the option."""
        optional_integer("alpha", self.alpha, 0)

    def measure(self, block: VertexBlock) -> NDArray[np.int64]:
        """Return the number of vertices and the sum of their degrees."""
        return np.array([len(block), block.degree.sum(dtype=np.int64)], np.int64)

    def slots_of(self, block: VertexBlock, slots: int, totals: Totals) -> NDArray[np.int32]:
        """Return in which slot's share the weight before each vertex ends."""
        cuts = np.concatenate([[0], self.cuts(block, slots, totals), [len(block)]])
        return np.repeat(np.arange(slots, dtype=np.int32), np.diff(cuts))

    def cuts(self, block: VertexBlock, slots: int, totals: Totals) -> NDArray[np.int64]:
        """Return where in a block the runs of the slots from 1 on begin, or would."""
        alpha = 8 * (slots - 1) if self.alpha is None else self.alpha
        weights = totals.measures @ np.array([alpha, 1], np.int64)
        total, first = int(weights.sum()), int(weights[: totals.block].sum())
        own = block.degree.astype(np.int64) + alpha
        before = first + np.cumsum(own) - own
        shares = np.array([total * slot // slots for slot in range(1, slots)], np.int64)
        return np.searchsorted(before, shares).astype(np.int64)
