"""Dask's comms (tcp, tls, inproc, ...), between hosts or where nothing else can be had.

A pair of members has two comms, one for each direction. The event loop of the worker writes
and reads them; the thread that exchanges puts bundles into a queue and takes them from an
inbox. Bundles pass as plain buffers, which Dask neither serialises nor unpickles.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections import deque
from collections.abc import Sequence
from typing import Any

import numpy as np
from distributed import Worker
from distributed.comm.core import Comm, connect
from distributed.core import send_recv
from distributed.protocol.serialize import Serialized

from dgraph.errors import RunError
from dgraph.exchange.frame import Array
from dgraph.exchange.transport.bundle import PREFIX_SIZE, Bundle, read_bundle, read_prefix
from dgraph.exchange.transport.links import ChannelClosedError, Waker

__all__ = ["ACCEPTED", "LATER", "REFUSED", "CommChannel", "Inbox", "dial", "serve"]

ACCEPTED, LATER, REFUSED = "accepted", "later", "refused"

#: The RPC that a worker answers by reading bundles.
OP = "dgraph_channel"

#: Seconds until a member that was not ready is called again, at first and at most.
FIRST_WAIT, LONGEST_WAIT = 0.005, 0.5

#: Seconds that a comm may take to send what is left when it is closed.
LINGER = 5


class Inbox:
    """The buffers that came from one member, until the thread that exchanges takes them.

    Parameters
    ----------
    waker : Waker
        Told of everything that comes.
    """

    def __init__(self, waker: Waker) -> None:
        self._waker = waker
        self._bundles: deque[Sequence[memoryview] | None] = deque()
        self.open = False

    def put(self, buffers: Sequence[memoryview] | None) -> None:
        """Add a bundle, or None: there will be no more."""
        self._bundles.append(buffers)
        self._waker.wake()

    def take(self) -> Sequence[memoryview] | None:
        """Return the next bundle if one has come.

        Raises
        ------
        ChannelClosedError
            If there will be no more.
        """
        if not self._bundles:
            return None
        if self._bundles[0] is None:
            raise ChannelClosedError("it closed the connection")
        return self._bundles.popleft()


async def serve(comm: Comm, inbox: Inbox) -> None:
    """Accept a member's comm and put what comes into the inbox until it is closed."""
    comm.deserialize = False
    inbox.open = True
    try:
        await comm.write(ACCEPTED)
        while True:
            message: Any = await comm.read()
            inbox.put(message["bundle"].frames)
    except OSError:  # closed
        pass
    finally:
        inbox.put(None)


async def dial(worker: Worker, address: str, **hello: Any) -> Comm:
    """Connect to another member, call again until it has joined, and return the comm.

    Raises
    ------
    RunError
        If it turned us away.
    """
    while True:
        with contextlib.suppress(OSError):
            comm: Comm = await connect(address, **worker.connection_args)
            try:
                await _introduce(comm, hello)
            except BaseException:
                comm.abort()
                raise
            return comm
        await asyncio.sleep(LONGEST_WAIT)


async def _introduce(comm: Comm, hello: dict[str, Any]) -> None:
    wait = FIRST_WAIT
    while (answer := await send_recv(comm, op=OP, **hello)) != ACCEPTED:
        if answer == REFUSED:
            raise RunError(f"{comm.peer_address} did not accept the token of the run")
        await asyncio.sleep(wait)
        wait = min(2 * wait, LONGEST_WAIT)


class CommChannel:
    """The way to a process that is reached by a Dask comm.

    Parameters
    ----------
    comm : Comm
        To send on; the other end has accepted it.
    inbox : Inbox
        What comes from the same member.
    peer : int
    run : int
    name : str
        What errors call the other end.
    loop : asyncio.AbstractEventLoop
        On which the comm lives.
    """

    descriptor = None

    def __init__(
        self,
        comm: Comm,
        inbox: Inbox,
        peer: int,
        run: int,
        name: str,
        loop: asyncio.AbstractEventLoop,
    ) -> None:
        self.peer = peer
        self._comm = comm
        self._inbox = inbox
        self._run = run
        self._name = name
        self._loop = loop
        self._queue: asyncio.Queue[list[memoryview] | None] = asyncio.Queue()
        self._pump = asyncio.run_coroutine_threadsafe(self._write_all(), loop)

    def send(self, buffers: Sequence[memoryview]) -> bool:
        """Hand a bundle to the event loop, which sends one after the other.

        The other end is at most one superstep behind, so no more than two are in the queue.
        """
        with contextlib.suppress(RuntimeError):  # the loop is closed: receive will say so
            self._loop.call_soon_threadsafe(self._queue.put_nowait, list(buffers))
        return True

    def flush(self) -> bool:
        """Return True: nothing is left to the thread that exchanges."""
        return True

    def receive(self) -> Bundle | None:
        """Return the next bundle if it has come.

        Raises
        ------
        ChannelClosedError
            If the other end is closed.
        """
        try:
            buffers = self._inbox.take()
        except ChannelClosedError as error:
            raise ChannelClosedError(f"lost {self._name}: {error}") from None
        return None if buffers is None else _decode(buffers, self._run)

    def close(self) -> None:
        """Close the comm when all is sent."""
        with contextlib.suppress(RuntimeError):
            self._loop.call_soon_threadsafe(self._queue.put_nowait, None)

    async def _write_all(self) -> None:
        try:
            while (buffers := await self._queue.get()) is not None:
                await self._comm.write({"bundle": Serialized({}, buffers)})
            await asyncio.wait_for(self._comm.close(), LINGER)
        except (OSError, TimeoutError):
            self._inbox.put(None)
        finally:
            self._comm.abort()


def _decode(buffers: Sequence[memoryview], run: int) -> Bundle:
    """Read a bundle from its buffers.

    Examples
    --------
    >>> from dgraph.exchange.frame import Frame
    >>> from dgraph.exchange.transport.bundle import encode
    >>> frame = Frame(0, 1, (np.arange(3), np.zeros(0)), 3)
    >>> _decode(encode(7, 0, [frame], np.array([5]), "sum"), 7).frames[0].columns
    (array([0, 1, 2]), array([], dtype=float64))
    """
    first, *rest = buffers
    prefix = read_prefix(first)
    head, small = np.split(np.frombuffer(first, np.uint8), [PREFIX_SIZE + prefix.head])

    def column(length: int, dtype: np.dtype[Any]) -> Array:
        nonlocal small
        if rest and length:
            array = np.frombuffer(rest.pop(0), dtype, length)
        else:
            mine, small = np.split(small, [length * dtype.itemsize])
            array = mine.view(dtype)
        return np.require(array, requirements="A")  # from tcp it may lie anywhere

    return read_bundle(prefix, head[PREFIX_SIZE:].data, run, column)
