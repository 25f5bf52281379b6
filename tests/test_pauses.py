"""Workers that Dask has paused for their memory end what waits for them, with a sentence."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import dask
import dask.dataframe as dd
import numpy as np
import pandas as pd
import pytest
from distributed import Client, Status, get_worker

import dgraph as dg
from dgraph.engine import members, pauses
from dgraph.errors import ClusterWarning, RunError
from tests.clusters import cluster

EDGES = np.array([[1, 2], [2, 3]])
WHY = "begins nothing: Dask has paused it, because it takes .* give workers more memory"


@pytest.fixture
def client(monkeypatch: pytest.MonkeyPatch) -> Iterator[Client]:
    monkeypatch.setattr(pauses, "PATIENCE", 0.5)
    monkeypatch.setattr(pauses, "TURN", 0.05)
    with cluster(1, 1, processes=False) as found, found.as_current():
        yield found
        turn(found, Status.running)


def turn(client: Client, status: Status, workers: list[str] | None = None) -> None:
    async def change(dask_worker: Any) -> None:
        dask_worker.status = status

    client.run(change, workers=workers)


def pausing(part: pd.DataFrame) -> pd.DataFrame:
    """Pause the worker while a partition is computed."""
    worker = get_worker()
    worker.loop.add_callback(setattr, worker, "status", Status.paused)
    return part


def test_a_run_ends(client: Client) -> None:
    with dg.from_edges(EDGES) as g:
        turn(client, Status.paused)
        with pytest.raises(RunError, match=WHY):
            dg.bfs(g, 1)
        turn(client, Status.running)
        assert len(dg.bfs(g, 1)) == 3


def test_who_looks_for_workers_gives_up(client: Client) -> None:
    turn(client, Status.paused)
    with pytest.raises(RunError, match=WHY):
        dg.from_edges(EDGES)


def test_a_build_ends(client: Client) -> None:
    frame = pd.DataFrame({"source": range(20), "target": range(1, 21)})
    edges = dd.from_pandas(frame, npartitions=10).map_partitions(pausing, meta=frame)
    with pytest.raises(RunError, match=WHY):
        dg.from_edges(edges)
    turn(client, Status.running)
    assert dg.from_edges(frame).num_edges == 20


def test_an_estimate_ends(client: Client) -> None:
    frame = pd.DataFrame({"source": range(20), "target": range(1, 21)})
    edges = dd.from_pandas(frame, npartitions=10).map_partitions(pausing, meta=frame)
    with pytest.raises(RunError, match=WHY):
        dg.estimate(edges)


def test_who_is_paused_among_others_is_named_and_not_waited_for_again(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The second graph would not be done before the time limit of the test."""
    with cluster(2, 1, processes=False) as client:
        first = min(client.ncores())
        turn(client, Status.paused, [first])
        for patience in (0.1, 10_000):
            monkeypatch.setattr(members, "RESTART", patience)
            with (
                pytest.warns(ClusterWarning, match=f"1 thread .* paused the worker of {first}"),
                dask.config.set({"dgraph.timeouts.join": "20000s"}),
                dg.from_edges(EDGES, client=client) as g,
            ):
                assert g.slots == 1
        turn(client, Status.running, [first])
        with dg.from_edges(EDGES, client=client) as g:
            assert g.slots == 2
