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

from collections.abc import Sequence
from dataclasses import replace
from functools import lru_cache, reduce
from itertools import islice, product
from operator import or_

import numpy as np
from numpy.typing import NDArray

from dgraph.exchange.hop import Hop
from dgraph.exchange.routing.ground import Ground
from dgraph.exchange.routing.links import stages
from dgraph.exchange.routing.strategies import BACKWARDS, STRATEGIES

__all__ = ["alone", "schedule"]

#: Links of a stage: whether there is one from each process to each.
Links = NDArray[np.bool_]

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
        links[-1] = ~np.eye(processes, dtype=np.bool_)
    mine = []
    for number, (hop, pairs) in enumerate(zip(hops, links, strict=True)):
        come = frozenset(np.flatnonzero(pairs[:, me]).tolist())
        adds, takes = (come if hop.last else (), -1) if votes is None else votes[number][me]
        mine.append(
            replace(
                hop,
                to=frozenset(np.flatnonzero(pairs[me]).tolist()),
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
    used[:, :: width + 1] = False
    return list(used.reshape(-1, width, width))


#: For each stage and process whose votes it adds, and whose it takes over; -1: nobody's.
Votes = list[list[tuple[Sequence[int], int]]]


def _plan_votes(links: list[Links], group: NDArray[np.int64], processes: int) -> Votes | None:
    """Return for each stage and process whose votes it adds, or takes over; None: no way.

    Examples
    --------
    >>> _plan_votes([np.array([[False, True], [True, False]])], np.array([0, 1]), 2)
    [[([1], -1), ([0], -1)]]
    >>> _plan_votes([], np.array([0]), 1), _plan_votes([], np.array([0, 1]), 2)
    ([], None)
    """
    near = group[:, None] == group
    kinds = {"all": np.bool_(True), "near": near, "far": ~near}
    alone = [1 << process for process in range(processes)]  # of whom each has the votes
    votes: Votes = []
    known, before = [alone], ("",) * len(links)  # after each stage, as far as rules are alike
    for rules in islice(product(RULES, repeat=len(links)), TRIES):
        kept = next((at for at, rule in enumerate(rules) if rule != before[at]), 0)
        del votes[kept:], known[kept + 1 :]
        for pairs, rule in zip(links[kept:], rules[kept:], strict=True):
            stage, after = _add_votes(pairs & kinds[rule], known[-1])
            votes.append(stage)
            known.append(after)
        if all(some == (1 << processes) - 1 for some in known[-1]):
            return votes
        before = rules
    return None


def _add_votes(
    pairs: Links, known: Sequence[int]
) -> tuple[list[tuple[Sequence[int], int]], list[int]]:
    """Let every process add what it does not know, or take over what knows more."""
    sizes = np.array([some.bit_count() for some in known])
    most = (sizes + sizes @ pairs).tolist()  # of votes, if no source has another's
    stage: list[tuple[Sequence[int], int]] = []
    after = []
    for process, had in enumerate(known):
        sources = np.flatnonzero(pairs[:, process]).tolist()
        union = reduce(or_, (known[source] for source in sources), had)
        if union.bit_count() == most[process]:
            stage.append((sources, -1))
            after.append(union)
        else:
            adds, takes, has = _add_in_turn(sources, had, known)
            stage.append((adds, takes))
            after.append(has)
    return stage, after


def _add_in_turn(
    sources: Sequence[int], has: int, known: Sequence[int]
) -> tuple[list[int], int, int]:
    """Return whose votes a process adds, or takes over, and what it has then."""
    adds: list[int] = []
    takes = -1
    for source in sources:
        if has & known[source] == 0:
            adds.append(source)
            has |= known[source]
        elif has & ~known[source] == 0 and has != known[source]:
            takes, adds, has = source, [], known[source]
    return adds, takes, has
