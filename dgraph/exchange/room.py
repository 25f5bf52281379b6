"""Room for long columns that are sent and received: memory that has been used before.

A page of fresh memory costs more than to send what it holds: 0.7 ms a MiB was measured on a
virtual machine. Workers under a nanny give memory back to the system at once, so every run, and
every superstep that receives much, would begin with fresh pages.
"""

from __future__ import annotations

import sys
import threading
from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

__all__ = ["ROOM", "Room"]

Array = NDArray[Any]

#: Bytes of the smallest column for which it is of use, and of all that is kept; how many are.
SMALLEST, LIMIT, MOST = 1 << 16, 1 << 26, 64

#: References to an array that is in a list and looked at, and nowhere else.
UNUSED = 2


class Room:
    """Arrays for columns, each used again once nothing refers to it any more.

    Parameters
    ----------
    limit : int
        Bytes of arrays to keep; the eldest is forgotten first. A longer one is not kept at all.

    Examples
    --------
    >>> room = Room()
    >>> first = room.array(50_000, np.float64)
    >>> place = first.ctypes.data
    >>> second = room.array(50_000, np.float64)
    >>> del first
    >>> third = room.array(90_000, np.int32)
    >>> second.ctypes.data == place, third.ctypes.data == place
    (False, True)
    """

    def __init__(self, limit: int = LIMIT) -> None:
        self._limit = limit
        self._lock = threading.Lock()
        self._kept: list[Array] = []

    def array(self, length: int, dtype: DTypeLike) -> Array:
        """Return an array with arbitrary contents."""
        kind = np.dtype(dtype)
        size = length * kind.itemsize
        if size < SMALLEST or size > self._limit:
            return np.empty(length, kind)
        with self._lock:
            kept = self._kept
            for at in range(len(kept)):
                # a view of an array, and a view of that, refer to the array
                if size <= kept[at].size <= 2 * size and sys.getrefcount(kept[at]) == UNUSED:
                    return kept[at][:size].view(kind)
            fresh = np.empty(size, np.uint8)
            kept.append(fresh)
            while len(kept) > MOST or sum(array.size for array in kept) > self._limit:
                del kept[0]
        return fresh.view(kind)


#: That of this process.
ROOM = Room()
