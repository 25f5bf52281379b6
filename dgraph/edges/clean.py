"""The fast way through delimited text: lines of plain integers, read at memory speed.

Nearly all lines of nearly all edge lists are two integers of at most 18 digits with one
separator between them, and perhaps a weight. `clean_rows` reads those and stops at the first
line that is anything else (a comment, a quote, a text, leading zeros, two blanks, a missing
field, ...); `dgraph.edges.scan` takes over there. A property test holds both to one answer.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from dgraph.edges.scan import WHITESPACE, Bytes, Spans
from dgraph.kernels import kernel

# Kernels that index with unsigned integers need no check for negative indices: 2x faster here.
_ONE, _NINE, _TEN = np.uint64(1), np.uint64(9), np.uint64(10)
_MOST_DIGITS = np.uint64(18)  # more might not fit int64
_ZERO = np.uint64(48)
_NEWLINE, _RETURN, _TAB, _QUOTE, _MINUS = 10, 13, 9, 34, 45


@kernel
def _clean_integer(buffer: Bytes, at: np.uint64) -> tuple[Any, Any, Any]:
    """Read an integer as Python writes it; return whether it is one, its value, its end."""
    end = np.uint64(len(buffer))
    negative = at < end and buffer[at] == _MINUS
    if negative:
        at += _ONE
    first, value = at, np.uint64(0)
    while at < end:
        digit = np.uint64(buffer[at]) - _ZERO
        if digit > _NINE:  # wraps around for bytes below "0"
            break
        value = value * _TEN + digit
        at += _ONE
    digits = at - first
    fine = bool(digits > 0 and digits <= _MOST_DIGITS)
    if fine and buffer[first] == _ZERO:
        fine = bool(digits == _ONE and not negative)
    return fine, -np.int64(value) if negative else np.int64(value), at


@kernel
def _separates(buffer: Bytes, at: np.uint64, separator: int) -> Any:
    return at < np.uint64(len(buffer)) and (
        buffer[at] == separator or (separator == WHITESPACE and buffer[at] == _TAB)
    )


@kernel
def _word_end(buffer: Bytes, at: np.uint64, separator: int) -> np.uint64:
    """Return where a field without blanks and quotes ends."""
    end = np.uint64(len(buffer))
    while at < end and buffer[at] > WHITESPACE and buffer[at] not in (separator, _QUOTE):
        at += _ONE
    return at


@kernel
def _next_line(buffer: Bytes, at: np.uint64) -> tuple[bool, np.uint64]:
    """Return whether the line ends here, and where the next one starts."""
    end = np.uint64(len(buffer))
    if at < end and buffer[at] == _RETURN:
        at += _ONE
    if at == end:
        return True, at
    return buffer[at] == _NEWLINE, at + _ONE


@kernel
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
    line, row = np.uint64(start), 0
    while line < np.uint64(len(buffer)) and row < len(source):
        fine, source[row], at = _clean_integer(buffer, line)
        if not fine or not _separates(buffer, at, separator):
            break
        fine, target[row], at = _clean_integer(buffer, at + _ONE)
        if not fine:
            break
        if weighted:
            if not _separates(buffer, at, separator):
                break
            word = at + _ONE
            at = _word_end(buffer, word, separator)
            if at == word:
                break
            starts[row, 2] = np.int64(word)
            sizes[row, 2] = np.int64(at - word) * 4
        fine, at = _next_line(buffer, at)
        if not fine:
            break
        line = at
        row += 1
    return row, int(line)
