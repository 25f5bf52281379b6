"""Which processes exchange in each stage of a routed superstep, and how their votes add up.

A process sends to another one in a stage only if some message could go that way, and waits for
no other process; a stage in which no message can move is left out. So an expensive link is used
by the gateways alone. The votes ride along: after the last stage every process has the total,
in which every vote counts once::

    monitor   stage 0  inside the group: every process adds up the votes of its group
              stage 1  gateways add those of the other groups
              stage 2  the others take over the gateway's total
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from functools import lru_cache
from itertools import islice, product

import numpy as np
from numpy.typing import NDArray

from dgraph.exchange.hop import Hop
from dgraph.exchange.routing.ground import Ground
from dgraph.exchange.routing.links import stages
from dgraph.exchange.routing.strategies import BACKWARDS, STRATEGIES

__all__ = ["alone", "schedule"]

#: Links of a stage: pairs of processes.
Links = set[tuple[int, int]]

#: Which links of a stage carry votes that are added.
RULES = ("all", "far", "near")

#: So many sequences of rules are tried before the last stage joins all processes.
TRIES = 100

#: So many messages are followed at a time, those to the same slots together.
BLOCK = 1 << 20


def alone(name: str, backwards: bool | None, ground: Ground) -> tuple[Hop, ...]:
    """Return the schedule of a process that has all slots; see :func:`schedule`.

    Examples
    --------
    >>> from dgraph.topology import Topology
    >>> [hop.stage for hop in alone("tree", False, Ground(Topology.from_fanouts([1, 2])))]
    [1]
    """
    moves = [stage.sent.slot.size > 0 for stage in stages(name, backwards, ground)]
    used = [stage for stage, moved in enumerate(moves) if moved] or [0]
    return tuple(Hop(some, some == used[0], some == used[-1]) for some in used)


@lru_cache(maxsize=64)
def schedule(
    name: str, backwards: bool | None, ground: Ground, owners: tuple[int, ...], me: int
) -> tuple[Hop, ...]:
    """Return the stages of a strategy as a process sees them.

    Parameters
    ----------
    name : str
        Of the strategy.
    backwards : bool or None
        Whether its ways are gone backwards; None: in both directions at once.
    ground : Ground
    owners : tuple of int
        For each slot the process that has it.
    me : int
        The process.

    Examples
    --------
    >>> from dgraph.topology import Topology
    >>> ground = Ground(Topology.from_fanouts([2, 2]))
    >>> [sorted(hop.come) for hop in schedule("monitor", False, ground, (0, 1, 2, 3), 1)]
    [[0], [], [0]]
    """
    hops = alone(name, backwards, ground)
    processes = max(owners) + 1
    if processes == 1:
        return hops
    owner = np.array(owners)
    found = _find_links(name, backwards, ground, owner)
    links = [found[hop.stage] for hop in hops]
    group = ground.groups.group[np.unique(owner, return_index=True)[1]]
    votes = _plan_votes(links, group, processes)
    if votes is None:
        links[-1] = {(a, b) for a in range(processes) for b in range(processes) if a != b}
    mine = []
    for number, (hop, pairs) in enumerate(zip(hops, links, strict=True)):
        come = frozenset(a for a, b in pairs if b == me)
        adds, takes = (come if hop.last else (), -1) if votes is None else votes[number][me]
        mine.append(
            replace(
                hop,
                to=frozenset(b for a, b in pairs if a == me),
                come=come,
                adds=frozenset(adds),
                takes=takes,
                fresh=hop.last and votes is None,
            )
        )
    return tuple(mine)


def _find_links(
    name: str, backwards: bool | None, ground: Ground, owner: NDArray[np.int64]
) -> list[Links]:
    """Return the links between owners of slots that each stage uses."""
    tables = [STRATEGIES] * (not backwards) + [BACKWARDS] * (backwards is not False)
    slots, width = len(owner), int(owner.max()) + 1
    used = np.zeros((tables[0][name](ground).stages, width * width), np.bool_)
    for table in tables:
        strategy = table[name](ground)
        for some in np.array_split(np.arange(slots), -(-(slots**2) // BLOCK)):
            here, target = map(np.ravel, np.meshgrid(np.arange(slots), some))
            for stage, pairs in enumerate(used):
                there = strategy.step(stage, here, target)
                pairs[owner[here] * width + owner[there]] = True
                # where messages have met they go on together
                met = np.zeros(some.size * slots, np.bool_)
                met[(target - some[0]) * slots + there] = True
                target, here = np.divmod(np.flatnonzero(met), slots)
                target += some[0]
    return [_links(pairs.reshape(width, width)) for pairs in used]


def _links(used: NDArray[np.bool_]) -> Links:
    np.fill_diagonal(used, False)
    source, target = np.nonzero(used)
    return set(zip(source.tolist(), target.tolist(), strict=True))


Votes = list[list[tuple[Sequence[int], int]]]


def _plan_votes(links: list[Links], group: NDArray[np.int64], processes: int) -> Votes | None:
    """Return for each stage and process whose votes it adds, or takes over; None: no way.

    Examples
    --------
    >>> both = {(0, 1), (1, 0)}
    >>> _plan_votes([both], np.array([0, 1]), 2)
    [[([1], -1), ([0], -1)]]
    """
    for rules in islice(product(RULES, repeat=len(links)), TRIES):
        known = [1 << process for process in range(processes)]  # of whom it has the votes
        votes: Votes = []
        for pairs, rule in zip(links, rules, strict=True):
            kept = [(a, b) for a, b in sorted(pairs) if _fits(rule, group[a] == group[b])]
            stage, known = _add_votes(kept, known)
            votes.append(stage)
        if all(some == (1 << processes) - 1 for some in known):
            return votes
    return None


def _fits(rule: str, near: bool) -> bool:
    return rule == "all" or (rule == "near") == bool(near)


def _add_votes(
    pairs: Iterable[tuple[int, int]], known: Sequence[int]
) -> tuple[list[tuple[Sequence[int], int]], list[int]]:
    """Let every process add what it does not know, or take over what knows more."""
    after = list(known)
    adds: list[list[int]] = [[] for _ in known]
    takes = [-1] * len(known)
    for a, b in pairs:
        if after[b] & known[a] == 0:
            adds[b].append(a)
            after[b] |= known[a]
        elif after[b] & ~known[a] == 0 and after[b] != known[a]:
            takes[b], adds[b] = a, []
            after[b] = known[a]
    return list(zip(adds, takes, strict=True)), after
