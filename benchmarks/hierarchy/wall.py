"""Wall time on the emulated network: the figures of which nothing is simulated."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from functools import cache
from typing import Any

import dask

from benchmarks.hierarchy.carriers import on_this_host
from benchmarks.hierarchy.driver import TOP_DOWN
from benchmarks.hierarchy.evidence import TIME, Bench
from benchmarks.hierarchy.netlab import Netlab
from benchmarks.hierarchy.patterns import compare
from benchmarks.hierarchy.tables import Plot, Table

__all__ = ["CLOSE", "carriers", "links", "overlap", "skipped", "topdown", "walls"]

ROUTINGS = ("direct", "aml", "rail", "monitor", "tree", "auto")

#: Also over Dask's comms, which encrypted clusters have to use: a frame costs more there.
COMPARED, BY_COMM = ("direct", "aml", "tree", "auto"), " (comm)"

#: What BFS over "auto" has to reach: of the wall time over direct, and over aml.
BFS = 0.6, 0.8

#: What is compared: the default, and the routings that it is held against.
ALONE = (
    "only auto heeds what links cost: it alone spares supersteps of bfs that take longer than "
    "work, and sends integers as differences and bits in blocks where a byte is dear; direct, "
    "aml and the others do none of that"
)

#: Simulated and seen may differ by this part.
CLOSE = 0.3


def links(bench: Bench) -> Iterator[Table]:
    """Hold what is simulated beside what is seen on the network, for patterns of traffic."""
    title = "traffic on the emulated network: seen, and simulated"
    if bench.settings.netlab is None:
        yield skipped("links", title, bench.settings.reason)
        return
    rows = compare(bench.settings.netlab, bench.settings.turns)
    least = sum(abs(row["ratio"] - 1) <= CLOSE for row in rows)
    median = sum(abs(row["simulated"] / row["median"] - 1) <= CLOSE for row in rows)
    notes = [
        f"simulated within {CLOSE:.0%} of the fastest turn: {least} of {len(rows)}; of the "
        f"median: {median}"
    ]
    yield Table("links", title, rows, notes)


def walls(bench: Bench) -> Iterator[Table]:
    """Figs. 1 and 4, the ablation and auto, measured."""
    titles = {
        "wall": f"wall time on the emulated network at scale {bench.settings.netlab_scale} (s)",
        "wall_ablation": "aml, and what each step adds, on the emulated network",
    }
    netlab = bench.settings.netlab
    if netlab is None:
        for name, title in titles.items():
            yield skipped(name, title, bench.settings.reason)
        return
    ways: dict[str, Any] = {name: {"dgraph.routing": name} for name in ROUTINGS}
    for name in COMPARED:
        ways[name + BY_COMM] = {"dgraph.routing": name, "dgraph.transport": "comm"}
    steps = _steps()
    bench.say("a cluster of 8 workers on the emulated network")
    found = _measure(
        netlab,
        json.dumps(
            {
                "hosts": netlab.hosts,
                "slots": netlab.slots,
                "scale": bench.settings.netlab_scale,
                "turns": bench.settings.turns,
                "algorithms": ["bfs", "sssp", "pagerank"],
                "ways": ways | steps,
            }
        ),
        bench.say,
    )
    rows = [row for row in found["rows"] if row["routing"] in ways]
    for row in rows:
        if row["algorithm"] == "bfs":
            row["teps"] = found["reached"] / row["seconds"]
    plot = Plot("routing", "computation,near,far,waiting", "algorithm", "stack")
    notes = _judged(rows, found["cost"], netlab)
    yield Table("wall", titles["wall"], rows, notes, plot)
    gains = _gains(found["rows"], steps)
    plot = Plot("algorithm", "seconds", "step")
    yield Table("wall_ablation", titles["wall_ablation"], gains, plot=plot)


def topdown(bench: Bench) -> Iterator[Table]:
    """Fig. 4, measured: BFS as in the papers, which only goes top-down, beside ours."""
    scale = bench.settings.topdown_scale
    title = f"BFS at scale {scale} on two domains of four slots of the emulated network (s)"
    if bench.settings.netlab is None:
        yield skipped("topdown", title, bench.settings.reason)
        return
    netlab = replace(
        bench.settings.netlab, fanouts=(2, 4), latency=(1e-3, 1e-2), rate=(100e6, 20e6)
    )
    wanted = {
        "hosts": netlab.hosts,
        "slots": netlab.slots,
        "scale": scale,
        "turns": bench.settings.turns,
        "algorithms": [TOP_DOWN, "bfs"],
        "weights": False,
        "ways": {name: {"dgraph.routing": name} for name in ROUTINGS},
    }
    found = _measure(netlab, json.dumps(wanted), bench.say)
    for row in found["rows"]:
        row["teps"] = found["reached"] / row["seconds"]
    notes = _judged(found["rows"], found["cost"], netlab)
    plot = Plot("routing", "seconds", "algorithm")
    yield Table("topdown", title, found["rows"], notes, plot)


def carriers(bench: Bench) -> Iterator[Table]:
    """Time every transport, and see whether "auto" takes the best one."""
    rows = on_this_host(bench.settings.turns)
    notes = []
    netlab = bench.settings.netlab
    if netlab is None:
        notes.append(f"the network is skipped: {bench.settings.reason}")
    else:
        asked = ("carriers", str(bench.settings.turns), str(netlab.slots))
        rows += netlab.on_workers("benchmarks.hierarchy.carriers", *asked, say=bench.say)
    worst = max(row["/best"] for row in rows if row["transport"] == "auto")
    notes.insert(0, f"auto takes at most {worst:.2f} of the best transport; target {TIME}")
    yield Table("carriers", "a superstep of so many bytes to each other slot", rows, notes)


def overlap(bench: Bench) -> Iterator[Table]:
    """Show what it gains to send while a kernel goes on, and dynamic buffers to static ones."""
    title = "a kernel writes 2 MiB for each other slot; two racks of two, 20 MB/s between them"
    if bench.settings.netlab is None:
        yield skipped("overlap", title, bench.settings.reason)
        return
    netlab = replace(
        bench.settings.netlab, fanouts=(2, 2), latency=(0.0, 1e-2), rate=(0.0, 20e6)
    )
    asked = ("overlap", str(bench.settings.turns), str(netlab.slots))
    rows = netlab.on_workers("benchmarks.hierarchy.carriers", *asked, say=bench.say)
    yield Table("overlap", title, rows)


@cache
def _measure(netlab: Netlab, wanted: str, say: Any) -> Any:
    return netlab.on_workers("benchmarks.hierarchy.driver", wanted, timeout=1800, say=say)


def _steps() -> dict[str, dict[str, Any]]:
    """Return the steps of the ablation; without dynamic buffers if the engine has none."""
    static = {"dgraph.buffers": "static"} if _has_buffers() else {}
    steps: dict[str, dict[str, Any]] = {
        "aml, nothing combined": {"dgraph.routing": "aml", "dgraph.combine": False, **static},
        "+ hierarchy": {"dgraph.routing": "auto", "dgraph.combine": False, **static},
        "+ combining": {"dgraph.routing": "auto", "dgraph.combine": True, **static},
    }
    if _has_buffers():
        steps["+ dynamic buffers"] = {"dgraph.routing": "auto", "dgraph.buffers": "dynamic"}
    return steps


def _has_buffers() -> bool:
    return dask.config.get("dgraph.buffers", None) is not None


def _gains(rows: list[Any], steps: dict[str, Any]) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = []
    for algorithm in dict.fromkeys(row["algorithm"] for row in rows):
        before = None
        for step in steps:
            (row,) = (r for r in rows if (r["algorithm"], r["routing"]) == (algorithm, step))
            gain = before / row["seconds"] if before else 1.0
            before = row["seconds"]
            found.append(
                {
                    "algorithm": algorithm,
                    "step": step,
                    "seconds": before,
                    "gain": gain,
                    "far_frames": row["far_frames"],
                    "far_bytes": row["far_bytes"],
                }
            )
        if "+ dynamic buffers" not in steps:
            found.append({"algorithm": algorithm, "step": "+ dynamic buffers"})
    return found


def _judged(rows: list[Any], cost: dict[str, Any], netlab: Netlab) -> list[str]:
    """Say how auto does, what is left over any routing, and what auto was told."""
    notes = []
    for algorithm in dict.fromkeys(row["algorithm"] for row in rows):
        mine = {row["routing"]: row["seconds"] for row in rows if row["algorithm"] == algorithm}
        comm = {name: seconds for name, seconds in mine.items() if name.endswith(BY_COMM)}
        notes.append(_judge(algorithm, {name: mine[name] for name in ROUTINGS}))
        short = {name.removesuffix(BY_COMM): seconds for name, seconds in comm.items()}
        notes += [_judge(algorithm + BY_COMM, short)] if short else []
        notes.append(_least([row for row in rows if row["algorithm"] == algorithm], netlab))
    return [*notes, ALONE, *_costs(cost)]


def _least(rows: list[Any], netlab: Netlab) -> str:
    """Say what is left over any routing: latency, and the fewest bytes between top domains."""
    (direct,) = (row for row in rows if row["routing"] == "direct")
    supersteps = min(row["supersteps"] for row in rows)
    latency = supersteps * netlab.latency[-1]
    fewest = min(row["far_bytes"] for row in rows)
    sending = fewest / netlab.fanouts[0] / netlab.rate[-1]  # every domain sends its share
    return (
        f"{direct['algorithm']}: over any routing {latency:.3f} s of latency pass in "
        f"{supersteps} supersteps ({direct['supersteps']} over direct), "
        f"{latency / direct['seconds']:.2f} of direct; with the fewest bytes between domains, "
        f"{sending:.3f} s more, {(latency + sending) / direct['seconds']:.2f}"
    )


def _costs(cost: dict[str, Any]) -> list[str]:
    """Say what auto was told, which was probed."""
    units = {"alpha": "s a frame", "beta": "s a byte", "latency": "s of alpha for all at once"}
    return [
        f"probed, {units[name]}: " + ", ".join(f"{figure:.2g}" for figure in figures)
        for name, figures in cost.items()
    ]


def _judge(what: str, times: dict[str, float]) -> str:
    """Say how auto compares to the fixed routings, and whether BFS reaches its targets."""
    mine = times.pop("auto")
    best = min(times, key=lambda routing: times[routing])
    shares = mine / times["direct"], mine / times["aml"]
    said = (
        f"{what}: auto takes {mine / times[best]:.2f} of the best fixed routing ({best}; "
        f"target {TIME}), {shares[0]:.2f} of direct, {shares[1]:.2f} of aml"
    )
    if what not in ("bfs", TOP_DOWN):
        return said
    reached = ["reached" if a <= b else "missed" for a, b in zip(shares, BFS, strict=True)]
    return f"{said} (targets {BFS[0]}: {reached[0]}, {BFS[1]}: {reached[1]})"


def skipped(name: str, title: str, reason: str) -> Table:
    """Return a table that says why it has no rows."""
    return Table(name, title, [], [f"skipped: {reason}"])
