"""Graphs on a cluster: what a graph tells, its results, and how it is lost."""

from __future__ import annotations

import asyncio
import logging
import os
import pickle
import threading
from typing import Any

import dask.dataframe as dd
import networkx as nx
import numpy as np
import pandas as pd
import pytest
from dask.base import compute
from dask.delayed import delayed
from distributed import Client, Future

import dgraph as dg
from dgraph.errors import EdgeValueError, GraphLostError, OptionError
from tests.clusters import cluster

KARATE = nx.karate_club_graph()


def rows(frame: Any) -> list[tuple[Any, ...]]:
    return sorted(frame.compute().itertuples(index=False, name=None))


def test_figures_and_representations(embedded: Client) -> None:
    g = dg.from_edges(KARATE, weight="weight", slots=2)
    assert (g.num_vertices, g.num_edges, g.slots) == (34, 78, 2)
    assert (g.directed, g.weighted, g.placement, g.id_kind) == (False, True, "degree", "int")
    assert g.topology.slots == 2
    assert repr(g) == "<Graph: 34 vertices, 78 edges, undirected, weighted, 2 slots>"
    assert "<td" in g._repr_html_()
    usage = g.memory_usage()
    assert usage.index.tolist() == [0, 1]
    assert usage.sum() == g.report["bytes"]
    assert set(g.report["seconds"]) >= {"absorb", "build"}
    assert {"slots", "dictionary", "weights"} <= set(g.report["chosen"])
    with pytest.raises(TypeError, match="assignment"):
        g.report["bytes"] = 0  # type: ignore[index]
    with pytest.raises(TypeError, match="save it"):
        pickle.dumps(g)
    assert dict(rows(g.degrees())) == dict(KARATE.degree)


def test_a_graph_in_a_task_is_one_sentence_and_no_noise(
    embedded: Client, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.WARNING)
    g = dg.from_edges(KARATE)
    for use in (
        lambda: delayed(len)(g).compute(),
        lambda: compute(delayed(len)([g])),
        lambda: embedded.submit(len, g),
        lambda: embedded.map(len, [g]),
        lambda: embedded.scatter(g),
        lambda: pickle.dumps(g),
    ):
        with pytest.raises(TypeError, match="into a task: call algorithms on it") as caught:
            use()
        assert isinstance(caught.value, dg.DgraphError)
    # clusters of other tests may still complain, but not of what cannot be pickled
    assert not [some for some in caplog.records if some.name.startswith("distributed.protocol")]


def test_runs_are_records_the_latest_last(embedded: Client) -> None:
    g = dg.from_edges(KARATE)
    dg.bfs(g, 0)
    g.degrees()
    dg.connected_components(g)
    first, last = g.runs
    assert (first.algorithm, last.algorithm) == ("bfs", "connected_components")
    assert first.supersteps >= 3
    assert set(first.frames) == {0}
    assert min(first.seconds, first.launch_seconds, first.output_seconds) > 0
    for record in g.runs:
        steps = record.steps
        assert len(steps) == record.supersteps
        for what in ("frames", "messages", "bytes"):
            assert steps[f"{what}_0"].sum() == getattr(record, what)[0]
    assert last.converged


def test_results_line_up_in_rows_and_partitions(embedded: Client) -> None:
    g = dg.from_edges(KARATE, virtual_slots=5)
    tables = [g.vertices(), g.degrees(), dg.bfs(g, 3), dg.connected_components(g)]
    assert {table.npartitions for table in tables} == {5}
    for number in range(5):
        parts = [table.partitions[number].compute() for table in tables]
        assert len({tuple(part["vertex"]) for part in parts}) == 1
        assert len({tuple(part.index) for part in parts}) == 1
    beside = dd.concat(tables, axis=1)
    assert beside.compute().shape == (34, 1 + 2 + 3 + 2)
    together = tables[1].assign(sum=tables[1].degree + tables[2].distance)
    assert not [key for key in together.optimize().dask if "shuffle" in str(key)]
    whole = [table.compute() for table in tables]
    assert list(whole[0].index) == list(range(34))
    pd.testing.assert_series_equal(
        together.compute()["sum"], whole[1].degree + whole[2].distance, check_names=False
    )
    assert not dg.bfs(dg.from_edges(KARATE, virtual_slots=40), 3).known_divisions
    for table in tables:
        computed = table.compute()
        assert computed.index.is_unique
        pd.testing.assert_frame_equal(computed.iloc[:0], table._meta, check_index_type=False)


def test_results_outlive_the_graph_and_may_be_written_to(embedded: Client) -> None:
    with dg.from_edges(KARATE) as g:
        levels = dg.bfs(g, 0)
        first = levels.compute()
        first.loc[:, "vertex"] = -1
        assert dg.bfs(g, 0).compute()["vertex"].min() == 0
    assert repr(g).endswith("closed>")
    assert levels["distance"].sum().compute() == 58 - 0
    with pytest.raises(GraphLostError, match=r"closed.*from_edges"):
        dg.bfs(g, 0)
    with pytest.raises(GraphLostError, match="closed"):
        g.degrees()
    g.close()


#: Before pandas 3 a column of no strings is one of no objects, which may be anything.
TOLD = pytest.mark.skipif(pd.Series(dtype="str").dtype == object, reason="needs pandas 3")


@pytest.mark.parametrize("ids", ["int64", "uint8", pytest.param("str", marks=TOLD)])
@pytest.mark.parametrize("options", [{}, {"directed": True}, {"slots": 1}])
def test_no_vertices_at_all(embedded: Client, ids: str, options: Any) -> None:
    empty = pd.DataFrame({"source": pd.Series(dtype=ids), "target": pd.Series(dtype=ids)})
    g = dg.from_edges(empty, **options)
    assert (g.num_vertices, g.num_edges) == (0, 0)
    found = dg.connected_components(g)
    assert found.compute().dtypes.to_dict() == {"vertex": empty["source"].dtype} | {
        "component": empty["source"].dtype
    }
    assert len(found) == len(g.vertices()) == len(g.edges()) == len(g.degrees()) == 0
    with pytest.raises(KeyError, match="7"):
        dg.bfs(g, 7)
    with pytest.raises(ValueError, match="at least one source"):
        dg.bfs(g, [])
    assert g.to_scipy().shape == (0, 0)
    assert len(g.to_networkx()) == 0


@pytest.mark.parametrize("source", ["a", 99, 2.0, None, [0, 99], [0, "x"], 2**70, True])
def test_a_source_that_is_no_vertex_is_named(embedded: Client, source: Any) -> None:
    g = dg.from_edges(KARATE)
    with pytest.raises(KeyError) as caught:
        dg.bfs(g, source)
    bad = source[1] if isinstance(source, list) else source
    assert repr(bad) in str(caught.value)
    assert isinstance(caught.value, dg.DgraphError)
    assert g.runs == []
    assert dg.bfs(g, np.int32(0)).compute()["distance"].max() == 3


@pytest.mark.parametrize("seed", range(6))
def test_slots_partitions_and_cluster_change_nothing(
    embedded: Client, processes: Client, seed: int
) -> None:
    # Not drawn by hypothesis: it forbids `random`, which Dask's threads use at the same time.
    random = np.random.default_rng(seed)
    pairs = random.integers(0, random.integers(1, 20), (random.integers(1, 60), 2))
    table = pd.DataFrame(pairs, columns=["source", "target"])
    directed, source = bool(seed % 2), int(pairs[0, 0])
    answers = []
    for client in (embedded, processes):
        lazy = dd.from_pandas(table, npartitions=int(random.integers(1, 6)), sort=False)
        slots = int(random.integers(1, 7))
        with dg.from_edges(lazy, client=client, virtual_slots=slots, directed=directed) as g:
            frames = [dg.bfs(g, source), dg.connected_components(g), g.degrees(), g.edges()]
            found = client.gather(client.compute(frames))
        answers.append([sorted(frame.fillna(-1).itertuples(index=False)) for frame in found])
    assert answers[0] == answers[1]
    graph = (nx.DiGraph if directed else nx.Graph)(pairs.tolist())
    distances = nx.single_source_shortest_path_length(graph, source)
    assert {row[0]: row[1] for row in answers[0][0] if row[1] >= 0} == distances
    assert {row[0]: row[1:] for row in answers[0][2]} == {
        v: (graph.in_degree(v), graph.out_degree(v)) if directed else (graph.degree(v),)
        for v in graph
    }


def test_a_worker_that_dies_loses_the_graph_and_says_so() -> None:
    with cluster(2) as client:
        g = dg.from_edges(KARATE, client=client)
        dg.bfs(g, 0)
        victim = sorted(client.scheduler_info(n_workers=-1)["workers"])[0]
        client.run(_die, workers=[victim])
        for _ in range(2):
            with pytest.raises(GraphLostError, match=r"worker tcp://.*from_edges"):
                _search_for_ever(g)
        assert "lost" in repr(g)
        client.wait_for_workers(2, timeout=60)  # Dask may hang if it closes while one restarts
        again = dg.from_edges(KARATE, client=client)
        assert client.compute(dg.bfs(again, 0)).result()["distance"].max() == 3


def test_a_worker_that_leaves_before_it_gets_edges_is_named(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async def scatter(client: Any, *some: Any, workers: list[str], **options: Any) -> Any:
        await client.scheduler.retire_workers(workers=workers, close_workers=True)
        while await client.scheduler.ncores(workers=workers):
            await asyncio.sleep(0.01)
        return await send(client, *some, workers=workers, **options)

    send: Any = Client.scatter
    with cluster(2, processes=False) as client:
        monkeypatch.setattr(Client, "scatter", scatter)
        with pytest.raises(GraphLostError, match=r"worker .* left .*call from_edges") as caught:
            dg.from_edges(KARATE, client=client)
    assert isinstance(caught.value.__cause__, KeyError)


def test_shards_that_were_cancelled_are_not_called_lost_with_their_workers() -> None:
    with cluster(2, processes=False) as client:
        g = dg.from_edges(KARATE, client=client)
        client.cancel([Future(key, client) for key in client.futures])
        for _ in range(2):
            with pytest.raises(GraphLostError, match=r"Client.cancel .*released .*from_edges"):
                dg.bfs(g, 0)
        assert "lost" in repr(g)
        assert client.compute(dg.bfs(dg.from_edges(KARATE, client=client), 0)).result().size


def _search_for_ever(g: dg.Graph) -> None:
    while True:
        dg.bfs(g, 0)


def _die() -> None:
    threading.Timer(0.05, os._exit, [1]).start()


def test_a_graph_that_is_closed_during_a_run_is_not_called_lost(
    embedded: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    g = dg.from_edges(KARATE, client=embedded)

    async def launch(*_: object) -> None:
        g.close()
        raise GraphLostError("worker a no longer holds its part of the graph")

    monkeypatch.setattr("dgraph.home.launch", launch)
    for _ in range(2):
        with pytest.raises(GraphLostError, match="the graph was closed"):
            dg.bfs(g, 0)
    assert "closed" in repr(g)


def test_edge_value_errors_are_value_errors() -> None:
    assert issubclass(EdgeValueError, ValueError)
    assert issubclass(OptionError, ValueError)


def test_an_iteration_that_does_not_converge_warns_at_the_call(embedded: Client) -> None:
    g = dg.from_edges(KARATE)
    with pytest.warns(dg.ConvergenceWarning, match="in 2 rounds: raise max_iter") as caught:
        ranks = dg.pagerank(g, max_iter=2)
    assert [warning.filename for warning in caught] == [__file__]
    assert not g.runs[-1].converged
    assert ranks["rank"].sum().compute() == pytest.approx(1)
    dg.pagerank(g)
    assert g.runs[-1].converged
