"""What supersteps would have sent that one slot did for all."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from dgraph.exchange.request import Inner
from dgraph.kernels import kernel

__all__ = ["count_inner"]


def count_inner(inner: Inner, level: NDArray[np.int64], levels: int) -> NDArray[np.int64]:
    """Return the frames, messages and bytes of every superstep, each by level.

    Parameters
    ----------
    inner : Inner
    level : int64 array of shape (slots, slots)
        At which level two slots meet.
    levels : int

    Returns
    -------
    int64 array of shape (supersteps, 3 * levels)

    Examples
    --------
    >>> inner = Inner(np.array([[[9, 2], [0, 9]]]), head=100, size=8, seconds=1e-6)
    >>> count_inner(inner, np.array([[0, 1], [1, 0]]), levels=2)
    array([[  0,   1,   0,   2,   0, 116]])
    """
    counts = np.zeros((len(inner.sent), 3 * levels), np.int64)
    _count(inner.sent, level, levels, inner.head, inner.size, counts)
    return counts


@kernel
def _count(sent, level, levels, head, size, counts):  # type: ignore[no-untyped-def]
    for step in range(sent.shape[0]):
        row = counts[step]
        for slot in range(sent.shape[1]):
            for other in range(sent.shape[2]):
                messages = sent[step, slot, other]
                if other != slot and messages:
                    at = level[slot, other]
                    row[at] += 1
                    row[at + levels] += messages
                    row[at + 2 * levels] += head + size * messages
