"""What is simulated and extrapolated for many slots, held against the emulated network.

As for the largest machines, the traffic of BFS and PageRank is counted on few slots (2 and 4,
of a tree with the same levels) and its time simulated. What messages take of it is carried on
by its power law to 8 slots, what frames alone take there is known; and on 8 slots the real
engine then runs on the emulated network.

There all slots share the cores of one host, and what their processes take to make frames and to
wake each other is no part of the network: it is measured on this host without that network, for
supersteps in which nothing is sent, and added. So is what all frames between domains wait for
each other in the process that forwards them, for which no machine has a figure. Nothing is
fitted to what is seen.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from typing import Any

import dgraph as dg
from benchmarks.hierarchy.carriers import engine
from benchmarks.hierarchy.evidence import Bench
from benchmarks.hierarchy.netlab import Netlab
from benchmarks.hierarchy.patterns import FORWARDED, as_machine
from benchmarks.hierarchy.tables import Table
from benchmarks.hierarchy.virtual import (
    Simulation,
    carried_on,
    cost_of,
    ground_of,
    simulations,
)
from benchmarks.hierarchy.wall import CLOSE, skipped
from benchmarks.hierarchy.world import World, make_world
from dgraph.exchange.routing.links import stages
from dgraph.topology import Topology
from dgraph.topology.machine import Machine

__all__ = ["law"]

ROUTINGS = ("direct", "aml", "rail", "monitor", "tree")

#: The rank of the vertex from which to search.
SOURCE = 3

Times = dict[tuple[str, str], float]


def law(bench: Bench) -> Iterator[Table]:
    """Hold the law by which times on many slots are extrapolated against the network."""
    title = "8 slots: extrapolated from 2 and 4 simulated ones, simulated, and seen (s)"
    netlab = bench.settings.netlab
    if netlab is None:
        yield skipped("law", title, bench.settings.reason)
        return
    edges = dg.generate.kronecker(bench.settings.netlab_scale, weights=True)
    ends = edges.compute(scheduler="sync")
    world = make_world(ends["source"].to_numpy(), ends["target"].to_numpy(), 1)
    tree = Topology.from_fanouts(netlab.fanouts[::-1])
    bench.say(f"the engine alone: {tree.slots} processes on this host")
    alone = engine(tree, ROUTINGS, bench.settings.turns)
    few = {slots: _simulate(bench, world, netlab, slots) for slots in (2, 4, netlab.slots)}
    seen = _see(bench, netlab, int(world.ids[SOURCE]))
    rows: list[dict[str, Any]] = []
    for key, many in few[netlab.slots].items():
        host = many.supersteps * alone[key[1]]
        law, _ = carried_on([few[2][key], few[4][key]], tree, as_machine(netlab), many.ways)
        forwarding = FORWARDED * _forwarded(tree, as_machine(netlab), many.ways)
        beside = host + forwarding
        rows.append(
            {
                "algorithm": key[0],
                "routing": key[1],
                "2 slots": few[2][key].seconds,
                "4 slots": few[4][key].seconds,
                "8 slots": many.seconds,
                "host": host,
                "forwarding": forwarding,
                "extrapolated": law + beside,
                "simulated": many.seconds + beside,
                "seen": seen[key],
                "extrapolated/seen": (law + beside) / seen[key],
                "simulated/seen": (many.seconds + beside) / seen[key],
            }
        )
    notes = [
        f"{what} within {CLOSE:.0%} of what is seen: "
        f"{sum(abs(row[f'{what}/seen'] - 1) <= CLOSE for row in rows)} of {len(rows)}"
        for what in ("extrapolated", "simulated")
    ]
    yield Table("law", title, rows, notes)


def _simulate(
    bench: Bench, world: World, netlab: Netlab, slots: int
) -> dict[tuple[str, str], Simulation]:
    """Return what is simulated of every algorithm and routing, on a tree as high."""
    fanouts = [1, 1, 1]
    for at, full in enumerate(netlab.fanouts):  # the far level is there from two slots on
        fanouts[at] = min(full, max(1, slots))
        slots //= fanouts[at]
    tree = Topology.from_fanouts(fanouts[::-1])
    found = simulations(world, as_machine(netlab), tree, SOURCE, ROUTINGS, say=bench.say)
    return {(row.algorithm, row.routing): row for row in found}


def _forwarded(tree: Topology, machine: Machine, ways: Iterable[tuple[str, bool, int]]) -> int:
    """Return how many frames supersteps send above level 0: one on each link, for the votes."""
    ground = ground_of(tree, cost_of(machine))
    sides = [
        (times, stage.sent)
        for name, backwards, times in ways
        for stage in stages(name, backwards, ground)
    ]
    return sum(times * int(sent.times[sent.level > 0].sum()) for times, sent in sides)


def _see(bench: Bench, netlab: Netlab, source: int) -> Times:
    """Return the seconds that the supersteps took, without computation."""
    wanted = {
        "hosts": netlab.hosts,
        "slots": netlab.slots,
        "scale": bench.settings.netlab_scale,
        "turns": bench.settings.turns,
        "algorithms": ["bfs", "pagerank"],
        "ways": {name: {"dgraph.routing": name} for name in ROUTINGS},
        "source": source,
    }
    text = json.dumps(wanted)
    found: dict[str, Any] = netlab.on_workers(
        "benchmarks.hierarchy.driver", text, timeout=1800, say=bench.say
    )
    return {(row["algorithm"], row["routing"]): row["exchanged"] for row in found["rows"]}
