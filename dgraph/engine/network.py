"""How the frames of a run travel: what the slots of a process have in common about it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dgraph.engine.spreading import spreading_hops
from dgraph.exchange.differences import CODING
from dgraph.exchange.hop import Hop
from dgraph.exchange.routing.choice import PICKED, Flow, Load, cheapest, measured
from dgraph.exchange.routing.ground import Ground, Strategy, default_group
from dgraph.exchange.routing.monitors import HEAVIEST, score
from dgraph.exchange.routing.schedule import schedule
from dgraph.exchange.routing.strategies import BACKWARDS, STRATEGIES
from dgraph.shard import Shard
from dgraph.topology import CostModel, Topology

__all__ = ["ALIKE_EACH_TIME", "AUTO", "Network", "find_network", "weigh_slot"]

AUTO = "auto"

#: What `auto` chooses among.
CANDIDATES = ("direct", "rail", "monitor", "multileader", "tree")

#: Supersteps in which as many messages are sent each time.
ALIKE_EACH_TIME = ("votes", "multicast")

#: What goes straight where no slots meet below the top: these gather in groups.
GATHERING = ("aml", "mst", "rail", "monitor", "multileader", AUTO)


#: Seconds of a superstep that may be worth sparing, and for a byte that is looked at.
SLOW, LOOK = 1e-3, 1e-9

#: With more slots than that not all are told of all.
MOST_TOLD = 64

#: What goes the other way in a superstep that goes one way.
NOTHING = Flow(0, 0.0)


def nearest_power(count: int) -> int:
    """Return the power of two nearest to a count.

    Examples
    --------
    >>> [nearest_power(count) for count in (0, 1, 3, 5, 6, 100)]
    [1, 1, 4, 4, 8, 128]
    """
    return 1 << max(int(1.414 * count).bit_length() - 1, 0)


class Network:
    """The ground of a run, its routing, and the schedules of this process.

    Parameters
    ----------
    ground : Ground
    routing : str
        The name of a strategy, or "auto".
    combine : bool
        Whether gateways combine messages, and hand values on to several slots.
    cost : CostModel
        What "auto" reckons with.
    owners : sequence of int
        For each slot the process that has it.
    me : int
        This process.
    agreed : frozenset of str
        What all slots have agreed on, about the shards that the workers keep, in runs before.
    picked : float
        Seconds that "auto" takes a slot to spend on a value that goes over gateways; 0 where
        computation is left out.

    Attributes
    ----------
    kept : mapping of int to Shard
        Those shards of this process, by slot; a program may make others of them.
    met : set of str
        What all slots have agreed on about them by the end of this run.

    Examples
    --------
    >>> network = Network(Ground(Topology.from_fanouts([2, 2])), "monitor")
    >>> [hop.last for hop in network.hops("monitor", False)]
    [False, False, True]
    """

    def __init__(
        self,
        ground: Ground,
        routing: str,
        combine: bool = True,
        cost: CostModel | None = None,
        owners: Sequence[int] = (),
        me: int = 0,
        agreed: frozenset[str] = frozenset(),
        picked: float = PICKED,
    ) -> None:
        self.ground = ground
        self.agreed = agreed
        self.kept: Mapping[int, Shard] = {}
        self.met: set[str] = set()
        self.routing = routing
        self.combine = combine
        self.slots = ground.topology.slots
        self._picked = picked
        self._cost = cost or measured(ground.topology.height)
        self._owners = tuple(owners) or (0,) * self.slots
        self._me = me
        self._strategies: dict[tuple[str, bool], Strategy] = {}
        self._hops: dict[tuple[str, bool | None], tuple[Hop, ...]] = {}
        self._chosen: dict[Any, str] = {}

    def strategy(self, name: str, backwards: bool) -> Strategy:
        """Return a strategy of this ground."""
        found = self._strategies.get((name, backwards))
        if found is None:
            found = (BACKWARDS if backwards else STRATEGIES)[name](self.ground)
            self._strategies[name, backwards] = found
        return found

    def hops(self, name: str, backwards: bool | None) -> tuple[Hop, ...]:
        """Return the stages of a strategy as this process sees them; None: both directions."""
        found = self._hops.get((name, backwards))
        if found is None:
            found = schedule(name, backwards, self.ground, self._owners, self._me)
            self._hops[name, backwards] = found
        return found

    @cached_property
    def key(self) -> str:
        """What the agreed ways of a graph depend on beside the strategy."""
        return f"{self.ground.group} {self.ground.monitor.tolist()}"

    def dear(self, slot: int) -> frozenset[int]:
        """Return the slots to which a byte costs a slot more than to save it.

        Only "auto" heeds what a byte costs: the other routings are what it is held against.
        """
        if self.routing != AUTO:
            return frozenset()
        cost = np.array(self._cost.slowest)[self.ground.topology.levels(slot)]
        return frozenset(np.flatnonzero(cost >= CODING).tolist())

    def spares_supersteps(self, looked: int) -> bool:
        """Return whether "auto" rather looks at so many bytes than go through a superstep."""
        return self.routing == AUTO and max(self._cost.alpha) > max(SLOW, LOOK * looked)

    def may_tell(self, messages: int) -> bool:
        """Return whether "auto" rather tells all slots of all than goes through a superstep.

        A byte for each message, as sparse as they are, goes to all other domains.
        """
        topology = self.ground.topology
        if self.routing != AUTO or self.slots > MOST_TOLD:
            return False
        domains = len(topology.domains(topology.height - 1))
        told = messages * (domains - 1) / domains
        return max(self._cost.alpha) > told * self._cost.slowest[topology.height]

    @property
    def spreading(self) -> tuple[Hop, ...]:
        """The stages in which all slots are told of all."""
        return spreading_hops(self.ground, self._owners, self._me)

    @cached_property
    def level(self) -> NDArray[np.int64]:
        """The level of every two slots; only for few slots."""
        slots = np.arange(self.slots)
        return self.ground.topology.level(slots[:, None], slots[None, :])

    def choose(
        self,
        kind: str,
        backwards: bool | None,
        messages: int,
        width: float,
        vertices: int,
        places: int = 0,
        back: Flow = NOTHING,
        uneven: tuple[float, ...] = (),
    ) -> str:
        """Return the routing of a superstep: what is asked for, or the cheapest.

        Parameters
        ----------
        kind : str
            "votes" if there is nothing but votes.
        backwards : bool or None
            Whether it is a broadcast; None: both at once.
        messages : int
            About how many there will be in all; every slot must say the same.
        width : float
            Bytes of a message.
        vertices : int
            To, or from, how many; 0 if messages are not combined.
        places : int
            See :class:`Flow`.
        back : Flow
            What goes the other way, if it goes both ways at once.
        uneven : tuple of float
            How the proxies are spread: see :func:`~dgraph.exchange.routing.uneven.uneven`.
        """
        if self.routing != AUTO:
            return self.routing
        spread = len(set(self._owners)) > 1
        if kind == "votes" and not spread:
            return "direct"
        if kind not in ALIKE_EACH_TIME:
            messages = nearest_power(messages)
            back = back._replace(messages=nearest_power(back.messages))
        key = backwards, messages, width, vertices, places, back, uneven
        name = self._chosen.get(key)
        if name is None:
            # if one process has all slots they are virtual: frames count as between processes
            load = Load(messages, width, vertices, True, places, back, uneven)
            flat = self.ground.topology.height < 2
            names = CANDIDATES[:-1] if flat else CANDIDATES
            name = cheapest(names, backwards, self.ground, self._cost, load, self._picked)
            self._chosen[key] = name
        return name


def find_network(
    routing: str,
    combine: bool,
    cost: Any,
    topology: Topology,
    scores: Sequence[int] = (),
    owners: Sequence[int] = (),
    me: int = 0,
    agreed: frozenset[str] = frozenset(),
) -> Network | None:
    """Return the network of a run; None if every frame goes straight to its target.

    Parameters
    ----------
    routing : str
    combine : bool
        Not heeded for "mst": its library looks into nothing that its gateways hand on.
    cost : CostModel, str, mapping or None
        See :meth:`CostModel.of`. None: "auto" reckons with what was measured between
        processes and hosts, and only where the topology has a level above the host.
    topology : Topology
    scores : sequence of int
        For the election of monitors; see :mod:`dgraph.exchange.routing.monitors`.
    owners : sequence of int
        For each slot its process.
    me : int
    agreed : frozenset of str
        See `Network`.

    Examples
    --------
    >>> find_network("auto", True, None, Topology.from_fanouts([4, 2])) is None
    True
    >>> find_network("auto", True, "decade", Topology.from_fanouts([4, 2])).routing
    'auto'
    """
    if routing == "direct" or topology.height == 0:
        return None
    if routing == AUTO and cost is None and topology.height < 2:
        return None
    model = None if cost is None else CostModel.of(cost, topology.height)
    if routing == AUTO and model is None:
        model = measured(topology.height)
    group = default_group(topology, model)
    if group is None:  # no level is much cheaper than the next: gather where slots meet first
        group = default_group(topology, None)
    if group is None and routing in GATHERING:
        return None
    ground = Ground(topology, group or 0, tuple(int(score) for score in scores))
    merges = combine and routing != "mst"
    return Network(ground, routing, merges, model, owners, me, agreed)


async def weigh_slot(ctx: Any, shard: Shard) -> int:
    """Return the score of a slot; a slot program."""
    degrees = shard.out_degree
    if shard.directed:
        degrees = degrees + shard.into_degree
    return score(degrees[:HEAVIEST])
