"""Memory that processes of one host have in common.

One process makes a segment, which has no name in the file system, and offers it to the others::

    offer   process, file descriptor, bytes, token          four int64

Another one opens it by way of the first one's descriptors, which the system allows to processes
of the same user that see each other. The random token stands at the beginning of the segment as
well: it tells it from whatever else has those numbers on another host, or in another container.
"""

from __future__ import annotations

import contextlib
import mmap
import os
import secrets
import stat
import sys
import weakref
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import DTypeLike, NDArray

__all__ = ["LINE", "Segment"]

Array = NDArray[Any]

#: Bytes of a cache line: the token has one, and every array begins with one.
LINE = 64

#: Segments of a process at a time: each may keep a file descriptor, of which it has some 1,000.
MOST = 128


class Segment:
    """Memory that is there as long as any process uses it.

    Examples
    --------
    >>> if Segment.is_possible():
    ...     mine = Segment.create(2 * LINE)
    ...     theirs = Segment.open(mine.offer)
    ...     mine.array(LINE, 3, np.int32)[:] = 7
    ...     mine.close_door()
    ...     print(theirs.array(LINE, 3, np.int32))
    [7 7 7]
    """

    _blocks: ClassVar[weakref.WeakSet[mmap.mmap]] = weakref.WeakSet()

    def __init__(self, file: int, size: int) -> None:
        self._file = -1
        if len(self._blocks) >= MOST:
            raise OSError(f"this process has {MOST} segments of memory open")
        untracked: dict[str, Any] = {"trackfd": False} if sys.version_info >= (3, 13) else {}
        self._block = mmap.mmap(file, size, **untracked)
        self._blocks.add(self._block)

    @staticmethod
    def is_possible() -> bool:
        """Tell whether this system has such memory."""
        return hasattr(os, "memfd_create")

    @classmethod
    def create(cls, size: int) -> Self:
        """Return a new segment of so many bytes, at least a `LINE`, all zero.

        Raises
        ------
        OSError
            If the system does not give it.
        """
        if not cls.is_possible():
            raise OSError("this system has no memory without a name")
        file = os.memfd_create("dgraph", os.MFD_CLOEXEC)
        try:
            os.posix_fallocate(
                file, 0, size
            )  # else it would be a crash, later, if memory is full
            made = cls(file, size)
        except BaseException:
            os.close(file)
            raise
        made._file = file
        made._token[0] = secrets.randbits(62) + 1
        return made

    @classmethod
    def open(cls, offer: NDArray[np.int64]) -> Self:
        """Return the segment that another process offers.

        Raises
        ------
        OSError
            If it cannot be reached from here.
        """
        process, number, size, token = offer.tolist()
        path = f"/proc/{process}/fd/{number}"
        found = os.stat(path)
        if not stat.S_ISREG(found.st_mode) or found.st_size != size:
            raise OSError("there is something else in place of the segment")
        file = os.open(path, os.O_RDWR | os.O_CLOEXEC)
        try:
            opened = cls(file, size)
        finally:
            os.close(file)
        if opened._token[0] != token:
            raise OSError("there is another segment in place of the one that was meant")
        return opened

    @property
    def offer(self) -> NDArray[np.int64]:
        """What others open it by, until the door is closed."""
        token = int(self._token[0])
        return np.array([os.getpid(), self._file, self.size, token], np.int64)

    @property
    def size(self) -> int:
        """Bytes of the segment, with its token."""
        return len(self._block)

    @property
    def _token(self) -> NDArray[np.int64]:
        return self.array(0, 1, np.int64)

    def array(self, offset: int, length: int, dtype: DTypeLike) -> Array:
        """Return the array at an offset; it keeps the segment's memory, not the segment."""
        return np.frombuffer(self._block, dtype, length, offset)

    def close_door(self) -> None:
        """Let nobody open it any more; who has it keeps it."""
        if self._file >= 0:
            with contextlib.suppress(OSError):
                os.close(self._file)
            self._file = -1

    def __del__(self) -> None:
        """Give the descriptor back."""
        self.close_door()
