"""What compiles the kernels, and where compiled ones are kept.

>>> import numpy as np
>>> from dgraph.kernels import kernel
>>> @kernel(cache=False)  # what is no file cannot be kept
... def largest(values):
...     found = values[0]
...     for value in values:
...         found = max(found, value)
...     return found
>>> largest(np.array([2, 7, 1]))
7

A kernel runs without the GIL, on one thread, and is kept for later processes. What compiles
takes a tenth of a second each time, in Numba's own Python for the most part, and the first run
on a machine needs eighty of them: so a kernel should be asked for few combinations of types.
"""

from __future__ import annotations

import contextlib
import os
import stat
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any, overload

import numba
import numba.core.caching
from numpy.typing import NDArray

__all__ = [
    "copy_into",
    "count_below",
    "count_up_to",
    "ensure_kernel_cache",
    "kernel",
    "unsigned",
]


@overload
def kernel(function: Callable[..., Any]) -> Any: ...


@overload
def kernel(**options: Any) -> Callable[[Callable[..., Any]], Any]: ...


def kernel(function: Any = None, **options: Any) -> Any:
    """Let a function be compiled by Numba when it is called, once for the types it is given.

    Parameters
    ----------
    function : callable
        Loops over arrays.
    **options
        Of `numba.njit`, where they are others than ours: ``nogil=False`` where a call is so
        short that to give the GIL away costs more, ``inline="always"``,
        ``error_model="numpy"``.

    Returns
    -------
    callable
        The kernel; without `function` what makes one of it.

    Notes
    -----
    Numba's wrapper for callers in C, whom kernels have not, takes a tenth of the time of
    compilation: 1.4 of 12 seconds of CPU before the first search.
    """
    options = {"nogil": True, "cache": True, "no_cfunc_wrapper": True} | options
    compiler: Any = numba.njit(**options)
    return compiler if function is None else compiler(function)


def unsigned(numbers: NDArray[Any]) -> NDArray[Any]:
    """Return numbers of places, none of them negative, as kernels use them fastest.

    Before Numba looks at a place it asks whether the number is negative, which would count from
    the end: where places are all over an array, that takes up to a third of the time. In
    arithmetic mind that Numba makes a float of a signed and an unsigned number of 64 bits.

    >>> import numpy as np
    >>> unsigned(np.array([3, 1], np.int32))
    array([3, 1], dtype=uint32)
    """
    return numbers.view(f"u{numbers.itemsize}")


def ensure_kernel_cache() -> None:
    """See to it that compiled kernels can be cached; called before the first one is defined.

    Numba caches beside the source files, else in the user's cache folder, and refuses to
    define a cached kernel where it can write to neither. Then a temporary folder serves.
    """
    try:
        numba.njit(cache=True)(_kernel)
    except RuntimeError:
        folder = str(_private_folder())
        os.environ["NUMBA_CACHE_DIR"] = folder  # Numba reads it again when it compiles
        numba.config.CACHE_DIR = folder  # type: ignore[attr-defined]


def _forgive_stale_indexes() -> None:
    """Let what kernels were cached count as nothing where it cannot be read any more.

    An index names the types of arguments, and is unpickled before Numba sees that the source
    is another one. Where an installation is replaced, `pip` leaves the indexes of the former
    version behind, which may know a type by the name of a module that is no more.
    """
    kept: Any = getattr(numba.core.caching, "IndexDataCacheFile", None)
    load = getattr(kept, "_load_index", None)
    if load is None:  # of a Numba that keeps them in another way
        return

    def load_index(self: Any) -> Any:
        try:
            return load(self)
        except (ImportError, AttributeError):
            return {}

    kept._load_index = load_index


def _kernel() -> None:
    """Be defined as a kernel, which shows whether Numba finds a folder."""


def _private_folder() -> Path:
    """Return a temporary folder that only this user can enter, the same one each time.

    The cache is unpickled when it is read, so a folder that somebody else can write to must
    not be trusted; then a new one serves this process.
    """
    folder = Path(tempfile.gettempdir(), f"dgraph-kernels-{os.getuid()}")
    with contextlib.suppress(FileExistsError):
        folder.mkdir(mode=0o700)
    found = folder.lstat()
    if found.st_uid == os.getuid() and stat.S_IMODE(found.st_mode) == 0o700:
        return folder
    return Path(tempfile.mkdtemp(prefix="dgraph-kernels-"))


ensure_kernel_cache()
_forgive_stale_indexes()


@kernel
def count_below(ascending, value):  # type: ignore[no-untyped-def]
    """Return how many numbers are below a value.

    This is `np.searchsorted`, to compile which takes Numba half a second in every kernel that
    calls it: it is prepared for NaN and for complex numbers.

    >>> import numpy as np
    >>> [count_below(np.array([2, 5, 5, 9]), value) for value in (1, 5, 6, 10)]
    [0, 1, 3, 4]
    """
    low, high = 0, ascending.size
    while low < high:
        middle = (low + high) >> 1
        if ascending[middle] < value:
            low = middle + 1
        else:
            high = middle
    return low


@kernel
def count_up_to(ascending, value):  # type: ignore[no-untyped-def]
    """Return how many numbers are at most a value: `np.searchsorted` with side "right".

    >>> import numpy as np
    >>> [count_up_to(np.array([2, 5, 5, 9]), value) for value in (1, 5, 6, 10)]
    [0, 3, 3, 4]
    """
    low, high = 0, ascending.size
    while low < high:
        middle = (low + high) >> 1
        if ascending[middle] <= value:
            low = middle + 1
        else:
            high = middle
    return low


@kernel
def copy_into(target, source):  # type: ignore[no-untyped-def]
    """Copy an array to the beginning of one that is as long or longer.

    This is ``target[:source.size] = source``, to compile which takes Numba three seconds for
    the text of an error: a fifth of what the first search took.

    >>> import numpy as np
    >>> room = np.zeros(3)
    >>> copy_into(room, np.array([1, 2]))
    >>> room
    array([1., 2., 0.])
    """
    for i in range(source.size):
        target[i] = source[i]
