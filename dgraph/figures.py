"""The figures of a placement: what it cuts, repeats and costs, and how even it is.

A figure is a count over the edges of a graph that lies where the placement says: nothing is
run, and no edge leaves its slot.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from dgraph.clients import call, then
from dgraph.engine.context import Context
from dgraph.home import Home
from dgraph.kernels import count_up_to, kernel
from dgraph.shard import Shard
from dgraph.topology import CostModel, Topology

__all__ = ["Figures", "Placed", "unit_costs"]

Array = NDArray[Any]


@dataclass(frozen=True)
class Figures:
    """What a placement comes to.

    Parameters
    ----------
    cut : tuple of int
        Edges between two slots, by the level of the domain tree at which these meet. Edges
        inside a slot are not counted, a loop is none.
    replication : float
        Slots on which a vertex occurs, as master or proxy, on the average.
    vertex_balance, edge_balance : float
        The largest share of a slot over the mean: of vertices, of rows' entries.
    cost : float
        The sum over cut edges of the unit cost of their level.
    split, parts : int
        Vertices whose rows are split over slots, and in how many parts they lie. An edge in a
        part is counted between the slot of the part and that of its other end.
    why : str
        Which vertices were to be split.

    Examples
    --------
    >>> Figures((4, 2), 1.5, 1.0, 1.1, 24.0).cut_top
    2
    """

    cut: tuple[int, ...]
    replication: float
    vertex_balance: float
    edge_balance: float
    cost: float
    split: int = 0
    parts: int = 0
    why: str = "nothing was to be split"

    @property
    def cut_top(self) -> int:
        """Edges that cross the top level."""
        return self.cut[-1]


class Placed(str):
    """The name of a graph's placement, which also knows its figures.

    Examples
    --------
    >>> import numpy as np
    >>> import dgraph as dg
    >>> g = dg.from_edges(np.array([[1, 2], [2, 3]]), placement="chunk", virtual_slots=2)
    >>> g.placement
    'chunk'
    >>> g.placement.figures().cut
    (1,)
    """

    _home: Home
    _found: Figures | None
    _why: str

    @classmethod
    def of(cls, name: str, home: Home, why: str = Figures.why) -> Self:
        """Make the placement of a graph that lies on a home.

        Parameters
        ----------
        why : str
            Which vertices were to be split.
        """
        made = cls(name)
        made._home, made._found, made._why = home, None, why
        return made

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle the name only."""
        return str, (str(self),)

    def figures(self) -> Any:
        """Return the `Figures`, an awaitable of them if the client is asynchronous.

        They are counted when they are first asked for. Unit costs are YH-Light's: 1 at level
        0, and 10 times more at each next one.
        """
        if self._found is not None:
            known = self._found
            return then(call(self._home.client, _at_once), lambda _: known)
        self._home.check()
        return then(call(self._home.client, self._count), lambda found: found)

    async def _count(self) -> Figures:
        topology = self._home.topology
        counted = await self._home.ask("figures", count_slot, topology)
        self._found = sum_up(counted, topology, self._why)
        return self._found


async def _at_once() -> None:
    pass


def unit_costs(topology: Topology) -> NDArray[np.float64]:
    """Return YH-Light's unit costs by level.

    Examples
    --------
    >>> unit_costs(Topology.from_fanouts([4, 2, 2]))
    array([  1.,  10., 100.])
    """
    return np.array(CostModel.preset("decade", topology.height).relative())


async def count_slot(ctx: Context, shard: Shard, topology: Topology) -> tuple[Any, ...]:
    """Return what one slot counts: vertices, occurrences, entries, and ends of cut edges."""
    apart = np.zeros(shard.slots, np.int64)
    seen = np.zeros(shard.size, np.bool_)
    entries = split = parts = 0
    counts, peers = apart, np.array(shard.peers, np.int64)
    for rows, pieces in shard.families:
        _count_targets(rows.targets, shard.peer_start, peers, counts, seen)
        entries += len(rows.targets)
        if pieces is not None:
            _count_targets(pieces.rows.targets, shard.peer_start, peers, counts, seen)
            entries += len(pieces.rows.targets)
            seen[pieces.vertices] = True
            split += pieces.heavy.size
            parts += pieces.heavy.size + pieces.vertices.size
        counts = np.zeros_like(apart)  # an in-edge is an out-edge of the other end
    cut = topology.count_by_level(shard.slot, np.arange(shard.slots), apart)
    proxies = int(np.count_nonzero(seen[shard.masters :]))
    await ctx.allreduce([0])  # a run has a superstep
    occurrences = shard.masters + proxies
    return shard.masters, occurrences, entries, cut.tolist(), shard.directed, split, parts


def sum_up(
    counted: Sequence[tuple[Any, ...]], topology: Topology, why: str = Figures.why
) -> Figures:
    """Put together what the slots have counted."""
    masters, occurrences, entries = (
        np.array([some[at] for some in counted], np.float64) for at in range(3)
    )
    cut = np.sum([some[3] for some in counted], axis=0) // (1 if counted[0][4] else 2)
    return Figures(
        tuple(cut.tolist()),
        float(occurrences.sum() / max(masters.sum(), 1)),
        float(masters.max() / masters.mean()) if masters.any() else 1.0,
        float(entries.max() / entries.mean()) if entries.any() else 1.0,
        float(cut @ unit_costs(topology)),
        sum(some[5] for some in counted),
        sum(some[6] for some in counted),
        why,
    )


@kernel
def _count_targets(targets, peer_start, peers, apart, seen):  # type: ignore[no-untyped-def]
    """Count the targets that each other slot owns, and mark those that occur."""
    if peers.size == 0:
        return
    for target in targets:
        if target >= peer_start[0]:
            seen[target] = True
            apart[peers[count_up_to(peer_start, target) - 1]] += 1
