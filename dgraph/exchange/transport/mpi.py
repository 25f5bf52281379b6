"""MPI, between processes that are ranks of one job.

A pair of members has a tag for each direction, which the receiver chooses. A bundle is one
message or several; the sizes of the later ones follow from the heads in the first::

    | prefix | head | columns if all are small |   the prefix alone if it is over FIRST bytes;
    | head | columns if all are small |            then this follows
    | columns of less than APART bytes |           all of them copied into one message
    | column |  | column |  ...                    received straight into their arrays

A message of no bytes says that the other end is closed. No call waits inside MPI, where it
would spin: the thread that exchanges looks again and again, ever more rarely.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from dgraph.exchange.frame import Array
from dgraph.exchange.room import ROOM
from dgraph.exchange.transport.bundle import (
    PREFIX_SIZE,
    SMALL,
    Bundle,
    read_bundle,
    read_prefix,
)
from dgraph.exchange.transport.poll import BRISK, LOOK, ChannelClosedError
from dgraph.exchange.transport.world import World

__all__ = ["MpiChannel", "MpiMeeting"]

#: Bytes of a bundle's first message, for which a receive always waits; about as much as MPI
#: libraries send without asking the receiver.
FIRST = 1 << 13

#: Columns of at least so many bytes travel alone. Measured with MPICH and Open MPI: sixty-four
#: messages of 16 KiB take three times as long as to copy them into one and out of it again.
APART = 1 << 16

#: The most bytes of one message of columns: both ends cut them here, and a sender holds so
#: many bytes at least. The same figure as LEAST_CAP of the configuration.
LARGEST = 1 << 20

#: Seconds for which a transfer that has begun is driven on before the thread looks elsewhere.
DRIVE = 2e-3

#: Seconds between two looks at such a transfer after the first BRISK seconds.
NAP = 2e-5


class MpiMeeting:
    """Connect to other members that are ranks of this job, without ever waiting for one.

    Parameters
    ----------
    world : World
    run : int
    ranks : mapping of int to int
        The members to meet, and their ranks.
    names : mapping of int to str
        What errors call them.
    """

    def __init__(
        self, world: World, run: int, ranks: Mapping[int, int], names: Mapping[int, str]
    ) -> None:
        self._world = world
        self.channels: dict[int, MpiChannel] = {}
        self._strangers = {
            member: MpiChannel(world, rank, member, run, names[member])
            for member, rank in ranks.items()
        }

    @property
    def missing(self) -> set[int]:
        """The members that have not been met yet."""
        return set(self._strangers)

    def step(self) -> None:
        """See who has come."""
        self._world.look()
        for member in self.missing:
            if self._strangers[member].meet():
                self.channels[member] = self._strangers.pop(member)

    def close(self) -> None:
        """Stop waiting for those who have not come; the channels stay open."""
        for channel in self._strangers.values():
            channel.close()
        self._strangers = {}


class MpiChannel:
    """The way to another rank, which is greeted at once.

    Parameters
    ----------
    world : World
    rank : int
        The other end.
    peer : int
        The member at the other end.
    run : int
        Marks the frames.
    name : str
        What errors call the other end.
    """

    descriptor = LOOK
    whole = 1 << 62  # the receiver knows where messages end

    def __init__(self, world: World, rank: int, peer: int, run: int, name: str) -> None:
        self.peer = peer
        self._world = world
        self._rank = rank
        self._run = run
        self._name = name
        self._tag = world.greet(rank, run)
        self._target: int | None = None  # the tag on which the other end listens
        self._sends: list[Any] = []
        self._unsent: list[memoryview] = []  # buffers must live until their sends have ended
        self.held = 0
        self.moved = 0  # messages that went and came, as far as they are counted one by one
        self._is_met = False  # in this exchange: the other end has begun it, so it receives
        self._is_closed = False
        self._first = np.empty(FIRST, np.uint8)
        self._awaited = self._irecv(self._first)
        self._reader = self._read(run)

    def meet(self) -> bool:
        """Return whether the other end has greeted as well."""
        if self._target is None:
            self._target = self._world.heard(self._rank, self._run)
        return self._target is not None

    def send(self, buffers: Sequence[memoryview]) -> bool:
        """Send a bundle, or begin to; return whether all of it is gone."""
        self.ship(self.pieces(buffers))
        return self._is_sent(0)

    def offer(self, buffers: list[memoryview]) -> list[memoryview]:
        """Return them: a message may have to wait for its receiver."""
        return buffers

    def pieces(self, buffers: Sequence[memoryview]) -> list[memoryview]:
        """Return the messages of a bundle."""
        self._is_met = False
        return [memoryview(message) for message in _messages(buffers)]

    def ship(self, pieces: Sequence[memoryview]) -> None:
        """Send the next messages of a bundle, or begin to."""
        for message in pieces:
            self._isend(message)
            self.held += message.nbytes

    def nudge(self) -> None:
        """Go on sending, but stay no longer than it takes."""
        self._is_sent(0)

    def ask(self) -> None:
        """Do nothing: who waits looks again and again."""

    def flush(self) -> bool:
        """Go on sending; return whether all is gone."""
        return self._is_sent(DRIVE if self._is_met else BRISK)

    def _is_sent(self, seconds: float) -> bool:
        if self._sends:
            for at in reversed(self._drive(self._sends, seconds)):
                del self._sends[at]
                self.held -= self._unsent.pop(at).nbytes
        return not self._sends

    def receive(self) -> Bundle | None:
        """Return the next bundle if all of it has come.

        Raises
        ------
        ChannelClosedError
            If the other end is closed.
        """
        try:
            return next(self._reader)
        except StopIteration:
            raise ChannelClosedError(f"lost {self._name}: it closed the connection") from None

    def close(self) -> None:
        """Close this end."""
        if not self._is_closed:
            self._is_closed = True
            if self._target is not None:
                self._isend(memoryview(b""))
            self._world.see_off(self)

    def leave(self) -> bool:
        """Throw away what comes; return whether the other end is closed and all is sent."""
        if self._target is None and self.meet():
            self._isend(memoryview(b""))
        try:
            while self.receive() is not None:
                pass
        except ChannelClosedError:
            return self._target is not None and self.flush()
        return False

    def cancel(self) -> None:
        """Wait for no more messages."""
        self._awaited.Cancel()
        self._awaited.Wait()

    def _isend(self, message: memoryview) -> None:
        self._unsent.append(message)
        self._sends.append(self._world.comm.Isend(message, self._rank, self._target))

    def _irecv(self, target: Array) -> Any:
        return self._world.comm.Irecv(target, self._rank, self._tag)

    def _drive(self, requests: Sequence[Any], seconds: float) -> Sequence[int]:
        """Drive transfers on for a time; return which have ended, ascending."""
        began = time.perf_counter()
        while not self._world.mpi.Request.Testall(requests):
            passed = time.perf_counter() - began
            if passed >= seconds:
                ended = sorted(self._world.mpi.Request.Testsome(requests) or ())
                self.moved += len(ended)
                return ended
            if passed < BRISK:
                os.sched_yield()
            else:
                time.sleep(NAP)
        return range(len(requests))

    def _read(self, run: int) -> Iterator[Bundle | None]:
        """Yield one bundle after the other, and None whenever more must come first."""
        status = self._world.mpi.Status()
        while True:
            while not self._awaited.Test(status):
                yield None
            size = status.Get_count(self._world.mpi.BYTE)
            if not size:
                return
            self._is_met = True
            self.moved += 1
            prefix = read_prefix(self._first.data)
            head = self._first[PREFIX_SIZE:size]
            if head.size < prefix.head:
                head = np.empty(prefix.head + SMALL, np.uint8)
                follows = self._irecv(head)
                while not follows.Test(status):
                    yield None
                head = head[: status.Get_count(self._world.mpi.BYTE)]
            columns = _Columns(head[prefix.head :])
            bundle = read_bundle(prefix, head[: prefix.head].data, run, columns)
            bodies = [self._irecv(body) for body in columns.bodies()]
            while len(ended := self._drive(bodies, DRIVE)) < len(bodies):
                bodies = [body for at, body in enumerate(bodies) if at not in ended]
                yield None
            columns.unpack()
            self._awaited = self._irecv(self._first)
            yield bundle


class _Columns:
    """The columns of a bundle, made as its heads are read.

    Parameters
    ----------
    small : uint8 array
        What came behind the heads: all columns, or nothing.

    Examples
    --------
    >>> columns = _Columns(np.arange(3, dtype=np.uint8))
    >>> columns(2, np.dtype(np.uint8)), columns(1, np.dtype(np.int8)), list(columns.bodies())
    (array([0, 1], dtype=uint8), array([2], dtype=int8), [])
    >>> columns = _Columns(np.zeros(0, np.uint8))
    >>> arrays = columns(2, np.dtype(np.int16)), columns(APART, np.dtype(np.int8))
    >>> [body.nbytes for body in columns.bodies()] == [4, APART]
    True
    """

    def __init__(self, small: Array) -> None:
        self._small = small
        self._is_inline = small.size > 0
        self._together: list[Array] = []
        self._apart: list[Array] = []
        self._packed = small

    def __call__(self, length: int, dtype: np.dtype[Any]) -> Array:
        column = ROOM.array(length, dtype)
        body = column.view(np.uint8)
        if self._is_inline:
            body[:], self._small = np.split(self._small, [body.size])
        elif body.size:
            (self._together if body.size < APART else self._apart).append(body)
        return column

    def bodies(self) -> Iterator[Array]:
        """Yield where to receive the messages to come."""
        if self._together:
            self._packed = np.empty(sum(column.size for column in self._together), np.uint8)
            yield from _pieces(self._packed)
        for column in self._apart:
            yield from _pieces(column)

    def unpack(self) -> None:
        """Fill the columns that came in one message."""
        at = 0
        for column in self._together:
            column[:] = self._packed[at : at + column.size]
            at += column.size


def _messages(buffers: Sequence[memoryview]) -> Iterator[Any]:
    """Yield the messages of a bundle.

    Examples
    --------
    >>> def sizes(*lengths):
    ...     buffers = [memoryview(bytes(length)) for length in lengths]
    ...     return [len(message) for message in _messages(buffers)]
    >>> sizes(100), sizes(FIRST + 1), sizes(100, 5000, APART, 3)
    ([100], [32, 8161], [100, 5003, 65536])
    """
    first, *columns = buffers
    if len(first) <= FIRST:
        yield first
    else:
        yield first[:PREFIX_SIZE]
        yield first[PREFIX_SIZE:]
    if together := [column for column in columns if len(column) < APART]:
        yield from _pieces(memoryview(b"".join(together)))
    for column in columns:
        if len(column) >= APART:
            yield from _pieces(column)


def _pieces(column: Any) -> Iterator[Any]:
    """Yield the messages of a long column."""
    for start in range(0, len(column), LARGEST):
        yield column[start : start + LARGEST]
