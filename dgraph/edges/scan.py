"""Kernels over the bytes of delimited text: split lines into fields, read fields as ids.

A kernel sees one buffer of whole lines and works on a *batch* of rows at a time, so that the
fields that `split` found are still in the cache when they are read. A field is a *span*: where
it starts, and its size, packed as ``length * 4 + quoting``.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from dgraph.kernels import kernel

Bytes = NDArray[np.uint8]
Spans = NDArray[np.int64]

BATCH = 1 << 15  # rows: their spans take 1.5 MB, about a core's share of the cache
WHITESPACE = 32  # the separator "runs of blanks or tabs"; any other separator is its own byte

# What `split` may end with.
FINE, FIELDS, OPEN_QUOTE, AFTER_QUOTE = 0, 1, 2, 3
# Quoting of a field: none, in quotes, in quotes with doubled quotes inside.
PLAIN, QUOTED, DOUBLED = 0, 1, 2
# What a field is, read as an integer: written as Python writes it; with a plus, with leading
# zeros or as -0; too large for every integer type; something else.
CANONICAL, LOOSE, TOO_LARGE, TEXT = 0, 1, 2, 3

_NEWLINE, _RETURN, _TAB, _QUOTE, _ZERO, _MINUS, _PLUS = 10, 13, 9, 34, 48, 45, 43
_POINT, _EXPONENTS = 46, (69, 101)
_UINT64_TENTH = np.uint64(2**64 // 10)
_TEN = np.uint64(10)


def lines_in(buffer: Bytes) -> int:
    r"""Return an upper bound of the rows in `buffer`.

    >>> lines_in(np.frombuffer(b"1 2\n3 4", np.uint8))
    2
    """
    return int(_count_line_ends(buffer)) + 1


@kernel
def _count_line_ends(buffer: Bytes) -> int:
    count = 0
    for byte in buffer:
        count += (byte == _NEWLINE) | (byte == _RETURN)
    return count


@kernel
def _skip_line(buffer: Bytes, at: int) -> int:
    while at < len(buffer) and buffer[at] != _NEWLINE and buffer[at] != _RETURN:
        at += 1
    return at


@kernel
def _skip_blanks(buffer: Bytes, at: int, separator: int) -> int:
    while at < len(buffer) and (
        buffer[at] == WHITESPACE or (buffer[at] == _TAB and separator != _TAB)
    ):
        at += 1
    return at


@kernel
def _ends_line(buffer: Bytes, at: int) -> bool:
    return at == len(buffer) or buffer[at] == _NEWLINE or buffer[at] == _RETURN


@kernel
def _ends_field(byte: int, separator: int) -> bool:
    return byte in (separator, _NEWLINE, _RETURN) or (byte == _TAB and separator == WHITESPACE)


@kernel
def _plain_field(buffer: Bytes, at: int, separator: int) -> tuple[int, int, int, int]:
    start = at
    while at < len(buffer) and not _ends_field(buffer[at], separator):
        at += 1
    end = at
    while end > start and (buffer[end - 1] == WHITESPACE or buffer[end - 1] == _TAB):
        end -= 1
    return start, end, PLAIN, at


@kernel
def _quoted_field(buffer: Bytes, at: int, separator: int) -> tuple[int, int, int, int]:
    start, quoting = at + 1, QUOTED
    at = start
    while at < len(buffer):
        if buffer[at] != _QUOTE:
            at += 1
        elif at + 1 < len(buffer) and buffer[at + 1] == _QUOTE:
            quoting = DOUBLED
            at += 2
        else:
            break
    if at == len(buffer):
        return start, at, -OPEN_QUOTE, at
    end = at
    at += 1
    if separator != WHITESPACE:
        at = _skip_blanks(buffer, at, separator)
    if at < len(buffer) and not _ends_field(buffer[at], separator):
        return start, end, -AFTER_QUOTE, at
    return start, end, quoting, at


@kernel
def _field(buffer: Bytes, at: int, separator: int) -> tuple[int, int, int, int]:
    """Return where the field at `at` starts and ends, its quoting, and what ends it.

    A negative quoting says what is wrong with it.
    """
    is_quoted = at < len(buffer) and buffer[at] == _QUOTE
    found: tuple[int, int, int, int] = (
        _quoted_field(buffer, at, separator)
        if is_quoted
        else _plain_field(buffer, at, separator)
    )
    return found


@kernel
def split(
    buffer: Bytes,
    at: int,
    separator: int,
    comments: tuple[int, int],
    wanted: tuple[int, int, int],
    bounds: tuple[int, int],
    starts: Spans,
    sizes: Spans,
) -> tuple[int, int, int, int]:
    """Find the wanted fields of the lines from `at` on, until the batch is full.

    Parameters
    ----------
    buffer : array of uint8
        Whole lines.
    at : int
        Where a line starts.
    separator : int
        A byte, or WHITESPACE.
    comments : two bytes
        A line that starts with one of them is skipped; so is a blank line.
    wanted : three positions of columns, -1 for none
    bounds : tuple of int
        Fewest fields of a line, empty ones counted, and most, those at the end not counted.
    starts, sizes : arrays of shape (batch, 3)
        Receive the spans.

    Returns
    -------
    tuple of int
        Rows found; where to go on; FINE, or what is wrong with the line that starts there; how
        many fields that line has.
    """
    row = 0
    while at < len(buffer) and row < len(starts):
        line = at
        at = _skip_blanks(buffer, at, WHITESPACE)
        if _ends_line(buffer, at):
            at += 1
            continue
        at = line
        if buffer[at] == comments[0] or buffer[at] == comments[1]:
            at = _skip_line(buffer, at)
            continue
        seen = 0  # fields, empty ones too
        filled = 0  # fields up to the last that is not empty
        while True:
            at = _skip_blanks(buffer, at, separator)
            if separator == WHITESPACE and _ends_line(buffer, at):
                break
            start, end, quoting, at = _field(buffer, at, separator)
            if quoting < 0:
                return row, line, -quoting, seen + 1
            for role in range(3):
                if seen == wanted[role]:
                    starts[row, role] = start
                    sizes[row, role] = (end - start) * 4 + quoting
            seen += 1
            if end > start:
                filled = seen
            if _ends_line(buffer, at):
                break
            at += 1
        if seen < bounds[0] or filled > bounds[1]:
            return row, line, FIELDS, max(filled, seen if filled <= bounds[1] else 0)
        row += 1
    return row, at, FINE, 0


@kernel
def _digits(buffer: Bytes, at: int, end: int) -> tuple[int, np.uint64]:
    """Read digits; return CANONICAL, TOO_LARGE or TEXT, and their value."""
    value = np.uint64(0)
    short = end - at < 20  # then they fit whatever they are
    form = CANONICAL
    for position in range(at, end):
        digit = np.uint64(buffer[position]) - np.uint64(_ZERO)
        if digit > np.uint64(9):  # wraps around for bytes below "0"
            return TEXT, value
        if not short and (
            value > _UINT64_TENTH or (value == _UINT64_TENTH and digit > np.uint64(5))
        ):
            form = TOO_LARGE
        value = value * _TEN + digit
    return form, value


@kernel
def _integer(buffer: Bytes, start: int, length: int) -> tuple[int, bool, np.uint64]:
    """Return what the field is, whether it is negative, and its magnitude."""
    end = start + length
    first = buffer[start]
    negative = first == _MINUS
    at = start + 1 if negative or first == _PLUS else start
    if at == end:
        return TEXT, negative, np.uint64(0)
    form, magnitude = _digits(buffer, at, end)
    if negative and magnitude > np.uint64(2**63) and form == CANONICAL:
        form = TOO_LARGE
    if form == CANONICAL and (
        first == _PLUS or (buffer[at] == _ZERO and (end - at > 1 or negative))
    ):
        form = LOOSE
    return form, negative, magnitude


@kernel
def _is_decimal(buffer: Bytes, start: int, length: int) -> bool:
    """Tell whether a field is a number with a point or an exponent: 2.0, -.5, 1e+05."""
    at, end = start, start + length
    if buffer[at] == _MINUS or buffer[at] == _PLUS:
        at += 1
    digits, points, exponents = 0, 0, 0
    for position in range(at, end):
        byte = buffer[position]
        if _ZERO <= byte < _ZERO + 10:
            digits += 1
        elif byte == _POINT and points + exponents == 0:
            points = 1
        elif byte in _EXPONENTS and exponents == 0 and digits > 0:
            exponents, digits = 1, 0
        elif not (byte in (_PLUS, _MINUS) and buffer[position - 1] in _EXPONENTS):
            return False
    return digits > 0 and points + exponents > 0


@kernel
def tally(
    buffer: Bytes,
    starts: Spans,
    sizes: Spans,
    rows: int,
    role: int,
    seen: NDArray[np.int64],
    high: NDArray[np.uint64],
) -> None:
    """Add the fields of one column to what has been seen of it.

    `seen` holds: missing fields; fields that are no canonical integers; the smallest negative
    integer or 0; where the first integer stands that is too large, -1 for nowhere; where the
    first field stands that is no canonical integer, and its length; whether a field is neither
    a canonical integer nor a decimal number; until then, where the first decimal number stands,
    and its length, 0 for none; whether a field is an integer that is written otherwise, as 007.
    `high` holds the largest integer or 0.
    """
    for row in range(rows):
        length = sizes[row, role] >> 2
        if length == 0:
            seen[0] += 1
            continue
        form, negative, magnitude = _integer(buffer, starts[row, role], length)
        if form == TOO_LARGE:
            if seen[3] < 0:
                seen[3] = starts[row, role]
        elif form != CANONICAL:
            if seen[1] == 0:
                seen[4], seen[5] = starts[row, role], length
            seen[1] += 1
            seen[9] |= form == LOOSE
            if seen[6] == 0:
                if form == LOOSE or not _is_decimal(buffer, starts[row, role], length):
                    seen[6] = 1
                elif seen[8] == 0:
                    seen[7], seen[8] = starts[row, role], length
        elif negative:
            seen[2] = min(seen[2], -np.int64(magnitude))
        else:
            high[0] = max(high[0], magnitude)


@kernel
def read_integers(
    buffer: Bytes,
    starts: Spans,
    sizes: Spans,
    rows: int,
    role: int,
    unsigned: bool,
    values: NDArray[np.uint64],
    missing: NDArray[np.bool_],
) -> int:
    """Read one column as integers; return the first row that holds none that fits, else -1.

    `values` receives two's complement; it is an int64 column seen as uint64 unless `unsigned`.
    """
    limit = np.uint64(2**63 - 1)
    for row in range(rows):
        length = sizes[row, role] >> 2
        missing[row] = length == 0
        values[row] = 0
        if length == 0:
            continue
        form, negative, magnitude = _integer(buffer, starts[row, role], length)
        if form >= TOO_LARGE:
            return row
        if (unsigned and negative) or not (unsigned or negative or magnitude <= limit):
            return row
        values[row] = np.uint64(0) - magnitude if negative else magnitude
    return -1


@kernel
def measure(sizes: Spans, rows: int, role: int) -> int:
    """Return an upper bound of the bytes that the fields of one column take."""
    total = 0
    for row in range(rows):
        total += sizes[row, role] >> 2
    return total


@kernel
def gather(
    buffer: Bytes,
    starts: Spans,
    sizes: Spans,
    rows: int,
    role: int,
    offsets: NDArray[np.int64],
    text: Bytes,
    missing: NDArray[np.bool_],
) -> None:
    """Copy the fields of one column together, doubled quotes made single."""
    to = 0
    offsets[0] = 0
    for row in range(rows):
        start, length = starts[row, role], sizes[row, role] >> 2
        doubled = (sizes[row, role] & 3) == DOUBLED
        missing[row] = length == 0
        at = start
        while at < start + length:
            text[to] = buffer[at]
            to += 1
            at += 2 if doubled and buffer[at] == _QUOTE else 1
        offsets[row + 1] = to


def spans(rows: int = BATCH) -> tuple[Spans, Spans]:
    """Return room for the spans of a batch.

    >>> starts, sizes = spans(2)
    >>> starts.shape
    (2, 3)
    """
    return np.zeros((rows, 3), np.int64), np.zeros((rows, 3), np.int64)


def fields_of(line: bytes, separator: int) -> tuple[list[bytes], int]:
    r"""Split one line; return its fields without empty ones at the end, and how many were.

    >>> fields_of(b'1,"a, b", ,x,,\n', 44)
    ([b'1', b'a, b', b'', b'x'], 6)
    """
    buffer: Any = np.frombuffer(line, np.uint8)
    fields: list[bytes] = []
    starts, sizes = spans(1)
    bounds = (0, len(line) + 1)
    count = 0
    while True:
        wanted = (len(fields), -1, -1)
        sizes[:] = -1
        rows, _, _, _ = split(buffer, 0, separator, (-1, -1), wanted, bounds, starts, sizes)
        if rows == 0 or sizes[0, 0] < 0:
            count = len(fields)
            break
        start, length = int(starts[0, 0]), int(sizes[0, 0]) >> 2
        field = line[start : start + length]
        fields.append(field.replace(b'""', b'"') if sizes[0, 0] & 3 == DOUBLED else field)
    while fields and not fields[-1]:
        fields.pop()
    return fields, count
