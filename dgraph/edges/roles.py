"""Which columns of a table are source, target and weight."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Any

from dgraph.errors import EdgeValueError, OptionError
from dgraph.keywords import hint

__all__ = ["check_unique", "find_columns"]

_DEFAULTS = ("source", "target")


def find_columns(
    names: Sequence[Any], source: Hashable, target: Hashable, weight: Hashable
) -> list[int]:
    """Return the positions of source, target and, if there is to be one, weight.

    Parameters
    ----------
    names : sequence
        The columns of the table.
    source, target
        Names of columns; the defaults "source" and "target" mean the first two columns, if
        there are no columns of these names; one of them alone the first or the second.
    weight
        Name of a column, True for "weight", None or False for none.

    Raises
    ------
    EdgeValueError
        If there is no such column, or another one of the same name.
    OptionError
        If source and target are the same column.

    Examples
    --------
    >>> find_columns(["time", "target", "source"], "source", "target", None)
    [2, 1]
    >>> find_columns(["w", "u", "v"], "source", "target", "w")
    [1, 2, 0]
    >>> find_columns(["from", "to", "km"], "from", "target", None)
    [0, 1]
    """
    names = list(names)
    weights: list[int] = []
    if weight is not None and weight is not False:
        weights = [_position(names, "weight" if weight is True else weight)]
    ends = [source, target]
    if tuple(ends) == _DEFAULTS and not set(_DEFAULTS) <= set(names):
        positions = _first_two(names, weights)
        check_unique("the edges have", names, positions)
        return positions + weights
    others = [at for at in range(len(names)) if at not in weights]
    positions = [
        others[at]
        if end == default and default not in names and _is_free(names, others, at, ends)
        else _position(names, end)
        for at, (end, default) in enumerate(zip(ends, _DEFAULTS, strict=True))
    ]
    if positions[0] == positions[1]:
        raise OptionError(f"source and target are both {source!r}, expected two columns")
    check_unique("the edges have", names, positions)
    return positions + weights


def check_unique(
    whose: str, names: Sequence[Any], positions: Sequence[int], remedy: str = "rename one"
) -> None:
    """Raise if another column has the same name as one that is read.

    Parameters
    ----------
    whose : str
        What has the columns, and the verb, for the message.
    names : sequence
        The columns of the table.
    positions : sequence of int
        The columns that are read.
    remedy : str

    Raises
    ------
    EdgeValueError

    Examples
    --------
    >>> check_unique("the edges have", ["a", "b", "b"], [0, 1])
    Traceback (most recent call last):
        ...
    dgraph.errors.EdgeValueError: the edges have more than one column 'b', expected names that \
differ: rename one
    """
    names = list(names)
    for at in positions:
        if names.count(names[at]) > 1:
            raise EdgeValueError(
                f"{whose} more than one column {names[at]!r}, expected names that differ: "
                f"{remedy}"
            )


def _is_free(names: list[Any], others: list[int], at: int, ends: Sequence[Hashable]) -> bool:
    """Whether the column in place of a default is not the other end, which the user named."""
    return at < len(others) and names[others[at]] != ends[1 - at]


def _first_two(names: list[Any], weights: list[int]) -> list[int]:
    others = [at for at in range(len(names)) if at not in weights]
    if len(others) < 2:
        raise EdgeValueError(
            f"the edges have the columns {_list(names)}, expected two of ids: name them with "
            "source= and target="
        )
    for at, name in zip(others, _DEFAULTS, strict=False):
        if name in names and names.index(name) != at:
            other = _DEFAULTS[1 - _DEFAULTS.index(name)]
            raise EdgeValueError(
                f"the edges have a column {name!r} but no {other!r}, only {_list(names)}: name "
                "them with source= and target="
            )
    return others[:2]


def _position(names: list[Any], name: Hashable) -> int:
    if name not in names:
        raise EdgeValueError(
            f"the edges have no column {name!r}, only {_list(names)}: name columns with "
            f"source=, target= and weight={hint(name, names)}"
        )
    at = names.index(name)
    check_unique("the edges have", names, [at])
    return at


def _list(names: Sequence[Any]) -> str:
    return ", ".join(map(repr, names)) or "none"
