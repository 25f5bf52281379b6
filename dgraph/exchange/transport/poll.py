"""Which channels to other processes have something to do, and how to wait for that."""

from __future__ import annotations

import contextlib
import os
import select
import threading
import time
from collections.abc import Collection
from typing import Protocol

from dgraph.errors import RunAbortedError
from dgraph.exchange.buffers import Carrier
from dgraph.exchange.hub import TICK
from dgraph.exchange.transport.bundle import Bundle

__all__ = ["BRISK", "LOOK", "Channel", "ChannelClosedError", "Poll", "Waker"]

#: The descriptor of a channel of which nothing tells that something has come.
LOOK = -1

#: Such a channel is looked at all the time for so many seconds, while other processes may have
#: the core; then again after this share of the time waited, at last every LONGEST seconds.
#: Measured with eight ranks on two cores: within a fifth of looking all the time; a rank that
#: waits takes 5 % of a core.
BRISK, SHARE, LONGEST = 1e-4, 0.1, 1e-3


class ChannelClosedError(RunAbortedError):
    """The other process of a channel has closed it."""


class Channel(Carrier, Protocol):
    """The way to one other process; only the thread that exchanges uses it.

    Attributes
    ----------
    peer : int
        The member of the run at the other end.
    descriptor : int or None
        What to poll; None: the waker tells that something has come; LOOK: nothing tells.
    moved : int
        Grows whenever something has gone to the other end, or come from it.
    """

    @property
    def peer(self) -> int:
        """The member of the run at the other end."""

    @property
    def descriptor(self) -> int | None:
        """What to poll; None: the waker tells that something has come; LOOK: nothing tells."""

    @property
    def moved(self) -> int:
        """Grows whenever something has gone to the other end, or come from it."""

    def receive(self) -> Bundle | None:
        """Return the next bundle if all of it has come; raise ChannelClosedError at the end."""

    def close(self) -> None:
        """Close this end."""


class Waker:
    """Wake a thread that polls, from any other thread.

    Examples
    --------
    >>> waker = Waker()
    >>> waker.wake()
    >>> waker.clear(), waker.clear()
    (True, False)
    >>> waker.close()
    """

    def __init__(self) -> None:
        self.descriptor, self._end = os.pipe()
        os.set_blocking(self.descriptor, False)
        os.set_blocking(self._end, False)
        self._lock = threading.Lock()

    def wake(self) -> None:
        """Let the poll return."""
        with self._lock:
            if self._end >= 0:
                with contextlib.suppress(BlockingIOError):  # it is full of wakes already
                    os.write(self._end, b"\0")

    def clear(self) -> bool:
        """Forget the wakes; return whether there were any."""
        try:
            return bool(os.read(self.descriptor, 4096))
        except BlockingIOError:
            return False

    def close(self) -> None:
        """Close the pipe; a late wake does nothing."""
        with self._lock:
            if self._end >= 0:
                os.close(self.descriptor)
                os.close(self._end)
                self._end = -1


class Poll:
    """Which channels have something to do: a poll for the length of one exchange.

    Parameters
    ----------
    waker : Waker
    eager : bool
        Whether to look all the time for BRISK seconds before sleeping: who sleeps is woken some
        50 us late. Only for a thread that has a core of its own.

    Attributes
    ----------
    idle : bool
        Whether a tick has passed without a word from any channel, or with wakes only.
    woken : bool
        Whether the waker has ended the last wait: something has come that no descriptor tells
        of, or the run is over.
    """

    def __init__(self, waker: Waker, eager: bool = False) -> None:
        self._waker = waker
        self._eager = eager
        self._poll = select.poll()
        self._poll.register(waker.descriptor, select.POLLIN)
        self._channels: dict[int, Channel] = {}
        self._woken: set[Channel] = set()
        self._looked: set[Channel] = set()
        self._began = self._ticked = time.perf_counter()
        self.idle = self.woken = False

    def update(
        self, channels: Collection[Channel], missing: set[Channel], unsent: set[Channel]
    ) -> None:
        """Look out for what these channels still have to receive and to send."""
        for channel in channels:
            descriptor = channel.descriptor
            events = select.POLLIN * (channel in missing)
            if channel in unsent and (channel.held > 0 or descriptor in (None, LOOK)):
                events |= select.POLLOUT
            if descriptor is None or descriptor == LOOK:
                some = self._woken if descriptor is None else self._looked
                (some.add if events else some.discard)(channel)
            elif events:
                self._poll.register(descriptor, events)
                self._channels[descriptor] = channel
            elif self._channels.pop(descriptor, None) is not None:
                self._poll.unregister(descriptor)

    def wait(self) -> list[Channel]:
        """Return the channels that are ready; `idle` and `woken` say how this came about."""
        events = self._look() if self._eager and not self._looked else []
        if not events:
            events = self._poll.poll(self._pause() if self._looked else TICK * 1000)
        ready = [self._channels[found] for found, _ in events if found in self._channels]
        self.woken = len(ready) < len(events) and self._waker.clear()
        self.idle = not ready and self._has_ticked()
        return [*ready, *self._looked, *(self._woken if self.woken else ())]

    def _look(self) -> list[tuple[int, int]]:
        """Look all the time for a while; return the events, none if nothing has happened."""
        began = time.perf_counter()
        while not (events := self._poll.poll(0)) and time.perf_counter() - began < BRISK:
            pass
        return events

    def _pause(self) -> int:
        """Let some time pass, and return for how many milliseconds to poll after it."""
        waited = time.perf_counter() - self._began
        if waited < BRISK:
            os.sched_yield()
        elif SHARE * waited < LONGEST:
            time.sleep(SHARE * waited)
        else:
            return round(1000 * LONGEST)
        return 0

    def _has_ticked(self) -> bool:
        """Return whether a tick has passed since the last time that it had."""
        now = time.perf_counter()
        passed = not (self._looked or self.woken) or now - self._ticked > TICK
        if passed:
            self._ticked = now
        return passed
