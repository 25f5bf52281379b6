"""Buffers: what is on its way to another process, and how much of it may be held.

For every other process there is one buffer that is filled, the active one, and a few reserved
ones::

    columns of frames ──> active buffer ──full: switch──> carrier ──> gone: reserved again
                            │
                            └ no reserved one: static waits; dynamic makes it twice as large,
                              up to the cap, and then waits

A buffer refers to the columns and copies nothing: programs leave alone what they have sent
until two exchanges later. What the carrier takes at once, and a bundle that is shorter than a
buffer, passes by; a bundle in one piece, with a few KiB at most, is not even counted. Buffers
that have grown are halved when three supersteps in turn have used less than a quarter. The cap
holds for all buffers of a process together; what comes back of it goes to where most waits.

The names are those of TuCOMM ("dynamic buffer expansion" and "active buffer switching"), which
says no more than these; AML, the library of the Graph500 reference, has the static kind.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from time import perf_counter
from typing import NamedTuple, Protocol

__all__ = ["Carrier", "Outbox", "Plan", "Pool", "Tally"]

#: After so many supersteps below this part of a buffer it is halved.
PATIENCE, LITTLE = 3, 4


@dataclass(frozen=True, slots=True)
class Plan:
    """How the buffers for one other process behave.

    Parameters
    ----------
    size : int
        Bytes at which the active buffer is full, before it has grown. Typical: 32 KiB to
        1 MiB, where a frame's bytes cost what the frame itself does.
    reserved : int
        Buffers beside the active one.
    dynamic : bool
        Whether the active buffer grows when no other is left.
    level : int
        The level of the topology at which both processes meet.
    """

    size: int = 1 << 18
    reserved: int = 4
    dynamic: bool = True
    level: int = 0


class Tally(NamedTuple):
    """What buffers did.

    Parameters
    ----------
    switches : int
        How often the active one was full and a reserved one took its place.
    expansions : int
        How often it became twice as large.
    stalls : int
        How often the sender had to wait for one.
    stalled : float
        Seconds for which it waited.
    peak : int
        The most bytes that were held at a time.
    """

    switches: int = 0
    expansions: int = 0
    stalls: int = 0
    stalled: float = 0.0
    peak: int = 0


class Carrier(Protocol):
    """What takes buffers to another process, without ever waiting."""

    @property
    def whole(self) -> int:
        """So many pieces at the begin of a bundle must stay as they are."""

    @property
    def held(self) -> int:
        """Bytes that were shipped, and have not gone."""

    def send(self, buffers: Sequence[memoryview]) -> bool:
        """Send a bundle, or begin to; return whether all of it is gone."""

    def offer(self, buffers: list[memoryview]) -> list[memoryview]:
        """Send of a bundle what can go at once; return what is left."""

    def pieces(self, buffers: list[memoryview]) -> list[memoryview]:
        """Return the pieces in which a bundle is shipped."""

    def ship(self, pieces: Sequence[memoryview]) -> None:
        """Send the next pieces of a bundle, or begin to."""

    def flush(self) -> bool:
        """Go on sending; return whether there is nothing to wait for."""

    def nudge(self) -> None:
        """Go on sending, but stay no longer than it takes."""

    def ask(self) -> None:
        """Wake who waits when something has gone, if no descriptor says so."""


class Counts:
    """What is counted of some buffers, and the bytes that they hold."""

    def __init__(self) -> None:
        self.held = self.peak = 0
        self.switches = self.expansions = self.stalls = 0
        self.stalled = 0.0

    def hold(self, more: int) -> None:
        """Note that the buffers hold so many bytes more."""
        self.held += more
        self.peak = max(self.peak, self.held)

    def take(self) -> Tally:
        """Return what was counted since the last time."""
        tally = Tally(self.switches, self.expansions, self.stalls, self.stalled, self.peak)
        self.switches = self.expansions = self.stalls = 0
        self.stalled, self.peak = 0.0, self.held
        return tally


class Pool(Counts):
    """What the buffers of a process have in common: the cap, and what is counted.

    Parameters
    ----------
    cap : int
        The most bytes that they may hold.

    Attributes
    ----------
    levels : dict of int to Counts
        What is counted of the buffers for processes that are met at each level.
    """

    def __init__(self, cap: int = 1 << 28) -> None:
        super().__init__()
        self.cap = cap
        self.is_touched = False
        self.outboxes: list[Outbox] = []
        self.grown: set[Outbox] = set()
        self.levels: dict[int, Counts] = {}

    def admits(self, size: int) -> bool:
        """Return whether so many bytes more may be held."""
        if self.held + size > self.cap:
            for outbox in self.outboxes:
                outbox.land()
        return self.held + size <= self.cap or not self.held

    def take(self) -> Tally:
        """Return what was counted since the last time."""
        self.is_touched = False
        return super().take()

    def end_superstep(self) -> None:
        """Let buffers shrink that were larger than need be."""
        for outbox in list(self.grown):
            outbox.end_superstep()


class Outbox:
    """The buffers for one other process.

    Parameters
    ----------
    carrier : Carrier
    plan : Plan
    pool : Pool
    """

    def __init__(self, carrier: Carrier, plan: Plan, pool: Pool) -> None:
        self.carrier = carrier
        self.room = plan.size
        self._plan = plan
        self._pool = pool
        self._waiting: deque[memoryview] = deque()  # of one bundle: not in a buffer yet
        self._uncut = 0  # so many of them must stay as they are
        self._encode: Callable[[int], None] | None = None
        self._lazy = 0  # bytes of the bundle that are encoded when they are put in a buffer
        self.left = 0  # bytes that wait
        self._active: list[memoryview] = []
        self._filled = 0
        self._ready: list[memoryview] = []  # shipped buffers that the carrier gets at one go
        self._ready_size = 0
        self._flying: deque[int] = deque()  # bytes of each buffer on its way
        self._in_flight = 0  # their sum
        self._held = 0
        self._most = self._thrifty = 0
        self._since: float | None = None  # when the wait for a buffer began
        pool.outboxes.append(self)
        self._counts = pool, pool.levels.setdefault(plan.level, Counts())

    @property
    def size(self) -> int:
        """Bytes at which a buffer is full that has not grown."""
        return self._plan.size

    @property
    def is_stalled(self) -> bool:
        """Whether something waits for a buffer."""
        return bool(self._waiting)

    def send(
        self, buffers: Sequence[memoryview], encode: Callable[[int], None] | None = None
    ) -> bool:
        """Send a bundle, or begin to; return whether all of it is gone.

        Parameters
        ----------
        buffers : sequence of memoryview
        encode : callable, optional
            Called with a number of bytes of the last buffer before these are sent; writes them.
        """
        left = list(buffers)
        if encode is None:
            if len(left) == 1:
                return self.carrier.send(left)
            size = sum([some.nbytes for some in left])
            if size <= self._plan.size and self._pool.held + size <= self._pool.cap:
                if self.carrier.send(left):
                    return True
                self.land()
                return False
            left = self.carrier.offer(left)
            if not left:
                return self.carrier.flush()
        pieces = self.carrier.pieces(left)
        self._waiting.extend(pieces)
        self._uncut = min(len(pieces), self.carrier.whole)
        self.left = sum([piece.nbytes for piece in pieces])
        self._lazy = 0 if encode is None else left[-1].nbytes
        self._encode = encode
        self._pool.is_touched = True
        return self.flush()

    def flush(self) -> bool:
        """Go on; return whether there is nothing to wait for."""
        gone = self.carrier.flush()
        if self._held or self._waiting:
            self.land()
            while self._waiting and self._fill():
                pass
            gone = not self._waiting and self.carrier.flush()
        return gone

    def land(self) -> None:
        """See which buffers have gone, and take them back."""
        held = self.carrier.held + self._ready_size
        while self._flying and self._in_flight - self._flying[0] >= held:
            self._in_flight -= self._flying.popleft()
        self._hold(held + self._filled)

    def end_superstep(self) -> None:
        """Let the buffers shrink if they were larger than need be for some time."""
        self._thrifty = self._thrifty + 1 if LITTLE * self._most < self.room else 0
        self._most = 0
        if self._thrifty == PATIENCE:
            self._thrifty = 0
            self.room = max(self._plan.size, self.room // 2)
            if self.room == self._plan.size:
                self._pool.grown.discard(self)

    def _hold(self, held: int) -> None:
        for counts in self._counts:
            counts.hold(held - self._held)
        self._held = held

    def _fill(self) -> bool:
        """Put what waits into buffers and ship them; return whether to try again at once."""
        moved = False
        while self._waiting and self._can_take():
            piece = self._waiting[0]
            size = piece.nbytes
            if not self._uncut:
                size = min(size, self.room - self._filled, self._plan.size)
            if not self._pool.admits(size):
                if not self._flying:
                    self._ship()
                break
            self._take(piece, size)
            moved = True
        if not self._waiting:
            self._ship()  # nothing more comes that it could wait for
        self._hand_over()
        return self._note_wait(moved)

    def _can_take(self) -> bool:
        """Have a buffer with room for the first piece that waits, if that may be."""
        if not self._filled:
            return self._has_buffer() or self._grow()
        room = self.room - self._filled
        while room <= 0 or (self._uncut and room < self._waiting[0].nbytes):
            if self._switch():
                return True
            if not self._grow():
                return False
            room = self.room - self._filled
        return True

    def _take(self, piece: memoryview, size: int) -> None:
        """Put so many bytes of the first piece that waits into the active buffer."""
        self.left -= size
        if self._encode is not None and self.left < self._lazy:
            self._encode(self._lazy - self.left)
        self._uncut = max(0, self._uncut - 1)
        if size < piece.nbytes:
            self._waiting[0] = piece[size:]
            piece = piece[:size]
        else:
            self._waiting.popleft()
        self._active.append(piece)
        self._filled += size
        self._most = max(self._most, self._filled)
        self._hold(self._held + size)

    def _has_buffer(self) -> bool:
        """Return whether there is a buffer to fill beside those on their way."""
        if len(self._flying) > self._plan.reserved:
            self._hand_over()
        return len(self._flying) <= self._plan.reserved

    def _switch(self) -> bool:
        """Ship the active buffer and take a reserved one; return whether there is one."""
        if len(self._flying) >= self._plan.reserved:
            self._hand_over()
        if len(self._flying) >= self._plan.reserved:
            return False
        self._ship()
        if self._encode is not None:
            self._hand_over()  # it travels while the next one is filled
        for counts in self._counts:
            counts.switches += 1
        return True

    def _grow(self) -> bool:
        """Make the active buffer twice as large; return whether that may be."""
        if not self._plan.dynamic or self.room >= self._pool.cap:
            return False
        self.room = min(2 * self.room, self._pool.cap)
        self._pool.grown.add(self)
        for counts in self._counts:
            counts.expansions += 1
        return True

    def _ship(self) -> None:
        if self._filled:
            self._ready += self._active
            self._ready_size += self._filled
            self._flying.append(self._filled)
            self._in_flight += self._filled
            self._active, self._filled = [], 0

    def _hand_over(self) -> None:
        """Give the carrier what was shipped, and see what it takes."""
        if self._ready:
            self.carrier.ship(self._ready)
            self._ready, self._ready_size = [], 0
            self.land()

    def _note_wait(self, moved: bool) -> bool:
        """Count a wait that begins or ends; return whether a buffer has come back meanwhile."""
        pool, now = self._pool, perf_counter()
        if self._since is not None:
            for counts in self._counts:
                counts.stalled += now - self._since
        if not self._waiting:
            self._since = None
            return False
        for counts in self._counts:
            counts.stalls += self._since is None or moved
        self._since = now
        held = pool.held
        for outbox in pool.outboxes:
            outbox.carrier.ask()
            outbox.land()
        return pool.held < held
