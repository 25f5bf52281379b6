"""A column of weights, whatever it is made of, as float64."""

from __future__ import annotations

import math
from decimal import Decimal
from numbers import Integral, Real
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from dgraph.edges.arrow import one_array
from dgraph.errors import EdgeTypeError

__all__ = ["as_floats", "count_rounded", "note_rounded", "read_weights"]

Weights = NDArray[np.float64]

#: The attribute of a frame that holds what :func:`count_rounded` returned for its weights,
#: which are floats already.
_ROUNDED = "dgraph_rounded"


def read_weights(column: Any, name: str) -> Weights:
    """Read a column of numbers as float64; NaN where one is missing.

    Parameters
    ----------
    column : NumPy array, pandas Series or extension array, Arrow array
        Of integers, floats or decimals; integers above 2**53 are rounded, as
        :func:`count_rounded` tells.
    name : str
        What messages call it.

    Examples
    --------
    >>> read_weights(pd.array([1, None], "Int64"), "w")
    array([ 1., nan])
    >>> read_weights(np.array(["1"]), "w")
    Traceback (most recent call last):
        ...
    dgraph.errors.EdgeTypeError: column 'w' has dtype str32, expected numbers as weights: \
convert it to float64
    """
    if isinstance(column, pa.Array | pa.ChunkedArray):
        return _from_arrow(one_array(column), name)
    if isinstance(column, pd.Series | pd.Index):
        column = column.array
    if isinstance(column, np.ndarray | pd.arrays.NumpyExtensionArray):
        return _from_numpy(np.asarray(column), name)
    if isinstance(column.dtype, pd.ArrowDtype | pd.StringDtype):
        return _from_arrow(one_array(pa.array(column)), name)
    kind = getattr(column.dtype, "kind", "O")
    if kind in "iuf" and hasattr(column.dtype, "numpy_dtype"):
        values: Weights = column.to_numpy(np.float64, na_value=np.nan)
        return values
    return _nothing(len(column)) if column.isna().all() else _refuse(str(column.dtype), name)


def count_rounded(column: Any, weights: Weights) -> tuple[int, int]:
    """Count the integers of a column that float64 does not hold; return the first as well.

    Parameters
    ----------
    column
        What :func:`read_weights` has read.
    weights : float64 array
        What it returned.

    Examples
    --------
    >>> column = np.array([2**53, 2**53 + 1, 2**60])
    >>> count_rounded(column, read_weights(column, "w"))
    (1, 9007199254740993)
    """
    if not len(weights) or _is_float(column):
        found: tuple[int, int] = getattr(column, "attrs", {}).get(_ROUNDED, (0, 0))
        return found
    large = np.flatnonzero(np.abs(weights) >= 2**53)
    count, first = 0, 0
    if len(large):
        exact = _taken(column, large)
        for value, weight in zip(exact, weights[large].tolist(), strict=True):
            if isinstance(value, Integral) and not math.isinf(weight) and value != int(weight):
                count, first = count + 1, first if count else int(value)
    return count, first


def as_floats(frame: pd.DataFrame) -> pd.DataFrame:
    """Return a frame with its weights, if it has any, as float64; those rounded are noted.

    >>> frame = as_floats(pd.DataFrame({"weight": [1, 2**53 + 1]}))
    >>> count_rounded(frame["weight"], frame["weight"].to_numpy())
    (1, 9007199254740993)
    """
    if "weight" not in frame:
        return frame
    exact = frame["weight"]
    weights = read_weights(exact, "weight")
    return note_rounded(frame.assign(weight=weights), count_rounded(exact, weights))


def note_rounded(frame: pd.DataFrame, rounded: tuple[int, int]) -> pd.DataFrame:
    """Return a frame whose weights are floats, which remembers those that are rounded.

    Parameters
    ----------
    frame : DataFrame
    rounded : tuple of int
        What :func:`count_rounded` is to return for its weights.
    """
    if rounded[0]:
        frame.attrs[_ROUNDED] = rounded
    return frame


def _is_float(column: Any) -> bool:
    dtype = getattr(column, "dtype", getattr(column, "type", None))
    return getattr(dtype, "kind", "") == "f" or "float" in str(dtype) or "double" in str(dtype)


def _taken(column: Any, rows: NDArray[np.int64]) -> list[Any]:
    """Return some of the values as Python numbers."""
    if isinstance(column, pa.Array | pa.ChunkedArray):
        return column.take(pa.array(rows)).to_pylist()  # type: ignore[no-any-return]
    if isinstance(column, pd.Series | pd.Index):
        column = column.array
    return list(column.take(rows).tolist())


def _from_numpy(values: NDArray[Any], name: str) -> Weights:
    if values.dtype.kind in "iuf":
        return np.ascontiguousarray(values, np.float64)
    if len(values) == 0:
        return _nothing(0)
    if values.dtype.kind == "O":
        missing = pd.isna(values)
        if all(map(_is_number, values[~missing])):
            return np.where(missing, np.nan, values).astype(np.float64)
        found = pd.api.types.infer_dtype(values, skipna=True)
        return _refuse(f"object ({found})", name)
    return _refuse(values.dtype.name, name)


def _is_number(value: object) -> bool:
    return isinstance(value, Real | Decimal) and not isinstance(value, bool)


def _from_arrow(array: pa.Array, name: str) -> Weights:
    kind = array.type
    if array.null_count == len(array):
        return _nothing(len(array))
    types = pa.types
    if not (types.is_integer(kind) or types.is_floating(kind) or types.is_decimal(kind)):
        return _refuse(str(kind), name)
    numbers = pc.cast(array, pa.float64(), safe=False)
    return np.asarray(numbers.to_numpy(zero_copy_only=False), np.float64)


def _nothing(rows: int) -> Weights:
    return np.full(rows, np.nan)


def _refuse(dtype: str, name: str) -> Weights:
    raise EdgeTypeError(
        f"column {name!r} has dtype {dtype}, expected numbers as weights: convert it to float64"
    )
