"""What the hierarchy benchmark counts is what the engine sends; its command runs to the end."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner
from numpy.typing import NDArray

from benchmarks.hierarchy import baselines, evidence, exchanges
from benchmarks.hierarchy.__main__ import main
from benchmarks.hierarchy.counting import Counter, by_level
from benchmarks.hierarchy.world import make_world
from dgraph.algorithms.bfs import bfs_slot
from dgraph.algorithms.pagerank import pagerank_slot
from dgraph.config import ROUTINGS
from dgraph.edges.generate import kronecker_rows
from dgraph.engine.context import Context
from dgraph.engine.network import Network, find_network
from dgraph.engine.pool import run
from dgraph.engine.records import Recorder
from dgraph.exchange.routing.choice import Load, estimate
from dgraph.exchange.routing.ground import Ground
from dgraph.shard import Shard
from dgraph.topology import CostModel, Topology
from tests.reference import build, plain

EDGES = kronecker_rows(9, 0, 16 << 9)
SOURCE, TARGET = EDGES["source"].to_numpy(), EDGES["target"].to_numpy()
GRAPH = plain(SOURCE, TARGET, duplicates="min")

#: Trees of 4 to 64 slots, uneven ones too.
SHAPES: list[Any] = [[2, 2], [[2, 2], [3, 1]], [[4, 4, 4, 4]] * 4]


def network(topology: Topology, routing: str) -> Network | None:
    """Return how frames travel; "straight" is what runs without a network do."""
    if routing == "straight":
        return None
    levels = topology.height + 1
    costs = [tuple(unit * 100.0**level for level in range(levels)) for unit in (1e-6, 1e-10)]
    scores = tuple(range(topology.slots))
    return Network(Ground(topology, 0, scores), routing, True, CostModel(*costs))


def recorded(shards: list[Shard], network: Network | None, topology: Topology) -> Any:
    """Return the stage, and frames, messages and bytes by level, of each superstep."""
    first = GRAPH.ids.take(GRAPH.by_rank[3:4])

    async def program(ctx: Context, shard: Shard) -> None:
        ctx.companions = ()  # no slot acts for others, as in processes of their own
        await bfs_slot(ctx, shard, first)
        await pagerank_slot(ctx, shard, max_iter=2, tol=None)

    recorder = Recorder(topology, range(topology.slots))
    run(program, shards, slots=topology.slots, observer=recorder, network=network)
    log = recorder.log("")
    wanted = ("top-down", "bottom-up", "ranks")
    return [
        (log.stages[stage], count)
        for stage, count in zip(log.stage, log.counts, strict=True)
        if log.stages[stage] in wanted
    ]


@pytest.mark.parametrize("shape", SHAPES, ids=["4", "8", "64"])
@pytest.mark.parametrize("dealt", [True, False])
def test_what_is_counted_is_what_the_engine_sends(shape: Any, dealt: bool) -> None:
    topology = Topology.from_shape(shape)
    owner: NDArray[np.int64] | None = None
    if not dealt:
        owner = np.random.default_rng(3).integers(0, topology.slots, GRAPH.n)
    shards = build(GRAPH, topology.slots, owner)
    world = make_world(SOURCE, TARGET, topology.slots, owner)
    assert (world.n, world.edges) == (GRAPH.n, len(GRAPH.source))
    few = topology.slots > 8 or not dealt
    for routing in ("straight", *(("rail", "tree") if few else ROUTINGS)):
        sent = recorded(shards, network(topology, routing), topology)
        counter = Counter(world, network(topology, routing))
        steps = list(counter.steps(exchanges.bfs(world, 3)))
        ranks = list(counter.steps(exchanges.pagerank(world, 2)))
        for (stage, count), step in zip(sent[: len(steps)], steps, strict=True):
            assert stage == step.stage
            assert count.tolist() == by_level(topology, [step]).tolist()
        rest = sum(count for _, count in sent[len(steps) :])
        assert rest.tolist() == by_level(topology, ranks).tolist()


def test_auto_that_goes_straight_sends_what_runs_without_gateways_do() -> None:
    topology = Topology.from_shape([[2, 2], [3, 1]])
    shards = build(GRAPH, topology.slots)
    way = CostModel((1e-3,) * 3, (0.0,) * 3, (1e-3,) * 3)  # each stage takes as long
    auto = Network(Ground(topology), "auto", True, way)
    found, straight = (recorded(shards, each, topology) for each in (auto, None))
    for (stage, count), (stage_straight, count_straight) in zip(found, straight, strict=True):
        assert (stage, count.tolist()) == (stage_straight, count_straight.tolist())


def test_links_that_are_faster_than_slots_do_not_hold_up() -> None:
    ground = Ground(Topology.from_fanouts([4, 4]))
    load = Load(10**6, 800.0)
    costs = [CostModel((0, 0), (1e-9, 1e-9), (), link) for link in ((), (0.0, 2.5e-10), (0, 0))]
    beta, fast, none = (estimate("monitor", False, ground, cost, load) for cost in costs)
    assert beta == fast == none  # one slot of a group handles all that crosses
    beta, fast, none = (estimate("direct", False, ground, cost, load) for cost in costs)
    assert beta > fast == none  # four slots handle what crosses a group's link
    slow = CostModel((0, 0), (1e-9, 1e-9), (), (0.0, 5e-9))
    assert estimate("monitor", False, ground, slow, load) > 3 * beta


def test_latency_passes_once_for_all_frames_of_a_stage() -> None:
    ground = Ground(Topology.from_fanouts([4, 4]))
    load = Load(10**6, 0.0, 0, always=True)

    def seconds(name: str, latency: tuple[float, ...]) -> float:
        return estimate(name, False, ground, CostModel((1e-5, 1e-2), (0, 0), latency), load)

    for name in ("direct", "aml", "rail", "monitor"):
        assert 1e-2 <= seconds(name, (0, 1e-2)) < 1.1e-2
    assert seconds("direct", ()) > 0.12  # else each of the frames takes it


@pytest.mark.slow
@pytest.mark.limit(280)
def test_the_command_prints_and_writes_every_table(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(evidence, "ALGORITHMS", ("bfs", "cdlp"))
    monkeypatch.setattr(evidence, "SETTINGS", ("far 100", "links"))
    monkeypatch.setattr(evidence, "FANOUTS", (4, 4))
    monkeypatch.setattr(evidence, "SCALED", (16, 32))
    monkeypatch.setattr(baselines, "WAYS", [(2, "ring", "ring"), (2, "auto", "dgraph")])
    arguments = ["--scale", "6", "--slots", "8,32", "--netlab", "/nowhere", "--turns", "1"]
    result = CliRunner().invoke(main, [*arguments, "--out", str(tmp_path)])
    assert result.exit_code == 0, result.output
    tables = {each["name"]: each for each in json.loads((tmp_path / "tables.json").read_text())}
    assert list(tables) == [
        *("fig1_split", "fig4_teps", "fig7_traffic", "fig8_scaling", "fig9_real", "ablation"),
        *("auto", "virtual", "virtual_full", "links", "carriers", "baselines"),
        *("overlap", "law", "wire", "wall", "wall_ablation", "topdown"),
    ]
    skipped = {name for name, each in tables.items() if not each["rows"]}
    assert skipped == {*("links", "overlap", "law", "wire"), "wall", "wall_ablation", "topdown"}
    for name, each in tables.items():
        assert f"{name}: {each['title']}" in result.output
        assert (tmp_path / f"{name}.csv").exists() is (name not in skipped)
    assert "skipped: there is no /nowhere/netlab.py" in result.output
    assert "target of auto" in result.output
    assert "missed" not in result.output
    assert all(row["auto/best"] <= evidence.TIME for row in tables["auto"]["rows"])
    ring, auto = (row["frames"] for row in tables["baselines"]["rows"][:2])
    assert ring > auto  # frames that are passed on count each time
    full = tables["virtual_full"]["rows"]
    assert {row["slots"] for row in full} == {79_024}
    seconds = {
        (row["machine"], row["algorithm"], row["routing"]): row["seconds"] for row in full
    }
    for row in full:
        if row["routing"] == "auto":  # there it takes another routing than on few slots
            assert row["how"].endswith("frames as there: tree")
            assert row["seconds"] == seconds[row["machine"], row["algorithm"], "tree"]
    for name in ("fig8_scaling", "virtual", "virtual_full"):
        assert "simulated" in tables[name]["title"]


def test_a_ring_goes_round_where_other_routings_go_straight() -> None:
    alone = Topology.from_fanouts([1, 4])  # four processes of one slot
    with baselines._ring():
        ring = find_network("ring", True, None, alone)
        assert ring is not None
        assert [hop.stage for hop in ring.hops("ring", False)] == [0, 1, 2]
    assert find_network("rail", True, None, alone) is None


def test_the_command_says_what_it_does_not_know() -> None:
    for wrong in (["--only", "fig99"], ["--slots", "many"]):
        assert CliRunner().invoke(main, wrong).exit_code == 2
