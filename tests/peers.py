"""Links between the processes of a run that is played on threads, joined by sockets."""

from __future__ import annotations

import contextlib
import itertools
import socket
from collections.abc import Callable, Collection, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from dgraph.engine.context import Context
from dgraph.engine.network import Network
from dgraph.exchange.hub import Hub
from dgraph.exchange.routing.ground import Ground
from dgraph.exchange.shelf import ShelfEnd
from dgraph.exchange.transport import shm
from dgraph.exchange.transport.links import PeerLinks, Waker
from dgraph.exchange.transport.shm import SharedChannel
from dgraph.exchange.transport.unix import SocketChannel
from dgraph.topology import CostModel

RUN = 7


def quiet(superstep: int, waited: Collection[int] | None) -> None:
    """Do nothing while waiting."""


def connect(me: int, end: socket.socket, peer: int) -> SocketChannel:
    """Return the channel of a process to another."""
    return SocketChannel(end, peer, RUN, f"member {peer}")


def share(me: int, end: socket.socket, peer: int) -> SharedChannel:
    """Return one with memory beside the socket."""
    return SharedChannel(end, peer, RUN, f"member {peer}", shm.LEAST)


@contextlib.contextmanager
def joined(
    owners: Sequence[int],
    idle: Callable[[int, Collection[int] | None], None] = quiet,
    connect: Callable[[int, socket.socket, int], SocketChannel] = connect,
    buffers: Callable[[], tuple[Any, ...]] = tuple,
    eager: bool = False,
) -> Iterator[list[PeerLinks]]:
    """Yield the links of processes that have these slots, a channel between any two.

    Parameters
    ----------
    buffers
        Returns the plans and the pool of a process.
    eager
        Whether they look all the time before they sleep.
    """
    size = max(owners) + 1
    channels: list[list[SocketChannel]] = [[] for _ in range(size)]
    for one, other in itertools.combinations(range(size), 2):
        here, there = socket.socketpair()
        channels[one].append(connect(one, here, other))
        channels[other].append(connect(other, there, one))
    wakers = [Waker() for _ in range(size)]
    make: Any = PeerLinks
    links: list[PeerLinks] = [
        make(RUN, owners, mine, waker, idle, *buffers(), eager=eager)
        for mine, waker in zip(channels, wakers, strict=True)
    ]
    try:
        yield links
    finally:
        for link, waker in zip(links, wakers, strict=True):
            link.close()
            waker.close()


def together(*calls: Callable[[], Any]) -> list[Any]:
    """Call each on a thread of its own; return the results or raise the first error."""
    with ThreadPoolExecutor(len(calls)) as pool:
        return [made.result(timeout=60) for made in [pool.submit(call) for call in calls]]


def run_apart(
    program: Callable[..., Any],
    arguments: Sequence[Any],
    links: Sequence[PeerLinks],
    owners: Sequence[int],
    ways: tuple[Ground, str] | None = None,
    threads: int = 1,
    cost: CostModel | None = None,
) -> dict[int, Any]:
    """Run a program on the slots of several processes, each a hub on a thread of its own.

    Parameters
    ----------
    ways
        The ground and the name of the routing; None: directly.
    cost
        What "auto" reckons with.
    """

    def host(me: int) -> dict[int, Any]:
        network = ways and Network(*ways, cost=cost, owners=owners, me=me)
        slots = [slot for slot, owner in enumerate(owners) if owner == me]
        away = set(range(len(owners))).difference(slots)
        programs = {
            slot: program(Context(slot, len(owners), network, away), arguments[slot])
            for slot in slots
        }
        return Hub(programs, threads, links[me]).run()

    made = together(*(lambda me=me: host(me) for me in range(len(links))))
    return dict(sorted((slot, value) for some in made for slot, value in some.items()))


def watch_shelves(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Return a list that gets the bytes of every column that is taken from a shelf."""
    taken: list[int] = []
    take = ShelfEnd.take

    def watched(self: ShelfEnd, place: int, size: int) -> Any:
        taken.append(size)
        return take(self, place, size)

    monkeypatch.setattr(ShelfEnd, "take", watched)
    return taken
