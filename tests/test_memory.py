"""Memory: what graphs hold is freed, and known before they are built."""

from __future__ import annotations

import gc
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import dask.dataframe as dd
import networkx as nx
import numpy as np
import pandas as pd
import psutil
import pytest
from distributed import Client

import dgraph as dg
from dgraph.build import program
from dgraph.build.meeting import file_edges
from dgraph.shard.memory import give_back
from tests.clusters import asynchronously, cluster, held

NOTHING = (0, 0, 0, 0)


@pytest.fixture(scope="module", params=["embedded", "processes"])
def client(request: pytest.FixtureRequest) -> Iterator[Client]:
    apart = request.param == "processes"
    with cluster(2 if apart else 1, 1 if apart else 2, processes=apart) as client:
        yield client


def shards(client: Client) -> int:
    return sum(count[0] for count in held(client).values())


def wait_until_free(client: Client) -> None:
    end = time.monotonic() + 10
    while set(held(client).values()) != {NOTHING} and time.monotonic() < end:
        time.sleep(0.01)
    assert set(held(client).values()) == {NOTHING}


def test_close_frees_the_shards(client: Client) -> None:
    g = dg.from_edges(nx.karate_club_graph(), client=client)
    levels = dg.bfs(g, 0)
    assert shards(client) == g.slots == 2
    g.close()
    wait_until_free(client)
    assert client.compute(levels).result()["distance"].sum() == 58


def test_a_build_uses_up_its_input(monkeypatch: pytest.MonkeyPatch) -> None:
    left: list[tuple[int, int]] = []
    edges = dd.from_pandas(pd.DataFrame({"source": [1, 2, 3], "target": [2, 3, 4]}), 3)
    with cluster(1, 2, processes=False) as client:
        dg.from_edges(edges, client=client).close()
        local: Any = client.cluster
        (plugin,) = [worker.plugins["dgraph"] for worker in local.workers.values()]

        async def look(ctx: Any, chunks: list[Any], *others: Any) -> Any:
            kept = len(plugin.chunks)
            filed = await file_edges(ctx, chunks, *others)
            left.append((kept, len(chunks)))
            return filed

        monkeypatch.setattr(program, "file_edges", look)
        assert dg.from_edges(edges, client=client).num_edges == 3
    assert left == [(0, 0)] * 2


def test_garbage_collection_frees_the_shards(client: Client) -> None:
    gc.disable()  # counting references is enough: there are no cycles
    try:
        g = dg.from_edges(nx.karate_club_graph(), client=client)
        dg.bfs(g, 0)
        del g
        wait_until_free(client)
    finally:
        gc.enable()


def test_the_end_of_the_client_frees_the_shards(client: Client) -> None:
    with Client(client.cluster, set_as_default=False) as other:
        g = dg.from_edges(nx.karate_club_graph(), client=other)
        assert shards(client) == 2
    wait_until_free(client)
    assert repr(g).startswith("<Graph: 34 vertices")


def test_a_graph_that_is_not_kept_gives_its_result(client: Client) -> None:
    levels = dg.bfs(dg.from_edges(nx.karate_club_graph(), client=client), 0)
    wait_until_free(client)
    assert len(client.compute(levels).result()) == 34


def resident(client: Client) -> int:
    """Return the bytes of all workers, once they have collected their garbage."""
    client.run(gc.collect)
    client.run(give_back, 1 << 30)
    sizes: dict[str, int] = client.run(lambda: psutil.Process(os.getpid()).memory_info().rss)
    return sum(sizes.values())


def growth(apart: bool) -> float:
    """Build and drop graphs on a new cluster; return how many graphs stay in its memory."""
    random = np.random.default_rng(1)
    edges = random.integers(0, 1 << 16, (1 << 17, 2))
    size, before = 0, 0
    with cluster(2 if apart else 1, 1 if apart else 2, processes=apart) as client:
        for number in range(65):
            g = dg.from_edges(edges, client=client)
            size = int(g.memory_usage().sum())
            del g
            if number == 14:  # allocators keep some memory, kernels are loaded
                wait_until_free(client)
                before = resident(client)
        wait_until_free(client)
        return (resident(client) - before) / size


@pytest.mark.slow
@pytest.mark.limit(400)
@pytest.mark.parametrize("apart", [False, True], ids=["embedded", "processes"])
def test_fifty_graphs_leave_the_memory_where_it_was(apart: bool) -> None:
    # In a process of its own: what other tests left in this one must not count.
    program = f"from tests.test_memory import growth; print(growth({apart}))"
    done = subprocess.run(
        [sys.executable, "-c", f"if __name__ == '__main__':\n    {program}"],
        cwd=Path(__file__).parents[1],
        env={**os.environ, "MALLOC_ARENA_MAX": "2"},
        capture_output=True,
        text=True,
        check=True,
    )
    assert float(done.stdout) < 5  # one leaked shard in ten would show


RANDOM = np.random.default_rng(0).integers(0, 3000, (20_000, 2))
FORMS: dict[str, tuple[Any, dict[str, Any]]] = {
    "random": (RANDOM, {}),
    "directed": (RANDOM, {"directed": True}),
    "multigraph": (RANDOM // 100, {"duplicates": "keep"}),
    "merged": (RANDOM // 100, {}),
    "strings": (pd.DataFrame(RANDOM, columns=["source", "target"]).astype(str), {}),
    "float32": (np.c_[RANDOM, RANDOM[:, 0]], {"weight": True}),
    "float64": (
        pd.DataFrame(RANDOM, columns=["source", "target"]).assign(w=RANDOM[:, 0] / 3),
        {"weight": "w"},
    ),
    "isolated": (RANDOM[:100], {"vertices": range(5000)}),
    "loops": (np.c_[np.arange(9000), np.arange(9000)], {"self_loops": "drop"}),
    "narrow": (RANDOM.astype(np.uint16), {}),
    "kronecker": (dg.generate.kronecker(11), {}),
    "empty": (RANDOM[:0], {}),
    "karate": (nx.karate_club_graph(), {}),
}


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("slots", [1, 6])
def test_the_estimate_is_within_20_percent(form: str, slots: int) -> None:
    edges, options = FORMS[form]
    with cluster(1, 2, processes=False) as client, client.as_current():
        estimated = dg.estimate(edges, **options, virtual_slots=slots)
        with dg.from_edges(edges, **options, virtual_slots=slots) as g:
            needed = g.memory_usage()
    assert estimated.index.equals(needed.index)
    assert estimated.sum() == pytest.approx(needed.sum(), rel=0.1, abs=100 * slots)
    assert estimated.max() == pytest.approx(needed.max(), rel=0.2, abs=100)


def test_an_estimate_of_two_numbers(client: Client) -> None:
    for given in ((1000, 5000), [1000, 5000], {"edges": 5000, "vertices": 1000}):
        plain = dg.estimate(given, client=client)
        assert plain.tolist() == dg.estimate((1000, 5000), slots=2, client=client).tolist()
    assert dg.estimate((1000, 5000), weight=True, client=client).sum() > plain.sum()
    assert dg.estimate((0, 0), client=client).max() < 100
    with pytest.raises(ValueError, match="from 0 on"):
        dg.estimate((3, -1), client=client)
    with pytest.raises(TypeError, match="float64"):
        dg.estimate(np.array([[1.5, 2.5]]), client=client)


def test_an_estimate_of_an_asynchronous_client() -> None:
    async def work(client: Client) -> int:
        sizes: Any = await dg.estimate((1000, 5000), client=client)  # type: ignore[misc]
        return len(sizes)

    assert asynchronously(work) == 2


def test_a_graph_survives_that_dask_moves_its_small_results(client: Client) -> None:
    """As `client.rebalance()` does: not the shards, but what they hang on."""
    workers = list(client.scheduler_info()["workers"])
    if len(workers) == 1:
        pytest.skip("needs somewhere to move them to")
    edges = nx.karate_club_graph()
    g = dg.from_edges(edges, client=client)
    levels = dg.bfs(g, 0)
    before = client.compute(levels).result()

    async def move(dask_scheduler: Any) -> None:
        for key, task in list(dask_scheduler.tasks.items()):
            (lies_on,) = [worker.address for worker in task.who_has]
            (other,) = set(workers) - {lies_on}
            await dask_scheduler.gather_on_worker(other, {key: [lies_on]})
            await dask_scheduler.delete_worker_data(lies_on, [key], "test")

    anchors = {key: on for key, on in client.who_has().items() if "-build-" in str(key)}
    assert len(anchors) == 2
    client.run_on_scheduler(move)
    end = time.monotonic() + 10
    moved: Any = {}
    while moved.keys() != anchors.keys() and time.monotonic() < end:
        found = client.who_has()
        moved = {
            key: found[key] for key in anchors if found[key] and found[key] != anchors[key]
        }
    assert moved.keys() == anchors.keys()
    assert client.compute(levels).result().equals(before)
    assert client.compute(dg.bfs(g, 0)).result().equals(before)
    assert shards(client) == 2
    g.close()
    del levels
    wait_until_free(client)
