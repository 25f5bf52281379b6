"""Links of a stage, told by their ends: what each slot sends on, and what it receives on."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from dgraph.exchange.routing.ground import Ground

__all__ = ["Ends", "Rows", "Side", "Stage", "beside_slots", "weight_met"]

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
    """

    slot: Numbers
    level: Numbers
    times: Numbers
    pairs: Numbers
    kinds: Numbers


class Stage(NamedTuple):
    """The links of a stage by the slots that send, and by those that receive.

    `share` of the messages go in each direction.
    """

    sent: Ends
    got: Ends
    share: float


class Rows(NamedTuple):
    """As Ends, with targets and sources."""

    slot: Any
    level: Any
    times: Any
    pairs: Any
    targets: Any
    sources: Any

    def ends(self, backwards: bool | None) -> Ends:
        """Return links in one direction, or of both at once."""
        slot, level, times, pairs, targets, sources = np.broadcast_arrays(*self)
        kinds = targets + sources if backwards is None else sources if backwards else targets
        found = (slot, level, times, pairs * (2 if backwards is None else 1), kinds)
        there = (times > 0) & (pairs > 0)
        return Ends(*(np.asarray(some[there], np.int64) for some in found))


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
