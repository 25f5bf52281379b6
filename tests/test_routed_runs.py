"""Routed runs on real workers: the same results, fewer frames across, and what is recorded."""

from __future__ import annotations

from typing import Any

import dask
import numpy as np
import pandas as pd
import pytest

import dgraph as dg
from dgraph.errors import OptionError
from dgraph.exchange.routing.monitors import elect
from dgraph.topology import Topology
from tests.clusters import cluster
from tests.gangs import soon

#: What is far costs 100 times as much.
COST = {"alpha": [5e-6, 5e-4], "beta": [1e-10, 1e-8]}


def edges(scale: int = 9) -> pd.DataFrame:
    rng = np.random.default_rng(1)
    ends = np.zeros((2, 8 << scale), np.int64)
    for _ in range(scale):
        ends = 2 * ends + (rng.random(ends.shape) > 0.65)
    return pd.DataFrame(
        {"source": ends[0], "target": ends[1], "weight": rng.random(ends.shape[1])}
    )


def results(g: dg.Graph) -> list[pd.DataFrame]:
    source = 0
    found = [
        dg.bfs(g, source),
        dg.connected_components(g),
        dg.pagerank(g, max_iter=5, tol=None),
    ]
    return [some.compute().sort_values("vertex", ignore_index=True) for some in found]


@pytest.mark.limit(280)
@pytest.mark.slow
def test_four_processes_over_every_routing() -> None:
    topology = Topology.from_fanouts([2, 2])
    with cluster(4) as client, client.as_current(), dask.config.set({"dgraph.cost": COST}):
        with dask.config.set({"dgraph.routing": "direct"}):
            g = dg.from_edges(edges(), topology=topology)
            wanted = results(g)
        for routing in ("auto", "aml", "mst", "rail", "monitor", "multileader", "tree"):
            for combine in (True, False) if routing in ("rail", "tree") else (True,):
                with dask.config.set({"dgraph.routing": routing, "dgraph.combine": combine}):
                    for found, same in zip(results(g), wanted, strict=True):
                        pd.testing.assert_frame_equal(found, same, check_exact=True)
        g.close()


def test_what_was_agreed_on_about_one_shard_says_nothing_of_another() -> None:
    def some(g: dg.Graph) -> list[pd.DataFrame]:
        # betweenness makes shards of its own, for several sources at a time
        found = (dg.betweenness_centrality(g, k=4, seed=2), dg.bfs(g, 0), dg.cdlp(g))
        return [frame.compute() for frame in found]

    with cluster(2) as client, client.as_current():
        tree = Topology.from_fanouts([2, 2])
        with dg.from_edges(edges(), topology=tree, virtual_slots=4) as g:
            wanted = some(g)
        for routing in ("tree", "rail"):
            with (
                dask.config.set({"dgraph.routing": routing, "dgraph.cost": COST}),
                dg.from_edges(edges(), topology=tree, virtual_slots=4) as g,
            ):
                for found, same in zip(some(g) + some(g), 2 * wanted, strict=True):
                    pd.testing.assert_frame_equal(found, same)


def test_slots_with_and_without_parallel_edges_agree_at_the_same_time() -> None:
    pairs = np.array([[0, 1], [0, 1], [1, 2], [2, 3], [3, 4], [4, 5], [5, 0], [2, 5], [3, 0]])
    frame = pd.DataFrame(pairs, columns=["source", "target"]).assign(weight=1.5)
    tree = Topology.from_fanouts([2, 2])

    def found(routing: str) -> list[pd.DataFrame]:
        options: Any = {"topology": tree, "virtual_slots": 4, "weight": "weight"}
        with (
            dask.config.set({"dgraph.routing": routing, "dgraph.cost": COST}),
            dg.from_edges(frame, duplicates="keep", placement="chunk", **options) as g,
        ):
            dg.sssp(g, 0).compute()  # what it agrees on is not asked for again
            both = (dg.betweenness_centrality(g, weighted=some) for some in (True, False))
            return [some.compute() for some in both]

    with cluster(1, 2, processes=False) as client, client.as_current():
        for some, same in zip(found("tree"), found("direct"), strict=True):
            pd.testing.assert_frame_equal(some, same, check_exact=True)


def run_virtually(routing: str, **config: Any) -> tuple[pd.DataFrame, Any]:
    """Search on 32 virtual slots in 4 domains; return the result and the record."""
    with (
        cluster(1, 2, processes=False) as client,
        client.as_current(),
        dask.config.set(
            {"dgraph.routing": routing, "dgraph.cost": COST}
            | {f"dgraph.{key}": value for key, value in config.items()}
        ),
    ):
        g = dg.from_edges(edges(10), topology=Topology.from_fanouts([8, 4]), virtual_slots=32)
        for _ in range(2):  # in the first run the slots agree on ways
            found = dg.bfs(g, 0).compute()
        return found, g.runs[-1]


def test_virtual_slots_honour_the_topology() -> None:
    direct, straight = run_virtually("direct")
    found, record = run_virtually("auto")
    pd.testing.assert_frame_equal(found, direct)
    _, aml = run_virtually("aml")
    assert record.supersteps == straight.supersteps == aml.supersteps
    assert "routes" not in set(aml.steps["stage"])  # all is known from the first run
    assert record.frames[1] <= aml.frames[1] / 2
    assert record.bytes[1] <= 0.75 * aml.bytes[1]
    assert straight.before == {
        "frames": straight.frames,
        "messages": straight.messages,
        "bytes": straight.bytes,
    }
    for what, sent in straight.before.items():
        assert all(record.before[what][level] >= sent[level] for level in sent)
    assert record.messages[1] < record.before["messages"][1]


def test_a_cost_that_does_not_fit_is_said_before_the_run() -> None:
    short = {"alpha": [1e-6], "beta": [1e-9]}
    with pytest.raises(OptionError, match="expected costs for 2 levels, got 1"):
        run_virtually("rail", cost=short)
    with pytest.raises(OptionError, match="preset"):
        run_virtually("rail", cost="cheap")


def test_mst_packs_but_does_not_combine() -> None:
    (found, mst), (same, apart) = run_virtually("mst"), run_virtually("monitor", combine=False)
    pd.testing.assert_frame_equal(found, same)
    assert mst.messages[1] == apart.messages[1] == mst.before["messages"][1]
    _, monitor = run_virtually("monitor")
    assert monitor.messages[1] < mst.messages[1]
    assert monitor.messages[1] < monitor.before["messages"][1]


def star_on(slot: int, slots: int) -> dg.Graph:
    """Place the hub of a star on a slot, and the rest evenly."""
    vertices = np.arange(64)
    owners = np.where(vertices == 0, slot, vertices % slots)
    return dg.from_edges(
        pd.DataFrame({"source": 0, "target": vertices[1:]}),
        placement=pd.DataFrame({"vertex": vertices, "slot": owners}),
        topology=Topology.from_fanouts([slots // 2, 2]),
    )


def test_monitors_are_elected_anew_where_a_graph_is_placed_anew() -> None:
    """And so where it is made again because the worker of the monitor has left."""
    wanted: list[pd.DataFrame] = []

    def check(slot: int, slots: int) -> None:
        with star_on(slot, slots) as g:
            wanted.append(dg.bfs(g, 1).compute().sort_values("vertex", ignore_index=True))
            monitor = elect(g.topology, g._home._scores or ())
        pd.testing.assert_frame_equal(wanted[-1], wanted[0])
        assert set(monitor[-1]) == {slot}

    options = {"dgraph.cost": COST, "dgraph.routing": "monitor"}
    with (
        cluster(3, 2, processes=False) as client,
        client.as_current(),
        dask.config.set(options),
    ):
        for slot in (0, 5, 2):
            check(slot, 6)
        workers: Any = client.cluster
        workers.scale(2)
        assert soon(lambda: len(client.ncores()) == 2, 60)
        check(3, 4)
