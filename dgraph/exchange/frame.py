"""A frame: what one slot sends another at one go, a fixed header and columns.

Nothing is ever unpickled: a column is a one-dimensional array of one of :data:`DTYPES`, and
the header is a C struct.

::

    | magic | run | superstep | source | target | count | columns |     HEADER, 40 bytes
    | dtype | length |  ...                                             COLUMN, 16 bytes each
    | bytes of column 0 | bytes of column 1 | ...

What both ends know is not sent: all slots await the same exchanges, so the superstep says what
handles a frame, at which stage, and how its messages are combined; the source says the domain
it comes from, and the heads of `dgraph.exchange.envelope` how vertices are encoded.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = [
    "COLUMN",
    "DTYPES",
    "DTYPE_CODE",
    "HEADER",
    "Array",
    "Frame",
    "pack",
    "unpack_header",
]

Array = NDArray[Any]

MAGIC = 0x64677266  # "dgrf"
HEADER = struct.Struct("<IIqiiqii")
COLUMN = struct.Struct("<qq")
DTYPES = tuple(
    np.dtype(name)
    for name in (
        *("bool", "float32", "float64"),
        *("int8", "int16", "int32", "int64"),
        *("uint8", "uint16", "uint32", "uint64"),
        "complex128",  # two sums that travel together
    )
)
#: The position of each dtype in DTYPES.
DTYPE_CODE = {dtype: code for code, dtype in enumerate(DTYPES)}


@dataclass(slots=True)
class Frame:
    """Columns on their way from one slot to another.

    Parameters
    ----------
    source, target : int
        Slots.
    columns : tuple of numpy.ndarray
        One-dimensional, of a dtype in :data:`DTYPES`; equal lengths are not required.
    count : int
        The number of messages, for the record.
    is_posted : bool
        Whether it is on its way already.

    Examples
    --------
    >>> Frame(0, 1, (np.arange(3, dtype=np.int32),), 3).nbytes
    68
    """

    source: int
    target: int
    columns: tuple[Array, ...]
    count: int
    is_posted: bool = field(default=False, repr=False, compare=False)

    @property
    def nbytes(self) -> int:
        """Bytes on the wire, header included."""
        size = HEADER.size + COLUMN.size * len(self.columns)
        for column in self.columns:
            size += column.nbytes
        return size


def pack(frame: Frame, run: int, superstep: int) -> list[Any]:
    """Return the buffers that put a frame on the wire, header first.

    Examples
    --------
    >>> buffers = pack(Frame(0, 1, (np.arange(3, dtype=np.int32),), 3), run=7, superstep=2)
    >>> [memoryview(buffer).nbytes for buffer in buffers]
    [56, 12]
    """
    head = bytearray(
        HEADER.pack(
            MAGIC, superstep, run, frame.source, frame.target, frame.count,
            len(frame.columns), 0,
        )
    )  # fmt: skip
    bodies: list[Any] = [head]
    for column in frame.columns:
        head += COLUMN.pack(DTYPE_CODE[column.dtype], column.size)
        if column.size:
            bodies.append(np.ascontiguousarray(column))
    return bodies


def unpack_header(
    head: bytes | bytearray | memoryview, offset: int = 0
) -> tuple[int, int, int, int, int, int]:
    """Return run, superstep, source, target, count and the number of columns.

    Raises
    ------
    ValueError
        If the bytes are not the header of a frame.
    """
    magic, superstep, run, source, target, count, columns, _ = HEADER.unpack_from(head, offset)
    if magic != MAGIC:
        raise ValueError(f"expected a frame header, got bytes that start with {magic:#x}")
    return run, superstep, source, target, count, columns
