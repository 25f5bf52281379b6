"""The way from one process of a run to all others: one bundle each way in every superstep."""

from __future__ import annotations

import contextlib
import os
import select
import threading
import time
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from dgraph.errors import RunAbortedError, RunError
from dgraph.exchange.frame import Frame
from dgraph.exchange.hop import Hop
from dgraph.exchange.hub import COMBINE_VOTES, TICK
from dgraph.exchange.transport.bundle import Bundle, encode, encode_abort

__all__ = ["LOOK", "Channel", "ChannelClosedError", "PeerLinks", "Waker"]

Votes = NDArray[np.int64]

#: The descriptor of a channel of which nothing tells that something has come.
LOOK = -1

#: Such a channel is looked at all the time for so many seconds, while other processes may have
#: the core; then again after this share of the time waited, at last every LONGEST seconds.
#: Measured with eight ranks on two cores: within a fifth of looking all the time; a rank that
#: waits takes 5 % of a core.
BRISK, SHARE, LONGEST = 1e-4, 0.1, 1e-3


class ChannelClosedError(RunAbortedError):
    """The other process of a channel has closed it."""


class Channel(Protocol):
    """The way to one other process; only the thread that exchanges uses it.

    Attributes
    ----------
    peer : int
        The member of the run at the other end.
    descriptor : int or None
        What to poll; None: the waker tells that something has come; LOOK: nothing tells.
    """

    @property
    def peer(self) -> int:
        """The member of the run at the other end."""

    @property
    def descriptor(self) -> int | None:
        """What to poll; None: the waker tells that something has come; LOOK: nothing tells."""

    def send(self, buffers: Sequence[memoryview]) -> bool:
        """Send a bundle, or begin to; return whether all of it is gone."""

    def flush(self) -> bool:
        """Go on sending; return whether all is gone."""

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


class PeerLinks:
    """Exchange with all other processes of a run: the Links of a hub.

    Parameters
    ----------
    run : int
        Marks the frames.
    owners : sequence of int
        For each slot the member that hosts it.
    channels : sequence of Channel
        One for every other member.
    waker : Waker
    idle : callable
        Called with the superstep and the members that are waited for, whenever a tick has
        passed without a word from any, and after a wake; ends the exchange by raising.
    """

    def __init__(
        self,
        run: int,
        owners: Sequence[int],
        channels: Sequence[Channel],
        waker: Waker,
        idle: Callable[[int, Collection[int]], None],
    ) -> None:
        self._run = run
        self._owners = owners
        self._channels = sorted(channels, key=lambda channel: channel.peer)
        self._waker = waker
        self._idle = idle
        self._lock = threading.Lock()

    def exchange(
        self,
        superstep: int,
        frames: Sequence[Frame],
        vote: Votes,
        op: str,
        hop: Hop | None = None,
    ) -> tuple[list[Frame], Votes]:
        """Send every other process its frames and the vote; return what came from them.

        In a stage of a routed superstep only some processes are sent something, and only some
        are waited for.

        Raises
        ------
        RunAbortedError
            If another process has failed or closed its channel.
        """
        with self._lock:
            mine = self._by_member(frames)
            unsent = set()
            for channel in self._channels:
                if hop is None or channel.peer in hop.to:
                    frames = mine.get(channel.peer, ())
                    if not channel.send(encode(self._run, superstep, frames, vote, op)):
                        unsent.add(channel)
            missing = self._channels
            if hop is not None:
                missing = [channel for channel in missing if channel.peer in hop.come]
            bundles = self._collect(superstep, unsent, missing)
        for bundle in bundles.values():
            _check_same_step(bundle, superstep, vote, op)
        return _merge(bundles, vote, op, hop)

    def abort(self, error: BaseException) -> None:
        """Tell the other processes that the run has failed here.

        May be called from any thread. In the middle of an exchange nothing can be said: the
        thread that exchanges is woken, finds that the run is over and closes the channels.
        """
        if self._lock.acquire(blocking=False):
            try:
                for channel in self._channels:
                    channel.send(encode_abort(str(error)))
            finally:
                self._lock.release()
        else:
            self._waker.wake()

    def close(self) -> None:
        """Close all channels."""
        with self._lock:
            for channel in self._channels:
                channel.close()
            self._channels = []

    def _by_member(self, frames: Sequence[Frame]) -> Mapping[int, list[Frame]]:
        mine: dict[int, list[Frame]] = {}
        for frame in frames:
            mine.setdefault(self._owners[frame.target], []).append(frame)
        return mine

    def _collect(
        self, superstep: int, unsent: set[Channel], senders: Collection[Channel]
    ) -> dict[int, Bundle]:
        """Send what is left and receive until all that send have had their say."""
        bundles: dict[int, Bundle] = {}
        missing = set(senders)
        ready: Collection[Channel] = self._channels
        poll = None
        while True:
            for channel in ready:
                if channel in unsent and channel.flush():
                    unsent.discard(channel)
                if channel in missing and (bundle := channel.receive()) is not None:
                    bundles[channel.peer] = _check_alive(bundle)
                    missing.discard(channel)
            if not missing and not unsent:
                return bundles
            if poll is None:
                poll = _Poll(self._waker)
                ready = missing | unsent
            poll.update(ready, missing, unsent)
            ready = poll.wait()
            if poll.idle:
                self._idle(superstep, {channel.peer for channel in missing | unsent})


class _Poll:
    """Which channels have something to do: a poll for the length of one exchange."""

    def __init__(self, waker: Waker) -> None:
        self._waker = waker
        self._poll = select.poll()
        self._poll.register(waker.descriptor, select.POLLIN)
        self._channels: dict[int, Channel] = {}
        self._woken: set[Channel] = set()
        self._looked: set[Channel] = set()
        self._began = self._ticked = time.perf_counter()
        self.idle = False

    def update(
        self, channels: Collection[Channel], missing: set[Channel], unsent: set[Channel]
    ) -> None:
        """Look out for what these channels still have to receive and to send."""
        for channel in channels:
            descriptor = channel.descriptor
            events = select.POLLIN * (channel in missing) | select.POLLOUT * (channel in unsent)
            if descriptor is None or descriptor == LOOK:
                some = self._woken if descriptor is None else self._looked
                (some.add if events else some.discard)(channel)
            elif events:
                self._poll.register(descriptor, events)
                self._channels[descriptor] = channel
            elif self._channels.pop(descriptor, None) is not None:
                self._poll.unregister(descriptor)

    def wait(self) -> list[Channel]:
        """Return the channels that are ready; `idle` says that a tick passed, or of a wake."""
        events = self._poll.poll(self._pause() if self._looked else TICK * 1000)
        ready = [self._channels[found] for found, _ in events if found in self._channels]
        woken = len(ready) < len(events) and self._waker.clear()
        self.idle = woken or (not ready and self._has_ticked())
        return [*ready, *self._looked, *(self._woken if woken else ())]

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
        passed = not self._looked or now - self._ticked > TICK
        if passed:
            self._ticked = now
        return passed


def _check_alive(bundle: Bundle) -> Bundle:
    if bundle.reason is not None:
        raise RunAbortedError(bundle.reason)
    return bundle


def _check_same_step(bundle: Bundle, superstep: int, vote: Votes, op: str) -> None:
    theirs = (bundle.superstep, bundle.op, len(bundle.vote))
    if theirs != (superstep, op, len(vote)):
        raise RunError(
            f"expected superstep {superstep} with a vote of {len(vote)} ({op}) from all slots, "
            f"got superstep {theirs[0]} with a vote of {theirs[2]} ({theirs[1]}): every slot "
            "must await the same exchanges in the same order"
        )


def _merge(
    bundles: Mapping[int, Bundle], vote: Votes, op: str, hop: Hop | None
) -> tuple[list[Frame], Votes]:
    """Return all frames, and the votes combined: integers, so in any order.

    Examples
    --------
    >>> _merge({1: Bundle(0, "sum", np.array([2]), [])}, np.array([3]), "sum", None)
    ([], array([5]))
    """
    frames: list[Frame] = []
    if hop is not None and hop.takes >= 0:
        vote = bundles[hop.takes].vote
    for member, bundle in bundles.items():
        frames += bundle.frames
        if vote.size and (hop is None or member in hop.adds):
            vote = COMBINE_VOTES[op](vote, bundle.vote)
    return frames, vote
