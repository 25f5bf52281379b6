"""Graphs in tasks, and results where their client is not the current one."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pandas as pd
import pytest
from dask.delayed import delayed
from distributed import Client

import dgraph as dg
from dgraph.errors import GraphLostError, OptionTypeError
from tests.clusters import cluster

PATH = np.array([[1, 2], [2, 3]])


@pytest.fixture(scope="module")
def path(client: Client) -> Iterator[dg.Graph]:
    with dg.from_edges(PATH, client=client) as g:
        yield g


@pytest.mark.parametrize(
    "submit",
    [
        lambda client, g: client.submit(lambda: dg.bfs(g, 1)),
        lambda client, g: client.submit(lambda: g.num_vertices, pure=False),
        lambda client, g: client.submit(dg.bfs, g, 1, pure=False),
        lambda client, g: client.map(lambda vertex: dg.bfs(g, vertex), [1])[0],
        lambda client, g: client.compute(delayed(lambda: dg.bfs(g, 1))()),
    ],
)
def test_a_task_says_that_a_graph_cannot_be_there(
    path: dg.Graph,
    client: Client,
    submit: Callable[[Client, dg.Graph], Any],
    caplog: pytest.LogCaptureFixture,
) -> None:
    with caplog.at_level(logging.INFO), pytest.raises(OptionTypeError) as caught:
        submit(client, path).result()
    assert str(caught.value).startswith("a Graph belongs to its client")
    assert "distributed.protocol.pickle" not in {record.name for record in caplog.records}


def test_a_result_is_computed_by_its_client(path: dg.Graph) -> None:
    result = dg.bfs(path, 1)
    assert sorted(result.compute()["distance"]) == [0, 1, 2]
    assert result.persist().npartitions == result.npartitions
    result["distance"] = result["distance"] + 1  # a frame is changed in place
    assert sorted(result.compute()["distance"]) == [1, 2, 3]


def test_any_client_of_the_cluster_computes_a_result(path: dg.Graph, client: Client) -> None:
    assert client.scheduler is not None
    with Client(client.scheduler.address, set_as_default=False) as other, other.as_current():
        assert len(dg.bfs(path, 1).compute()) == 3


def test_a_result_on_another_cluster_is_computed_there(path: dg.Graph, client: Client) -> None:
    result: Any = dg.bfs(path, 1)
    with cluster(1, processes=False) as other, other.as_current():
        assert sorted(result.compute()["distance"]) == [0, 1, 2]
        kept = result.persist()
    with client.as_current():
        assert len(kept) == 3


def test_the_result_of_a_client_that_is_closed_is_told() -> None:
    with cluster(1, processes=False) as client:
        result = dg.bfs(dg.from_edges(PATH, client=client), 1)
    with pytest.raises(GraphLostError, match="client of this result is closed"):
        result.compute()


def test_what_is_derived_of_a_result_is_a_plain_frame(path: dg.Graph, client: Client) -> None:
    result = dg.bfs(path, 1)
    with client.as_current():
        found = result.merge(dg.pagerank(path), on="vertex").compute()
    assert isinstance(found, pd.DataFrame)
    assert type(result[["vertex"]]) is not type(result)
