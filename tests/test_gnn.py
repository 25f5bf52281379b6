"""Sampling, tablets and caches for graph neural networks, against stupid oracles."""

from __future__ import annotations

import gc
import sys
import types
import weakref
from collections.abc import Iterator
from itertools import pairwise
from typing import Any

import numpy as np
import pandas as pd
import pytest
from distributed import Client
from hypothesis import given, settings
from hypothesis import strategies as st

import dgraph as dg
from dgraph.engine.pool import run
from dgraph.errors import OptionError, OptionTypeError, VertexNotFoundError
from dgraph.gnn.cache import row_bytes
from dgraph.gnn.candidates import settle
from dgraph.gnn.drawing import draw
from dgraph.gnn.sampling import _sample_slot
from dgraph.gnn.tablets import even
from dgraph.gnn.walking import Seeds
from dgraph.topology import Topology
from tests.clusters import asynchronously, cluster
from tests.reference import PlainGraph
from tests.strategies import Spread, spread_graphs

CLIQUES = [[0, 1], [2, 3]]
HALF: Any = 0.5


@pytest.fixture(scope="module")
def client() -> Iterator[Client]:
    with cluster(1, threads=2, processes=False) as client:
        yield client


@pytest.fixture(scope="module")
def g(client: Client) -> Iterator[dg.Graph]:
    """Return two dense halves of 60 vertices, with few edges between them."""
    draw = np.random.default_rng(5)
    half = draw.integers(0, 2, 900)
    ends = draw.integers(0, 60, (900, 2)) + 60 * half[:, None]
    across = draw.integers(0, 60, (12, 2)) + np.array([0, 60])
    edges = pd.DataFrame(np.concatenate([ends, across]), columns=["source", "target"])
    with dg.from_edges(edges, virtual_slots=3, client=client) as graph:
        yield graph


# Sampling


def sampled(
    graph: PlainGraph, spread: Spread, seeds: list[int], batches: list[int], fanouts: list[int]
) -> pd.DataFrame:
    """Return what all slots have drawn; seeds are numbers of vertices, in sorted order."""
    ids = graph.ids.take(np.array(seeds, np.int64))
    asked = Seeds(ids, np.array(batches, np.int64), tuple(fanouts), 7)
    parts = run(_sample_slot, spread.shards(graph), [asked] * spread.slots, slots=spread.slots)
    names = ["batch", "hop", "target", "source"]
    found: pd.DataFrame = pd.concat(parts).sort_values(names, ignore_index=True)[names]
    return found


def in_neighbours(graph: PlainGraph) -> dict[Any, list[Any]]:
    """Return the row of in-edges of each vertex; a loop of an undirected graph stands once."""
    ids = graph.ids.to_list()
    rows: dict[Any, list[Any]] = {vertex: [] for vertex in ids}
    for u, v in zip(graph.source.tolist(), graph.target.tolist(), strict=True):
        rows[ids[v]].append(ids[u])
        if not graph.directed and u != v:
            rows[ids[u]].append(ids[v])
    return rows


@given(drawn=spread_graphs(least=1), data=st.data())
@settings(max_examples=60)
def test_a_sample_is_drawn_hop_by_hop_without_repetition(
    drawn: tuple[PlainGraph, Spread], data: st.DataObject
) -> None:
    graph, spread = drawn
    vertex = st.integers(0, graph.n - 1)
    seeds = data.draw(st.lists(st.tuples(vertex, st.integers(0, 2)), min_size=1, max_size=6))
    fanouts = data.draw(st.lists(st.sampled_from([-1, 1, 2, 3]), min_size=1, max_size=3))
    found = sampled(graph, spread, [v for v, _ in seeds], [of for _, of in seeds], fanouts)
    rows, ids = in_neighbours(graph), graph.ids.to_list()
    for batch in {batch for _, batch in seeds}:
        front = {ids[v] for v, of in seeds if of == batch}
        reached = set(front)
        mine = found[found["batch"] == batch]
        for hop, fanout in enumerate(fanouts, start=1):
            step = mine[mine["hop"] == hop].groupby("target")["source"].apply(list)
            assert set(step.index) == {vertex for vertex in front if rows[vertex]}
            for target, sources in step.items():
                row = rows[target]
                wanted = len(row) if fanout < 0 else min(fanout, len(row))
                assert len(sources) == wanted
                assert all(sources.count(one) <= row.count(one) for one in sources)
            front = {one for some in step for one in some} - reached
            reached |= front
    assert set(found["batch"]) <= {batch for _, batch in seeds}


@given(drawn=spread_graphs(least=1), data=st.data())
@settings(max_examples=40)
def test_a_sample_depends_on_neither_slots_nor_other_batches(
    drawn: tuple[PlainGraph, Spread], data: st.DataObject
) -> None:
    graph, spread = drawn
    one = Spread(1, np.zeros(graph.n, np.int64), np.array([0, graph.n]))
    seeds = data.draw(st.lists(st.integers(0, graph.n - 1), min_size=2, max_size=5))
    batches = [0, *[1] * (len(seeds) - 1)]
    many = sampled(graph, spread, seeds, batches, [2, 1])
    pd.testing.assert_frame_equal(many, sampled(graph, one, seeds, batches, [2, 1]))
    alone = sampled(graph, spread, seeds[:1], [0], [2, 1])
    pd.testing.assert_frame_equal(many[many["batch"] == 0].reset_index(drop=True), alone)


def test_every_entry_is_as_likely_as_any_other() -> None:
    offsets, targets = np.array([0, 8]), np.arange(8)
    batches = np.arange(4000)
    rows = np.zeros_like(batches)
    _, drawn = draw(offsets, targets, np.arange(8), rows, batches, 3, seed=3)
    counts = np.bincount(drawn, minlength=8)
    assert counts.sum() == 12000
    assert np.abs(counts - 1500).max() < 150  # five deviations
    pairs = drawn.reshape(-1, 3)
    assert (pairs[:, :-1] < pairs[:, 1:]).all()


@pytest.mark.parametrize("rhizomes", [None, 4])
def test_split_rows_are_sampled_whole(client: Client, rhizomes: int | None) -> None:
    edges = pd.DataFrame({"source": np.arange(1, 41), "target": 0})
    options: dict[str, Any] = {"virtual_slots": 4, "client": client, "directed": True}
    with dg.from_edges(edges, rhizome_max=rhizomes, **options) as star:
        found = client.compute(dg.gnn.sample_neighbors(star, [[0], [0]], [5]), sync=True)
        again = client.compute(dg.gnn.sample_neighbors(star, [[0], [0]], [5]), sync=True)
        assert star.runs[-1].algorithm == "sample_neighbors"
    pd.testing.assert_frame_equal(found, again)
    first, second = (set(found["source"][found["batch"] == batch]) for batch in (0, 1))
    assert len(first) == len(second) == 5
    assert first == {*found["source"][found["batch"] == 0]} != second


@pytest.mark.parametrize(
    ("call", "error", "says"),
    [
        (lambda g: dg.gnn.sample_neighbors(g, [999]), VertexNotFoundError, "999"),
        (lambda g: dg.gnn.sample_neighbors(g, [0], [0]), OptionError, "fanouts"),
        (lambda g: dg.gnn.sample_neighbors(g, [0], []), OptionError, "fanouts"),
        (lambda g: dg.gnn.sample_neighbors(g, [0], [HALF]), OptionTypeError, "fanouts"),
        (lambda g: dg.gnn.sample_neighbors(g, [0], batch_size=0), OptionError, "batch_size"),
        (lambda g: dg.gnn.make_tablets(g, [0, 999]), VertexNotFoundError, "999"),
        (lambda g: dg.gnn.make_tablets(g, [0], [[0], [2]]), OptionError, "cliques"),
        (lambda g: dg.gnn.compare(g, [0], budget=1, layouts=["x"]), OptionError, "layouts"),
        (lambda g: dg.gnn.compare(g, [0], budget=1, alpha=2.0), OptionError, "alpha"),
        (lambda g: dg.gnn.Room(1, 1, alpha=-HALF), OptionError, "alpha"),
        (
            lambda g: dg.gnn.plan_cache(
                [1], [1], [1], dimension=1, transactions=1, budget=1, alpha=2.0
            ),
            OptionError,
            "alpha",
        ),
        (lambda g: dg.gnn.NeighborLoader(g, [0], features=[1]), OptionTypeError, "features"),
        (lambda g: dg.gnn.candidates([[1]], "any"), OptionError, "policy"),
    ],
)
def test_wrong_options_say_what_is_allowed(
    g: dg.Graph, call: Any, error: type[Exception], says: str
) -> None:
    with pytest.raises(error, match=says):
        call(g)


def test_an_asynchronous_client_gets_awaitables() -> None:
    async def work(client: Client) -> None:
        edges = pd.DataFrame({"source": [1, 2], "target": [2, 3]})
        making: Any = dg.from_edges(edges, client=client)
        g = await making
        found = await client.compute(await dg.gnn.sample_neighbors(g, [2], [-1]))
        assert sorted(found["source"]) == [1, 3]
        coming: Any = dg.gnn.presample(g, [[[1]], [[3]]], [-1, -1])
        assert (await coming).features.tolist() == [[1, 1, 1]] * 2
        g.close()

    asynchronously(work)


# Tablets


@given(
    parts=st.lists(st.integers(0, 2), max_size=30),
    more=st.lists(st.integers(0, 5), min_size=3, max_size=3),
)
def test_evening_moves_only_what_is_too_many(parts: list[int], more: list[int]) -> None:
    most = np.array(more) + -(-len(parts) // 3)
    found = even(np.array(parts, np.int64), most)
    had, has = (np.bincount(np.array(some, np.int64), minlength=3) for some in (parts, found))
    assert (has <= most).all()
    assert (found != parts).sum() == np.maximum(had - most, 0).sum()


@pytest.mark.parametrize("cliques", [[[0, 1, 2, 3]], CLIQUES, [[0], [1, 2]]])
def test_tablets_are_disjoint_and_even_and_keep_regions_together(
    g: dg.Graph, cliques: list[list[int]]
) -> None:
    training = list(range(0, 120, 3))
    tablets = dg.gnn.make_tablets(g, training, cliques)
    assert sorted(np.concatenate(tablets.of_device).tolist()) == training
    devices = sum(map(len, cliques))
    for clique in cliques:
        sizes = [len(tablets.of_device[device]) for device in clique]
        assert max(sizes) - min(sizes) <= 1
        assert sum(sizes) <= np.ceil(1.03 * len(training) * len(clique) / devices)
    if cliques == CLIQUES:
        halves = [np.concatenate(tablets.of_device[2 * c : 2 * c + 2]) // 60 for c in (0, 1)]
        assert sorted(int(some[0]) for some in halves) == [0, 1]
        assert all((some == some[0]).all() for some in halves)


def test_batches_are_shuffled_tablets(g: dg.Graph) -> None:
    tablets = dg.gnn.make_tablets(g, range(50), Topology.from_fanouts([2, 2]))
    assert tablets.cliques == ((0, 1), (2, 3))
    for shuffle in ("local", "global"):
        first = tablets.batches(4, shuffle=shuffle)
        again = tablets.batches(4, shuffle=shuffle)
        other = tablets.batches(4, epoch=1, shuffle=shuffle)
        flat, same, then = (
            [batch.tolist() for device in some for batch in device]
            for some in (first, again, other)
        )
        assert flat == same != then
        for some in (flat, then):
            assert sorted(vertex for batch in some for vertex in batch) == list(range(50))
        assert {len(batch) for device in first for batch in device[:-1]} == {4}
    for own, batches in zip(tablets.of_device, tablets.batches(4), strict=True):
        assert sorted(own) == sorted(np.concatenate(batches))


# Pre-sampling


def test_hotness_is_what_samples_say(g: dg.Graph, client: Client) -> None:
    tablets = dg.gnn.make_tablets(g, range(0, 120, 5), CLIQUES)
    batches = tablets.batches(3, seed=2)
    hot = dg.gnn.presample(g, batches, [3, 2], seed=9)
    flat = [batch for some in batches for batch in some]
    device = np.repeat(range(4), [len(some) for some in batches])
    edges = client.compute(dg.gnn.sample_neighbors(g, flat, [3, 2], seed=9), sync=True)
    at = {vertex: place for place, vertex in enumerate(hot.vertices)}
    topology, features, lines = np.zeros((3, 4, len(at)), int)
    for (batch, target), some in edges.groupby(["batch", "target"]):
        topology[device[batch], at[target]] += len(some)
        lines[device[batch], at[target]] += -(-(8 + 4 * len(some)) // 64)
    for batch, seeds in enumerate(flat):
        for vertex in {*seeds.tolist(), *edges["source"][edges["batch"] == batch]}:
            features[device[batch], at[vertex]] += 1
    np.testing.assert_array_equal(hot.topology, topology)
    np.testing.assert_array_equal(hot.features, features)
    np.testing.assert_array_equal(hot.transactions, lines)
    degree = client.compute(g.degrees(), sync=True).set_index("vertex")["degree"]
    by_order = sorted(at, key=lambda vertex: (-degree[vertex], vertex))
    assert by_order == hot.vertices.tolist()


# Candidates and the cache

HEAT = st.integers(1, 3).flatmap(
    lambda devices: st.lists(
        st.lists(st.integers(0, 9), min_size=devices, max_size=devices), max_size=12
    ).map(lambda rows: np.array(rows, np.int64).reshape(-1, devices).T)
)


@given(HEAT, st.sampled_from(["local", "interleave"]))
def test_queues_of_devices_are_the_queue(heat: Any, policy: str) -> None:
    queue, devices = dg.gnn.candidates(heat, policy)
    total = heat.sum(axis=0)
    assert queue.tolist() == sorted(range(total.size), key=lambda v: (-total[v], v))
    assert sorted(np.concatenate(devices).tolist()) == list(range(total.size))
    place = {v: at for at, v in enumerate(queue.tolist())}
    for device, own in enumerate(devices):
        assert all(place[a] < place[b] for a, b in pairwise(own.tolist()))
        if policy == "local":
            assert all(heat[device, v] == heat[:, v].max() for v in own)
        else:
            assert own.tolist() == queue.tolist()[device :: len(heat)]


def test_the_candidates_of_the_seeds() -> None:
    heat = np.array([[5, 1, 0, 3], [2, 4, 0, 3]])
    hits = {}
    for policy in ("local", "interleave"):
        queue, devices = dg.gnn.candidates(heat, policy)
        hits[policy] = sum(int(heat[g, own].sum()) for g, own in enumerate(devices))
        assert queue.tolist() == [0, 3, 1, 2]
    assert hits == {"local": 12, "interleave": 9}


@given(HEAT, st.data())
def test_what_is_settled_has_room(heat: Any, data: st.DataObject) -> None:
    n = heat.shape[1]
    size = np.array(data.draw(st.lists(st.integers(1, 9), min_size=n, max_size=n)), np.int64)
    room = st.lists(st.integers(0, 30), min_size=len(heat), max_size=len(heat))
    given_room = np.array(data.draw(room), np.int64)
    queue = dg.gnn.candidates(heat)[0]
    where = settle(heat, queue, size, given_room)
    left = given_room.copy()
    for v in queue.tolist():
        fits = [device for device in range(len(heat)) if left[device] >= size[v]]
        if not fits:
            assert (where[queue[queue.tolist().index(v) :]] == -1).all()
            break
        assert where[v] == max(fits, key=lambda device: (heat[device, v], -device))
        left[where[v]] -= size[v]


@given(
    st.lists(st.tuples(*[st.integers(0, 20)] * 3), min_size=1, max_size=12),
    st.integers(0, 900),
    st.integers(1, 40),
    st.integers(0, 500),
)
def test_a_plan_is_the_best_of_all_hundredths(
    rows: list[tuple[int, int, int]], budget: int, dimension: int, lines: int
) -> None:
    heat_t, heat_f, neighbours = np.array(rows).T
    plan = dg.gnn.plan_cache(
        heat_t, heat_f, neighbours, dimension=dimension, transactions=lines, budget=budget
    )

    def filled(heat: Any, size: Any, room: int) -> set[int]:
        held = set()
        for v in sorted(range(len(heat)), key=lambda v: (-heat[v], v)):
            room -= int(size[v])
            if room < 0:
                break
            held.add(v)
        return held

    def left(hundredths: int) -> float:
        for_rows = hundredths * budget // 100
        has_t = filled(heat_t, row_bytes(neighbours), for_rows)
        has_f = filled(heat_f, np.full(len(rows), 4 * dimension), budget - for_rows)
        out_t = sum(int(h) for v, h in enumerate(heat_t) if v not in has_t)
        out_f = sum(int(h) for v, h in enumerate(heat_f) if v not in has_f)
        return lines / max(int(heat_t.sum()), 1) * out_t + -(-4 * dimension // 64) * out_f

    tried = [left(hundredths) for hundredths in range(101)]
    assert plan.curve["transactions"].tolist() == tried
    assert plan.transactions == min(tried)
    assert plan.alpha == tried.index(min(tried)) / 100


def test_the_plan_of_the_seeds() -> None:
    heat: Any = ([6, 3, 1], [5, 4, 1], [4, 2, 1])
    options: Any = {"dimension": 32, "transactions": 20}
    curve = dg.gnn.plan_cache(*heat, budget=280, **options).curve["transactions"]
    assert curve.iloc[[0, 9, 19]].tolist() == [22, 18, 10]
    assert curve.idxmin() == 19
    assert dg.gnn.plan_cache(*heat, budget=10**6, **options).transactions == 0


# Layouts and measures


@pytest.fixture(scope="module")
def epochs(g: dg.Graph) -> tuple[dg.gnn.Hotness, dg.gnn.Hotness]:
    tablets = dg.gnn.make_tablets(g, range(0, 120, 2), CLIQUES)
    first, second = (
        dg.gnn.presample(g, tablets.batches(5, epoch=epoch), [4, 3], seed=epoch)
        for epoch in (0, 1)
    )
    return first, second


@pytest.mark.parametrize("name", dg.gnn.LAYOUTS)
@pytest.mark.parametrize("alpha", [None, 0.25])
def test_caches_keep_to_their_budgets_and_all_reads_are_counted(
    epochs: tuple[dg.gnn.Hotness, dg.gnn.Hotness], name: str, alpha: float | None
) -> None:
    hot, later = epochs
    room = dg.gnn.Room(budget=12_000, dimension=32, alpha=alpha)
    held = dg.gnn.lay_out(name, hot, CLIQUES, room)
    assert held is not None
    used = held.rows @ row_bytes(hot.neighbours) + held.features.sum(axis=1) * 4 * 32
    assert (used <= room.budget).all()
    lines = dg.gnn.traffic(held, later, CLIQUES, 32)
    read = later.transactions.sum(axis=1) + 2 * later.features.sum(axis=1)
    assert lines.sum(axis=1).tolist() == read.tolist()
    if not held.linked:
        assert (lines[:, :-1] == np.diag(np.diag(lines[:, :-1]))).all()
    for a, b in [(0, 2), (1, 3)]:  # of different cliques
        assert lines[a, b] == lines[b, a] == 0
    rates = dg.gnn.hit_rates(held, later, CLIQUES)
    assert ((rates >= 0) & (rates <= 1)).all()
    assert name != "none" or (rates == 0).all()


def test_predicted_reads_are_counted_in_the_epoch_that_was_sampled(
    epochs: tuple[dg.gnn.Hotness, dg.gnn.Hotness],
) -> None:
    hot, later = epochs
    room = dg.gnn.Room(budget=3000, dimension=32)
    same = dg.gnn.predict(hot, hot, CLIQUES, room, [0.0, 0.2, 0.5, 1.0])
    # a whole clique's cache is planned, but filled device by device, in whole vertices
    assert (same["predicted"] / same["counted"]).between(0.8, 1.1).all()
    next_epoch = dg.gnn.predict(hot, later, CLIQUES, room, [0.0, 0.2, 0.5, 1.0])
    assert (next_epoch["predicted"] / next_epoch["counted"]).between(0.75, 1.25).all()


def test_legion_hits_most_and_saves_most(g: dg.Graph) -> None:
    options: Any = {"budget": 2560, "dimension": 64, "fanouts": [4, 3], "batch_size": 5}
    training = pd.Series(range(0, 120, 2))
    table = dg.gnn.compare(g, training, CLIQUES, alpha=0.0, **options)
    assert table["layout"].tolist() == list(dg.gnn.LAYOUTS)
    rate = table.set_index("layout")["hit_rate"]
    assert rate["legion"] == rate["topo_cpu"] >= rate["quiver_plus"]
    assert rate["legion"] >= rate["pagraph_plus"] > rate["gnnlab"] > rate["none"] == 0
    relative = table.set_index("layout")["relative"]
    assert relative["legion"] == relative.drop("topo_gpu").min()
    assert np.isnan(relative["topo_gpu"])  # all rows do not fit


def test_one_clique_is_dealt_as_quiver_does(g: dg.Graph) -> None:
    table = dg.gnn.compare(
        g,
        range(0, 120, 2),
        [[0, 1, 2, 3]],
        budget=2560,
        dimension=64,
        fanouts=[4, 3],
        layouts=["legion", "quiver_plus"],
        alpha=0.0,
        batch_size=100,  # a device has one batch: the shuffle is that of devices
    )
    legion, quiver = table["hit_rate"]
    assert legion == pytest.approx(quiver, abs=0.03)


def test_a_comparison_keeps_nothing(client: Client) -> None:
    graph = dg.from_edges(dg.generate.grid(4, 4), client=client)
    dg.gnn.compare(graph, range(16), [[0]], budget=64, fanouts=[2], layouts=["gnnlab"])
    gone = weakref.ref(graph)
    graph.close()
    del graph
    gc.collect()
    assert gone() is None


# Batches


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


def test_seeds_come_in_any_form(client: Client, g: dg.Graph) -> None:
    import dask.array as da
    import pyarrow as pa

    def drawn(seeds: Any, fanouts: Any = (3,)) -> Any:
        return client.compute(dg.gnn.sample_neighbors(g, seeds, fanouts)).result()

    wanted, array = drawn([3]), np.array([3])
    with client.as_current():
        for seeds in (3, np.array(3), array, pa.scalar(3), pa.array([3]), da.from_array(array)):
            pd.testing.assert_frame_equal(drawn(seeds), wanted)
    pd.testing.assert_frame_equal(drawn([3], 3), wanted)
    with pytest.raises(OptionError, match="expected fanouts of at least 1"):
        drawn([3], 0)
