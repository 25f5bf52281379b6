"""What a probe does over a socket: of TCP, or of the host, with memory beside it or without.

Each message is answered with a byte::

    | PLAIN, length | bytes |    | place in the shelf, length |    | OFFER, length | of it |
"""

from __future__ import annotations

import hmac
import socket
import struct
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np

from dgraph.exchange.shelf import Shelf, ShelfEnd
from dgraph.exchange.transport.shm import LONG, OFFER, PLAIN

__all__ = ["answer_socket", "by_socket"]

_HEAD = struct.Struct("<qq")
_BLOCK = 1 << 20


def answer_socket(
    listener: socket.socket, token: bytes, path: Path | None, patience: float
) -> None:
    """Let one visitor in and answer each of its messages, until it leaves."""
    with closing(listener), suppress(OSError):
        visitor, _ = listener.accept()
        if path is not None:
            path.unlink(missing_ok=True)
        with visitor:
            _set_up(visitor, patience)
            if hmac.compare_digest(_read(visitor, len(token)), token):
                _answer_all(visitor)
    if path is not None:
        path.unlink(missing_ok=True)


def _answer_all(visitor: socket.socket) -> None:
    block, end = bytearray(_BLOCK), None
    while head := _read(visitor, _HEAD.size):
        place, left = _HEAD.unpack(head)
        if place == OFFER:
            with suppress(OSError):
                end = ShelfEnd.open(np.frombuffer(_read(visitor, left), np.int64))
        elif place != PLAIN and end is not None:
            end.take(place, left)
        else:
            while left and (count := visitor.recv_into(block, min(left, _BLOCK))):
                left -= count
        visitor.sendall(b"!")


@contextmanager
def by_socket(
    address: Any, token: bytes, data: memoryview, patience: float, *, with_memory: bool
) -> Iterator[Callable[[int], float]]:
    """Visit a door, and yield what sends so many bytes of `data` and returns the seconds."""
    if isinstance(address, str):
        sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        sock.connect(address)
    else:
        sock = socket.create_connection(tuple(address), timeout=patience)
    shelf: Shelf | None = None

    def trip(size: int) -> float:
        began = perf_counter()
        some, place = data[:size], PLAIN
        if shelf is not None and shelf.is_opened and size >= LONG:
            place = shelf.put(np.frombuffer(some, np.uint8))
        head = _HEAD.pack(place, size)
        if place != PLAIN:
            sock.sendall(head)
        elif size < _BLOCK:
            sock.sendall(head + some)
        else:
            sock.sendall(head)
            sock.sendall(some)
        _await_answer(sock)
        return perf_counter() - began

    with sock:
        _set_up(sock, patience)
        sock.sendall(token)
        if with_memory:
            shelf = Shelf(2 * data.nbytes)
            offer = shelf.offer.tobytes()
            sock.sendall(_HEAD.pack(OFFER, len(offer)) + offer)
            _await_answer(sock)
        yield trip


def _await_answer(sock: socket.socket) -> None:
    if not sock.recv(1):
        raise ConnectionResetError("the other end of the probe has closed the connection")


def _read(sock: socket.socket, size: int) -> bytes:
    """Read so many bytes; fewer at the end."""
    read = bytearray()
    while len(read) < size and (some := sock.recv(size - len(read))):
        read += some
    return bytes(read) if len(read) == size else b""


def _set_up(sock: socket.socket, patience: float) -> None:
    sock.settimeout(patience)
    if sock.family != socket.AF_UNIX:
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
