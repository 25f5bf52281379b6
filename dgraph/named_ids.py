"""Vertices that a user names become ids, and values of them columns.

Whether an id is a vertex is found out by the slots; what cannot be one, because it is of the
wrong type, is refused here with the same error.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from dgraph.errors import OptionError, OptionTypeError, VertexNotFoundError
from dgraph.vertices.ids import Ids, IntIds, StringIds

__all__ = ["as_ids", "as_list", "as_sources", "as_values"]


def as_sources(source: Any, dtype: str) -> Ids:
    """Return the distinct vertices that a user named.

    Parameters
    ----------
    source : int, str, or list, array or Series of them
        Those of NumPy, pandas, polars, pyarrow and Dask too.
    dtype : str
        Of the graph's ids.

    Raises
    ------
    OptionError
        If there is none.
    VertexNotFoundError
        If one cannot be a vertex of a graph with such ids.

    Examples
    --------
    >>> as_sources(7, "int64"), as_sources(["b", "a", "b"], "str")
    (IntIds([7]), StringIds(['b', 'a']))
    >>> as_sources("7", "int64")
    Traceback (most recent call last):
        ...
    dgraph.errors.VertexNotFoundError: expected a vertex of the graph, whose ids are int64, \
got '7': pass it as an integer
    """
    named = dict.fromkeys(_vertices(as_list(source), dtype))
    if not named:
        raise OptionError("expected at least one source, got an empty list")
    return _ids(list(named), dtype)


def as_list(some: Any) -> list[Any]:
    """Return what a user named, one or many, as a list.

    Raises
    ------
    OptionTypeError
        If it is a table: a list of it would be the names of its columns.

    Examples
    --------
    >>> as_list(7), as_list("ab"), as_list(np.array([7, 8]))
    ([7], ['ab'], [7, 8])
    """
    is_table = getattr(some, "ndim", 2) == 2  # Dask's Series have columns as well
    if is_table and hasattr(some, "columns"):  # of pandas, Dask, polars, Arrow
        raise OptionTypeError(
            f"expected a list, array or Series, got a {type(some).__name__}; pass one of its "
            "columns, such as frame['vertex']"
        )
    for conversion in ("compute", "to_pylist", "as_py"):  # of Dask; of an Arrow array or scalar
        if hasattr(some, conversion):
            some = getattr(some, conversion)()
    if isinstance(some, np.ndarray):
        some = some.tolist()  # of no dimension: a scalar
    return (
        [some] if isinstance(some, str | bytes) or not isinstance(some, Iterable) else [*some]
    )


def as_ids(named: Iterable[Any], dtype: str) -> Ids:
    """Return what a user named as ids of a graph; see :func:`as_sources`."""
    return _ids(_vertices(named, dtype), dtype)


def _vertices(named: Iterable[Any], dtype: str) -> list[Any]:
    """Return what may be vertices as Python's integers or strings."""
    vertices = list(named)
    for vertex in vertices:
        if not _may_be_id(vertex, dtype):
            raise VertexNotFoundError(
                f"expected a vertex of the graph, whose ids are {dtype}, got {vertex!r}"
                f"{_remedy(vertex, dtype)}"
            )
    kind = str if dtype == "str" else int
    return [kind(vertex) for vertex in vertices]


def _remedy(vertex: Any, dtype: str) -> str:
    """Say what to do about what is no vertex, if that is known.

    >>> _remedy("7", "int64"), _remedy(7, "str"), _remedy(2.5, "int64")
    (': pass it as an integer', ': pass it as a string', '')
    """
    if vertex is None:
        return ": name one, as g.vertices() lists them"
    if isinstance(vertex, list | np.ndarray):
        return "; flatten the list or array that it is in"
    if dtype == "str":
        return ": pass it as a string" if isinstance(vertex, int | np.integer) else ""
    digits = isinstance(vertex, str) and vertex.removeprefix("-").isdecimal()
    whole = isinstance(vertex, float | np.floating) and float(vertex).is_integer()
    return ": pass it as an integer" if digits or whole else ""


def _ids(vertices: list[Any], dtype: str) -> Ids:
    return StringIds.of(vertices) if dtype == "str" else IntIds(np.array(vertices, dtype))


def _may_be_id(vertex: Any, dtype: str) -> bool:
    if dtype == "str":
        return isinstance(vertex, str)
    if isinstance(vertex, bool | np.bool_) or not isinstance(vertex, int | np.integer):
        return False
    bounds = np.iinfo(dtype)
    return bool(bounds.min <= vertex <= bounds.max)


def as_values(values: Any, dtype: str, name: str) -> tuple[Ids, NDArray[np.float64]]:
    """Return vertices and the number that a user gave each of them.

    Parameters
    ----------
    values : dict, Series (indexed by vertex) or frame of two columns (vertex, value)
        Vertices that are not named have the value 0.
    dtype : str
        Of the graph's ids.
    name : str
        What messages call the argument.

    Raises
    ------
    OptionError
        If it is nothing of this kind; if a value is negative, infinite or missing; if a vertex
        is named twice; if the values add up to 0.
    VertexNotFoundError
        If a key cannot be a vertex.

    Examples
    --------
    >>> as_values({"a": 1, "b": 3}, "str", "personalization")
    (StringIds(['a', 'b']), array([1., 3.]))
    """
    keys, numbers = _pairs(values, name)
    ids = as_ids(keys, dtype)
    try:
        array = np.array([float(number) for number in numbers])
    except (TypeError, ValueError) as error:
        raise OptionError(f"expected numbers as the values of {name}, {error}") from None
    if len(set(keys)) < len(keys):
        twice = next(key for key in keys if keys.count(key) > 1)
        raise OptionError(f"{name} names vertex {twice!r} twice, expected every vertex once")
    wrong = np.flatnonzero(~(np.isfinite(array) & (array >= 0)))
    if len(wrong):
        raise OptionError(
            f"{name} gives vertex {keys[wrong[0]]!r} the value {array[wrong[0]]:g}, expected "
            "finite numbers from 0 on"
        )
    if not array.max(initial=0) > 0:
        raise OptionError(f"the values of {name} add up to 0, expected at least one above 0")
    return ids, array


def _pairs(values: Any, name: str) -> tuple[list[Any], list[Any]]:
    if hasattr(values, "compute"):
        values = values.compute()
    if isinstance(values, Mapping):
        return list(values), list(values.values())
    if isinstance(values, pd.Series):
        return values.index.tolist(), values.tolist()
    if hasattr(values, "to_pandas"):
        values = values.to_pandas()
    if isinstance(values, pd.DataFrame) and values.shape[1] == 2:
        return values.iloc[:, 0].tolist(), values.iloc[:, 1].tolist()
    raise OptionError(
        f"{name} must be a dict, a Series indexed by vertex or a frame of two columns (vertex, "
        f"value), not {type(values).__name__}"
    )
