"""Buffers: all goes out in order, the cap holds, and who waits is counted."""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import dask
import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

import dgraph as dg
from dgraph.config import BufferOptions, Options
from dgraph.engine.buffering import find_cap, make_plans
from dgraph.engine.launch import make_spec
from dgraph.engine.spec import Member
from dgraph.engine.tallies import WIDTH, taken
from dgraph.exchange.buffers import Outbox, Plan, Pool
from dgraph.exchange.transport.comm import Inbox
from dgraph.exchange.transport.links import Waker, fullest_first
from dgraph.topology import CostModel, Topology
from tests.clusters import cluster

MIB = 1 << 20

# One outbox, and a carrier that takes only what the test lets it


class Gate:
    """A carrier that holds everything until it is told that something has gone."""

    def __init__(self, whole: int = 1, peer: int = 0) -> None:
        self.whole = whole
        self.peer = peer
        self.held = 0
        self.shipped: list[bytes] = []
        self.asked = 0

    def send(self, buffers: Sequence[memoryview]) -> bool:
        self.ship(buffers)
        return False

    def offer(self, buffers: list[memoryview]) -> list[memoryview]:
        return buffers

    def pieces(self, buffers: list[memoryview]) -> list[memoryview]:
        return buffers

    def ship(self, pieces: Sequence[memoryview]) -> None:
        for piece in pieces:
            self.shipped.append(bytes(piece))
            self.held += piece.nbytes

    def flush(self) -> bool:
        return not self.held

    def nudge(self) -> None:
        """Do nothing: what is held goes when the test says so."""

    def ask(self) -> None:
        self.asked += 1

    def let_go(self, size: int) -> None:
        self.held -= min(size, self.held)


def stream(length: int, seed: int = 0) -> memoryview:
    return memoryview(np.random.default_rng(seed).bytes(length))


@given(
    seed=st.integers(0, 2**32),
    dynamic=st.booleans(),
    whole=st.sampled_from([0, 1, 1000]),
    reserved=st.integers(1, 5),
)
def test_all_goes_out_in_order_and_the_cap_holds(
    seed: int, dynamic: bool, whole: int, reserved: int
) -> None:
    rng = np.random.default_rng(seed)
    size = int(rng.integers(50, 200))
    pool = Pool(int(rng.integers(max(size, 200), 4000)))
    gates = [Gate(whole) for _ in range(int(rng.integers(1, 4)))]
    outboxes = [Outbox(gate, Plan(size, reserved, dynamic), pool) for gate in gates]
    for _ in range(3):
        bundles = [
            [stream(int(n), seed) for n in rng.integers(1, 190, rng.integers(2, 40))]
            for _ in gates
        ]
        for gate, outbox, bundle in zip(gates, outboxes, bundles, strict=True):
            gate.shipped.clear()
            outbox.send(bundle)
            assert pool.held <= pool.cap
        while any(outbox.is_stalled for outbox in outboxes) or any(gate.held for gate in gates):
            at = int(rng.integers(len(gates)))
            gates[at].let_go(int(rng.integers(1, 3 * size)))
            for outbox in outboxes:
                outbox.flush()
                assert dynamic or outbox.room == size
            assert sum(gate.held for gate in gates) <= pool.cap
        for gate, bundle in zip(gates, bundles, strict=True):
            assert b"".join(gate.shipped) == b"".join(map(bytes, bundle))
    assert pool.peak <= pool.cap
    assert dynamic or pool.expansions == 0


def counted(plan: Plan, length: int, cap: int) -> Pool:
    """Send one bundle to somebody who takes it piece by piece, but first nothing at all."""
    pool, gate = Pool(cap), Gate()
    outbox = Outbox(gate, plan, pool)
    outbox.send([stream(10), stream(length)])
    while gate.held:
        gate.let_go(plan.size)
        outbox.flush()
    assert len(b"".join(gate.shipped)) == 10 + length
    return pool


def test_static_waits_where_dynamic_grows() -> None:
    static = counted(Plan(1000, 4, False), 20_000, 1 << 20)
    dynamic = counted(Plan(1000, 4, True), 20_000, 1 << 20)
    assert (static.stalls, static.expansions) == (16, 0)  # 21 buffers, 5 of them at once
    assert (dynamic.stalls, dynamic.expansions) == (0, 5)  # 4,000 on their way, 16,010 left
    assert static.peak <= 5000
    assert dynamic.peak == 20_010
    assert static.stalled > 0 == dynamic.stalled
    capped = counted(Plan(1000, 4, True), 20_000, 8000)
    assert 0 < capped.stalls < static.stalls
    assert 5000 < capped.peak <= 8000


def test_the_cap_is_one_for_all_peers() -> None:
    pool = Pool(3000)
    slow, quick = Gate(), Gate()
    first, second = (Outbox(gate, Plan(1000, 4, True), pool) for gate in (slow, quick))
    first.send([stream(10), stream(10_000)])
    second.send([stream(10), stream(1500)])
    assert second.is_stalled
    assert slow.asked  # whoever waits is woken by what goes elsewhere
    slow.let_go(3000)
    second.flush()
    assert not second.is_stalled
    assert pool.peak <= 3000


def test_room_that_comes_back_goes_to_the_peer_for_which_most_waits() -> None:
    pool = Pool(4000)
    gates: list[Any] = [Gate(peer=peer) for peer in range(4)]
    outboxes = {gate: Outbox(gate, Plan(1000, 4, True), pool) for gate in gates}
    for gate, length in zip(gates, [6000, 12_000, 500, 9000], strict=True):
        outboxes[gate].send([stream(0), stream(length)])
    waits = [outboxes[gate].left for gate in gates]
    assert waits == [2000, 12_000, 500, 9000]  # the first one has had all room
    for _ in range(19):
        held = next(gate for gate in gates if gate.held)
        held.let_go(1000)
        order = fullest_first(outboxes, [gates[2]], set(gates))
        assert set(order) == {gate for gate in gates if outboxes[gate].is_stalled} | {gates[2]}
        for gate in order:
            outboxes[gate].flush()
        left = [outboxes[gate].left for gate in gates]
        most = waits.index(max(waits))
        waits[most] = max(waits[most] - 1000, 0)
        assert left == waits
    assert fullest_first(outboxes, [gates[2]], ()) == [gates[2]]


def test_short_bundles_pass_by() -> None:
    pool, gate = Pool(), Gate()
    outbox = Outbox(gate, Plan(1000), pool)
    outbox.send([stream(600), stream(400)])
    outbox.send([stream(5000)])  # a head with little columns
    assert not pool.is_touched
    assert not outbox.is_stalled


def test_buffers_shrink_after_three_supersteps_with_little() -> None:
    pool, gate = Pool(), Gate()
    outbox = Outbox(gate, Plan(1000, 1, True), pool)
    outbox.send([stream(30_000)] * 2)
    grown = outbox.room
    assert grown >= 16_000
    gate.let_go(60_000)
    outbox.flush()
    rooms = []
    for _ in range(40):
        pool.end_superstep()
        rooms.append(outbox.room)
    assert rooms[:4] == [grown, grown, grown, grown // 2]  # it was used in the first
    assert rooms[6] == grown // 4
    assert rooms[-1] == 1000
    assert not pool.grown


def test_a_buffer_is_encoded_before_it_is_shipped_and_not_sooner() -> None:
    column = np.zeros(4000, np.uint8)
    asked: list[int] = []

    def encode(size: int) -> None:
        asked.append(size)
        column[:size] = 7

    pool, gate = Pool(), Gate()
    outbox = Outbox(gate, Plan(1000, 1, False), pool)
    outbox.send([stream(200), column.data], encode)
    assert (asked, outbox.is_stalled) == ([800, 1800], True)
    assert column.sum() == 7 * 1800
    while outbox.is_stalled:
        gate.let_go(1000)
        outbox.flush()
    assert asked == [800, 1800, 2800, 3800, 4000]
    assert b"".join(gate.shipped)[200:] == b"\7" * 4000


# Links of several processes


# Dask comms


def test_an_inbox_lets_in_no_more_than_its_limit() -> None:
    async def check() -> None:
        waker = Waker()
        inbox = Inbox(waker, 100)
        inbox.put([memoryview(bytes(60))])
        await inbox.room()
        inbox.put([memoryview(bytes(60))])
        waiting = asyncio.ensure_future(inbox.room())
        await asyncio.sleep(0)
        assert not waiting.done()
        assert inbox.take() is not None
        await waiting
        inbox.put([memoryview(bytes(160))])
        waiting = asyncio.ensure_future(inbox.room())
        await asyncio.sleep(0)
        assert not waiting.done()
        inbox.release()
        await waiting
        waker.close()

    asyncio.run(check())


def test_what_buffers_do_is_counted_by_level() -> None:
    pool, near, far = Pool(5000), Gate(), Gate()
    boxes = [
        Outbox(gate, Plan(100, 1, dynamic=False, level=level), pool)
        for level, gate in ((1, near), (2, far))
    ]
    boxes[0].send([memoryview(bytes(50)), memoryview(bytes(450))])
    boxes[1].send([memoryview(bytes(50)), memoryview(bytes(120))])
    assert pool.held == pool.levels[1].held + pool.levels[2].held > 0
    rows = np.array(taken(pool, 3)).reshape(-1, WIDTH)
    assert rows[:, :2].tolist() == [[3, -1], [3, 1], [3, 2]]
    assert rows[0, 2:-1] == pytest.approx(rows[1:, 2:-1].sum(axis=0))
    assert rows[1, 2:].tolist() != rows[2, 2:].tolist()
    assert rows[0, -1] <= rows[1:, -1].sum()
    held = len(rows[:, 0])
    assert len(taken(pool, 4)) == held * WIDTH  # what is still held is the peak of the next
    assert np.array(taken(pool, 5)).reshape(-1, WIDTH)[:, 2:-1].sum() == 0


@pytest.mark.limit(120)
def test_two_workers_with_small_buffers_give_the_same_bits() -> None:
    rng = np.random.default_rng(1)
    ends = rng.integers(0, 60_000, (2, 300_000))
    edges = pd.DataFrame({"source": ends[0], "target": ends[1]})
    small: dict[str, Any] = {"size": "4 KiB", "reserved": 2, "cap": "1 MiB"}
    with cluster(2) as client, client.as_current():
        g = dg.from_edges(edges)
        wanted = dg.pagerank(g, max_iter=3, tol=None).compute()
        for transport, mode in itertools.product(
            ("shm", "unix", "comm"), ("static", "dynamic")
        ):
            with dask.config.set(
                {"dgraph.transport": transport, "dgraph.buffers": small | {"mode": mode}}
            ):
                found = dg.pagerank(g, max_iter=3, tol=None).compute()
            pd.testing.assert_frame_equal(found, wanted)
            record = g.runs[-1]
            assert record.buffers["peak_bytes"] <= MIB
            if transport == "comm":  # of a socket the kernel may have taken all at once
                assert record.buffers["switches"] > 0
            steps, by_level = record.steps, record.buffers_by_level
            for what in ("switches", "expansions", "stalls", "stalled_seconds"):
                assert steps[what].sum() == pytest.approx(record.buffers[what])
                levels = [steps[f"{what}_{level}"].sum() for level in (0, 1)]
                assert by_level[what] == pytest.approx(dict(enumerate(levels)))
                assert sum(levels) == pytest.approx(record.buffers[what])
            assert by_level["peak_bytes"] == {0: 0, 1: record.buffers["peak_bytes"]}
        g.close()


def test_caps_follow_options_and_memory() -> None:
    assert find_cap(BufferOptions(), 1 << 30) == (1 << 30) // 20
    assert find_cap(BufferOptions(), 1000) == MIB
    assert find_cap(BufferOptions(cap=5 * MIB), 1 << 40) == 5 * MIB
    assert find_cap(BufferOptions(), None) > MIB


def test_plans_follow_costs_carriers_and_options() -> None:
    def plans(cost: Any = None, routing: str = "auto", **options: Any) -> dict[int, Plan]:
        members = tuple(Member(str(at), str(at), "h", 1, (at,)) for at in range(4))
        spec = make_spec(
            "bfs",
            None,  # type: ignore[arg-type]
            graph="g",
            members=members,
            topology=Topology.from_fanouts([2, 2]),
            options=replace(
                Options.read(), routing=routing, cost=cost, buffers=BufferOptions(**options)
            ),
        )
        return make_plans(spec, 0, {1: "unix", 2: "comm", 3: "mpi"}, 8 * MIB)

    assert [plan.level for plan in plans().values()] == [0, 1, 1]
    assert plans()[1] == Plan(40_000, 4, True)
    assert plans()[2].size == 264_000
    assert plans()[3].size == MIB
    cost = CostModel((1e-6, 1e-4), (1e-10, 1e-9))
    assert [plan.size for plan in plans(cost).values()] == [32 << 10, 100_000, MIB]
    assert not any(plan.dynamic for plan in plans(routing="mst").values())
    small = plans(cost, mode="static", size=5000, reserved=2)
    assert (small[1], small[2]) == (Plan(5000, 2, False), Plan(5000, 2, False, 1))


# What is sent on direct ways between processes
