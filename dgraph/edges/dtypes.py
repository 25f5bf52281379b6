"""The `dtype` argument of `read_edges`: what it may be, and columns that become it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc

from dgraph.edges.arrow import as_strings, check_utf8, one_array
from dgraph.errors import DgraphError, EdgeTypeError, EdgeValueError, OptionError
from dgraph.keywords import hint

__all__ = ["as_dtype", "nullable", "wanted_dtypes"]

_INTEGER = "^[+-]?[0-9]+$"
_NUMBER = r"^([+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?|[+-]?(?i:inf|infinity|nan))$"
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
        Ids: integers, or strings; as integers strings that are written as such, as in text.
        Weights: numbers, or strings that are written as such. Of any dtype what is missing.
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
    dgraph.errors.EdgeValueError: column 'u' of dtype int64 is no int8: 300 is not between \
-128 and 127; pass another dtype=, or leave it out
    """
    convert = _as_text if dtype == "str" else _as_floats if "float" in dtype else _as_integers
    try:
        values = convert(_known_values(column), dtype)
    except DgraphError:
        raise
    except (pa.ArrowException, ValueError, TypeError, OverflowError) as error:
        raise EdgeValueError(
            f"column {column.name!r} of dtype {column.dtype} is no {dtype}: {error}; pass "
            "another dtype=, or leave it out"
        ) from error
    return pd.Series(values, index=column.index, name=column.name)


def _known_values(column: pd.Series[Any]) -> pa.Array:
    """Return a column as Arrow keeps it, no dictionary, strings checked."""
    known = one_array(_arrow(column))
    if pa.types.is_dictionary(known.type):
        known = known.dictionary_decode()
    if pa.types.is_binary(known.type) or pa.types.is_large_binary(known.type):
        known = known.cast(pa.large_string(), safe=False)
    strings = as_strings(known)
    if strings is None:
        return known
    check_utf8(strings, str(column.name))
    return strings


def _arrow(values: Any) -> Any:
    """Return values as Arrow keeps them, which takes Python's integers for int64 if it can."""
    try:
        return pa.array(values, from_pandas=True)
    except OverflowError:
        pass
    try:
        return pa.array(values, pa.uint64(), from_pandas=True)
    except OverflowError:
        raise ValueError("they fit neither int64 nor uint64") from None


def _as_text(known: pa.Array, dtype: str) -> Any:
    """Return strings in pandas' own dtype of them."""
    if not pa.types.is_large_string(known.type):
        _require(pa.types.is_integer(known.type), known, "neither integers nor strings")
        known = known.cast(pa.large_string())
    text: Any = pd.StringDtype("pyarrow", na_value=np.nan)
    return text.__from_arrow__(pa.chunked_array([known]))


def _as_floats(known: pa.Array, dtype: str) -> Any:
    """Return an array of a floating dtype, NaN where a value is missing."""
    kind = known.type
    if pa.types.is_large_string(kind):
        _require_written(known, _NUMBER, "a number")
    else:
        number = pa.types.is_integer(kind) or pa.types.is_floating(kind)
        _require(number or pa.types.is_decimal(kind), known, "no numbers")
    floats = pc.cast(known, pa.float64(), safe=False)
    return floats.to_numpy(zero_copy_only=False).astype(dtype)


def _as_integers(known: pa.Array, dtype: str) -> Any:
    """Return an array of an integer dtype; raise whatever is wrong with the values."""
    width = np.dtype(dtype.lower())
    if pa.types.is_large_string(known.type):
        whole = _read_integers(known)
    else:
        kind = known.type
        exact = pa.types.is_integer(kind) or (pa.types.is_decimal(kind) and kind.scale <= 0)
        _require(exact, known, "neither integers nor strings")
        whole = known
    extent = pc.min_max(whole).as_py()
    bounds = np.iinfo(width)
    for value in extent.values():
        if value is not None and not bounds.min <= value <= bounds.max:
            raise ValueError(f"{value} is not between {bounds.min} and {bounds.max}")
    whole = pc.cast(whole, pa.from_numpy_dtype(width))
    missing = whole.is_null().to_numpy(zero_copy_only=False)
    if dtype == width.name:
        if missing.any():
            raise ValueError(f"some are missing, which {nullable(dtype)} can hold")
        return whole.to_numpy()
    return pd.arrays.IntegerArray(whole.fill_null(0).to_numpy().copy(), missing.copy())


def _read_integers(text: pa.Array) -> pa.Array:
    """Read strings that are written as integers, as in text files: 7, -7, +7, 007."""
    _require_written(text, _INTEGER, "an integer")
    digits = pc.replace_substring_regex(text, r"^\+", "")
    try:
        return pc.cast(digits, pa.int64())
    except pa.ArrowInvalid:  # too large for it
        return _arrow([None if word is None else int(word) for word in digits.to_pylist()])


def _require(fits: bool, known: pa.Array, what: str) -> None:
    """Raise unless a column is of a kind that fits, or has no values at all."""
    if not fits and known.null_count < len(known):
        raise TypeError(f"it holds {what}")


def _require_written(text: pa.Array, pattern: str, what: str) -> None:
    """Raise unless all strings are written in a way."""
    fits = pc.match_substring_regex(text, pattern)
    if pc.all(fits).as_py() is False:
        wrong = text.filter(pc.invert(fits))[0].as_py()
        raise ValueError(f"{wrong!r} is not written as {what}")


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
