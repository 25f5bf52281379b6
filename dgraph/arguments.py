"""Arguments of users: checked here, before anything is done, with one sentence if wrong.

Numbers, flags and choices may be NumPy scalars. What names vertices becomes ids: whether an id
is a vertex is found out by the slots; what cannot be one, because it is of the wrong type, is
refused here with the same error.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Iterable, Mapping, Sequence
from numbers import Real
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from dgraph.errors import OptionError, OptionTypeError, VertexNotFoundError
from dgraph.keywords import hint
from dgraph.vertices.ids import Ids, IntIds, StringIds

__all__ = [
    "as_ids",
    "as_list",
    "as_sources",
    "as_values",
    "choice",
    "flag",
    "integer",
    "number",
    "optional_flag",
    "optional_integer",
    "optional_number",
    "slot_counts",
]


def flag(name: str, value: Any) -> bool:
    """Return an argument that is true or false.

    Raises
    ------
    OptionTypeError
        If it is anything but a bool, for ``bool("no")`` is True.

    Examples
    --------
    >>> flag("weighted", np.bool_(False))
    False
    >>> flag("weighted", "no")
    Traceback (most recent call last):
        ...
    dgraph.errors.OptionTypeError: weighted must be True or False, not 'no'
    """
    if isinstance(value, bool | np.bool_):
        return bool(value)
    raise OptionTypeError(f"{name} must be True or False, not {_shown(value)}")


def optional_flag(name: str, value: Any) -> bool | None:
    """Return an argument that is true or false, or left out; see :func:`flag`."""
    if value is None or isinstance(value, bool | np.bool_):
        return None if value is None else bool(value)
    raise OptionTypeError(f"{name} must be True, False or None, not {_shown(value)}")


def integer(
    name: str, value: Any, low: int | None = None, high: int | None = None, also: str = ""
) -> int:
    """Return an integer argument.

    Parameters
    ----------
    name : str
    value
    low, high : int, optional
        The least and the greatest that are allowed.
    also : str
        What else is allowed, for the message.

    Raises
    ------
    OptionTypeError
        If it is no integer; neither 2.0 nor True is one.
    OptionError
        If it is out of its range.

    Examples
    --------
    >>> integer("slots", np.int64(3), 1)
    3
    >>> integer("slots", 1.5, 1)
    Traceback (most recent call last):
        ...
    dgraph.errors.OptionTypeError: slots must be an integer from 1 on, not 1.5
    """
    found = None
    if not isinstance(value, bool | np.bool_ | np.ndarray):
        try:
            found = operator.index(value)
        except TypeError:
            pass
        else:
            if (low is None or low <= found) and (high is None or found <= high):
                return found
    kind = OptionTypeError if found is None else OptionError
    raise kind(f"{name} must be an integer{_range(low, high)}{also}, not {_shown(value)}")


def number(
    name: str,
    value: Any,
    low: float = -math.inf,
    high: float = math.inf,
    *,
    above: float | None = None,
    also: str = "",
) -> float:
    """Return an argument that is a number.

    Parameters
    ----------
    name : str
    value
    low, high : float
        The least and the greatest that are allowed.
    above : float, optional
        Must be below a number, which must then be finite.
    also : str
        What else is allowed, for the message.

    Raises
    ------
    OptionTypeError
        If it is no real number.
    OptionError
        If it is NaN or out of its range.

    Examples
    --------
    >>> number("alpha", np.float32(0.5), 0, 1)
    0.5
    >>> number("alpha", "0.85", 0, 1)
    Traceback (most recent call last):
        ...
    dgraph.errors.OptionTypeError: alpha must be a number from 0 to 1, not '0.85'
    """
    real = isinstance(value, Real) and not isinstance(value, bool | np.bool_)
    if real and low <= value <= high and (above is None or above < value < math.inf):
        return float(value)
    span = _range(low, high) if above is None else f" above {above:g}, not infinite"
    kind = OptionError if real else OptionTypeError
    raise kind(f"{name} must be a number{span}{also}, not {_shown(value)}")


def optional_integer(name: str, value: Any, low: int | None = None) -> int | None:
    """Return an integer argument that may be left out; see :func:`integer`."""
    return None if value is None else integer(name, value, low, also=" or None")


def optional_number(
    name: str, value: Any, low: float = -math.inf, *, above: float | None = None
) -> float | None:
    """Return an argument that is a number and may be left out; see :func:`number`."""
    return None if value is None else number(name, value, low, above=above, also=" or None")


def slot_counts(slots: Any, virtual_slots: Any) -> None:
    """Check what a user says of slots.

    Raises
    ------
    OptionError
        If one of the two is no number of slots, or if both are given.

    Examples
    --------
    >>> slot_counts(1, 2)
    Traceback (most recent call last):
        ...
    dgraph.errors.OptionError: slots must be left out where virtual_slots is given, or the \
other way round, not slots=1 with virtual_slots=2
    """
    optional_integer("slots", slots, 1)
    optional_integer("virtual_slots", virtual_slots, 1)
    if slots is not None and virtual_slots is not None:
        raise OptionError(
            "slots must be left out where virtual_slots is given, or the other way round, not "
            f"slots={slots} with virtual_slots={virtual_slots}"
        )


def choice(name: str, value: Any, allowed: Sequence[str]) -> str:
    """Return an argument that is one of some words.

    Raises
    ------
    OptionTypeError
        If it is no string.
    OptionError
        If it is another one.

    Examples
    --------
    >>> choice("connection", "wek", ("weak", "strong"))
    Traceback (most recent call last):
        ...
    dgraph.errors.OptionError: connection must be 'weak' or 'strong', not 'wek'; did you mean \
'weak'?
    """
    if isinstance(value, str) and value in allowed:
        return value
    kind = OptionError if isinstance(value, str) else OptionTypeError
    *others, last = map(repr, allowed)
    given = f"{_shown(value)}{hint(value, allowed)}"
    raise kind(f"{name} must be {', '.join(others)} or {last}, not {given}")


def _range(low: float | None, high: float | None) -> str:
    """Say which numbers are allowed.

    >>> _range(1, None), _range(0, 1), _range(None, 7), _range(None, None)
    (' from 1 on', ' from 0 to 1', ' of at most 7', '')
    """
    least = None if low == -math.inf else low
    most = None if high == math.inf else high
    if least is None:
        return "" if most is None else f" of at most {most}"
    return f" from {least} on" if most is None else f" from {least} to {most}"


def _shown(value: Any) -> str:
    """Return what came as a message shows it: short.

    >>> _shown("no"), _shown(np.int64(2)), _shown([1, 2])
    ("'no'", '2', 'a list')
    """
    if isinstance(value, np.generic):
        value = value.item()
    if value is None or isinstance(value, str | int | float | complex):
        return repr(value)[:80]
    return f"a {type(value).__name__}"


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
got '7'
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
            nested = isinstance(vertex, list | np.ndarray)
            raise VertexNotFoundError(
                f"expected a vertex of the graph, whose ids are {dtype}, got {vertex!r}"
                + ("; flatten the list or array that it is in" if nested else "")
            )
    kind = str if dtype == "str" else int
    return [kind(vertex) for vertex in vertices]


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
