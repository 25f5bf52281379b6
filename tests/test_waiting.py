"""What a user is told while nothing seems to happen: kernels are compiled, a worker is busy."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from types import SimpleNamespace
from typing import Any

import dask
import numpy as np
import pytest
from distributed import Client, Event, Status

import dgraph as dg
from dgraph import home
from dgraph.engine import vigil
from dgraph.engine.compiling import COMPILATIONS, TEXT, Compilations
from dgraph.events import History, Note, listening
from dgraph.placement.compare import _compiled
from tests.clusters import cluster

EDGES = np.array([[1, 2], [2, 3]])


@pytest.fixture
def client() -> Iterator[Client]:
    with cluster(1, 1, processes=False) as found:
        yield found


@pytest.fixture
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Look after a run all the time, and find everything long."""
    monkeypatch.setattr(vigil, "LOOK", 0.001)
    monkeypatch.setattr(home, "LOOK", 0.001)
    monkeypatch.setattr(vigil, "LONG", 0.0)


def kernel(module: str) -> Any:
    """Return what Numba says of a kernel that it compiles."""
    function = SimpleNamespace(__module__=module)
    return SimpleNamespace(data={"dispatcher": SimpleNamespace(py_func=function)})


def test_only_kernels_of_ours_are_counted_and_inner_ones_not_twice(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    clock = iter(range(100))
    monkeypatch.setattr("dgraph.engine.compiling.monotonic", lambda: next(clock))
    mine, others, found = kernel("dgraph.shard.bits"), kernel("elsewhere"), Compilations()
    found.on_start(others)
    found.on_end(others)
    assert found.total == found.lately() == 0
    found.on_start(mine)
    found.on_start(others)  # which one of ours calls
    assert found.lately() > 0
    found.on_end(others)
    assert found.total == 0
    found.on_end(mine)
    assert found.total == 2  # asked once in between
    assert [next(clock) for _ in range(9)]
    assert found.lately() == 0


def test_numba_tells_of_a_kernel_of_ours() -> None:
    import numba

    def double(x: Any) -> Any:
        return 2 * x

    double.__module__ = "dgraph.anything"
    before = COMPILATIONS.total
    compiled: Any = numba.njit(double)
    assert compiled(2) == 4
    assert COMPILATIONS.total > before


@pytest.mark.usefixtures("impatient")
def test_a_client_is_told_of_compilation_once(
    client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Compilations, "lately", lambda self: 20.0)
    with listening(History()) as history:
        with dask.config.set({"dgraph.progress": False}):
            dg.from_edges(EDGES, client=client)
        assert Note(TEXT, loud=True) not in history.events
        with dg.from_edges(EDGES, client=client) as g:
            dg.bfs(g, 1)
    assert history.events.count(Note(TEXT, loud=True)) == 1


def test_figures_hold_no_compilation(client: Client) -> None:
    seconds = iter([4.0, 0.0, 0.0])  # to compile, each time that something is measured

    def measure() -> dict[str, Any]:
        COMPILATIONS.total += (compiled := next(seconds))
        return {"build_seconds": 1.0 + compiled}

    dg.from_edges(EDGES, client=client).close()
    assert _compiled(client, measure) == {"build_seconds": 1.0}
    assert _compiled(client, measure) == {"build_seconds": 1.0}
    assert not list(seconds)


@contextmanager
def until_waiting(client: Client, go: Callable[[], object]) -> Iterator[list[str]]:
    """Do something once a run has said for which worker it waits; yield what it said."""
    heard = threading.Event()

    def hear(event: Any) -> None:
        if isinstance(event, Note) and "waits for worker" in event.text:
            notes.append(event.text)
            heard.set()

    def let_go() -> None:
        heard.wait(60)
        go()

    notes: list[str] = []
    helper = threading.Thread(target=let_go)
    with listening(hear):
        helper.start()
        yield notes
        helper.join()


@pytest.mark.usefixtures("impatient")
def test_a_run_says_for_which_busy_worker_it_waits(client: Client) -> None:
    go = Event("go", client=client)
    with dg.from_edges(EDGES, client=client) as g:
        begun = Event("begun", client=client)
        task = client.submit(_wait, key="a-long-task")
        begun.wait()
        with until_waiting(client, go.set) as notes:
            assert len(dg.bfs(g, 1)) == 3
        assert task.result() == "done"
    address = client.scheduler_info()["workers"].popitem()[0]
    assert notes == [
        f"bfs waits for worker {address}, busy with 'a-long-task': "
        "it starts when one of these ends"
    ]


@pytest.mark.usefixtures("impatient")
def test_a_run_says_for_which_paused_worker_it_waits(client: Client) -> None:
    def turn(status: Status) -> None:
        async def change(dask_worker: Any) -> None:
            dask_worker.status = status

        client.run(change)

    with client.as_current(), dg.from_edges(EDGES) as g:
        turn(Status.paused)
        with until_waiting(client, partial(turn, Status.running)) as notes:
            assert len(dg.bfs(g, 1)) == 3
    (note,) = notes
    assert "which is paused: Dask starts nothing there until its memory is less full" in note


def _wait() -> str:
    Event("begun").set()
    Event("go").wait()
    return "done"
