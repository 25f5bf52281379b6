"""What carries frames between processes, and what buffers gain: programs that only send.

Run in slot 0 of the emulated network (``python -m benchmarks.hierarchy.carriers``), and on two
processes of this machine. A carrier is timed by supersteps in which every slot sends as many
bytes to each other. Buffers are timed by a kernel that writes what it sends: with the frames
handed over when all are written, or while they are.
"""

from __future__ import annotations

import json
import statistics
import sys
from collections.abc import Callable, Mapping, Sequence
from time import perf_counter
from typing import Any

import dask
import numba as nb
import numpy as np
from distributed import Client, LocalCluster
from numpy.typing import NDArray

import dgraph as dg
from benchmarks.hierarchy.driver import SCHEDULER
from dgraph.engine.context import Context
from dgraph.engine.launch import RunResult, launch, make_spec
from dgraph.engine.members import find_members, topology_of
from dgraph.exchange.frame import Frame
from dgraph.exchange.request import Early, Request
from dgraph.topology import Topology

__all__ = ["BUFFERS", "engine", "main", "on_this_host"]

#: Bytes to each other slot.
SIZES = (8, 1 << 14, 1 << 18)

#: Supersteps of a run, by size.
STEPS = {8: 30, 1 << 14: 10, 1 << 18: 3}

#: The same on one host, where they take a tenth of a millisecond; and so many times as many
#: turns, for there two runs of the same carrier differ by up to three times, however long they
#: are: it depends on which cores they begin on. The median of 90 ratios is good to 7 %.
ON_HOST, OFTEN = {8: 60, 1 << 14: 60, 1 << 18: 30}, 30

#: Bytes of a frame that is written by a kernel, and rounds of the kernel for each number: both
#: take about as long as the other on 20 MB/s.
PRODUCED, ROUNDS = 1 << 21, 60

#: Small buffers, so that they decide and not the kernel's.
_SMALL = {"size": "64 KiB", "reserved": 2}

#: Ways to hand over what is written.
BUFFERS: Mapping[str, tuple[bool, dict[str, Any]]] = {
    "all written, then sent": (False, {"mode": "dynamic", **_SMALL}),
    "static": (True, {"mode": "static", **_SMALL}),
    "dynamic": (True, {"mode": "dynamic", **_SMALL}),
}


async def talk(ctx: Context, held: Any, steps: int, size: int) -> float:
    """Send so many bytes to every other slot; return the seconds of a superstep."""
    column = np.zeros(size, np.uint8)
    told = [None if slot == ctx.slot else (column,) for slot in range(ctx.slots)]
    await ctx.alltoall(told)
    began = perf_counter()
    for _ in range(steps):
        await ctx.alltoall(told)
    return (perf_counter() - began) / steps


@nb.njit(nogil=True, cache=True)
def _write(column, begin, end, rounds):  # type: ignore[no-untyped-def]
    for i in range(begin, end):
        x = 1.0 + i
        for _ in range(rounds):
            x = np.sqrt(x + 1.0)
        column[i] = x


def _writer(column: NDArray[np.float64], rounds: int) -> Callable[[int], None]:
    written = 0

    def write(size: int) -> None:
        nonlocal written
        end = -(-size // column.itemsize)
        _write(column, written, end, rounds)
        written = max(written, end)

    return write


async def produce(ctx: Context, held: Any, steps: int, early: bool, rounds: int) -> float:
    """Write a frame for every other slot and send it; return the seconds of a superstep."""
    await ctx.allreduce([0])
    began = perf_counter()
    for _ in range(steps):
        frames = []
        for slot in range(ctx.slots):
            if slot != ctx.slot:
                column = np.empty(PRODUCED // 8)
                frames.append(Frame(ctx.slot, slot, (column,), column.size))
                write = _writer(column, rounds)
                if early:
                    await Early(frames[-1], write)
                else:
                    write(column.nbytes)
        await Request(frames)
    return (perf_counter() - began) / steps


async def beat(ctx: Context, held: Any, steps: int) -> float:
    """Send nothing; return the seconds of a superstep."""
    await ctx.allreduce([0])
    began = perf_counter()
    for _ in range(steps):
        await ctx.allreduce([0])
    return (perf_counter() - began) / steps


def _run(client: Client, program: Any, *arguments: Any) -> RunResult:
    members = client.sync(find_members, client)
    spec = make_spec(
        "carriers",
        program,
        *arguments,
        graph="none",
        holds="chunks",
        members=members,
        topology=topology_of(members),
    )
    result: RunResult = client.sync(launch, client, spec)
    return result


def carry(
    client: Client, where: str, carriers: list[str], turns: int, steps: Mapping[int, int]
) -> list[dict[str, Any]]:
    """Return a row for every carrier and size; carriers take turns, each time in another order.

    Who came after Dask's comms was slower, so that must not be the same one in all turns.
    Carriers are compared with others of the same turn, for what slows them down comes and goes.
    """
    times: dict[tuple[int, str], list[float]] = {}
    rng = np.random.default_rng(1)
    for turn in range(turns + 1):
        for size in SIZES:
            for carrier in rng.permutation(carriers).tolist():
                with dask.config.set({"dgraph.transport": carrier, "dgraph.routing": "direct"}):
                    result = _run(client, talk, steps[size], size)
                if turn:
                    times.setdefault((size, carrier), []).append(max(result.values))
        print(f"carriers, {where}: turn {turn}", flush=True)
    rows = []
    for size in SIZES:
        ratios = against_best({carrier: times[size, carrier] for carrier in carriers})
        rows += [
            {
                "where": where,
                "bytes": size,
                "transport": carrier,
                "ms": 1e3 * statistics.median(times[size, carrier]),
                "/best": ratios[carrier],
            }
            for carrier in carriers
        ]
    return rows


def against_best(times: Mapping[str, Sequence[float]]) -> dict[str, float]:
    """Return how many times as long as the best one each carrier takes: the median of turns.

    The best is that of the forced ones which takes the least part of what all take in a turn,
    by the median too.

    Examples
    --------
    >>> against_best({"auto": [2.0, 8.0, 9.0], "unix": [1.0, 4.0, 9.0], "tcp": [3.0, 9.0, 9.0]})
    {'auto': 2.0, 'unix': 1.0, 'tcp': 2.25}
    """
    each = np.array(list(times.values()))
    parts = dict(zip(times, np.median(each / each.sum(axis=0), axis=1), strict=True))
    best = min(parts.keys() - {"auto"}, key=lambda carrier: (parts[carrier], carrier))
    ratios = np.median(each / np.array(times[best]), axis=1)
    return dict(zip(times, ratios.tolist(), strict=True))


def overlap(client: Client, turns: int) -> list[dict[str, Any]]:
    """Return a row for each way to hand over what a kernel writes."""
    found: dict[str, list[tuple[float, RunResult]]] = {name: [] for name in BUFFERS}
    alone: list[float] = []
    for turn in range(turns + 1):
        for name, (early, buffers) in BUFFERS.items():
            with dask.config.set({"dgraph.buffers": buffers, "dgraph.routing": "direct"}):
                result = _run(client, produce, 2, early, ROUNDS)
                found[name] += [(max(result.values), result)] * (turn > 0)
        with dask.config.set({"dgraph.routing": "direct"}):
            alone += [max(_run(client, produce, 2, False, 1).values)] * (turn > 0)
        print(f"overlap: turn {turn}", flush=True)
    rows = [{"buffers": "nothing to compute", "ms": 1e3 * statistics.median(alone)}]
    for name, some in found.items():
        seconds, result = sorted(some, key=lambda each: each[0])[len(some) // 2]
        counted = result.record.buffers
        rows.append(
            {
                "buffers": name,
                "ms": 1e3 * seconds,
                **{key: counted[key] for key in ("switches", "expansions", "stalls")},
                "stalled_s": counted["stalled_seconds"],
                "peak_MB": counted["peak_bytes"] / 1e6,
            }
        )
    return rows


def on_this_host(turns: int) -> list[dict[str, Any]]:
    """Time the carriers between two processes of this machine."""
    with (
        LocalCluster(
            n_workers=2, threads_per_worker=1, dashboard_address="127.0.0.1:0", memory_limit=0
        ) as cluster,
        Client(cluster, set_as_default=False) as client,
    ):
        carriers = ["auto", "shm", "unix", "tcp", "comm"]
        return carry(client, "one host", carriers, OFTEN * turns, ON_HOST)


def engine(tree: Topology, routings: Sequence[str], turns: int) -> dict[str, float]:
    """Return what a superstep in which nothing is sent takes on this host, by routing.

    Every slot of the tree is a process, as on the emulated network, without that network: what
    the processes take on these cores to make frames and to wake each other. The slots hold a
    graph, for what a build sends goes straight over any routing.
    """
    times: dict[str, list[float]] = {routing: [] for routing in routings}
    path = np.stack([np.arange(tree.slots), np.arange(tree.slots) + 1], axis=1)
    with (
        LocalCluster(
            n_workers=tree.slots,
            threads_per_worker=1,
            dashboard_address="127.0.0.1:0",
            memory_limit=0,
        ) as cluster,
        Client(cluster, set_as_default=False) as client,
        dg.from_edges(path, topology=tree, client=client) as g,
    ):
        for turn in range(turns + 1):
            for routing, some in times.items():
                with dask.config.set({"dgraph.transport": "tcp", "dgraph.routing": routing}):
                    taken = client.sync(g._home.ask, "beat", beat, STEPS[8])
                some += [max(taken)] * (turn > 0)
    return {routing: statistics.median(some) for routing, some in times.items()}


def main() -> None:
    """Measure what the first argument names, so many turns, on so many workers; print it."""
    what, turns, slots = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
    with Client(SCHEDULER, set_as_default=False) as client:
        client.wait_for_workers(slots, timeout=120)
        if what == "overlap":
            rows = overlap(client, turns)
        else:
            rows = carry(client, "network", ["auto", "tcp", "comm"], turns, STEPS)
        print(json.dumps(rows))


if __name__ == "__main__":
    main()
