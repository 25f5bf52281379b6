"""Which columns of a table are source, target and weight."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Any

from dgraph.errors import EdgeValueError, OptionError

__all__ = ["find_columns"]

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
        return _first_two(names, weights) + weights
    others = [at for at in range(len(names)) if at not in weights]
    positions = [
        others[at]
        if end == default and default not in names and _is_free(names, others, at, ends)
        else _position(names, end)
        for at, (end, default) in enumerate(zip(ends, _DEFAULTS, strict=True))
    ]
    if positions[0] == positions[1]:
        raise OptionError(f"source and target are both {source!r}, expected two columns")
    return positions + weights


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
    found = [at for at, known in enumerate(names) if known == name]
    if len(found) != 1:
        problem = "no column" if not found else "more than one column"
        raise EdgeValueError(
            f"the edges have {problem} {name!r}, only {_list(names)}: name columns with "
            "source=, target= and weight="
        )
    return found[0]


def _list(names: Sequence[Any]) -> str:
    return ", ".join(map(repr, names)) or "none"
