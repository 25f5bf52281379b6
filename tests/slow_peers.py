"""Processes of a run that read slowly, so that buffers fill."""

from __future__ import annotations

import contextlib
import socket
import threading
from collections.abc import Iterator, Sequence
from typing import Any

import pytest

from dgraph.exchange.buffers import Plan, Pool
from dgraph.exchange.transport import unix
from dgraph.exchange.transport.links import PeerLinks
from dgraph.exchange.transport.unix import SocketChannel
from tests.peers import RUN, joined, run_apart
from tests.test_routing import ground_of

MIB = 1 << 20


@contextlib.contextmanager
def small_kernel_buffers() -> Iterator[None]:
    """Let the kernel take little, so that something is left to be held."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(unix, "KERNEL_BUFFER", 1 << 14)
        yield


class Slow(SocketChannel):
    """Reads once in so many times that it may, and little; tells of stalls."""

    slowness = 0

    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        self.stalled = threading.Event()
        self._patience = self.slowness

    def receive(self) -> Any:
        bundle = next(self._reader)
        if bundle is None and self._patience:
            self._patience -= 1  # what is in the socket stays there, and the poll says so
        elif bundle is None:
            self._patience = self.slowness
            if self._fill():
                bundle = next(self._reader)
        return bundle

    def ask(self) -> None:
        self.stalled.set()


@contextlib.contextmanager
def slowly_joined(
    owners: Sequence[int], plan: Plan, cap: int = MIB, slowness: int = 0
) -> Iterator[tuple[list[PeerLinks], dict[tuple[int, int], Slow]]]:
    """Yield the links of processes that have these slots, and the channels of each to each."""
    plans = dict.fromkeys(range(max(owners) + 1), plan)
    channels: dict[tuple[int, int], Slow] = {}

    def connect(me: int, end: socket.socket, peer: int) -> Slow:
        made = channels[me, peer] = Slow(end, peer, RUN, f"member {peer}")
        made.slowness = made._patience = slowness
        return made

    with (
        small_kernel_buffers(),
        joined(owners, connect=connect, buffers=lambda: (plans, Pool(cap))) as links,
    ):
        yield links, channels


def run_slowly(
    program: Any, name: str, owners: Sequence[int], plan: Plan, slowness: int, shape: Any
) -> tuple[dict[int, Any], list[Pool]]:
    """Run a program on slots of several processes; return results and pools."""
    ways = None if name == "direct" else (ground_of(shape), name)
    with slowly_joined(owners, plan, slowness=slowness) as (links, _):
        found = run_apart(program, range(len(owners)), links, owners, ways, threads=2)
        return found, [link.pool for link in links]
