"""Blocks of a text file, and the walk over their rows."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
import pyarrow as pa

from dgraph.edges.clean import clean_rows
from dgraph.edges.doubt import occurrences
from dgraph.edges.files import File
from dgraph.edges.layout import BOM, Layout
from dgraph.edges.scan import (
    AFTER_QUOTE,
    BATCH,
    FIELDS,
    FINE,
    OPEN_QUOTE,
    WHITESPACE,
    Bytes,
    gather,
    measure,
    spans,
    split,
)  # fmt: skip
from dgraph.errors import EdgeValueError

__all__ = ["Block", "OpenQuoteError", "Scanner", "cut"]

BLOCK = 1 << 25  # bytes: about 2 M edges


@dataclass(frozen=True, slots=True)
class Block:
    """A part of a text file, for one task: the lines that begin at ``start <= byte < stop``.

    With `stop` None it reaches to the end of the file, as it does in compressed files.
    """

    file: File
    layout: Layout
    start: int
    stop: int | None

    def read(self) -> tuple[Bytes, int]:
        """Return the bytes of the lines, and the place of the first in the file."""
        if self.stop is None:
            data, at = self.file.read(), self.start
        else:
            data, at = self.file.lines(self.start, self.stop, self.start == self.layout.begin)
        buffer = np.frombuffer(data, np.uint8)
        if self.stop is None:
            buffer = buffer[at:]
        if at == 0 and bytes(buffer[:3]) == BOM:
            buffer, at = buffer[3:], 3
        return buffer, at

    def place(self, byte: int) -> str:
        """Name file and line of a byte of the file, for a message."""
        return f"line {self.file.line_of(byte)} of {self.file.path}"


def cut(file: File, layout: Layout) -> list[Block]:
    """Cut a file into blocks of BLOCK bytes; a compressed one cannot be cut."""
    size = BLOCK
    end = None if file.codec else file.size()
    if end is None or end - layout.begin <= size:
        return [Block(file, layout, layout.begin, None)]
    starts = range(layout.begin, end, size)
    return [Block(file, layout, start, min(start + size, end)) for start in starts]


class OpenQuoteError(Exception):
    """A block ends inside quotes, so a line break is quoted: the file cannot be cut."""


class Scanner:
    """Walks over the rows of a block, a batch at a time.

    Lines of plain integers go the fast way of `clean_rows`, if `integers` asks for it; what a
    batch holds then is `numbers`, else the spans of `starts` and `sizes`.
    """

    def __init__(self, block: Block, integers: bool) -> None:
        layout = block.layout
        self.block = block
        self.buffer, self.origin = block.read()
        self.starts, self.sizes = spans()
        self.numbers = np.empty((2, BATCH), np.int64)
        if layout.kind is not None:
            self._check_kinds(layout.kind, layout.comments)
        self._fast = (
            integers
            and layout.columns in ((0, 1, -1), (0, 1, 2))
            and layout.bounds in ((2, 2), (3, 3))
        )

    def _check_kinds(self, kind: int, comments: tuple[int, int]) -> None:
        """Raise unless lines begin with their kind, and one at most tells the size."""
        ends = np.flatnonzero((self.buffer == 10) | (self.buffer == 13)) + 1
        starts = np.concatenate([np.zeros(1, np.int64), ends])
        starts = starts[starts < len(self.buffer)]
        first = self.buffer[starts]
        second = np.append(self.buffer, 10)[starts + 1]
        word = (first != kind) | (second == WHITESPACE) | (second == 9)
        known = np.isin(first, [kind, *comments, WHITESPACE, 9, 10, 13])
        sizes = starts[first == comments[1]]
        wrong = [*starts[~(word & known)], *sizes[self.block.start == 0 :]]
        if wrong:
            at = int(min(wrong))
            line = bytes(self.buffer[at : at + 80]).splitlines()[0].decode("latin-1")
            raise EdgeValueError(
                f"{self.place(at)} is {line!r}, expected lines that begin with a (arcs), c "
                "(comments) and one with p: repair it, or name the file's format"
            )

    @property
    def begins_file(self) -> bool:
        """Whether the first row is in the first line of a file, which might hold names."""
        layout = self.block.layout
        return self.block.start == layout.begin and not layout.names and layout.kind is None

    def batches(self) -> Iterator[tuple[int, bool]]:
        """Yield how many rows were found, and whether they are in `numbers`."""
        at, patience = 0, 16
        while at < len(self.buffer):
            if self._fast:
                rows, at = self._clean(at)
                if rows:
                    yield rows, True
                    patience = 16
                    continue
                patience = min(8 * patience, BATCH)  # the slow way for a while, then try again
            rows, at = self._split(at, patience if self._fast else BATCH)
            yield rows, False

    def _clean(self, at: int) -> tuple[int, int]:
        layout = self.block.layout
        source, target = self.numbers
        weighted = layout.bounds[0] == 3
        read: tuple[int, int] = clean_rows(
            self.buffer, at, layout.separator, weighted, source, target, self.starts, self.sizes
        )
        return read

    def _split(self, at: int, most: int) -> tuple[int, int]:
        layout = self.block.layout
        rows, at, wrong, fields = split(
            self.buffer, at, layout.separator, layout.comments, layout.columns, layout.bounds,
            self.starts[:most], self.sizes[:most],
        )  # fmt: skip
        if wrong != FINE:
            self._raise(at, wrong, fields)
        return rows, at

    def _raise(self, at: int, wrong: int, fields: int) -> None:
        if wrong == OPEN_QUOTE and self.block.stop is not None:
            raise OpenQuoteError
        where = self.place(at)
        least, most = self.block.layout.bounds
        if wrong == FIELDS:
            wanted = str(least) if least == most else f"at least {least}"
            raise EdgeValueError(
                f"{where} has {fields} field{'s' * (fields != 1)}, expected {wanted}: repair "
                "it, or name sep= (--sep) and columns="
            )
        what = {
            OPEN_QUOTE: "opens a quote that is never closed",
            AFTER_QUOTE: "has text after a closing quote",
        }
        raise EdgeValueError(f"{where} {what[wrong]}: repair the line")

    def apply(self, kernel: Callable[..., Any], rows: int, role: int, *arguments: Any) -> Any:
        """Call a kernel of `dgraph.edges.scan` on one column of the batch."""
        return kernel(self.buffer, self.starts, self.sizes, rows, role, *arguments)

    def occurrences(self, rows: int, words: Sequence[bytes]) -> int:
        """Count the ids of the batch that are one of some words."""
        lengths = self.sizes[:rows] >> 2
        return sum(
            occurrences(self.buffer, self.starts[:rows, role], lengths[:, role], words)
            for role in (0, 1)
        )

    def strings(self, rows: int, role: int) -> pa.LargeStringArray:
        """Return one column of the batch as text; missing fields are null."""
        length = measure(self.sizes, rows, role)
        offsets, text = np.empty(rows + 1, np.int64), np.empty(length, np.uint8)
        missing = np.empty(rows, np.bool_)
        self.apply(gather, rows, role, offsets, text, missing)
        valid = np.packbits(~missing, bitorder="little")
        buffers = [pa.py_buffer(part) for part in (valid, offsets, text)]
        array = pa.Array.from_buffers(pa.large_string(), rows, buffers)
        try:
            array.validate(full=True)
        except pa.ArrowInvalid as error:
            ends = pairwise(offsets)
            row = next(row for row, (a, b) in enumerate(ends) if not _is_utf8(text[a:b]))
            raise EdgeValueError(
                f"{self.place_of(row, role)} is not UTF-8: save the file as UTF-8"
            ) from error
        return array

    def field(self, row: int, role: int) -> str:
        """Return a field of the batch as a message shows it."""
        start, length = int(self.starts[row, role]), int(self.sizes[row, role]) >> 2
        return bytes(self.buffer[start : start + length]).decode("utf-8", "replace")

    def place_of(self, row: int, role: int) -> str:
        """Name file and line of a field of the batch."""
        return self.place(int(self.starts[row, role]))

    def place(self, at: int) -> str:
        """Name file and line of a byte of the buffer."""
        return self.block.place(self.origin + at)


def _is_utf8(text: Bytes) -> bool:
    """Tell whether the bytes of a field are text.

    >>> _is_utf8(np.frombuffer("é".encode("latin-1"), np.uint8))
    False
    """
    try:
        text.tobytes().decode()
    except UnicodeDecodeError:
        return False
    return True
