"""Integers in as few bytes as their differences take, for links where a byte costs much.

A column becomes the differences of neighbours, zigzag (0, -1, 1, -2 are 0, 1, 2, 3), in groups
of seven bits, the lowest first; all bytes of a difference but its last have the highest bit::

    70 71 71 71 3     differences 70 1 0 0 -68     bytes 140 1 | 2 | 0 1 | 135 1

After a difference of 0 stands how many more of them follow. Of messages to vertices that are
found along the rows of few others, as in a search from a hub, the places lie close together and
the values hardly change: about a byte of each two is left where there were eight.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from dgraph.kernels import kernel

__all__ = ["CODING", "decode_differences", "encode_differences"]

Array = NDArray[Any]
Bytes = NDArray[np.uint8]

#: The most bytes that a difference takes, with how often 0 is repeated.
LONGEST = 20

#: A column of fewer integers is sent as it is.
FEWEST = 64

#: What is not at least a quarter shorter is sent as it is.
ROOM = 3 / 4

#: Seconds per byte from which on it is worth it: measured, a message of 8 bytes becomes one of
#: 1 to 4 bytes, at 8 to 24 ns for both ends.
CODING = 4e-9

_SEVEN = np.uint64(7)
_MORE = np.uint64(128)


def encode_differences(column: Array) -> Array:
    """Return the bytes of a column of integers; the column itself, if these are not much fewer.

    Examples
    --------
    >>> encode_differences(np.arange(1000, 1500, dtype=np.int32)).nbytes
    501
    >>> encode_differences(np.array([70, 71], np.int32))
    array([70, 71], dtype=int32)
    """
    if column.size < FEWEST or column.dtype.kind not in "iu" or column.itemsize < 2:
        return column
    out = np.empty(int(ROOM * column.nbytes), np.uint8)
    size = _write(column, out)
    return out[:size].copy() if size else column


def decode_differences(column: Array, count: int, dtype: np.dtype[Any]) -> Array:
    """Return the column of `count` integers that :func:`encode_differences` made this of.

    Examples
    --------
    >>> column = np.repeat(np.array([7, 2**40, -3]), 30)
    >>> told = encode_differences(column)
    >>> told.nbytes, np.array_equal(decode_differences(told, 90, column.dtype), column)
    (19, True)
    """
    if column.dtype != np.uint8 or dtype.itemsize == 1:
        return column
    out = np.empty(count, dtype)
    _read(column, out)
    return out


@kernel
def _put(number, out, at):  # type: ignore[no-untyped-def]
    while number >= _MORE:
        out[at] = np.uint8(number & np.uint64(127)) | np.uint8(128)
        at += 1
        number >>= _SEVEN
    out[at] = np.uint8(number)
    return at + 1


@kernel
def _write(column, out):  # type: ignore[no-untyped-def]
    """Write a column; return how many bytes it takes, 0 if there is no room for it."""
    at, i, before = 0, 0, np.int64(0)
    while i < column.size:
        if at + LONGEST > out.size:
            return 0
        value = np.int64(column[i])
        step = value - before
        before = value
        i += 1
        at = _put(np.uint64((step << 1) ^ (step >> 63)), out, at)
        if step == 0:
            begin = i
            while i < column.size and np.int64(column[i]) == before:
                i += 1
            at = _put(np.uint64(i - begin), out, at)
    return at


@kernel
def _get(column, at):  # type: ignore[no-untyped-def]
    number, shift = np.uint64(0), np.uint64(0)
    while column[at] >= 128:
        number |= np.uint64(column[at] & 127) << shift
        shift += _SEVEN
        at += 1
    return number | (np.uint64(column[at]) << shift), at + 1


@kernel
def _read(column, out):  # type: ignore[no-untyped-def]
    """Read as many integers as there is room for."""
    at, i, before = 0, 0, np.int64(0)
    while i < out.size:
        number, at = _get(column, at)
        before += np.int64(number >> np.uint64(1)) ^ -np.int64(number & np.uint64(1))
        out[i] = before
        i += 1
        if number == 0:
            more, at = _get(column, at)
            for _ in range(more):
                out[i] = before
                i += 1
