"""What a probe does on two workers: one opens a door, the other sends messages through it.

"reference" hands arrays from thread to thread of one process, "unix" is a Unix socket, "shm"
that socket with memory beside it, "tcp" a plain TCP socket between hosts, "comm" Dask's own
connection, "mpi" MPI between ranks of one job, and "wire" that TCP socket at its best: the
network without us.
A door lets in one visitor, who must show a token, and closes when that leaves or nobody comes.
"""

from __future__ import annotations

import asyncio
import os
import queue
import secrets
import socket
import statistics
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from time import perf_counter
from typing import Any

from distributed import Status, Worker, get_worker
from distributed.comm.core import Comm, connect
from distributed.core import send_recv
from distributed.protocol.serialize import Serialized

from dgraph.engine.mpi_door import answer_mpi, by_mpi
from dgraph.engine.socket_door import answer_socket, by_socket
from dgraph.exchange.transport.meeting import private_folder
from dgraph.topology.probed import WIRE

__all__ = [
    "COMM",
    "MPI",
    "PATIENCE",
    "REFERENCE",
    "SHM",
    "TCP",
    "TOKEN",
    "UNIX",
    "hand_over",
    "open_door",
    "walk",
]

#: Seconds after which a connection that says nothing is given up.
PATIENCE = 60.0

#: Messages of one size: at least so many, unless one takes longer than a third of the time.
LEAST = 3

#: Messages of one byte over the wire at least, and of one size at most.
PINGS, MOST = 20, 1000

#: The share of the time that is spent on these: the latency of a network is the least seen.
OPENING = 0.4

#: Bytes of a token.
TOKEN = 32

REFERENCE, SHM, UNIX, TCP, COMM, MPI = "reference", "shm", "unix", "tcp", "comm", "mpi"

_HANDLER = "dgraph_probe"

Trip = Callable[[int], float]  # bytes -> seconds until they are there and that is known here
Door = tuple[str, Any, bytes]  # transport, address, token
Times = tuple[list[int], list[float]]


def _clock(
    trip: Trip,
    sizes: Sequence[int],
    seconds: float,
    typical: Callable[[list[float]], float] = statistics.median,
    first: int = LEAST,
    opening: float = 0.0,
) -> Times:
    """Send messages of every size; return the sizes and the typical time for one way of each.

    The answer is a message too, of one byte; its time is half the least of one byte and the
    answer.

    Parameters
    ----------
    trip : callable
    sizes : sequence of int
    seconds : float
        To spend, about.
    typical : callable
        The median for what a run will see; the least for what the network can do.
    first : int
        How many messages of the first size to send at least.
    opening : float
        Seconds to spend on them at least.

    Examples
    --------
    >>> _clock(lambda size: 2.0 + size, [1, 2], 1.0, max, 2)
    ([1, 2], [1.5, 2.5])
    """
    trip(1)  # whatever is done only once
    share, answer = seconds / len(sizes), 0.0
    done: list[int] = []
    times: list[float] = []
    for size in sizes:
        if len(done) > 2 and times[-1] * size / done[-1] > 2 * seconds:
            break  # it would take too long
        taken: list[float] = []
        least, time = (LEAST, share) if done else (first, max(share, opening))
        while len(taken) < least or sum(taken) < time:
            taken.append(trip(size))
            if taken[0] > seconds / LEAST or len(taken) == MOST:
                break
        answer = answer or min(taken) / 2
        done.append(size)
        times.append(max(typical(taken) - answer, answer))
    return done, times


# Threads of one process


def hand_over(sizes: Sequence[int], seconds: float) -> Times:
    """Hand arrays from this thread to another; a task."""
    there: queue.SimpleQueue[Any] = queue.SimpleQueue()
    back: queue.SimpleQueue[Any] = queue.SimpleQueue()

    def answer() -> None:
        while (found := there.get()) is not None:
            back.put(found)

    def trip(size: int) -> float:
        began = perf_counter()
        there.put(size)
        back.get()
        return perf_counter() - began

    thread = threading.Thread(target=answer, name="dgraph-probe", daemon=True)
    thread.start()
    try:
        return _clock(trip, sizes, seconds)
    finally:
        there.put(None)
        thread.join()


# Worker B


def open_door(transport: str, token: bytes, visitor: int | None = None) -> Door:
    """Open a door for one visitor, and return where it is; a task.

    Parameters
    ----------
    transport : str
    token : bytes
    visitor : int, optional
        The rank of who will come by MPI.
    """
    worker = get_worker()
    if transport == MPI:
        world: Any = worker.mpi_world  # type: ignore[attr-defined]
        _in_background(answer_mpi, world, visitor, token, PATIENCE)
        return transport, int(world.place.rank), token
    if transport == COMM:
        worker.handlers.setdefault(_HANDLER, _answer_comm)
        return transport, worker.address, token
    if transport in (UNIX, SHM):
        path = private_folder() / f"probe-{secrets.token_hex(8)}"
        listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        listener.bind(os.fspath(path))
        address: Any = os.fspath(path)
    else:
        listener = socket.create_server((_host_of(worker), 0), family=_family(worker))
        address = listener.getsockname()[:2]
        path = None
    listener.listen(1)
    listener.settimeout(PATIENCE)
    _in_background(answer_socket, listener, token, path, PATIENCE)
    return transport, address, token


def _in_background(function: Callable[..., None], *arguments: Any) -> None:
    threading.Thread(target=function, args=arguments, name="dgraph-probe", daemon=True).start()


def _host_of(worker: Worker) -> str:
    return str(worker.ip)


def _family(worker: Worker) -> socket.AddressFamily:
    return socket.AF_INET6 if ":" in _host_of(worker) else socket.AF_INET


async def _answer_comm(comm: Comm) -> Any:
    """Answer each message of a Dask comm, until it is closed."""
    comm.deserialize = False
    with suppress(OSError):
        await comm.write("!")
        while True:
            await comm.read()
            await comm.write("!")
    return Status.dont_reply


# Worker A


def walk(door: Door, sizes: Sequence[int], seconds: float) -> Times:
    """Measure what goes through a door; a task."""
    transport, address, token = door
    data = memoryview(bytes(max(sizes)))
    through: Any = {COMM: _by_comm, MPI: _by_mpi, SHM: _by_memory}.get(transport, _by_socket)
    with through(address, token, data) as trip:
        if transport == WIRE:
            return _clock(trip, sizes, seconds, min, PINGS, seconds * OPENING)
        return _clock(trip, sizes, seconds)


@contextmanager
def _by_comm(address: str, token: bytes, data: memoryview) -> Iterator[Trip]:
    worker = get_worker()
    loop: Any = worker.loop.asyncio_loop  # type: ignore[attr-defined]

    def wait(coroutine: Any) -> Any:
        return asyncio.run_coroutine_threadsafe(coroutine, loop).result(PATIENCE)

    async def dial() -> Comm:
        comm: Comm = await connect(address, **worker.connection_args)
        await send_recv(comm, op=_HANDLER)
        return comm

    async def send(size: int) -> None:
        await comm.write({"bundle": Serialized({}, [data[:size]])})
        await comm.read()

    async def hang_up() -> None:
        await comm.close()

    def trip(size: int) -> float:
        began = perf_counter()
        wait(send(size))
        return perf_counter() - began

    comm = wait(dial())
    try:
        yield trip
    finally:
        wait(hang_up())


@contextmanager
def _by_mpi(address: int, token: bytes, data: memoryview) -> Iterator[Trip]:
    world = get_worker().mpi_world  # type: ignore[attr-defined]
    with by_mpi(world, address, token, data, PATIENCE) as trip:
        yield trip


@contextmanager
def _by_socket(address: Any, token: bytes, data: memoryview) -> Iterator[Trip]:
    with by_socket(address, token, data, PATIENCE, with_memory=False) as trip:
        yield trip


@contextmanager
def _by_memory(address: Any, token: bytes, data: memoryview) -> Iterator[Trip]:
    with by_socket(address, token, data, PATIENCE, with_memory=True) as trip:
        yield trip
