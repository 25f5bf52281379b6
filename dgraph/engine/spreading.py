"""Bits that all slots are told: who sends them to whom, and in which form.

They spread over the ways of a routing, backwards; whoever hands on says all that it has heard,
so what many know goes on once.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from functools import lru_cache
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dgraph.engine.places import encode_bits
from dgraph.exchange.blocks import decode_blocks
from dgraph.exchange.differences import decode_differences, encode_differences
from dgraph.exchange.frame import Frame
from dgraph.exchange.routing.ground import Ground
from dgraph.exchange.routing.ground import positions as way
from dgraph.exchange.routing.strategies import BACKWARDS
from dgraph.shard.bits import count_bits, positions, set_bits

__all__ = ["hear", "links_to_all", "pack_told"]

Array = NDArray[Any]
Bits = NDArray[np.uint64]


@lru_cache(maxsize=64)
def links_to_all(name: str, ground: Ground) -> tuple[NDArray[np.bool_], ...]:
    """Return for each stage of a routing, backwards, which slot sends to which.

    Examples
    --------
    >>> from dgraph.topology import Topology
    >>> across, inside = links_to_all("rail", Ground(Topology.from_fanouts([2, 2])))
    >>> [row.nonzero()[0].tolist() for row in across]
    [[2], [3], [0], [1]]
    >>> [row.nonzero()[0].tolist() for row in inside]
    [[1], [0], [3], [2]]
    """
    slots = ground.topology.slots
    source, target = map(np.ravel, np.meshgrid(np.arange(slots), np.arange(slots)))
    where = way(BACKWARDS[name](ground), source, target)
    stages = []
    for here, there in pairwise(where):
        links = np.zeros((slots, slots), np.bool_)
        links[here, there] = True
        np.fill_diagonal(links, val=False)
        stages.append(links)
    return tuple(stages)


def pack_told(
    slot: int, targets: Collection[int], told: Bits, dear: Collection[int]
) -> list[Frame]:
    """Return the frames with what one slot tells others, to some of which bytes are dear.

    The head has how many bits are set, or less than that if the column is not their places.

    Examples
    --------
    >>> (frame,) = pack_told(0, [1], np.array([0, 6, 0, 0], np.uint64), dear=[1])
    >>> frame.count, hear(frame.columns, np.array([1, 0, 0, 0], np.uint64))
    (2, array([1, 6, 0, 0], dtype=uint64))
    """
    count = count_bits(told)
    columns = {some: _pack(told, count, some) for some in {to in dear for to in targets}}
    return [Frame(slot, to, columns[to in dear], count) for to in targets]


def _pack(told: Bits, count: int, dear: bool) -> tuple[Array, Array]:
    if count > told.size:  # blocks are as short, and quicker
        column = encode_bits(told, dear)
        return np.array([-1], np.int32), column.copy() if column is told else column
    places = np.empty(count, np.int32 if 64 * told.size < 2**31 else np.int64)
    positions(told, places)
    return np.array([count], np.int32), encode_differences(places) if dear else places


def hear(columns: Sequence[Array], told: Bits) -> Bits:
    """Return a bitmap and what :func:`pack_told` has packed; the bitmap may change."""
    (count,), column = columns[0].tolist(), columns[1]
    if count >= 0:
        wide = np.dtype(np.int32 if 64 * told.size < 2**31 else np.int64)
        set_bits(told, decode_differences(column, count, wide))
    elif column.dtype == np.uint8:
        more = np.empty_like(told)
        decode_blocks(column, more)
        told |= more
    elif column.dtype == np.uint64:
        return told | column
    else:
        set_bits(told, column)
    return told
