"""What supersteps sent, and how long they took, that slots did among themselves."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from dgraph.exchange.request import Inner
from dgraph.kernels import kernel

__all__ = ["Unfolded", "unfold"]


class Unfolded(NamedTuple):
    """Supersteps as they are recorded: those before a request, and what belongs to its own.

    Parameters
    ----------
    counts : int64 array of shape (supersteps, 3 * levels)
        Frames, messages and bytes of those before, each by level.
    times : float64 array of shape (supersteps, 3)
        Their seconds of computation, of exchange, and in all.
    own_counts : int64 array of length 3 * levels
        To be added to what the superstep of the request sent.
    own_times : tuple of 3 float
        What its times are without those before.
    """

    counts: NDArray[np.int64]
    times: NDArray[np.float64]
    own_counts: NDArray[np.int64]
    own_times: tuple[float, ...]


def unfold(
    inner: Inner,
    slots: NDArray[np.int64],
    level: NDArray[np.int64],
    levels: int,
    times: tuple[float, ...],
    now: float,
) -> Unfolded:
    """Split a superstep in which slots have done several.

    Parameters
    ----------
    inner : Inner
    slots : int64 array
        Those of this process.
    level : int64 array of shape (slots of this process, all slots)
        At which level two slots meet.
    levels : int
    times : tuple of 3 float
        Seconds of computation, of exchange, and in all, of the request with all before it.
    now : float
        When the superstep of the request ended.

    Examples
    --------
    >>> messages = np.array([[[9, 2], [0, 9]], [[9, 0], [1, 9]]])
    >>> computed, ended = np.array([[0.5], [0.25]]), np.array([11.0, 11.5])
    >>> inner = Inner(messages, 100 + 8 * messages, computed, ended)
    >>> slots, level = np.arange(2), np.array([[0, 1], [1, 0]])
    >>> found = unfold(inner, slots, level, 2, (1.5, 0.0, 2.0), now=12.0)
    >>> found  # doctest: +NORMALIZE_WHITESPACE
    Unfolded(counts=array([[  0,   1,   0,   2,   0, 116]]), times=array([[0.5, 0. , 1. ]]),
        own_counts=array([  0,   1,   0,   1,   0, 108]), own_times=(1.0, 0.0, 1.0))
    """
    steps = len(inner.ended)
    before = steps if inner.is_over else steps - 1
    counts, spent = np.zeros((steps, 3 * levels), np.int64), np.zeros((steps, 3))
    _unfold(*inner[:4], slots, level, levels, now - times[2], counts, spent)
    if not before:
        return Unfolded(counts[:0], spent[:0], counts[0], times)
    rest = max(0.0, now - float(inner.ended[before - 1]))
    computed = times[0] - float(spent[:before, 0].sum())
    own = max(0.0, min(computed, rest * len(slots))), times[1], rest
    return Unfolded(counts[:before], spent[:before], counts[before:].sum(axis=0), own)


@kernel
def _unfold(messages, nbytes, computed, ended, slots, level, levels, began, counts, spent):  # type: ignore[no-untyped-def]
    for step in range(messages.shape[0]):
        row = counts[step]
        for slot in range(messages.shape[1]):
            for other in range(messages.shape[2]):
                if other != slots[slot] and messages[step, slot, other]:
                    at = level[slot, other]
                    row[at] += 1
                    row[at + levels] += messages[step, slot, other]
                    row[at + 2 * levels] += nbytes[step, slot, other]
        for one in computed[step]:
            spent[step, 0] += one
        spent[step, 2] = max(0.0, ended[step] - began)  # clocks are read one after the other
        began = ended[step]
