"""Stages between processes: they end, deliver everything, and wait for no idle link."""

from __future__ import annotations

import itertools
import time
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dgraph.engine.changes import exchange_changes
from dgraph.engine.context import Context
from dgraph.errors import RunError
from dgraph.exchange.routing import schedule as schedules
from dgraph.exchange.routing.ground import Ground
from dgraph.exchange.routing.schedule import schedule
from dgraph.exchange.routing.strategies import STRATEGIES
from dgraph.shard import Shard
from dgraph.shard.bits import positions, set_bits, words
from dgraph.topology import Topology
from tests.peers import joined, run_apart
from tests.reference import build, plain
from tests.test_routing import SHAPES, ground_of


def run_on(
    program: Any, arguments: Sequence[Any], ground: Ground, name: str, owners: Sequence[int]
) -> dict[int, Any]:
    """Run a program on slots of several processes, with a routing."""
    with joined(owners) as links:
        return run_apart(program, arguments, links, owners, (ground, name))


@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_every_vote_counts_once(shape: Any) -> None:
    rng = np.random.default_rng(3)
    slots = Topology.from_shape(shape).slots
    for _ in range(12):
        ground = ground_of(shape, int(rng.integers(Topology.from_shape(shape).height)))
        owners = np.unique(rng.integers(0, 5, slots), return_inverse=True)[1].tolist()
        for name, backwards in itertools.product(STRATEGIES, (False, True, None)):
            processes = range(max(owners) + 1)
            hops = [schedule(name, backwards, ground, tuple(owners), me) for me in processes]
            own = votes = [1 << 8 * me for me in processes]
            for stage in zip(*hops, strict=True):
                known = own if stage[0].fresh else votes
                votes = [
                    (known[me] if hop.takes < 0 else known[hop.takes])
                    + sum(known[other] for other in hop.adds)
                    for me, hop in enumerate(stage)
                ]
            assert set(votes) == {sum(own)}


@given(
    shape=st.sampled_from(SHAPES),
    name=st.sampled_from(sorted(STRATEGIES)),
    seed=st.integers(0, 2**32),
)
@settings(max_examples=40)
def test_every_stage_ends_and_delivers_under_delays(shape: Any, name: str, seed: int) -> None:
    """Most slots send nothing most of the time, and some are slow."""
    rng = np.random.default_rng(seed)
    topology = Topology.from_shape(shape)
    slots = topology.slots
    ground = ground_of(shape, int(rng.integers(topology.height)))
    owners = np.unique(rng.integers(0, 4, slots), return_inverse=True)[1].tolist()
    steps = 4
    sizes = rng.integers(1, 2000, (steps, slots, slots)) * (rng.random((steps, 1, slots)) < 0.3)
    pauses = 0.002 * (rng.random((steps, slots)) < 0.2)

    async def program(ctx: Context, slot: int) -> None:
        for step in range(steps):
            time.sleep(pauses[step, slot])
            columns = [
                (np.full(size, 7 * slot),) if size else None for size in sizes[step, slot]
            ]
            came = await ctx.alltoall(columns, vote=[slot, 1])
            assert ctx.vote.tolist() == [slots * (slots - 1) // 2, slots]
            for source, some in enumerate(came):
                size = sizes[step, source, slot]
                assert (0 if some is None else some[0].size) == size
                assert some is None or set(some[0].tolist()) == {7 * source}
            most = await ctx.allreduce([slot + step], "max")
            assert most.tolist() == [slots - 1 + step]

    run_on(program, range(slots), ground, name, owners)


@pytest.mark.parametrize("name", sorted(STRATEGIES))
def test_combined_messages_arrive_in_other_processes(name: str) -> None:
    rng = np.random.default_rng(2)
    graph = plain(*rng.integers(0, 200, (2, 1500)), vertices=np.arange(200))
    shards = build(graph, 8)
    ground = ground_of([[2, 2], [3, 1]])

    async def program(ctx: Context, shard: Shard) -> Any:
        real = np.flatnonzero(shard.rank < shard.num_vertices).astype(np.int32)
        proxies = real[real >= shard.masters]
        values = shard.rank[proxies].astype(float) + 0.5
        met, came = await ctx.reduce(shard, proxies, values, vote=[1], combine="max")
        assert ctx.vote.tolist() == [8]
        assert came.tolist() == (shard.rank[met] + 0.5).tolist()
        copies = np.full(shard.size, -1.0)
        copies[: shard.masters] = 3.0 * shard.rank[: shard.masters]
        await ctx.broadcast(shard, copies)
        assert copies[real].tolist() == (3.0 * shard.rank[real]).tolist()
        # every third vertex has changed, and slots mark the proxies of odd rank
        changed = np.arange(shard.masters, dtype=np.int32)
        changed = changed[shard.rank[: shard.masters] % 3 == 0]
        copies[: shard.masters] += 1
        marks = np.zeros(words(shard.size), np.uint64)
        set_bits(marks, proxies[shard.rank[proxies] % 2 == 1])
        told = await exchange_changes(ctx, shard, changed, (copies,), marks, [1])
        assert ctx.vote.tolist() == [8]
        assert sorted(told) == proxies[shard.rank[proxies] % 3 == 0].tolist()
        assert copies[told].tolist() == (3.0 * shard.rank[told] + 1).tolist()
        marked = np.empty(64 * marks.size, np.int32)
        marked = marked[: positions(marks, marked)]
        assert marked.tolist() == np.unique(met[shard.rank[met] % 2 == 1]).tolist()
        return set(shard.order[met].tolist())

    found = run_on(program, shards, ground, name, (0, 0, 1, 2, 3, 3, 4, 5))
    touched = [
        graph.by_rank[s.rank[s.masters :][s.rank[s.masters :] < graph.n]] for s in shards
    ]
    assert set().union(*found.values()) == set(np.concatenate(touched).tolist())


@pytest.mark.parametrize("name", ["direct", "aml", "monitor", "tree"])
def test_an_error_on_a_slot_ends_the_run_in_all_processes(name: str) -> None:
    async def program(ctx: Context, slot: int) -> None:
        for step in range(3):
            await ctx.allgather(np.arange(3))
            if slot == 5 and step == 1:
                raise ValueError("broken")

    with pytest.raises(RunError, match="broken"):
        run_on(program, range(8), ground_of([[2, 2], [3, 1]]), name, range(8))


def test_a_gateway_alone_uses_the_far_link() -> None:
    ground = ground_of([4, 4, 4])
    gates = set(ground.gate.tolist())
    for me in range(12):
        group = {slot for slot in range(12) if slot // 4 == me // 4}
        for hop in schedule("monitor", False, ground, tuple(range(12)), me):
            far = (hop.to | hop.come) - group
            assert far == (gates - group if me in gates and hop.stage == 1 else set())


def test_links_are_found_a_few_targets_at_a_time(monkeypatch: pytest.MonkeyPatch) -> None:
    ground, owner = ground_of([[2, 2], [3, 1]], 1), np.array([0, 0, 1, 2, 3, 3, 4, 5])
    ways = list(itertools.product(STRATEGIES, (False, True, None)))

    def find() -> list[Any]:
        return [schedules._find_links(*way, ground, owner) for way in ways]

    whole = find()
    monkeypatch.setattr(schedules, "BLOCK", 17)
    for some, again in zip(whole, find(), strict=True):
        assert np.array_equal(some, again)
