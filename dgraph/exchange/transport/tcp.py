"""TCP sockets between hosts: opened by Dask, then used without it.

A member calls another one as Dask's workers call each other, at the same port, and shows the
run's token. Once it is let in, both ends take the socket out of Dask's comm. What travels then
passes by the event loop and takes a tenth of the time; there is no other port to open, and
where comms are encrypted, or no sockets, they stay what carries frames.

::

    caller   connect ──> token ──>             <── accepted     takes the socket, says hello
    called              on Dask's event loop   accepted ──>     takes the socket, hears it
"""

from __future__ import annotations

import contextlib
import socket
from collections.abc import Mapping, MutableMapping
from concurrent.futures import Future
from typing import Any

from distributed import Worker
from distributed.comm.core import Comm
from distributed.comm.registry import backends
from distributed.comm.tcp import TCP, TLS, TCPBackend

from dgraph.errors import RunError
from dgraph.exchange.transport.comm import dial
from dgraph.exchange.transport.unix import SocketChannel

__all__ = ["Calls", "call", "has_sockets", "take_socket"]

#: What a caller says when its end is no longer Dask's: what came before would be lost.
HELLO = b"!"


def has_sockets(address: str) -> bool:
    """Return whether the comms of a worker at this address are plain TCP.

    Examples
    --------
    >>> has_sockets("tcp://10.0.0.1:1234"), has_sockets("tls://10.0.0.1:1234")
    (True, False)
    """
    return address.startswith("tcp://") and type(backends.get("tcp")) is TCPBackend


async def take_socket(comm: Comm) -> socket.socket:
    """Return the socket of a comm, which is of no use after that.

    Nothing may be on its way to this end.
    """
    if not isinstance(comm, TCP) or isinstance(comm, TLS) or comm.stream is None:
        raise RunError(f"expected a plain TCP comm, got {comm}: set dgraph.transport to 'comm'")
    if comm.stream.writing():
        await comm.stream.write(b"")
    taken = comm.stream.socket.dup()
    taken.setblocking(False)
    comm.abort()  # closes its descriptor, not the connection
    return taken


async def call(worker: Worker, address: str, **hello: Any) -> socket.socket:
    """Call another member until it has joined and lets this one in; return the socket.

    Raises
    ------
    RunError
        If it turned us away.
    """
    taken = await take_socket(await dial(worker, address, **hello))
    with contextlib.suppress(OSError):  # it is gone: who receives will find out
        taken.send(HELLO)
    return taken


class Calls:
    """The members that are reached by TCP, until all have called or been called.

    Parameters
    ----------
    run : int
    names : mapping of int to str
        The members, and what errors call them.
    made : mapping of int to Future
        The calls of this member: to those with a lower number.
    guests : mapping of int to socket
        Those that have called are put there, meanwhile.
    """

    def __init__(
        self,
        run: int,
        names: Mapping[int, str],
        made: Mapping[int, Future[socket.socket]],
        guests: MutableMapping[int, socket.socket],
    ) -> None:
        self._run = run
        self._names = names
        self._made = dict(made)
        self._guests = guests
        self.channels: dict[int, SocketChannel] = {}

    @property
    def missing(self) -> set[int]:
        """The members that have not been met yet."""
        return self._names.keys() - self.channels.keys()

    def step(self) -> None:
        """Take those that are there by now."""
        for member in [member for member, made in self._made.items() if made.done()]:
            self._add(self._made.pop(member).result(), member)
        for member, guest in list(self._guests.items()):
            if _has_said_hello(guest):
                self._add(self._guests.pop(member), member)

    def close(self) -> None:
        """End the calls that were not answered; the channels stay open."""
        for made in self._made.values():
            if not made.cancel() and made.exception() is None:
                made.result().close()
        for guest in self._guests.values():
            guest.close()

    def _add(self, sock: socket.socket, member: int) -> None:
        self.channels[member] = SocketChannel(sock, member, self._run, self._names[member])


def _has_said_hello(guest: socket.socket) -> bool:
    """Return whether a guest is ready, or gone, as its channel will find out."""
    try:
        guest.recv(len(HELLO))
    except BlockingIOError:
        return False
    except OSError:
        pass
    return True
