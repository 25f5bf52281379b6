"""A set of numbers that knows the position of each: a bitmap and the counts before its words.

It costs 1.5 bits for every number that could be in it and answers with two loads and a
population count. All tables of the build that map a wide range of numbers onto the few that a
slot touches are such sets: a slot never holds an array with an entry for every vertex.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numba.core import types
from numba.extending import intrinsic
from numpy.typing import DTypeLike, NDArray

from dgraph.kernels import kernel
from dgraph.shard.bits import positions, words

__all__ = ["NumberSet", "mark", "population", "position_of"]

Array = NDArray[Any]
Bits = NDArray[np.uint64]

_ONE = np.uint64(1)


@intrinsic
def population(typing_context, word):  # type: ignore[no-untyped-def]
    """Return how many bits of a word are set: one machine instruction."""

    def generate(context, builder, signature, arguments):  # type: ignore[no-untyped-def]
        return builder.ctpop(arguments[0])

    return types.uint64(types.uint64), generate


@dataclass(slots=True)
class NumberSet:
    """Some of the numbers 0, 1, 2, ...; the smallest has position 0.

    Parameters
    ----------
    bits : uint64 array
        Bit ``number & 63`` of word ``number >> 6`` is set for each number in the set.
    before : integer array beside `bits`
        The position of the first number of each word.

    Examples
    --------
    >>> bits = np.zeros(2, np.uint64)
    >>> mark(bits, np.array([70, 3, 64]), 0)
    >>> found = NumberSet.of(bits, np.int32)
    >>> found.positions(np.array([64, 70, 3])), found.numbers()
    (array([1, 2, 0], dtype=int32), array([ 3, 64, 70], dtype=int32))
    """

    bits: Bits
    before: Array

    @classmethod
    def of(cls, bits: Bits, dtype: DTypeLike) -> Self:
        """Count the bits of a bitmap; positions are of `dtype`."""
        before = np.empty(bits.size, dtype)
        _count_before(bits, before)
        return cls(bits, before)

    @classmethod
    def empty(cls, limit: int) -> Bits:
        """Return the bitmap of no numbers out of 0 .. limit - 1."""
        return np.zeros(words(limit), np.uint64)

    def __len__(self) -> int:
        """Return how many numbers are in the set."""
        return int(self.before[-1] + _population(self.bits[-1])) if self.bits.size else 0

    def positions(self, numbers: Array, shift: int = 0) -> Array:
        """Return the position of each ``number + shift``, all of which must be in the set."""
        out = np.empty(numbers.size, self.before.dtype)
        _positions(self.bits, self.before, numbers, shift, out)
        return out

    def numbers(self) -> Array:
        """Return the numbers in the set, ascending."""
        out = np.empty(len(self), self.before.dtype)
        positions(self.bits, out)
        return out


@kernel
def mark(bits, numbers, shift):  # type: ignore[no-untyped-def]
    """Put each ``number + shift`` into a bitmap."""
    for number in numbers:
        at = np.uint64(number + shift)
        bits[at >> np.uint64(6)] |= _ONE << (at & np.uint64(63))


@kernel(inline="always")
def position_of(bits, before, number):  # type: ignore[no-untyped-def]
    """Return the position of a number that is in the set."""
    at = np.uint64(number)
    word = at >> np.uint64(6)
    below = bits[word] & ((_ONE << (at & np.uint64(63))) - _ONE)
    return before[word] + np.int64(population(below))  # type: ignore[call-arg]


@kernel
def _count_before(bits, before):  # type: ignore[no-untyped-def]
    total = np.int64(0)
    for word in range(bits.size):
        before[word] = total
        total += np.int64(population(bits[word]))  # type: ignore[call-arg]


@kernel
def _population(word):  # type: ignore[no-untyped-def]
    return np.int64(population(word))  # type: ignore[call-arg]


@kernel
def _positions(bits, before, numbers, shift, out):  # type: ignore[no-untyped-def]
    for i in range(numbers.size):
        out[i] = position_of(bits, before, numbers[i] + shift)
