"""Proxies tell their masters, and all slots hear in the same superstep which are meant.

Else the masters would have to tell the slots that have proxies, in a superstep of their own. As
no slot knows who else has proxies of another's vertices, all are told of all: bits by numbers
that all slots agree on (:mod:`dgraph.engine.spreading`).
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from dgraph.engine.context import Context
from dgraph.engine.direct import masters_of, values_of
from dgraph.shard import Shard
from dgraph.shard.bits import compress_bits, set_bits, words

__all__ = ["Told", "all_told", "reduce_and_tell"]

Array = NDArray[Any]
Bits = NDArray[np.uint64]

#: What a shard keeps.
NAME = "places of proxies among all"


class Told(NamedTuple):
    """Where all vertices have their bits: those of each slot begin with a word.

    Parameters
    ----------
    base : int64 array of length slots + 1
        The words before those of each slot.
    place : int array
        The bit of each proxy.
    mask : bitmap
        The bits of the proxies.
    """

    base: NDArray[np.int64]
    place: Array
    mask: Bits

    @property
    def nbytes(self) -> int:
        """Bytes of the arrays."""
        return self.base.nbytes + self.place.nbytes + self.mask.nbytes

    def tell(self, shard: Shard, bits: Bits, proxies: NDArray[np.int32]) -> Bits:
        """Return the bits of the masters that are set, and of some proxies."""
        told = np.zeros(int(self.base[-1]), np.uint64)
        first = int(self.base[shard.slot])
        told[first : first + words(shard.masters)] = bits[: words(shard.masters)]
        set_bits(told, self.place[proxies - np.int32(shard.masters)])
        return told

    def take(self, shard: Shard, told: Bits, bits: Bits) -> None:
        """Enter what was told at the proxies."""
        bits[words(shard.masters) :] = 0
        for owner in shard.peers:
            some = slice(int(self.base[owner]), int(self.base[owner + 1]))
            word, size = int(shard.group_start[owner]) >> 6, words(int(shard.group_size[owner]))
            if size:
                compress_bits(told[some], self.mask[some], bits[word : word + size])


def all_told(shard: Shard, bases: NDArray[np.int64], placed: NDArray[np.int64]) -> Told:
    """Return it for a shard, which keeps it, from the placed numbers of its proxies."""
    found: Told | None = shard.derived.get(NAME)
    if found is None:
        base = np.concatenate([[0], np.cumsum((np.diff(bases) + 63) >> 6)])
        wide = np.int32 if 64 * base[-1] < 2**31 else np.int64
        place, mask = np.zeros(placed.size, wide), np.zeros(int(base[-1]), np.uint64)
        for owner in shard.peers:
            begin = int(shard.group_start[owner]) - shard.masters
            group = slice(begin, begin + int(shard.group_size[owner]))
            place[group] = placed[group] + (64 * base[owner] - bases[owner])
            set_bits(mask, place[group])
        found = shard.derived[NAME] = Told(base, place, mask)
    return found


async def reduce_and_tell(
    ctx: Context,
    shard: Shard,
    vertices: NDArray[np.int32],
    values: Array,
    bits: Bits,
    vote: Any,
    work: int | None,
) -> tuple[NDArray[np.int32], Array]:
    """Send values of some proxies to their masters, and tell all slots which these are.

    Parameters
    ----------
    ctx, shard, vertices, values, vote, work
        See :meth:`~dgraph.engine.context.Context.reduce`.
    bits : bitmap over the local ids
        Of masters, all slots with proxies are told of those that are set; of proxies, those
        that any slot has told of are set when this returns, and no others.

    Returns
    -------
    As of :meth:`~dgraph.engine.context.Context.reduce`; nothing is combined.
    """
    assert ctx.gateways is not None
    numbers = await ctx.gateways.numbers(shard)
    all_ = all_told(shard, numbers.bases, numbers.placed)
    told = all_.tell(shard, bits, vertices)
    frames = ctx.direct().to_owners(shard, vertices, values)
    ballot = ctx.ballot(vote)
    came = await ctx.over_gateways(
        ctx.gateways.tell(shard, frames, told, all_.base, ballot, work)
    )
    all_.take(shard, told, bits)
    found = [masters_of(shard, frame) for frame in came]
    some = [values_of(frame, values.dtype) for frame in came]
    return (
        np.concatenate([vertices[:0], *found]).astype(np.int32),
        np.concatenate([values[:0], *some]),
    )
