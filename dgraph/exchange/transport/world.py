"""The MPI job of a process: where it stands in it, and which ranks it meets for a run."""

from __future__ import annotations

import itertools
import threading
import time
from typing import Any, NamedTuple, Protocol

import numpy as np

from dgraph.exchange.frame import Array

__all__ = ["Place", "World"]

#: Seconds for which a greeting is kept of a run that nobody has joined here.
KEPT = 3600.0

#: Seconds between two looks at what still goes on at the end.
PAUSE = 1e-3

_HELLO = 0  # the tag of greetings; channels have the others
_GREETING = np.dtype([("run", np.int64), ("tag", np.int64)])


class Place(NamedTuple):
    """Where a process stands in an MPI job.

    Parameters
    ----------
    world : str
        Unique, and the same for all ranks of the job.
    rank : int
    memory : int
        The lowest rank with which it shares memory, as MPI_Comm_split_type says.
    cores : int
        Cores that the ranks which share that memory may use.
    inner : tuple of int
        The same as `memory` for each smaller domain of the hardware that holds this rank and
        others, the largest first.
    """

    world: str
    rank: int
    memory: int
    cores: int
    inner: tuple[int, ...] = ()


class Leaving(Protocol):
    """A channel that was closed here, and may not be at the other end."""

    def leave(self) -> bool:
        """Throw away what comes; return whether the other end is closed and all is sent."""

    def cancel(self) -> None:
        """Wait for no more messages."""


class World:
    """The MPI job of this process: finds other ranks for a run, and sees channels off.

    Ranks of one job trust each other: who started it has started them all.

    Parameters
    ----------
    comm : mpi4py.MPI.Comm
        Used by nobody else. MPI must allow calls from several threads at the same time.
    place : Place
    """

    def __init__(self, comm: Any, place: Place) -> None:
        from mpi4py import MPI

        self.mpi: Any = MPI
        self.comm = comm
        self.place = place
        self._lock = threading.Lock()
        self._tags = itertools.cycle(range(_HELLO + 1, comm.Get_attr(MPI.TAG_UB)))
        self._heard: dict[tuple[int, int], tuple[int, float]] = {}
        self._greetings: list[tuple[Any, Array]] = []
        self._leaving: list[Leaving] = []

    def greet(self, rank: int, run: int) -> int:
        """Tell another rank on which tag this one will listen to it, and return the tag."""
        with self._lock:
            tag = next(self._tags)
            greeting = np.array([(run, tag)], _GREETING).view(np.uint8)
            self._greetings.append((self.comm.Isend(greeting, rank, _HELLO), greeting))
        return tag

    def look(self) -> None:
        """Take the greetings that have come, and see off channels that were closed."""
        with self._lock:
            status = self.mpi.Status()
            greeting = np.empty(1, _GREETING)
            while message := self.comm.Improbe(self.mpi.ANY_SOURCE, _HELLO, status):
                message.Recv(greeting.view(np.uint8))
                run, tag = greeting[0].tolist()
                self._heard[status.source, run] = tag, time.monotonic()
            self._forget()
            self._greetings = [some for some in self._greetings if not some[0].Test()]
            self._leaving = [channel for channel in self._leaving if not channel.leave()]

    def heard(self, rank: int, run: int) -> int | None:
        """Return the tag on which another rank listens in a run, None if it has not said."""
        found = self._heard.pop((rank, run), None)
        return None if found is None else found[0]

    def see_off(self, channel: Leaving) -> None:
        """Take over a channel that was closed here, until the other end is closed as well."""
        with self._lock:
            if not channel.leave():
                self._leaving.append(channel)

    def close(self, seconds: float = 1.0) -> None:
        """End what still goes on, as far as that is possible in this time."""
        end = time.monotonic() + seconds
        self.look()
        while (self._leaving or self._greetings) and time.monotonic() < end:
            time.sleep(PAUSE)
            self.look()
        for channel in self._leaving:
            channel.cancel()

    def _forget(self) -> None:
        """Drop greetings of runs that have ended before they were joined here, oldest first."""
        old = time.monotonic() - KEPT
        while self._heard and next(iter(self._heard.values()))[1] < old:
            del self._heard[next(iter(self._heard))]
