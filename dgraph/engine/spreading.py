"""Bits that all slots are told: who sends which to whom, and in which form.

In each group of slots one gathers what is said of the vertices of a slot, from all groups, and
then tells its group::

    first    everyone -> who gathers in each group      what it knows of those vertices
    then     who gathers -> the others of its group     what all know of them

So what a slot says crosses to another group once, in as many pieces as that has slots.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dgraph.engine.places import encode_bits
from dgraph.exchange.blocks import decode_blocks
from dgraph.exchange.differences import decode_differences, encode_differences
from dgraph.exchange.frame import Frame
from dgraph.exchange.hop import Hop
from dgraph.exchange.routing.ground import Ground
from dgraph.shard.bits import count_bits, positions, set_bits

__all__ = ["enter", "pack_told", "pick", "shares", "spreading_hops"]

Array = NDArray[Any]
Bits = NDArray[np.uint64]


@lru_cache(maxsize=64)
def shares(ground: Ground) -> tuple[tuple[int, ...], ...]:
    """Return for each slot those about whose vertices it gathers what is said, for its group.

    Examples
    --------
    >>> from dgraph.topology import Topology
    >>> shares(Ground(Topology.from_fanouts([2, 2])))
    ((0, 2), (1, 3), (0, 2), (1, 3))
    """
    slots = np.arange(ground.topology.slots)
    gathers = ground.groups.twin(slots[:, None], slots) == slots[:, None]
    return tuple(tuple(np.flatnonzero(row).tolist()) for row in gathers)


@lru_cache(maxsize=64)
def spreading_hops(ground: Ground, owners: tuple[int, ...], me: int) -> tuple[Hop, ...]:
    """Return the stages as a process sees them; the votes go along in the first.

    Parameters
    ----------
    owners : tuple of int
        For each slot the process that has it.
    me : int
        The process.

    Examples
    --------
    >>> from dgraph.topology import Topology
    >>> first, then = spreading_hops(Ground(Topology.from_fanouts([2, 2])), (0, 1, 2, 3), 1)
    >>> sorted(first.to), sorted(then.to)
    ([0, 2, 3], [0])
    """
    owner, group = np.array(owners), ground.groups.group
    all_ = frozenset(owners) - {me}
    if ground.groups.size.max() == 1:
        return (Hop(0, True, True, all_, all_, all_),)
    beside = np.isin(group, group[owner == me])
    near = frozenset(owner[beside].tolist()) - {me}
    return Hop(0, True, False, all_, all_, all_), Hop(1, False, True, near, near)


def pack_told(
    slot: int, targets: Collection[int], told: Bits, dear: Collection[int]
) -> list[Frame]:
    """Return the frames with what one slot tells others, to some of which bytes are dear.

    The head has how many bits are set, and whether the column has their places.

    Examples
    --------
    >>> (frame,) = pack_told(0, [1], np.array([0, 6, 0, 0], np.uint64), dear=[1])
    >>> frame.count, frame.columns
    (2, (array([2, 1]), array([65, 66], dtype=int32)))
    """
    count = count_bits(told)
    columns = {some: _pack(told, count, some) for some in {to in dear for to in targets}}
    return [Frame(slot, to, columns[to in dear], count) for to in targets]


def _pack(told: Bits, count: int, dear: bool) -> tuple[Array, Array]:
    if count > told.size:  # blocks are as short, and quicker
        column = encode_bits(told, dear)
        return np.array([count, 0], np.int64), column.copy() if column is told else column
    places = np.empty(count, _places_of(told.size))
    positions(told, places)
    return np.array([count, 1], np.int64), encode_differences(places) if dear else places


def pick(told: Bits, base: NDArray[np.int64], owners: Sequence[int]) -> Bits:
    """Return the bits of the vertices of some slots; those of a slot begin at `base`.

    Examples
    --------
    >>> pick(np.arange(5).astype(np.uint64), np.array([0, 1, 3, 5]), [0, 2])
    array([0, 3, 4], dtype=uint64)
    """
    return np.concatenate([told[:0], *(told[base[o] : base[o + 1]] for o in owners)])


def enter(
    columns: Sequence[Array], told: Bits, base: NDArray[np.int64], owners: Sequence[int]
) -> None:
    """Add to a bitmap what :func:`pack_told` has packed of the vertices of some slots.

    Examples
    --------
    >>> base, told = np.array([0, 1, 3, 5]), np.array([1, 0, 0, 0, 2], np.uint64)
    >>> some = np.array([6, 0, 1], np.uint64)
    >>> (frame,) = pack_told(3, [0], some, [])
    >>> enter(frame.columns, told, base, [0, 2])
    >>> told
    array([7, 0, 0, 0, 3], dtype=uint64)
    """
    (count, has_places), column = columns[0].tolist(), columns[1]
    sizes = [int(base[o + 1] - base[o]) for o in owners]
    begin = np.concatenate([[0], np.cumsum(sizes)])
    if has_places:
        places = decode_differences(column, count, _places_of(int(begin[-1])))
        cut = np.searchsorted(places, 64 * begin)
        for k, owner in enumerate(owners):
            some = places[cut[k] : cut[k + 1]] - places.dtype.type(64 * begin[k])
            set_bits(told[base[owner] : base[owner + 1]], some)
        return
    found = _open(column, int(begin[-1]))
    for k, owner in enumerate(owners):
        told[base[owner] : base[owner + 1]] |= found[begin[k] : begin[k + 1]]


def _open(column: Array, size: int) -> Bits:
    """Return the bitmap that `encode_bits` has encoded."""
    if column.dtype == np.uint64:
        return column
    found = np.zeros(size, np.uint64)
    if column.dtype == np.uint8:
        decode_blocks(column, found)
    else:
        set_bits(found, column)
    return found


def _places_of(size: int) -> np.dtype[Any]:
    """Return the dtype of the places in a bitmap of so many words."""
    return np.dtype(np.int32 if 64 * size < 2**31 else np.int64)
