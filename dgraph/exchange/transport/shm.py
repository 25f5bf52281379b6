"""Shared memory beside a Unix socket: long columns are copied once, and not by the system.

A socket copies twice, and in pieces, for which sender and receiver wake each other. Here the
socket tells where a column lies (:mod:`dgraph.exchange.shelf`), and it is read there.
What the socket carries is notes, with or without the bytes that they tell of::

    | OFFER, length | what opens a shelf |
    | place, length, column |               of the bundle that begins with the next bytes
    | PLAIN, length | bytes |               of a bundle: all but these columns, as by a socket

So it still says that the other process has ended. Columns that are short, that find no room on
the shelf, or that are sent while they are written, go as if there were none.
"""

from __future__ import annotations

import contextlib
import socket
import struct
from collections.abc import Sequence
from typing import Any

import numpy as np

from dgraph.exchange.frame import Array
from dgraph.exchange.shelf import Shelf, ShelfEnd
from dgraph.exchange.transport.unix import READ_AHEAD, SocketChannel

__all__ = ["SharedChannel"]

#: Bytes of all shelves that a process makes, of the largest one, and of the smallest.
ROOM, LARGEST, LEAST = 1 << 25, 1 << 24, 1 << 20

#: Bytes of a column from which on it is worth it: 256 KiB take as long either way, 1 MiB half
#: as long again by the socket, 4 MiB twice.
LONG = 1 << 19

#: Instead of a place: bytes follow.
PLAIN, OFFER = -1, -2

_NOTE = struct.Struct("<qqq")


class SharedChannel(SocketChannel):
    """The way to another process of the host.

    Parameters
    ----------
    sock, peer, run, name
        See :class:`SocketChannel`.
    room : int
        Bytes of the shelf that this end makes.
    """

    def __init__(self, sock: socket.socket, peer: int, run: int, name: str, room: int) -> None:
        super().__init__(sock, peer, run, name)
        self._room = room
        self._shelf: Shelf | None = None  # to put into
        self._theirs: ShelfEnd | None = None  # to take from
        self._came: dict[int, Array] = {}  # columns of the next bundle
        self._raw = memoryview(bytearray(READ_AHEAD))
        self._raw_begin = self._raw_end = 0  # what of it was received and not yet read
        self._left = 0  # bytes to come of the last note

    @staticmethod
    def room_for(peers: int) -> int:
        """Return how large shelves are to be if there are so many such channels."""
        return min(LARGEST, max(LEAST, ROOM // max(peers, 1) // LEAST * LEAST))

    def send(self, buffers: Sequence[memoryview]) -> bool:
        """Send a bundle, or begin to; return whether all of it is gone."""
        notes, rest = self._put_columns(buffers)
        return super().send([*notes, *self.pieces(rest)])

    def offer(self, buffers: list[memoryview]) -> list[memoryview]:
        """Send of a bundle what can go at once; return what is left."""
        if self._unsent:
            return buffers
        notes, (first, *rest) = self._put_columns(buffers)
        super().send([*notes, *self.pieces([first])])
        return rest

    def pieces(self, buffers: list[memoryview]) -> list[memoryview]:
        """Return what the socket is given of what is not in the shelf."""
        note = _NOTE.pack(PLAIN, sum([some.nbytes for some in buffers]), 0)
        if len(buffers) == 1 and buffers[0].nbytes < LONG:
            return [memoryview(note + buffers[0])]
        return [memoryview(note), *buffers]

    def ship(self, pieces: Sequence[memoryview]) -> None:
        """Send the next pieces of a bundle, or begin to."""
        super().send(pieces)

    def close(self) -> None:
        """Close this end."""
        super().close()
        if self._shelf is not None:
            self._shelf.spare()
        self._shelf = self._theirs = None

    def _put_columns(
        self, buffers: Sequence[memoryview]
    ) -> tuple[list[memoryview], list[memoryview]]:
        """Put columns of a bundle into the shelf; return the notes of it, and the rest."""
        notes, rest = [], [buffers[0]]
        for column, some in enumerate(buffers[1:]):
            place = self._put(some) if some.nbytes >= LONG else PLAIN
            if place >= 0:
                notes.append(memoryview(_NOTE.pack(place, some.nbytes, column)))
            else:
                rest.append(some)
        return notes, rest

    def _put(self, some: memoryview) -> int:
        """Put a column into the shelf, and return its place, or PLAIN."""
        if self._shelf is None and self._room:
            self._offer_shelf()
        if self._shelf is None or not self._shelf.is_opened:
            return PLAIN
        return self._shelf.put(np.frombuffer(some, np.uint8))

    def _offer_shelf(self) -> None:
        try:
            self._shelf = Shelf.make(self._room)
        except OSError:  # no memory: it goes without
            self._room = 0
        else:
            offer = self._shelf.offer.tobytes()
            super().send([memoryview(_NOTE.pack(OFFER, len(offer), 0) + offer)])

    def _column(self, unread: list[memoryview], length: int, dtype: np.dtype[Any]) -> Array:
        """Return a column that lies in the shelf; else as of a socket."""
        column = self._came.pop(self._columns, None) if length else None
        if column is None:
            return super()._column(unread, length, dtype)
        if column.size != length * dtype.itemsize:
            raise ValueError(f"expected a column of {length} {dtype}, got {column.size} bytes")
        self._columns += 1
        return column.view(dtype)

    def _receive_into(self, target: memoryview) -> int:
        """Receive some bytes of the bundles; return how many, 0 at the end."""
        while not self._left:
            if not self._read_note():
                return 0
        size = min(len(target), self._left)
        ready = min(size, self._raw_end - self._raw_begin)
        if ready:
            target[:ready] = self._raw[self._raw_begin : self._raw_begin + ready]
            self._raw_begin += ready
        else:
            ready = self._socket.recv_into(target[:size])
        self._left -= ready
        return ready

    def _read_note(self) -> bool:
        """Read the next note; False at the end of the stream."""
        if not self._have(_NOTE.size):
            return False
        place, length, column = _NOTE.unpack_from(self._raw, self._raw_begin)
        if place == OFFER and not self._have(_NOTE.size + length):
            return False
        self._raw_begin += _NOTE.size
        if place == PLAIN:
            self._left = length
        elif place == OFFER:
            self._open(np.frombuffer(self._raw, np.int64, length // 8, self._raw_begin).copy())
            self._raw_begin += length
        elif self._theirs is not None:
            self._came[column] = self._theirs.take(place, length)
        return True

    def _open(self, offer: Array) -> None:
        with contextlib.suppress(OSError):  # then the other end does not use it
            self._theirs = ShelfEnd.open(offer)

    def _have(self, size: int) -> bool:
        """Receive until so many bytes have not been read; False at the end of the stream."""
        if self._raw_begin == self._raw_end:
            self._raw_begin = self._raw_end = 0
        elif self._raw_begin + size > len(self._raw):
            kept = bytes(self._raw[self._raw_begin : self._raw_end])
            self._raw[: len(kept)] = kept
            self._raw_begin, self._raw_end = 0, len(kept)
        while self._raw_end - self._raw_begin < size:
            received = self._socket.recv_into(self._raw[self._raw_end :])
            if not received:
                return False
            self._raw_end += received
        return True
