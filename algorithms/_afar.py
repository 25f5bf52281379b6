"""Which supersteps a search spares where each takes longer than much work, as between sites.

The first one, in which slots ask who owns the sources: every slot looks through its ids. The
one in which a frontier is told of, as bottom-up begins: where that is foreseen, the top-down
step before tells of what it finds at once (:mod:`dgraph.engine.telling`). What other slots have
visited before is among it, which does no harm: no vertex that is left has an edge from there.
The one of the last bottom-up level, if the search is known to turn back as few are left: who is
found pushes at once. And those that would find nothing: of the vertices that would be pushed
from, all are leaves; and nobody tells a parent that it has been found.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from dgraph.algorithms._expected import expected
from dgraph.algorithms._search import add
from dgraph.engine.agreement import Outlook
from dgraph.engine.context import Context
from dgraph.kernels import kernel
from dgraph.shard import Shard
from dgraph.shard.bits import lowest
from dgraph.vertices.ids import Ids, IntIds

__all__ = [
    "MARKED",
    "Afar",
    "edges_of",
    "foresee",
    "mark_parents",
    "spares_supersteps",
]

#: Of so many vertices that others have found, the parents are looked for; of so many that were
#: found here it is looked at how many edges they have.
MARKED = 4096

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
    proxies : int
        Of all slots.
    outlook : Outlook
    directed : bool
    masters : int
    """

    named: int
    proxies: int
    outlook: Outlook
    directed: bool
    masters: int

    def tells(self, ctx: Context, edges: int, alpha: int, unexplored: int) -> bool:
        """Tell whether a top-down step along so many edges is to tell all of what it finds.

        It is if that is likely to have so many edges that the search turns, and not too much;
        the same on all slots.
        """
        assert ctx.gateways is not None
        turns = foresee(self.outlook, edges) * alpha > unexplored - edges
        found = expected(edges, self.proxies)
        return turns and ctx.gateways.network.may_tell(found)

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
        >>> afar = Afar(1, 9, Outlook(np.array([1, 2, 1], np.uint8), (), ()), False, 100)
        >>> few, more = np.array([102, 100]), np.array([102, 101])
        >>> afar.tell(2, 4, few), afar.tell(2, 5, few), afar.tell(2, 4, more)
        ((0, 1), (1, 1), (1, 1))
        """
        of_leaves = 0 if self.directed else mine + found.size
        ends = not mine or edges == of_leaves
        most = 0 if self.directed else 1
        ends = ends and _are_leaves(self.outlook.bits, found, self.masters, most)
        return int(not ends), self.named


@kernel
def edges_of(outlook_bits, s, offsets, found):  # type: ignore[no-untyped-def]
    """Return how many edges the masters of a frontier have, and about how many some proxies."""
    edges, masters = np.int64(0), s.level.size
    for i in range(s.filled.size):
        rest = s.filled[i]
        while rest:
            word = (i << 6) + lowest(rest)
            bits = s.front[word]
            while bits:
                v = np.uint64((word << 6) + lowest(bits))
                edges += np.int64(offsets[v + _ONE] - offsets[v])
                bits &= bits - _ONE
            rest &= rest - _ONE
    for proxy in found:
        bits_of_one = np.int64(outlook_bits[proxy - masters])
        edges += bits_of_one if bits_of_one < 2 else (3 << bits_of_one) >> 2
    return edges


def foresee(outlook: Outlook, edges: int) -> int:
    """Return about how many edges those have who are found along so many edges.

    A vertex of which d edges are among all m is met by d t / (m + d t) of t tosses. This is the
    arithmetic of IEEE 754, so all slots foresee the same.

    Examples
    --------
    >>> star = Outlook(np.zeros(0, np.uint8), (0, 100, 1), (0, 100, 100))
    >>> foresee(star, 1), foresee(star, 100)
    (33, 131)
    """
    total, found = sum(outlook.edges), 0.0
    for count, some in zip(outlook.vertices, outlook.edges, strict=True):
        if some:
            met = edges * (some / count)
            found += some * (met / (total + met))
    return int(found)


@kernel
def mark_parents(met, ranks, s, out, rank):  # type: ignore[no-untyped-def]
    """Let what others have found here not push back to its parents, which have these ranks.

    Rows ascend by rank. In a directed graph there may be no such edge.
    """
    offsets, targets = out.offsets, out.targets
    for i in range(met.size):
        low, high = offsets[met[i]], offsets[met[i] + 1]
        end = high
        while low < high:
            middle = (low + high) >> np.uint64(1)
            if rank[targets[middle]] < ranks[i]:
                low = middle + np.uint64(1)
            else:
                high = middle
        if low < end and rank[targets[low]] == ranks[i]:
            add(s.seen, np.uint64(targets[low]))


@kernel
def _are_leaves(bits, found, masters, most):  # type: ignore[no-untyped-def]
    more = 0
    for proxy in found:
        more += bits[proxy - masters] > most
    return more == 0
