"""Which frames, messages and bytes the exchanges of a run become on a routing: exactly.

Nothing is sent. What meets on the way is counted from (slot, vertex) pairs, sorted, so it takes
no array that is larger than the messages are many; a table of all pairs of slots is never made.
It is what :mod:`dgraph.engine.router` and :mod:`dgraph.engine.context` send, to the last byte;
tests hold them against each other.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, NamedTuple

import numba as nb
import numpy as np
from numpy.typing import NDArray

from benchmarks.hierarchy.exchanges import Bits, Dense, Exchange, Reduce
from benchmarks.hierarchy.world import World, gather
from dgraph.distinct import distinct
from dgraph.engine.figures import FADE
from dgraph.engine.network import AUTO, Network
from dgraph.exchange.frame import COLUMN, HEADER
from dgraph.exchange.routing.uneven import uneven
from dgraph.topology import Topology

__all__ = ["Counter", "Sent", "by_level"]

Numbers = NDArray[np.int64]

#: So many places are looked up at a time; bounds memory.
BLOCK = 1 << 21


class Sent(NamedTuple):
    """The frames of one stage: source, target, messages and bytes of each."""

    source: Numbers
    target: Numbers
    messages: Numbers
    bytes: Numbers


class Step(NamedTuple):
    """A superstep: what the record calls it, its routing, and what is sent in each stage."""

    stage: str
    routing: str
    hops: list[Sent]
    times: int


def by_level(topology: Topology, steps: Iterable[Step]) -> NDArray[np.int64]:
    """Return frames, messages and bytes by level: what `runs[-1]` has of these supersteps."""
    total = np.zeros((3, topology.height + 1), np.int64)
    for step in steps:
        for sent in step.hops:
            level = topology.level(sent.source, sent.target)
            for row, amount in enumerate((np.ones(level.size), sent.messages, sent.bytes)):
                found = np.bincount(level, amount, minlength=topology.height + 1)
                total[row] += step.times * found.astype(np.int64)
    return total


@dataclass
class Counter:
    """Counts what the slots of a world send over a network; None: each straight to its target.

    Parameters
    ----------
    world : World
    network : Network or None

    Examples
    --------
    >>> from benchmarks.hierarchy.exchanges import Dense
    >>> from benchmarks.hierarchy.world import make_world
    >>> world = make_world(np.array([0, 1, 2]), np.array([1, 2, 3]), slots=4)
    >>> (step,) = Counter(world, None).steps([Dense(8, 1)])
    >>> step.hops[0].source.tolist(), step.hops[0].bytes.tolist()
    ([0, 0, 1, 1, 2, 3], [64, 64, 64, 64, 64, 64])
    """

    world: World
    network: Network | None
    _ways: dict[str, Any] = field(default_factory=dict)
    _figures: dict[str, int] = field(default_factory=dict)

    def steps(self, exchanges: Iterable[Exchange]) -> Iterator[Step]:
        """Yield what each exchange becomes; "auto" chooses as the router does."""
        for exchange in exchanges:
            name = self._choose(exchange)
            if isinstance(exchange, Reduce):
                hops = self._reduce(exchange, name)
            elif isinstance(exchange, Bits):
                hops = self._bits(exchange, name)
            else:
                hops = self._dense(exchange, name)
            times = exchange.times if isinstance(exchange, Dense) else 1
            yield Step(exchange.stage, name, hops, times)

    def _choose(self, exchange: Exchange) -> str:
        if self.network is None:
            return "direct"
        n, total, spread = self.world.n, self.world.holders.size, self._spread
        if isinstance(exchange, Reduce):
            about = exchange.about
            last = self._figures.get("reduce", 0) if about is None else about
            figure = max(last, self.world.slots)
            width = 4.0 + exchange.width
            name = self.network.choose("reduce", False, figure, width, n, uneven=spread)
            if self.network.routing == AUTO:
                self._figures["reduce"] = max(exchange.places.size, figure // FADE)
            return name
        width = 1 / 8 if isinstance(exchange, Bits) else float(exchange.width)
        return self.network.choose("multicast", True, total, width, n, uneven=spread)

    @cached_property
    def _spread(self) -> tuple[float, ...]:
        assert self.network is not None
        held = np.bincount(self.world.holders, minlength=self.world.slots)
        return uneven(self.network.ground.topology, held)

    def _goes_straight(self, name: str) -> bool:
        return self.network is None or name == "direct"

    def links(self, name: str) -> list[Numbers]:
        """Return for each stage of a broadcast the links that it uses: source * slots + target.

        Those of a dense one: in a run all of these carry votes.
        """
        return [distinct(link) for link, _, _ in self._agreed(name)]

    # Messages that meet

    def _reduce(self, exchange: Reduce, name: str) -> list[Sent]:
        world = self.world
        here = world.holders[exchange.places].astype(np.int64)
        vertex = exchange.vertices
        if self._goes_straight(name):
            link, count = _counted(here * world.slots + world.owner[vertex])
            size = HEADER.size + 2 * COLUMN.size + count * (4 + exchange.width)
            return [Sent(*np.divmod(link, world.slots), count, size)]
        assert self.network is not None
        strategy = self.network.strategy(name, False)
        hops = []
        for stage in range(strategy.stages):
            there = _step(strategy, stage, here, world.owner[vertex])
            moved = here != there
            link = here[moved] * world.slots + there[moved]
            hops.append(self._parts(link, world.placed[vertex[moved]], exchange.width))
            both = distinct(vertex * world.slots + there)
            vertex, here = np.divmod(both, world.slots)
        return hops

    def _parts(self, link: Numbers, placed: Numbers, width: int) -> Sent:
        """Count envelopes: see `pack_parts`."""
        n, slots = max(self.world.n, 1), self.world.slots
        link, placed = np.divmod(np.sort(link * n + placed), n)
        owner = np.searchsorted(self.world.bases, placed, side="right") - 1
        ends = np.flatnonzero(np.diff(link * slots + owner, append=-1))  # of each part
        count = np.diff(ends, prepend=-1)
        length = placed[ends] - self.world.bases[owner[ends]] + 1
        words = (length + 63) >> 6
        bitmap = (count != length) & (2 * words < count)
        offsets = np.where((count != length) & ~bitmap, count, 0)
        last = np.flatnonzero(np.diff(link[ends], append=-1))  # part of each envelope
        parts = np.diff(last, prepend=-1)
        messages = _sums(count, last)
        bitmaps = _sums(np.where(bitmap, words, 0), last)
        size = HEADER.size + COLUMN.size * (2 + (bitmaps > 0))
        size += 4 * (1 + 3 * parts + _sums(offsets, last)) + width * messages + 8 * bitmaps
        return Sent(*np.divmod(link[ends[last]], slots), messages, size)

    # Values that part

    def _dense(self, exchange: Dense, name: str) -> list[Sent]:
        hops = []
        for link, _, size in self._agreed(name):
            ends = np.flatnonzero(np.diff(link, append=-1))
            messages = _sums(size, ends)
            bytes_ = HEADER.size + COLUMN.size + exchange.width * messages
            hops.append(Sent(*np.divmod(link[ends], self.world.slots), messages, bytes_))
        return hops

    def _bits(self, exchange: Bits, name: str) -> list[Sent]:
        places, vertices = gather(self.world.starts, np.asarray(exchange.vertices))
        known = self._branches(name, places, vertices)
        hops = []
        for (link, source, size), (some, their_source, count) in zip(
            self._agreed(name), known, strict=True
        ):
            slots = self.world.slots
            at = np.searchsorted(link * slots + source, some * slots + their_source)
            words = (size[at] + 63) >> 6
            ends = np.flatnonzero(np.diff(some, append=-1))
            if self._goes_straight(name):
                bytes_ = HEADER.size + COLUMN.size + 8 * words
                hops.append(Sent(*np.divmod(some, slots), size[at], bytes_))
                continue
            listed = 4 * count < 8 * words
            bitmaps = _sums(np.where(listed, 0, words), ends)
            head = 1 + 2 * np.diff(ends, prepend=-1) + _sums(np.where(listed, count, 0), ends)
            bytes_ = HEADER.size + COLUMN.size * (1 + (bitmaps > 0)) + 4 * head + 8 * bitmaps
            messages = _sums(size[at], ends)
            hops.append(Sent(*np.divmod(some[ends], slots), messages, bytes_))
        return hops

    def _agreed(self, name: str) -> list[tuple[Numbers, Numbers, Numbers]]:
        """Return for each stage link, source and how many of its vertices go that way."""
        found: list[tuple[Numbers, Numbers, Numbers]] | None = self._ways.get(name)
        if found is None:
            holders = np.arange(self.world.holders.size)
            vertices = np.repeat(np.arange(self.world.n), np.diff(self.world.starts))
            found = self._ways[name] = self._branches(name, holders, vertices)
        return found

    def _branches(
        self, name: str, places: Numbers, vertices: Numbers
    ) -> list[tuple[Numbers, Numbers, Numbers]]:
        """Return the same for some of the vertices, with all their proxies.

        A value goes over a link once, whatever is behind it.
        """
        world = self.world
        source, target = world.owner[vertices].astype(np.int64), world.holders[places]
        if self._goes_straight(name):
            return [_ways_of(source, target.astype(np.int64), source, world.slots)]
        assert self.network is not None
        strategy = self.network.strategy(name, True)
        here, found = source, []
        for stage in range(strategy.stages):
            there = _step(strategy, stage, here, target)
            first = _first(vertices, here, there, world.slots)
            found.append(_ways_of(here[first], there[first], source[first], world.slots))
            here = there
        return found


def _ways_of(here: Numbers, there: Numbers, source: Numbers, slots: int) -> Any:
    key, size = _counted((here * slots + there) * slots + source)
    link, source = np.divmod(key, slots)
    return link, source, size


def _step(strategy: Any, stage: int, here: Numbers, target: Any) -> Numbers:
    found = np.empty(here.size, np.int64)
    for begin in range(0, here.size, BLOCK):
        some = slice(begin, begin + BLOCK)
        found[some] = strategy.step(stage, here[some], target[some])
    return found


def _counted(keys: Numbers) -> tuple[Numbers, Numbers]:
    """Return the distinct keys, ascending, and how often each occurs."""
    keys = np.sort(keys)
    ends = np.flatnonzero(np.diff(keys, append=-1))
    return keys[ends], np.diff(ends, prepend=-1)


def _sums(values: Any, ends: Numbers) -> Numbers:
    """Return the sums of runs of values of which the last places are given.

    >>> _sums(np.array([1, 2, 3, 4]), np.array([1, 3])).tolist()
    [3, 7]
    """
    total = np.cumsum(values)[ends] if ends.size else np.zeros(0, np.int64)
    found: Numbers = np.diff(total, prepend=0)
    return found


@nb.njit(cache=True)
def _first(vertices, here, there, slots):  # type: ignore[no-untyped-def]
    """Return for each vertex one way over each link that its values take.

    No two branches of a vertex lead to the same slot.
    """
    last = np.full(slots, -1, np.int64)
    found = np.zeros(vertices.size, np.bool_)
    for i in range(vertices.size):
        if here[i] != there[i] and last[there[i]] != vertices[i]:
            last[there[i]] = vertices[i]
            found[i] = True
    return found
