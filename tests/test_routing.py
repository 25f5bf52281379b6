"""Routing: the same results over any way, and exactly the frames and messages of the oracle."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from dgraph.algorithms.betweenness_centrality import betweenness_slot
from dgraph.algorithms.bfs import bfs_slot
from dgraph.algorithms.cdlp import cdlp_slot
from dgraph.algorithms.connected_components import connected_components_slot
from dgraph.algorithms.local_clustering import local_clustering_slot
from dgraph.algorithms.pagerank import pagerank_slot
from dgraph.algorithms.sssp import sssp_slot
from dgraph.algorithms.strong_components import strong_components_slot
from dgraph.config import ROUTINGS
from dgraph.engine.context import Context
from dgraph.engine.network import Network
from dgraph.engine.pool import run
from dgraph.engine.records import Log, Recorder
from dgraph.exchange.routing.ground import Ground, positions
from dgraph.exchange.routing.monitors import elect, score
from dgraph.exchange.routing.strategies import BACKWARDS, STRATEGIES
from dgraph.shard import Shard
from dgraph.topology import CostModel, Topology
from tests.harness import frame_of
from tests.reference import PlainGraph, build, by_degree, plain
from tests.strategies import graphs

Array = NDArray[Any]

#: Trees by shape, uneven and deep ones too.
SHAPES: list[Any] = [
    *([1, 1, 1], [3, 1, 4], [2, 2, 2], [[2, 3], [4], 1], [[1, 1], [1, 1]]),
    [[[1, 2], 3], [2, [2, 2]]],
]


@pytest.fixture(scope="module")
def counts(shared: Path) -> ModuleType:
    """Return the oracle of frames and messages."""
    spec = importlib.util.spec_from_file_location(
        "routing_counts", shared / "routing_counts.py"
    )
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def far_apart(slots: int, seed: int = 0) -> list[int]:
    """Return scores of which no two are within 5 %, so that the highest is elected."""
    order = np.random.default_rng(seed).permutation(slots).tolist()
    return [int(1000 * 1.1**place) for place in order]


def ground_of(shape: Any, group: int = 0, seed: int = 0) -> Ground:
    topology = Topology.from_shape(shape)
    return Ground(topology, group, tuple(far_apart(topology.slots, seed)))


@st.composite
def networks(draw: st.DrawFn) -> Network:
    """Draw a tree, groups, a routing, and whether to combine."""
    shape = draw(st.sampled_from(SHAPES))
    height = Topology.from_shape(shape).height
    ground = ground_of(shape, draw(st.integers(0, height - 1)), draw(st.integers(0, 3)))
    cost = CostModel(
        tuple(1e-6 * 100**level for level in range(height + 1)),
        tuple(1e-10 * 100**level for level in range(height + 1)),
    )
    return Network(ground, draw(st.sampled_from(ROUTINGS)), draw(st.booleans()), cost)


@pytest.mark.parametrize("shape", [6, *SHAPES], ids=str)
def test_ways_are_the_oracles(counts: ModuleType, shape: Any) -> None:
    height = Topology.from_shape(shape).height
    for group in range(height + 1):
        ground = ground_of(shape, group)
        slots = np.arange(ground.topology.slots)
        source, target = (some.ravel() for some in np.meshgrid(slots, slots))
        tree = counts.Tree(shape, ground.scores)
        assert ground.monitor.tolist() == tree.monitor.tolist()
        for name, strategy in STRATEGIES.items():
            found = positions(strategy(ground), source, target)
            assert found[-1].tolist() == target.tolist()
            if name != "multileader":
                level = 0 if name == "tree" else group
                wanted = counts.positions(tree, name, source, target, level)
                assert found.tolist() == wanted.tolist()


@pytest.mark.parametrize("shape", SHAPES, ids=str)
@pytest.mark.parametrize("name", sorted(STRATEGIES.keys() - {"multileader"}))
def test_backwards_is_the_same_way(shape: Any, name: str) -> None:
    ground = ground_of(shape)
    slots = np.arange(ground.topology.slots)
    source, target = (some.ravel() for some in np.meshgrid(slots, slots))
    there = positions(STRATEGIES[name](ground), source, target).T.tolist()
    back = positions(BACKWARDS[name](ground), target, source).T.tolist()
    for way, other in zip(there, back, strict=True):
        assert list(dict.fromkeys(way)) == list(dict.fromkeys(reversed(other)))


def test_the_walks_of_figure_3() -> None:
    ground = Ground(Topology.from_fanouts([4, 3]))
    walks = {
        name: positions(STRATEGIES[name](ground), [4, 1], [2, 11]).T.tolist()
        for name in ("aml", "rail")
    }
    assert walks == {"aml": [[4, 0, 2], [1, 9, 11]], "rail": [[4, 6, 2], [1, 3, 11]]}


@pytest.mark.parametrize("shape", [6, *SHAPES, [8, 8, 8, 8]], ids=str)
@pytest.mark.parametrize("combine", [True, False])
def test_frames_and_messages_are_the_oracles(
    counts: ModuleType, shape: Any, combine: bool
) -> None:
    rng = np.random.default_rng(5)
    topology = Topology.from_shape(shape)
    graph = plain(*rng.integers(0, 300, (2, 3000)), vertices=np.arange(300))
    owner = rng.integers(0, topology.slots, 300)
    shards = build(graph, topology.slots, owner)
    for group in range(max(topology.height, 1)):
        ground = ground_of(shape, group)
        tree = counts.Tree(shape, ground.scores)
        for name in STRATEGIES.keys() - {"multileader"}:
            sent = [_some_proxies(shard, rng) for shard in shards]
            source = np.repeat(np.arange(topology.slots), [some.size for some in sent])
            vertex = np.concatenate(
                [graph.by_rank[s.rank[v]] for s, v in zip(shards, sent, strict=True)]
            )
            found, log, before = _reduce(Network(ground, name, combine), shards, sent)
            level = 0 if name == "tree" else group
            how = "all" if combine else "source"
            wanted = counts.count(tree, name, source, owner[vertex], vertex, how, level)
            assert found == set(vertex.tolist())
            assert log[0].tolist() == wanted.frames.tolist()
            assert log[1].tolist() == wanted.messages.tolist()
            wanted = counts.count(tree, "direct", source, owner[vertex], vertex, "source")
            assert before[0].tolist() == wanted.frames.tolist()
            assert before[1].tolist() == wanted.messages.tolist()


def _some_proxies(shard: Shard, rng: np.random.Generator) -> NDArray[np.int32]:
    """Return a few, half, or all of the proxies, shuffled."""
    real = np.flatnonzero(shard.rank < shard.num_vertices)
    proxies = real[real >= shard.masters].astype(np.int32)
    return rng.permutation(proxies[rng.random(proxies.size) < rng.choice([0.02, 0.5, 1])])


def _reduce(
    network: Network, shards: list[Shard], sent: list[NDArray[np.int32]]
) -> tuple[set[int], Array, Array]:
    """Reduce ranks; return which orders arrived, and frames, messages and bytes by level.

    The last array is of what would have been sent straight.
    """

    async def program(ctx: Context, shard: Shard, vertices: NDArray[np.int32]) -> list[int]:
        ctx.stage = "reduce"
        values = shard.rank[vertices].astype(np.int64)
        met, came = await ctx.reduce(shard, vertices, values, [1, 2], combine="min")
        assert ctx.vote.tolist() == [ctx.slots, 2 * ctx.slots]
        assert came.tolist() == shard.rank[met].tolist()
        found: list[int] = shard.order[met].tolist()
        return found

    log, results = _record(network, program, shards, sent)
    sent_by_level = _counts_of(log, "reduce")
    rest = log.counts.sum(axis=0) - sent_by_level
    return {order for some in results for order in some}, sent_by_level, log.before - rest


def _record(network: Network, program: Any, *arguments: Any) -> tuple[Log, list[Any]]:
    recorder = Recorder(network.ground.topology, range(network.slots))
    results = run(program, *arguments, slots=network.slots, observer=recorder, network=network)
    return recorder.log(""), results


def _counts_of(log: Log, stage: str) -> Array:
    found: Array = log.counts[log.stage == log.stages.index(stage)].sum(axis=0)
    return found


ALGORITHMS: dict[str, tuple[Any, ...]] = {
    "cdlp": (cdlp_slot, 4),
    "clustering": (local_clustering_slot,),
    "components": (connected_components_slot,),
    "pagerank": (pagerank_slot,),
    "strong": (strong_components_slot,),
}


def table(
    name: str, graph: PlainGraph, shards: list[Shard], network: Network | None
) -> pd.DataFrame:
    """Run an algorithm by name."""
    if name in ("bfs", "sssp"):
        first = graph.ids.take(np.array([0]))
        return frame_of(
            bfs_slot if name == "bfs" else sssp_slot, shards, first, network=network
        )
    if name == "betweenness":
        options = None, True, False, False
        return frame_of(betweenness_slot, shards, *options, network=network)
    return frame_of(ALGORITHMS[name][0], shards, *ALGORITHMS[name][1:], network=network)


@given(data=st.data(), network=networks())
@settings(max_examples=60)
def test_results_do_not_depend_on_the_way(data: st.DataObject, network: Network) -> None:
    graph = data.draw(graphs(least=1))
    owner = data.draw(
        st.lists(st.integers(0, network.slots - 1), min_size=graph.n, max_size=graph.n)
    )
    name = data.draw(st.sampled_from(["bfs", "sssp", "betweenness", *ALGORITHMS]))
    shards = build(graph, network.slots, np.array(owner))
    straight = table(name, graph, shards, None)
    found = table(name, graph, shards, network)
    pd.testing.assert_frame_equal(found, straight, check_exact=True)


@pytest.mark.parametrize("routing", ROUTINGS)
@pytest.mark.parametrize("combine", [True, False])
def test_results_on_a_skewed_graph_are_the_same(routing: str, combine: bool) -> None:
    graph = skewed(9)
    shards = build(graph, 12)
    cost = CostModel((1e-6, 1e-4), (1e-10, 1e-8))
    network = Network(ground_of([4, 3, 5]), routing, combine, cost)
    for name in ("bfs", "sssp", "components", "cdlp", "pagerank"):
        straight = table(name, graph, shards, None)
        for _ in range(2):  # the second time with what was agreed on in the first
            pd.testing.assert_frame_equal(table(name, graph, shards, network), straight)


def skewed(scale: int) -> PlainGraph:
    """Return a graph with hubs and weights."""
    rng = np.random.default_rng(1)
    ends = np.zeros((2, 8 << scale), np.int64)
    for _ in range(scale):
        ends = 2 * ends + (rng.random(ends.shape) > 0.65)
    weights = rng.random(ends.shape[1]).astype(np.float32)
    return plain(ends[0], ends[1], weights, duplicates="min", self_loops="drop")


@pytest.mark.parametrize("name", ["aml", "rail", "monitor", "tree"])
def test_a_value_crosses_to_a_group_once(name: str) -> None:
    """A broadcast goes the ways of the routing backwards."""
    rng = np.random.default_rng(3)
    graph = plain(*rng.integers(0, 60, (2, 900)), vertices=np.arange(60))
    owner = rng.integers(0, 12, 60)
    shards = build(graph, 12, owner)
    network = Network(ground_of([4, 4, 4]), name)

    async def program(ctx: Context, shard: Shard) -> None:
        values = np.full(shard.size, -1)
        values[: shard.masters] = shard.rank[: shard.masters]
        ctx.stage = "broadcast"
        await ctx.broadcast(shard, values, vote=[1])
        assert ctx.vote.tolist() == [12]
        real = shard.rank < shard.num_vertices
        assert values[real].tolist() == shard.rank[real].tolist()

    log, _ = _record(network, program, shards)
    holders = {
        (int(owner[v]), v, shard.slot)
        for shard in shards
        for v in graph.by_rank[shard.rank[shard.masters :][_real(shard)]].tolist()
    }
    cross = {some for some in holders if some[0] // 4 != some[2] // 4}
    once = {(v, slot // 4) for _, v, slot in cross}
    far = _counts_of(log, "broadcast")[1, 1]
    assert far == (len(cross) if name == "aml" else len(once))


def _real(shard: Shard) -> NDArray[np.bool_]:
    found: NDArray[np.bool_] = shard.rank[shard.masters :] < shard.num_vertices
    return found


@given(data=st.data(), network=networks(), share=st.sampled_from([0.0, 0.02, 0.5, 1.0]))
@settings(max_examples=30)
def test_bits_reach_all_proxies(data: st.DataObject, network: Network, share: float) -> None:
    rng = np.random.default_rng(data.draw(st.integers(0, 99)))
    graph = plain(*rng.integers(0, 400, (2, 900)), vertices=np.arange(400))
    chosen = rng.random(400) < share
    shards = build(graph, network.slots, rng.integers(0, network.slots, 400))

    async def program(ctx: Context, shard: Shard) -> None:
        ranks = np.minimum(shard.rank, graph.n - 1)
        wanted = chosen[graph.by_rank[ranks]] & (shard.rank < graph.n)
        bits = np.zeros(((shard.size + 63) // 64, 64), bool)
        bits.ravel()[: shard.masters] = wanted[: shard.masters]
        packed = np.packbits(bits, axis=1, bitorder="little").view(np.uint64).ravel()
        await ctx.broadcast_bits(shard, packed)
        found = np.unpackbits(packed.view(np.uint8), bitorder="little")[: shard.size]
        assert found.astype(bool).tolist() == wanted.tolist()

    run(program, shards, slots=network.slots, network=network)


def test_auto_heeds_what_a_program_says_of_a_superstep() -> None:
    rng = np.random.default_rng(1)
    graph = plain(*rng.integers(0, 400, (2, 4000)), vertices=np.arange(400))
    topology = Topology.from_fanouts([4, 2])
    shards = build(graph, topology.slots)
    cost = CostModel((1e-6, 1e-3), (0.0, 1e-7), (0.0, 1e-3))  # bytes that cross cost

    async def program(ctx: Context, shard: Shard, about: int | None) -> None:
        proxies = np.flatnonzero(_real(shard)).astype(np.int32) + np.int32(shard.masters)
        for told in (proxies[:1], proxies):
            ctx.stage = "all" if told is proxies else "one"
            await ctx.reduce(shard, told, told, combine="min", about=about)

    crossed = {}
    for about in (None, 2400):
        recorder = Recorder(topology, range(topology.slots))
        network = Network(Ground(topology), "auto", True, cost)
        saids = [about] * topology.slots
        run(program, shards, saids, slots=8, observer=recorder, network=network)
        log = recorder.log("")
        counts = log.counts[log.stage == log.stages.index("all")]
        crossed[about] = int(counts[:, 1, -1].sum())
    assert crossed[2400] < 0.7 * crossed[None]  # those to the same vertex have met


def test_the_owner_of_a_hub_is_monitor_of_every_domain_above_it() -> None:
    n = 500
    graph = plain(np.zeros(n - 1, np.int64), np.arange(1, n))
    topology = Topology.from_shape([[2, 3], [4, 2, 2], 1])
    owner = (by_degree(graph, topology.slots) + 6) % topology.slots  # vertex 0 lies on slot 6
    shards = build(graph, topology.slots, owner)
    scores = [score(np.diff(shard.out.offsets)) for shard in shards]
    monitor = elect(topology, scores)
    for level in range(topology.height + 1):
        domain = topology.domain_of(level)
        assert set(monitor[level][domain == domain[6]]) == {6}
    assert elect(topology, scores).tolist() == monitor.tolist()


def test_of_close_scores_the_one_with_more_monitors_below_it_wins() -> None:
    topology = Topology.from_shape([[2, 2], [2, 2, 2]])
    scores = [100, 0, 90, 0, 97, 0, 90, 0, 90, 0]
    assert set(elect(topology, scores)[2]) == {4}
    assert set(elect(topology, [100, *scores[1:4], 94, *scores[5:]])[2]) == {0}
