"""Which supersteps a search spares where each takes longer than much work, as between sites.

The first one, in which slots ask who owns the sources: every slot looks through its ids. And
the last one, which would find nothing: of the vertices that it would push from, all are leaves.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from dgraph.engine.context import Context
from dgraph.kernels import kernel
from dgraph.shard import Shard
from dgraph.vertices.ids import Ids, IntIds

__all__ = ["Afar", "spares_supersteps"]

_ONE = np.uint64(1)

Array = NDArray[Any]


def spares_supersteps(ctx: Context, shard: Shard, sources: Ids) -> bool:
    """Tell whether to look through all ids takes less time than a superstep; on all slots."""
    if ctx.gateways is None or not ctx.away or shard.out_split is not None:
        return False
    looked = 8 * len(sources) * (1 + shard.num_vertices // ctx.slots)
    ints = isinstance(shard.ids, IntIds)
    return ints and ctx.gateways.network.spares_supersteps(looked)


class Afar(NamedTuple):
    """What a slot knows for it.

    Parameters
    ----------
    named : int
        How many sources it owns.
    leaves : bitmap over the proxies, counted from 0
        From these no way leads on.
    directed : bool
    masters : int
    """

    named: int
    leaves: NDArray[np.uint64]
    directed: bool
    masters: int

    def tell(self, mine: int, edges: int, found: NDArray[np.int32]) -> tuple[int, int]:
        """Return 1 if a way leads on from what a top-down step has found, else 0; and `named`.

        Parameters
        ----------
        mine : int
            The masters among them.
        edges : int
            What these have, and for each proxy the mean of it.
        found : int32 array
            The proxies.

        Examples
        --------
        >>> afar = Afar(1, np.array([0b101], np.uint64), False, 100)
        >>> few, more = np.array([102, 100]), np.array([102, 101])
        >>> afar.tell(2, 4, few), afar.tell(2, 5, few), afar.tell(2, 4, more)
        ((0, 1), (1, 1), (1, 1))
        """
        of_leaves = 0 if self.directed else mine + found.size
        ends = not mine or edges == of_leaves
        return int(not (ends and _are_leaves(self.leaves, found, self.masters))), self.named


@kernel
def _are_leaves(leaves, found, masters):  # type: ignore[no-untyped-def]
    for proxy in found:
        place = np.uint64(proxy - masters)
        if not (leaves[place >> np.uint64(6)] >> (place & np.uint64(63))) & _ONE:
            return False
    return True
