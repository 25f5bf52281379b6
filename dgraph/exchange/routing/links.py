"""Over which links messages travel in each stage, one from every slot to every other.

A link is told by what of it costs: for each slot how many links it sends on, and receives on,
at each level, and how many messages, to how many targets, take such a one. That is counted
without looking at all pairs of slots, of which thousands of slots have millions::

    direct      s -> t
    rail        s -> u in its group, like t -> t         backwards: the same links, last first
    monitor     s -> gate of its group -> gate of t's group -> t
    aml         s -> like s in t's group -> t            backwards: the links of rail
    multileader s -> leader of its group -> leader of t's group -> t
    tree        from child domain C to its parent's monitor, to the siblings C', back down

For other routings all pairs are looked at, and so do the tests for these.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from dgraph.distinct import distinct
from dgraph.exchange.routing.ends import (
    Ends,
    Rows,
    Side,
    Stage,
    beside_slots,
    reach_of,
    weight_met,
)
from dgraph.exchange.routing.ground import Ground, positions
from dgraph.exchange.routing.leader_links import links_of_leaders
from dgraph.exchange.routing.strategies import BACKWARDS, STRATEGIES

__all__ = ["Ends", "Stage", "count_all", "stages"]

Numbers = NDArray[np.int64]


@lru_cache(maxsize=32)
def stages(name: str, backwards: bool | None, ground: Ground) -> list[Stage]:
    """Return the links that each stage of a routing uses.

    Parameters
    ----------
    name : str
    backwards : bool or None
        Whether its ways are gone backwards; None: in both directions at once.
    ground : Ground

    Examples
    --------
    >>> from dgraph.topology import Topology
    >>> stages("direct", False, Ground(Topology.from_fanouts([2, 4])))[0].sent.times.tolist()
    [1, 1, 1, 1, 1, 1, 1, 1, 6, 6, 6, 6, 6, 6, 6, 6]
    """
    if name == "rail":
        inside, across = _rail(ground)
        ahead = [inside, across]
        back = [(got, sent) for sent, got in (across, inside)]
        both = [
            (_one_way(one[0], other[0]), _one_way(one[1], other[1]))
            for one, other in zip(ahead, back, strict=True)
        ]
        found = {False: ahead, True: back, None: both}[backwards]
        return [_stage(*sides, backwards) for sides in found]
    if name == "aml" and backwards is not None:
        return [_stage(*sides, False) for sides in _aml(ground, backwards)]
    closed = _CLOSED.get(name)
    if closed is None:
        return count_all(name, backwards, ground)
    return [_stage(*sides, backwards) for sides in closed(ground)]


def _stage(sent: Side, got: Side, backwards: bool | None) -> Stage:
    return Stage(_joined(sent, backwards), _joined(got, backwards))


def _one_way(ahead: Side, back: Side) -> Side:
    """Return links that messages go in one direction, and others that they go in the other."""
    first = [rows._replace(back=0) for rows in ahead]
    return first + [rows._replace(pairs=0, back=rows.pairs) for rows in back]


def _joined(side: Side, backwards: bool | None) -> Ends:
    none = Rows(*([np.zeros(0, np.int64)] * 7))
    parts = [rows.ends(backwards) for rows in (*side, none)]
    return Ends(*map(np.concatenate, zip(*parts, strict=True)))


def count_all(name: str, backwards: bool | None, ground: Ground) -> list[Stage]:
    """Return the same for any routing: every pair of slots is looked at."""
    slots = np.arange(ground.topology.slots)
    source, target = (some.ravel() for some in np.meshgrid(slots, slots))
    source, target = source[source != target], target[source != target]
    directions = (False, True) if backwards is None else (backwards,)
    ways = []
    for back in directions:
        strategy = (BACKWARDS if back else STRATEGIES)[name](ground)
        where = positions(strategy, source, target)
        # what meets is to one target (or parts, on the way back: from one source)
        ends = (source, target) if back else (target, source)
        ways.append([(*hop, *ends) for hop in pairwise(where)])
    return [_counted(hops, ground) for hops in zip(*ways, strict=True)]


def _counted(hops: Sequence[tuple[Numbers, ...]], ground: Ground) -> Stage:
    """Return a stage of messages of one or two directions.

    Each is told by from here, to there, what they meet by, and whose they are.
    """
    slots = ground.topology.slots
    taken = []
    for here, there, *ends in hops:
        moved = here != there
        taken.append((here[moved] * slots + there[moved], *(some[moved] for some in ends)))
    link = distinct(np.concatenate([links for links, _, _ in taken]))
    here, there = link // slots, link % slots
    counts = np.zeros((2, 2, link.size), np.int64)
    reach = np.zeros((2, 2, link.size), np.int64)
    for way, (links, ends_, whose) in enumerate(taken):
        both = distinct(links * slots + ends_)
        for row, some in enumerate((links, both // slots)):
            counts[way, row] = np.bincount(np.searchsorted(link, some), minlength=link.size)
        at = np.searchsorted(link, links)
        for side, slot in enumerate((here[at], there[at])):
            far = np.where(slot == whose, 0, ground.topology.level(slot, whose) + 1)
            np.maximum.at(reach[way, side], at, far)
    level, one = ground.topology.level(here, there), np.ones(link.size, np.int64)
    sent, got = (
        Ends(*(slot, level, one, *counts[0], reach[0, side], *counts[1], reach[1, side]))
        for side, slot in enumerate((here, there))
    )
    return Stage(sent, got)


# Direct


def _direct(ground: Ground) -> list[tuple[Side, Side]]:
    slots = np.arange(ground.topology.slots)
    beside = list(enumerate(beside_slots(ground)))
    sent = [Rows(slots, level, more, 1, 1, 1, 0, level + 1) for level, more in beside]
    got = [Rows(slots, level, more, 1, 1, 1, level + 1, 0) for level, more in beside]
    return [(sent, got)]


# Rail


def _rail(ground: Ground) -> tuple[tuple[Side, Side], tuple[Side, Side]]:
    """Return the links inside of groups, and those across, as messages go to their targets."""
    groups, slots = ground.groups, np.arange(ground.topology.slots)
    sizes = distinct(groups.size)
    near = range(ground.group + 1)
    far = range(ground.group + 1, ground.topology.height + 1)
    twins = np.zeros(slots.size, np.int64)  # of each slot, itself among them
    for size in sizes:
        like = np.bincount(groups.local % size, minlength=size)
        twins = np.where(groups.size == size, like[groups.local % size], twins)
    within: tuple[Side, Side] = [], []
    for count in distinct(twins):
        more = weight_met(ground, (twins == count).astype(np.int64))
        within[0].extend(
            Rows(slots, level, more[level], count, count, count, 0) for level in near
        )
    more = beside_slots(ground)
    within[1].extend(
        Rows(slots, level, more[level], twins, twins, twins, level + 1) for level in near
    )
    across: tuple[Side, Side] = [], []
    first, whole = groups.local == 0, reach_of(ground, ground.group)
    for size in sizes:
        mine = np.flatnonzero(groups.size == size)
        alike = _alike(ground, mine, int(size))
        across[0].extend(
            Rows(mine, level, alike[level], size, 1, 1, whole[mine]) for level in far
        )
        others = weight_met(ground, (first & (groups.size == size)).astype(np.int64))
        across[1].extend(
            Rows(slots, level, others[level], size, 1, 1, level + 1) for level in far
        )
    return within, across


def _alike(ground: Ground, mine: Numbers, size: int) -> dict[int, Numbers]:
    """Return for each level above the groups how many slots there are like each of `mine`."""
    number = ground.groups.local % size
    found: dict[int, Numbers] = {}
    inside = np.zeros(mine.size, np.int64)
    for level in range(ground.group, ground.topology.height + 1):
        key = ground.topology.domain_of(level) * size + number
        whole = np.bincount(key)[key[mine]]
        found[level] = whole - inside
        inside = whole
    return found


# Aml


def _aml(ground: Ground, backwards: bool) -> list[tuple[Side, Side]]:
    """Return the links of aml: those of rail, the other way; no messages meet."""
    (ask, answer), (leave, land) = _rail(ground)
    top = int(reach_of(ground, ground.topology.height).max())
    if backwards:
        inside = _with(ask, top, targets=1), _with(answer, top, targets=1)
        return [inside, (_with(leave, None), _with(land, 0))]
    slots = np.arange(ground.topology.slots)
    near = list(enumerate(beside_slots(ground)[: ground.group + 1]))
    own = [Rows(slots, level, others, 1, 1, 1, 0) for level, others in near]
    across = [*_with(land, 0), *own], [*_with(leave, None), *_with(own, None)]
    return [across, (_with(answer, top, 1, targets=1), _with(ask, top, 1, targets=1))]


def _with(side: Side, reach: int | None, fewer: int = 0, targets: int | None = None) -> Side:
    """Return links of another reach, with fewer messages each, to so many targets.

    None: as far as their level; and none of the messages meet.
    """
    found = []
    for rows in side:
        pairs = rows.pairs - fewer
        found.append(
            rows._replace(
                pairs=pairs,
                targets=pairs if targets is None else targets,
                reach=rows.level + 1 if reach is None else reach,
            )
        )
    return found


# Monitor


def _monitor(ground: Ground) -> list[tuple[Side, Side]]:
    groups, slots = ground.groups, np.arange(ground.topology.slots)
    near = range(ground.group + 1)
    far = range(ground.group + 1, ground.topology.height + 1)
    outside = slots.size - groups.size
    beside, gate = beside_slots(ground), ground.gate
    to_gate = ground.topology.level(slots, gate)
    simple = slots != gate
    whole, top = (reach_of(ground, level) for level in (ground.group, ground.topology.height))
    beyond = np.where(outside > 0, top, 0)
    gather: tuple[Side, Side] = [], []
    for level in near:
        others = beside[level] - (simple & (to_gate == level))
        gather[0].append(Rows(slots, level, others, 1, 1, 1, 0, level + 1))
        gather[1].append(Rows(slots, level, beside[level] * simple, 1, 1, 1, level + 1, 0))
        through = beside[level] * ~simple, outside + 1, outside + 1, 1, level + 1, beyond
        gather[1].append(Rows(slots, level, *through))
    out = outside + 1, outside + 1, 1, 0, np.maximum(beyond, to_gate + 1)
    gather[0].append(Rows(slots, to_gate, simple, *out))
    gates = np.flatnonzero(~simple)
    own = groups.size[gates]
    across: tuple[Side, Side] = [], []
    for size in distinct(own):
        others_ = weight_met(ground, ((groups.size == size) & ~simple).astype(np.int64))
        for level in far:
            like = gates, level, others_[level][gates], own * size
            across[0].append(Rows(*like, size, own, whole[gates], level + 1))
            across[1].append(Rows(*like, own, size, level + 1, whole[gates]))
    scatter: tuple[Side, Side] = [], [Rows(slots, to_gate, simple, outside, 1, outside, top, 0)]
    for level in near:
        like = gates, level, beside[level][gates], outside[gates]
        scatter[0].append(Rows(*like, 1, outside[gates], top[gates], level + 1))
    return [gather, across, scatter]


# Tree


class _Children(NamedTuple):
    """The domains below those of a level, each with what its way up needs.

    `lead` is the child in which the parent's monitor stands, by child; `sizes` are those that
    occur, and `siblings` how many children of each size the parent has, by child. `reach` is
    that of the child, and `beyond` of what is outside of the parent, 0 if nothing is.
    """

    level: int
    monitor: Numbers
    above: Numbers
    size: Numbers
    outside: Numbers
    lead: Numbers
    sizes: Numbers
    siblings: Numbers
    reach: Numbers
    beyond: Numbers

    @property
    def is_lead(self) -> NDArray[np.bool_]:
        found: NDArray[np.bool_] = self.monitor == self.above
        return found


def _children(ground: Ground, level: int) -> _Children:
    topology, monitor = ground.topology, ground.monitor
    slots = np.arange(topology.slots)
    child = topology.domain_of(level - 1) if level else slots
    _, first, size = np.unique(child, return_index=True, return_counts=True)
    _, parent = np.unique(topology.domain_of(level)[first], return_inverse=True)
    own = (monitor[level - 1] if level else slots)[first]
    above = monitor[level][first]
    whole = np.bincount(parent, size).astype(np.int64)
    leads = np.zeros(whole.size, np.int64)
    leads[parent[own == above]] = size[own == above]
    sizes, kind = np.unique(size, return_inverse=True)
    siblings = np.zeros((whole.size, sizes.size), np.int64)
    np.add.at(siblings, (parent, kind), 1)
    outside = topology.slots - whole[parent]
    reach = reach_of(ground, level - 1)[first]
    beyond = np.where(outside > 0, reach_of(ground, topology.height)[first], 0)
    known = own, above, size, outside, leads[parent], sizes, siblings[parent], reach, beyond
    return _Children(level, *known)


def _tree(ground: Ground) -> list[tuple[Side, Side]]:
    levels = [_children(ground, level) for level in range(ground.topology.height + 1)]
    return [_up(some) for some in levels] + [_down(some) for some in levels[-2::-1]]


def _up(some: _Children) -> tuple[Side, Side]:
    """Return the links to the parents' monitors and to siblings: messages that do both meet."""
    sent, got = [], []
    lead, size, beyond, level = some.is_lead, some.size, some.outside + some.lead, some.level
    above = np.maximum(some.beyond, level + 1)
    up = ~lead, size * beyond, beyond, size, some.reach, above
    sent.append(Rows(some.monitor, level, *up))
    for at, other in enumerate(some.sizes):
        others = some.siblings[:, at] - (size == other)
        rest = others - (~lead & (some.lead == other))
        like = size * other, other, size, some.reach, level + 1
        sent.append(Rows(some.monitor, level, rest, *like))
        pairs, targets = (
            np.where(lead, other * beyond, other * size),
            np.where(lead, beyond, size),
        )
        back = np.where(lead, np.maximum(some.beyond, some.reach), some.reach)
        got.append(Rows(some.monitor, level, others, pairs, targets, other, level + 1, back))
    return sent, got


def _down(some: _Children) -> tuple[Side, Side]:
    """Return the links from the parents' monitors to those of the children."""
    what = ~some.is_lead, some.size * some.outside, some.size, some.outside, some.beyond
    sent = Rows(some.above, some.level, *what, some.level + 1)
    return [sent], [Rows(some.monitor, some.level, *what, some.reach)]


_CLOSED: dict[str, Callable[[Ground], Sequence[tuple[Side, Side]]]] = {
    "direct": _direct,
    "monitor": _monitor,
    "multileader": links_of_leaders,
    "tree": _tree,
}
