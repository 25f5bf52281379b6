"""The fast way through delimited text: lines of plain integers, read at memory speed.

Nearly all lines of nearly all edge lists are two integers of at most 18 digits with one
separator between them, and perhaps a weight. `clean_rows` reads those and stops at the first
line that is anything else (a comment, a quote, a text, leading zeros, two blanks, a missing
field, ...); `dgraph.edges.scan` takes over there. A property test holds both to one answer.
"""

from __future__ import annotations

import numpy as np
from numba import njit
from numpy.typing import NDArray

from dgraph.edges.scan import WHITESPACE, Bytes, Spans

# Kernels that index with unsigned integers need no check for negative indices: 2x faster here.
_ONE, _NINE, _TEN = np.uint64(1), np.uint64(9), np.uint64(10)
_MOST_DIGITS = np.uint64(18)  # more might not fit int64
_ZERO = np.uint64(48)
_NEWLINE, _RETURN, _TAB, _QUOTE, _MINUS = 10, 13, 9, 34, 45


@njit(nogil=True, cache=True)
def clean_rows(
    buffer: Bytes,
    start: int,
    separator: int,
    weighted: bool,
    source: NDArray[np.int64],
    target: NDArray[np.int64],
    starts: Spans,
    sizes: Spans,
) -> tuple[int, int]:
    """Read lines ``source separator target [separator weight]`` while they are clean.

    Parameters
    ----------
    buffer : array of uint8
        Whole lines.
    start : int
        Where a line starts.
    separator : int
        A byte, or WHITESPACE for one blank or tab.
    weighted : bool
        Whether each line has exactly three fields, rather than exactly two.
    source, target : int64 arrays of length batch
        Receive the integers.
    starts, sizes : arrays of shape (batch, 3)
        Receive the spans of the weights, in the last column.

    Returns
    -------
    tuple of int
        Rows read, and where the next line starts.
    """
    at, end, row, most = np.uint64(start), np.uint64(len(buffer)), 0, len(source)
    line = at
    while at < end and row < most:
        line = at
        for side in range(2):
            negative = buffer[at] == _MINUS
            if negative:
                at += _ONE
            first, value = at, np.uint64(0)
            while at < end:
                digit = np.uint64(buffer[at]) - _ZERO
                if digit > _NINE:
                    break
                value = value * _TEN + digit
                at += _ONE
            digits = at - first
            if digits == 0 or digits > _MOST_DIGITS:
                return row, np.int64(line)
            if np.uint64(buffer[first]) == _ZERO and (digits > _ONE or negative):
                return row, np.int64(line)
            (source if side == 0 else target)[row] = np.int64(value) * (-1 if negative else 1)
            if side == 0 or weighted:
                if at >= end or not (
                    buffer[at] == separator
                    or (separator == WHITESPACE and buffer[at] == _TAB)
                ):
                    return row, np.int64(line)
                at += _ONE
                if at >= end:
                    return row, np.int64(line)
        if weighted:
            first = at
            while at < end and buffer[at] > WHITESPACE and buffer[at] != separator:
                if buffer[at] == _QUOTE:
                    return row, np.int64(line)
                at += _ONE
            if at == first:
                return row, np.int64(line)
            starts[row, 2] = np.int64(first)
            sizes[row, 2] = np.int64(at - first) * 4
        if at < end and buffer[at] == _RETURN:
            at += _ONE
        if at < end:
            if buffer[at] != _NEWLINE:
                return row, np.int64(line)
            at += _ONE
        row += 1
    return row, np.int64(at)
