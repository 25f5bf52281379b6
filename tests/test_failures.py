"""Whatever goes wrong: every slot ends soon, with one right error, and the cluster works on."""

from __future__ import annotations

import asyncio
import os
import signal
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import dask
import pytest
from distributed import Client, Future, LocalCluster

from dgraph.engine.failure import judge, pack_error, unpack_error, wait_for_turn
from dgraph.engine.launch import launch, take, take_partitions
from dgraph.engine.spec import Member, RunSpec
from dgraph.errors import (
    GraphLostError,
    JoinTimeoutError,
    RunAbortedError,
    RunError,
    VertexNotFoundError,
)
from tests import gangs
from tests.gangs import FORMS, cluster, members_of, run, soon, spec_of

Gang = tuple[Client, tuple[Member, ...]]


@pytest.fixture(scope="module")
def clusters() -> Iterator[dict[str, Client]]:
    with (
        cluster(**FORMS["embedded"]) as embedded,
        cluster(n_workers=3, threads_per_worker=1, processes=True) as processes,
    ):
        yield {"embedded": embedded, "processes": processes}


@pytest.fixture(params=["embedded", "processes"])
def client(clusters: dict[str, Client], request: pytest.FixtureRequest) -> Client:
    return clusters[request.param]


@pytest.fixture
def embedded(clusters: dict[str, Client]) -> Client:
    return clusters["embedded"]


@pytest.fixture
def processes(clusters: dict[str, Client]) -> Client:
    return clusters["processes"]


def works(client: Client, workers: int = 3) -> bool:
    """Return whether a new run on the whole cluster ends well."""
    client.wait_for_workers(workers, timeout=60)
    members = members_of(client)
    slots = sum(len(member.slots) for member in members)
    return run(client, members, gangs.total).values == (slots * (slots - 1) // 2,) * slots


def idle(client: Client) -> bool:
    """Return whether no worker takes part in a run any more."""

    def seats(dask_worker: Any) -> int:
        return len(dask_worker.plugins["dgraph"].seats)

    return soon(lambda: not any(client.run(seats).values()))


def process_of(client: Client, member: Member) -> int:
    pids: dict[str, int] = client.run(os.getpid, workers=[member.address])
    return pids[member.address]


@pytest.mark.parametrize("slot", [0, 1])
def test_exception_on_one_slot(client: Client, slot: int) -> None:
    members = members_of(client)
    with pytest.raises(
        RunError, match=f"test failed: superstep 3, slot {slot}: .*no luck"
    ) as info:
        run(client, members, gangs.fail, slot, LookupError("no luck"))
    assert not isinstance(info.value, RunAbortedError)
    cause = info.value.__cause__
    assert isinstance(cause, LookupError)
    names = []
    trace = cause.__traceback__
    while trace is not None:
        names.append(trace.tb_frame.f_code.co_name)
        trace = trace.tb_next
    assert "fail" in names  # the remote traceback
    assert idle(client)
    assert run(client, members, gangs.total).values


def test_exception_over_comms(processes: Client) -> None:
    with (
        dask.config.set({"dgraph.transport": "comm"}),
        pytest.raises(RunError, match="superstep 3, slot 1: LookupError: no luck"),
    ):
        run(processes, members_of(processes), gangs.fail, 1, LookupError("no luck"))
    assert idle(processes)
    assert works(processes)


def test_error_on_purpose_is_raised_as_it_is(client: Client) -> None:
    with pytest.raises(VertexNotFoundError, match="no vertex 7"):
        run(client, members_of(client), gangs.fail, 1, VertexNotFoundError("no vertex 7"))


def test_error_that_cannot_be_pickled(client: Client) -> None:
    with pytest.raises(RunError, match="superstep 3, slot 0: Odd: no luck"):
        run(client, members_of(client), gangs.fail_oddly)


def test_lost_shards(client: Client) -> None:
    with pytest.raises(GraphLostError, match="call from_edges again"):
        run(client, members_of(client), gangs.kept, holds="shard", graph="never built")
    assert idle(client)


def test_shards_lost_on_one_worker(processes: Client) -> None:
    members = members_of(processes, slots=2)
    half = (replace(members[1], slots=(0,)),)
    built = run(processes, half, gangs.shard, 5, keeps="shard", graph="part")
    assert len(built.values) == 1
    began = time.monotonic()
    with pytest.raises(GraphLostError, match=members[0].address):
        run(processes, members, gangs.kept, holds="shard", graph="part")
    assert time.monotonic() - began < 10  # the others do not wait until the join times out
    assert idle(processes)


def ending(call: Callable[[], Any], beacon: Path, blow: Callable[[], Any]) -> BaseException:
    """Start a run, strike it when it goes well, and return its error."""
    with ThreadPoolExecutor(1) as pool:
        made = pool.submit(call)
        assert soon(beacon.exists, 30), made.exception() if made.done() else made
        began = time.monotonic()
        blow()
        error = made.exception(timeout=40)
    assert time.monotonic() - began < 20
    assert error is not None
    return error


def test_killed_workers(tmp_path: Path) -> None:
    """In a cluster of its own: killed workers are started again."""
    with cluster(n_workers=2, threads_per_worker=1, processes=True) as client:
        for transport in ("auto", "comm"):
            members = members_of(client)
            pid = process_of(client, members[1])
            beacon = tmp_path / transport
            with dask.config.set({"dgraph.transport": transport}):
                spec = spec_of(members, gangs.endless, str(beacon))
            error = ending(
                partial(client.sync, launch, client, spec),
                beacon,
                partial(os.kill, pid, signal.SIGKILL),
            )
            assert isinstance(error, GraphLostError)
            assert members[1].address in str(error)
            assert "call from_edges again" in str(error)
            assert works(client, 2)
        lose_result(client)
        (lonely,) = members_of(client, slots=1)
        error = ending(
            lambda: run(client, (lonely,), gangs.endless, str(tmp_path / "lonely")),
            tmp_path / "lonely",
            partial(os.kill, process_of(client, lonely), signal.SIGKILL),
        )
        assert isinstance(error, GraphLostError)


def lose_result(client: Client) -> None:
    """Kill a worker that holds a result: an error, not a hang; others are not harmed."""
    members = members_of(client)
    spec = spec_of(members, gangs.frame, keeps="frame")
    partitions = take_partitions(client, spec, client.sync(launch, client, spec))
    client.gather(partitions)
    os.kill(process_of(client, members[0]), signal.SIGKILL)
    assert soon(lambda: partitions[0].status == "error", 30)
    with pytest.raises(GraphLostError, match="run the algorithm again"):
        partitions[0].result()
    assert partitions[1].result().vertex.tolist() == [1]
    assert works(client, 2)


@pytest.mark.parametrize("transport", ["auto", "comm"])
def test_paused_worker(processes: Client, tmp_path: Path, transport: str) -> None:
    processes.wait_for_workers(3, timeout=60)
    members = members_of(processes)
    pid = process_of(processes, members[2])
    with dask.config.set({"dgraph.timeouts.silence": "1s", "dgraph.transport": transport}):
        spec = spec_of(members, gangs.endless, str(tmp_path / "beacon"))
    try:
        error = ending(
            lambda: processes.sync(launch, processes, spec),
            tmp_path / "beacon",
            lambda: os.kill(pid, signal.SIGSTOP),
        )
    finally:
        os.kill(pid, signal.SIGCONT)
    assert isinstance(error, RunAbortedError)
    assert f"{members[2].address} has not answered for 1 s" in str(error)
    assert idle(processes)
    assert works(processes)


@pytest.mark.parametrize("transport", ["auto", "comm", "tcp"])
def test_what_is_lost_on_the_way_ends_the_run(processes: Client, transport: str) -> None:
    processes.wait_for_workers(3, timeout=60)
    members = members_of(processes)
    with dask.config.set({"dgraph.timeouts.silence": "1s", "dgraph.transport": transport}):
        with pytest.raises(RunAbortedError, match="has sent has not arrived for 1 s"):
            run(processes, members, gangs.lose, 1)
        assert len(set(run(processes, members, gangs.slow, 2.5).values)) == 3  # computes
    assert idle(processes)


def test_cancelled_run(client: Client, tmp_path: Path) -> None:
    members = members_of(client)
    spec = spec_of(members, gangs.endless, str(tmp_path / "beacon"))
    started: list[asyncio.Task[Any]] = []

    async def start() -> None:
        started.append(asyncio.ensure_future(launch(client, spec)))

    client.sync(start)
    assert soon((tmp_path / "beacon").exists, 30)
    loop: Any = client.loop
    loop.add_callback(started[0].cancel)
    assert idle(client)
    assert started[0].cancelled()
    assert run(client, members, gangs.total).values


def test_interrupt(embedded: Client, tmp_path: Path) -> None:
    members = members_of(embedded)
    beacon = tmp_path / "beacon"

    def interrupt() -> None:
        soon(beacon.exists, 30)
        signal.pthread_kill(threading.main_thread().ident or 0, signal.SIGINT)

    thread = threading.Thread(target=interrupt)
    thread.start()
    with pytest.raises(KeyboardInterrupt):
        run(embedded, members, gangs.endless, str(beacon))
    thread.join()
    assert idle(embedded)
    assert run(embedded, members, gangs.total).values


def test_cancelled_futures(client: Client, tmp_path: Path) -> None:
    members = members_of(client)
    spec = spec_of(members, gangs.endless, str(tmp_path / "beacon"))

    def cancel() -> None:
        client.cancel([Future(key, client) for key in client.futures if spec.run in str(key)])

    error = ending(lambda: client.sync(launch, client, spec), tmp_path / "beacon", cancel)
    assert isinstance(error, RunAbortedError)
    assert idle(client)
    assert run(client, members, gangs.total).values


def test_closed_client(client: Client, tmp_path: Path) -> None:
    members = members_of(client)
    scheduler: Any = client.scheduler
    second = Client(scheduler.address, set_as_default=False)
    error = ending(
        lambda: run(second, members, gangs.endless, str(tmp_path / "beacon")),
        tmp_path / "beacon",
        second.close,
    )
    assert isinstance(error, RunAbortedError)
    assert "client was closed" in str(error)
    assert idle(client)
    assert run(client, members, gangs.total).values


def test_closed_cluster_ends_the_threads(tmp_path: Path) -> None:
    with (
        LocalCluster(
            n_workers=1, threads_per_worker=2, processes=False, dashboard_address="127.0.0.1:0"
        ) as started,
        Client(started, set_as_default=False) as client,
    ):
        members = members_of(client)
        error = ending(
            lambda: run(client, members, gangs.endless, str(tmp_path / "beacon")),
            tmp_path / "beacon",
            started.close,
        )
        assert isinstance(error, RunError | GraphLostError | OSError)
    assert soon(lambda: not any(t.name == "dgraph-slot" for t in threading.enumerate()))


def test_member_that_does_not_join(processes: Client, tmp_path: Path) -> None:
    processes.wait_for_workers(3, timeout=60)
    members = members_of(processes)
    busy = processes.submit(time.sleep, 6, workers=[members[1].address], pure=False)
    soon(lambda: bool(processes.processing()[members[1].address]))
    with (
        dask.config.set({"dgraph.timeouts.join": "1s"}),
        pytest.raises(JoinTimeoutError, match=members[1].address),
    ):
        run(processes, members, gangs.total)
    busy.cancel()
    assert idle(processes)
    assert works(processes)


def test_output_that_was_never_there(embedded: Client) -> None:
    (member,) = members_of(embedded)
    with pytest.raises(GraphLostError):
        embedded.submit(take, member.address, "no such run", 0).result()


def test_worker_without_the_program(embedded: Client) -> None:
    members = members_of(embedded)
    namespace: dict[str, Any] = {"__name__": "nowhere"}
    exec("async def program(ctx, held): return elsewhere", namespace)
    with pytest.raises(RunError, match="NameError"):
        run(embedded, members, namespace["program"])


def cancelled() -> None:
    raise RunAbortedError("it was cancelled")


def test_an_event_loop_that_stands_still_ends_the_run(
    caplog: pytest.LogCaptureFixture,
) -> None:
    loop, go_on = asyncio.new_event_loop(), threading.Event()
    asked: list[str] = []
    thread = threading.Thread(target=loop.run_forever)
    thread.start()
    loop.call_soon_threadsafe(go_on.wait)
    try:
        with pytest.raises(RunAbortedError, match=r"event loop of process .* still for 1 s"):
            wait_for_turn(loop, 1.0, partial(asked.append, "over?"))
        with pytest.raises(RunAbortedError, match="cancelled"):
            wait_for_turn(loop, 1.0, cancelled)
        go_on.set()
        wait_for_turn(loop, 1e9, partial(asked.append, "over?"))
    finally:
        go_on.set()
        loop.call_soon_threadsafe(loop.stop)
        thread.join()
        loop.close()
    assert asked[:2] == ["over?"] * 2
    assert "stood still" in caplog.text


def spec() -> RunSpec:
    members = tuple(Member(f"tcp://10.0.0.{n}:1", str(n), str(n), 1, (n,)) for n in range(3))
    return spec_of(members, gangs.total)


def test_judge_finds_the_error_that_counts() -> None:
    first = RunError("superstep 3, slot 1: ValueError: no")
    first.__cause__ = ValueError("no")
    aborted = RunAbortedError("superstep 3, slot 1: ValueError: no")
    error = judge(spec(), {0: aborted, 1: first}, {2})
    assert str(error) == "test failed: superstep 3, slot 1: ValueError: no"
    assert error.__cause__ is first.__cause__
    lost = judge(spec(), {0: aborted, 1: JoinTimeoutError("x")}, {2})
    assert "worker tcp://10.0.0.2:1 (slots 2) left the cluster" in str(lost)
    assert isinstance(lost, GraphLostError)
    assert isinstance(
        judge(spec(), {0: aborted, 1: JoinTimeoutError("x")}, ()), JoinTimeoutError
    )
    assert isinstance(judge(spec(), {0: aborted}, ()), RunAbortedError)
    assert isinstance(judge(spec(), {}, ()), RunAbortedError)


def test_errors_travel_with_their_traceback_and_cause() -> None:
    try:
        try:
            raise KeyError("inner")
        except KeyError as inner:
            raise ValueError("outer") from inner
    except ValueError as error:
        found = unpack_error(pack_error(error))
    assert isinstance(found, ValueError)
    assert isinstance(found.__cause__, KeyError)
    assert found.__traceback__ is not None
    assert isinstance(unpack_error(pack_error(gangs.Odd("no luck"))), RunError)
    assert isinstance(unpack_error(pack_error(ValueError("x" * (1 << 21)))), RunError)
