"""Rows as kernels read them."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from dgraph.shard.adjacency import Adjacency

__all__ = ["Rows", "rows_of"]


class Rows(NamedTuple):
    """The rows of the masters, without weights, as unsigned views.

    Numba looks at every signed index whether it counts from the end. A loop that gathers over
    `targets` takes half the time without that.
    """

    offsets: NDArray[np.uint64]
    targets: NDArray[np.uint32]


def rows_of(adjacency: Adjacency) -> Rows:
    """Return the rows of an adjacency for kernels.

    Examples
    --------
    >>> rows_of(Adjacency(np.array([0, 1]), np.array([3], np.int32)))
    Rows(offsets=array([0, 1], dtype=uint64), targets=array([3], dtype=uint32))
    """
    return Rows(adjacency.offsets.view(np.uint64), adjacency.targets.view(np.uint32))
