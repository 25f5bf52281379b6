"""Placement "fennel": one pass over the vertices, each to the slot that scores best.

C. Tsourakakis, C. Gkantsidis, B. Radunovic, M. Vojnovic: FENNEL: streaming graph partitioning
for massive scale graphs, WSDM 2014, doi:10.1145/2556195.2556213.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dgraph.arguments import number
from dgraph.engine.context import Context
from dgraph.errors import OptionError
from dgraph.kernels import kernel
from dgraph.placement.draft import Draft
from dgraph.placement.whole import Whole, place_whole
from dgraph.shard import Shard
from dgraph.topology import Topology

__all__ = ["Fennel"]


@dataclass(frozen=True)
class Fennel:
    """Stream the vertices by ascending id; neighbours count for a slot, its size against it.

    The score of a slot with s vertices is the number of neighbours there less
    ``alpha * gamma * s ** (gamma - 1)``, where ``alpha = edges * slots ** (gamma - 1) / n **
    gamma``. Domains are not known. The stream is that of one slot, which gathers the graph.

    Parameters
    ----------
    gamma : float
        How much size counts; the paper's 1.5.
    eps : float
        A slot gets at most ``1 + eps`` times the mean of vertices.

    Examples
    --------
    >>> import dgraph.placement
    >>> dgraph.placement.resolve("fennel")
    Fennel(gamma=1.5, eps=0.05)
    """

    gamma: float = 1.5
    eps: float = 0.05

    def __post_init__(self) -> None:
        """Check the options."""
        if not 1 < number("gamma", self.gamma) <= 4:
            raise OptionError(f"gamma must be a number above 1, up to 4, not {self.gamma}")
        number("eps", self.eps, 0, 1)

    @property
    def base(self) -> Draft:
        """Runs of ids: they cost nothing."""
        return Draft()

    def on(self, topology: Topology) -> Fennel:
        """Return itself: domains are not known."""
        return self

    async def place(self, ctx: Context, shard: Shard) -> NDArray[np.int32]:
        """Return the owner of each master."""
        return await place_whole(ctx, shard, lambda whole: self._decide(whole, ctx.slots))

    def _decide(self, whole: Whole, slots: int) -> NDArray[Any]:
        edges = len(whole.targets) / 2
        alpha = edges * slots ** (self.gamma - 1) / whole.n**self.gamma
        cap = max(-(-whole.n // slots), int((1 + self.eps) * whole.n / slots))
        sizes = np.arange(cap + 1, dtype=np.float64)
        price = alpha * self.gamma * sizes ** (self.gamma - 1)
        owner = np.full(whole.n, -1, np.int32)
        _stream(whole.offsets, whole.targets, np.argsort(whole.order), slots, price, owner)
        return owner


@kernel
def _stream(offsets, targets, stream, slots, price, owner):  # type: ignore[no-untyped-def]
    size = np.zeros(slots, np.int64)
    near = np.zeros(slots, np.int64)
    for v in stream:
        for i in range(offsets[v], offsets[v + 1]):
            if owner[targets[i]] >= 0:
                near[owner[targets[i]]] += 1
        best, most = -1, 0.0
        for s in range(slots):
            if size[s] < price.size - 1:
                score = near[s] - price[size[s]]
                if best < 0 or score > most:
                    best, most = s, score
            near[s] = 0
        owner[v] = best
        size[best] += 1
