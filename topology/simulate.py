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
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dgraph.errors import OptionError
from dgraph.topology.cost import CostModel
from dgraph.topology.tree import Topology

__all__ = ["Bottleneck", "Machine", "Simulated", "Traffic", "extrapolate", "simulate"]

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Traffic:
    """What is sent in one stage.

    Parameters
    ----------
    source, target : int64 arrays
        Slots, a pair in each row.
    frames, bytes : int64 arrays
        Of each pair.

    Examples
    --------
    >>> traffic = Traffic.of_matrix([[0, 5], [7, 0]])
    >>> traffic.source, traffic.bytes, traffic.frames
    (array([0, 1]), array([5, 7]), array([1, 1]))
    """

    source: NDArray[np.int64]
    target: NDArray[np.int64]
    frames: NDArray[np.int64]
    bytes: NDArray[np.int64]

    @classmethod
    def of(
        cls, source: ArrayLike, target: ArrayLike, bytes: ArrayLike, frames: ArrayLike = 1
    ) -> Self:
        """Make one of arrays, or of numbers that hold for all pairs."""
        columns = np.broadcast_arrays(
            *(np.atleast_1d(np.asarray(x, np.int64)) for x in (source, target, frames, bytes))
        )
        if any(len(column) and column.min() < 0 for column in columns):
            raise OptionError("expected slots, frames and bytes from 0 on, got less")
        return cls(*columns)

    @classmethod
    def of_matrix(cls, bytes: ArrayLike, frames: ArrayLike | None = None) -> Self:
        """Make one of square matrices, rows by source; default: a frame wherever bytes are."""
        size = np.asarray(bytes, np.int64)
        count = (size > 0).astype(np.int64) if frames is None else np.asarray(frames, np.int64)
        if size.ndim != 2 or size.shape[0] != size.shape[1] or size.shape != count.shape:
            raise OptionError(
                f"expected square matrices of one shape, got {size.shape} and {count.shape}"
            )
        source, target = np.nonzero(count)
        return cls.of(source, target, size[source, target], count[source, target])


@dataclass(frozen=True)
class Machine:
    """What a machine's links and slots can do; all by level, level 0 first.

    Parameters
    ----------
    latency : tuple of float
        Seconds until a frame is there, which pass for all frames at once.
    overhead : tuple of float
        Seconds that a slot spends on a frame, at either end.
    copy : tuple of float
        Seconds that a slot spends on a byte, at either end.
    link : tuple of float
        Seconds per byte of the link between a domain of the level below and its domain of this
        level; that of level 0 is not used.

    Examples
    --------
    >>> machine = Machine((0, 1e-3), (0, 0), (0, 0), (0, 1e-6))
    >>> tree = Topology.from_fanouts([2, 2])
    >>> round(simulate(tree, [Traffic.of([0, 1], [2, 3], 1000)], machine).seconds, 9)
    0.003
    """

    latency: tuple[float, ...]
    overhead: tuple[float, ...]
    copy: tuple[float, ...]
    link: tuple[float, ...]

    def __post_init__(self) -> None:
        """Check the figures."""
        figures = (self.latency, self.overhead, self.copy, self.link)
        if len({len(each) for each in figures}) > 1 or not self.latency:
            raise OptionError("expected as many figures of each kind, one per level")
        if not all(0 <= figure < float("inf") for each in figures for figure in each):
            raise OptionError(f"expected figures from 0 on, got {figures}")

    @classmethod
    def of(cls, cost: CostModel | str, tree: Topology | int) -> Self:
        """Return a machine whose frames and bytes cost what a model says.

        ``alpha`` is taken as time that a slot spends, ``beta`` as that of slots, and of links
        if these have none of their own.

        Parameters
        ----------
        cost : CostModel or str
            A preset's name too: "tianhe", "cloud", ...
        tree : Topology or int
            See `CostModel.of`.

        Examples
        --------
        >>> Machine.of("tianhe", 1).overhead
        (5e-06, 1e-05)
        """
        model = CostModel.of(cost, tree)
        levels = len(model.alpha)
        return cls((0.0,) * levels, model.alpha, model.beta, model.link or model.beta)

    @classmethod
    def preset(cls, name: str, height: int) -> Self:
        """Return a machine by name, for a tree of this height.

        Parameters
        ----------
        name : {"tianhe", "cloud"}
            tianhe: a tree like that of TuCOMM's machine; process, board, shelf, rack, system.
            cloud: racks of machines; process, host, rack, racks joined three to one, zones.
            Both by orders of magnitude, not measured.
        height : int
            A level beyond those named grows by the last ratio.

        Examples
        --------
        >>> Machine.preset("cloud", 2).latency
        (0.0, 2e-06, 2.5e-05)
        """
        if name not in _PRESETS:
            raise OptionError(f"name must be one of {', '.join(_PRESETS)}, not {name!r}")
        return cls(*(_extended(figures, height) for figures in _PRESETS[name]))


# latency, overhead, copy, link
_PRESETS: dict[str, tuple[tuple[float, ...], ...]] = {
    "tianhe": (
        (0.0, 1e-6, 2e-6, 3e-6, 5e-6),
        (2e-7, 5e-7, 1e-6, 1e-6, 1e-6),
        (1 / 20e9, 1 / 10e9, 1 / 10e9, 1 / 10e9, 1 / 10e9),
        (0.0, 1 / 14e9, 1 / 28e9, 1 / 56e9, 1 / 112e9),
    ),
    "cloud": (
        (0.0, 2e-6, 2.5e-5, 1e-4, 1e-3),
        (2e-7, 5e-6, 2e-5, 2e-5, 2e-5),
        (1 / 20e9, 1 / 8e9, 1 / 4e9, 1 / 4e9, 1 / 4e9),
        (0.0, 1 / 8e9, 1 / 1.25e9, 1 / 8e9, 1 / 10e9),
    ),
}


def _extended(figures: Sequence[float], height: int) -> tuple[float, ...]:
    found = list(figures)
    while len(found) <= height:
        found.append(found[-1] * found[-1] / found[-2] if found[-2] else found[-1])
    return tuple(found[: height + 1])


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
        return f"{self.seconds:.6g} s (simulated) in {len(self.stages)} stages"


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
    ('up', '0.021 s (simulated) in 1 stages')
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
    latency = max(machine.latency[far] for far in np.unique(level).tolist())
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
