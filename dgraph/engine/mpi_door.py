"""What a probe does on two ranks of one MPI job: bundles through the channel that runs have.

So what is measured has all that a run sees of MPI: columns that are cut and copied, and a
receiver that looks again and again, ever more rarely.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from time import perf_counter
from typing import Any

import numpy as np

from dgraph.errors import RunError
from dgraph.exchange.frame import Frame
from dgraph.exchange.transport.bundle import encode
from dgraph.exchange.transport.mpi import MpiMeeting
from dgraph.exchange.transport.poll import BRISK, LONGEST, SHARE, ChannelClosedError

__all__ = ["Correspondence", "answer_mpi", "by_mpi"]

_NO_VOTE = np.zeros(0, np.int64)


class Correspondence:
    """Bundles between this rank and another.

    Parameters
    ----------
    world : dgraph.exchange.transport.world.World
    rank : int
        The other one, which must make one of these as well.
    token : bytes
        The same on both ends.
    patience : float
        Seconds after which to give up.

    Raises
    ------
    RunError
        If the other one does not come or does not answer.
    """

    def __init__(self, world: Any, rank: int, token: bytes, patience: float) -> None:
        self._run = int.from_bytes(token[:8], "little", signed=True)
        self._whom, self._patience = f"rank {rank}", patience
        meeting = MpiMeeting(world, self._run, {0: rank}, {0: self._whom})
        try:
            for _ in self._looks():
                meeting.step()
                if not meeting.missing:
                    break
        finally:
            meeting.close()
        self._channel = meeting.channels[0]

    def send(self, column: memoryview) -> None:
        """Send a frame of one column."""
        frame = Frame(0, 1, (np.frombuffer(column, np.int8),), 1)
        if not self._channel.send(encode(self._run, 0, [frame], _NO_VOTE, "sum")):
            for _ in self._looks():
                if self._channel.flush():
                    break

    def receive(self) -> None:
        """Wait for a frame, and throw it away."""
        for _ in self._looks():
            if self._channel.receive() is not None:
                break

    def close(self) -> None:
        """End it: the other one's next look raises ChannelClosedError."""
        self._channel.close()

    def _looks(self) -> Iterator[None]:
        """Yield again and again, ever more rarely, as a run looks."""
        began = perf_counter()
        while (waited := perf_counter() - began) < self._patience:
            yield
            if waited < BRISK:
                os.sched_yield()
            else:
                time.sleep(min(SHARE * waited, LONGEST))
        raise RunError(
            f"expected a message of {self._whom} within {self._patience:g} s, got none: see "
            "whether its process still runs, and probe again"
        )


def answer_mpi(world: Any, rank: int, token: bytes, patience: float) -> None:
    """Answer each frame of another rank with one of a byte, until it leaves."""
    with suppress(ChannelClosedError, RunError):
        other = Correspondence(world, rank, token, patience)
        try:
            while True:
                other.receive()
                other.send(memoryview(b"!"))
        finally:
            other.close()


@contextmanager
def by_mpi(
    world: Any, rank: int, token: bytes, data: memoryview, patience: float
) -> Iterator[Any]:
    """Yield a function that sends so many bytes to a rank and returns the seconds it took."""
    other = Correspondence(world, rank, token, patience)

    def trip(size: int) -> float:
        began = perf_counter()
        other.send(data[:size])
        other.receive()
        return perf_counter() - began

    try:
        yield trip
    finally:
        other.close()
