"""What is simulated and extrapolated for many slots, held against the emulated network.

As for the largest machines, the traffic of BFS and PageRank is counted on few slots (2 and 4,
of a tree with the same levels), its time simulated, and the power law carried on: to 8 slots,
on which the real engine then runs on the emulated network. Nothing is fitted to what is seen.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import dgraph as dg
from benchmarks.hierarchy.evidence import Bench
from benchmarks.hierarchy.netlab import Netlab
from benchmarks.hierarchy.patterns import as_machine
from benchmarks.hierarchy.tables import Table
from benchmarks.hierarchy.virtual import simulations
from benchmarks.hierarchy.wall import CLOSE, skipped
from benchmarks.hierarchy.world import World, make_world
from dgraph.topology import Topology
from dgraph.topology.simulate import extrapolate

__all__ = ["law"]

ROUTINGS = ("direct", "aml", "rail", "monitor", "tree")

#: The rank of the vertex from which to search.
SOURCE = 3

Times = dict[tuple[str, str], float]


def law(bench: Bench) -> Iterator[Table]:
    """Hold the law by which times on many slots are extrapolated against the network."""
    title = "8 slots: extrapolated from 2 and 4 simulated ones, simulated, and seen (s)"
    netlab = bench.asked.netlab
    if netlab is None:
        yield skipped("law", title, bench.asked.reason)
        return
    edges = dg.generate.kronecker(bench.asked.netlab_scale, weights=True)
    ends = edges.compute(scheduler="sync")
    world = make_world(ends["source"].to_numpy(), ends["target"].to_numpy(), 1)
    few = {slots: _simulate(bench, world, netlab, slots) for slots in (2, 4, netlab.slots)}
    seen = _see(bench, netlab, int(world.ids[SOURCE]))
    rows: list[dict[str, Any]] = []
    for key, simulated in few[netlab.slots].items():
        law, _ = extrapolate([2, 4], [few[2][key], few[4][key]], netlab.slots)
        rows.append(
            {
                "algorithm": key[0],
                "routing": key[1],
                "2 slots": few[2][key],
                "4 slots": few[4][key],
                "extrapolated": law,
                "simulated": simulated,
                "seen": seen[key],
                "extrapolated/seen": law / seen[key],
                "simulated/seen": simulated / seen[key],
            }
        )
    notes = [
        f"{what} within {CLOSE:.0%} of what is seen: "
        f"{sum(abs(row[f'{what}/seen'] - 1) <= CLOSE for row in rows)} of {len(rows)}"
        for what in ("extrapolated", "simulated")
    ]
    yield Table("law", title, rows, notes)


def _simulate(bench: Bench, world: World, netlab: Netlab, slots: int) -> Times:
    """Return the simulated seconds of every algorithm and routing, on a tree as high."""
    fanouts = [1, 1, 1]
    for at, full in enumerate(netlab.fanouts):  # the far level is there from two slots on
        fanouts[at] = min(full, max(1, slots))
        slots //= fanouts[at]
    tree = Topology.from_fanouts(fanouts[::-1])
    found = simulations(world, as_machine(netlab), tree, SOURCE, ROUTINGS, say=bench.say)
    return {(row.algorithm, row.routing): row.seconds for row in found}


def _see(bench: Bench, netlab: Netlab, source: int) -> Times:
    """Return the seconds that the supersteps took, without computation."""
    wanted = {
        "hosts": netlab.hosts,
        "slots": netlab.slots,
        "scale": bench.asked.netlab_scale,
        "turns": bench.asked.turns,
        "algorithms": ["bfs", "pagerank"],
        "ways": {name: {"dgraph.routing": name} for name in ROUTINGS},
        "source": source,
    }
    text = json.dumps(wanted)
    found: dict[str, Any] = netlab.on_workers(
        "benchmarks.hierarchy.driver", text, timeout=1800, say=bench.say
    )
    return {(row["algorithm"], row["routing"]): row["exchanged"] for row in found["rows"]}
