"""Gangs on real clusters: they join, exchange, keep what they should, let others work."""

from __future__ import annotations

import asyncio
import gc
import os
import sys
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import dask
import numpy as np
import pytest
from dask.base import annotate
from distributed import Client, LocalCluster, get_client

from dgraph.engine.failure import Watch
from dgraph.engine.launch import launch, take_partitions
from dgraph.engine.members import find_members, lay_out
from dgraph.engine.plugin import Plugin, find_plugin
from dgraph.engine.spec import Member
from dgraph.errors import OptionError
from dgraph.events import History, RunEnded, RunStarted, SuperstepDone, listening
from dgraph.exchange.transport import poll
from tests import gangs
from tests.gangs import FORMS, cluster, members_of, run, soon, spec_of

Gang = tuple[Client, tuple[Member, ...]]


@pytest.fixture(scope="module", params=FORMS)
def gang(request: pytest.FixtureRequest) -> Iterator[Gang]:
    with cluster(**FORMS[request.param]) as client:
        yield client, members_of(client)


@pytest.fixture(scope="module")
def embedded() -> Iterator[Gang]:
    with cluster(**FORMS["embedded"]) as client:
        yield client, members_of(client)


def held(client: Client, what: str) -> int:
    """Return how many things the plugins of a cluster hold."""

    def count(dask_worker: Any) -> int:
        return len(getattr(dask_worker.plugins["dgraph"], what))

    return sum(client.run(count).values())


def address_of(client: Client) -> str:
    scheduler: Any = client.scheduler
    return str(scheduler.address)


def nothing_left(client: Client) -> bool:
    return soon(lambda: not any(held(client, what) for what in ("outputs", "seats", "chunks")))


def test_slots_find_each_other(gang: Gang) -> None:
    client, members = gang
    slots = sum(len(member.slots) for member in members)
    result = run(client, members, gangs.total)
    assert result.values == (slots * (slots - 1) // 2,) * slots
    assert result.record.supersteps == 1


@pytest.mark.parametrize("transport", ["auto", "tcp", "comm"])
def test_everything_arrives(gang: Gang, transport: str) -> None:
    client, members = gang
    if transport == "tcp" and not all(member.tcp for member in members):
        pytest.skip("needs workers at tcp addresses")
    slots = sum(len(member.slots) for member in members)
    expected = sum((slot + step) * 5000 for slot in range(slots) for step in range(20))
    with dask.config.set({"dgraph.transport": transport}):
        result = run(client, members, gangs.chat, 20, 5000)
    assert result.values == (expected,) * slots
    pairs = slots * (slots - 1)
    assert sum(result.record.frames.values()) == 20 * pairs
    assert sum(result.record.messages.values()) == 20 * pairs * 5000
    assert sum(result.record.bytes.values()) == 20 * pairs * (40_000 + 40 + 2 * 16)
    assert nothing_left(client)


def test_what_comes_over_comms_makes_nobody_ask_whether_others_live(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(poll, "TICK", 60.0)  # on a busy machine one might pass
    asked: list[int] = []
    monkeypatch.setattr(Watch, "_ask", lambda _, member: asked.append(member))
    form = {"processes": False, "n_workers": 3, "threads_per_worker": 1}
    with cluster(**form) as client, dask.config.set({"dgraph.transport": "comm"}):
        run(client, members_of(client), gangs.chat, 20, 5000)
    assert not asked


def test_record(gang: Gang) -> None:
    client, members = gang
    result = run(client, members, gangs.frame, keeps="frame")
    record = result.record
    assert record.algorithm == "test"
    assert not record.converged
    assert record.supersteps == 2
    assert record.steps.stage.tolist() == ["", "output"]
    times = record.steps[["computation", "exchange", "waiting"]].sum(axis=1)
    np.testing.assert_allclose(times, record.steps.seconds, atol=2e-3)
    assert min(record.seconds, record.launch_seconds, record.output_seconds) > 0


def test_outputs_become_partitions(gang: Gang) -> None:
    client, members = gang
    spec = spec_of(members, gangs.frame, keeps="frame")
    result = client.sync(launch, client, spec)
    partitions = take_partitions(client, spec, result)
    del result
    frames = client.gather(partitions)
    assert [frame.vertex.tolist() for frame in frames] == [[slot] for slot in range(spec.slots)]
    where = client.who_has(partitions)
    for member in members:
        for slot in member.slots:
            assert list(where[partitions[slot].key]) == [member.address]
    assert nothing_left(client)


def test_partition_is_fetched_from_its_holder(gang: Gang) -> None:
    client, members = gang
    if len(members) < 2:
        pytest.skip("needs two workers")
    from dgraph.engine.launch import take

    spec = spec_of(members, gangs.frame, keeps="frame")
    result = client.sync(launch, client, spec)
    there, here = members[0], members[1]
    fetched = client.submit(take, there.address, spec.run, 0, workers=[here.address])
    assert fetched.result().vertex.tolist() == [0]
    assert len(result.futures) == len(members)


def test_shards_live_as_long_as_their_futures(gang: Gang) -> None:
    client, members = gang
    built = run(client, members, gangs.shard, 10, keeps="shard", graph="kept")
    slots = tuple(range(sum(len(member.slots) for member in members)))
    assert run(client, members, gangs.kept, holds="shard", graph="kept").values == slots
    assert held(client, "shards") == len(slots)
    del built
    assert soon(lambda: held(client, "shards") == 0)


def keep_chunk(partition: int) -> int:
    find_plugin().keep_chunk("chunked", partition, 10 * partition)
    return partition


def test_chunks_are_dealt_and_dropped(gang: Gang) -> None:
    client, members = gang
    made = client.map(keep_chunk, range(7), pure=False)
    client.gather(made)
    result = run(client, members, gangs.chunks, graph="chunked")
    assert sorted(chunk for dealt in result.values for chunk in dealt) == [
        10 * partition for partition in range(7)
    ]
    assert held(client, "chunks") == 0
    made = client.map(keep_chunk, range(3), pure=False)
    client.gather(made)
    assert held(client, "chunks") == 3
    del made
    assert soon(lambda: held(client, "chunks") == 0)


def test_many_runs_at_once_and_other_work(gang: Gang) -> None:
    client, members = gang
    with ThreadPoolExecutor(6) as pool:
        slow = pool.submit(run, client, members, gangs.slow, 1.5)
        runs = [pool.submit(run, client, members, gangs.chat, 5, 100) for _ in range(5)]
        other = client.map(time.sleep, [0.01] * 8, pure=False)
        values = {made.result(timeout=60).values for made in runs}
        client.gather(other)
        assert not slow.done()
        slow.result(timeout=60)
    assert len(values) == 1


def test_two_clients(gang: Gang) -> None:
    client, members = gang
    with (
        Client(address_of(client), set_as_default=False) as second,
        ThreadPoolExecutor(2) as pool,
    ):
        assert members_of(second) == members
        runs = [pool.submit(run, one, members, gangs.total) for one in (client, second)]
        assert len({made.result(timeout=60).values for made in runs}) == 1


def run_inside() -> tuple[int, ...]:
    client = get_client()
    return run(client, members_of(client), gangs.total).values


def test_inside_a_task(gang: Gang) -> None:
    client, members = gang
    slots = sum(len(member.slots) for member in members)
    inside = [client.submit(run_inside, pure=False) for _ in range(3)]
    assert set(client.gather(inside)) == {(slots * (slots - 1) // 2,) * slots}


def test_virtual_slots(gang: Gang) -> None:
    client, _ = gang
    members = members_of(client, virtual_slots=11)
    result = run(client, members, gangs.chat, 3, 10)
    assert len(set(result.values)) == 1
    assert sum(result.record.frames.values()) == 3 * 11 * 10


def test_fewer_slots(gang: Gang) -> None:
    client, _ = gang
    (member,) = members_of(client, slots=1)
    assert member.slots == (0,)
    assert run(client, (member,), gangs.total).values == (0,)
    with pytest.raises(OptionError, match="slots must be 1 to"):
        members_of(client, slots=100)


def test_async_client() -> None:
    async def main() -> None:
        async with (
            LocalCluster(
                processes=False,
                dashboard_address="127.0.0.1:0",
                asynchronous=True,
                **TWO_THREADS,
            ) as started,
            Client(started, asynchronous=True, set_as_default=False) as client,
        ):
            members = await find_members(client)
            result = await launch(client, spec_of(members, gangs.total))
            assert result.values == (1, 1)
            spec = spec_of(members, gangs.frame, keeps="frame")
            result = await launch(client, spec)
            frames = await client.gather(take_partitions(client, spec, result))
            assert [len(frame) for frame in frames] == [1, 1]

    asyncio.run(main())


TWO_THREADS = {"n_workers": 1, "threads_per_worker": 2, "memory_limit": 0}


def test_worker_that_joins_later_gets_the_plugin() -> None:
    with (
        LocalCluster(
            processes=False, dashboard_address="127.0.0.1:0", **TWO_THREADS
        ) as started,
        Client(started, set_as_default=False) as client,
    ):
        assert len(members_of(client)) == 1
        started.scale(2)
        client.wait_for_workers(2)
        members = members_of(client)
        assert len(members) == 2
        assert run(client, members, gangs.total).values == (6,) * 4


def test_end_of_the_client_frees_the_shards(embedded: Gang) -> None:
    client, members = embedded
    with Client(address_of(client), set_as_default=False) as second:
        built = run(second, members, gangs.shard, 10, keeps="shard", graph="second")
        assert held(client, "shards") == 2
        assert built.futures
    assert soon(lambda: held(client, "shards") == 0)


def test_the_profiler_of_a_worker_collects_no_garbage(embedded: Gang) -> None:
    client, _ = embedded

    def seen(dask_worker: Any) -> list[bool]:
        found: list[bool] = []
        timer = dask_worker.periodic_callbacks["profile"]
        code = timer.callback.__closure__
        cell = next(some for some in code if callable(some.cell_contents))
        profile, cell.cell_contents = cell.cell_contents, lambda: found.append(gc.isenabled())
        try:
            timer.callback()
        finally:
            cell.cell_contents = profile
        return [*found, gc.isenabled()]

    assert list(client.run(seen).values()) == [[False, True]]


@pytest.mark.skipif(sys.version_info >= (3, 12), reason="collects nothing while C runs")
def test_nothing_else_asks_for_the_frames_of_threads(embedded: Gang) -> None:
    def names() -> list[str]:
        return [thread.name for thread in threading.enumerate()]

    client, _ = embedded
    (found,) = client.run(names).values()
    assert "Profile" not in found


def test_progress_is_told(embedded: Gang) -> None:
    client, members = embedded
    with listening(History()) as history:
        run(client, members, gangs.steady, 1.3)
    started, *steps, ended = history.events
    assert isinstance(started, RunStarted)
    assert isinstance(ended, RunEnded)
    assert [type(step) for step in steps] == [SuperstepDone] * len(steps)
    assert {step.stage for step in steps if isinstance(step, SuperstepDone)} == {"steady"}


def test_annotations_of_the_user_are_not_for_runs(embedded: Gang) -> None:
    client, members = embedded
    with annotate(resources={"unobtainable": 1}):
        spec = spec_of(members, gangs.frame, keeps="frame")
        result = client.sync(launch, client, spec)
        frames = client.gather(client.sync(as_coroutine, take_partitions, client, spec, result))
    assert len(frames) == 2


async def as_coroutine(function: Any, *arguments: Any) -> Any:
    return function(*arguments)


def test_wrong_transport_is_an_option_error(embedded: Gang) -> None:
    client, (member,) = embedded
    apart = tuple(
        Member(address, address, address, 1, (slot,))
        for slot, address in enumerate((member.address, "tcp://10.0.0.1:1"))
    )
    with (
        dask.config.set({"dgraph.transport": "unix"}),
        pytest.raises(OptionError, match=r"dgraph\.transport"),
    ):
        run(client, apart, gangs.total)


def test_plugin_leaves_no_socket_behind() -> None:
    with cluster(**FORMS["embedded"]) as client:
        members_of(client)

        def door(dask_worker: Any) -> str:
            plugin = dask_worker.plugins["dgraph"]
            assert isinstance(plugin, Plugin)
            return str(plugin.identity()["door"])

        (path,) = client.run(door).values()
        assert os.path.exists(path)
    assert not os.path.exists(path)


def identity(host: str, process: str, threads: int) -> dict[str, Any]:
    return {"host": host, "process": process, "threads": threads}


def test_layout_keeps_neighbours_together() -> None:
    identities = {
        "tcp://h1:10": identity("h1", "a", 1),
        "tcp://h2:9": identity("h2", "b", 2),
        "tcp://h1:9": identity("h1", "c", 1),
        "tcp://h2:11": identity("h2", "b", 2),
        "tcp://h2:10": identity("h2", "d", 1),
    }
    members = lay_out(identities)
    assert [member.process for member in members] == ["c", "a", "b", "b", "d"]
    assert [slot for member in members for slot in member.slots] == list(range(7))
    assert len(lay_out(identities, slots=4)) == 2
    assert [len(member.slots) for member in lay_out(identities, virtual_slots=70)] == [
        10, 10, 20, 20, 10,
    ]  # fmt: skip
