"""Combine messages to the same vertex: at their source, and wherever they meet on the way.

A combiner is associative and commutative, so neither the sequence in which messages meet nor
where they do changes a result. Sums of floats are not of that kind: nothing combines them.
"""

from __future__ import annotations

from typing import Any

import numba as nb
import numpy as np
from numpy.typing import NDArray

from dgraph.errors import OptionError
from dgraph.shard.bits import lowest, ones

__all__ = ["COMBINERS", "can_combine", "merge"]

Array = NDArray[Any]
_ONE = np.uint64(1)

COMBINERS: dict[str, Any] = {
    "min": np.minimum,
    "max": np.maximum,
    "sum": np.add,
    "or": np.bitwise_or,
}

#: With fewer vertices than one in so many it is faster to sort numbers than to walk a bitmap.
SPARSE = 256


def can_combine(combiner: str | None, dtype: np.dtype[Any]) -> bool:
    """Return whether messages of a dtype may be combined on the way.

    Raises
    ------
    OptionError
        If there is no such combiner.

    Examples
    --------
    >>> can_combine("min", np.dtype("float64")), can_combine("sum", np.dtype("float64"))
    (True, False)
    """
    if combiner is None:
        return False
    if combiner not in COMBINERS:
        raise OptionError(
            f"combiner must be one of {', '.join(COMBINERS)}, not {combiner!r}; "
            "None leaves messages apart"
        )
    return dtype.kind != "f" or combiner in ("min", "max")


def merge(numbers: Array, values: Array, combiner: str, size: int) -> tuple[Array, Array]:
    """Sort messages by vertex and make one of all that are to the same vertex.

    Parameters
    ----------
    numbers : int array
        The vertices, from 0 to ``size - 1``.
    values : array beside them
    combiner : str
        A key of COMBINERS.
    size : int

    Examples
    --------
    >>> merge(np.array([7, 2, 7]), np.array([5, 1, 3]), "min", 10)
    (array([2, 7]), array([1, 3]))
    """
    if numbers.size == 0:
        return numbers, values
    if numbers.size * SPARSE < size:
        distinct, place = np.unique(numbers, return_inverse=True)
    else:
        distinct, place = _number(numbers, size)
    combined = np.zeros(distinct.size, values.dtype)
    if distinct.size == numbers.size:
        combined[place] = values
        return distinct, combined
    operation = COMBINERS[combiner]
    if combiner != "sum":
        combined[place] = values  # any of them, to begin with
    operation.at(combined, place, values)
    return distinct, combined


@nb.njit(nogil=True, cache=True)
def _number(numbers, size):  # type: ignore[no-untyped-def]
    """Return the distinct numbers, ascending, and for each number its place among them.

    Examples
    --------
    >>> _number(np.array([7, 2, 7]), 10)
    (array([2, 7]), array([1, 0, 1]))
    """
    words = (size + 63) >> 6
    bits, before = np.zeros(words, np.uint64), np.empty(words, np.int64)
    for number in numbers:
        bits[number >> 6] |= _ONE << np.uint64(number & 63)
    total = 0
    for word in range(words):
        before[word] = total
        total += ones(bits[word])
    distinct, place = np.empty(total, numbers.dtype), np.empty(numbers.size, np.int64)
    at = 0
    for word in range(words):
        left = bits[word]
        while left:
            distinct[at] = (word << 6) + lowest(left)
            at += 1
            left &= left - _ONE
    for i in range(numbers.size):
        word = numbers[i] >> 6
        below = bits[word] & ((_ONE << np.uint64(numbers[i] & 63)) - _ONE)
        place[i] = before[word] + ones(below)
    return distinct, place
