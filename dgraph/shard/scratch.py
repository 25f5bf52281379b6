"""Arrays that a shard keeps for the runs on it.

A page of fresh memory costs the kernel of the operating system more than most kernels of ours
spend on it: 0.7 ms a MiB was measured on a virtual machine, half of a breadth-first search at
scale 20. So what a search writes for every vertex is used again by the next one.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

__all__ = ["Scratch"]

Array = NDArray[Any]


class Scratch:
    """Arrays to borrow: runs that go on at the same time get different ones.

    Examples
    --------
    >>> scratch = Scratch()
    >>> array = scratch.borrow(4, np.int32)
    >>> scratch.give_back(array)
    >>> scratch.borrow(4, np.int32) is array, scratch.borrow(4, np.int32) is array
    (True, False)
    """

    def __init__(self) -> None:
        self._free: dict[tuple[int, np.dtype[Any]], list[Array]] = {}

    def borrow(self, length: int, dtype: DTypeLike) -> Array:
        """Return an array, with whatever its last borrower left in it."""
        free = self._free.setdefault((length, np.dtype(dtype)), [])
        try:
            return free.pop()  # one step, so no two threads get the same array
        except IndexError:
            return np.empty(length, dtype)

    def give_back(self, array: Array) -> None:
        """Let the next run have an array."""
        self._free.setdefault((array.size, array.dtype), []).append(array)

    @property
    def arrays(self) -> list[Array]:
        """The arrays that nobody has borrowed."""
        return [array for free in list(self._free.values()) for array in list(free)]
