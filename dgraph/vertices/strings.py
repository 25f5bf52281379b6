"""String vertex ids as Arrow columns, ordered by code point."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, Self

import numpy as np
import pandas as pd
import pyarrow as pa
from numpy.typing import NDArray

from dgraph.errors import EdgeTypeError
from dgraph.vertices.base import Codes, Ids, Positions, Side
from dgraph.vertices.hash import hash_strings
from dgraph.vertices.string_kernels import (
    columns_of,
    distinct_strings,
    find_strings,
    search_strings,
)
from dgraph.vertices.string_sort import argsort_strings


class StringIds(Ids):
    """String ids: the UTF-8 bytes of all of them, and where each one starts.

    Parameters
    ----------
    array : pyarrow.LargeStringArray
        Without nulls; kept without a copy.

    Examples
    --------
    >>> ids = StringIds.of(["é", "z", "😀"])
    >>> ids.unique()
    StringIds(['z', 'é', '😀'])
    """

    kind = "str"
    __slots__ = ("array",)

    def __init__(self, array: pa.LargeStringArray) -> None:
        if not pa.types.is_large_string(array.type) or array.null_count:
            raise EdgeTypeError(
                f"expected a large_string array without nulls, got {array.type} with "
                f"{array.null_count} nulls; cast it and drop its nulls"
            )
        self.array = array

    @classmethod
    def of(cls, strings: Iterable[str]) -> Self:
        """Return the ids of an iterable of Python strings.

        Examples
        --------
        >>> len(StringIds.of(["a", "b"]))
        2
        """
        return cls(pa.array(list(strings), pa.large_string()))

    @property
    def dtype(self) -> str:
        """Always ``"str"``."""
        return "str"

    @property
    def nbytes(self) -> int:
        """Bytes that the column holds."""
        return int(self.array.nbytes)

    def __len__(self) -> int:
        """Return how many ids there are."""
        return len(self.array)

    def __eq__(self, other: object) -> bool:
        """Tell whether `other` holds the same ids."""
        if not isinstance(other, StringIds):
            return NotImplemented
        return bool(self.array.equals(other.array))

    def to_list(self) -> list[str]:
        """Return the ids as Python strings."""
        strings: list[str] = self.array.to_pylist()
        return strings

    def take(self, indices: NDArray[np.integer]) -> Self:
        """Return the ids at `indices`."""
        return type(self)(self.array.take(pa.array(indices)))

    def slice(self, start: int, stop: int) -> Self:
        """Return the ids from `start` to `stop`, without copying them."""
        start, stop, _ = slice(start, stop).indices(len(self))
        return type(self)(self.array.slice(start, max(stop - start, 0)))

    def unique(self) -> Self:
        """Return the distinct ids, ascending."""
        _, distinct = distinct_strings(self.array)
        found = type(self)(distinct)
        return found.take(found.argsort())

    def factorize(self) -> tuple[Codes, Self]:
        """Return codes and the distinct ids, ascending."""
        codes, distinct = distinct_strings(self.array)
        found = type(self)(distinct)
        order = found.argsort()
        place = np.empty(len(order), codes.dtype)
        place[order] = np.arange(len(order))
        return place[codes], found.take(order)

    def argsort(self) -> Positions:
        """Return the indices that sort the ids; equal ids keep their sequence."""
        return argsort_strings(self.to_columns())

    def locate(self, queries: Ids) -> Positions:
        """Return where each query stands in self (ascending, distinct); -1: missing."""
        if not isinstance(queries, StringIds):
            return np.full(len(queries), -1, np.int64)
        return find_strings(self.array, queries.array)

    def searchsorted(self, queries: StringIds, side: Side = "left") -> Positions:
        """Return where each query would be inserted into self (ascending)."""
        return search_strings(self.to_columns(), queries.to_columns(), side == "right")

    def hash(self) -> NDArray[np.uint64]:
        """Return MurmurHash64A of each id's UTF-8 bytes."""
        return hash_strings(*self.to_columns())

    def to_columns(self) -> tuple[NDArray[np.int64], NDArray[np.uint8]]:
        """Return offsets, from 0, one more than ids, and the UTF-8 bytes.

        Shares memory with self; of a slice only the offsets are copied.
        """
        return columns_of(self.array)

    @classmethod
    def from_columns(cls, dtype: str, columns: Sequence[NDArray[Any]]) -> Self:
        """Rebuild ids from offsets and bytes."""
        offsets, data = columns
        aligned = np.require(offsets, np.int64, ["C_CONTIGUOUS", "ALIGNED"])
        return cls(_arrow(aligned, data, None))

    @classmethod
    def concat(cls, parts: Sequence[StringIds]) -> Self:
        """Return the ids of all parts, one after the other."""
        return cls(pa.concat_arrays([part.array for part in parts]))

    def to_pandas(self) -> Any:
        """Return an array of the dtype that pandas gives to strings by default."""
        dtype: Any = pd.Series(["a"]).dtype
        if dtype.kind == "O" and not isinstance(dtype, pd.StringDtype):  # pandas 2
            return self.array.to_numpy(zero_copy_only=False)
        return dtype.__from_arrow__(self.array)

    def to_nullable(self, missing: NDArray[np.bool_]) -> Any:
        """Return an array of pandas' dtype ``"string"``; shares its characters with self."""
        valid = np.packbits(~missing, bitorder="little")
        dtype: Any = pd.StringDtype()
        return dtype.__from_arrow__(_arrow(*self.to_columns(), valid))


def _arrow(
    offsets: NDArray[np.int64], data: NDArray[np.uint8], valid: NDArray[np.uint8] | None
) -> pa.LargeStringArray:
    """Return the Arrow array over these buffers; `valid` is a bitmap, lowest bit first."""
    buffers = [None if part is None else pa.py_buffer(part) for part in (valid, offsets, data)]
    return pa.Array.from_buffers(pa.large_string(), len(offsets) - 1, buffers)
