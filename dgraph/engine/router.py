"""The way of a slot's messages over gateways, in stages that together are one superstep.

Three kinds of load travel::

    frames    whole frames, in envelopes: whatever the context was asked to send
    reduce    (vertex, value), combined wherever messages to the same vertex meet
    multicast values or bits of masters; they part where the ways to their proxies do

A :class:`Router` belongs to one slot. All slots make the same choices, from figures that they
share: see :mod:`dgraph.engine.figures`.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dgraph.engine.agreement import Agreement, Numbers, Outlook
from dgraph.engine.direct import masters_of
from dgraph.engine.figures import VALUE, Figures
from dgraph.engine.multicast import Multicast, fill, open_bits, pack_bits
from dgraph.engine.network import Network
from dgraph.engine.news import (
    News,
    join_frames,
    learn,
    open_news,
    pack_news,
    part_frames,
)
from dgraph.engine.spreading import enter, pack_told, pick, shares
from dgraph.engine.straight import Straight
from dgraph.engine.trip import Trip, merged
from dgraph.exchange.combining import merge
from dgraph.exchange.envelope import Parts, open_frames, open_parts, pack_frames
from dgraph.exchange.frame import Array, Frame
from dgraph.exchange.hub import Delivery, Request
from dgraph.exchange.routing.choice import NUMBER
from dgraph.shard import Shard
from dgraph.shard.bits import set_bits, words

__all__ = ["Router"]

Votes = NDArray[np.int64]
Bits = NDArray[np.uint64]
Places = NDArray[np.int32]
_NO_VOTE = np.zeros(0, np.int64)

#: Of messages that only say which vertex is meant.
NO_VALUES = np.zeros(0, np.int8)


class Router:
    """Send what a slot has to send over the gateways of a network.

    Parameters
    ----------
    slot : int
    network : Network
    away : collection of int
        The slots of other processes.

    Attributes
    ----------
    stage : str
        What the record calls the superstep.
    vote : int64 array
        The total of the last vote.
    figures : Figures
        About how many messages there are.
    dear : frozenset of int
        The slots of `away` to which bytes are so dear that they are saved.
    """

    def __init__(self, slot: int, network: Network, away: Collection[int] = ()) -> None:
        self.slot = slot
        self.network = network
        self.dear = network.dear(slot).intersection(away)
        self.stage = ""
        self.vote = _NO_VOTE
        self._parity = 0
        self._buffers: dict[Any, Array] = {}
        self._chosen = ""  # of which kind is the superstep to come, if it goes straight
        self.figures = Figures(network)
        self._agreement = Agreement(slot, network)
        self._straight = Straight(slot, network.ground.topology)

    # What the context asks for

    @property
    def is_straight(self) -> bool:
        """Whether the superstep to come has been chosen to go straight."""
        return bool(self._chosen)

    async def takes(
        self, kind: str, shard: Shard, width: float, about: int | None = None
    ) -> Router | None:
        """Return itself; None: the frames of the superstep to come go straight.

        These need no numbers by which gateways know vertices, and nothing is merged.

        Parameters
        ----------
        kind : {"reduce", "multicast", "changes"}
        shard : Shard
        width : float
            Bytes of a value.
        about : int, optional
            About how many messages there will be in all; every slot says the same. Default: as
            many as the last time.
        """
        if about is not None:
            self.figures.expect(kind, about)
        if await self._choose(kind, shard, width) != "direct":
            return self
        self._chosen = kind
        return None

    async def outlook(self, shard: Shard) -> Outlook:
        """Return what is known of the ways of a graph: see :meth:`Agreement.outlook`."""
        return await self._agreement.outlook(shard)

    async def numbers(self, shard: Shard) -> Numbers:
        """Return the placed numbers of the vertices of a shard."""
        return await self._agreement.numbers(shard)

    async def frames(
        self, frames: Sequence[Frame], ballot: Votes, op: str, work: int | None
    ) -> list[Frame]:
        """Send whole frames to their targets."""
        sent = sum([frame.count for frame in frames])
        if self.is_straight:
            kind, self._chosen = self._chosen, ""
            counts = self.figures.counted(sent)
            return await self._direct(frames, ballot, op, work, kind, *counts)
        kind = "frames" if op == "sum" else "votes"
        messages = self.figures.about("frames") if kind == "frames" else self.network.slots**2
        name = self.network.choose(kind, False, messages, NUMBER + VALUE, 0)
        if name == "direct":
            return await self._direct(frames, ballot, op, work, kind, sent)
        ballot = self.figures.add_to(ballot, kind, sent)
        trip = self._trip(name, False, ballot, work, self._straight.frames(frames), op)
        held, arrived = list(frames), []
        for hop in trip.hops:
            out, stay = self._sort(held, hop.stage, trip)
            came = await trip.exchange(
                hop, [pack_frames(self.slot, to, some) for to, some in out.items()]
            )
            held = stay
            for envelope in came:
                held += open_frames(envelope)
            arrived += [frame for frame in held if frame.target == self.slot]
            held = [frame for frame in held if frame.target != self.slot]
        self._end(trip.vote, kind)
        arrived.sort(key=_source)
        return arrived

    async def tell(
        self,
        shard: Shard,
        frames: Sequence[Frame],
        told: Bits,
        base: Votes,
        ballot: Votes,
        work: int | None,
    ) -> list[Frame]:
        """Send the frames of a reduce, and let all know what any slot knows; adds it to `told`.

        See :func:`~dgraph.engine.telling.reduce_and_tell`.
        """
        share, me = shares(self.network.ground), self.slot
        ballot = self.figures.add_to(ballot, "reduce", sum([frame.count for frame in frames]))
        before = self._straight.frames(frames) + self._straight.shared(shard, None)
        trip = self._trip("direct", True, ballot, work, before)
        first, *then = self.network.spreading
        spread = []
        for to in shard.peers:
            # what the frame to a slot says of its own vertices is not said twice
            owners = [owner for owner in share[to] if owner != to]
            spread += pack_told(me, [to], pick(told, base, owners), self.dear)
        others = [owner for owner in share[me] if owner != me]
        arrived = []
        for frame in await trip.exchange(first, join_frames(spread, frames)):
            bits, columns = part_frames(frame)
            if bits:
                enter(bits, told, base, others)
            if columns:
                count = frame.count - (int(bits[0][0]) if bits else 0)
                arrived.append(Frame(frame.source, me, tuple(columns), count))
                set_bits(told[base[me] :], masters_of(shard, arrived[-1]))
        for hop in then:
            groups = self.network.ground.groups.group
            near = [slot for slot in shard.peers if groups[slot] == groups[me]]
            spread = pack_told(me, near, pick(told, base, share[me]), self.dear)
            for frame in await trip.exchange(hop, spread):
                enter(frame.columns, told, base, share[frame.source])
        self._end(trip.vote, "reduce")
        return arrived

    async def reduce(
        self,
        shard: Shard,
        vertices: NDArray[np.int32],
        values: Array,
        combiner: str,
        ballot: Votes,
        work: int | None,
    ) -> tuple[NDArray[np.int32], Array]:
        """Send values of proxies to their masters, combined on the way."""
        numbers = await self._agreement.numbers(shard)
        bases = numbers.bases
        name = await self._choose("reduce", shard, values.itemsize)
        ballot = self.figures.add_to(ballot, "reduce", vertices.size)
        told, values = merge(vertices, values, combiner, shard.size)
        held = [Parts(numbers.placed[told - np.int32(shard.masters)], values)]
        before = self._straight.parts(held[0].numbers, bases, values.dtype.itemsize)
        trip = self._trip(name, False, ballot, work, before)
        for hop in trip.hops:
            parts = merged(held, combiner, int(bases[-1]))
            frames, stay = trip.cut(self.slot, parts, bases, hop.stage)
            came = await trip.exchange(hop, frames)
            held = [stay] * bool(stay.numbers.size)
            held += [open_parts(envelope, bases) for envelope in came]
        self._end(trip.vote, "reduce")
        if len(held) == 1:
            mine, found = held[0]
        else:
            mine = np.concatenate([bases[:0], *(some.numbers for some in held)])
            found = np.concatenate([values[:0], *(some.values for some in held)])
        return (mine - bases[self.slot]).astype(np.int32), found

    async def broadcast(
        self, shard: Shard, values: Array, ballot: Votes, work: int | None
    ) -> None:
        """Copy the values of the masters to all their proxies, in place."""
        trip, ways = await self._multicast(shard, values.dtype.itemsize, ballot, work)
        held = {self.slot: values}
        for hop in trip.hops:
            frames = []
            for branch in ways.branches[hop.stage]:
                name = hop.stage, branch.to
                column = self._buffer(name, branch.size, values.dtype)
                fill(branch, held, column)
                frames.append(Frame(self.slot, branch.to, (column,), column.size))
            for frame in await trip.exchange(hop, frames):
                at = 0
                for source, length in ways.arrivals[hop.stage][frame.source]:
                    held[source] = frame.columns[0][at : at + length]
                    at += length
        self.vote = trip.vote
        for source, select in ways.own.items():
            start = int(shard.group_start[source])
            select.take(held[source], values[start : start + select.size])

    async def broadcast_bits(
        self, shard: Shard, bits: Bits, ballot: Votes, work: int | None
    ) -> None:
        """Copy the bits of the masters to all their proxies, in place."""
        trip, ways = await self._multicast(shard, None, ballot, work)
        held = {self.slot: bits[: words(shard.masters)].copy()}
        for hop in trip.hops:
            branches = ways.branches[hop.stage]
            packed = [pack_bits(self.slot, b, held, b.to in self.dear) for b in branches]
            frames = [frame for frame in packed if frame]
            for frame in await trip.exchange(hop, frames):
                lengths = dict(ways.arrivals[hop.stage][frame.source])
                held.update(open_bits(frame, lengths))
        self.vote = trip.vote
        bits[words(shard.masters) :] = 0
        for source, select in ways.own.items():
            if source in held:
                word = int(shard.group_start[source]) >> 6
                found = select.take_bits(held[source])
                bits[word : word + found.size] = found

    async def changes(
        self,
        shard: Shard,
        changed: Places,
        values: Sequence[Array],
        marks: Bits | None,
        ballot: Votes,
        work: int | None,
    ) -> Places:
        """Tell proxies what has changed, and owners what is marked: both at once.

        See :func:`~dgraph.engine.changes.exchange_changes`.
        """
        numbers = await self._agreement.numbers(shard)
        bases = numbers.bases
        marked = numbers.placed[:0] if marks is None else numbers.take_marked(marks, shard)
        width = sum(some.dtype.itemsize for some in values)
        name = await self._choose("changes", shard, width)
        ways = await self._agreement.ways(shard, name)
        before = self._straight.changed(shard, changed, width)
        ballot = self.figures.add_to(ballot, "changes", marked.size, int(before[1].sum()))
        before += self._straight.parts(marked, bases, 0)
        trip = self._trip(name, None, ballot, work, before)
        held = {self.slot: News(changed, tuple(some[changed] for some in values))}
        waiting = [Parts(marked, marked)]
        for hop in trip.hops:
            branches = ways.branches[hop.stage]
            told = [
                frame for branch in branches if (frame := pack_news(self.slot, branch, held))
            ]
            parts = merged(waiting, "or", int(bases[-1]))
            asked, stay = trip.cut(self.slot, parts, bases, hop.stage, NO_VALUES)
            waiting = [stay] * bool(stay.numbers.size)
            for frame in await trip.exchange(hop, join_frames(told, asked)):
                news, more = part_frames(frame)
                held.update(open_news(news) if news else {})
                if more:
                    came = open_parts(Frame(frame.source, self.slot, tuple(more), 0), bases)
                    waiting.append(Parts(came.numbers, came.numbers))
        self._end(trip.vote, "changes")
        if marks is not None:
            for some in waiting:
                set_bits(marks, (some.numbers - bases[self.slot]).astype(np.int32))
        return learn(shard, ways, held, values)

    # Stages

    def _trip(
        self,
        name: str,
        backwards: bool | None,
        ballot: Votes,
        work: int | None,
        before: Votes,
        op: str = "sum",
    ) -> Trip:
        """Begin a superstep over a routing; see :class:`Trip`."""
        return Trip(self.network, self.stage, name, backwards, ballot, op, work, before)

    async def _direct(
        self,
        frames: Sequence[Frame],
        ballot: Votes,
        op: str,
        work: int | None,
        kind: str,
        *sent: int,
    ) -> list[Frame]:
        ballot = self.figures.add_to(ballot, kind, *sent)
        delivery: Delivery = await Request(frames, ballot, op, work, self.stage)
        self._end(delivery.vote, kind)
        return delivery.take()

    def _sort(
        self, held: Sequence[Frame], stage: int, trip: Trip
    ) -> tuple[dict[int, list[Frame]], list[Frame]]:
        """Return which frames go where in a stage, and which stay."""
        out: dict[int, list[Frame]] = {}
        if held:
            targets = np.array([frame.target for frame in held])
            steps = trip.strategy.step(stage, self.slot, targets).tolist()
            for frame, to in zip(held, steps, strict=True):
                out.setdefault(to, []).append(frame)
        return out, out.pop(self.slot, [])

    async def _multicast(
        self, shard: Shard, width: int | None, ballot: Votes, work: int | None
    ) -> tuple[Trip, Multicast]:
        """Begin a superstep in which values of `width` bytes, None: bits, go to proxies."""
        name = await self._choose("multicast", shard, 1 / 8 if width is None else width)
        ways = await self._agreement.ways(shard, name)
        self._parity ^= 1
        return self._trip(name, True, ballot, work, self._straight.shared(shard, width)), ways

    def _buffer(self, name: Any, length: int, dtype: Any) -> Array:
        """Return a buffer to send; what was sent in the superstep before stays as it is."""
        key = (name, self._parity)
        found = self._buffers.get(key)
        if found is None or found.size < length or found.dtype != dtype:
            found = self._buffers[key] = np.empty(length, dtype)
        return found[:length]

    async def _choose(self, kind: str, shard: Shard, width: float) -> str:
        """Return the routing of a superstep with values of so many bytes."""
        numbers = await self._agreement.numbers(shard)
        total, vertices = numbers.total, int(numbers.bases[-1])
        return self.figures.choose(kind, width, total, vertices, numbers.uneven)

    def _end(self, vote: Votes, kind: str) -> None:
        self.vote = self.figures.learn(kind, vote)


def _source(frame: Frame) -> int:
    return frame.source
