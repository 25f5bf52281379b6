"""What a slot program sees of the engine.

Every ``await`` on a context is one exchange in which all slots of the run take part, in the
same order: the end of a superstep. Two synchronisations serve every algorithm and placement::

    broadcast   master -> proxies     new values of the masters
    reduce      proxies -> master     partial results, combined

What is sent goes by reference inside a process: do not write into an array that was sent
until two exchanges later, nor into one that was received.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Collection, Hashable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from dgraph.engine.crew import Crew
from dgraph.engine.direct import Direct, masters_of, take_bits, values_of
from dgraph.engine.network import Network
from dgraph.engine.places import gather
from dgraph.engine.router import Router
from dgraph.exchange.combining import can_combine
from dgraph.exchange.cores import Cores
from dgraph.exchange.frame import Frame
from dgraph.exchange.request import Delivery, Early, Inner, Request
from dgraph.exchange.room import ROOM
from dgraph.shard import Shard
from dgraph.shard.bits import words
from dgraph.shard.scratch import Scratch, scratch_in

if TYPE_CHECKING:
    from dgraph.exchange.hub import Hub

__all__ = ["MOST_COMPANIONS", "Context", "Near"]

Array = NDArray[Any]
Votes = NDArray[np.int64]
Columns = tuple[Array, ...]
T = TypeVar("T")

#: With more slots than that nobody acts for all, and those of several processes share nothing.
MOST_COMPANIONS = 16
_NO_VOTE = np.zeros(0, np.int64)

#: A column of so many bytes is written while it travels.
LONG = 1 << 18


class Near(NamedTuple):
    """The hub of this process, where the others are on the same host, and what it sees of it.

    See :mod:`dgraph.engine.commons`.
    """

    hub: Hub
    has_cores: bool  # one for each slot


class Context:
    """The engine as one slot sees it.

    Parameters
    ----------
    slot, slots : int
        This slot's number, and how many there are.
    network : Network, optional
        How frames travel; default: each straight to its target.
    away : collection of int
        The slots of other processes.

    Attributes
    ----------
    vote : int64 array
        The total of the last vote.
    stage : str
        What the record calls the supersteps to come; "output": making the result's columns.
    cores : Cores
        Where the threads of this process run.
    crew : Crew
        The slots of this process.
    notes : dict
        Small facts for the record, the same on all slots, such as ``{"converged": False}``.

    Examples
    --------
    >>> from dgraph.engine.pool import run
    >>> async def program(ctx):
    ...     return int((await ctx.allreduce([ctx.slot]))[0])
    >>> run(program, slots=3)
    [3, 3, 3]
    """

    def __init__(
        self,
        slot: int,
        slots: int,
        network: Network | None = None,
        away: Collection[int] = (),
    ) -> None:
        self.slot, self.slots, self._turn = slot, slots, 0
        self.away = frozenset(away)
        self.vote: Votes = _NO_VOTE
        self.stage, self.cores = "", Cores()
        self.notes: dict[str, Any] = {}
        self._router = None if network is None else Router(slot, network, self.away)
        #: The router, if it may combine what it hands on.
        self.gateways = self._router if network is not None and network.combine else None
        #: The contexts of all slots, if all are in this process and frames go straight.
        self.companions: Sequence[Context] = ()
        self.crew = Crew()
        self._shown: Any = None
        #: Supersteps that went before the next one, to be recorded with it.
        self.inner: Inner | None = None
        #: Where all slots meet in compiled code, if they are in this process and each has a
        #: thread; and where they put what all of them need.
        self.meeting: NDArray[np.int64] | None = None
        self.board: dict[Any, Any] = {}
        #: If all slots are on one host, but in several processes.
        self.near: Near | None = None
        self._borrowed: list[tuple[Scratch, Hashable, Any]] = []
        self._buffers: dict[Any, Array] = {}

    async def exchange(
        self,
        frames: Sequence[Frame],
        vote: Any = None,
        op: str = "sum",
        work: int | None = None,
    ) -> list[Frame]:
        """Send frames and return what came, by source: the superstep under all the others.

        Parameters
        ----------
        frames : sequence of Frame
            At most one to each other slot.
        vote, op, work
            See :meth:`allreduce`; the total is in :attr:`vote`.
        """
        if self._router is not None:
            return await self.over_gateways(
                self._router.frames(frames, self.ballot(vote), op, work)
            )
        inner, self.inner = self.inner, None
        ballot = _NO_VOTE if vote is None else np.asarray(vote, dtype=np.int64)
        delivery: Delivery = await Request(frames, ballot, op, work, self.stage, inner=inner)
        self.vote = delivery.vote
        self._turn ^= 1
        return delivery.take()

    def direct(self) -> Direct:
        """Return what makes frames that go straight; not to keep, for it keeps this context."""
        dear = self.gateways.dear if self.gateways is not None else ()
        return Direct(self.slot, self.away, self.buffer, dear)

    def ballot(self, vote: Any) -> Votes:
        """Return a vote as an array, and tell the router what the superstep is called."""
        if self._router is not None:
            self._router.stage = self.stage
        return _NO_VOTE if vote is None else np.asarray(vote, dtype=np.int64)

    async def gateways_for(
        self, kind: str, shard: Shard, width: float, about: int | None = None
    ) -> Router | None:
        """Return what takes a superstep over gateways; None: it goes straight."""
        if self.gateways is None:
            return None
        return await self.gateways.takes(kind, shard, width, about)

    async def over_gateways(self, superstep: Awaitable[T]) -> T:
        """Go through a superstep of the router; return what came, and take its vote over."""
        assert self._router is not None
        self._turn ^= 1
        came = await superstep
        self.vote = self._router.vote
        return came

    def shares_process_with(self, contexts: Sequence[Context]) -> None:
        """Say whose slots are in this process."""
        self.crew = contexts[0].crew
        if len(contexts) == self.slots <= MOST_COMPANIONS and self._router is None:
            self.companions = contexts
            self.board = contexts[0].board

    def works_for(self, hub: Hub) -> None:
        """Say who brings the slots of this process together."""
        if self.companions:
            self.meeting = hub.meeting

    def buffer(self, name: Any, length: int, dtype: Any) -> Array:
        """Return a buffer to fill and send, a different one in every second superstep."""
        key = (name, self._turn)
        found = self._buffers.get(key)
        if found is None or found.size < length or found.dtype != dtype:
            found = self._buffers[key] = ROOM.array(length, dtype)
        return found[:length]

    def scratch(self, shard: Shard, length: int, dtype: Any) -> Array:
        """Return an array to use for the length of the run, with arbitrary contents."""
        array = scratch_in(shard.derived).borrow(length, dtype)
        self._borrowed.append((scratch_in(shard.derived), (length, array.dtype), array))
        return array

    def borrow(self, shard: Shard, name: Hashable, make: Callable[[], T]) -> T:
        """Return, for the run, what one before has borrowed under a name, or `make` makes."""
        thing = scratch_in(shard.derived).take(name, make)
        self._borrowed.append((scratch_in(shard.derived), name, thing))
        return thing

    def close(self) -> None:
        """Give back what was borrowed, once nothing of the run looks at it any more."""
        for pool, name, thing in self._borrowed:
            pool.put(name, thing)
        self._borrowed.clear()

    async def show(self, what: T) -> list[T]:
        """Show something to the `companions`, and return what all have shown."""
        self._shown = what
        await self.exchange((), work=0)
        return [other._shown for other in self.companions]

    async def allreduce(self, values: Any, op: str = "sum", work: int | None = None) -> Votes:
        """Combine an int64 vector over all slots.

        Parameters
        ----------
        values : sequence of int
            Of the same length on every slot.
        op : {"sum", "min", "max", "or"}
        work : int, optional
            Edges that this slot expects to scan in the next superstep.
        """
        await self.exchange((), values, op, work)
        return self.vote

    async def alltoall(
        self, columns: Sequence[Columns | None], vote: Any = None, work: int | None = None
    ) -> list[Columns | None]:
        """Send columns to every slot and return what came, by source.

        Parameters
        ----------
        columns : list of length slots
            For each slot a tuple of one-dimensional arrays, or None for nothing. The entry
            for this slot itself is handed through.
        vote : sequence of int, optional
            Summed over the slots on the way; see :attr:`vote`.
        work : int, optional
            Edges that this slot expects to scan in the next superstep.
        """
        frames = [
            Frame(self.slot, target, some, some[0].size if some else 0)
            for target, some in enumerate(columns)
            if some is not None and target != self.slot
        ]
        came: list[Columns | None] = [None] * self.slots
        for frame in await self.exchange(frames, vote, "sum", work):
            came[frame.source] = frame.columns
        came[self.slot] = columns[self.slot]
        return came

    async def allgather(self, *arrays: Array) -> list[Columns]:
        """Send the same arrays to every slot and return every slot's, by source."""
        came = await self.alltoall([arrays] * self.slots)
        return [some if some is not None else () for some in came]

    async def reduce(
        self,
        shard: Shard,
        vertices: NDArray[np.int32],
        values: Array,
        vote: Any = None,
        work: int | None = None,
        combine: str | None = None,
        about: int | None = None,
    ) -> tuple[NDArray[np.int32], Array]:
        """Send values of some proxies to their masters.

        Parameters
        ----------
        shard : Shard
        vertices : int32 array
            Local ids of proxies, each at most once.
        values : array beside `vertices`
        vote : sequence of int, optional
            Summed over the slots on the way; see :attr:`vote`.
        work : int, optional
            Edges that this slot expects to scan in the next superstep.
        combine : {"min", "max", "sum", "or"}, optional
            How the caller will combine values of the same master; gateways may do so before.
            None: every value arrives, in the sequence of the slots that sent them. A sum of
            floats is not combined on the way.
        about : int, optional
            About how many proxies all slots tell of, as every slot must say alike: by it the
            way is chosen. Default: as many as the last time.

        Returns
        -------
        vertices : int32 array
            Masters of this slot. One occurs once for each slot that sent it, or less often, so
            apply the values with an operation that is associative and commutative.
        values : array beside them
        """
        if combine is not None and can_combine(combine, values.dtype):
            gateways = await self.gateways_for("reduce", shard, values.itemsize, about)
            if gateways is not None:
                ballot = self.ballot(vote)
                sent = gateways.reduce(shard, vertices, values, combine, ballot, work)
                return await self.over_gateways(sent)
        frames = self.direct().to_owners(shard, vertices, values)
        came = await self.exchange(frames, vote, "sum", work)
        found = [masters_of(shard, frame) for frame in came]
        told = [values_of(frame, values.dtype) for frame in came]
        if len(came) == 1:
            return found[0], told[0]
        if not came:
            return np.zeros(0, np.int32), np.zeros(0, values.dtype)
        return np.concatenate(found), np.concatenate(told)

    async def broadcast(
        self,
        shard: Shard,
        values: Array,
        vote: Any = None,
        work: int | None = None,
        *,
        stays: bool = False,
    ) -> None:
        """Copy the values of the masters to all their proxies, in place.

        Parameters
        ----------
        shard : Shard
        values : array of length shard.size
            Masters' entries are read, proxies' entries are written.
        stays : bool
            Whether the masters' entries stay as they are until two exchanges later, so that
            they can be sent from where they lie.
        """
        gateways = await self.gateways_for("multicast", shard, values.itemsize)
        if gateways is not None:
            sent = gateways.broadcast(shard, values, self.ballot(vote), work)
            return await self.over_gateways(sent)
        frames = []
        for peer, shared in enumerate(shard.shared):
            if shared.size:
                prefix = shard.prefix[peer]
                if prefix >= 0 and stays:
                    column = values[:prefix]
                else:
                    column = self.buffer(("broadcast", peer), shared.size, values.dtype)
                    if prefix >= 0:
                        column[:] = values[:prefix]
                frames.append(Frame(self.slot, peer, (column,), shared.size))
                if prefix < 0:
                    await self._send_early(frames[-1], gather(values, shared, column))
        for frame in await self.exchange(frames, vote, "sum", work):
            start = shard.group_start[frame.source]
            values[start : start + frame.columns[0].size] = frame.columns[0]

    async def _send_early(self, frame: Frame, write: Callable[[int], None]) -> None:
        """Write the column of a frame; if it is long and goes far, while it travels."""
        straight = self._router is None or self._router.is_straight
        if frame.nbytes > LONG and straight and frame.target in self.away:
            await Early(frame, write)
        else:
            write(frame.columns[0].nbytes)

    async def broadcast_bits(
        self,
        shard: Shard,
        bits: NDArray[np.uint64],
        vote: Any = None,
        work: int | None = None,
    ) -> None:
        """Copy the bits of the masters to all their proxies, in place.

        Parameters
        ----------
        shard : Shard
        bits : uint64 array of ``words(shard.size)`` words
            The bitmap over local ids. A peer for which no bit is set is sent nothing and
            takes them for zero.
        """
        gateways = await self.gateways_for("multicast", shard, 1 / 8)
        if gateways is not None:
            sent = gateways.broadcast_bits(shard, bits, self.ballot(vote), work)
            return await self.over_gateways(sent)
        frames: list[Frame] = []
        direct = self.direct()
        for peer, shared in enumerate(shard.shared):
            if shared.size:
                frames += direct.bits_to(shard, bits, peer)
        came = await self.exchange(frames, vote, "sum", work)
        bits[words(shard.masters) :] = 0
        for frame in came:
            take_bits(shard, bits, frame)
