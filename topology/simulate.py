"""The time that traffic would take on a described machine. Every figure of it is simulated.

A machine is a domain tree whose links are shared. Every domain below the root has one link up
and one link down, and every slot handles one frame after the other::

    slot s                                                          slot t
      |  overhead, copy                            overhead, copy     |
    domain of level 0 ──up── domain of level 1 ──down── domain of level 0
                      link[1]                   link[1]

In a stage all slots send at once. What passes a link passes it one after the other, and so do
the frames that one slot sends, and those that it receives: a gateway is a bottleneck when much
is gathered in it. Links overlap, and latency passes once for all. So a stage takes as long as
its busiest link or slot is busy, and the latency of the farthest level; stages follow each
other. What this leaves out: computation, packets that are lost, and waiting for stragglers.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dgraph.distinct import distinct
from dgraph.errors import OptionError
from dgraph.plurals import counted
from dgraph.topology.cost import CostModel
from dgraph.topology.machine import Machine, Traffic
from dgraph.topology.tree import Topology

__all__ = ["Bottleneck", "Simulated", "extrapolate", "simulate"]

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Bottleneck:
    """What a stage had to wait for.

    Parameters
    ----------
    kind : {"up", "down", "sends", "receives", "nothing"}
        "up", "down": the link of a domain, and in which direction it is crossed; "sends",
        "receives": a slot; "nothing": nothing moves in the stage.
    level : int
        From 1 on: of the domain to which the link leads up; 0 for a slot.
    number : int
        Of the domain below the link, among those of level - 1; or of the slot.
    seconds : float
        For how long it was busy, without latency; simulated.
    """

    kind: str
    level: int
    number: int
    seconds: float


@dataclass(frozen=True)
class Simulated:
    """The result of a simulation.

    Parameters
    ----------
    seconds : float
        Of all stages; simulated.
    stages : tuple of float
        Of each.
    bottlenecks : tuple of Bottleneck
        Of each.
    """

    seconds: float
    stages: tuple[float, ...]
    bottlenecks: tuple[Bottleneck, ...]

    @property
    def moving(self) -> int:
        """In how many stages something moves: a run leaves the others out."""
        return sum(wait.kind != "nothing" for wait in self.bottlenecks)

    def __str__(self) -> str:
        """Say that it is simulated."""
        return f"{self.seconds:.6g} s (simulated) in {counted(len(self.stages), 'stage')}"


def simulate(
    topology: Topology,
    stages: Iterable[Traffic] | Traffic,
    machine: Machine | CostModel | str,
) -> Simulated:
    """Return the time that stages of traffic take on a machine.

    A stage takes as long as its busiest link or slot, plus the latency of the highest level
    that something of it crosses; stages add up. See :mod:`dgraph.topology.simulate` for what
    that leaves out.

    Parameters
    ----------
    topology : Topology
        Whose leaves are the slots of the traffic.
    stages : iterable of Traffic, or Traffic
        One after the other, as a routing makes them; a superstep is one or more.
    machine : Machine, CostModel or str
        What links and slots can do at each level of the topology: a machine, the costs of
        frames and bytes, or the name of a preset of `Machine`.

    Returns
    -------
    Simulated
        Seconds in all and of each stage, and what each stage had to wait for.

    Raises
    ------
    OptionError
        If the machine has fewer levels than the topology, a slot is not in the topology, or a
        stage is no Traffic.

    Examples
    --------
    >>> tree = Topology.from_fanouts([4, 2])
    >>> machine = Machine((0, 1e-3), (0, 1e-5), (0, 0), (0, 1e-8))
    >>> gathered = simulate(tree, [Traffic.of([0, 1], [4, 4], 10**6)], machine)
    >>> gathered.bottlenecks[0].kind, str(gathered)
    ('up', '0.021 s (simulated) in 1 stage')
    """
    machine = machine_for(topology, machine)
    times, waits = [], []
    for traffic in one_by_one(stages):
        seconds, wait = _stage(topology, traffic, machine)
        times.append(seconds)
        waits.append(wait)
    return Simulated(float(sum(times)), tuple(times), tuple(waits))


def machine_for(topology: Topology, machine: Machine | CostModel | str) -> Machine:
    """Return a machine, also one that is told by its name or its costs, that has all levels.

    Raises
    ------
    OptionError
        If it has too few.
    """
    if isinstance(machine, str):
        machine = Machine.preset(machine, topology.height)
    elif isinstance(machine, CostModel):
        machine = Machine.of(machine, topology)
    if len(machine.latency) <= topology.height:
        raise OptionError(
            f"expected a machine of {topology.height + 1} levels, got {len(machine.latency)}"
        )
    return machine


def one_by_one(stages: Iterable[Traffic] | Traffic) -> Iterator[Traffic]:
    """Yield the traffic of each stage; of one that is told alone, just that.

    Raises
    ------
    OptionError
        If something is no Traffic.
    """
    for traffic in (stages,) if isinstance(stages, Traffic) else stages:
        if not isinstance(traffic, Traffic):
            kind = type(traffic).__name__
            raise OptionError(f"expected a Traffic for each stage, got {kind}: see Traffic.of")
        yield traffic


def check_slots(topology: Topology, traffic: Traffic) -> None:
    """Raise OptionError if a slot of the traffic is not in the topology."""
    source, target = traffic.source, traffic.target
    if len(source) and max(source.max(), target.max()) >= topology.slots:
        raise OptionError(f"expected slots below {topology.slots}, got more")


def _stage(topology: Topology, traffic: Traffic, machine: Machine) -> tuple[float, Bottleneck]:
    check_slots(topology, traffic)
    source, target = traffic.source, traffic.target
    moves = (source != target) & (traffic.frames > 0)
    if not moves.any():
        return 0.0, Bottleneck("nothing", 0, 0, 0.0)
    source, target = source[moves], target[moves]
    level = topology.level(source, target)
    used = [traffic.frames[moves], traffic.bytes[moves]]
    busiest = max(
        _busy(topology, (source, target), level, used, machine), key=lambda each: each.seconds
    )
    latency = max(machine.latency[far] for far in distinct(level).tolist())
    return busiest.seconds + latency, busiest


def _busy(
    topology: Topology,
    ends: tuple[NDArray[np.int64], NDArray[np.int64]],
    level: NDArray[np.int64],
    used: Sequence[NDArray[np.int64]],
    machine: Machine,
) -> Iterator[Bottleneck]:
    """Yield the busiest slot or link of each kind and level."""
    frames, size = used
    overhead, copy = np.array(machine.overhead)[level], np.array(machine.copy)[level]
    spent: Any = frames * overhead + size * copy
    for kind, slots in zip(("sends", "receives"), ends, strict=True):
        yield _most(kind, 0, slots, spent)
    for height in range(1, topology.height + 1):
        climbs = level >= height
        if not climbs.any():
            return
        domain = topology.domain_of(height - 1)
        passed: Any = size[climbs] * machine.link[height]
        for kind, slots in zip(("up", "down"), ends, strict=True):
            yield _most(kind, height, domain[slots[climbs]], passed)


def _most(kind: str, level: int, where: Any, seconds: Floats) -> Bottleneck:
    total = np.bincount(where, seconds)
    number = int(total.argmax())
    return Bottleneck(kind, level, number, float(total[number]))


def extrapolate(slots: Sequence[int], seconds: Sequence[float], to: int) -> tuple[float, str]:
    """Return the time for more slots, on the power law of simulated times, and say so.

    Parameters
    ----------
    slots, seconds : sequences
        Of at least two simulations of the same problem.
    to : int
        Slots.

    Examples
    --------
    >>> extrapolate([64, 256, 1024], [4.0, 2.0, 1.0], 4096)
    (0.5, 'simulated, extrapolated from 1024 to 4096 slots as slots**-0.5')
    """
    if len(slots) < 2 or len(set(slots)) < len(slots) or min(*slots, *seconds) <= 0:
        raise OptionError(
            f"expected times above 0 for several numbers of slots, got {list(seconds)} for "
            f"{list(slots)}"
        )
    slope, start = np.polyfit(np.log(slots), np.log(seconds), 1)
    found = float(np.exp(start + slope * np.log(to)))
    said = f"simulated, extrapolated from {max(slots)} to {to} slots as slots**{slope:.2g}"
    return round(found, 12), said
