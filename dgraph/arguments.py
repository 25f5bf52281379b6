"""Arguments of users: checked here, before anything is done, with one sentence if wrong.

Numbers, flags and choices may be NumPy scalars. What names vertices: `dgraph.named_ids`.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Sequence
from numbers import Real
from typing import Any

import numpy as np

from dgraph.errors import OptionError, OptionTypeError
from dgraph.keywords import hint

__all__ = [
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
