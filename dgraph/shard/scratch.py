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
from collections.abc import Callable, Hashable
from typing import Any, TypeVar

import numpy as np
from numpy.typing import DTypeLike, NDArray

__all__ = ["Scratch", "fresh", "scratch_in"]

Array = NDArray[Any]
T = TypeVar("T")

#: Bytes of a huge page, and of the smallest array for which whole ones are taken.
PAGE, LEAST = 1 << 21, 1 << 20


class Scratch:
    """Arrays to borrow, and what else a run has made: runs at the same time get different ones.

    Examples
    --------
    >>> scratch = Scratch()
    >>> array = scratch.borrow(4, np.int32)
    >>> scratch.give_back(array)
    >>> scratch.borrow(4, np.int32) is array, scratch.borrow(4, np.int32) is array
    (True, False)
    """

    def __init__(self) -> None:
        self._free: dict[Hashable, list[Any]] = {}

    def borrow(self, length: int, dtype: DTypeLike) -> Array:
        """Return an array, with whatever its last borrower left in it."""
        key = length, np.dtype(dtype)
        array: Array = self.take(key, lambda: fresh(*key))
        return array

    def give_back(self, array: Array) -> None:
        """Let the next run have an array."""
        self.put((array.size, array.dtype), array)

    def take(self, name: Hashable, make: Callable[[], T]) -> T:
        """Return what was put there under a name, or what `make` makes."""
        free = self._free.setdefault(name, [])
        try:
            return free.pop()  # type: ignore[no-any-return]  # one step: no two get the same
        except IndexError:
            return make()

    def put(self, name: Hashable, thing: Any) -> None:
        """Let the next run take a thing."""
        self._free.setdefault(name, []).append(thing)

    @property
    def arrays(self) -> list[Any]:
        """The arrays that nobody has borrowed, and what holds such."""
        return [thing for free in list(self._free.values()) for thing in list(free)]


def fresh(length: int, dtype: DTypeLike) -> Array:
    """Return a new array, in huge pages if it is long."""
    size = length * np.dtype(dtype).itemsize
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


def scratch_in(derived: dict[str, Any]) -> Scratch:
    """Return what a shard keeps for its runs, made by the first one."""
    found: Scratch | None = derived.get("scratch")
    return derived.setdefault("scratch", Scratch()) if found is None else found
