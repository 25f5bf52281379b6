"""Memory beside a socket: what lies there stays, and the socket serves where there is none."""

from __future__ import annotations

import gc
import multiprocessing
import socket
from pathlib import Path
from typing import Any

import dask
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dgraph.exchange import shelf as module
from dgraph.exchange.frame import Frame
from dgraph.exchange.segment import LINE, Segment
from dgraph.exchange.shelf import Shelf, ShelfEnd
from dgraph.exchange.transport import shm
from dgraph.exchange.transport.links import PeerLinks, Waker
from dgraph.exchange.transport.meeting import Meeting
from dgraph.exchange.transport.poll import ChannelClosedError
from tests import gangs
from tests.clusters import cluster
from tests.peers import RUN, joined, quiet, share, together, watch_shelves

pytestmark = pytest.mark.skipif(
    not Segment.is_possible(), reason="this system has no memory without a name"
)

SIZE = 1 << 12
NO_VOTE = np.zeros(0, np.int64)


@given(
    st.lists(
        st.tuples(st.integers(1, SIZE + LINE), st.booleans()) | st.integers(0, 99), max_size=200
    )
)
def test_what_lies_in_a_shelf_stays_until_nobody_refers_to_it(turns: list[Any]) -> None:
    shelf, byte = Shelf(SIZE), 0
    held: list[tuple[Any, int]] = []
    end = ShelfEnd.open(shelf.offer)

    def take(place: int, size: int, begin: int) -> None:
        held.append((end.take(place, size)[begin:], byte))

    def check() -> None:
        assert all((array == wanted).all() for array, wanted in held)

    for turn in turns:
        if isinstance(turn, int):
            if held:
                del held[turn % len(held)]
        else:
            size, as_view = turn
            byte = (byte + 1) % 256
            place = shelf.put(np.full(size, byte, np.uint8))
            assert place >= 0 or held or size > SIZE
            if place >= 0:
                take(place, size, int(as_view))
        check()
    held.clear()
    assert shelf.is_empty
    assert shelf.put(np.zeros(SIZE, np.uint8)) > 0


def test_a_shelf_serves_again_when_all_is_released(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Shelf, "_spare", [])
    shelf = Shelf.make(SIZE)
    shelf.spare()
    assert Shelf.make(SIZE) is not shelf  # nobody had opened it
    held = ShelfEnd.open(shelf.offer).take(shelf.put(np.full(3, 7, np.uint8)), 3)
    shelf.spare()
    assert Shelf.make(SIZE) is not shelf
    assert held.tolist() == [7, 7, 7]
    del held
    assert Shelf.make(2 * SIZE) is not shelf
    assert Shelf.make(SIZE) is shelf
    assert not shelf.is_opened
    assert ShelfEnd.open(shelf.offer).take(shelf.put(np.full(2, 5, np.uint8)), 2).tolist() == [
        5,
        5,
    ]


def test_no_more_shelves_are_kept_than_that(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Shelf, "_spare", [])
    for _ in range(module._SPARE + 3):
        shelf = Shelf(SIZE)
        ShelfEnd.open(shelf.offer)
        shelf.spare()
    assert len(Shelf._spare) == module._SPARE


def long_frames(source: int, target: int, step: int) -> list[Frame]:
    """Return frames of which some find room in a small shelf, and some do not."""
    lengths = [[0, shm.LONG // 8], [3, shm.LEAST // 8 + 9, shm.LONG], [shm.LONG // 8] * 3]
    return [
        Frame(source, target, tuple(np.full(some, step + at) for at, some in enumerate(of)), 1)
        for of in lengths
    ]


def check(came: list[Frame], wanted: list[Frame]) -> None:
    for frame, other in zip(came, wanted, strict=True):
        for column, expected in zip(frame.columns, other.columns, strict=True):
            np.testing.assert_array_equal(column, expected)


@pytest.mark.parametrize("trouble", ["", "cannot open", "cannot make"])
def test_frames_arrive_in_memory_or_by_the_socket(
    monkeypatch: pytest.MonkeyPatch, trouble: str
) -> None:
    taken = watch_shelves(monkeypatch)

    def make(size: int) -> Shelf:
        raise OSError("no memory")

    def open_(offer: Any) -> ShelfEnd:
        raise PermissionError("another container")

    monkeypatch.setattr(Shelf, "_spare", [])
    if trouble == "cannot open":
        monkeypatch.setattr(ShelfEnd, "open", open_)
    if trouble == "cannot make":
        monkeypatch.setattr(Shelf, "make", make)

    def member(me: int) -> list[list[Frame]]:
        held: list[list[Frame]] = []
        for step in range(20):
            mine = long_frames(me, 1 - me, step)
            came, _ = links[me].exchange(step, mine, NO_VOTE, "sum")
            check(came, long_frames(1 - me, me, step))
            held = [*held, came][-2:]  # as a program may keep them
            for late, some in enumerate(held, start=step - len(held) + 1):
                check(some, long_frames(1 - me, me, late))
        return held

    with joined(range(2), connect=share) as links:
        together(lambda: member(0), lambda: member(1))
    assert bool(taken) == (not trouble)
    gc.collect()


def test_what_travels_before_the_others_goes_by_the_socket_while_it_is_written() -> None:
    def member(me: int) -> None:
        for step in range(6):
            column = np.zeros(1 << 17)
            written: list[int] = []

            def write(size: int, column: Any = column, written: Any = written) -> None:
                written.append(size)
                column[: -(-size // column.itemsize)] = 1.0 + me

            frame = Frame(me, 1 - me, (column,), 1)
            assert links[me].post(step, frame, write)
            came, _ = links[me].exchange(step, [frame], NO_VOTE, "sum")
            assert len(written) > 1
            assert [set(some.columns[0]) for some in came] == [{2.0 - me}]

    with joined(range(2), connect=share) as links:
        together(lambda: member(0), lambda: member(1))


def test_a_closed_socket_ends_it() -> None:
    with joined(range(2), connect=share) as (left, right):
        right.close()
        with pytest.raises(ChannelClosedError, match="lost member 1"):
            left.exchange(0, long_frames(0, 1, 0), NO_VOTE, "sum")


def test_a_column_of_another_length_is_refused() -> None:
    here, there = socket.socketpair()
    one, other = share(0, here, 1), share(1, there, 0)
    column = np.zeros(shm.LONG, np.uint8)
    for place in range(2):  # the first goes by the socket: the shelf is not open yet
        one.send([memoryview(b"head" * 8), column.data])
        if not place:
            assert other._read_note()
    one.close()
    other._came[0] = column[1:]
    with pytest.raises(ValueError, match="expected a column of"):
        other._column([], column.size, column.dtype)
    other.close()


def echo(folder: Path) -> None:
    """Be member 1: send back what came."""
    there = Meeting(folder, RUN, b"t" * 32, 1, {0: "member 0"}, {0})
    while there.missing:
        there.step()
    links = PeerLinks(RUN, (0, 1), list(there.channels.values()), Waker(), quiet)
    frames: list[Frame] = []
    for step in range(9):
        came, _ = links.exchange(step, frames, NO_VOTE, "sum")
        frames = [Frame(1, 0, frame.columns, 1) for frame in came]


def test_between_two_processes(tmp_path: Path) -> None:
    process = multiprocessing.get_context("spawn").Process(target=echo, args=(tmp_path,))
    here = Meeting(tmp_path, RUN, b"t" * 32, 0, {1: "member 1"}, {1})
    process.start()
    while here.missing:
        here.step()
    assert isinstance(here.channels[1], shm.SharedChannel)
    links = PeerLinks(RUN, (0, 1), list(here.channels.values()), Waker(), quiet)
    for step in range(9):
        came, _ = links.exchange(step, long_frames(0, 1, step), NO_VOTE, "sum")
        check(came, long_frames(1, 0, step - 1) if step else [])
    links.close()
    process.join(60)
    assert process.exitcode == 0
    here.close()
    assert not list(tmp_path.iterdir())


def test_workers_of_a_host_share_memory() -> None:
    with cluster(2) as client:
        members = gangs.members_of(client)
        for transport, shared in (("auto", 0), ("shm", 1), ("unix", 0), ("comm", 0)):
            with dask.config.set({"dgraph.transport": transport}):
                assert gangs.run(client, members, gangs.shares).values == (shared,) * 2


@pytest.mark.parametrize(
    ("peers", "room"), [(1, shm.LARGEST), (4, shm.ROOM // 4), (1000, shm.LEAST)]
)
def test_rings_of_many_peers_are_smaller(peers: int, room: int) -> None:
    assert shm.SharedChannel.room_for(peers) == room
