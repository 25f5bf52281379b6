"""Slot programs and helpers for the tests that run gangs on Dask clusters."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from types import SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd
from distributed import Client, LocalCluster

from dgraph.clients import call
from dgraph.engine.commons import claim_commons
from dgraph.engine.context import Context
from dgraph.engine.launch import RunResult, launch, make_spec
from dgraph.engine.members import find_members, topology_of
from dgraph.engine.plugin import find_plugin
from dgraph.engine.spec import Member, RunSpec
from dgraph.errors import RunAbortedError
from dgraph.exchange.hub import Hub
from dgraph.exchange.meeting import SIZE, meet, watched_by
from dgraph.exchange.transport.shm import SharedChannel
from dgraph.kernels import kernel

FORMS: dict[str, dict[str, Any]] = {
    "embedded": {"n_workers": 1, "threads_per_worker": 2, "processes": False},
    "two workers in one process": {
        "n_workers": 2,
        "threads_per_worker": 1,
        "processes": False,
    },
    "two processes of two threads": {
        "n_workers": 2,
        "threads_per_worker": 2,
        "processes": True,
    },
}


@contextmanager
def cluster(**form: Any) -> Iterator[Client]:
    """Start a cluster, yield its client, and close both."""
    with (
        LocalCluster(dashboard_address="127.0.0.1:0", memory_limit=0, **form) as started,
        Client(started, set_as_default=False) as client,
    ):
        yield client


def members_of(client: Client, **options: Any) -> tuple[Member, ...]:
    """Install the plugin and choose the workers."""
    members: tuple[Member, ...] = call(client, find_members, client, **options)
    return members


def spec_of(
    members: tuple[Member, ...], program: Callable[..., Any], *arguments: Any, **options: Any
) -> RunSpec:
    """Describe a run of a program that needs no graph."""
    options = {"graph": "g", "holds": "chunks", "topology": topology_of(members)} | options
    made: Any = make_spec
    spec: RunSpec = made("test", program, *arguments, members=members, **options)
    return spec


def run(
    client: Client,
    members: tuple[Member, ...],
    program: Callable[..., Any],
    *arguments: Any,
    **options: Any,
) -> RunResult:
    """Run a program on all slots."""
    spec = spec_of(members, program, *arguments, **options)
    result: RunResult = call(client, launch, client, spec)
    return result


def soon(condition: Callable[[], bool], seconds: float = 10) -> bool:
    """Return whether a condition comes true in time."""
    end = time.monotonic() + seconds
    while not condition() and time.monotonic() < end:
        time.sleep(0.01)
    return condition()


# Programs


async def total(ctx: Context, held: Any) -> int:
    """Return the sum of all slots."""
    return int((await ctx.allreduce([ctx.slot]))[0])


async def chat(ctx: Context, held: Any, steps: int, length: int) -> float:
    """Send arrays round, check what comes, and return their sum."""
    found = 0.0
    for step in range(steps):
        values = np.full(length, ctx.slot + step, np.float64)
        came = await ctx.alltoall([(values, values[:0])] * ctx.slots, vote=[step])
        assert ctx.vote[0] == step * ctx.slots
        for source, columns in enumerate(came):
            assert columns is not None
            np.testing.assert_array_equal(columns[0], source + step)
            assert columns[0].flags.aligned
            found += columns[0].sum()
    return found


async def frame(ctx: Context, held: Any) -> tuple[pd.DataFrame, int]:
    """Return a frame, and a value for the client."""
    await ctx.allreduce([1])
    ctx.notes["converged"] = False
    ctx.stage = "output"
    await ctx.allreduce([1])
    return pd.DataFrame({"vertex": [ctx.slot]}), ctx.slot


async def shard(ctx: Context, held: Any, size: int) -> np.ndarray[Any, Any]:
    """Return something large that is kept."""
    await ctx.allreduce([1])
    return np.full(size, ctx.slot)


async def kept(ctx: Context, held: Any) -> int:
    """Return what is kept."""
    return int(held[0])


async def chunks(ctx: Context, held: Any) -> list[Any]:
    """Return the chunks of this slot."""
    return list(held)


async def fail(ctx: Context, held: Any, slot: int, error: BaseException) -> None:
    """Raise on one slot in superstep 3."""
    for step in range(6):
        if step == 3 and ctx.slot == slot:
            raise error
        await ctx.allreduce([1])


async def lose(ctx: Context, held: Any, slot: int) -> None:
    """From superstep 3 on send nothing from one slot's worker, but that the run has failed."""
    for step in range(6):
        if step == 3 and ctx.slot == slot:
            (seat,) = find_plugin().seats.values()
            assert seat.links is not None
            assert seat.hub is not None
            for channel in seat.links._channels:
                channel.send = partial(_send_the_end, seat.hub, channel.send)  # type: ignore[method-assign]
        await ctx.allreduce([1])


def _send_the_end(hub: Hub, send: Callable[[Any], bool], buffers: Any) -> bool:
    return hub._error is None or send(buffers)


async def endless(ctx: Context, held: Any, beacon: str) -> None:
    """Go on for ever; touch a file when it goes well."""
    step = 0
    while True:
        await ctx.allreduce([1])
        step += 1
        if step == 20 and ctx.slot == 0:
            open(beacon, "w").close()
        time.sleep(0.001)


async def die(ctx: Context, held: Any, slot: int) -> None:
    """Kill the worker of one slot in superstep 3."""
    for step in range(6):
        if step == 3 and ctx.slot == slot:
            os._exit(1)
        await ctx.allreduce([1])


async def slow(ctx: Context, held: Any, seconds: float) -> int:
    """Let all slots wait for slot 0."""
    if ctx.slot == 0:
        time.sleep(seconds)
    await ctx.allreduce([1])
    return os.getpid()


async def steady(ctx: Context, held: Any, seconds: float) -> None:
    """Do supersteps for so long."""
    ctx.stage = "steady"
    end = time.monotonic() + seconds
    while not (await ctx.allreduce([ctx.slot == 0 and time.monotonic() > end]))[0]:
        time.sleep(0.001)


class Odd(Exception):
    """Cannot be pickled."""

    def __init__(self, text: str) -> None:
        super().__init__(text)
        self.lock = threading.Lock()


async def fail_oddly(ctx: Context, held: Any) -> None:
    """Raise what cannot be pickled, in superstep 3."""
    await fail(ctx, held, 0, Odd("no luck"))


async def comms(ctx: Context, chunks: Any) -> int:
    """Return how many other workers a worker reaches over Dask's comms, on every slot."""
    (seat,) = find_plugin().seats.values()
    return int((await ctx.allreduce([len(seat.inboxes)], op="max"))[0])


async def shares(ctx: Context, chunks: Any) -> int:
    """Return with how many other workers a worker shares memory, on every slot."""
    (seat,) = find_plugin().seats.values()
    channels = seat.links._channels if seat.links is not None else []
    mine = sum(isinstance(channel, SharedChannel) for channel in channels)
    return int((await ctx.allreduce([mine], op="max"))[0])


async def bare(ctx: Context, held: Any) -> SimpleNamespace:
    """Return what stands for a shard, with room for what is kept with one."""
    return SimpleNamespace(derived={})


async def abreast(ctx: Context, held: Any, beacon: str, turns: int, failing: int = -1) -> int:
    """Meet in memory of several processes so often, -1: for ever; return how often.

    A file is touched when it goes well. A slot that fails does so instead of meeting.
    """
    with claim_commons(ctx, held) as claim:
        await ctx.allreduce(claim.vote)
        room = [(SIZE if ctx.slot == 0 else 0, np.int64)]
        common = await claim.take(ctx.vote, lambda: (room, [np.array([ctx.slot])]))
        if common is None:
            return 0
        assert [int(told[0]) for _, told in common] == list(range(ctx.slots))
        if ctx.slot == failing:
            time.sleep(0.5)
            raise LookupError("no luck")
        assert ctx.near is not None
        watcher = watched_by(ctx.near.hub)
        assert _meet(common[0][0], ctx.slots, 10, watcher) == 10
        open(f"{beacon}-{ctx.slot}", "w").close()
        met = int(_meet(common[0][0], ctx.slots, turns, watcher))
        if met != turns:
            raise RunAbortedError("another slot has failed")
        return met


async def late(ctx: Context, held: Any, seconds: float) -> int:
    """Let slot 1 meet slot 0 so much later."""
    with claim_commons(ctx, held) as claim:
        await ctx.allreduce(claim.vote)
        room = [(SIZE if ctx.slot == 0 else 0, np.int64)]
        common = await claim.take(ctx.vote, lambda: (room, []))
        assert common is not None
        assert ctx.near is not None
        if ctx.slot == 1:
            time.sleep(seconds)
        return int(_meet(common[0][0], ctx.slots, 1, watched_by(ctx.near.hub)))


@kernel
def _meet(words, parties, turns, watcher):  # type: ignore[no-untyped-def]
    met = 0
    while met != turns and meet(words, parties, watcher):
        met += 1
    return met
