"""Dask's comms (tcp, tls, inproc, ...), between hosts or where nothing else can be had.

A pair of members has two comms, one for each direction. The event loop of the worker writes
and reads them; the thread that exchanges puts bundles into a queue and takes them from an
inbox. Bundles pass as plain buffers, which Dask neither serialises nor unpickles; a long one
in several messages. Of what comes early only so much is read: the other end then has to wait.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections import deque
from collections.abc import Generator, Iterator, Sequence
from functools import partial
from typing import Any

import numpy as np
from distributed import Worker
from distributed.comm.core import Comm, connect
from distributed.core import send_recv
from distributed.protocol.serialize import Serialized

from dgraph.errors import RunError
from dgraph.exchange.frame import Array
from dgraph.exchange.transport.bundle import PREFIX_SIZE, Bundle, read_bundle, read_prefix
from dgraph.exchange.transport.poll import ChannelClosedError, Waker

__all__ = [
    "ACCEPTED",
    "LATER",
    "REFUSED",
    "CommChannel",
    "Inbox",
    "Reader",
    "dial",
    "serve",
]

ACCEPTED, LATER, REFUSED = "accepted", "later", "refused"

#: The RPC that a worker answers by reading bundles.
OP = "dgraph_channel"

#: Seconds until a member that was not ready is called again, at first and at most.
FIRST_WAIT, LONGEST_WAIT = 0.005, 0.5

#: What waits to be written goes in one message, up to so many bytes.
MESSAGE = 1 << 20

#: Seconds that a comm may take to send what is left when it is closed.
LINGER = 5


class Inbox:
    """The buffers that came from one member, until the thread that exchanges takes them.

    Parameters
    ----------
    waker : Waker
        Told of everything that comes.
    limit : int
        When more bytes than this wait to be taken, no more are read.
    """

    def __init__(self, waker: Waker, limit: int = 1 << 28) -> None:
        self._waker = waker
        self._limit = limit
        self._messages: deque[Sequence[memoryview] | None] = deque()
        self._came = self._taken = 0  # bytes; each is written by one thread
        self._loop: asyncio.AbstractEventLoop | None = None  # while a reader waits
        self._room = asyncio.Event()
        self.open = False

    @property
    def came(self) -> int:
        """Bytes that have come so far."""
        return self._came

    def put(self, buffers: Sequence[memoryview] | None) -> None:
        """Add a message, or None: there will be no more."""
        self._messages.append(buffers)
        self._came += _size(buffers or ())
        self._waker.wake()

    def take(self) -> Sequence[memoryview] | None:
        """Return the next message if one has come.

        Raises
        ------
        ChannelClosedError
            If there will be no more.
        """
        if not self._messages:
            return None
        if self._messages[0] is None:
            raise ChannelClosedError("it closed the connection")
        message = self._messages.popleft()
        assert message is not None
        self._taken += _size(message)
        self._let_in()
        return message

    def release(self) -> None:
        """Read whatever comes: nobody will take it."""
        self._limit = 1 << 62
        self._let_in()

    async def room(self) -> None:
        """Wait until no more bytes than the limit wait to be taken."""
        while self._came - self._taken > self._limit:
            self._room.clear()
            self._loop = asyncio.get_running_loop()
            if self._came - self._taken > self._limit:
                await self._room.wait()
            self._loop = None

    def wake(self) -> None:
        """Wake the thread that exchanges."""
        self._waker.wake()

    def _let_in(self) -> None:
        loop = self._loop
        if loop is not None and self._came - self._taken <= self._limit:
            with contextlib.suppress(RuntimeError):  # the loop is closed
                loop.call_soon_threadsafe(self._room.set)


async def serve(comm: Comm, inbox: Inbox) -> None:
    """Accept a member's comm and put what comes into the inbox until it is closed."""
    comm.deserialize = comm.allow_offload = False  # there are plain buffers only
    inbox.open = True
    try:
        await comm.write(ACCEPTED)
        while True:
            message: Any = await comm.read()
            inbox.put(message.frames)
            await inbox.room()
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
                comm.allow_offload = False  # nor is it worth a look whether to
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


class Reader:
    """Reads bundles from the messages of an inbox; iterating gives None until one is whole.

    Parameters
    ----------
    inbox : Inbox
    run : int
        Frames of another run are an error.

    Examples
    --------
    >>> from dgraph.exchange.frame import Frame
    >>> from dgraph.exchange.transport.bundle import encode
    >>> frame = Frame(0, 1, (np.arange(1000), np.zeros(0)), 3)
    >>> head, column = encode(7, 0, [frame], np.array([5]), "sum")
    >>> waker = Waker()
    >>> inbox = Inbox(waker)
    >>> reader = iter(Reader(inbox, 7))
    >>> inbox.put([head, column[:100]])
    >>> next(reader)
    >>> inbox.put([column[100:]])
    >>> next(reader).frames[0].columns[0].sum()
    np.int64(499500)
    >>> waker.close()
    """

    def __init__(self, inbox: Inbox, run: int) -> None:
        self._inbox = inbox
        self._run = run
        self._came: deque[memoryview] = deque()

    def __iter__(self) -> Iterator[Bundle | None]:
        """Yield one bundle after the other, and None whenever more must come first."""
        while True:
            first = yield from self._next()
            prefix = read_prefix(first)
            head, *small = np.split(np.frombuffer(first, np.uint8), [PREFIX_SIZE + prefix.head])
            unread: list[memoryview] = []
            column = partial(self._column, small, unread)
            bundle = read_bundle(prefix, head[PREFIX_SIZE:].data, self._run, column)
            for target in unread:
                yield from self._fill(target)
            yield bundle

    def _next(self) -> Generator[None, None, memoryview]:
        """Return the next buffer, when it has come."""
        while not self._came:
            message = self._inbox.take()
            if message is None:
                yield None
            else:
                self._came.extend(map(memoryview, message))
        return self._came.popleft()

    def _column(
        self, small: list[Array], unread: list[memoryview], length: int, dtype: np.dtype[Any]
    ) -> Array:
        """Return a column that has come; else a new array, to be filled as `unread`.

        All columns follow the head in `small`, or each is in buffers of its own.
        """
        size = length * dtype.itemsize
        if small[0].size:
            mine, small[0] = np.split(small[0], [size])
            array = mine.view(dtype)
        elif size and not unread and self._came and self._came[0].nbytes == size:
            array = np.frombuffer(self._came.popleft(), dtype)
        else:
            array = np.empty(length, dtype)
            if size:
                unread.append(array.view(np.uint8).data)
        return np.require(array, requirements="A")  # from tcp it may lie anywhere

    def _fill(self, target: memoryview) -> Iterator[None]:
        while target:
            buffer = yield from self._next()
            size = min(len(target), buffer.nbytes)
            target[:size] = buffer[:size]
            target = target[size:]
            if size < buffer.nbytes:
                self._came.appendleft(buffer[size:])


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
    whole = 1  # the head

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
        self._name = name
        self._loop = loop
        self._queue: asyncio.Queue[list[memoryview] | None] = asyncio.Queue()
        self._reader = iter(Reader(inbox, run))
        self._queued = self._written = 0  # bytes; each is written by one thread
        self._is_asked = False
        self._pump = asyncio.run_coroutine_threadsafe(self._write_all(), loop)

    @property
    def held(self) -> int:
        """Bytes that wait for the event loop, or in it for the other end."""
        return self._queued - self._written

    @property
    def moved(self) -> int:
        """Bytes that went to the other end, and came from it."""
        return self._written + self._inbox.came

    def send(self, buffers: Sequence[memoryview]) -> bool:
        """Hand buffers to the event loop, which sends one after the other.

        The other end is at most one superstep behind, so those of no more than two are there.
        """
        self._queued += _size(buffers)
        with contextlib.suppress(RuntimeError):  # the loop is closed: receive will say so
            self._loop.call_soon_threadsafe(self._queue.put_nowait, list(buffers))
        return True

    def offer(self, buffers: list[memoryview]) -> list[memoryview]:
        """Return them: nothing goes at once."""
        return buffers

    def pieces(self, buffers: list[memoryview]) -> list[memoryview]:
        """Return them: the other end puts together what was cut."""
        return buffers

    def ship(self, pieces: Sequence[memoryview]) -> None:
        """Send the next pieces of a bundle."""
        self.send(pieces)

    def nudge(self) -> None:
        """Do nothing: the event loop goes on."""

    def ask(self) -> None:
        """Wake the thread that exchanges when something has gone."""
        self._is_asked = self.held > 0

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
            return next(self._reader)
        except ChannelClosedError as error:
            raise ChannelClosedError(f"lost {self._name}: {error}") from None
        except StopIteration:
            raise ChannelClosedError(f"lost {self._name}: it closed the connection") from None

    def close(self) -> None:
        """Close the comm when all is sent."""
        self._inbox.release()
        with contextlib.suppress(RuntimeError):
            self._loop.call_soon_threadsafe(self._queue.put_nowait, None)

    async def _write_all(self) -> None:
        try:
            while buffers := await self._next_message():
                await self._comm.write(Serialized({}, buffers))
                self._written += _size(buffers)
                if self._is_asked:
                    self._is_asked = False
                    self._inbox.wake()
            await asyncio.wait_for(self._comm.close(), LINGER)
        except (OSError, TimeoutError):
            self._inbox.put(None)
        finally:
            self._comm.abort()
            self._written = self._queued  # nothing more will go

    async def _next_message(self) -> list[memoryview]:
        """Return what waits to be written, as far as it goes in one message; [] at the end."""
        message: list[memoryview] = []
        size = 0
        while not message or (size < MESSAGE and not self._queue.empty()):
            more = await self._queue.get()
            if more is None:
                self._queue.put_nowait(None)
                break
            message += more
            size += _size(more)
        return message


def _size(buffers: Sequence[memoryview]) -> int:
    """Return the bytes of some buffers.

    Examples
    --------
    >>> _size([memoryview(b"abc"), memoryview(b"d")])
    4
    """
    return sum([memoryview(buffer).nbytes for buffer in buffers])
