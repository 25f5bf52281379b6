"""Links on which something moves, however slowly: nobody is given up for that."""

from __future__ import annotations

import contextlib
import socket
from collections.abc import Collection
from typing import Any

import numpy as np
import pytest

from dgraph.engine import failure
from dgraph.engine.failure import Watch
from dgraph.errors import RunAbortedError
from dgraph.exchange.frame import Frame
from dgraph.exchange.hub import TICK
from dgraph.exchange.transport import poll
from dgraph.exchange.transport.bundle import encode
from dgraph.exchange.transport.links import PeerLinks, Waker
from tests.peers import RUN, connect

NO_VOTE = np.zeros(0, np.int64)


class Slow:
    """The other end of a link, which acts in every second tick."""

    def __init__(self, end: socket.socket, step: int) -> None:
        end.setblocking(False)
        self.end, self.step = end, step
        self.unsent = memoryview(b"".join(encode(RUN, 0, [], NO_VOTE, "sum")))
        self.waited: list[list[int]] = []

    def __call__(self, superstep: int, waited: Collection[int] | None) -> None:
        assert waited is not None  # there are no wakes
        self.waited.append(sorted(waited))
        if len(self.waited) % 2:
            self.act()

    def act(self) -> None:
        """Take all that has come, and send some bytes."""
        with contextlib.suppress(BlockingIOError):
            while self.end.recv(1 << 20):
                pass
        sent = self.end.send(self.unsent[: self.step])
        self.unsent = self.unsent[sent:]


@pytest.mark.parametrize(("length", "step"), [(0, 8), (1 << 22, 1 << 20)])
def test_who_is_waited_for_is_with_whom_nothing_moves(
    length: int, step: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What comes is slow at first, then what goes."""
    monkeypatch.setattr(poll, "TICK", 0.02)
    here, there = socket.socketpair()
    slow, waker = Slow(there, step), Waker()
    links = PeerLinks(RUN, (0, 1), [connect(0, here, 1)], waker, slow)
    frames = [Frame(0, 1, (np.arange(length),), length)] if length else []
    links.exchange(0, frames, NO_VOTE, "sum")
    links.close()
    waker.close()
    there.close()
    assert len(slow.waited) > 4  # the first of them after what was sent at the begin
    assert slow.waited[1:] == [[1] if tick % 2 else [] for tick in range(len(slow.waited) - 1)]


class Sure(Watch):
    """Hears at once that a member has sent all that it had to."""

    def _ask(self, member: int) -> int | None:
        return 0


def test_silence_is_counted_from_what_moved_last(monkeypatch: pytest.MonkeyPatch) -> None:
    ticks = iter(range(100))
    monkeypatch.setattr(failure, "monotonic", lambda: next(ticks) * TICK)
    nothing: Any = None
    watch = Sure(nothing, nothing, "run", {1: "tcp://10.0.0.1:1"}, 2.2 * TICK, lambda: None)
    for _ in range(10):
        watch(0, [1])
        watch(0, [1])
        watch(0, [])
    watch(0, [1])
    watch(0, [1])
    with pytest.raises(RunAbortedError, match="has sent has not arrived"):
        watch(0, [1])
