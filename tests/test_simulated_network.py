"""Runs over a slow network that Dask's comms emulate: who is not dgraph counts what it sends.

The backend lies beside the checkout, see netlab/simcomm.py there. Each worker is a slot of its
own; messages to the other domain take their time, and the receivers tell how many have come.
"""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import dask
import numpy as np
import pandas as pd
import pytest
from distributed import Client, Nanny, Scheduler, SpecCluster
from distributed.comm.registry import backends

import dgraph as dg
from tests.clusters import LOCAL, cluster

SLOTS = ("r0.a", "r0.b", "r1.c")

#: Seconds one way between racks.
LATENCY = 0.004

#: The same, and bytes per second, by level.
FIGURES = {"DGSIM_LATENCY": f"0,{LATENCY}", "DGSIM_RATE": "0,20e6"}


@contextmanager
def emulated(simcomm: Path) -> Iterator[Client]:
    """Yield a client of a worker for each slot, whose comms are slow."""
    spec = importlib.util.spec_from_file_location("simcomm", simcomm)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["simcomm"] = module
    spec.loader.exec_module(module)
    common = {"protocol": "dgsim://", "host": "127.0.0.1"}
    workers = {
        slot: {
            "cls": Nanny,
            "options": {
                **common,
                "name": slot,
                "nthreads": 1,
                "memory_limit": 0,
                "dashboard": False,
                "preload": [str(simcomm)],
                "env": {"DGSIM_SLOT": slot, "DGRAPH_HOST": slot.split(".")[1], **FIGURES},
            },
        }
        for slot in SLOTS
    }
    scheduler = {"cls": Scheduler, "options": {**common, "dashboard_address": LOCAL}}
    try:
        with (
            SpecCluster(workers, scheduler) as started,
            Client(started, set_as_default=False) as client,
        ):
            yield client
    finally:
        del sys.modules["simcomm"], backends["dgsim"]


def came(client: Client) -> dict[int, list[int]]:
    """Return messages and bytes by level that have come to all workers since the last call."""

    def take() -> dict[int, list[int]]:
        received: dict[int, list[int]] = sys.modules["simcomm"].received
        found = dict(received)
        received.clear()
        return found

    totals = {level: [0, 0] for level in (0, 1)}
    for found in client.run(take).values():
        for level, counts in found.items():
            totals[level] = [a + b for a, b in zip(totals[level], counts, strict=True)]
    return totals


def edges() -> pd.DataFrame:
    rng = np.random.default_rng(5)
    ends = (300 * rng.random((2, 2000)) ** 2).astype(np.int64)
    return pd.DataFrame({"source": ends[0], "target": ends[1]})


def ranks(g: dg.Graph) -> pd.DataFrame:
    found: pd.DataFrame = dg.pagerank(g, max_iter=8, tol=None).compute()
    return found.sort_values("vertex", ignore_index=True)


@pytest.mark.limit(280)
@pytest.mark.slow
def test_all_that_is_counted_passes_the_network(shared: Path) -> None:
    with (
        cluster(1, processes=False) as client,
        client.as_current(),
        dg.from_edges(edges()) as g,
    ):
        wanted = ranks(g)
    rows = [f"{name},{rack}\n" for rack, name in (slot.split(".") for slot in SLOTS)]
    settings = {"dgraph.transport": "comm", "dgraph.cost": "decade"}
    with (
        emulated(shared / "netlab" / "simcomm.py") as client,
        client.as_current(),
        dask.config.set(settings),
    ):
        g = dg.from_edges(edges(), topology="".join(["host,rack\n", *rows]))
        far = g.topology.height
        assert far == g.topology.level("a", "c") > g.topology.level("a", "b")
        frames = {}
        for routing in ("direct", "monitor"):
            came(client)
            with dask.config.set({"dgraph.routing": routing}):
                pd.testing.assert_frame_equal(ranks(g), wanted)
            messages, size = came(client)[1]
            run = g.runs[-1]
            frames[routing] = run.frames[far]
            assert size >= run.bytes[far] > 0
            assert messages >= run.frames[far]
            assert run.seconds > run.supersteps * LATENCY
        assert frames["monitor"] < frames["direct"]
        g.close()
