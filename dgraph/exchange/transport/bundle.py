"""A bundle: what one process sends another at the end of a superstep.

::

    | prefix, 32 bytes | votes, 8 bytes each | heads of the frames | column | column | ...
                       |<------------------ head ------------------>|

Both processes of a pair send one in every superstep, also when it is empty: it carries the
votes, and it says that nothing more will come. Before it may come parts, bundles of the same
form without votes, in which frames travel while others are still made. An abort is a bundle
whose head is a text.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from dgraph.exchange.frame import COLUMN, DTYPES, HEADER, Array, Frame, pack, unpack_header
from dgraph.exchange.hub import COMBINE_VOTES

__all__ = [
    "PREFIX_SIZE",
    "Bundle",
    "Prefix",
    "encode",
    "encode_abort",
    "encode_part",
    "read_bundle",
    "read_prefix",
]

Votes = NDArray[np.int64]

MAGIC = 0x64677262  # "dgrb"
OPS = tuple(COMBINE_VOTES)
ABORT = len(OPS)
PART = ABORT + 1
_CODE = {op: code for code, op in enumerate(OPS)}
_PREFIX = struct.Struct("<IIqIIq")
PREFIX_SIZE = _PREFIX.size

#: Up to so many bytes are cheaper to copy than to hand over as buffers of their own.
SMALL = 4096

_NO_VOTE = np.zeros(0, np.int64)


class Prefix(NamedTuple):
    """The fixed start of a bundle.

    Parameters
    ----------
    op : int
        Position in OPS of how the votes are combined, or ABORT, or PART.
    superstep, votes, frames : int
    head : int
        Bytes of the head.
    """

    op: int
    superstep: int
    votes: int
    frames: int
    head: int


class Bundle(NamedTuple):
    """What came from one process; `reason` is set if it says that the run has failed there.

    A part has no `op`.
    """

    superstep: int
    op: str
    vote: Votes
    frames: list[Frame]
    reason: str | None = None


def encode(
    run: int, superstep: int, frames: Sequence[Frame], vote: Votes, op: str
) -> list[memoryview]:
    """Return the buffers of a bundle: prefix and head, then the columns that are not empty.

    Columns that are small altogether follow the head in its buffer.

    Examples
    --------
    >>> frame = Frame(0, 1, (np.arange(3, dtype=np.int32),), 3)
    >>> [buffer.nbytes for buffer in encode(7, 2, [frame], np.array([5]), "sum")]
    [108]
    >>> frame = Frame(0, 1, (np.arange(3000, dtype=np.int32),), 3)
    >>> [buffer.nbytes for buffer in encode(7, 2, [frame], np.array([5]), "sum")]
    [96, 12000]
    """
    return _encode(run, superstep, frames, vote, _CODE[op])


def encode_part(run: int, superstep: int, frame: Frame) -> list[memoryview]:
    """Return the buffers of a bundle that brings a frame before the others.

    Examples
    --------
    >>> (buffer,) = encode_part(7, 2, Frame(0, 1, (), 3))
    >>> bundle = read_bundle(read_prefix(buffer), buffer[PREFIX_SIZE:], 7, np.empty)
    >>> bundle.op, bundle.frames
    ('', [Frame(source=0, target=1, columns=(), count=3)])
    """
    return _encode(run, superstep, (frame,), _NO_VOTE, PART)


def _encode(
    run: int, superstep: int, frames: Sequence[Frame], vote: Votes, code: int
) -> list[memoryview]:
    head = bytearray(vote.tobytes())
    columns: list[Any] = []
    for frame in frames:
        frame_head, *bodies = pack(frame, run, superstep)
        head += frame_head
        columns += bodies
    first = _PREFIX.pack(MAGIC, code, superstep, len(vote), len(frames), len(head)) + head
    if sum([column.nbytes for column in columns]) <= SMALL:
        return [memoryview(first + b"".join(columns))]
    return [memoryview(first), *(memoryview(column.view(np.uint8)) for column in columns)]


def encode_abort(reason: str) -> list[memoryview]:
    """Return the buffers of a bundle that says why the run has failed.

    Examples
    --------
    >>> (buffer,) = encode_abort("out of memory")
    >>> read_bundle(read_prefix(buffer), buffer[PREFIX_SIZE:], 7, np.empty).reason
    'out of memory'
    """
    text = reason.encode()
    return [memoryview(_PREFIX.pack(MAGIC, ABORT, 0, 0, 0, len(text)) + text)]


def read_prefix(buffer: bytes | bytearray | memoryview, offset: int = 0) -> Prefix:
    """Read the prefix of a bundle that starts at `offset`.

    Raises
    ------
    ValueError
        If the bytes are not the start of a bundle.
    """
    magic, op, superstep, votes, frames, head = _PREFIX.unpack_from(buffer, offset)
    if magic != MAGIC or op > PART or head < 0:
        raise ValueError(f"expected a bundle, got bytes that start with {magic:#x}")
    return Prefix(op, superstep, votes, frames, head)


def read_bundle(
    prefix: Prefix,
    head: memoryview,
    run: int,
    column: Callable[[int, np.dtype[Any]], Array],
) -> Bundle:
    """Read the head of a bundle.

    Parameters
    ----------
    prefix : Prefix
    head : memoryview
        Nothing of what is returned refers to it.
    run : int
        Frames of another run are an error.
    column : callable
        Called as ``column(length, dtype)`` for each column in turn; returns its array, which
        the caller may fill later.

    Raises
    ------
    ValueError
        If the bytes are not the head of a bundle of this run.

    Examples
    --------
    >>> frame = Frame(0, 1, (np.arange(3, dtype=np.int32),), 3)
    >>> (buffer,) = encode(7, 2, [frame], np.array([5]), "sum")
    >>> def column(length, dtype):
    ...     return np.frombuffer(buffer[-12:], dtype, length)
    >>> read_bundle(read_prefix(buffer), buffer[PREFIX_SIZE:], 7, column)
    ... # doctest: +NORMALIZE_WHITESPACE
    Bundle(superstep=2, op='sum', vote=array([5]), frames=[Frame(source=0, target=1,
           columns=(array([0, 1, 2], dtype=int32),), count=3)], reason=None)
    """
    if prefix.op == ABORT:
        reason = bytes(head).decode(errors="replace")
        return Bundle(prefix.superstep, "", _NO_VOTE, [], reason)
    at = 8 * prefix.votes
    vote = np.frombuffer(head, np.int64, prefix.votes).copy() if at else _NO_VOTE
    frames = []
    for _ in range(prefix.frames):
        its_run, superstep, source, target, count, columns = unpack_header(head, at)
        at += HEADER.size
        if its_run != run or superstep != prefix.superstep:
            raise ValueError(f"expected a frame of superstep {prefix.superstep} of this run")
        arrays = []
        for _ in range(columns):
            code, length = COLUMN.unpack_from(head, at)
            at += COLUMN.size
            arrays.append(column(length, DTYPES[code]))
        frames.append(Frame(source, target, tuple(arrays), count))
    op = "" if prefix.op == PART else OPS[prefix.op]
    return Bundle(prefix.superstep, op, vote, frames)
