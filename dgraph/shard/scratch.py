"""Arrays that a shard keeps for the runs on it.

A page of fresh memory costs the kernel of the operating system more than most kernels of ours
spend on it: 0.7 ms a MiB was measured on a virtual machine, half of a breadth-first search at
scale 20. So what a search writes for every vertex is used again by the next one.

It lies in huge pages where the system has them, for most kernels read it in no order: a round
of PageRank at scale 20 takes 17 ms instead of 20.
"""

from __future__ import annotations

import contextlib
import mmap
from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

__all__ = ["Scratch"]

Array = NDArray[Any]

#: Bytes of a huge page, and of the smallest array for which whole ones are taken.
PAGE, LEAST = 1 << 21, 1 << 20


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
            return _fresh(length, np.dtype(dtype))

    def give_back(self, array: Array) -> None:
        """Let the next run have an array."""
        self._free.setdefault((array.size, array.dtype), []).append(array)

    @property
    def arrays(self) -> list[Array]:
        """The arrays that nobody has borrowed."""
        return [array for free in list(self._free.values()) for array in list(free)]


def _fresh(length: int, dtype: np.dtype[Any]) -> Array:
    """Return a new array, in huge pages if it is long."""
    size = length * dtype.itemsize
    if size < LEAST or not hasattr(mmap, "MADV_HUGEPAGE"):
        return np.empty(length, dtype)
    whole = -(-size // PAGE) * PAGE
    try:
        block = mmap.mmap(-1, whole, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    except OSError as error:
        raise MemoryError(f"unable to allocate {whole} bytes: {error}") from error
    with contextlib.suppress(OSError):  # a kernel that was built without them
        block.madvise(mmap.MADV_HUGEPAGE)
    return np.frombuffer(block, dtype, length)
