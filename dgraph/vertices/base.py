"""What a typed column of vertex ids can do, whichever type the ids have."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any, ClassVar, Literal, Self

import numpy as np
from numpy.typing import NDArray

Side = Literal["left", "right"]
Positions = NDArray[np.int64]
Codes = NDArray[np.int32] | NDArray[np.int64]


def code_dtype(count: int) -> type[np.int32] | type[np.int64]:
    """Return the dtype that numbers `count` things: int32 while it can.

    >>> code_dtype(10).__name__, code_dtype(2**31).__name__
    ('int32', 'int64')
    """
    return np.int32 if count < 2**31 else np.int64


def frozen(array: NDArray[Any]) -> NDArray[Any]:
    """Return a read-only view of `array`.

    Numba compiles a kernel once for writable and once for read-only arrays. Arrow's memory is
    read-only, so all that the kernels of this package read is made so.

    >>> frozen(np.arange(3)).flags.writeable
    False
    """
    view = array.view()
    view.flags.writeable = False
    return view


class Ids(ABC):
    """A column of vertex ids of one type, without missing values; never changed in place.

    The order of ids is numeric for integers and by code point for strings, which is the byte
    order of UTF-8 and what Python's ``sorted`` gives. Two implementations exist:
    `dgraph.vertices.ids.IntIds` and `dgraph.vertices.ids.StringIds`.

    Examples
    --------
    >>> from dgraph.vertices.ids import StringIds
    >>> codes, distinct = StringIds.of(["b", "a", "b"]).factorize()
    >>> codes, distinct
    (array([1, 0, 1], dtype=int32), StringIds(['a', 'b']))
    """

    __slots__ = ()
    kind: ClassVar[Literal["int", "str"]]

    @property
    @abstractmethod
    def dtype(self) -> str:
        """Name of the users' dtype: ``"int64"``, ``"uint8"``, ``"str"``."""

    @property
    @abstractmethod
    def nbytes(self) -> int:
        """Bytes that the column holds."""

    @abstractmethod
    def __len__(self) -> int:
        """Return how many ids there are."""

    @abstractmethod
    def __eq__(self, other: object) -> bool:
        """Tell whether `other` holds the same ids in the same sequence, as the same dtype."""

    __hash__ = None  # type: ignore[assignment]  # equality is by value, and the column is large

    def __getitem__(self, position: int) -> int | str:
        """Return one id as a Python object."""
        item: int | str = self.slice(position, position + 1).to_list()[0]
        return item

    def __repr__(self) -> str:
        """Show the first ids."""
        shown = ", ".join(map(repr, self.slice(0, 6).to_list()))
        return f"{type(self).__name__}([{shown}{', ...' if len(self) > 6 else ''}])"

    @abstractmethod
    def to_list(self) -> list[Any]:
        """Return the ids as Python objects; for error messages and tests."""

    @abstractmethod
    def take(self, indices: NDArray[np.integer]) -> Self:
        """Return the ids at `indices`."""

    @abstractmethod
    def slice(self, start: int, stop: int) -> Self:
        """Return the ids from `start` to `stop`, without copying them."""

    @abstractmethod
    def unique(self) -> Self:
        """Return the distinct ids, ascending."""

    @abstractmethod
    def factorize(self) -> tuple[Codes, Self]:
        """Return codes and the distinct ids, ascending: ``distinct.take(codes)`` equals self.

        Codes are int32 while their number allows it, else int64.
        """

    @abstractmethod
    def argsort(self) -> Positions:
        """Return the indices that sort the ids; equal ids keep their sequence."""

    @abstractmethod
    def locate(self, queries: Ids) -> Positions:
        """Return where each query stands in self (ascending, distinct); -1 where it is missing.

        Integers of any dtype are compared by value; queries of the other kind are all missing.
        """

    @abstractmethod
    def searchsorted(self, queries: Self, side: Side = "left") -> Positions:
        """Return where each query would be inserted into self (ascending), as NumPy does."""

    @abstractmethod
    def hash(self) -> NDArray[np.uint64]:
        """Return 64 well mixed bits per id, the same in every process and version.

        An integer has the same hash in every dtype that can hold it.
        """

    @abstractmethod
    def to_columns(self) -> tuple[NDArray[Any], ...]:
        """Return the arrays that a frame carries; sharing memory with self where possible."""

    @classmethod
    @abstractmethod
    def from_columns(cls, dtype: str, columns: Sequence[NDArray[Any]]) -> Self:
        """Rebuild what `to_columns` took apart, without copying."""

    @classmethod
    @abstractmethod
    def concat(cls, parts: Sequence[Self]) -> Self:
        """Return the ids of all parts, one after the other; needs at least one part."""

    @abstractmethod
    def to_pandas(self) -> Any:
        """Return the array a pandas column is made of, in the users' dtype."""

    @abstractmethod
    def to_nullable(self, missing: NDArray[np.bool_]) -> Any:
        """Return a nullable pandas array (Int64, UInt8, string), ``<NA>`` where `missing`."""
