"""The engine's own counters of bytes, held against what the emulated network has carried.

Its script counts packets and bytes by level outside of all programs. Beside the frames of a run
there are those of Dask, of the build and of the launch; so PageRank runs twice, each time on a
network of its own, with few rounds and with many, and what the one has carried more than the
other is what the rounds between have sent, with the headers and acknowledgements of TCP.
"""

from __future__ import annotations

import json
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import dask
from distributed import Client

import dgraph as dg
from benchmarks.hierarchy.driver import SCHEDULER
from benchmarks.hierarchy.evidence import Bench
from benchmarks.hierarchy.netlab import Netlab
from benchmarks.hierarchy.tables import Table
from benchmarks.hierarchy.wall import skipped

__all__ = ["main", "wire"]

#: Rounds of PageRank, few and many.
ROUNDS = (5, 85)

#: What direct, and gateways, send.
ROUTINGS = ("direct", "monitor")

#: Levels of a slot's process and host, below those of the network.
WITHIN = 2


def wire(bench: Bench) -> Iterator[Table]:
    """Hold counted bytes beside those on the emulated network."""
    title = f"bytes of {ROUNDS[1] - ROUNDS[0]} rounds of PageRank, counted and on the network"
    netlab = bench.settings.netlab
    if netlab is None:
        yield skipped("wire", title, bench.settings.reason)
        return
    rows: list[dict[str, Any]] = []
    for routing in ROUTINGS:
        few, many = (_carried(bench, netlab, routing, rounds) for rounds in ROUNDS)
        for level in range(len(netlab.latency)):
            counted = many[0][level] - few[0][level]
            seen = many[1][level] - few[1][level]
            rows.append(
                {
                    "routing": routing,
                    "level": level + WITHIN,
                    "counted": counted,
                    "on the network": seen,
                    "network/counted": seen / counted if counted else None,
                }
            )
    notes = ["counted: by the engine; on the network: by its script, headers of TCP and all"]
    yield Table("wire", title, rows, notes)


def _carried(
    bench: Bench, netlab: Netlab, routing: str, rounds: int
) -> tuple[list[int], list[int]]:
    """Return bytes by level of the network: of a run by the engine, of all by the script."""
    bench.say(f"wire: {rounds} rounds over {routing}")
    wanted = {
        "hosts": netlab.hosts,
        "slots": netlab.slots,
        "scale": bench.settings.netlab_scale,
        "routing": routing,
        "rounds": rounds,
    }
    with tempfile.TemporaryDirectory() as folder:
        stats = Path(folder) / "stats.json"
        counted: dict[str, int] = netlab.on_workers(
            "benchmarks.hierarchy.wire", json.dumps(wanted), stats=stats
        )
        levels = json.loads(stats.read_text())["levels"]
    mine = [counted.get(str(level + WITHIN), 0) for level in range(len(levels))]
    return mine, [level["bytes"] for level in levels]


def main() -> None:
    """Run PageRank in the emulated network; print its bytes by level."""
    wanted = json.loads(sys.argv[1])
    with Client(SCHEDULER, set_as_default=False) as client, client.as_current():
        client.wait_for_workers(wanted["slots"], timeout=120)
        edges = dg.generate.kronecker(wanted["scale"])
        with dg.from_edges(
            edges, placement="degree", topology=wanted["hosts"], client=client
        ) as g:
            with dask.config.set({"dgraph.routing": wanted["routing"]}):
                dg.pagerank(g, max_iter=wanted["rounds"], tol=None)
            print(json.dumps(g.runs[-1].bytes))


if __name__ == "__main__":
    main()
