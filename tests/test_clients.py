"""Which client a graph works with, and from where: threads, tasks, event loops."""

from __future__ import annotations

import logging
import os
import signal
import subprocess
import sys
import textwrap
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import dask
import dask.dataframe as dd
import networkx as nx
import numpy as np
import pandas as pd
import pytest
from distributed import Client, LocalCluster, get_client

import dgraph as dg
from dgraph.clients import _NotLate, find_client
from dgraph.engine import members
from dgraph.errors import GraphLostError, JoinTimeoutError, OptionError
from dgraph.events import History, Note, listening
from tests.clusters import asynchronously, cluster

PATH = np.array([[1, 2], [2, 3], [3, 4]])
DISTANCES = {1: 0, 2: 1, 3: 2, 4: 3}


@pytest.fixture(scope="module")
def two() -> Iterator[Client]:
    """Two worker processes of two threads."""
    with cluster(2, 2) as client:
        yield client


def distances(g: dg.Graph, source: int = 1) -> dict[int, int]:
    frame = g._home.client.compute(dg.bfs(g, source)).result()  # it may not be the current one
    return dict(zip(frame["vertex"].tolist(), frame["distance"].tolist(), strict=True))


def run_python(program: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    root = str(Path(__file__).parents[1])
    return subprocess.run(
        [sys.executable, "-c", textwrap.dedent(program), *arguments],
        capture_output=True,
        text=True,
        timeout=100,
        check=False,
        env={**os.environ, "PYTHONPATH": root},
    )


def test_starts_one_embedded_cluster_says_so_once_and_closes_it_in_silence() -> None:
    done = run_python(
        """
        import logging, threading
        logging.basicConfig()
        logging.getLogger("dgraph").setLevel(logging.INFO)
        import distributed, numpy as np
        import dgraph as dg
        from dgraph.clients import find_client
        threads = [threading.Thread(target=find_client) for _ in range(4)]
        [thread.start() for thread in threads]
        [thread.join() for thread in threads]
        client = distributed.get_client()
        g = dg.from_edges(np.array([[1, 2], [2, 3]]))
        levels = dg.bfs(g, 1)
        kind = type(client.cluster).__name__, len(client.scheduler_info()["workers"])
        threads = client.nthreads().popitem()[1]
        # a laptop that wakes up does not take the worker for lost
        print(find_client() is client, *kind, g.slots == threads)
        print(client.cluster.scheduler.worker_ttl)
        """
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.split() == ["True", "LocalCluster", "1", "True", "None"]
    said = [line for line in done.stderr.splitlines() if "INFO:distributed" not in line]
    assert sum("started a cluster" in line for line in said) == 1
    assert not [line for line in said if not line.startswith("INFO:dgraph:")], said


def test_a_scheduler_that_is_configured_is_joined(two: Client) -> None:
    address = two.scheduler.address if two.scheduler else ""
    program = """
        import dask, numpy as np
        import dgraph as dg
        dask.config.set({"distributed.comm.timeouts.connect": 1, "scheduler-address": "%s"})
        try:
            print(dg.from_edges(np.array([[1, 2]])).slots)
        except dg.OptionError as error:
            print(error)
        """
    done = run_python(program % address)
    assert done.stdout == "4\n", done.stderr
    done = run_python(program % "tcp://127.0.0.1:1")
    assert "expected a scheduler at tcp://127.0.0.1:1" in done.stdout


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")
def test_a_forked_process_is_told_that_its_client_does_nothing() -> None:
    done = run_python(
        """
        import multiprocessing, numpy as np
        import dgraph as dg

        def call(kept):
            for g in kept, None:
                try:
                    dg.bfs(g or dg.from_edges(np.array([[1, 2]])), 1)
                except dg.OptionError as error:
                    print(error, flush=True)

        with dg.from_edges(np.array([[1, 2]])) as g:
            child = multiprocessing.get_context("fork").Process(target=call, args=(g,))
            child.start()
            child.join()
            print(len(dg.bfs(g, 1)))
        """
    )
    assert done.stdout.count("from which it was forked") == 2, done.stderr
    assert done.stdout.endswith("\n2\n")


def test_takes_the_current_client_else_the_given_one(two: Client) -> None:
    with two.as_current():
        assert find_client() is two
    with cluster(1, processes=False) as other, other.as_current():
        assert find_client(two) is two
        assert distances(dg.from_edges(PATH, client=two)) == DISTANCES


def test_refuses_what_is_no_client_or_a_closed_one() -> None:
    with cluster(1, processes=False) as client:
        g = dg.from_edges(PATH, client=client)
        with pytest.raises(OptionError, match=r"distributed\.Client, not str"):
            dg.from_edges(PATH, client="tcp://127.0.0.1:8786")  # type: ignore[arg-type]
    with pytest.raises(OptionError, match="connected client"):
        dg.from_edges(PATH, client=client)
    with pytest.raises(GraphLostError, match=r"client of the graph is closed.*from_edges"):
        dg.bfs(g, 1)


def test_a_cluster_that_went_away_is_told() -> None:
    with (
        dask.config.set({"distributed.comm.timeouts.connect": "500ms"}),
        LocalCluster(n_workers=1, threads_per_worker=1, dashboard_address=":0") as mine,
        Client(mine.scheduler_address, set_as_default=False) as client,
    ):
        dg.from_edges(PATH, client=client).close()
        mine.close()
        while client.status == "running":
            time.sleep(0.01)
        with pytest.raises(GraphLostError, match=r"cluster is gone.*its scheduler does not"):
            dg.from_edges(PATH, client=client)


def test_a_graph_on_every_form_of_cluster(two: Client) -> None:
    forms: list[tuple[Any, int]] = [
        ({}, 4),
        ({"slots": 3}, 3),
        ({"slots": 1}, 1),
        ({"virtual_slots": 7}, 7),
    ]
    for options, slots in forms:
        with dg.from_edges(PATH, client=two, **options) as g:
            assert g.slots == slots
            assert dg.bfs(g, 1).npartitions == slots
            assert distances(g) == DISTANCES
    with pytest.raises(OptionError, match="slots must be 1 to 4"):
        dg.from_edges(PATH, client=two, slots=5)


def build_and_search(source: int) -> tuple[dict[int, int], int]:
    """Work as users do inside a task, on one worker thread."""
    g = dg.from_edges(PATH)
    first = distances(g, source)
    assert distances(g, source) == first
    return first, g.slots


def test_a_graph_inside_a_task(two: Client) -> None:
    assert two.submit(build_and_search, 1, pure=False).result() == (DISTANCES, 4)
    with cluster(1, threads=1, processes=False) as single:  # the task holds the only thread
        futures = [single.submit(build_and_search, 1, pure=False) for _ in range(3)]
        assert single.gather(futures) == [(DISTANCES, 1)] * 3


async def build_in_task() -> tuple[int, list[int]]:
    g: Any = await dg.from_edges(PATH)  # type: ignore[misc]
    levels = await dg.bfs(g, 1)
    frame = await get_client().compute(levels)
    return g.num_edges, sorted(frame["distance"])


def test_a_graph_inside_an_asynchronous_task(two: Client) -> None:
    found: Any = two.submit(build_in_task, pure=False).result()
    assert found == (3, [0, 1, 2, 3])


def test_an_asynchronous_client_gets_awaitables() -> None:
    async def work(client: Client) -> None:
        g: Any = await dg.from_edges(PATH, client=client)  # type: ignore[misc]
        levels = await dg.bfs(g, 1)
        frame: pd.DataFrame = await client.compute(levels)
        assert sorted(frame["distance"]) == [0, 1, 2, 3]
        degrees = await client.compute(await g.degrees())
        assert sorted(degrees["degree"]) == [1, 1, 2, 2]
        assert nx.utils.edges_equal(
            (await g.to_networkx()).edges, nx.path_graph([1, 2, 3, 4]).edges
        )
        assert (await g.to_scipy()).nnz == 6
        sizes = await dg.estimate(PATH, client=client)  # type: ignore[misc]
        assert len(sizes) == 2
        with pytest.raises(KeyError, match="9"):
            await dg.bfs(g, 9)
        with pytest.raises(ValueError, match="float"):
            await dg.from_edges(PATH, duplicates="float", client=client)  # type: ignore[misc]
        async with g as same:
            assert same is g
        with pytest.raises(GraphLostError, match="closed"):
            await dg.bfs(g, 1)

    asynchronously(work)


def test_an_asynchronous_client_that_was_not_awaited() -> None:
    async def work(client: Client) -> None:
        other = Client(client.cluster, asynchronous=True, set_as_default=False)
        with pytest.raises(OptionError, match="await"):
            dg.from_edges(PATH, client=other)
        await other
        await other.close()

    asynchronously(work)


def test_a_cluster_without_workers_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(members, "LONELY", 0.0)
    with (
        cluster(0) as client,
        listening(History()) as heard,
        dask.config.set({"dgraph.timeouts.join": "1s"}),
        pytest.raises(JoinTimeoutError, match=r"got a cluster that has none.*cluster\.scale"),
    ):
        dg.from_edges(PATH, client=client)
    said = [event.text for event in heard.events if isinstance(event, Note)]
    assert sum("waits for a worker: the cluster has none" in text for text in said) == 1


def test_edges_that_lie_on_another_cluster(two: Client) -> None:
    frame = dd.from_pandas(pd.DataFrame(PATH, columns=["a", "b"]), npartitions=2)
    with two.as_current():
        there = frame.persist()
    with (
        cluster(1, processes=False) as other,
        pytest.raises(dg.EdgeValueError, match="lie on another cluster"),
    ):
        dg.from_edges(there, "a", "b", client=other)


@pytest.mark.parametrize("clients", [1, 2])
def test_many_threads_and_two_clients_at_once(two: Client, clients: int) -> None:
    with Client(two.cluster, set_as_default=False) as second:
        used = [two, second][:clients]
        shared = [dg.from_edges(PATH, client=client) for client in used]

        def work(number: int) -> bool:
            g = shared[number % clients]
            with dg.from_edges(PATH, client=used[number % clients]) as own:
                return all(distances(some) == DISTANCES for some in (g, own, g))

        with ThreadPoolExecutor(6) as pool:
            assert all(pool.map(work, range(12)))
        assert sum(len(g.runs) for g in shared) == 24
        for g in shared:
            g.close()


def test_another_client_computes_with_a_result_at_once(
    two: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(two.scheduler_comm, "interval", 0.2)  # what it sends is late
    with dg.from_edges(PATH, client=two) as g, Client(two.cluster):
        assert len(dg.bfs(g, 1)) == g.num_vertices
        assert len(g.degrees()) == g.num_vertices


def test_other_work_on_the_cluster_goes_on(two: Client) -> None:
    stop = threading.Event()
    counted: list[int] = []

    def other() -> None:
        while not stop.is_set():
            counted.append(two.submit(lambda x: x + 1, len(counted), pure=False).result())

    thread = threading.Thread(target=other)
    thread.start()
    try:
        with dg.from_edges(PATH, client=two) as g:
            for _ in range(10):
                assert distances(g) == DISTANCES
    finally:
        stop.set()
        thread.join()
    assert counted == list(range(1, len(counted) + 1))


def slowly(part: pd.DataFrame, folder: str) -> pd.DataFrame:
    Path(folder, "begun").touch()
    time.sleep(30)
    return part


def test_a_script_that_ends_with_a_call_ends_silently() -> None:
    found = run_python("""
        import threading, time
        threading._register_atexit(time.sleep, 0.5)  # when Python's pools are shut
        import numpy as np
        import dgraph as dg
        g = dg.from_edges(np.array([[1, 2], [2, 3]]), slots=2)
        late = g._home.client.submit(len, "late")
        g._home.client.loop.add_callback(time.sleep, 0.2)
    """)
    assert found.returncode == 0
    assert "cannot schedule" not in found.stderr


def test_what_a_scheduler_says_before_python_ends_is_not_hidden(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def heard(text: str, thread: int) -> bool:
        return _NotLate(thread)(logging.LogRecord("any", logging.ERROR, "", 1, text, (), None))

    late, here = "cannot schedule new futures after shutdown", threading.get_ident()
    assert heard(late, here)
    monkeypatch.setattr("concurrent.futures.thread._shutdown", True)
    assert not heard(late, here)
    assert heard(late, here + 1)  # another scheduler, in a thread of its own
    assert heard("anything else", here)


def test_ctrl_c_ends_the_build_and_the_cluster_stays_usable(tmp_path: Path) -> None:
    program = """
        import sys, time, pathlib
        import dask.dataframe as dd, numpy as np, pandas as pd
        import dgraph as dg
        from tests.clusters import cluster, held
        from tests.test_clients import slowly
        if __name__ == "__main__":
            with cluster(1, 2, processes=False) as client:
                table = pd.DataFrame({"source": [1, 2], "target": [2, 3]})
                frame = dd.from_pandas(table, npartitions=1)
                lazy = frame.map_partitions(slowly, sys.argv[1], meta=frame._meta)
                try:
                    dg.from_edges(lazy, client=client)
                except KeyboardInterrupt:
                    began = time.monotonic()
                    g = dg.from_edges(np.array([[1, 2], [2, 3]]), client=client)
                    print("usable", g.num_edges, time.monotonic() - began < 20, flush=True)
                    del g
                    import os; os._exit(0)  # the sleeping partition cannot be ended
    """
    process = subprocess.Popen(
        [sys.executable, "-c", textwrap.dedent(program), str(tmp_path)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": str(Path(__file__).parents[1])},
    )
    for _ in range(600):
        if (tmp_path / "begun").exists() or process.poll() is not None:
            break
        time.sleep(0.05)
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=60)
    assert out.split() == ["usable", "2", "True"], err
