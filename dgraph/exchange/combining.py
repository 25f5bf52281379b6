"""Combine messages to the same vertex: at their source, and wherever they meet on the way.

A combiner is associative and commutative, so neither the sequence in which messages meet nor
where they do changes a result. Sums of floats are not of that kind: nothing combines them.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from dgraph.errors import OptionError
from dgraph.kernels import kernel
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
    kernel = _KERNELS[combiner] if values.dtype.kind in "iuf" else None
    if kernel is None or numbers.size * SPARSE < size:
        return _merge_few(numbers, values, COMBINERS[combiner])
    distinct, table = _number(numbers, size)
    combined = np.empty(distinct.size, values.dtype)
    if distinct.size == numbers.size:
        _put(numbers, values, table, combined)
    else:
        combined.fill(_neutral(combiner, values.dtype))
        kernel(numbers, values, table, combined)
    return distinct, combined


def _merge_few(numbers: Array, values: Array, operation: Any) -> tuple[Array, Array]:
    distinct, first, place = np.unique(numbers, return_index=True, return_inverse=True)
    combined = values[first]
    if distinct.size < numbers.size:
        rest = np.ones(numbers.size, np.bool_)
        rest[first] = False
        with np.errstate(invalid="ignore"):  # NaN is a value too, of which kernels do not warn
            operation.at(combined, place[rest], values[rest])
    return distinct, combined


def _neutral(combiner: str, dtype: np.dtype[Any]) -> Any:
    """Return the value that changes no other one.

    Examples
    --------
    >>> _neutral("min", np.dtype("int8")), _neutral("max", np.dtype("float64"))
    (127, -inf)
    """
    if combiner in ("sum", "or"):
        return 0
    limits = np.iinfo(dtype) if dtype.kind != "f" else None
    if combiner == "min":
        return np.inf if limits is None else limits.max
    return -np.inf if limits is None else limits.min


@kernel
def _number(numbers, size):  # type: ignore[no-untyped-def]
    """Return the distinct numbers, ascending, and a table by which `_find` finds their places.

    A row of it is a word of a bitmap of the numbers, and how many are in the words before.

    Examples
    --------
    >>> _number(np.array([7, 2, 7]), 10)
    (array([2, 7]), array([[132,   0]], dtype=uint64))
    """
    table = np.zeros(((size + 63) >> 6, 2), np.uint64)
    for number in numbers:
        table[number >> 6, 0] |= _ONE << np.uint64(number & 63)
    total = np.uint64(0)
    for word in range(table.shape[0]):
        table[word, 1] = total
        total += np.uint64(ones(table[word, 0]))
    distinct = np.empty(np.int64(total), numbers.dtype)
    at = 0
    for word in range(table.shape[0]):
        left = table[word, 0]
        while left:
            distinct[at] = (word << 6) + lowest(left)
            at += 1
            left &= left - _ONE
    return distinct, table


@kernel(inline="always")
def _find(table, number):  # type: ignore[no-untyped-def]
    word = number >> 6
    below = table[word, 0] & ((_ONE << np.uint64(number & 63)) - _ONE)
    return np.int64(table[word, 1]) + ones(below)


@kernel
def _put(numbers, values, table, combined):  # type: ignore[no-untyped-def]
    for i in range(numbers.size):
        combined[_find(table, numbers[i])] = values[i]


@kernel
def _least(numbers, values, table, combined):  # type: ignore[no-untyped-def]
    for i in range(numbers.size):
        place, value = _find(table, numbers[i]), values[i]
        if value < combined[place] or value != value:  # NaN stays, as in NumPy
            combined[place] = value


@kernel
def _greatest(numbers, values, table, combined):  # type: ignore[no-untyped-def]
    for i in range(numbers.size):
        place, value = _find(table, numbers[i]), values[i]
        if value > combined[place] or value != value:
            combined[place] = value


@kernel
def _sum(numbers, values, table, combined):  # type: ignore[no-untyped-def]
    for i in range(numbers.size):
        combined[_find(table, numbers[i])] += values[i]


@kernel
def _any(numbers, values, table, combined):  # type: ignore[no-untyped-def]
    for i in range(numbers.size):
        combined[_find(table, numbers[i])] |= values[i]


_KERNELS = {"min": _least, "max": _greatest, "sum": _sum, "or": _any}
