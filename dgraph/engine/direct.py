"""Supersteps that go straight: what the frames between proxies and masters hold.

To slots of this process go the arrays as they are; to others they go in as few bytes as can be.
What goes over gateways is in :mod:`dgraph.engine.router`.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from dgraph.engine.places import (
    by_peer,
    copy_prefix,
    decode_places,
    encode_bits,
    encode_places,
    mask_of,
    to_one_peer,
)
from dgraph.exchange.blocks import decode_blocks
from dgraph.exchange.differences import decode_differences, encode_differences
from dgraph.exchange.frame import Frame
from dgraph.shard import Shard
from dgraph.shard.bits import compress_bits, gather_bits, set_bits, words

__all__ = ["Direct", "masters_of", "take_bits", "values_of"]

Array = NDArray[Any]


class Direct(NamedTuple):
    """Makes the frames that a slot sends straight to others.

    Parameters
    ----------
    slot : int
    away : set of int
        The slots of other processes.
    buffer : callable
        Returns an array to fill and send, of a name, a length and a dtype.
    dear : set of int
        Slots of other processes to which bytes are so dear that they are saved: integers go as
        differences, bits in blocks.
    """

    slot: int
    away: frozenset[int]
    buffer: Callable[[Any, int, Any], Array]
    dear: Collection[int] = ()

    def to_owners(
        self, shard: Shard, vertices: NDArray[np.int32], values: Array
    ) -> list[Frame]:
        """Cut (proxy, value) pairs into one frame for each owner."""
        if not vertices.size:
            return []
        length = vertices.size
        places = self.buffer("places", length, np.dtype(np.int32))
        moved = self.buffer("values", length, values.dtype)
        if len(shard.peers) == 1:
            to_one_peer(vertices, values, shard.peer_start, places, moved)
            return [self._to_owner(shard, shard.peers[0], places, moved)]
        ends = by_peer(vertices, values, shard.peer_start, places, moved)
        frames, begin = [], 0
        for peer, end in zip(shard.peers, ends.tolist(), strict=False):
            if end > begin:
                frames.append(self._to_owner(shard, peer, places[begin:end], moved[begin:end]))
            begin = end
        return frames

    def _to_owner(self, shard: Shard, peer: int, places: Array, moved: Array) -> Frame:
        which: tuple[Array, ...] = (places,)
        count, told = moved.size, moved
        if peer in self.away:
            dear = peer in self.dear
            which = encode_places(places, int(shard.group_size[peer]), dear)
            told = encode_differences(moved) if dear else moved
        return Frame(self.slot, peer, (*which, told), count)

    def bits_to(self, shard: Shard, bits: NDArray[np.uint64], peer: int) -> list[Frame]:
        """Return the frame with the bits of the masters that a peer knows, if any is set."""
        shared = shard.shared[peer]
        column = self.buffer(("bits", peer), words(shared.size), np.dtype(np.uint64))
        if shard.prefix[peer] >= 0:
            copy_prefix(bits, shared.size, column)
        elif (mask := mask_of(shard, peer)) is not None:
            compress_bits(bits, mask, column)
        else:
            gather_bits(bits, shared, column)
        if not column.any():
            return []
        told = encode_bits(column, peer in self.dear) if peer in self.away else column
        return [Frame(self.slot, peer, (told,), shared.size)]


def masters_of(shard: Shard, frame: Frame) -> NDArray[np.int32]:
    """Return the masters that a frame of a reduce is about."""
    shared = shard.shared[frame.source]
    places = decode_places(frame.columns[:-1], shared.size, frame.count)
    return places if shard.prefix[frame.source] >= 0 else shared[places]


def values_of(frame: Frame, dtype: np.dtype[Any]) -> Array:
    """Return the values that a frame of a reduce has, which were of this dtype."""
    return decode_differences(frame.columns[-1], frame.count, dtype)


def take_bits(shard: Shard, bits: NDArray[np.uint64], frame: Frame) -> None:
    """Enter the bits of a frame at the proxies of its source, where none is set."""
    word = int(shard.group_start[frame.source]) >> 6
    told = frame.columns[0]
    if told.dtype == np.uint64:
        bits[word : word + told.size] = told
    elif told.dtype == np.uint8:
        decode_blocks(told, bits[word : word + words(int(shard.group_size[frame.source]))])
    else:
        set_bits(bits[word:], told)
