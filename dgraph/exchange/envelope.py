"""Envelopes: frames in which a routing packs what travels together for a part of the way.

::

    whole frames     head, int64: source, target, count, columns of each | columns of all
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
from dgraph.exchange.frame import Array, Frame

__all__ = ["Parts", "open_frames", "open_parts", "pack_frames", "pack_parts"]

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
    >>> envelope.count, open_frames(envelope) == inner
    (3, True)
    """
    head = np.array(
        [(frame.source, frame.target, frame.count, len(frame.columns)) for frame in frames],
        np.int64,
    ).ravel()
    columns = (head, *(column for frame in frames for column in frame.columns))
    return Frame(source, target, columns, sum(frame.count for frame in frames))


def open_frames(envelope: Frame) -> list[Frame]:
    """Return the frames that :func:`pack_frames` packed."""
    head, *columns = envelope.columns
    frames, at = [], 0
    for source, target, count, width in head.reshape(-1, 4).tolist():
        frames.append(Frame(source, target, tuple(columns[at : at + width]), count))
        at += width
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
