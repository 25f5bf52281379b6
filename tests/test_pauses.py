"""Workers that Dask has paused for their memory end what waits for them, with a sentence."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import dask.dataframe as dd
import numpy as np
import pandas as pd
import pytest
from distributed import Client, Status, get_worker

import dgraph as dg
from dgraph.engine import pauses
from dgraph.errors import RunError
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


def turn(client: Client, status: Status) -> None:
    async def change(dask_worker: Any) -> None:
        dask_worker.status = status

    client.run(change)


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
