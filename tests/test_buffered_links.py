"""Buffered links: with slow readers everything arrives, and whoever can goes on."""

from __future__ import annotations

import threading
import time
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dgraph.engine.context import Context
from dgraph.exchange.buffers import Plan
from dgraph.exchange.frame import Frame
from dgraph.exchange.hub import Early, Hub, Request
from tests.peers import together
from tests.slow_peers import MIB, Slow, run_slowly, slowly_joined

NO_VOTE = np.zeros(0, np.int64)
MODES = {"static": Plan(1 << 14, 2, False), "dynamic": Plan(1 << 14, 2, True)}


def long_frame(source: int, target: int, length: int) -> Frame:
    return Frame(source, target, (np.arange(length) * (source + 2) + target,), length)


def stalls_of(mode: str, cap: int) -> tuple[int, int]:
    """Send 3 MiB to one who begins to receive when the sender waits, or has got rid of all."""
    with slowly_joined((0, 1), MODES[mode], cap) as ((left, right), channels):
        channel = channels[0, 1]
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
    with slowly_joined((0, 1), MODES[mode]) as (links, _):
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
    found, pools = run_slowly(program, name, owners, MODES[mode], 5, shape)
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

    found, pools = run_slowly(
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

    with slowly_joined((0, 1, 2), MODES[mode], 4 * MIB) as (links, channels):
        channels[1, 0].__class__ = Telling
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
