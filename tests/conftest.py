"""What tests get: a time limit, a guard against left-overs, profiles, data, a cluster."""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from multiprocessing import resource_tracker
from pathlib import Path
from types import FrameType

import dask
import dask.threaded
import hypothesis
import networkx as nx
import pandas as pd
import psutil
import pytest
from distributed import Client

import dgraph as dg
from tests.clusters import cluster
from tests.halves import two_halves

ROOT = Path(__file__).parents[1]
IN_CI = os.environ.get("CI") == "true"

#: Seconds that one phase of a test (set-up, call, teardown) may take unless marked otherwise.
LIMIT = 120

#: Seconds that what a test started may take to end after it.
GRACE = 5

if threading.current_thread() is threading.main_thread():
    # pytest-xdist's workers ignore it, which tests of Ctrl-C and their child processes inherit.
    signal.signal(signal.SIGINT, signal.default_int_handler)

# The commands that tests start do not say that they compile, which only the first ones do; this
# process, which may have inherited that from the one that shares out the tests, would.
os.environ.setdefault("DASK_DGRAPH__PROGRESS", "False")
dask.config.set({"dgraph.progress": "auto"})

hypothesis.settings.register_profile("default", deadline=None)
hypothesis.settings.register_profile("ci", deadline=None, derandomize=True, max_examples=40)
hypothesis.settings.load_profile("ci" if IN_CI else "default")


@pytest.fixture(scope="session")
def shared() -> Path:
    """Return the folder of validation data that lies beside the checkout."""
    folder = ROOT.parent / "shared"
    if not folder.is_dir():
        message = f"needs the validation data in {folder}"
        pytest.fail(message) if IN_CI else pytest.skip(message)
    return folder


@pytest.fixture(scope="session")
def karate(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a CSV file of Zachary's karate club."""
    path = tmp_path_factory.mktemp("karate") / "karate.csv"
    edges = pd.DataFrame(list(nx.karate_club_graph().edges()), columns=["source", "target"])
    edges.to_csv(path, index=False)
    return path


@pytest.fixture
def probes(tmp_path: Path) -> Iterator[Path]:
    """Let what is probed be kept in a folder of the test."""
    with dask.config.set({"dgraph.probes": str(tmp_path / "probes")}):
        yield tmp_path / "probes"


@pytest.fixture
def in_this_process() -> Iterator[None]:
    """Let Dask compute what belongs to no client in this process, on one thread."""
    with dask.config.set(scheduler="synchronous"):
        yield


@pytest.fixture(scope="module")
def client() -> Iterator[Client]:
    """Yield a client of one worker with two threads, in this process: one a file of tests."""
    with cluster(1, threads=2, processes=False) as client:
        yield client


@pytest.fixture(scope="module")
def embedded(client: Client) -> Iterator[Client]:
    """Yield that client as the current one: what `dgraph` starts by itself."""
    with client.as_current():
        yield client


@pytest.fixture(scope="module")
def processes() -> Iterator[Client]:
    """Yield a client of two worker processes of one thread."""
    with cluster(2) as client:
        yield client


@pytest.fixture(scope="module")
def g(client: Client) -> Iterator[dg.Graph]:
    """Yield the graph on which tests of `dgraph.gnn` train."""
    with two_halves(client) as graph:
        yield graph


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Begin with the files that hold slow tests: so two workers end at about the same time."""
    slow = {item.path for item in items if item.get_closest_marker("slow")}
    items.sort(key=lambda item: item.path not in slow)


@contextmanager
def time_limit(item: pytest.Item) -> Iterator[None]:
    """Fail a test that takes too long, so that no test hangs the rest."""
    mark = item.get_closest_marker("limit")
    seconds = mark.args[0] if mark else LIMIT

    def over(signum: int, frame: FrameType | None) -> None:
        pytest.fail(f"not done within its limit of {seconds} s")

    before = signal.signal(signal.SIGALRM, over)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_setup(item: pytest.Item) -> Generator[None]:
    with time_limit(item):
        return (yield)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Generator[None]:
    with time_limit(item):
        return (yield)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_teardown(item: pytest.Item) -> Generator[None]:
    with time_limit(item):
        return (yield)


def running() -> set[threading.Thread | psutil.Process]:
    """Return the threads that would keep this process alive, those of runs, and children."""
    # Dask and multiprocessing keep these for the life of the process.
    pooled: set[threading.Thread] = getattr(dask.threaded.default_pool, "_threads", set())
    tracker = getattr(resource_tracker._resource_tracker, "_pid", None)
    threads = {
        thread
        for thread in threading.enumerate()
        if thread not in pooled
        and not thread.name.startswith("Dask-Offload")
        and (not thread.daemon or thread.name == "dgraph-slot")
    }
    children = {child for child in psutil.Process().children() if child.pid != tracker}
    return threads | children


@pytest.fixture(autouse=True)
def leaves_nothing_running() -> Iterator[None]:
    """Fail a test that leaves a thread or a child process behind."""
    before = running()
    yield
    end = time.monotonic() + GRACE
    while (left := running() - before) and time.monotonic() < end:
        time.sleep(0.01)
    assert not left, f"left running: {left}"
