"""Samples of neighbourhoods, and what is counted of them, against stupid oracles."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import pytest
from distributed import Client
from hypothesis import given, settings
from hypothesis import strategies as st

import dgraph as dg
from dgraph.engine.pool import run
from dgraph.errors import OptionError, OptionTypeError
from dgraph.gnn.drawing import draw
from dgraph.gnn.sampling import _sample_slot
from dgraph.gnn.walking import Seeds
from tests.clusters import asynchronously
from tests.halves import CLIQUES
from tests.reference import PlainGraph
from tests.strategies import Spread, spread_graphs


def sampled(
    graph: PlainGraph,
    spread: Spread,
    seeds: list[int],
    batches: list[int],
    fanouts: list[int],
    outward: bool = False,
) -> pd.DataFrame:
    """Return what all slots have drawn; seeds are numbers of vertices, in sorted order."""
    ids = graph.ids.take(np.array(seeds, np.int64))
    asked = Seeds(ids, np.array(batches, np.int64), tuple(fanouts), 7, outward)
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


@given(drawn=spread_graphs(least=1), fanout=st.sampled_from([-1, 1, 2]))
@settings(max_examples=40)
def test_outward_is_inward_in_the_reversed_graph(
    drawn: tuple[PlainGraph, Spread], fanout: int
) -> None:
    graph, spread = drawn
    turned = replace(graph, source=graph.target, target=graph.source)
    seeds, fanouts = [0, graph.n - 1], [fanout, fanout]
    found = sampled(graph, spread, seeds, [0, 1], fanouts, outward=True)
    wanted = sampled(turned, spread, seeds, [0, 1], fanouts).rename(
        columns={"source": "target", "target": "source"}
    )
    assert sorted(found.itertuples(index=False)) == sorted(
        wanted[[*found]].itertuples(index=False)
    )


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
    with pytest.raises(OptionError, match="fanouts must be integers from 1 on"):
        drawn([3], 0)
    with pytest.raises(OptionTypeError, match=r"such as \[25, 10\], not \[2.5\]"):
        drawn([3], [2.5])


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
