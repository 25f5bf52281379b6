"""The `dtype` argument of `read_edges`: what it may be, and columns that become it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc

from dgraph.edges.arrow import one_array
from dgraph.errors import EdgeTypeError, EdgeValueError, OptionError
from dgraph.keywords import hint

__all__ = ["as_dtype", "nullable", "wanted_dtypes"]

_COLUMNS = ("source", "target", "weight")


def nullable(dtype: str) -> str:
    """Return pandas' nullable form of an integer dtype.

    >>> nullable("int8"), nullable("uint64")
    ('Int8', 'UInt64')
    """
    return dtype.replace("int", "Int").replace("u", "U")


def wanted_dtypes(dtype: Any) -> dict[str, str]:
    """Return the dtypes that the user wants, of the columns for which one is wanted.

    Parameters
    ----------
    dtype : None, a dtype of both id columns, or a dict from source, target, weight to dtypes

    Examples
    --------
    >>> wanted_dtypes("uint32"), wanted_dtypes({"source": str, "weight": "float32"})
    ({'source': 'uint32', 'target': 'uint32'}, {'source': 'str', 'weight': 'float32'})
    """
    if dtype is None:
        return {}
    if not isinstance(dtype, Mapping):
        dtype = {"source": dtype, "target": dtype}
    unknown = [name for name in dtype if name not in _COLUMNS]
    if unknown:
        raise OptionError(
            f"dtype names {unknown[0]!r}, expected {', '.join(_COLUMNS)}"
            f"{hint(unknown[0], _COLUMNS)}"
        )
    return {
        name: _weight_dtype(each) if name == "weight" else _id_dtype(each)
        for name, each in dtype.items()
    }


def as_dtype(column: pd.Series[Any], dtype: str) -> pd.Series[Any]:
    """Return a column in a wanted dtype, every value of it what it was.

    Parameters
    ----------
    column : Series
        Of any dtype: of numbers, of strings that are written as such, ...
    dtype : str
        A value of what `wanted_dtypes` returns.

    Raises
    ------
    EdgeValueError
        If the dtype does not hold a value, or a missing one.

    Examples
    --------
    >>> as_dtype(pd.Series(["7", None]), "Int8").to_list()
    [7, <NA>]
    >>> as_dtype(pd.Series([300], name="u"), "int8")
    Traceback (most recent call last):
        ...
    dgraph.errors.EdgeValueError: column 'u' of dtype int64 is no int8: Integer value 300 not \
in range: -128 to 127; pass another dtype=, or leave it out
    """
    if dtype == "str":
        return column.astype("str")
    values: Any
    try:
        if "float" in dtype:
            values = column.astype(np.dtype(dtype))
        else:
            values = _as_integers(column, dtype)
    except (pa.ArrowException, ValueError, TypeError, OverflowError) as error:
        raise EdgeValueError(
            f"column {column.name!r} of dtype {column.dtype} is no {dtype}: {error}; pass "
            "another dtype=, or leave it out"
        ) from error
    return pd.Series(values, index=column.index, name=column.name)


def _as_integers(column: pd.Series[Any], dtype: str) -> Any:
    """Return an array of an integer dtype; raise whatever is wrong with the values."""
    width = np.dtype(dtype.lower())
    known = one_array(pa.array(column, from_pandas=True))
    if pa.types.is_dictionary(known.type):
        known = known.dictionary_decode()
    whole = pc.cast(known, pa.from_numpy_dtype(width))
    missing = whole.is_null().to_numpy(zero_copy_only=False)
    if dtype == width.name:
        if missing.any():
            raise ValueError(f"some are missing, which {nullable(dtype)} can hold")
        return whole.to_numpy()
    return pd.arrays.IntegerArray(whole.fill_null(0).to_numpy().copy(), missing.copy())


def _id_dtype(dtype: Any) -> str:
    known = _known(dtype)
    if known == np.dtype(object) or known.kind in "UT" or isinstance(known, pd.StringDtype):
        return "str"
    if known.kind in "iu" and isinstance(known, np.dtype):
        return known.name
    if known.kind in "iu":
        width: np.dtype[Any] = known.numpy_dtype
        return nullable(width.name)
    raise EdgeTypeError(f"dtype of ids must be an integer or string dtype, not {dtype!r}")


def _weight_dtype(dtype: Any) -> str:
    known = _known(dtype)
    if isinstance(known, np.dtype) and known.kind == "f":
        return known.name
    raise EdgeTypeError(f"dtype of weights must be a floating dtype of NumPy, not {dtype!r}")


def _known(dtype: Any) -> Any:
    try:
        return pd.api.types.pandas_dtype(dtype)
    except TypeError as error:
        raise EdgeTypeError(f"dtype must be one that pandas knows, not {dtype!r}") from error
