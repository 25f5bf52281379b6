"""What the slots of a routed run agree on about a shard: once, in exchanges of their own.

It is kept with the shard, so later runs need not agree again. What is agreed on is the same
whatever the run, so it does not matter which of two runs at the same time was the last.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from dgraph.engine.multicast import Multicast, grow, join
from dgraph.engine.network import Network
from dgraph.engine.records import ROUTES
from dgraph.exchange.frame import Array, Frame
from dgraph.exchange.hub import Delivery, Request
from dgraph.exchange.routing.uneven import uneven
from dgraph.shard import Shard
from dgraph.shard.bits import positions, words

__all__ = ["Agreement", "Numbers", "Outlook", "bits_of"]

Columns = tuple[Array, ...]

#: So much is remembered in a run.
REMEMBERED = 16


class Numbers(NamedTuple):
    """The placed numbers of a shard's vertices, by which gateways know them.

    Parameters
    ----------
    bases : int64 array of length slots + 1
        Masters on the slots before each slot.
    placed : int64 array
        Of each proxy.
    total : int
        Proxies of all slots.
    uneven : tuple of float
        How they are spread: see :func:`~dgraph.exchange.routing.uneven.uneven`.
    """

    bases: NDArray[np.int64]
    placed: NDArray[np.int64]
    total: int
    uneven: tuple[float, ...]

    def take_marked(self, marks: NDArray[np.uint64], shard: Shard) -> NDArray[np.int64]:
        """Return the placed numbers of the proxies that are marked, and clear their bits."""
        first = words(shard.masters)
        places = np.empty(64 * (marks.size - first), np.int32)
        found = places[: positions(marks[first:], places)] + np.int32(64 * first)
        marks[first:] = 0
        placed: NDArray[np.int64] = self.placed[found - np.int32(shard.masters)]
        return placed

    @property
    def nbytes(self) -> int:
        """Bytes of the arrays."""
        return self.bases.nbytes + self.placed.nbytes


class Outlook(NamedTuple):
    """What tells a search how many edges it may find next, and where none are.

    Parameters
    ----------
    bits : uint8 array over the proxies, counted from 0
        Of how many bits the out-degree is.
    vertices, edges : tuples of int
        For each number of bits of an out-degree, how many vertices of all slots have such a
        one, and how many edges these have.
    """

    bits: NDArray[np.uint8]
    vertices: tuple[int, ...]
    edges: tuple[int, ...]

    @property
    def nbytes(self) -> int:
        """Bytes of the array."""
        return self.bits.nbytes


def bits_of(degrees: NDArray[Any]) -> NDArray[np.uint8]:
    """Return of how many bits each degree is.

    Examples
    --------
    >>> bits_of(np.array([0, 1, 2, 3, 9]))
    array([0, 1, 2, 2, 4], dtype=uint8)
    """
    return np.frexp(degrees.astype(np.float64))[1].astype(np.uint8)


class Agreement:
    """What one slot has agreed on with the others, in one run.

    Parameters
    ----------
    slot : int
    network : Network
    """

    def __init__(self, slot: int, network: Network) -> None:
        self._slot = slot
        self._network = network
        self._known: list[tuple[Shard, str, Any]] = []

    async def numbers(self, shard: Shard) -> Numbers:
        """Return the placed numbers of the vertices of a shard."""
        found: Numbers = await self._agree(shard, "numbers of proxies", self._ask_numbers)
        return found

    async def ways(self, shard: Shard, name: str) -> Multicast:
        """Return the ways from masters to proxies under a routing."""
        strategy = self._network.strategy(name, True)

        async def ask(shard: Shard) -> Multicast:
            told = await self._alltoall(grow(shard, strategy))
            return join(told, strategy.stages, self._slot)

        found: Multicast = await self._agree(shard, f"ways of {name} {self._network.key}", ask)
        return found

    async def outlook(self, shard: Shard) -> Outlook:
        """Return what tells how many edges may be found next, and where none are."""
        found: Outlook = await self._agree(shard, "outlook", self._ask_outlook)
        return found

    async def _agree(
        self, shard: Shard, key: str, ask: Callable[[Shard], Awaitable[Any]]
    ) -> Any:
        """Return what was agreed on in this run or an earlier one, or agree now.

        Another run may just be agreeing on the same, and be done on some slots and not on
        others. So all slots first see whether all of them have it, unless a run that has ended
        is known to have left it with all, at the shard that the workers keep.
        """
        for shard_known, key_known, found in self._known:
            if shard_known is shard and key_known == key:
                return found
        found = shard.derived.get(key)
        is_kept = shard is self._network.kept.get(self._slot)
        if not (is_kept and key in self._network.agreed):
            everywhere = np.array([found is not None], np.int64)
            delivery: Delivery = await Request((), everywhere, "min", None, ROUTES)
            if not delivery.vote[0]:
                found = shard.derived[key] = await ask(shard)
        if is_kept:
            self._network.met.add(key)
        self._known = [(shard, key, found), *self._known[: REMEMBERED - 1]]
        return found

    async def _ask_numbers(self, shard: Shard) -> Numbers:
        count = np.array([shard.masters, shard.size - shard.masters], np.int64)
        came = await self._alltoall([(count, some) for some in shard.shared])
        counts = np.array([some[0] for some in came if some is not None])
        bases = np.concatenate([[0], np.cumsum(counts[:, 0])])
        placed = np.zeros(shard.size - shard.masters, np.int64)
        for owner, some in enumerate(came):
            if some is not None and owner != self._slot:
                start = int(shard.group_start[owner]) - shard.masters
                placed[start : start + some[1].size] = some[1] + bases[owner]
        spread = uneven(self._network.ground.topology, counts[:, 1])
        return Numbers(bases, placed, int(counts[:, 1].sum()), spread)

    async def _ask_outlook(self, shard: Shard) -> Outlook:
        degrees = np.diff(shard.out.offsets)
        bits = bits_of(degrees)
        counts = np.bincount(bits, minlength=64), np.bincount(bits, degrees, minlength=64)
        mine = np.concatenate(counts).astype(np.int64)
        came = await self._alltoall([(mine, bits[some]) for some in shard.shared])
        found = np.zeros(shard.size - shard.masters, np.uint8)
        for owner, some in enumerate(came):
            if some is not None and owner != self._slot:
                begin = int(shard.group_start[owner]) - shard.masters
                found[begin : begin + some[1].size] = some[1]
        both = np.sum([some[0] for some in came if some is not None], axis=0).reshape(2, -1)
        return Outlook(found, *(tuple(row) for row in both.tolist()))

    async def _alltoall(self, told: Sequence[Columns | None]) -> list[Columns | None]:
        """Exchange columns straight, not over gateways."""
        frames = [
            Frame(self._slot, slot, some, some[-1].size)
            for slot, some in enumerate(told)
            if some is not None and slot != self._slot
        ]
        delivery: Delivery = await Request(frames, stage=ROUTES)
        came: list[Columns | None] = [None] * self._network.slots
        for frame in delivery.frames:
            came[frame.source] = frame.columns
        came[self._slot] = told[self._slot]
        return came
