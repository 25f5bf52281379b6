"""Which vertices of an agreed list a message to another process is about, in the fewest bytes.

Both ends keep the list since the graph was built, so a frame need not name what it is about::

    none      nothing is sent
    all       no column at all: the values are in the order of the list
    bitmap    uint64, a bit for each vertex of the list
    offsets   int32, places in the list
    bytes     uint8, where bytes are dear: differences, see
              :mod:`dgraph.exchange.differences`, or of bits :mod:`dgraph.exchange.blocks`

The shortest is taken, for each peer and superstep, see :mod:`dgraph.exchange.encoding`. Inside
a process nothing is encoded: arrays pass by reference.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dgraph.exchange.blocks import encode_blocks
from dgraph.exchange.differences import decode_differences, encode_differences
from dgraph.kernels import count_up_to, kernel
from dgraph.shard import Shard
from dgraph.shard.bits import count_bits, positions, set_bits, words

__all__ = [
    "by_peer",
    "copy_prefix",
    "decode_places",
    "encode_bits",
    "encode_places",
    "gather",
    "mask_of",
    "to_one_peer",
]

Array = NDArray[Any]
Places = NDArray[np.int32]


def encode_places(places: Places, size: int, dear: bool = False) -> tuple[Array, ...]:
    """Return the columns that say which places of a list of so many are meant.

    Places that do not ascend stay in their order, for values beside them have the same. Where
    bytes are `dear`, few places are told by their differences.

    Examples
    --------
    >>> encode_places(np.array([0, 1, 2], np.int32), 3)
    ()
    >>> encode_places(np.array([0, 2, 3], np.int32), 10)
    (array([13], dtype=uint64),)
    >>> encode_places(np.array([0, 99], np.int32), 100)
    (array([ 0, 99], dtype=int32),)
    >>> [told.nbytes for told in encode_places(np.arange(0, 4000, 9, np.int32), 4000, True)]
    [446]
    """
    count = places.size
    if dear and 8 * count < size:  # a bitmap would take a byte each
        told = encode_differences(places)
        if told is not places:
            return (told,)
    if count < size and 4 * count <= 8 * words(size):
        return (places,)
    if not _ascends(places):
        return (places,)
    if count == size:
        return ()
    bits = np.zeros(words(size), np.uint64)
    set_bits(bits, places)
    return (bits,)


def decode_places(columns: tuple[Array, ...], size: int, count: int) -> Places:
    """Return the `count` places that :func:`encode_places` made columns of.

    Examples
    --------
    >>> decode_places((), 3, 3), decode_places((np.array([13], np.uint64),), 10, 3)
    (array([0, 1, 2], dtype=int32), array([0, 2, 3], dtype=int32))
    """
    if not columns:
        return np.arange(size, dtype=np.int32)
    column = columns[0]
    if column.dtype == np.uint64:
        return _list(column)
    return decode_differences(column, count, np.dtype(np.int32))


def encode_bits(bits: NDArray[np.uint64], dear: bool = False) -> Array:
    """Return a bitmap, or the places of its bits if these are fewer bytes.

    Where bytes are `dear`, blocks if these are fewer still: see :mod:`dgraph.exchange.blocks`.

    Examples
    --------
    >>> encode_bits(np.array([0, 0, 6], np.uint64)), encode_bits(np.array([6], np.uint64))
    (array([129, 130], dtype=int32), array([6], dtype=uint64))
    """
    count = count_bits(bits)
    blocks = encode_blocks(bits) if dear else None
    if blocks is not None and blocks.nbytes < 4 * count:
        return blocks
    return _list(bits) if 4 * count < bits.nbytes else bits


def gather(values: Array, places: Places, column: Array) -> Callable[[int], None]:
    """Return what writes the first so many bytes of a column of values at some places.

    Examples
    --------
    >>> column = np.zeros(3)
    >>> write = gather(np.arange(5.0), np.array([4, 2, 3], np.int32), column)
    >>> write(16)
    >>> column
    array([4., 2., 0.])
    """
    done = 0

    def write(size: int) -> None:
        nonlocal done
        end = -(-size // column.itemsize)
        if end > done:
            np.take(values, places[done:end], out=column[done:end], mode="clip")
            done = end

    return write


def _list(bits: NDArray[np.uint64]) -> Places:
    places = np.empty(64 * bits.size, np.int32)
    return places[: positions(bits, places)].copy()


@kernel
def _ascends(places):  # type: ignore[no-untyped-def]
    for i in range(1, places.size):  # noqa: SIM110 - Numba compiles loops
        if places[i] <= places[i - 1]:
            return False
    return True


@kernel
def to_one_peer(vertices, values, peer_start, places, moved):  # type: ignore[no-untyped-def]
    """Write proxies as places in their owner's group, and their values."""
    for i in range(vertices.size):
        places[i] = vertices[i] - peer_start[0]
        moved[i] = values[i]


@kernel
def by_peer(vertices, values, peer_start, places, moved):  # type: ignore[no-untyped-def]
    """Sort proxies by owner, as places in the owner's group; return where each owner ends."""
    peer = np.empty(vertices.size, np.int32)
    at = np.zeros(peer_start.size + 1, np.int64)
    for i in range(vertices.size):
        peer[i] = count_up_to(peer_start, vertices[i]) - 1
        at[peer[i] + 1] += 1
    for p in range(peer_start.size):
        at[p + 1] += at[p]
    for i in range(vertices.size):
        p = peer[i]
        places[at[p]] = vertices[i] - peer_start[p]
        moved[at[p]] = values[i]
        at[p] += 1
    return at


@kernel(nogil=False)
def copy_prefix(bits, length, out):  # type: ignore[no-untyped-def]
    """Copy the first `length` bits and clear the rest of the last word.

    To let the other threads in meanwhile would cost more than it takes.
    """
    for index in range(out.size):
        out[index] = bits[index]
    if length & 63:
        out[out.size - 1] &= (np.uint64(1) << np.uint64(length & 63)) - np.uint64(1)


def mask_of(shard: Shard, peer: int) -> NDArray[np.uint64] | None:
    """Return the bitmap of the masters that a slot has proxies of, by which bits are gathered.

    It is kept with the shard. None if these are so few that they are gathered one by one.
    """
    if shard.shared[peer].size * 4 <= shard.masters:
        return None
    name = f"bitmap of what slot {peer} has"
    mask: NDArray[np.uint64] | None = shard.derived.get(name)
    if mask is None:
        mask = shard.derived[name] = np.zeros(words(shard.masters), np.uint64)
        set_bits(mask, shard.shared[peer])
    return mask
