"""Batches of loaders: prepared ahead, with features, as tensors, and nothing left behind."""

from __future__ import annotations

import gc
import sys
import threading
import time
import types
import warnings
import weakref
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from distributed import Client

import dgraph as dg
from dgraph.errors import OptionError, OptionTypeError, VertexNotFoundError
from tests.clusters import held
from tests.halves import two_halves


def test_a_pipeline_changes_nothing(g: dg.Graph) -> None:
    table = pd.DataFrame({"a": np.arange(120.0), "b": 1.0}, index=np.arange(120))

    def epoch(ahead: int, features: Any) -> list[dg.gnn.Batch]:
        options: Any = {"features": features, "batch_size": 9, "seed": 3, "ahead": ahead}
        loader = dg.gnn.NeighborLoader(g, range(0, 120, 4), [3, 2], **options)
        assert len(loader) == 4
        return [*loader, *loader]

    plain = epoch(0, table)
    assert [batch.number for batch in plain] == list(range(8))
    for ahead, features in ((1, table), (3, lambda ids: np.stack([ids, ids**0], axis=1) * 1.0)):
        for one, other in zip(plain, epoch(ahead, features), strict=True):
            for name in ("number", "vertices", "row", "col", "hop_sizes", "features"):
                np.testing.assert_array_equal(getattr(one, name), getattr(other, name))
    assert plain[0].vertices[:9].tolist() != plain[4].vertices[:9].tolist()


def test_batches_are_the_samples(g: dg.Graph, client: Client) -> None:
    loader = dg.gnn.NeighborLoader(g, [4, 70, 8], [3, -1], batch_size=2, shuffle=False)
    edges = client.compute(
        dg.gnn.sample_neighbors(g, [4, 70, 8], [3, -1], batch_size=2), sync=True
    )
    for batch in loader:
        mine = edges[edges["batch"] == batch.number]
        pairs = zip(batch.vertices[batch.row], batch.vertices[batch.col], strict=True)
        assert sorted(pairs) == sorted(zip(mine["source"], mine["target"], strict=True))
        assert batch.seeds == batch.hop_sizes[0]
        assert sum(batch.hop_sizes) == len(batch.vertices) == len(set(batch.vertices))
        assert batch.features is None


def test_a_seed_that_is_named_twice_counts_once(g: dg.Graph) -> None:
    loader = dg.gnn.NeighborLoader(g, [4, 70, 4], [2], shuffle=False)
    (batch,) = loader
    assert batch.seeds == 2
    assert batch.vertices[:2].tolist() == [4, 70]


def test_names_and_seeds_without_neighbours(client: Client) -> None:
    edges = pd.DataFrame({"source": ["a", "b"], "target": ["b", "c"]})
    with dg.from_edges(edges, vertices=["a", "b", "c", "d"], client=client) as graph:
        loader = dg.gnn.NeighborLoader(graph, ["d", "a"], [2], batch_size=1, shuffle=False)
        assert [batch.vertices.tolist() for batch in loader] == [["d"], ["a", "b"]]
        tablets = dg.gnn.make_tablets(graph, ["d", "a"], [[0], [1]])
        assert sorted(np.concatenate(tablets.of_device)) == ["a", "d"]


def test_a_batch_that_fails_is_said_where_it_is_used(g: dg.Graph) -> None:
    table = pd.DataFrame({"a": [1.0]}, index=[4])
    loader = dg.gnn.NeighborLoader(g, [4], [3], features=table)
    with pytest.raises(VertexNotFoundError, match="features of every vertex"):
        next(iter(loader))


def test_tensors_share_the_arrays(monkeypatch: pytest.MonkeyPatch) -> None:
    row = np.array([1])
    batch = dg.gnn.Batch(0, np.array([7, 9]), row, row - 1, (1, 1), 1, np.ones((2, 3)))
    monkeypatch.setitem(sys.modules, "torch", None)
    with pytest.raises(OptionError, match="pip install torch"):
        batch.to_torch()
    monkeypatch.setitem(sys.modules, "torch", types.SimpleNamespace(from_numpy=lambda a: a))
    found = batch.to_torch()
    assert found["edge_index"].tolist() == [[1], [0]]
    assert found["x"] is batch.features
    assert found["batch_size"] == 1


def as_tuples(batches: Any) -> list[Any]:
    """Return batches as what can be compared."""
    return [
        (
            batch.number,
            batch.vertices.tolist(),
            batch.row.tolist(),
            batch.col.tolist(),
            batch.hop_sizes,
            batch.hop_edges,
        )
        for batch in batches
    ]


@pytest.mark.parametrize(("slots", "placement"), [(1, "hash"), (2, "chunk"), (5, "degree")])
def test_batches_are_the_same_for_any_slots_and_placement(
    g: dg.Graph, client: Client, slots: int, placement: str
) -> None:
    def epoch(graph: dg.Graph, seed: int) -> list[Any]:
        options: Any = {"batch_size": 15, "seed": seed}
        return as_tuples(dg.gnn.NeighborLoader(graph, range(0, 120, 3), [3, 2], **options))

    with two_halves(client, slots, placement=placement) as other:
        assert epoch(other, 4) == epoch(g, 4)
        assert epoch(other, 5) != epoch(g, 4)


def test_hops_that_reach_nothing_are_counted_too(client: Client) -> None:
    edges = pd.DataFrame({"source": [2], "target": [1]})
    with dg.from_edges(edges, directed=True, client=client) as graph:
        (batch,) = dg.gnn.NeighborLoader(graph, [1], [2, 2, 2])
        assert (batch.hop_sizes, batch.hop_edges) == ((1, 1, 0, 0), (1, 0, 0))
        table = pd.DataFrame({"x": [5, 6]}, index=[1, 2])
        (batch,) = dg.gnn.NeighborLoader(graph, [2], [2], features=table)
        assert batch.features is not None
        assert (batch.hop_sizes, batch.features.tolist()) == ((1, 0), [[6]])


def test_out_edges_are_the_in_edges_of_the_graph_turned_round(client: Client) -> None:
    ends = np.random.default_rng(5).integers(0, 40, (2, 150))
    table = pd.DataFrame({"source": ends[0], "target": ends[1]})
    turned = pd.DataFrame({"source": ends[1], "target": ends[0]})
    options: Any = {"batch_size": 3, "seed": 2}
    with (
        dg.from_edges(table, directed=True, client=client) as graph,
        dg.from_edges(turned, directed=True, client=client) as other,
    ):
        seeds = np.unique(ends)[::4]
        outwards = dg.gnn.NeighborLoader(graph, seeds, [3, 2], direction="out", **options)
        assert as_tuples(outwards) == as_tuples(
            dg.gnn.NeighborLoader(other, seeds, [3, 2], **options)
        )
        with pytest.raises(OptionError, match="direction must be 'in' or 'out', not 'both'"):
            dg.gnn.NeighborLoader(graph, seeds, direction="both")


def test_seeds_that_are_a_table_or_a_matrix_are_refused(g: dg.Graph) -> None:
    table = pd.DataFrame({"vertex": [4, 70]})
    for seeds in (table, pa.table({"vertex": [4, 70]})):
        with pytest.raises(OptionTypeError, match=r"got a (DataFrame|Table); pass one of its"):
            dg.gnn.NeighborLoader(g, seeds)
        with pytest.raises(OptionTypeError, match=r"frame\['vertex'\]"):
            dg.bfs(g, seeds)
    with pytest.raises(VertexNotFoundError, match=r"got \[4, 70\]; flatten the list or array"):
        dg.gnn.NeighborLoader(g, np.array([[4, 70], [8, 9]]))


def test_seeds_of_loaders_come_in_any_form(g: dg.Graph) -> None:
    one: Any = 3
    wanted = as_tuples(dg.gnn.NeighborLoader(g, [4, 70], [3]))
    for seeds in (np.array([4, 70], np.int16), pd.Series([4, 70]), pa.array([4, 70])):
        assert as_tuples(dg.gnn.NeighborLoader(g, seeds, one)) == wanted
    loader = dg.gnn.NeighborLoader(g, [])  # a device whose tablet is empty
    assert (len(loader), list(loader)) == (0, [])


@pytest.mark.parametrize("held_vertices", [range(0), range(0, 120, 2), range(120)])
def test_a_cache_changes_no_features_and_counts_hits(g: dg.Graph, held_vertices: range) -> None:
    table = pd.DataFrame({"a": np.arange(120.0), "b": 1.0}, index=np.arange(120))
    asked: list[int] = []

    def store(vertices: Any) -> Any:
        asked.extend(vertices.tolist())
        return table.loc[vertices].to_numpy()

    cache = dg.gnn.FeatureCache(store, held_vertices)
    assert asked == [*held_vertices]
    assert cache.nbytes == 16 * len(held_vertices)
    options: Any = {"batch_size": 9, "seed": 3}
    plain = list(dg.gnn.NeighborLoader(g, range(40), [3, 2], features=table, **options))
    found = list(dg.gnn.NeighborLoader(g, range(40), [3, 2], features=cache, **options))
    for one, other in zip(plain, found, strict=True):
        np.testing.assert_array_equal(one.features, other.features)
    read = np.concatenate([batch.vertices for batch in plain])
    assert cache.reads == len(read)
    assert cache.hits == sum(vertex in held_vertices for vertex in read.tolist())
    missed = [vertex for vertex in read.tolist() if vertex not in held_vertices]
    assert sorted(asked[len(held_vertices) :]) == sorted(missed)


def nothing_waits(client: Client) -> bool:
    """Return whether workers hold shards only: no chunks, outputs or runs."""
    return not any(any(counts[1:]) for counts in held(client).values())


def wait_until(ready: Callable[[], bool]) -> None:
    """Wait for what clients and workers do in their own time."""
    end = time.monotonic() + 30
    while not ready() and time.monotonic() < end:
        time.sleep(0.01)
    assert ready()


def test_fifty_loaders_leave_nothing_behind(client: Client) -> None:
    table = pd.DataFrame({"a": np.arange(120.0)}, index=np.arange(120))
    with two_halves(client) as graph:
        options: Any = {"features": table, "batch_size": 1}
        list(dg.gnn.NeighborLoader(graph, range(2), [1], **options))
        gc.collect()
        wait_until(lambda: nothing_waits(client))
        before = len(client.futures)
        alive = []
        for turn in range(50):
            ahead = turn % 3
            loader = dg.gnn.NeighborLoader(graph, range(3), [1], ahead=ahead, **options)
            batches = iter(loader)
            next(batches)  # most are left in the middle of an epoch
            if turn % 10 == 0:
                list(batches)
            alive.append(weakref.ref(loader))
        del loader, batches
        gc.collect()
        assert not any(one() for one in alive)
        wait_until(lambda: nothing_waits(client) and len(client.futures) == before)
        names = [thread.name for thread in threading.enumerate()]
        assert not [name for name in names if name.startswith("dgraph-")]
        gone = weakref.ref(graph)
    del graph
    gc.collect()
    assert gone() is None


def batch_of_two() -> dg.gnn.Batch:
    row = np.array([1])
    features = np.ones((2, 3), np.float32)
    return dg.gnn.Batch(0, np.array([7, 9]), row, row - 1, (1, 1), 1, features, (1,))


def test_data_is_what_pyg_wants(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "torch", types.SimpleNamespace(from_numpy=lambda a: a))
    monkeypatch.setitem(sys.modules, "torch_geometric", None)
    monkeypatch.setitem(sys.modules, "torch_geometric.data", None)
    with pytest.raises(OptionError, match="pip install torch_geometric"):
        batch_of_two().to_data()
    monkeypatch.setitem(
        sys.modules, "torch_geometric.data", types.SimpleNamespace(Data=types.SimpleNamespace)
    )
    data = batch_of_two().to_data()
    assert data.n_id.tolist() == [7, 9]
    assert (data.num_nodes, data.batch_size) == (2, 1)
    assert (data.num_sampled_nodes, data.num_sampled_edges) == ([1, 1], [1])


def test_a_model_of_pyg_says_of_seeds_what_it_says_on_the_whole_graph(
    g: dg.Graph, client: Client
) -> None:
    torch = pytest.importorskip("torch", reason="torch is not installed")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of its own modules
        reason = "torch_geometric is not installed"
        nn = pytest.importorskip("torch_geometric.nn", reason=reason)
        trim = pytest.importorskip("torch_geometric.utils", reason=reason).trim_to_layer
    values = np.random.default_rng(1).random((120, 8), np.float32)
    table = pd.DataFrame(values, index=np.arange(120))
    ends = client.compute(g.edges(), sync=True).to_numpy().T
    ends = np.concatenate([ends, ends[::-1, ends[0] != ends[1]]], axis=1)
    torch.manual_seed(0)
    layers = [nn.SAGEConv(8, 5), nn.SAGEConv(5, 3)]
    edges = torch.from_numpy(np.ascontiguousarray(ends))
    wanted = layers[1](layers[0](torch.from_numpy(values), edges).relu(), edges)
    loader = dg.gnn.NeighborLoader(g, range(120), [-1, -1], features=table, batch_size=32)
    for data in loader.data():
        assert data.validate()
        x, edges, counts = (
            data.x,
            data.edge_index,
            (data.num_sampled_nodes, data.num_sampled_edges),
        )
        for at, layer in enumerate(layers):
            x, edges, _ = trim(at, *counts, x, edges)
            x = layer(x, edges).relu() if at == 0 else layer(x, edges)
        torch.testing.assert_close(x[: data.batch_size], wanted[data.n_id[: data.batch_size]])
