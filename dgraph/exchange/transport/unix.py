"""A socket to another process: arrays are received straight into place.

A Unix socket on the host, see :mod:`dgraph.exchange.transport.meeting`; one of TCP between
hosts, see :mod:`dgraph.exchange.transport.tcp`.
"""

from __future__ import annotations

import socket
import sys
from collections.abc import Generator, Iterator, Sequence
from functools import partial
from typing import Any

import numpy as np

from dgraph.exchange.frame import Array
from dgraph.exchange.room import ROOM
from dgraph.exchange.transport.bundle import PREFIX_SIZE, Bundle, read_bundle, read_prefix
from dgraph.exchange.transport.poll import ChannelClosedError

__all__ = ["SocketChannel"]

#: Bytes read ahead: a small bundle comes with one system call. A larger column is received
#: straight into its array, apart from its start.
READ_AHEAD = 1 << 16

#: Bytes that the kernel is asked to buffer, so that a sender need not wait for the receiver.
KERNEL_BUFFER = 1 << 22

#: The most buffers that one sendmsg takes on Linux and macOS (IOV_MAX).
MOST_BUFFERS = 1024


class SocketChannel:
    """The way to another process, by a stream of bytes.

    Parameters
    ----------
    sock : socket.socket
        Connected.
    peer : int
        The member at the other end.
    run : int
        Marks the frames.
    name : str
        What errors call the other end.

    Examples
    --------
    >>> from dgraph.exchange.frame import Frame
    >>> from dgraph.exchange.transport.bundle import encode
    >>> here, there = [SocketChannel(end, 0, 7, "peer") for end in socket.socketpair()]
    >>> frame = Frame(0, 1, (np.arange(3),), 3)
    >>> here.send(encode(7, 0, [frame], np.array([5]), "sum"))
    True
    >>> there.receive().frames[0].columns
    (array([0, 1, 2]),)
    >>> here.close(), there.close()
    (None, None)
    """

    whole = 0

    def __init__(self, sock: socket.socket, peer: int, run: int, name: str) -> None:
        sock.setblocking(False)
        _enlarge(sock)
        self.peer = peer
        self.descriptor = sock.fileno()
        self._socket = sock
        self._name = name
        self._unsent: list[memoryview] = []
        self.held = 0  # bytes of these
        self.moved = 0  # bytes that went and came
        self._ahead = memoryview(bytearray(READ_AHEAD))
        self._begin = self._end = 0  # what of `_ahead` was received and not yet read
        self._into: memoryview | None = None  # where to receive, if not in `_ahead`
        self._columns = 0  # of the bundle so far, those that are not empty
        self._reader = self._read(run)

    def send(self, buffers: Sequence[memoryview]) -> bool:
        """Send a bundle, or begin to; return whether all of it is gone."""
        if len(buffers) == 1 and not self._unsent:
            self._unsent = [buffers[0]]
            self.held = buffers[0].nbytes
        else:
            self._unsent += buffers
            self.held += sum([buffer.nbytes for buffer in buffers])
        return self.flush()

    def offer(self, buffers: list[memoryview]) -> list[memoryview]:
        """Send of a bundle what can go at once; return what is left."""
        if not self._unsent:
            self.send(buffers)
            buffers, self._unsent, self.held = self._unsent, [], 0
        return buffers

    def pieces(self, buffers: list[memoryview]) -> list[memoryview]:
        """Return them: the other end sees a stream of bytes."""
        return buffers

    def ship(self, pieces: Sequence[memoryview]) -> None:
        """Send the next pieces of a bundle, or begin to."""
        self.send(pieces)

    def nudge(self) -> None:
        """Go on sending."""
        self.flush()

    def ask(self) -> None:
        """Do nothing: a poll of the socket tells when something has gone."""

    def flush(self) -> bool:
        """Go on sending; return whether all is gone."""
        try:
            while self._unsent:
                if len(self._unsent) == 1:
                    sent = self._socket.send(self._unsent[0])
                else:
                    sent = self._socket.sendmsg(self._unsent[:MOST_BUFFERS])
                self.held -= sent
                self.moved += sent
                self._unsent = _after(self._unsent, sent) if self.held else []
        except BlockingIOError:
            return False
        except ConnectionError:  # what the other end said before is still to be received
            self._unsent, self.held = [], 0
        except OSError as error:
            raise ChannelClosedError(f"cannot send to {self._name}: {error}") from error
        return True

    def receive(self) -> Bundle | None:
        """Return the next bundle if all of it has come.

        Raises
        ------
        ChannelClosedError
            If the other end is closed.
        """
        while (bundle := next(self._reader)) is None:
            if not self._fill():
                return None
        return bundle

    def close(self) -> None:
        """Close this end."""
        self._socket.close()

    def _fill(self) -> bool:
        """Receive some bytes; return whether there were any."""
        target = self._into
        if target is None:
            if self._begin == self._end:
                self._begin = self._end = 0
            target = self._ahead[self._end :]
        try:
            received = self._receive_into(target)
        except BlockingIOError:
            return False
        except OSError as error:
            raise ChannelClosedError(f"lost {self._name}: {error}") from error
        if not received:
            raise ChannelClosedError(f"lost {self._name}: it closed the connection")
        self.moved += received
        if self._into is None:
            self._end += received
        else:
            self._into = target[received:]
        return True

    def _receive_into(self, target: memoryview) -> int:
        """Receive some bytes of the stream; return how many, 0 at its end."""
        return self._socket.recv_into(target)

    def _read(self, run: int) -> Iterator[Bundle | None]:
        """Yield one bundle after the other, and None whenever more bytes must come first."""
        while True:
            yield (yield from self._read_one(run))  # which nothing here refers to any more

    def _read_one(self, run: int) -> Generator[None, None, Bundle]:
        if self._end - self._begin < PREFIX_SIZE:
            yield from self._read_ahead(PREFIX_SIZE)
        prefix = read_prefix(self._ahead, self._begin)
        self._begin += PREFIX_SIZE
        if prefix.head <= READ_AHEAD // 2:
            if self._end - self._begin < prefix.head:
                yield from self._read_ahead(prefix.head)
            head = self._ahead[self._begin : self._begin + prefix.head]
            self._begin += prefix.head
        else:
            head = memoryview(bytearray(prefix.head))
            yield from self._read_into(head)
        unread: list[memoryview] = []
        self._columns = 0
        bundle = read_bundle(prefix, head, run, partial(self._column, unread))
        for target in unread:
            yield from self._read_into(target)
        return bundle

    def _column(self, unread: list[memoryview], length: int, dtype: np.dtype[Any]) -> Array:
        """Return a column that was read ahead; else a new array, to be filled as `unread`."""
        size = length * dtype.itemsize
        self._columns += length > 0
        if length and not unread and size <= self._end - self._begin:
            column = np.frombuffer(self._ahead, dtype, length, self._begin).copy()
            self._begin += size
        else:
            column = ROOM.array(length, dtype)
            unread.append(column.view(np.uint8).data)
        return column

    def _read_ahead(self, size: int) -> Iterator[None]:
        """Have `size` bytes at the begin of what was read ahead."""
        if self._begin + size > READ_AHEAD:
            held = bytes(self._ahead[self._begin : self._end])
            self._ahead[: len(held)] = held
            self._begin, self._end = 0, len(held)
        while self._end - self._begin < size:
            yield None

    def _read_into(self, target: memoryview) -> Iterator[None]:
        """Fill `target` with what was read ahead, then straight from the socket."""
        size = min(len(target), self._end - self._begin)
        target[:size] = self._ahead[self._begin : self._begin + size]
        self._begin += size
        self._into = target[size:]
        while self._into:
            yield None
        self._into = None


def _enlarge(sock: socket.socket) -> None:
    """Let the kernel buffer much, at once.

    TCP begins with a window of 64 KiB and grows it by what comes in a round trip: over 20 ms
    the first frame of 1 MiB takes five times as long as it must. Linux gives what one waits for
    room, without an upper bound of its own as SO_RCVBUF has, and keeps it.
    """
    if sock.family == socket.AF_UNIX:
        for option in (socket.SO_SNDBUF, socket.SO_RCVBUF):
            sock.setsockopt(socket.SOL_SOCKET, option, KERNEL_BUFFER)
    elif sys.platform == "linux":
        for size in (KERNEL_BUFFER, 1):
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVLOWAT, size)


def _after(buffers: list[memoryview], sent: int) -> list[memoryview]:
    """Return what is left of buffers of which so many bytes were sent.

    Examples
    --------
    >>> [bytes(some) for some in _after([memoryview(b"abc"), memoryview(b"defg")], 4)]
    [b'efg']
    """
    for position, buffer in enumerate(buffers):
        if sent < buffer.nbytes:
            return [buffer[sent:], *buffers[position + 1 :]]
        sent -= buffer.nbytes
    return []
