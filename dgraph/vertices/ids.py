"""Typed columns of vertex ids: `IntIds`, `StringIds`, and what is done with either.

Everything below the algorithms holds users' ids in one of these two; a vertex number (order,
rank, local id) is a plain array.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from numpy.typing import NDArray

from dgraph.errors import EdgeTypeError
from dgraph.vertices.base import Codes, Ids, Positions, code_dtype
from dgraph.vertices.integers import IntIds, common_dtype
from dgraph.vertices.strings import StringIds

__all__ = [
    "Codes",
    "Ids",
    "IntIds",
    "Positions",
    "StringIds",
    "code_dtype",
    "common_dtype",
    "concat_ids",
    "ids_from_columns",
]


def ids_from_columns(dtype: str, columns: Sequence[NDArray[Any]]) -> Ids:
    """Rebuild ids of either kind from their dtype and the columns of a frame.

    Examples
    --------
    >>> ids = StringIds.of(["a", "b"])
    >>> ids_from_columns(ids.dtype, ids.to_columns())
    StringIds(['a', 'b'])
    """
    return (StringIds if dtype == "str" else IntIds).from_columns(dtype, columns)


def concat_ids(parts: Sequence[Ids]) -> Ids:
    """Return the ids of all parts, which are of one kind, one after the other.

    Empty parts of the other kind are left out: a partition without rows says nothing about the
    type of ids.

    Examples
    --------
    >>> import numpy as np
    >>> concat_ids([IntIds(np.array([1], np.int8)), IntIds(np.array([300]))])
    IntIds([1, 300])
    """
    filled = [part for part in parts if len(part)] or list(parts[:1])
    integers = [part for part in filled if isinstance(part, IntIds)]
    strings = [part for part in filled if isinstance(part, StringIds)]
    if integers and strings:
        raise EdgeTypeError(
            f"expected ids of one kind, got integers ({integers[0][0]!r}, ...) and strings "
            f"({strings[0][0]!r}, ...); convert one of them"
        )
    return StringIds.concat(strings) if strings else IntIds.concat(integers)
