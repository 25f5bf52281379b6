"""Links between processes: what goes in comes out, and how they end."""

from __future__ import annotations

import multiprocessing
import os
import socket
import tempfile
import threading
import time
from collections.abc import Collection
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dgraph.errors import RunAbortedError, RunError
from dgraph.exchange.frame import DTYPES, Frame
from dgraph.exchange.transport import meeting, poll
from dgraph.exchange.transport.bundle import PREFIX_SIZE, encode, read_bundle, read_prefix
from dgraph.exchange.transport.comm import Inbox, Reader
from dgraph.exchange.transport.links import (
    ChannelClosedError,
    PeerLinks,
    Waker,
    largest_first,
    rotated,
)
from dgraph.exchange.transport.meeting import Meeting, can_reach, private_folder
from dgraph.exchange.transport.unix import READ_AHEAD, SocketChannel
from tests.peers import RUN, connect, joined, quiet, share, together

NO_VOTE = np.zeros(0, np.int64)


def same(one: Frame, other: Frame) -> bool:
    """Return whether two frames are equal to the bit."""
    return (one.source, one.target, one.count) == (
        other.source,
        other.target,
        other.count,
    ) and [(column.dtype, column.tobytes()) for column in one.columns] == [
        (column.dtype, column.tobytes()) for column in other.columns
    ]


def random_column(rng: np.random.Generator, length: int) -> np.ndarray[Any, Any]:
    dtype = DTYPES[rng.integers(len(DTYPES))]
    return rng.integers(0, 2, length).astype(dtype)


@settings(max_examples=20)
@given(
    st.integers(0, 2**32),
    st.integers(2, 4),
    st.integers(1, 6),
    st.booleans(),
    st.sampled_from([connect, share]),
)
def test_every_frame_arrives_once(
    seed: int, size: int, steps: int, eager: bool, connect: Any
) -> None:
    rng = np.random.default_rng(seed)
    lengths = [0, 1, 3, 1000, READ_AHEAD // 8, READ_AHEAD + 1]
    sent = [
        [
            [
                Frame(source, target, tuple(random_column(rng, n) for n in some), 1)
                for target in range(size)
                if target != source and rng.random() < 0.6
                for some in [rng.choice(lengths, rng.integers(0, 4))]
            ]
            for source in range(size)
        ]
        for _ in range(steps)
    ]

    def member(me: int) -> None:
        for step, frames in enumerate(sent):
            mine = [frame for some in frames for frame in some if frame.target == me]
            came, vote = links[me].exchange(step, frames[me], np.array([me, 1]), "max")
            came.sort(key=lambda frame: frame.source)
            assert all(map(same, came, mine))
            assert len(came) == len(mine)
            assert all(column.flags.aligned for frame in came for column in frame.columns)
            assert vote.tolist() == [size - 1, 1]

    with joined(range(size), connect=connect, eager=eager) as links:
        together(*(lambda me=me: member(me) for me in range(size)))


class Named(NamedTuple):
    """A channel of which only the other end is known."""

    peer: int


@given(st.integers(1, 7), st.randoms(use_true_random=False))
def test_in_every_turn_each_member_is_sent_to_by_another(members: int, random: Any) -> None:
    turns: list[list[int]] = []
    for me in range(members):
        channels: list[Any] = [Named(peer) for peer in range(members) if peer != me]
        random.shuffle(channels)
        turns.append([channel.peer for channel in rotated(channels)])
    for turn in zip(*turns, strict=True):
        assert sorted(turn) == list(range(members))


@given(st.lists(st.integers(0, 3), min_size=1, max_size=6))
def test_the_largest_goes_first_and_the_rest_in_turn(lengths: list[int]) -> None:
    channels: list[Any] = [Named(peer) for peer in range(1, len(lengths) + 1)]
    frames = {
        peer: [Frame(0, peer, (np.zeros(1000 * length, np.int8),), 1)]
        for peer, length in enumerate(lengths, start=1)
        if length
    }
    found = [channel.peer for channel in largest_first(channels, frames)]
    assert found == sorted(found, key=lambda peer: (-lengths[peer - 1], peer))


def test_large_columns_and_thousands_of_frames() -> None:
    large = [Frame(0, 1, (np.arange(1 << 20), np.arange(5, dtype=np.int8)), 1)]
    many = [Frame(1, 0, (np.array([number]),), 1) for number in range(3000)]
    with joined(range(2)) as (left, right):
        (to_left, _), (to_right, _) = together(
            lambda: left.exchange(0, large, NO_VOTE, "sum"),
            lambda: right.exchange(0, many, NO_VOTE, "sum"),
        )
    assert all(map(same, to_left, many))
    assert (len(to_left), len(to_right)) == (3000, 1)
    assert same(to_right[0], large[0])


def test_votes_of_every_kind() -> None:
    with joined(range(3)) as links:
        for step, (op, expected) in enumerate({"sum": 7, "min": 1, "max": 4, "or": 7}.items()):
            votes = together(
                *(
                    lambda me=me, op=op, step=step: links[me].exchange(
                        step, [], np.array([1 << me]), op
                    )[1]
                    for me in range(3)
                )
            )
            assert [vote.tolist() for vote in votes] == [[expected]] * 3


def test_abort_tells_the_others_why() -> None:
    with joined(range(3)) as links:
        links[0].abort(RunError("superstep 3, slot 0: ValueError: no"))
        for link in links[1:]:
            with pytest.raises(RunAbortedError, match="slot 0: ValueError: no"):
                link.exchange(0, [], NO_VOTE, "sum")


@pytest.mark.parametrize("eager", [False, True])
def test_abort_during_an_exchange_wakes_it(
    monkeypatch: pytest.MonkeyPatch, eager: bool
) -> None:
    monkeypatch.setattr(poll, "TICK", 60.0)  # it does not look by itself
    over = threading.Event()

    def idle(superstep: int, waited: Collection[int] | None) -> None:
        assert waited is None  # nobody is asked because of a wake
        if over.is_set():
            raise RunAbortedError("over")

    with joined(range(2), idle, eager=eager) as (left, _), ThreadPoolExecutor(1) as pool:
        exchange = pool.submit(left.exchange, 0, [], NO_VOTE, "sum")
        while not left._lock.locked():
            time.sleep(0.001)
        over.set()
        left.abort(RunError("whatever"))
        with pytest.raises(RunAbortedError, match="over"):
            exchange.result(timeout=30)


def test_closed_channel_names_the_other_end() -> None:
    with joined(range(2)) as (left, right):
        right.close()
        with pytest.raises(ChannelClosedError, match="lost member 1"):
            left.exchange(0, [], NO_VOTE, "sum")


def test_different_supersteps_are_an_error() -> None:
    with (
        joined(range(2)) as (left, right),
        pytest.raises(RunError, match="expected superstep 0"),
    ):
        together(
            lambda: left.exchange(0, [], NO_VOTE, "sum"),
            lambda: right.exchange(1, [], NO_VOTE, "sum"),
        )


def test_frame_of_another_run_is_refused() -> None:
    (buffer,) = encode(RUN + 1, 0, [Frame(0, 1, (), 0)], NO_VOTE, "sum")
    with pytest.raises(ValueError, match="of this run"):
        read_bundle(read_prefix(buffer), buffer[PREFIX_SIZE:], RUN, lambda n, _: np.empty(n))


def test_bytes_that_are_no_bundle_are_refused() -> None:
    here, there = socket.socketpair()
    channel = SocketChannel(here, 1, RUN, "member 1")
    there.sendall(b"GET / HTTP/1.1\r\n\r\n" * 3)
    with pytest.raises(ValueError, match="expected a bundle"):
        channel.receive()
    channel.close()
    there.close()


@pytest.mark.parametrize("length", [5, 5000])
def test_unaligned_buffers_from_a_comm_become_aligned(length: int) -> None:
    columns = (np.arange(3, dtype=np.int8), np.arange(length), np.zeros(0), np.arange(length))
    buffers = encode(RUN, 0, [Frame(0, 1, columns, 5)], NO_VOTE, "sum")
    assert len(buffers) == (1 if length == 5 else 4)
    shifted = [memoryview(b"x" + bytes(buffer))[1:] for buffer in buffers]
    waker = Waker()
    inbox = Inbox(waker)
    inbox.put(shifted)
    bundle = next(iter(Reader(inbox, RUN)))
    waker.close()
    assert bundle is not None
    (frame,) = bundle.frames
    assert all(column.flags.aligned for column in frame.columns)
    assert same(frame, Frame(0, 1, columns, 5))


def test_inbox_ends_after_its_last_bundle() -> None:
    waker = Waker()
    inbox = Inbox(waker)
    inbox.put([memoryview(b"one")])
    inbox.put(None)
    assert waker.clear()
    assert list(inbox.take() or ()) == [b"one"]
    for _ in range(2):
        with pytest.raises(ChannelClosedError):
            inbox.take()
    waker.close()
    inbox.put(None)  # a late wake does nothing


def meet(folder: Path, me: int, size: int, token: bytes = b"t" * 32) -> Meeting:
    names = {other: f"member {other}" for other in range(size) if other != me}
    return Meeting(folder, RUN, token, me, names)


def step_until(seconds: float, *meetings: Meeting) -> None:
    end = time.monotonic() + seconds
    while any(some.missing for some in meetings) and time.monotonic() < end:
        for some in meetings:
            some.step()
        time.sleep(0.001)


def close_all(*meetings: Meeting) -> None:
    for some in meetings:
        some.close()
        for channel in some.channels.values():
            channel.close()


def test_members_meet_in_any_order(tmp_path: Path) -> None:
    late_first = [meet(tmp_path, 2, 3)]
    late_first[0].step()
    late_first += [meet(tmp_path, me, 3) for me in (1, 0)]
    step_until(10, *late_first)
    assert not any(some.missing for some in late_first)
    close_all(*late_first)
    assert not list(tmp_path.iterdir())


def test_wrong_token_is_turned_away(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    host, stranger = meet(tmp_path, 0, 2), meet(tmp_path, 1, 2, b"w" * 32)
    step_until(0.2, host, stranger)
    assert host.missing == {1}
    assert "turned away" in caplog.text
    with pytest.raises(ChannelClosedError):
        stranger.channels[0].receive()
    friend = meet(tmp_path, 1, 2)
    step_until(10, host, friend)
    assert not host.missing
    close_all(host, stranger, friend)


def test_caller_that_says_nothing_does_not_hold_up_the_others(tmp_path: Path) -> None:
    host = meet(tmp_path, 0, 2)
    (path,) = tmp_path.iterdir()
    with socket.socket(socket.AF_UNIX) as mute:
        mute.connect(os.fspath(path))
        friend = meet(tmp_path, 1, 2)
        step_until(10, host, friend)
    assert not host.missing
    close_all(host, friend)


def test_socket_folder_is_private(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tempfile, "tempdir", os.fspath(tmp_path))
    monkeypatch.setattr(meeting, "LONGEST_BASE", 1000)
    folder = private_folder()
    assert folder.stat().st_mode & 0o777 == 0o700
    assert private_folder() == folder
    folder.chmod(0o755)  # somebody laid it there for us
    other = private_folder()
    assert other != folder
    assert other.stat().st_mode & 0o777 == 0o700


def test_sweep_removes_what_killed_processes_left(tmp_path: Path) -> None:
    alive, dead = meeting.listen(tmp_path / "alive"), meeting.listen(tmp_path / "dead")
    young = meeting.listen(tmp_path / "young")
    dead.close()
    young.close()
    for name in ("alive", "dead"):
        os.utime(tmp_path / name, (0, 0))
    meeting.sweep(tmp_path)
    assert {path.name for path in tmp_path.iterdir()} == {"alive", "young"}
    assert can_reach(tmp_path / "alive")
    alive.close()


def other_process(folder: Path) -> None:
    """Be member 1: send back what came."""
    there = meet(folder, 1, 2)
    step_until(30, there)
    links = PeerLinks(RUN, (0, 1), list(there.channels.values()), Waker(), quiet)
    frames: list[Frame] = []
    for step in range(3):
        came, _ = links.exchange(step, frames, NO_VOTE, "sum")
        frames = [Frame(1, 0, frame.columns, 1) for frame in came]


def test_between_two_processes(tmp_path: Path) -> None:
    spawn = multiprocessing.get_context("spawn")
    child = spawn.Process(target=other_process, args=(tmp_path,), daemon=True)
    here, waker = meet(tmp_path, 0, 2), Waker()
    child.start()
    try:
        step_until(60, here)
        assert not here.missing
        links = PeerLinks(RUN, (0, 1), list(here.channels.values()), waker, quiet)
        sent = [Frame(0, 1, (np.arange(1 << 17),), 1)]
        links.exchange(0, sent, NO_VOTE, "sum")
        (came,), _ = links.exchange(1, [], NO_VOTE, "sum")
        np.testing.assert_array_equal(came.columns[0], sent[0].columns[0])
        links.exchange(2, [], NO_VOTE, "sum")
        child.join(30)
        assert child.exitcode == 0
    finally:
        child.kill()
        child.join()
        close_all(here)
        waker.close()
