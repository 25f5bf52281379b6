"""Integer vertex ids of any width and sign, compared by value and never through float."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Self

import numpy as np
import pandas as pd
from numpy.typing import DTypeLike, NDArray

from dgraph.errors import EdgeTypeError
from dgraph.vertices.base import Codes, Ids, Positions, Side, code_dtype
from dgraph.vertices.hash import hash_ints
from dgraph.vertices.int_kernels import (
    FEW,
    Keys,
    keys_of_words,
    positions_in,
    radix_argsort,
    sorted_unique,
    words_of_keys,
)

Integers = NDArray[np.integer[Any]]

_INT64_MAX = 2**63 - 1


class IntIds(Ids):
    """Integer ids in the dtype in which the user has them.

    Parameters
    ----------
    values : integer array of one dimension
        Kept without a copy if it is contiguous and in native byte order.

    Examples
    --------
    >>> import numpy as np
    >>> ids = IntIds(np.array([300, 7, 300], np.uint16))
    >>> ids.unique(), ids.dtype
    (IntIds([7, 300]), 'uint16')
    >>> IntIds(np.array([7, 300])).locate(ids)
    array([1, 0, 1])
    """

    kind = "int"
    __slots__ = ("values",)

    def __init__(self, values: Integers) -> None:
        if values.dtype.kind not in "iu" or values.ndim != 1:
            raise EdgeTypeError(
                f"expected integer ids in one dimension, got {values.ndim} dimensions of "
                f"{values.dtype}; convert the column to an integer dtype"
            )
        flags, native = values.flags, values.dtype.newbyteorder("=")
        if not (values.dtype.isnative and flags.c_contiguous and flags.aligned):
            values = np.require(values, native, ["C_CONTIGUOUS", "ALIGNED"])
        self.values: Integers = values

    @property
    def dtype(self) -> str:
        """Name of the integer dtype."""
        return self.values.dtype.name

    @property
    def nbytes(self) -> int:
        """Bytes that the column holds."""
        return self.values.nbytes

    def __len__(self) -> int:
        """Return how many ids there are."""
        return len(self.values)

    def __eq__(self, other: object) -> bool:
        """Tell whether `other` holds the same ids, as the same dtype."""
        if not isinstance(other, IntIds):
            return NotImplemented
        return self.dtype == other.dtype and np.array_equal(self.values, other.values)

    def to_list(self) -> list[int]:
        """Return the ids as Python integers."""
        return [int(value) for value in self.values]

    def astype(self, dtype: DTypeLike) -> IntIds:
        """Return the same ids as another integer dtype, which must hold every one of them.

        Examples
        --------
        >>> import numpy as np
        >>> IntIds(np.array([1, 2])).astype("uint8").dtype
        'uint8'
        """
        wanted = np.dtype(dtype)
        bounds = np.iinfo(wanted)
        if len(self) and not (bounds.min <= self.low and self.high <= bounds.max):
            raise EdgeTypeError(
                f"expected ids that fit {wanted.name}, got {self.low} to {self.high}; "
                "use a wider dtype"
            )
        return IntIds(self.values.astype(wanted, copy=False))

    @property
    def low(self) -> int:
        """The smallest id; there must be one."""
        return int(self.values.min())

    @property
    def high(self) -> int:
        """The largest id; there must be one."""
        return int(self.values.max())

    def take(self, indices: NDArray[np.integer]) -> Self:
        """Return the ids at `indices`."""
        return type(self)(self.values[indices])

    def slice(self, start: int, stop: int) -> Self:
        """Return a view of the ids from `start` to `stop`."""
        return type(self)(self.values[start:stop])

    def unique(self) -> Self:
        """Return the distinct ids, ascending."""
        return self._from_keys(sorted_unique(_keys(self.values, self._biased)))

    def factorize(self) -> tuple[Codes, Self]:
        """Return codes and the distinct ids, ascending."""
        keys = _keys(self.values, self._biased)
        distinct = sorted_unique(keys)
        codes: Codes = positions_in(distinct, keys, code_dtype(len(distinct)))
        return codes, self._from_keys(distinct)

    def argsort(self) -> Positions:
        """Return the indices that sort the ids; equal ids keep their sequence."""
        return radix_argsort(words_of_keys(_keys(self.values, self._biased)))

    def locate(self, queries: Ids) -> Positions:
        """Return where each query stands in self (ascending, distinct); -1: missing."""
        if not isinstance(queries, IntIds):
            return np.full(len(queries), -1, np.int64)
        if self.values.dtype != np.int64 and len(queries) * FEW < len(self):
            return self._locate_few(queries.values)
        biased = self._biased
        keys = _keys(queries.values, biased)
        positions: Positions = positions_in(_keys(self.values, biased), keys, np.int64)
        if queries._biased != biased:
            positions[_outside(queries.values, biased) != 0] = -1
        return positions

    def _locate_few(self, queries: Integers) -> Positions:
        """Do so without making keys of all ids."""
        same = queries.astype(self.values.dtype)
        fits = (same.astype(queries.dtype) == queries) & ((same < 0) == (queries < 0))
        places = np.minimum(np.searchsorted(self.values, same), len(self) - 1)
        return np.where(fits & (self.values[places] == same), places, -1)

    def places_of(self, query: int) -> Positions:
        """Return where an id stands in self, whatever the sequence: all are looked at.

        Examples
        --------
        >>> IntIds(np.array([7, -2, 7], np.int8)).places_of(7)
        array([0, 2])
        >>> IntIds(np.array([7, 3], np.uint64)).places_of(-2)
        array([], dtype=int64)
        """
        bounds = np.iinfo(self.values.dtype)
        if not bounds.min <= query <= bounds.max:
            return np.zeros(0, np.int64)
        return np.flatnonzero(self.values == self.values.dtype.type(query))

    def searchsorted(self, queries: IntIds, side: Side = "left") -> Positions:
        """Return where each query would be inserted into self (ascending)."""
        biased = self._biased
        keys = _keys(queries.values, biased)
        positions = np.searchsorted(_keys(self.values, biased), keys, side)
        if queries._biased != biased:
            outside = _outside(queries.values, biased)
            positions[outside < 0] = 0
            positions[outside > 0] = len(self)
        return positions

    def hash(self) -> NDArray[np.uint64]:
        """Return the splitmix64 hash of each id."""
        return hash_ints(self.values)

    def to_columns(self) -> tuple[Integers]:
        """Return the values."""
        return (self.values,)

    @classmethod
    def from_columns(cls, dtype: str, columns: Sequence[NDArray[Any]]) -> Self:
        """Rebuild ids from their values."""
        (values,) = columns
        return cls(values.view(dtype))

    @classmethod
    def concat(cls, parts: Sequence[IntIds]) -> Self:
        """Return the ids of all parts in a dtype that holds every one of them."""
        dtype = common_dtype(parts)
        return cls(np.concatenate([part.values.astype(dtype, copy=False) for part in parts]))

    def to_pandas(self) -> Integers:
        """Return the values."""
        return self.values

    def to_nullable(self, missing: NDArray[np.bool_]) -> pd.arrays.IntegerArray:
        """Return pandas' masked array of the same width; shares memory with self."""
        return pd.arrays.IntegerArray(self.values, missing)

    @property
    def _biased(self) -> bool:
        return self.values.dtype == np.uint64

    def _from_keys(self, keys: Keys) -> Self:
        values = words_of_keys(keys) if self._biased else keys
        return type(self)(values.astype(self.values.dtype, copy=False))


def common_dtype(parts: Sequence[IntIds]) -> np.dtype[Any]:
    """Return the narrowest integer dtype that NumPy promotes to and that holds all the ids.

    Where NumPy would go to float (uint64 with a signed dtype) the values decide: int64 if all
    fit, else uint64 if all fit.

    Examples
    --------
    >>> import numpy as np
    >>> common_dtype([IntIds(np.array([1], np.uint64)), IntIds(np.array([-1]))])
    dtype('int64')
    """
    dtype = np.result_type(*(part.values.dtype for part in parts))
    if dtype.kind != "f":
        return dtype
    low = min((part.low for part in parts if len(part)), default=0)
    high = max((part.high for part in parts if len(part)), default=0)
    if high <= _INT64_MAX:
        return np.dtype(np.int64)
    if low >= 0:
        return np.dtype(np.uint64)
    raise EdgeTypeError(
        f"expected integer ids that all fit int64 or all fit uint64, got {low} to {high}; "
        "turn the ids into strings"
    )


def _keys(values: Integers, biased: bool) -> Keys:
    """Return int64 in the order of the values: uint64 moved down by 2**63, others as they are.

    With `biased` keys the order holds for values >= 0, without for values < 2**63.
    """
    if biased:
        return keys_of_words(values.astype(np.uint64, copy=False))
    return values.astype(np.int64, copy=False)


def _outside(values: Integers, biased: bool) -> NDArray[np.int8]:
    """Return -1 where a value lies below what keys can order, 1 where it lies above, else 0."""
    if biased:
        return -(values < 0).astype(np.int8)
    return (values > _INT64_MAX).astype(np.int8)
