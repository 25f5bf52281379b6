"""Slots of several processes that work on the same memory: how it is had, and how it ends."""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any

import dask
import networkx as nx
import numpy as np
import pytest
from distributed import Client

import dgraph as dg
from dgraph.engine.commons import NAME
from dgraph.engine.launch import launch
from dgraph.engine.spec import Member
from dgraph.errors import GraphLostError, RunAbortedError, RunError, VertexNotFoundError
from dgraph.exchange.segment import LINE, MOST, Segment
from tests import gangs
from tests.gangs import cluster, members_of, run, soon, spec_of

pytestmark = pytest.mark.skipif(
    (os.cpu_count() or 1) < 2 and not os.environ.get("CI"),
    reason="slots of two processes meet in memory only if there are two cores",
)


@pytest.fixture(scope="module")
def client() -> Iterator[Client]:
    with cluster(n_workers=2, threads_per_worker=1, processes=True) as client:
        yield client


@pytest.fixture(scope="module")
def kept(client: Client) -> Any:
    """Let the workers keep what stands for shards, as long as this result is held."""
    return run(client, members_of(client), gangs.bare, keeps="shard", graph="bare")


def spec(client: Client, beacon: Path, *arguments: int, **options: Any) -> Any:
    shared = {"holds": "shard", "graph": "bare"} | options
    return spec_of(members_of(client), gangs.abreast, str(beacon), *arguments, **shared)


def meets(client: Client, beacon: Path, times: int = 100) -> tuple[int, ...]:
    """Return how often slots meet that should meet so often."""
    found: tuple[int, ...] = client.sync(launch, client, spec(client, beacon, times)).values
    return found


def state(dask_worker: Any) -> list[tuple[bool, bool, bool]]:
    """Return for each shard of a worker whether its memory is there, lent, refused."""
    held = dask_worker.plugins["dgraph"].shards._values.values()
    desks = [shard.derived[NAME] for shard in held if NAME in shard.derived]
    return [(desk.common is not None, desk._is_lent, desk.is_refused) for desk in desks]


def states(client: Client) -> set[tuple[bool, bool, bool]]:
    return {one for some in client.run(state).values() for one in some}


def pid_of(client: Client, member: Member) -> int:
    pids: dict[str, int] = client.run(os.getpid, workers=[member.address])
    return pids[member.address]


def struck(
    client: Client, spec: Any, beacon: Path, slots: int, blow: Callable[[], Any]
) -> BaseException:
    """Start a run, strike it when all its slots meet, and return its error."""
    with ThreadPoolExecutor(1) as pool:
        made = pool.submit(client.sync, launch, client, spec)
        files = [Path(f"{beacon}-{slot}") for slot in range(slots)]
        assert soon(lambda: all(file.exists() for file in files), 60)
        blow()
        error = made.exception(timeout=40)
    assert error is not None
    return error


def idle(client: Client) -> bool:
    def seats(dask_worker: Any) -> int:
        return len(dask_worker.plugins["dgraph"].seats)

    return soon(lambda: not any(client.run(seats).values()))


def test_slots_of_two_processes_meet_again_and_again(
    client: Client, kept: Any, tmp_path: Path
) -> None:
    for turn in range(3):
        assert meets(client, tmp_path / f"{turn}") == (100, 100)
        assert states(client) == {(True, False, False)}


def test_frames_are_exchanged_where_somebody_said_so(
    client: Client, kept: Any, tmp_path: Path
) -> None:
    for transport in ("shm", "unix", "comm", "tcp"):
        with dask.config.set({"dgraph.transport": transport}):
            assert meets(client, tmp_path / transport) == (0, 0)


def test_a_run_waits_for_another_one_that_has_the_memory(
    client: Client, kept: Any, tmp_path: Path
) -> None:
    members = members_of(client)
    late = [
        spec_of(members, gangs.late, seconds, holds="shard", graph="bare")
        for seconds in (1.0, 0.1, 0.1)
    ]
    with ThreadPoolExecutor(3) as pool:
        made = [pool.submit(client.sync, launch, client, some) for some in late]
        assert [some.result(60).values for some in made] == [(1, 1)] * 3
    assert states(client) == {(True, False, False)}


def test_a_slot_that_fails_ends_the_others(client: Client, kept: Any, tmp_path: Path) -> None:
    for failing in (0, 1):
        with pytest.raises(RunError, match=f"slot {failing}: LookupError: no luck"):
            client.sync(launch, client, spec(client, tmp_path / "fails", 100, failing))
        assert idle(client)
        assert states(client) == {(False, False, False)}
        assert meets(client, tmp_path / "works") == (100, 100)


def test_a_cancelled_run_ends(client: Client, kept: Any, tmp_path: Path) -> None:
    started: list[asyncio.Task[Any]] = []
    endless = spec(client, tmp_path / "run", -1)

    async def start() -> None:
        started.append(asyncio.ensure_future(launch(client, endless)))

    client.sync(start)
    assert soon((tmp_path / "run-1").exists, 60)
    loop: Any = client.loop
    loop.add_callback(started[0].cancel)
    assert idle(client)
    assert started[0].cancelled()
    assert meets(client, tmp_path / "works") == (100, 100)


@pytest.mark.parametrize("slot", [0, 1])
def test_a_paused_worker_is_given_up(
    client: Client, kept: Any, tmp_path: Path, slot: int
) -> None:
    paused = members_of(client)[slot]
    pid = pid_of(client, paused)
    with dask.config.set({"dgraph.timeouts.silence": "1s"}):
        endless = spec(client, tmp_path / "run", -1)
    try:
        stop = partial(os.kill, pid, signal.SIGSTOP)
        error = struck(client, endless, tmp_path / "run", 2, stop)
    finally:
        os.kill(pid, signal.SIGCONT)
    assert isinstance(error, RunAbortedError)
    assert f"{paused.address} has not answered for 1 s" in str(error)
    assert idle(client)
    assert meets(client, tmp_path / "works") == (100, 100)


def test_a_run_whose_slots_compute_for_long_is_not_given_up(
    client: Client, kept: Any, tmp_path: Path
) -> None:
    with dask.config.set({"dgraph.timeouts.silence": "1s"}):
        late = spec_of(members_of(client), gangs.late, 2.5, holds="shard", graph="bare")
    assert client.sync(launch, client, late).values == (1, 1)


def test_a_killed_worker_ends_the_others(tmp_path: Path) -> None:
    with cluster(n_workers=2, threads_per_worker=1, processes=True) as client:
        kept = run(client, members_of(client), gangs.bare, keeps="shard", graph="bare")
        lost = members_of(client)[1]
        kill = partial(os.kill, pid_of(client, lost), signal.SIGKILL)
        error = struck(client, spec(client, tmp_path / "run", -1), tmp_path / "run", 2, kill)
        assert isinstance(error, GraphLostError)
        assert lost.address in str(error)
        del kept
        client.wait_for_workers(2, timeout=60)
        again = run(client, members_of(client), gangs.bare, keeps="shard", graph="bare")
        assert meets(client, tmp_path / "works") == (100, 100)
        del again


def refuse(dask_worker: Any) -> None:
    def open_(offer: Any) -> Any:
        raise OSError("not from here")

    Segment.open = open_  # type: ignore[method-assign]


def searched(client: Client, graph: Any, source: int) -> dict[int, int]:
    found: Any = client.compute(dg.bfs(graph, source))
    table = found.result()
    reached = table[table.distance.notna()]
    return dict(zip(reached.vertex.tolist(), reached.distance.tolist(), strict=True))


def test_searches_agree_with_networkx_whatever_goes_on_beside_them() -> None:
    edges = np.random.default_rng(5).integers(0, 400, (700, 2))
    whole = nx.Graph(edges.tolist())
    sources = [int(edges[at, 0]) for at in range(12)]
    expected = [dict(nx.single_source_shortest_path_length(whole, some)) for some in sources]
    with cluster(n_workers=2, threads_per_worker=1, processes=True) as client:
        graph = dg.from_edges(edges, client=client)
        assert [searched(client, graph, some) for some in sources] == expected
        assert states(client) == {(True, False, False)}
        with pytest.raises(VertexNotFoundError, match="999"):
            dg.bfs(graph, [sources[0], 999])
        with ThreadPoolExecutor(4) as pool:
            assert list(pool.map(partial(searched, client, graph), sources)) == expected
        assert searched(client, graph, sources[0]) == expected[0]
        # a worker that cannot open what another one made
        client.run(refuse, workers=[members_of(client)[1].address])
        other = dg.from_edges(edges, client=client)
        assert [searched(client, other, some) for some in sources] == expected
        assert (False, False, True) in states(client)


def test_segments_are_opened_by_who_was_offered_them_only() -> None:
    made = Segment.create(4 * LINE)
    offer = made.offer
    made.array(LINE, 2, np.int64)[:] = 3, 4
    assert Segment.open(offer).array(LINE, 2, np.int64).tolist() == [3, 4]
    for place, wrong in ((0, 2**22 + 5), (1, 10**6), (2, 8 * LINE), (3, 1)):
        bad = offer.copy()
        bad[place] = wrong
        with pytest.raises(OSError, match=r"No such|in place of"):
            Segment.open(bad)
    made.close_door()
    with pytest.raises(OSError, match=r"No such|in place of"):
        Segment.open(offer)


def test_segments_keep_few_file_descriptors() -> None:
    before = len(os.listdir("/proc/self/fd"))
    held = [Segment.create(LINE) for _ in range(MOST - len(Segment._blocks))]
    with pytest.raises(OSError, match=f"{MOST} segments of memory open"):
        Segment.create(LINE)
    del held
    assert len(os.listdir("/proc/self/fd")) == before
