"""Buffers: everything arrives once and in order, the cap holds, and who waits is counted."""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import socket
import threading
import time
from collections.abc import Callable, Collection, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import Any

import dask
import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import dgraph as dg
from dgraph.config import BufferOptions, Options
from dgraph.engine import context
from dgraph.engine.buffering import find_cap, make_plans
from dgraph.engine.context import Context
from dgraph.engine.launch import make_spec
from dgraph.engine.network import Network
from dgraph.engine.places import decode_places, encode_bits, encode_places
from dgraph.engine.pool import run
from dgraph.engine.spec import Member
from dgraph.engine.tallies import WIDTH, taken
from dgraph.exchange.buffers import Outbox, Plan, Pool
from dgraph.exchange.encoding import choose
from dgraph.exchange.frame import Frame
from dgraph.exchange.hub import Early, Hub, Request
from dgraph.exchange.transport import unix
from dgraph.exchange.transport.comm import Inbox
from dgraph.exchange.transport.links import PeerLinks, Waker
from dgraph.exchange.transport.unix import SocketChannel
from dgraph.shard.bits import set_bits, words
from dgraph.topology import CostModel, Topology
from tests.clusters import cluster
from tests.reference import build, plain
from tests.test_routing import ground_of

RUN = 7
MIB = 1 << 20
NO_VOTE = np.zeros(0, np.int64)
MODES = {"static": Plan(1 << 14, 2, False), "dynamic": Plan(1 << 14, 2, True)}


@pytest.fixture(autouse=True, scope="module")
def _small_kernel_buffers() -> Iterator[None]:
    """Let the kernel take little, so that something is left to be held."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(unix, "KERNEL_BUFFER", 1 << 14)
        yield


# One outbox, and a carrier that takes only what the test lets it


class Gate:
    """A carrier that holds everything until it is told that something has gone."""

    def __init__(self, whole: int = 1) -> None:
        self.whole = whole
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


class Slow(SocketChannel):
    """Reads once in so many times that it may, and little; tells of stalls."""

    slowness = 0

    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        self.stalled = threading.Event()
        self._patience = self.slowness

    def receive(self) -> Any:
        bundle = next(self._reader)
        if bundle is None and self._patience:
            self._patience -= 1  # what is in the socket stays there, and the poll says so
        elif bundle is None:
            self._patience = self.slowness
            if self._fill():
                bundle = next(self._reader)
        return bundle

    def ask(self) -> None:
        self.stalled.set()


def quiet(superstep: int, waited: Collection[int]) -> None:
    """Do nothing while waiting."""


@contextlib.contextmanager
def gang(
    owners: Sequence[int], plan: Plan, cap: int = MIB, slowness: int = 0
) -> Iterator[tuple[list[PeerLinks], list[list[Slow]]]]:
    """Yield the links of processes that have these slots, and their channels."""
    size = max(owners) + 1
    channels: list[list[Slow]] = [[] for _ in range(size)]
    for one, other in itertools.combinations(range(size), 2):
        ends = socket.socketpair()
        for end, me, them in zip(ends, (one, other), (other, one), strict=True):
            channel = Slow(end, them, RUN, f"member {them}")
            channel.slowness = channel._patience = slowness
            channels[me].append(channel)
    wakers = [Waker() for _ in range(size)]
    links = [
        PeerLinks(RUN, owners, mine, waker, quiet, dict.fromkeys(range(size), plan), Pool(cap))
        for mine, waker in zip(channels, wakers, strict=True)
    ]
    try:
        yield links, channels
    finally:
        for link, waker in zip(links, wakers, strict=True):
            link.close()
            waker.close()


def together(*calls: Callable[[], Any]) -> list[Any]:
    """Call each on a thread of its own; return the results or raise the first error."""
    with ThreadPoolExecutor(len(calls)) as pool:
        return [made.result(timeout=60) for made in [pool.submit(call) for call in calls]]


def long_frame(source: int, target: int, length: int) -> Frame:
    return Frame(source, target, (np.arange(length) * (source + 2) + target,), length)


def stalls_of(mode: str, cap: int) -> tuple[int, int]:
    """Send 3 MiB to one who begins to receive when the sender waits, or has got rid of all."""
    with gang((0, 1), MODES[mode], cap) as ((left, right), ((channel,), _)):
        frame = long_frame(0, 1, 3 * MIB // 8)
        posted = threading.Event()

        def send() -> None:
            assert left.post(0, frame)
            posted.set()
            channel.stalled.set()
            left.exchange(0, [frame], NO_VOTE, "sum")

        def receive() -> list[Frame]:
            assert channel.stalled.wait(60)
            waited.append(not posted.is_set())
            return right.exchange(0, [], NO_VOTE, "sum")[0]

        waited: list[bool] = []
        _, came = together(send, receive)
        assert [some.columns[0].tobytes() for some in came] == [frame.columns[0].tobytes()]
        assert left.pool.peak <= cap
        assert (left.pool.stalled > 0) == (left.pool.stalls > 0)
        return left.pool.stalls, sum(waited)


def test_a_receiver_that_has_not_begun_stalls_static_buffers_and_not_dynamic_ones() -> None:
    static, was_held_up = stalls_of("static", 64 * MIB)
    dynamic, was_not = stalls_of("dynamic", 64 * MIB)
    assert (was_held_up, was_not) == (1, 0)
    assert static > 0 == dynamic
    capped, was_held_up = stalls_of("dynamic", MIB)
    assert capped > 0
    assert was_held_up


@pytest.mark.parametrize("mode", MODES)
def test_two_that_wait_for_each_others_buffers_go_on(mode: str) -> None:
    """Both send more than kernel and cap hold before either begins to exchange."""
    with gang((0, 1), MODES[mode]) as (links, _):
        frames = [long_frame(me, 1 - me, 4 * MIB // 8) for me in range(2)]

        def member(me: int) -> list[Frame]:
            for step in range(3):
                assert links[me].post(step, frames[me])
                came, vote = links[me].exchange(step, [frames[me]], np.array([1]), "sum")
                assert vote.tolist() == [2]
            return came

        for came, sent in zip(
            together(*(lambda me=me: member(me) for me in (0, 1))), frames[::-1], strict=True
        ):
            assert [some.columns[0].tobytes() for some in came] == [sent.columns[0].tobytes()]
        assert all(0 < link.pool.peak <= MIB and link.pool.stalls for link in links)


def run_apart(
    program: Any, name: str, owners: Sequence[int], plan: Plan, slowness: int, shape: Any
) -> tuple[dict[int, Any], list[Pool]]:
    """Run a program on slots of several processes: hubs on threads, joined by sockets."""

    def host(me: int, link: PeerLinks) -> dict[int, Any]:
        network = None
        if name != "direct":
            network = Network(ground_of(shape), name, owners=owners, me=me)
        slots = [slot for slot, owner in enumerate(owners) if owner == me]
        away = set(range(len(owners))).difference(slots)
        programs = {
            slot: program(Context(slot, len(owners), network, away), slot) for slot in slots
        }
        return Hub(programs, 2, link).run()

    with gang(owners, plan, slowness=slowness) as (links, _):
        made = together(*(lambda me=me: host(me, links[me]) for me in range(len(links))))
        found = {slot: value for some in made for slot, value in some.items()}
        return dict(sorted(found.items())), [link.pool for link in links]


ROUTINGS = ("direct", "aml", "mst", "rail", "monitor", "multileader", "tree", "auto")


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("name", ROUTINGS)
def test_no_routing_loses_a_message_with_a_slow_receiver_and_a_cap_of_1_mib(
    name: str, mode: str
) -> None:
    shape = [[2, 2], [2, 2]]
    lengths = np.random.default_rng(5).integers(0, 30_000, (2, 8, 8))

    async def program(ctx: Context, slot: int) -> int:
        total = 0
        for step in range(2):
            columns: list[Any] = []
            for target, length in enumerate(lengths[step, slot].tolist()):
                column = np.arange(length) * (slot + 2) + target + step
                columns.append((column,))
                if target != slot and name == "direct":
                    await Early(Frame(slot, target, (column[:0],), 0))  # too short: no effect
            came = await ctx.alltoall(columns, vote=[1])
            assert ctx.vote.tolist() == [8]
            for source, some in enumerate(came):
                assert some is not None
                length = int(lengths[step, source, slot])
                np.testing.assert_array_equal(
                    some[0], np.arange(length) * (source + 2) + slot + step
                )
                total += some[0].size
        return total

    owners = (0, 0, 1, 1, 2, 2, 3, 3)
    found, pools = run_apart(program, name, owners, MODES[mode], 5, shape)
    assert list(found.values()) == lengths.sum(axis=(0, 1)).tolist()
    assert all(pool.peak <= MIB for pool in pools)
    assert any(pool.switches for pool in pools)
    assert mode == "dynamic" or not any(pool.expansions for pool in pools)


@settings(max_examples=15)
@given(
    seed=st.integers(0, 2**32),
    name=st.sampled_from(ROUTINGS),
    mode=st.sampled_from(sorted(MODES)),
)
def test_random_supersteps_under_delays_end_and_deliver(
    seed: int, name: str, mode: str
) -> None:
    """Most slots send nothing most of the time, and some are slow."""
    rng = np.random.default_rng(seed)
    shape = [[2, 1], [3]]
    slots, steps = 6, 3
    owners = np.unique(rng.integers(0, 4, slots), return_inverse=True)[1].tolist()
    lengths = rng.integers(1, 30_000, (steps, slots, slots))
    lengths *= rng.random((steps, 1, slots)) < 0.4
    pauses = 0.002 * (rng.random((steps, slots)) < 0.2)

    async def program(ctx: Context, slot: int) -> int:
        total = 0
        for step in range(steps):
            time.sleep(pauses[step, slot])
            columns = [(np.full(n, 7 * slot),) if n else None for n in lengths[step, slot]]
            for source, some in enumerate(await ctx.alltoall(columns, vote=[slot])):
                size = 0 if some is None else some[0].size
                assert size == lengths[step, source, slot]
                assert some is None or (some[0] == 7 * source).all()
                total += size
            assert ctx.vote.tolist() == [slots * (slots - 1) // 2]
        return total

    found, pools = run_apart(
        program, name, owners, MODES[mode], int(rng.integers(0, 20)), shape
    )
    assert list(found.values()) == lengths.sum(axis=(0, 1)).tolist()
    assert all(pool.peak <= MIB for pool in pools)


# What overlaps


class Telling(Slow):
    """Says when a frame has come."""

    came = threading.Event()

    def receive(self) -> Any:
        bundle = super().receive()
        if bundle is not None and bundle.frames:
            self.came.set()
        return bundle


@pytest.mark.parametrize("mode", MODES)
def test_a_frame_travels_while_those_for_others_are_made(mode: str) -> None:
    """One peer has its frame, far more than the kernel takes, while the slot still computes."""
    first, length = long_frame(0, 1, MIB // 8), 3000
    Telling.came.clear()

    async def sender() -> list[Frame]:
        await Early(first)
        frames = [first]
        while not Telling.came.is_set() and len(frames) < 20_000:
            column = np.zeros(length, np.int64)

            def encode(size: int, column: Any = column, turn: int = len(frames)) -> None:
                column[: -(-size // 8)] = turn

            frames.append(Frame(0, 2, (column,), 1))
            await Early(frames[-1], encode)
        assert Telling.came.is_set()
        await Request(frames, np.array([1]))
        return frames

    async def receiver() -> list[Frame]:
        return (await Request((), np.array([1]))).frames

    with gang((0, 1, 2), MODES[mode], 4 * MIB) as (links, channels):
        for channel in channels[1]:
            channel.__class__ = Telling
        programs = {0: sender(), 1: receiver(), 2: receiver()}
        sent, one, other = (
            found
            for made in together(
                *(lambda me=me: Hub({me: programs[me]}, 1, links[me]).run() for me in programs)
            )
            for found in made.values()
        )
    assert [some.columns[0].tobytes() for some in one] == [first.columns[0].tobytes()]
    assert [set(some.columns[0].tolist()) for some in other] == [
        {turn} for turn in range(1, len(sent))
    ]
    assert all(some.columns[0].size == length for some in other)


def test_early_frames_within_a_process_are_encoded_and_go_by_reference() -> None:
    column = np.zeros(100)

    def encode(size: int) -> None:
        column[: size // 8] = 1

    async def sender() -> None:
        frame = Frame(0, 1, (column,), 1)
        await Early(frame, encode)
        await Request([frame])

    async def receiver() -> Any:
        return (await Request()).frames[0].columns[0]

    assert Hub({0: sender(), 1: receiver()}).run()[1] is column
    assert column.sum() == 100


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
        for transport, mode in itertools.product(("unix", "comm"), ("static", "dynamic")):
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


@pytest.mark.parametrize("prefix", [True, False])
def test_direct_exchanges_between_processes_are_those_within_one(
    prefix: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(context, "LONG", 1000)
    rng = np.random.default_rng(2)
    ends = rng.integers(0, 3000, (2, 20_000))
    if not prefix:  # then not the first masters of a slot are known elsewhere
        ends = np.concatenate([ends, np.array([[0] * 900, range(3000, 3900)])], axis=1)
    shards = build(plain(*ends), 4)

    async def program(ctx: Context, slot: int) -> list[Any]:
        shard = shards[slot]
        proxies = np.flatnonzero(shard.rank < shard.num_vertices).astype(np.int32)
        proxies = proxies[proxies >= shard.masters]
        found: list[Any] = []
        for share in (0, 0.01, 0.3, 1):
            chosen = proxies[np.random.default_rng(slot).random(proxies.size) < share]
            for order in (1, -1):
                met, came = await ctx.reduce(
                    shard, chosen[::order].copy(), shard.rank[chosen][::order] * 1.5
                )
                found += [met.tolist(), came.tolist()]
            copies = np.full(shard.size, -1.0)
            copies[: shard.masters] = shard.rank[: shard.masters] * share
            await ctx.broadcast(shard, copies)
            found.append(copies[proxies].tolist())
            bits = np.zeros(words(shard.size), np.uint64)
            marked = np.random.default_rng(slot).random(shard.masters) < share
            set_bits(bits, np.flatnonzero(marked).astype(np.int32))
            await ctx.broadcast_bits(shard, bits)
            found.append(bits.tolist())
        return found

    apart, _ = run_apart(program, "direct", (0, 1, 2, 2), Plan(2000, 2, True), 2, None)
    assert list(apart.values()) == run(program, range(4), slots=4)


@given(seed=st.integers(0, 2**32), share=st.sampled_from([0.0, 0.01, 0.05, 0.5, 1.0]))
def test_places_come_back_in_as_few_bytes_as_can_be(seed: int, share: float) -> None:
    rng = np.random.default_rng(seed)
    size = int(rng.integers(1, 2000))
    places = np.flatnonzero(rng.random(size) < share).astype(np.int32)
    columns = encode_places(places, size)
    np.testing.assert_array_equal(decode_places(columns, size), places)
    name, most = choose(size, places.size, 8)
    if name != "dense" or places.size == size:  # values for all need not be made up
        assert sum(column.nbytes for column in columns) + 8 * places.size <= most
    mixed = rng.permutation(places)
    np.testing.assert_array_equal(decode_places(encode_places(mixed, size), size), mixed)
    bits = np.zeros(words(size), np.uint64)
    set_bits(bits, places)
    told = encode_bits(bits)
    assert told.nbytes == min(bits.nbytes, 4 * places.size)


def test_the_check_figures_of_gluon() -> None:
    def size(k: int) -> int:
        places = np.arange(k, dtype=np.int32) * (1000 // k)
        return sum(column.nbytes for column in encode_places(places, 1000)) + 8 * k

    assert [size(k) for k in (20, 500, 1000)] == [240, 4128, 8000]
