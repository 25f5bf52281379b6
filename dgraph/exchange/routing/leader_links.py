"""Which links routing `multileader` uses, and what takes them, without looking at all pairs.

Of a group of g slots c are leaders; leader k serves the slots whose local number is k modulo
c. Messages ahead go by the number of their target, those back by that of their source::

    gather   s -> leader k      ahead: to the slots outside that k serves in groups like its own
                                back: of s, if k serves s; and what is for the leader itself
    across   leader k -> leader j of another group
    scatter  leader j -> t      ahead: if j serves t; back: from the slots outside j serves
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from dgraph.exchange.routing.ends import Rows, Side, beside_slots, reach_of, weight_met
from dgraph.exchange.routing.ground import Ground
from dgraph.exchange.routing.multileader import LEADERS, MultiLeader

__all__ = ["links_of_leaders"]

Numbers = NDArray[np.int64]


class _Crew(NamedTuple):
    """The leaders of each slot's group, by slot.

    `lead[k]` is leader k, `has[k]` whether there are so many, `leaders` how many there are, and
    `outside[k]` how many slots of other groups leader k serves.
    """

    lead: list[Numbers]
    has: list[NDArray[np.bool_]]
    leaders: Numbers
    outside: list[Numbers]


def _crew(ground: Ground) -> _Crew:
    groups, slots = ground.groups, np.arange(ground.topology.slots)
    route = MultiLeader(ground)
    count = route.count[groups.group]
    outside = []
    for number in range(LEADERS):
        served = np.zeros(slots.size, np.int64)
        for some in np.unique(count).tolist():
            like = (groups.local % some == number).astype(np.int64)
            whole = like.sum() - np.bincount(groups.group, like).astype(np.int64)
            served = np.where(count == some, whole[groups.group], served)
        outside.append(served)
    lead = [route.leader[groups.group, number] for number in range(LEADERS)]
    return _Crew(lead, [count > number for number in range(LEADERS)], count, outside)


def links_of_leaders(ground: Ground) -> list[tuple[Side, Side]]:
    """Return the links of each stage.

    Examples
    --------
    >>> from dgraph.topology import Topology
    >>> gather, across, scatter = links_of_leaders(Ground(Topology.from_fanouts([4, 2])))
    >>> [rows.times.tolist() for rows in across[0]][0]
    [1, 1]
    """
    crew = _crew(ground)
    return [some(ground, crew) for some in (_gather, _across, _scatter)]


def _rows(slot: Any, level: Any, times: Any, ahead: Any, back: Any) -> Rows:
    """Make rows of messages, kinds and reach ahead and back."""
    return Rows(slot, level, times, ahead[0], ahead[1], back[1], ahead[2], back[2], back[0])


def _gather(ground: Ground, crew: _Crew) -> tuple[Side, Side]:
    topology, slots = ground.topology, np.arange(ground.topology.slots)
    beyond = slots.size - ground.groups.size
    beside = beside_slots(ground)[: ground.group + 1]
    outside = np.where(beyond > 0, reach_of(ground, topology.height), 0)
    served = ground.groups.local % crew.leaders
    sent: Side = []
    got: Side = []
    simple = np.ones(slots.size, np.bool_)
    others = [some.copy() for some in beside]
    for number, lead in enumerate(crew.lead):
        counts = crew.has[number] & (slots != lead)
        far = topology.level(slots, lead)
        ahead = crew.outside[number] + 1
        back = 1 + beyond * (served == number)
        to = np.maximum(outside * (served == number), far + 1)
        sent.append(_rows(slots, far, counts, (ahead, ahead, 0), (back, 1, to)))
        for level, some in enumerate(others):
            some -= counts & (far == level)
        mine = crew.has[number] & (slots == lead)
        simple &= ~mine
        for own in (False, True):  # of those it serves, and of the others
            weight = ((served == number) == own).astype(np.int64)
            back_ = 1 + beyond * own
            for level, some in enumerate(weight_met(ground, weight)[: ground.group + 1]):
                ways = (ahead, ahead, level + 1), (back_, 1, outside * own)
                got.append(_rows(slots, level, some * mine, *ways))
    for level, (some, all_) in enumerate(zip(others, beside, strict=True)):
        sent.append(_rows(slots, level, some, (1, 1, 0), (1, 1, level + 1)))
        got.append(_rows(slots, level, all_ * simple, (1, 1, level + 1), (1, 1, 0)))
    return sent, got


def _across(ground: Ground, crew: _Crew) -> tuple[Side, Side]:
    groups = ground.groups
    first, whole = groups.local == 0, reach_of(ground, ground.group)
    sent: Side = []
    got: Side = []
    for size in np.unique(groups.size).tolist():
        like = weight_met(ground, (first & (groups.size == size)).astype(np.int64))
        theirs = min(size, LEADERS)
        for level in range(ground.group + 1, ground.topology.height + 1):
            for number, other in np.ndindex(LEADERS, theirs):
                lead = crew.lead[number]
                mine = first & crew.has[number]
                slot, times = lead[mine], like[level][mine]
                here = groups.size[mine], crew.leaders[mine], number
                there = size, theirs, other
                reach = whole[mine], level + 1
                sent.append(_rows(slot, level, times, *_between(here, there, reach)))
                got.append(_rows(slot, level, times, *_between(there, here, reach[::-1])))
    return sent, got


def _between(here: Any, there: Any, reach: Any) -> tuple[Any, Any]:
    """Return messages, kinds and reach, ahead and back, from a leader to one of another group.

    Both are told by the size of their group, how many leaders it has, and their number.
    """
    (size, count, number), (size_, count_, number_) = here, there
    targets = _served(size_, count, number, count_, number_)
    sources = _served(size, count, number, 1, 0) * (number % count_ == number_)
    return (size * targets, targets, reach[0]), (sources * size_, sources, reach[1])


def _served(size: Any, count: Any, number: Any, count_: Any, number_: Any) -> Any:
    """Return how many numbers below `size` are `number` modulo one, `number_` modulo another.

    One count divides the other, or all numbers are below it.

    Examples
    --------
    >>> int(_served(5, 2, 0, 1, 0)), int(_served(5, 2, 0, 2, 1))
    (3, 0)
    """
    whole = np.maximum(count, count_)
    both = np.where(count >= count_, number % count_ == number_, number_ % count == number)
    most = np.where(count >= count_, number, number_)
    return both * np.maximum((size - most + whole - 1) // whole, 0)


def _scatter(ground: Ground, crew: _Crew) -> tuple[Side, Side]:
    topology, slots = ground.topology, np.arange(ground.topology.slots)
    beyond = slots.size - ground.groups.size
    served, top = ground.groups.local % crew.leaders, reach_of(ground, topology.height)
    sent: Side = []
    got: Side = []
    for number, lead in enumerate(crew.lead):
        others = crew.has[number] & (slots != lead)
        far = topology.level(slots, lead)
        back = crew.outside[number]
        for own in (False, True):
            # ahead: only to those that it serves
            ahead = beyond * own, own * (beyond > 0), top
            some = others & ((served == number) == own)
            got.append(_rows(slots, far, some, ahead, (back, back, 0)))
            mine = crew.has[number] & (slots == lead)
            weight = ((served == number) == own).astype(np.int64)
            for level, met in enumerate(weight_met(ground, weight)[: ground.group + 1]):
                sent.append(_rows(slots, level, met * mine, ahead, (back, back, level + 1)))
    return sent, got
