"""Placement "metis": METIS's k-way partition, by way of pymetis (an optional extra).

G. Karypis, V. Kumar: A fast and high quality multilevel scheme for partitioning irregular
graphs, SIAM J. Sci. Comput. 20(1), 1998, doi:10.1137/S1064827595287997.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dgraph.arguments import number
from dgraph.engine.context import Context
from dgraph.errors import OptionError
from dgraph.placement.draft import Draft
from dgraph.placement.whole import Whole, place_whole
from dgraph.shard import Shard
from dgraph.topology import Topology

__all__ = ["Metis"]


@dataclass(frozen=True)
class Metis:
    """Let METIS cut the graph into as many parts as there are slots.

    The whole graph is gathered on one slot, and one thread works there. Parts are balanced to
    1 + `eps` vertices. METIS knows nothing of domains: part i goes to slot i, and since METIS
    bisects before it refines, parts of near numbers are near each other.

    Parameters
    ----------
    eps : float
        How much a slot may have above the mean. METIS's own default is 0.03.
    seed : int
        Of METIS's random numbers: the same seed, the same parts.

    Examples
    --------
    >>> import dgraph.placement
    >>> dgraph.placement.resolve("metis")
    Metis(eps=0.03, seed=1)
    """

    eps: float = 0.03
    seed: int = 1

    def __post_init__(self) -> None:
        """Check the options."""
        if not 0 < number("eps", self.eps) < 1:
            raise OptionError(f"eps must be a number between 0 and 1, not {self.eps}")

    @property
    def base(self) -> Draft:
        """Runs of ids: they cost nothing."""
        return Draft()

    def on(self, topology: Topology) -> Metis:
        """Return itself: METIS does not know domains."""
        return self

    async def place(self, ctx: Context, shard: Shard) -> NDArray[np.int32]:
        """Return the owner of each master."""
        return await place_whole(ctx, shard, lambda whole: self._decide(whole, ctx.slots))

    def _decide(self, whole: Whole, slots: int) -> NDArray[Any]:
        pymetis = _import()
        if slots == 1 or not whole.targets.size:
            return np.arange(whole.n) % slots
        options = pymetis.Options(ufactor=max(1, round(1000 * self.eps)), seed=self.seed)
        adjacency = pymetis.CSRAdjacency(whole.offsets.astype(np.int32), whole.targets)
        _, owner = pymetis.part_graph(slots, adjacency, options=options, recursive=False)
        return fill_empty(whole, np.array(owner, np.int32), slots)


def fill_empty(whole: Whole, owner: NDArray[np.int32], slots: int) -> NDArray[np.int32]:
    """Give slots without a vertex one of the fullest: METIS leaves some on tiny graphs.

    It is the one with the fewest neighbours there, the lightest of several.
    """
    counts = np.bincount(owner, minlength=slots)
    for empty in np.flatnonzero(counts == 0):
        full = int(np.argmax(counts))
        row = np.repeat(np.arange(whole.n), whole.degree)
        near = np.bincount(row[owner[whole.targets] == full], minlength=whole.n)
        inside = np.flatnonzero(owner == full)
        chosen = inside[np.lexsort([-inside, near[inside]])[0]]
        owner[chosen] = empty
        counts[full] -= 1
        counts[empty] += 1
    return owner


def _import() -> Any:
    try:
        import pymetis
    except ImportError:
        raise OptionError(
            "placement 'metis' needs pymetis, which is not installed: install "
            "dask-dgraph[metis], or use placement='hierarchy'"
        ) from None
    return pymetis
