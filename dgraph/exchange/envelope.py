"""Envelopes: frames in which a routing packs what travels together for a part of the way.

::

    whole frames     head, int32: how many; source, target, count of each, and the dtype and
                     length of its columns | small columns by dtype | large columns
    combined parts   head, int32: how many; target, messages, length of each; offsets | values
                     of all | bitmaps of all, if there are any

Whole frames pass gateways unopened. Of combined parts nobody needs to know the source: messages
to the same vertex have become one on the way.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from dgraph.exchange.encoding import decode_parts, encode_parts
from dgraph.exchange.frame import DTYPE_CODE, Array, Frame

__all__ = ["Parts", "open_frames", "open_parts", "pack_frames", "pack_parts"]

#: Columns of so many bytes are put together: a column of its own costs more than to copy it.
SMALL = 1024

#: From here on a number in the head takes 8 bytes.
WIDE = 2**31

_NO_BITMAPS = np.zeros(0, np.uint64)


class Parts(NamedTuple):
    """Messages to vertices, by the slot that owns them.

    Parameters
    ----------
    numbers : int array
        Placed numbers, ascending.
    values : array beside them
    """

    numbers: Array
    values: Array


def pack_frames(source: int, target: int, frames: Sequence[Frame]) -> Frame:
    """Pack frames whose way leads from one slot to another.

    Examples
    --------
    >>> inner = [Frame(0, 5, (np.arange(3), np.ones(3)), 3), Frame(1, 4, (), 0)]
    >>> envelope = pack_frames(0, 4, inner)
    >>> found = open_frames(envelope)
    >>> envelope.count, [(frame.source, frame.target, frame.count) for frame in found]
    (3, [(0, 5, 3), (1, 4, 0)])
    >>> found[0].columns
    (array([0, 1, 2]), array([1., 1., 1.]))
    """
    head = [len(frames)]
    small: dict[int, list[Array]] = {}
    large: list[Array] = []
    for frame in frames:
        head += (frame.source, frame.target, frame.count, len(frame.columns))
        for column in frame.columns:
            code = DTYPE_CODE[column.dtype]
            if column.nbytes > SMALL:
                large.append(column)
                code = ~code
            else:
                small.setdefault(code, []).append(column)
            head += (code, column.size)
    together = [np.concatenate(small[code]) for code in sorted(small)]
    wide = np.int32 if max(head) < WIDE else np.int64
    columns = (np.array(head, wide), *together, *large)
    return Frame(source, target, columns, sum(frame.count for frame in frames))


def open_frames(envelope: Frame) -> list[Frame]:
    """Return the frames that :func:`pack_frames` packed."""
    head = envelope.columns[0].tolist()
    rows, at = [], 1
    for _ in range(head[0]):
        source, target, count, width = head[at : at + 4]
        at += 4
        rows.append((source, target, count, head[at : at + 2 * width]))
        at += 2 * width
    codes = sorted({code for *_, row in rows for code in row[::2] if code >= 0})
    together = dict(zip(codes, envelope.columns[1:], strict=False))
    large = iter(envelope.columns[1 + len(codes) :])
    begin = dict.fromkeys(codes, 0)
    frames = []
    for source, target, count, row in rows:
        columns = []
        for code, size in zip(row[::2], row[1::2], strict=True):
            if code < 0:
                columns.append(next(large))
            else:
                columns.append(together[code][begin[code] : begin[code] + size])
                begin[code] += size
        frames.append(Frame(source, target, tuple(columns), count))
    return frames


def pack_parts(
    source: int,
    target: int,
    parts: Parts,
    owners: NDArray[np.int64],
    begin: NDArray[np.int64],
    bases: NDArray[np.int64],
) -> Frame:
    """Pack messages whose way leads from one slot to another.

    Parameters
    ----------
    source, target : int
        Slots.
    parts : Parts
    owners : int64 array
        The slots that own the vertices, ascending.
    begin : int64 array
        For each, and one more: where its messages begin.
    bases : int64 array
        For each slot, the placed number of its first vertex.

    Examples
    --------
    >>> parts = Parts(np.array([0, 1, 12]), np.array([5, 6, 7]))
    >>> envelope = pack_parts(3, 4, parts, np.array([0, 1]), np.array([0, 2, 3]), [0, 10, 20])
    >>> open_parts(envelope, np.array([0, 10, 20]))
    Parts(numbers=array([ 0,  1, 12]), values=array([5, 6, 7]))
    """
    counts = np.diff(begin)
    local = (parts.numbers - np.repeat(np.asarray(bases)[owners], counts)).astype(np.int32)
    lengths, offsets, bitmaps = encode_parts(local, begin)
    head = np.empty(1 + 3 * owners.size + offsets.size, np.int32)
    head[0] = owners.size
    rows = head[1 : 1 + 3 * owners.size].reshape(-1, 3)
    rows[:, 0], rows[:, 1], rows[:, 2] = owners, counts, lengths
    head[1 + 3 * owners.size :] = offsets
    columns: tuple[Any, ...] = (head, parts.values)
    if bitmaps.size:
        columns += (bitmaps,)
    return Frame(source, target, columns, parts.numbers.size)


def open_parts(envelope: Frame, bases: NDArray[np.int64]) -> Parts:
    """Return the messages that :func:`pack_parts` packed."""
    head, values, *bitmaps = envelope.columns
    end = 1 + 3 * int(head[0])
    owners, counts, lengths = head[1:end].reshape(-1, 3).T
    local = decode_parts(
        np.ascontiguousarray(counts),
        np.ascontiguousarray(lengths),
        head[end:],
        bitmaps[0] if bitmaps else _NO_BITMAPS,
    )
    return Parts(local + np.repeat(bases[owners], counts), values)
