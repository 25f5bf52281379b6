"""The `dtype` argument of `read_edges`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd

from dgraph.errors import EdgeTypeError, OptionError
from dgraph.keywords import hint

__all__ = ["nullable", "wanted_dtypes"]

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
