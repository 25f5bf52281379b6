"""The exchange of changes: what was sent stays what it was, whatever the sender does next."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from dgraph.engine.changes import exchange_changes
from dgraph.engine.context import Context
from dgraph.engine.network import Network
from dgraph.engine.pool import run
from dgraph.engine.records import Recorder
from dgraph.exchange.routing.ground import Ground
from dgraph.shard import Shard
from dgraph.topology import CostModel, Topology
from tests.reference import build, plain


class Told(NamedTuple):
    """What a slot heard: the proxies whose masters have changed, and their values."""

    proxies: list[int]
    values: list[int]
    wanted: list[tuple[int, int]]


async def _tell_and_reuse(ctx: Context, shard: Shard) -> Told:
    """Tell all slots the own number as the value of the first master, then reuse the array."""
    values = np.full(shard.rank.size, -1)
    values[0] = ctx.slot
    changed = np.zeros(1, np.int32)
    told = await exchange_changes(ctx, shard, changed, (values,))
    changed[:] = 1  # at once: slots that have not resumed yet still read what was sent
    wanted = [(int(shard.group_start[peer]), peer) for peer in shard.peers]
    return Told(told.tolist(), values[told].tolist(), wanted)


def test_what_was_sent_may_be_written_over_at_once() -> None:
    """A frame goes by reference; with one thread a slot resumes before others have read it."""
    ends = np.array([(u, v) for u in range(12) for v in range(u)]).T
    for told in run(_tell_and_reuse, build(plain(*ends), 4), slots=4, threads=1):
        assert sorted(zip(told.proxies, told.values, strict=True)) == sorted(told.wanted)


def test_auto_goes_by_what_is_new_and_not_by_what_is_marked() -> None:
    """Most change, nobody marks: once told so, or once seen, `auto` lets the news meet."""
    rng = np.random.default_rng(1)
    graph = plain(*rng.integers(0, 400, (2, 4000)), vertices=np.arange(400))
    topology = Topology.from_fanouts([4, 2])
    shards = build(graph, topology.slots)
    cost = CostModel((1e-6, 1e-3), (0.0, 1e-7), (0.0, 1e-3))  # bytes that cross cost

    async def program(ctx: Context, shard: Shard, most: bool) -> None:
        values = np.zeros(shard.rank.size, np.int64)
        for turn in range(3):
            ctx.stage = f"turn {turn}"
            values[: shard.masters] = turn + shard.rank[: shard.masters]
            everyone = np.arange(shard.masters, dtype=np.int32)
            told = await exchange_changes(ctx, shard, everyone, (values,), most=most)
            assert values[told].tolist() == (turn + shard.rank[told]).tolist()
            assert ctx.vote.size == 0  # what is counted is not for the program

    def crossed(most: bool) -> list[int]:
        recorder = Recorder(topology, range(topology.slots))
        network = Network(Ground(topology), "auto", True, cost)
        options = [most] * topology.slots
        run(program, shards, options, slots=8, observer=recorder, network=network)
        log = recorder.log("")
        turns = [log.stages.index(f"turn {turn}") for turn in range(3)]
        return [int(log.counts[log.stage == turn][:, 1, -1].sum()) for turn in turns]

    straight, *rest = crossed(most=False)
    assert max(rest) < 0.7 * straight
    assert max(crossed(most=True)) < 0.7 * straight
