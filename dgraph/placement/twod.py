"""Placement "2d": a vertex placement after the two-dimensional decomposition (simplified).

A. Buluc, K. Madduri: Parallel breadth-first search on distributed memory systems, SC 2011,
doi:10.1145/2063384.2063471.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from dgraph.build.blocks import near_root
from dgraph.build.strategy import Totals, VertexBlock
from dgraph.engine.context import Context
from dgraph.shard import Shard
from dgraph.topology import Topology

__all__ = ["TwoD", "deal_in_domains"]


@dataclass(frozen=True)
class TwoD:
    """Lay the slots out in m x n: runs of ids over the rows, ranks dealt over the columns.

    A simplified reading. The two-dimensional decomposition places edges, by the row of one end
    and the column of the other; here an edge lives with its ends, so that of the scheme only
    the place of the vertices is left: what it gives up in locality inside a row, and the even
    rows and columns. m is the greatest divisor of the number of slots up to its root.

    Examples
    --------
    >>> import dgraph.placement
    >>> dgraph.placement.resolve("2d")
    TwoD()
    """

    NAME: ClassVar[str] = "2d"

    def measure(self, block: VertexBlock) -> NDArray[np.int64]:
        """Return the number of vertices."""
        return np.array([len(block)], np.int64)

    def slots_of(self, block: VertexBlock, slots: int, totals: Totals) -> NDArray[np.int32]:
        """Return row and column in one number."""
        rows = near_root(slots)
        columns = slots // rows
        total = max(int(totals.measures.sum()), 1)
        row = block.order.astype(np.int64) * rows // total
        owner: NDArray[np.int32] = (row * columns + block.rank % columns).astype(np.int32)
        return owner


async def deal_in_domains(
    ctx: Context, shard: Shard, owner: NDArray[Any], topology: Topology
) -> NDArray[np.int32]:
    """Deal the vertices of every leaf domain over its slots, and return their slots.

    Parameters
    ----------
    owner : int array of length shard.masters
        Slots, of which only the leaf domain counts.
    """
    groups = topology.domains(0)
    domain = topology.domain_of(0)[owner]
    here = np.bincount(domain, minlength=len(groups))
    counts = np.stack([some[0] for some in await ctx.allgather(here)])
    first = counts[: ctx.slot].sum(axis=0)
    dealt = np.empty(len(owner), np.int32)
    for number, slots in enumerate(groups):
        inside = np.flatnonzero(domain == number)
        dealt[inside] = slots[(first[number] + np.arange(inside.size)) % len(slots)]
    return dealt
