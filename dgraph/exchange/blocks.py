"""Bitmaps in blocks of 256 bits, each as short as it can be, for links where a byte costs much.

::

    few bits     how many, up to FEW | the place of each in the block
    few not      OTHERS + how many, up to FEW | the place of each that is not set
    else         WHOLE | its 32 bytes

The vertices of a frontier are dense among the heavy ones, which come first, and sparse behind,
or the other way round: neither a bitmap nor a list of all places is short for both.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from dgraph.kernels import kernel
from dgraph.shard.bits import lowest, ones

__all__ = ["decode_blocks", "encode_blocks"]

Bits = NDArray[np.uint64]
Bytes = NDArray[np.uint8]

#: Words of a block.
WORDS = 4

#: Of more places than that the block itself is as short.
FEW = 30

#: What is added to how many places there are of bits that are not set; and stands for a block.
OTHERS, WHOLE = 100, 255

_ONE = np.uint64(1)


def encode_blocks(bits: Bits) -> Bytes | None:
    """Return the blocks of a bitmap; None if they are not at least a quarter shorter.

    Examples
    --------
    >>> bits = np.zeros(100, np.uint64)
    >>> bits[:4] = 2**64 - 1
    >>> bits[50] = 5
    >>> encode_blocks(bits).nbytes, bits.nbytes
    (27, 800)
    """
    out = np.empty(bits.nbytes * 3 // 4, np.uint8)
    size = _write(bits, out)
    return out[:size].copy() if size else None


def decode_blocks(told: Bytes, bits: Bits) -> int:
    """Write the bitmap that :func:`encode_blocks` made this of; return how many bytes it took.

    Examples
    --------
    >>> bits, found = np.array([0, 5, 0, 0, 0, 1], np.uint64), np.empty(6, np.uint64)
    >>> decode_blocks(encode_blocks(bits), found), found.tolist()
    (5, [0, 5, 0, 0, 0, 1])
    """
    return int(_read(told, bits))


@kernel
def _write(bits, out):  # type: ignore[no-untyped-def]
    """Write the blocks; return how many bytes they take, 0 if there is no room for them."""
    at = 0
    for first in range(0, bits.size, WORDS):
        if at + 1 + 8 * WORDS > out.size:
            return 0
        block = bits[first : first + WORDS]
        count = 0
        for word in block:
            count += ones(word)
        others = 64 * block.size - count
        listed, flip = FEW + 1, np.uint64(0)
        if count <= FEW:
            out[at], listed = count, count
        elif others <= FEW:
            out[at], listed, flip = OTHERS + others, others, ~np.uint64(0)
        else:
            out[at] = WHOLE
        at += 1
        for i in range(block.size):
            word = block[i] ^ flip
            if listed > FEW:
                for _ in range(8):
                    out[at] = word & np.uint64(255)
                    word >>= np.uint64(8)
                    at += 1
            else:
                while word:
                    out[at] = 64 * i + lowest(word)
                    word &= word - _ONE
                    at += 1
    return at


@kernel
def _read(told, bits):  # type: ignore[no-untyped-def]
    at = 0
    for first in range(0, bits.size, WORDS):
        block = bits[first : first + WORDS]
        count = told[at]
        at += 1
        if count == WHOLE:
            for i in range(block.size):
                word = np.uint64(0)
                for byte in range(8):
                    word |= np.uint64(told[at + byte]) << np.uint64(8 * byte)
                block[i] = word
                at += 8
        else:
            flip = np.uint64(0)
            if count >= OTHERS:
                count, flip = count - OTHERS, ~flip
            for i in range(block.size):
                block[i] = flip
            for place in told[at : at + count]:
                block[place >> 6] ^= _ONE << np.uint64(place & 63)
            at += count
    return at
