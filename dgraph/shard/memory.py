"""Freed memory goes back to the system.

The allocator of glibc keeps what was freed for the next array, in a heap for each thread, and
nothing larger than 32 MiB is allocated there. So a build would hold the pieces of one stage
while it fills the arrays of the next. Arrow has an allocator of its own, which keeps what was
read of a file.
"""

from __future__ import annotations

import ctypes
from functools import cache
from typing import Any

import pyarrow as pa

__all__ = ["give_back"]


#: Bytes from which on it is worth to walk the heaps, which takes about a millisecond, and to
#: pay 3 us for each page that is needed again: of one caller, or of many together.
WORTH, TOGETHER = 1 << 23, 1 << 26

#: What the slots of this process have let go of since then: they have one heap.
_freed = [0]


def give_back(freed: int) -> None:
    """Return the freed memory of this process to the system, where the C library can.

    Parameters
    ----------
    freed : int
        Bytes that the caller has let go of; while those of all callers are few, nothing is
        done.

    Examples
    --------
    >>> give_back(0)
    """
    _freed[0] += freed
    if freed < WORTH and _freed[0] < TOGETHER:
        return
    _freed[0] = 0
    pa.default_memory_pool().release_unused()
    trim = _malloc_trim()
    if trim is not None:
        trim(0)


@cache
def _malloc_trim() -> Any:
    try:
        return ctypes.CDLL(None).malloc_trim
    except (AttributeError, OSError, TypeError):  # another C library, another system
        return None
