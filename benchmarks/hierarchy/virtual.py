"""Thousands of virtual slots: what BFS and PageRank would take on a machine. All simulated.

The traffic is that of the real algorithms on a real graph, counted exactly (see
:mod:`benchmarks.hierarchy.counting`); the time is what `dgraph.topology.simulate` makes of it.
A slot is a machine with one process, so in every stage a frame goes over each link that the
routing uses, if only to carry votes; and a stage takes the engine as long as it was measured
to beside its frames. Computation is left out, also by "auto": at 2 ns for each value over
gateways, as it reckons otherwise, tree would be too slow for bitmaps on thousands of slots.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np

from benchmarks.hierarchy import exchanges
from benchmarks.hierarchy.counting import Counter, Sent, Step, by_level
from benchmarks.hierarchy.world import World
from dgraph.engine.network import AUTO, CANDIDATES, Network
from dgraph.exchange.routing.choice import HEAD, STAGE, Load, cheapest, estimate
from dgraph.exchange.routing.ground import Ground, default_group
from dgraph.topology import CostModel, Topology
from dgraph.topology.machine import Machine, Traffic
from dgraph.topology.simulate import extrapolate, simulate

__all__ = [
    "FULL",
    "ROUTINGS",
    "Simulation",
    "carried_on",
    "extrapolated",
    "simulations",
    "tree_of",
]

#: Slots of the largest machine that the papers speak of.
FULL = 79_024

#: Rounds of PageRank.
ROUNDS = 10

ROUTINGS = ("direct", "aml", "rail", "monitor", "tree", "auto")

#: How many domains of the level below a domain has, as long as there are slots; then the rest.
#: tianhe: boards of 8, shelves of 8 boards, racks of 16 shelves. cloud: hosts of 2 processes,
#: racks of 16 hosts, 32 racks in a zone.
_FANOUTS = {"tianhe": (1, 8, 8, 16), "cloud": (1, 2, 16, 32)}


@dataclass(frozen=True)
class Simulation:
    """A line of the table; `seconds` is simulated, and `far_share` is of all bytes.

    So is `frames_alone`: what the same stages would take if no frame held a message. `ways` are
    the routings of the supersteps, whether they go backwards, and how often.
    """

    machine: str
    algorithm: str
    slots: int
    routing: str
    supersteps: int
    far_frames: int
    far_bytes: int
    far_share: float
    bottleneck: str
    seconds: float
    frames_alone: float
    ways: tuple[tuple[str, bool, int], ...] = field(repr=False)

    def row(self) -> dict[str, Any]:
        """Return what is shown."""
        return {name: value for name, value in asdict(self).items() if name != "ways"}


def tree_of(machine: str, slots: int) -> Topology:
    """Return the domain tree of a machine with so many slots, of which the last may be less.

    Examples
    --------
    >>> tree_of("tianhe", 256)
    Topology(slots=256, height=3, domains=256+32+4+1)
    >>> tree_of("tianhe", FULL)
    Topology(slots=79024, height=4, domains=79024+9878+1235+78+1)
    """
    sizes = [min(size, slots) for size in np.cumprod(_FANOUTS[machine]).tolist()]
    sizes = [size for size in sizes if size < slots] + [slots]
    partitions = [(np.arange(slots) // size).tolist() for size in sizes]
    names = [[""] * (partition[-1] + 1) for partition in partitions]
    return Topology.from_dict({"partitions": partitions, "names": names, "level_names": ()})


def cost_of(machine: Machine) -> CostModel:
    """Return what "auto" is told of a machine."""
    alpha = tuple(a + b for a, b in zip(machine.latency, machine.overhead, strict=True))
    return CostModel(alpha, machine.copy, machine.latency, machine.link)


def ground_of(tree: Topology, cost: CostModel) -> Ground:
    """Return the ground of runs on a tree."""
    group = default_group(tree, cost)
    return Ground(tree, default_group(tree, None) or 0 if group is None else group)


def frames_alone(
    ground: Ground, cost: CostModel, ways: Iterable[tuple[str, bool, int]]
) -> float:
    """Return what supersteps take if no frame holds a message: exact, without any traffic."""
    nothing = Load(0, 0.0, 0, always=True)
    return sum(
        times * estimate(name, backwards, ground, cost, nothing)
        for name, backwards, times in ways
    )


def simulations(
    world: World,
    machine: str | Machine,
    tree: Topology,
    source: int,
    routings: Sequence[str] = ROUTINGS,
    say: Callable[[str], Any] = lambda _: None,
) -> Iterator[Simulation]:
    """Yield what BFS and PageRank take on the slots of a tree, for every routing."""
    name = machine if isinstance(machine, str) else "given"
    made = Machine.preset(machine, tree.height) if isinstance(machine, str) else machine
    cost = cost_of(made)
    ground = ground_of(tree, cost)
    world = world.on(tree.slots)
    programs = {"bfs": exchanges.bfs(world, source), "pagerank": exchanges.pagerank(world, 1)}
    kept = {algorithm: list(steps) for algorithm, steps in programs.items()}
    for routing in routings:
        say(f"{name}, {tree.slots} slots: {routing}")
        network = Network(ground, routing, True, cost, range(tree.slots), picked=0.0)
        counter = Counter(world, network)
        for algorithm, steps in kept.items():
            times = 1 if algorithm == "bfs" else ROUNDS
            yield _simulated(counter, steps, made, (name, algorithm, routing), times)


def _simulated(
    counter: Counter, steps: list[Any], machine: Machine, names: tuple[str, ...], times: int
) -> Simulation:
    assert counter.network is not None
    topology = counter.network.ground.topology
    seconds, supersteps, sent = 0.0, 0, np.zeros((3, topology.height + 1), np.int64)
    waits: dict[str, float] = {}
    ways: list[tuple[str, bool, int]] = []
    for step in counter.steps(steps):
        found = simulate(topology, traffic_of(counter, step), machine)
        seconds += times * (found.seconds + STAGE * found.moving)
        supersteps += times
        ways.append((step.routing, step.stage != "top-down", times))
        sent += times * by_level(topology, [step])
        for took, wait in zip(found.stages, found.bottlenecks, strict=True):
            what = f"{wait.kind} {wait.level}" if wait.level else wait.kind
            waits[what] = waits.get(what, 0.0) + took
    worst = max(waits, key=lambda what: waits[what])
    name, algorithm, routing = names
    share = float(sent[2, -1] / max(sent[2].sum(), 1))
    far = int(sent[0, -1]), int(sent[2, -1])
    alone = frames_alone(counter.network.ground, cost_of(machine), ways)
    return Simulation(
        name,
        algorithm,
        topology.slots,
        routing,
        supersteps,
        *far,
        share,
        worst,
        seconds,
        alone,
        tuple(ways),
    )


def traffic_of(counter: Counter, step: Step) -> Iterator[Traffic]:
    """Yield what a superstep sends in each stage, with the frames that only carry votes."""
    slots = counter.world.slots
    forth = step.stage == "top-down"
    links = counter.links(step.routing)
    for sent, link in zip(step.hops, reversed(links) if forth else links, strict=True):
        if forth:  # the ways of a reduce are those of a broadcast, backwards
            link = np.sort(link % slots * slots + link // slots)
        yield with_votes(sent, link, slots)


def with_votes(sent: Sent, link: Any, slots: int) -> Traffic:
    """Add a frame without messages on the links of a stage that have none."""
    more = np.setdiff1d(link, sent.source * slots + sent.target, assume_unique=True)
    source, target = np.divmod(more, slots)
    return Traffic.of(
        np.concatenate([sent.source, source]),
        np.concatenate([sent.target, target]),
        np.concatenate([sent.bytes, np.full(more.size, HEAD)]),
    )


def carried_on(
    rows: Sequence[Simulation], tree: Topology, machine: Machine, ways: Any = None
) -> tuple[float, str]:
    """Return the seconds on many slots from those on few, and how they were found.

    What frames alone take there is known without any traffic: the stages of a routing, and how
    many frames the busiest slot has in each. Only what messages add is carried on, by the power
    law of what they add on few slots.

    Parameters
    ----------
    rows : sequence of Simulation
        Of one algorithm and routing.
    tree : Topology
        Of the many slots.
    machine : Machine
    ways : sequence, optional
        Default: those on the most slots that were simulated; "auto" may choose others.
    """
    last = max(rows, key=lambda row: row.slots)
    cost = cost_of(machine)
    alone = frames_alone(ground_of(tree, cost), cost, ways or last.ways)
    added = [max(row.seconds - row.frames_alone, 1e-9) for row in rows]
    more, said = extrapolate([row.slots for row in rows], added, tree.slots)
    return alone + more, f"{said}, frames as there"


def chosen_on(
    tree: Topology, machine: Machine, ways: Iterable[tuple[str, bool, int]]
) -> list[tuple[str, bool, int]]:
    """Return what "auto" takes on many slots, where frames alone decide.

    Examples
    --------
    >>> tree = tree_of("tianhe", FULL)
    >>> chosen_on(tree, Machine.preset("tianhe", tree.height), [("rail", False, 7)])
    [('tree', False, 7)]
    """
    cost = cost_of(machine)
    ground, nothing = ground_of(tree, cost), Load(0, 0.0, 0, always=True)
    return [
        (cheapest(CANDIDATES, backwards, ground, cost, nothing), backwards, times)
        for _, backwards, times in ways
    ]


def extrapolated(rows: Sequence[Simulation], to: int = FULL) -> list[dict[str, Any]]:
    """Return what each machine, algorithm and routing would take on many more slots.

    What "auto" takes there may be another routing than on few slots: then what messages add is
    carried on from that one's.
    """
    series: dict[tuple[str, str, str], list[Simulation]] = {}
    for row in rows:
        series.setdefault((row.machine, row.algorithm, row.routing), []).append(row)
    found = []
    for (name, algorithm, routing), some in series.items():
        if len(some) > 1:
            tree = tree_of(name, to)
            machine = Machine.preset(name, tree.height)
            ways = None
            if routing == AUTO:
                ways = chosen_on(tree, machine, some[-1].ways)
                some = series.get((name, algorithm, ways[0][0]), some)
            seconds, said = carried_on(some, tree, machine, ways)
            found.append(
                {
                    "machine": name,
                    "algorithm": algorithm,
                    "slots": tree.slots,
                    "routing": routing,
                    "seconds": seconds,
                    "how": said if ways is None else f"{said}: {ways[0][0]}",
                }
            )
    return found
