"""Workers that were just lost: a graph waits for those that come back, and names the others."""

from __future__ import annotations

import os
import signal
from typing import Any

import numpy as np
import pytest
from distributed import Client, Status

import dgraph as dg
from dgraph.engine import members
from dgraph.errors import ClusterWarning
from tests.clusters import cluster
from tests.gangs import soon

PATH = np.array([[1, 2], [2, 3]])


def test_a_graph_waits_for_workers_that_were_just_lost(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """In a cluster of its own: killed workers are started again."""
    monkeypatch.setattr(members, "RESTART", 50.0)  # of a machine that has other work
    with cluster(2) as client:
        kill_one(client)
        assert slots(client, slots=1) == 1  # needs none of them
        assert slots(client) == 2
        kill_one(client)
        assert soon(lambda: len(client.ncores()) == 1)  # Dask knows by now
        assert slots(client) == 2

        monkeypatch.setattr(members, "RESTART", 0.5)
        for nanny in nannies(client):
            monkeypatch.setattr(nanny, "instantiate", fail)
        kill_one(client)
        with pytest.warns(ClusterWarning, match="only 1 threads take part: of tcp:"):
            assert slots(client) == 1


def kill_one(client: Client) -> None:
    """Kill a worker; Dask would not start one again that is just starting."""
    assert soon(lambda: all(nanny.status == Status.running for nanny in nannies(client)), 30)
    os.kill(nannies(client)[0].pid, signal.SIGKILL)


def nannies(client: Client) -> list[Any]:
    made: Any = client.cluster
    return list(made.workers.values())


def slots(client: Client, **options: Any) -> int:
    with dg.from_edges(PATH, client=client, **options) as g:
        return g.slots


async def fail() -> Status:
    return Status.failed
