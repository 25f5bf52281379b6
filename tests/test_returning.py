"""Workers that were just lost: a graph waits for those that come back, and names the others."""

from __future__ import annotations

import asyncio
import itertools
import os
import signal
import time
from typing import Any

import dask
import numpy as np
import pytest
from distributed import Client, Status

import dgraph as dg
from dgraph.engine import members
from dgraph.engine.returning import late_workers
from dgraph.errors import ClusterWarning, GraphLostError
from tests.clusters import cluster
from tests.gangs import soon

PATH = np.array([[1, 2], [2, 3]])


def test_a_graph_waits_for_workers_that_were_just_lost(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """In a cluster of its own: killed workers are started again.

    Dask ends a nanny whose worker is not there 15 s after a loss, if only for it was lost anew.
    """
    monkeypatch.setattr(members, "RESTART", 50.0)  # of a machine that has other work
    patient = dask.config.set({"distributed.deploy.lost-worker-timeout": "300 s"})
    with patient, cluster(2) as client:
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
        with pytest.warns(ClusterWarning, match="only 1 thread takes part: of tcp:"):
            assert slots(client) == 1


def test_who_was_sent_away_is_not_waited_for(recwarn: pytest.WarningsRecorder) -> None:
    """Dask takes for lost whom `scale` has ended."""
    with cluster(2) as client:
        made: Any = client.cluster
        made.scale(1)
        assert soon(lambda: len(client.ncores()) == 1, 60)
        assert slots(client) == 1
        assert not [found for found in recwarn if found.category is ClusterWarning]


@pytest.mark.parametrize("moment", ["leaves", "comes"])
def test_who_leaves_or_comes_while_the_scheduler_is_asked_is_late(moment: str) -> None:
    found = asyncio.run(
        late_workers(Changing(moment), {"a": {"status": "running", "nanny": 1}})
    )
    assert found == ["b"]


class Changing:
    """A scheduler of workers a and b; b leaves, or comes back, when its log has been read."""

    def __init__(self, moment: str) -> None:
        self.workers = {"a": 1, "b": 1} if moment == "leaves" else {"a": 1}

    async def ncores(self) -> dict[str, int]:
        return dict(self.workers)

    async def events(self, topic: str) -> list[Any]:
        if topic != "all":
            return []
        now, leaves = time.time(), "b" in self.workers
        self.workers = {"a": 1} if leaves else {"a": 1, "b": 1}
        lost = {"action": "remove-worker", "expected": False, "worker": "z"}
        return [] if leaves else [(now, lost), (now, {"action": "add-worker", "worker": "b"})]


def test_who_comes_back_late_has_time_to_learn_what_dgraph_is(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Its fifth answer comes after 5 s: it does not know it yet, but only for a second."""
    monkeypatch.setattr(members, "monotonic", lambda: 6.0 - len(answers))
    who = {"host": "h", "process": "p", "threads": 1, "ready": True, "status": "running"}
    answers: list[dict[str, Any]] = [{}, {}, {}, {}, {"a": None}, {"a": {**who, "nanny": True}}]

    class Waking:
        async def register_plugin(self, plugin: Any) -> None: ...

        async def broadcast(self, **message: Any) -> dict[str, Any]:
            return answers.pop(0)

        async def ncores(self) -> dict[str, int]:
            return {"a": 1}

        async def events(self, topic: str) -> list[Any]:
            return []

    client: Any = Waking()
    client.scheduler = client
    assert list(asyncio.run(members._identities(client, None, 50))) == ["a"]


def test_who_does_not_come_back_is_waited_for_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of two seconds each takes every look at the clock, and five are the patience."""
    clock = itertools.count(0, 2)
    monkeypatch.setattr(members, "monotonic", lambda: next(clock))
    who = {"host": "h", "process": "p", "threads": 1, "ready": True, "status": "running"}

    class Short:
        def __init__(self) -> None:
            self.asked = 0
            self.there = ["a", "b"]

        async def register_plugin(self, plugin: Any) -> None: ...

        async def broadcast(self, **message: Any) -> dict[str, Any]:
            self.asked += 1
            return {"a": {**who, "nanny": True}}

        async def ncores(self) -> dict[str, int]:
            return dict.fromkeys(self.there, 1)

        async def events(self, topic: str) -> list[Any]:
            return []

    def asked() -> int:
        client.asked = 0
        with pytest.warns(ClusterWarning, match="of b.* lost, and"):
            assert list(asyncio.run(members._identities(client, None, 5))) == ["a"]
        return int(client.asked)

    client: Any = Short()
    client.scheduler = client
    assert asked() == 2
    assert asked() == 1
    client.there.append("c")  # which is lost anew
    assert asked() == 2
    assert asked() == 1


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


def test_a_result_whose_workers_were_all_lost_says_so_when_others_come() -> None:
    def bound(dask_scheduler: Any) -> int:
        tasks = dask_scheduler.tasks.items()
        return sum("-partition-" in key and bool(it.worker_restrictions) for key, it in tasks)

    with cluster(1) as client, dg.from_edges(PATH, client=client) as g:
        found = dg.bfs(g, 1)
        assert len(client.compute(found).result()) == 3
        assert soon(lambda: client.run_on_scheduler(bound) == 0, 30)
        kill_one(client)
        with pytest.raises(GraphLostError, match="run the algorithm again"):
            client.compute(found).result(60)
