"""One column of a partition, read as vertex ids or as weights, whatever it is made of.

NumPy, pandas (its own, nullable, Arrow-backed and categorical dtypes) and Arrow columns become
`IdColumn` or float64. Integers never pass through float; strings of a dictionary or categorical
are not written out.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
from numpy.typing import NDArray

from dgraph.edges.arrow import as_strings, check_utf8, one_array
from dgraph.edges.parts import IdRange
from dgraph.errors import EdgeTypeError, EdgeValueError
from dgraph.vertices.ids import Ids, IntIds, StringIds

__all__ = ["IdColumn", "read_ids"]

Mask = NDArray[np.bool_]


@dataclass(slots=True)
class IdColumn:
    """The ids in the rows of one column.

    Parameters
    ----------
    rows : int
    dtype : str
        As the user knows it; for messages.
    ids : Ids or None
        One per row, any id where one is missing; with `codes`, the dictionary. None: there is
        no id in any row, and the dtype does not tell the kind.
    codes : integer array, optional
        For each row the position of its id in `ids`; anything where it is missing.
    missing : bool array, optional
        None: nowhere.
    """

    rows: int
    dtype: str
    ids: Ids | None
    codes: NDArray[Any] | None = None
    missing: Mask | None = None

    @property
    def kind(self) -> str | None:
        """Return "int", "str", or None for a column in whose rows there is no id."""
        return None if self.ids is None or self.rows == 0 else self.ids.kind

    def keep(self, rows: Mask) -> IdColumn:
        """Return the column of some of the rows, none of which misses its id."""
        where = np.flatnonzero(rows)
        if self.ids is None or self.codes is not None:
            codes = None if self.codes is None else self.codes[where]
            return IdColumn(len(where), self.dtype, self.ids, codes)
        return IdColumn(len(where), self.dtype, self.ids.take(where))


def read_ids(column: Any, name: str) -> IdColumn:
    """Read a column as vertex ids.

    Parameters
    ----------
    column : NumPy array, pandas Series, Index or extension array, Arrow array, IdRange
    name : str
        What messages call it.

    Raises
    ------
    EdgeTypeError
        If it holds anything but integers or strings.

    Examples
    --------
    >>> read_ids(np.array(["b", None], object), "source")
    IdColumn(rows=2, dtype='object', ids=StringIds(['b', '']), codes=None, \
missing=array([False,  True]))
    >>> read_ids(np.array([1.0]), "source")
    Traceback (most recent call last):
        ...
    dgraph.errors.EdgeTypeError: column 'source' has dtype float64, expected integer or string \
ids: convert it, to 'Int64' if ids are missing
    """
    if isinstance(column, IdRange):
        return IdColumn(len(column), "int64", IntIds(column.values()))
    if isinstance(column, pa.Array | pa.ChunkedArray):
        return _from_arrow(one_array(column), str(column.type), name)
    if isinstance(column, pd.Series | pd.Index):
        column = column.array
    if isinstance(column, np.ndarray | pd.arrays.NumpyExtensionArray):
        return _from_numpy(np.asarray(column), name)
    return _from_extension(column, name)


def _from_numpy(values: NDArray[Any], name: str) -> IdColumn:
    dtype, rows = values.dtype.name, len(values)
    if rows == 0:
        return _empty(values.dtype.kind, dtype)
    if values.dtype.kind in "iu":
        return IdColumn(rows, dtype, IntIds(values))
    if values.dtype.kind in "UT":
        return _from_objects(values.astype(object), dtype, name)
    if values.dtype.kind == "O":
        return _from_objects(values, dtype, name)
    if values.dtype.kind == "f" and np.isnan(values).all():
        return IdColumn(rows, dtype, None, missing=np.ones(rows, np.bool_))
    raise _wrong(dtype, name)


def _empty(kind: str, dtype: str) -> IdColumn:
    """Return a column of no rows, which is fine whatever its dtype."""
    if kind in "iu":
        return IdColumn(0, dtype, IntIds(np.empty(0, dtype)))
    return IdColumn(0, dtype, None)


def _from_objects(values: NDArray[Any], dtype: str, name: str) -> IdColumn:
    """Read Python objects: all of them strings, or all of them integers, or missing."""
    missing = np.asarray(pd.isna(values), np.bool_)
    some = missing if missing.any() else None
    found = pd.api.types.infer_dtype(values, skipna=True)
    if missing.all():
        return IdColumn(len(values), dtype, None, missing=missing)
    if found == "string":
        return IdColumn(len(values), dtype, _encode(values, missing, name), missing=some)
    if found == "integer":
        numbers = np.where(missing, 0, values) if some is not None else values
        return IdColumn(len(values), dtype, IntIds(_integers(numbers, name)), missing=some)
    if found == "mixed-integer":
        found = "integers mixed with others"
    raise _wrong(f"{dtype} ({found})", name)


def _encode(values: NDArray[Any], missing: Mask, name: str) -> StringIds:
    try:
        return StringIds(pa.array(np.where(missing, "", values), pa.large_string()))
    except UnicodeEncodeError as error:
        raise EdgeValueError(
            f"column {name!r} holds {error.object!r}, which is no valid Unicode: repair it"
        ) from error


def _integers(values: NDArray[Any], name: str) -> NDArray[Any]:
    """Return Python integers as int64, or as uint64 if they fit that only."""
    low, high = int(values.min()), int(values.max())
    if high < 2**63 and low >= -(2**63):
        return values.astype(np.int64)
    if low >= 0 and high < 2**64:
        return values.astype(np.uint64)
    raise EdgeValueError(
        f"column {name!r} holds ids from {low} to {high}, expected ids that fit int64 or "
        "uint64: convert them to strings"
    )


def _from_extension(column: Any, name: str) -> IdColumn:
    dtype, rows = column.dtype, len(column)
    if isinstance(dtype, pd.CategoricalDtype):
        return _from_categories(column, name)
    if isinstance(dtype, pd.StringDtype | pd.ArrowDtype):
        return _from_arrow(one_array(pa.array(column)), str(dtype), name)
    missing = np.asarray(column.isna(), np.bool_)
    some = missing if missing.any() else None
    kind = getattr(dtype, "kind", "O")
    if rows == 0:
        return _empty("O", str(dtype))
    if missing.all():
        return IdColumn(rows, str(dtype), None, missing=missing)
    if pd.api.types.is_integer_dtype(dtype) and kind in "iu":
        values = column.to_numpy(dtype.numpy_dtype, na_value=0)
        return IdColumn(rows, str(dtype), IntIds(values), missing=some)
    raise _wrong(str(dtype), name)


def _from_categories(column: pd.Categorical, name: str) -> IdColumn:
    codes = column.codes
    missing = codes < 0
    some = missing if missing.any() else None
    if missing.all():
        return IdColumn(len(codes), "category", None, missing=some)
    dictionary = read_ids(column.categories, name)
    dtype = f"category of {dictionary.dtype}"
    return IdColumn(len(codes), dtype, dictionary.ids, codes, some)


def _from_arrow(array: pa.Array, dtype: str, name: str) -> IdColumn:
    rows = len(array)
    missing = np.asarray(array.is_null().to_numpy(zero_copy_only=False), np.bool_)
    some = missing if array.null_count else None
    if rows and array.null_count == rows:
        return IdColumn(rows, dtype, None, missing=missing)
    if pa.types.is_dictionary(array.type):
        return _from_dictionary(array, dtype, some, name)
    if pa.types.is_integer(array.type):
        values = array.fill_null(0) if some is not None else array
        return IdColumn(rows, dtype, IntIds(values.to_numpy()), missing=some)
    strings = as_strings(array)
    if strings is None:
        if rows == 0:
            return IdColumn(0, dtype, None)
        raise _wrong(dtype, name)
    check_utf8(strings, name)
    filled = strings.fill_null("") if some is not None else strings
    return IdColumn(rows, dtype, StringIds(filled), missing=some)


def _from_dictionary(
    array: pa.DictionaryArray, dtype: str, missing: Mask | None, name: str
) -> IdColumn:
    if array.dictionary.null_count:  # a code may stand for a missing id
        return _from_arrow(array.cast(array.type.value_type), dtype, name)
    codes = array.indices
    dictionary = read_ids(array.dictionary, name)
    numbers = (codes.fill_null(0) if missing is not None else codes).to_numpy()
    return IdColumn(len(array), dtype, dictionary.ids, numbers, missing)


def _wrong(dtype: str, name: str) -> EdgeTypeError:
    return EdgeTypeError(
        f"column {name!r} has dtype {dtype}, expected integer or string ids: convert it, to "
        "'Int64' if ids are missing"
    )
