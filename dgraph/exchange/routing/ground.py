"""The ground that routes run over: the domain tree, groups, and an elected monitor each."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dgraph.exchange.routing.monitors import elect
from dgraph.topology import CostModel, Topology
from dgraph.topology.groups import Groups

__all__ = ["Ground", "Strategy", "arrive", "default_group", "positions"]

Numbers = NDArray[np.int64]


@dataclass(frozen=True)
class Ground:
    """What the slots of a run have in common: the same on all of them.

    Parameters
    ----------
    topology : Topology
    group : int
        The level in whose domains flat routings gather.
    scores : tuple of int
        How heavy the vertices of each slot are, for the election of monitors.

    Examples
    --------
    >>> ground = Ground(Topology.from_fanouts([2, 2]))
    >>> ground.cross(0, [1, 2]), ground.gate.tolist()
    (array([False,  True]), [0, 0, 2, 2])
    """

    topology: Topology
    group: int = 0
    scores: tuple[int, ...] = ()

    @cached_property
    def groups(self) -> Groups:
        """The groups of slots in which flat routings gather."""
        return self.topology.groups(self.group)

    @cached_property
    def monitor(self) -> Numbers:
        """For each level and slot, the monitor of the slot's domain."""
        return _elected(self.topology, self.scores)

    @property
    def gate(self) -> Numbers:
        """For each slot, the monitor of its group."""
        gate: Numbers = self.monitor[self.group]
        return gate

    def cross(self, here: ArrayLike, there: ArrayLike) -> NDArray[np.bool_]:
        """Return whether slots are in different groups."""
        group = self.groups.group
        apart: NDArray[np.bool_] = group[np.asarray(here)] != group[np.asarray(there)]
        return apart


@lru_cache(maxsize=64)  # the next run elects the same
def _elected(topology: Topology, scores: tuple[int, ...]) -> Numbers:
    return elect(topology, scores)


class Strategy(Protocol):
    """Over which slots messages travel: a schedule of stages.

    In a stage a slot sends at most one frame to each other slot. After the last stage every
    message is at its target.
    """

    @property
    def stages(self) -> int:
        """How many stages there are."""

    def step(self, stage: int, here: ArrayLike, target: ArrayLike) -> Numbers:
        """Return the slots to which messages for `target` go that are `here`.

        The same slot if they stay. NumPy broadcasts `here` and `target`.
        """


def arrive(here: ArrayLike, target: ArrayLike) -> Numbers:
    """Return the targets: the last step of most strategies.

    Examples
    --------
    >>> arrive(0, [1, 3])
    array([1, 3])
    """
    found: Numbers = np.broadcast_arrays(np.asarray(target, np.int64), np.asarray(here))[0]
    return found


def positions(strategy: Strategy, source: ArrayLike, target: ArrayLike) -> Numbers:
    """Return where messages are: a row for the sources, and one for after each stage.

    Examples
    --------
    >>> from dgraph.exchange.routing.rail import Rail
    >>> rail = Rail(Ground(Topology.from_fanouts([4, 3])))
    >>> positions(rail, [4, 1], [2, 11]).T.tolist()
    [[4, 6, 2], [1, 3, 11]]
    """
    here, target = np.broadcast_arrays(np.asarray(source, np.int64), np.asarray(target))
    rows = [here]
    for stage in range(strategy.stages):
        rows.append(strategy.step(stage, rows[-1], target))
    return np.array(rows)


def default_group(topology: Topology, cost: CostModel | None) -> int | None:
    """Return the level in whose domains flat routings gather; None if there is none.

    Without costs it is the lowest one that has a domain of more than one slot.

    Examples
    --------
    >>> default_group(Topology.from_fanouts([1, 4, 2]), None)
    1
    """
    if cost is not None:
        return cost.group_level(topology)
    levels = range(topology.height)
    return next((some for some in levels if topology.groups(some).size.max() > 1), None)
