"""Memory on which slots of several processes of one host work together.

It belongs to a graph: the first run that wants it lets slot 0 make it, and all others open it.
Then it serves one run at a time; another one waits, for by frames it would take longer still.
Where the memory cannot be had, frames are exchanged. What all slots do is voted on in an
exchange that is made anyway::

    claim    the desk of the shard says whether this run can have the memory, and it is there
    vote     with the exchange
    take     if all can have it: the arrays, which the first time costs three exchanges more;
             if some other run has it: give up what this one holds, pause, and vote again

A run that fails leaves the memory as it is, for slots of other processes may still be at work
there; the next one makes a new one.
"""

from __future__ import annotations

import random
import threading
import time
from collections.abc import Callable, Sequence
from types import TracebackType
from typing import Any, Self, TypeVar

import numpy as np
from numpy.typing import DTypeLike, NDArray

from dgraph.engine.context import Context
from dgraph.engine.records import ROUTES
from dgraph.exchange.meeting import OVER
from dgraph.exchange.segment import LINE, Segment
from dgraph.shard import Shard

__all__ = ["Claim", "Common", "Wishes", "claim_commons"]

Array = NDArray[Any]
T = TypeVar("T")

#: What the slots see: for each slot its arrays. The first one of slot 0 is where they meet.
Common = Sequence[Sequence[Array]]

#: What a slot wants: lengths and dtypes of arrays; and what it lets the others know, to come
#: after these. The dtypes are the same on all slots, and an array may be of no length. On the
#: first slot the first array is where slots meet.
Wishes = tuple[Sequence[tuple[int, DTypeLike]], Sequence[Array]]

NAME = "memory of several processes"

#: Seconds of the first pause of who waits, and of the longest; how often a run votes before it
#: gives up: after half a minute, more or less.
PAUSE, LONGEST, TURNS = 5e-4, 0.02, 1000


class _Desk:
    """Lends one slot's view of the memory to one run at a time; kept with the shard."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._is_lent = False
        self.is_refused = False
        self.forget()

    def forget(self) -> None:
        """Forget the memory, and what runs have made for it."""
        self.common: Common | None = None
        self.kept: dict[str, Any] = {}
        self._mine: Sequence[Array] = ()

    def have(self, common: Common, slot: int) -> None:
        """Have memory to lend from now on."""
        self.common, self._mine = common, common[slot]

    @property
    def arrays(self) -> list[Any]:
        """What counts as memory of this slot."""
        return [*self._mine, *self.kept.values()]

    def lend(self) -> bool:
        """Lend it, if it is there to be had."""
        with self._lock:
            if self._is_lent or self.is_refused:
                return False
            self._is_lent = True
            return True

    def take_back(self) -> None:
        """Let the next run have it."""
        with self._lock:
            self._is_lent = False


class Claim:
    """A run's claim to the memory, on one slot: a context to be left when it is done.

    Attributes
    ----------
    vote : tuple of int
        To be summed over all slots, for :meth:`take`; () if there is no such memory.
    """

    def __init__(self, ctx: Context, desk: _Desk | None) -> None:
        self._ctx, self._desk = ctx, desk
        self._is_held = self._is_used = False
        self.vote: tuple[int, ...] = ()
        if desk is not None:
            self._ask(desk)

    def _ask(self, desk: _Desk) -> None:
        """Ask for the memory, and vote: got it, it is there, it will never be had."""
        self._is_held = desk.lend()
        self.vote = int(self._is_held), int(desk.common is not None), int(desk.is_refused)

    def __enter__(self) -> Self:
        """Hold the claim."""
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Let the next run have the memory; forget it if this one has failed."""
        if self._desk is None or not self._is_held:
            return
        if self._is_used:
            assert self._ctx.near is not None
            self._ctx.near.hub.meet_at(None)
            common = self._desk.common
            if kind is not None or (common is not None and common[0][0][OVER]):
                self._desk.forget()
        self._desk.take_back()

    def keep(self, name: str, make: Callable[[], T]) -> T:
        """Return what a run before has made for the memory that was taken, or `make` makes."""
        assert self._desk is not None
        kept = self._desk.kept
        if name not in kept:
            kept[name] = make()
        thing: T = kept[name]
        return thing

    async def take(
        self, vote: NDArray[np.int64], wishes: Callable[[], Wishes]
    ) -> Common | None:
        """Return the arrays of all slots; None, on all alike, if there will be none.

        Parameters
        ----------
        vote : int64 array
            The sum of all votes.
        wishes : callable
            Returns what this slot wants, if the memory is yet to be made.
        """
        desk, slots = self._desk, self._ctx.slots
        if desk is None:
            return None
        vote = await self._wait(desk, vote)
        if vote[0] < slots:
            return None
        self._is_used = True
        if vote[1] < slots:
            desk.forget()
            stage, self._ctx.stage = self._ctx.stage, ROUTES
            await self._make(desk, *wishes())
            self._ctx.stage = stage
        if desk.common is None:
            desk.is_refused = True
            return None
        self._meet_at(desk.common)
        return desk.common

    async def _wait(self, desk: _Desk, vote: NDArray[np.int64]) -> NDArray[np.int64]:
        """Vote until nobody else has the memory; return the last total."""
        ctx, pause = self._ctx, PAUSE
        stage, ctx.stage = ctx.stage, ROUTES
        for _ in range(TURNS):
            if vote[0] == ctx.slots or vote[2]:
                break
            if self._is_held:  # two runs that each have a part would wait for each other
                self._is_held = False
                desk.take_back()
            time.sleep(random.uniform(pause, 2 * pause))
            pause = min(2 * pause, LONGEST)
            self._ask(desk)
            vote = await ctx.allreduce(self.vote)
        ctx.stage = stage
        return vote

    def _meet_at(self, common: Common) -> None:
        assert self._ctx.near is not None
        self._ctx.near.hub.meet_at(common[0][0])

    async def _make(
        self, desk: _Desk, room: Sequence[tuple[int, DTypeLike]], told: Sequence[Array]
    ) -> None:
        """Make the memory and let the desk have it, on all slots or on none."""
        ctx = self._ctx
        dtypes = [np.dtype(dtype) for _, dtype in room] + [some.dtype for some in told]
        mine = np.array([length for length, _ in room] + [some.size for some in told], np.int64)
        lengths = np.stack([some for (some,) in await ctx.allgather(mine)])
        places, size = _lay_out(lengths, dtypes)
        made = _made(size) if ctx.slot == 0 else None
        offer = np.zeros(4, np.int64) if made is None else made.offer
        (offer,) = (await ctx.allgather(offer))[0]
        segment = made if ctx.slot == 0 else _opened(offer)
        common = None
        if segment is not None:
            common = [
                [segment.array(*some) for some in zip(row, counts, dtypes, strict=True)]
                for row, counts in zip(places, lengths.tolist(), strict=True)
            ]
            own = common[ctx.slot]
            for array, values in zip(own[len(room) :], told, strict=True):
                array[:] = values
            self._meet_at(common)
        is_there = await ctx.allreduce([common is not None], "min")
        if made is not None:
            made.close_door()
        if common is not None and is_there[0]:
            desk.have(common, ctx.slot)


def claim_commons(ctx: Context, shard: Shard, *, wanted: bool = True) -> Claim:
    """Claim the memory of the slots of a graph for this run.

    If it is not wanted, or the run is not on one host, nothing is claimed.
    """
    if ctx.near is None or not wanted:
        return Claim(ctx, None)
    desk: _Desk = shard.derived.setdefault(NAME, _Desk())
    if not ctx.near.has_cores:
        desk.is_refused = True
    return Claim(ctx, desk)


def _lay_out(
    lengths: NDArray[np.int64], dtypes: Sequence[np.dtype[Any]]
) -> tuple[list[list[int]], int]:
    """Return where the arrays of each slot begin, each in a line of its own, and the whole.

    Examples
    --------
    >>> _lay_out(np.array([[3, 20], [1, 0]]), [np.dtype(np.int64), np.dtype(np.int32)])
    ([[64, 128], [256, 320]], 320)
    """
    nbytes = lengths * [dtype.itemsize for dtype in dtypes]
    lines = LINE * -(-nbytes // LINE)
    ends = LINE + np.cumsum(lines)
    begins: Any = (ends - lines.ravel()).reshape(lengths.shape)
    return begins.tolist(), int(ends[-1])


def _made(size: int) -> Segment | None:
    try:
        return Segment.create(size)
    except OSError:
        return None


def _opened(offer: NDArray[np.int64]) -> Segment | None:
    try:
        return Segment.open(offer) if offer.any() else None
    except OSError:
        return None
