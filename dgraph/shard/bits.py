"""Bitmaps of vertices: bit ``v & 63`` of word ``v >> 6``, uint64."""

from __future__ import annotations

from typing import Any

import numpy as np
from llvmlite import ir  # type: ignore[import-untyped]
from numba import types
from numba.extending import intrinsic
from numpy.typing import NDArray

from dgraph.kernels import kernel

__all__ = [
    "compress_bits",
    "count_bits",
    "gather_bits",
    "lowest",
    "ones",
    "positions",
    "set_bits",
    "words",
]

Bits = NDArray[np.uint64]

_ONE = np.uint64(1)
_LOW6 = np.int64(63)
_SIX = np.uint64(6)
_LOW = np.uint64(63)


def words(vertices: int) -> int:
    """Return how many words a bitmap of so many vertices has.

    Examples
    --------
    >>> words(64), words(65)
    (1, 2)
    """
    return (vertices + 63) >> 6


def _count_trailing_zeros(typing_context: Any, word: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        never_zero = ir.Constant(ir.IntType(1), 1)
        return builder.cttz(arguments[0], never_zero)

    return types.int64(word), generate


#: For kernels: the position of the lowest set bit of a non-zero uint64, by one instruction.
#: With a binary search for the bit, breadth-first search takes half as long again.
lowest: Any = intrinsic(_count_trailing_zeros)


def _count_ones(typing_context: Any, word: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.ctpop(arguments[0])

    return types.int64(word), generate


#: For kernels: the number of set bits of a uint64, by one instruction where there is one.
ones: Any = intrinsic(_count_ones)


@kernel
def set_bits(bits: Bits, vertices: NDArray[np.int32]) -> None:
    """Set the bits of `vertices`."""
    for vertex in vertices:
        bits[vertex >> 6] |= _ONE << np.uint64(vertex & _LOW6)


@kernel
def count_bits(bits: Bits) -> int:
    """Return how many bits are set."""
    total = 0
    for word in bits:
        total += ones(word)
    return total


@kernel
def positions(bits: Bits, out: NDArray[np.int32]) -> int:
    """Write the set bits, ascending, into `out` and return how many there are."""
    found = 0
    for index in range(bits.size):
        word = bits[index]
        while word:
            low = lowest(word)
            out[found] = (index << 6) + low
            found += 1
            word &= word - _ONE
    return found


@kernel
def gather_bits(bits: Bits, vertices: NDArray[np.int32], out: Bits) -> None:
    """Write bit ``vertices[i]`` of `bits` to bit i of `out`, which is overwritten."""
    word = np.uint64(0)
    for index in range(vertices.size):
        vertex = vertices[index]
        bit = (bits[vertex >> 6] >> np.uint64(vertex & _LOW6)) & _ONE
        word |= bit << np.uint64(index & 63)
        if index & 63 == 63:
            out[index >> 6] = word
            word = np.uint64(0)
    if vertices.size & 63:
        out[vertices.size >> 6] = word


@kernel(inline="always")
def close_gaps(word, gaps):  # type: ignore[no-untyped-def]
    """Return a word without the bits at the gaps: what is above moves down."""
    while gaps:
        below = (gaps & (~gaps + _ONE)) - _ONE
        word = (word & below) | ((word >> _ONE) & ~below)
        gaps = (gaps & (gaps - _ONE)) >> _ONE
    return word


@kernel
def compress_bits(bits: Bits, mask: Bits, out: Bits) -> None:
    """Write the bits of `bits` that `mask` selects to `out`, without gaps; overwrites `out`.

    The same as :func:`gather_bits` with the positions of the mask, but it looks at words, and
    in each at the bits that are set or at those that are left out, whichever are fewer.
    """
    out[:] = 0
    at = np.uint64(0)
    for index in range(mask.size):
        selected = mask[index]
        found = bits[index] & selected
        if found and ones(~selected) < ones(found):
            found = close_gaps(found, ~selected)
            out[at >> _SIX] |= found << (at & _LOW)
            if at & _LOW:
                rest = found >> (np.uint64(64) - (at & _LOW))
                if rest:
                    out[(at >> _SIX) + _ONE] |= rest
            found = np.uint64(0)
        while found:
            bit = found & (~found + _ONE)
            place = at + np.uint64(ones(selected & (bit - _ONE)))
            out[place >> _SIX] |= _ONE << (place & _LOW)
            found ^= bit
        at += np.uint64(ones(selected))
