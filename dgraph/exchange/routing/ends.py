"""Links of a stage, told by their ends: what each slot sends on, and what it receives on."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from dgraph.exchange.routing.ground import Ground

__all__ = ["Ends", "Rows", "Side", "Stage", "beside_slots", "reach_of", "weight_met"]

Numbers = NDArray[np.int64]


class Ends(NamedTuple):
    """Links by one of their ends.

    Parameters
    ----------
    slot, level : int64 arrays
    times : int64 array
        How many such links the slot has.
    pairs : int64 array
        Messages that take each.
    kinds : int64 array
        To how many targets; on the way back: from how many sources. So many are left of these
        messages if all that can meet do.
    reach : int64 array
        The lowest domain of the slot that holds all slots whose messages these are; on the way
        back: to which they go. 0: the slot alone; ``l + 1``: its domain of level l.
    pairs_back, kinds_back, reach_back : int64 arrays
        The same of messages that go back at the same time; 0 where all go one way.
    """

    slot: Numbers
    level: Numbers
    times: Numbers
    pairs: Numbers
    kinds: Numbers
    reach: Numbers
    pairs_back: Numbers
    kinds_back: Numbers
    reach_back: Numbers


class Stage(NamedTuple):
    """The links of a stage by the slots that send, and by those that receive."""

    sent: Ends
    got: Ends


class Rows(NamedTuple):
    """As Ends, of both directions: messages ahead to targets, and messages back from sources.

    `back` None: as many as ahead; `reach_back` None: as far.
    """

    slot: Any
    level: Any
    times: Any
    pairs: Any
    targets: Any
    sources: Any
    reach: Any
    reach_back: Any = None
    back: Any = None

    def ends(self, backwards: bool | None) -> Ends:
        """Return links in one direction, or of both at once."""
        back = self.pairs if self.back is None else self.back
        beyond = self.reach if self.reach_back is None else self.reach_back
        slot, level, times, *ways = np.broadcast_arrays(
            *self[:3], self.pairs, self.targets, self.reach, back, self.sources, beyond
        )
        ahead, behind = ways[:3], ways[3:]
        none = [np.zeros_like(slot)] * 3
        first = behind if backwards else ahead
        second = behind if backwards is None else none
        there = (times > 0) & (first[0] + second[0] > 0)
        found = slot, level, times, *_if_any(*first), *_if_any(*second)
        return Ends(*(np.asarray(some[there], np.int64) for some in found))


def _if_any(pairs: Numbers, kinds: Numbers, reach: Numbers) -> tuple[Numbers, ...]:
    """Return all of them, of no messages no kinds."""
    return pairs, np.where(pairs > 0, kinds, 0), np.where(pairs > 0, reach, 0)


Side = list[Rows]


def beside_slots(ground: Ground) -> list[Numbers]:
    """Return for each level how many slots every slot meets there."""
    return weight_met(ground, np.ones(ground.topology.slots, np.int64))


def weight_met(ground: Ground, weight: Numbers) -> list[Numbers]:
    """Return for each level the weight of the slots that every slot meets there."""
    topology = ground.topology
    found, inside = [], weight
    for level in range(topology.height + 1):
        domain = topology.domain_of(level)
        whole = np.bincount(domain, weight).astype(np.int64)[domain]
        found.append(whole - inside)
        inside = whole
    return found


def reach_of(ground: Ground, level: int) -> Numbers:
    """Return the reach of each slot's domain of a level: see `Ends`.

    Examples
    --------
    >>> from dgraph.topology import Topology
    >>> reach_of(Ground(Topology.from_fanouts([1, 1, 2])), 1).tolist()
    [0, 0]
    """
    found = np.zeros(ground.topology.slots, np.int64)
    inside = np.ones_like(found)
    for above in range(level + 1):
        domain = ground.topology.domain_of(above)
        size = np.bincount(domain)[domain].astype(np.int64)
        found = np.where(size > inside, above + 1, found)
        inside = size
    return found
