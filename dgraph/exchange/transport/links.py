"""The way from one process of a run to all others: one bundle each way in every superstep."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable, Collection, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from dgraph.errors import RunAbortedError, RunError
from dgraph.exchange.buffers import Outbox, Plan, Pool
from dgraph.exchange.frame import Frame
from dgraph.exchange.hop import Hop
from dgraph.exchange.hub import COMBINE_VOTES
from dgraph.exchange.transport.bundle import Bundle, encode, encode_abort, encode_part
from dgraph.exchange.transport.poll import LOOK, Channel, ChannelClosedError, Poll, Waker

__all__ = ["BEFORE", "LOOK", "NOTHING", "Channel", "ChannelClosedError", "PeerLinks", "Waker"]

Votes = NDArray[np.int64]

#: The number of the exchange in which nothing is exchanged but that all are there; and instead
#: of one, where not even that has begun.
BEFORE, NOTHING = -1, -2


def rotated(channels: Sequence[Channel]) -> list[Channel]:
    """Return the channels of a member, that to the next member first.

    So in every turn each member is sent to by another one, and none is flooded (as in Gemini).
    """
    peers = {channel.peer for channel in channels}
    members = len(peers) + 1
    me = min(set(range(members)) - peers)
    return sorted(channels, key=lambda channel: (channel.peer - me) % members)


def largest_first(
    channels: Sequence[Channel], frames: Mapping[int, Sequence[Frame]]
) -> Sequence[Channel]:
    """Return the channels in the sequence in which frames are sent: most bytes first.

    What takes longest begins first, as in TuCOMM's aggregation; else the sequence stays.
    """
    if not frames or len(channels) < 2:
        return channels
    size = {peer: sum(frame.nbytes for frame in some) for peer, some in frames.items()}
    return sorted(channels, key=lambda channel: -size.get(channel.peer, 0))


def fullest_first(
    outboxes: Mapping[Channel, Outbox], ready: Collection[Channel], unsent: Collection[Channel]
) -> Collection[Channel]:
    """Return the channels to go on with: of those that are stalled, those with most left first.

    Others may have given back buffers, and under one cap room goes to who asks first. As in
    TRAM that is the one with most to send: it would be the last one to end.
    """
    stalled = [channel for channel in unsent if outboxes[channel].is_stalled]
    if not stalled:
        return ready
    stalled.sort(key=lambda channel: (-outboxes[channel].left, channel.peer))
    return list(dict.fromkeys([*stalled, *ready]))


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
        Called with the superstep and the members that are waited for and with which nothing has
        been exchanged since the last call, whenever a tick has passed without a word from any;
        and with None instead of members after a wake, for the run may be over. Ends the
        exchange by raising.
    plans : mapping of int to Plan, optional
        The buffers for each other member.
    pool : Pool, optional
        What they have in common.
    eager : bool
        Whether the threads that exchange have cores of their own; see `Poll`.
    """

    def __init__(
        self,
        run: int,
        owners: Sequence[int],
        channels: Sequence[Channel],
        waker: Waker,
        idle: Callable[[int, Collection[int] | None], None],
        plans: Mapping[int, Plan] | None = None,
        pool: Pool | None = None,
        eager: bool = False,
    ) -> None:
        self._run = run
        self._eager = eager
        self._owners = owners
        self._channels = rotated(channels)
        self._waker = waker
        self._idle = idle
        self.pool = pool or Pool()
        self._outboxes = {
            channel: Outbox(channel, (plans or {}).get(channel.peer, Plan()), self.pool)
            for channel in self._channels
        }
        self._channel_of = {channel.peer: channel for channel in self._channels}
        self._parts: dict[Channel, list[Frame]] = {}  # of frames that came before the others
        self._ahead: dict[Channel, Bundle] = {}  # what came while this process was sending
        self._lock = threading.Lock()
        self._flushed = NOTHING
        self._moved = dict.fromkeys(self._channels, 0)  # as they were at the last look

    @property
    def sent(self) -> int:
        """The number of the last exchange of which everything has left this process.

        May be asked for by any thread.
        """
        return self._flushed - any(channel.held for channel in self._channels)

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
            for channel in largest_first(self._channels, mine):
                if hop is None or channel.peer in hop.to:
                    frames = mine.get(channel.peer, ())
                    buffers = encode(self._run, superstep, frames, vote, op)
                    is_short = len(buffers) == 1
                    if not (channel if is_short else self._outboxes[channel]).send(buffers):
                        unsent.add(channel)
            missing = self._channels
            if hop is not None:
                missing = [channel for channel in missing if channel.peer in hop.come]
            bundles = self._collect(superstep, unsent, missing)
            if self.pool.grown and (hop is None or hop.last):
                self.pool.end_superstep()
        for bundle in bundles.values():
            _check_same_step(bundle, superstep, vote, op)
        return _merge(bundles, vote, op, hop)

    def post(
        self, superstep: int, frame: Frame, encode: Callable[[int], None] | None = None
    ) -> bool:
        """Begin to send a frame of the exchange to come, if it is long; return whether it was.

        Parameters
        ----------
        superstep : int
        frame : Frame
        encode : callable, optional
            Called with a number of bytes of its last column before these are sent; writes
            them.

        Raises
        ------
        RunAbortedError
            If this process had to wait for a buffer, and the run is over.
        """
        channel = self._channel_of[self._owners[frame.target]]
        outbox = self._outboxes[channel]
        if frame.nbytes <= outbox.size:
            return False
        with self._lock:
            self._flush()
            outbox.send(
                encode_part(self._run, superstep, frame), encode and self._going(encode)
            )
            if outbox.is_stalled:
                self._await_buffer(superstep, channel)
        frame.is_posted = True
        return True

    def abort(self, error: BaseException) -> None:
        """Tell the other processes that the run has failed here.

        May be called from any thread. In the middle of an exchange nothing can be said: the
        thread that exchanges is woken, finds that the run is over and closes the channels.
        """
        if self._lock.acquire(blocking=False):
            try:
                for channel, outbox in self._outboxes.items():
                    if not outbox.is_stalled:  # else it is in the middle of a bundle
                        with contextlib.suppress(ChannelClosedError):
                            channel.send(encode_abort(str(error)))
            finally:
                self._lock.release()
        else:
            self._waker.wake()

    def look_after(self, superstep: int) -> None:
        """Look after all other processes, while slots wait for theirs without exchanging.

        Raises
        ------
        RunAbortedError
            If one was silent for too long.
        """
        if self._lock.acquire(blocking=False):  # several slots may ask
            try:
                self._look_after(superstep, self._channels)
            finally:
                self._lock.release()

    def close(self) -> None:
        """Close all channels."""
        with self._lock:
            for channel in self._channels:
                channel.close()
            self._channels = []
            self._outboxes = {}

    def _flush(self) -> None:
        """Let what was posted before go on."""
        for channel in self._channels:
            if channel.held:
                channel.nudge()

    def _going(self, encode: Callable[[int], None]) -> Callable[[int], None]:
        """Let what was posted before go on after each piece that is encoded."""

        def encode_and_go_on(size: int) -> None:
            encode(size)
            self._flush()

        return encode_and_go_on

    def _by_member(self, frames: Sequence[Frame]) -> Mapping[int, list[Frame]]:
        mine: dict[int, list[Frame]] = {}
        for frame in frames:
            if frame.is_posted:
                frame.is_posted = False  # should it be sent again, it is another frame
            else:
                mine.setdefault(self._owners[frame.target], []).append(frame)
        return mine

    def _receive(self, channel: Channel) -> Bundle | None:
        """Return the next bundle with the parts that came before it, if it has come."""
        if self._ahead and (bundle := self._ahead.pop(channel, None)) is not None:
            return bundle
        while (bundle := channel.receive()) is not None:
            if bundle.op:
                if self._parts and (parts := self._parts.pop(channel, None)):
                    bundle = bundle._replace(frames=parts + bundle.frames)
                return bundle
            self._parts.setdefault(channel, []).extend(_check_alive(bundle).frames)
        return None

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
                if channel in unsent and self._outboxes[channel].flush():
                    unsent.discard(channel)
                if channel in missing and (bundle := self._receive(channel)) is not None:
                    bundles[channel.peer] = bundle
                    missing.discard(channel)
            if not unsent:
                self._flushed = superstep
            if not missing and not unsent:
                return bundles
            if poll is None:
                poll = Poll(self._waker, self._eager)
                ready = missing | unsent
            poll.update(ready, missing, unsent)
            ready = poll.wait()
            if unsent:
                ready = fullest_first(self._outboxes, ready, unsent)
            if poll.idle:
                self._look_after(superstep, missing | unsent)
            elif poll.woken:
                self._idle(superstep, None)

    def _await_buffer(self, superstep: int, channel: Channel) -> None:
        """Go on sending until what waits is in buffers; meanwhile take in what the others send.

        Otherwise two processes with much to say to each other would wait for ever.
        """
        poll = Poll(self._waker, self._eager)
        deaf: set[Channel] = set()
        ready: Collection[Channel] = self._channels
        while True:
            for some in ready:
                self._outboxes[some].flush()
                if some not in self._ahead and some not in deaf:
                    self._listen(some, deaf)
            if not self._outboxes[channel].is_stalled:
                return
            if channel in deaf:
                raise ChannelClosedError(f"lost member {channel.peer} while sending to it")
            missing = {some for some in self._channels if some not in self._ahead} - deaf
            unsent = {some for some in self._channels if not self._outboxes[some].flush()}
            poll.update(self._channels, missing, unsent)
            ready = fullest_first(self._outboxes, poll.wait(), unsent)
            if poll.idle:
                self._look_after(superstep, [channel])
            elif poll.woken:
                self._idle(superstep, None)

    def _look_after(self, superstep: int, waited: Collection[Channel]) -> None:
        """Tell with whom of those that are waited for nothing has moved since the last look."""
        still = set()
        for channel in waited:
            moved = channel.moved
            if moved == self._moved[channel]:
                still.add(channel.peer)
            self._moved[channel] = moved
        self._idle(superstep, still)

    def _listen(self, channel: Channel, deaf: set[Channel]) -> None:
        """Take in what has come; who has closed may have had its say."""
        try:
            bundle = self._receive(channel)
        except ChannelClosedError:
            deaf.add(channel)
        else:
            if bundle is not None:
                self._ahead[channel] = bundle


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
