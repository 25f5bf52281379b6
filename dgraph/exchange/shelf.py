"""Memory in which one process lays long arrays for another one of its host.

::

    | token | opened | flag | array | flag | array |     room     | flag | array |   room   |

One end copies arrays to it, each to the first place that is free. The other end reads them
where they lie, and raises the flag of one when nothing refers to it any more: then its place is
free. Where an array lies, and that it is there, is told by other means, a socket. If no room is
left nothing waits: what is to be sent goes by those other means too.

Who makes a shelf does not know whether the other process can open it, for they may see other
process numbers, in two containers. It is offered, and used as soon as the other has opened it.
"""

from __future__ import annotations

import contextlib
import weakref
from bisect import insort
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from dgraph.exchange.meeting import set_number
from dgraph.exchange.segment import LINE, Segment
from dgraph.kernels import kernel

__all__ = ["Shelf", "ShelfEnd"]

#: The first numbers of a shelf: whether it was opened; from where on arrays lie, in bytes.
_OPENED, _FIRST = 0, LINE

#: Shelves kept that no channel uses, and other ends: fresh memory, and memory that is mapped
#: anew, cost more than to send what it holds.
_SPARE, _KNOWN = 8, 16

Bytes = NDArray[np.uint8]
Numbers = NDArray[np.int64]


class Shelf:
    """The end that lays arrays down.

    Parameters
    ----------
    size : int
        Bytes of what may lie there.

    Raises
    ------
    OSError
        If the system does not give the memory.

    Examples
    --------
    >>> if Segment.is_possible():
    ...     shelf = Shelf(1 << 16)
    ...     end = ShelfEnd.open(shelf.offer)
    ...     place = shelf.put(np.frombuffer(b"some bytes", np.uint8))
    ...     print(end.take(place, 10).tobytes())
    b'some bytes'
    """

    _spare: ClassVar[list[Shelf]] = []

    def __init__(self, size: int) -> None:
        self.size = -(-size // LINE) * LINE
        room = _FIRST + LINE + self.size
        self._segment = Segment.create(LINE + room)
        self._bytes = self._segment.array(LINE, room, np.uint8)
        self._numbers = self._bytes.view(np.int64)
        self._blocks: list[tuple[int, int]] = []  # begin and end, flags included, ascending

    @classmethod
    def make(cls, size: int) -> Shelf:
        """Return a shelf that is new, or that another channel has used."""
        for shelf in list(cls._spare):
            if shelf.size == size and shelf.is_empty:
                with contextlib.suppress(ValueError):  # another thread has taken it
                    cls._spare.remove(shelf)
                    shelf._numbers[_OPENED] = 0
                    return shelf
        return cls(size)

    @property
    def offer(self) -> Numbers:
        """What the other end opens it by."""
        return self._segment.offer

    @property
    def is_opened(self) -> bool:
        """Whether the other end has opened it."""
        return bool(self._numbers[_OPENED])

    @property
    def is_empty(self) -> bool:
        """Whether the other end has released all that was laid down."""
        self._blocks = [block for block in self._blocks if not self._numbers[block[0] // 8]]
        return not self._blocks

    def put(self, data: Bytes) -> int:
        """Lay an array down, and return its place; -1 if there is no room for it."""
        size = LINE + -(-data.size // LINE) * LINE
        begin = self._first_gap(size)
        if begin < 0:
            return -1
        insort(self._blocks, (begin, begin + size))
        self._numbers[begin // 8] = 0
        self._bytes[begin + LINE : begin + LINE + data.size] = data
        return begin + LINE

    def _first_gap(self, size: int) -> int:
        """Return where so many bytes are free, or -1."""
        begin = _FIRST
        for taken, end in () if self.is_empty else self._blocks:
            if begin + size <= taken:
                return begin
            begin = end
        return begin if begin + size <= self._bytes.size else -1

    def spare(self) -> None:
        """Let other channels have the shelf, once what was laid down is released."""
        if self.is_opened:
            self._spare.append(self)
            del self._spare[:-_SPARE]


class ShelfEnd:
    """The end that arrays are taken from."""

    _known: ClassVar[dict[tuple[int, ...], ShelfEnd]] = {}

    def __init__(self, offer: Numbers) -> None:
        self._segment = Segment.open(offer)
        self._numbers = self._segment.array(LINE, (self._segment.size - LINE) // 8, np.int64)

    @classmethod
    def open(cls, offer: Numbers) -> ShelfEnd:
        """Return the end of a shelf that another process offers.

        Raises
        ------
        OSError
            If it cannot be reached from here.
        """
        key = tuple(offer.tolist())
        end = cls._known.pop(key, None) or cls(offer)
        cls._known[key] = end  # the last one: the eldest are forgotten
        for eldest in list(cls._known)[:-_KNOWN]:
            cls._known.pop(eldest, None)
        _tell(end._numbers, _OPENED, 1)
        return end

    def take(self, place: int, size: int) -> Bytes:
        """Return the array at a place; it is released when it and its views are gone."""
        array: Bytes = self._segment.array(LINE + place, size, np.uint8)
        released = weakref.finalize(array, _tell, self._numbers, (place - LINE) // 8, 1)
        released.atexit = False
        return array


@kernel(nogil=False)
def _tell(numbers, place, value):  # type: ignore[no-untyped-def]
    """Write a number after everything that was read before, on any processor."""
    set_number(numbers, place, value)
