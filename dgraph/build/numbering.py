"""Stage A, numbering: every user id gets its `order`, its position among the sorted ids.

Slot k becomes registrar of the vertices whose orders lie in ``cuts[k] .. cuts[k+1]`` and holds
their ids, ascending. Each chunk gets a `Lookup` that turns its codes into orders. Integers
close together are numbered in `dgraph.build.dense`, all others in `dgraph.build.sparse`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NoReturn

import numpy as np
from numpy.typing import NDArray

from dgraph.build.numberset import NumberSet, mark
from dgraph.edges.chunk import EdgeChunk
from dgraph.engine.context import Context
from dgraph.errors import EdgeValueError
from dgraph.vertices.ids import Ids, IntIds, StringIds, ids_from_columns

__all__ = [
    "Lookup",
    "Numbering",
    "chunk_numbers",
    "concat_columns",
    "ids_above",
    "ids_of",
    "no_ids",
    "raise_undeclared",
]

Array = NDArray[Any]


@dataclass(slots=True)
class Lookup:
    """The way from the codes of one chunk to orders.

    Parameters
    ----------
    numbers : NumberSet or None
        ``code + shift`` is looked up here, then the position found in `orders`.
    shift : int
    orders : array or None
        None: the position is the order.
    """

    numbers: NumberSet | None = None
    shift: int = 0
    orders: Array | None = None

    def __call__(self, codes: Array) -> Array:
        """Return the order of each code."""
        found = codes if self.numbers is None else self.numbers.positions(codes, self.shift)
        return found if self.orders is None else self.orders[found]


@dataclass(slots=True)
class Numbering:
    """What one slot knows when all ids are numbered.

    Parameters
    ----------
    cuts : int64 array of length slots + 1
        Where the orders of each slot begin.
    ids : Ids
        The ids of this slot's orders, ascending.
    lookups : list of Lookup
        One for each edge chunk.
    orders : list of arrays
        For each vertex chunk the orders of its ids; -1: no vertex.
    """

    cuts: NDArray[np.int64]
    ids: Ids
    lookups: list[Lookup]
    orders: list[Array]

    @property
    def vertices(self) -> int:
        """How many vertices the graph has."""
        return int(self.cuts[-1])


def no_ids(dtype: str) -> Ids:
    """Return an empty column of ids.

    Examples
    --------
    >>> len(no_ids("str")), no_ids("uint8").dtype
    (0, 'uint8')
    """
    return StringIds.of([]) if dtype == "str" else IntIds(np.zeros(0, dtype))


def ids_above(low: int, numbers: Array, dtype: str) -> IntIds:
    """Return the ids ``low + number`` in a dtype that holds them.

    Examples
    --------
    >>> ids_above(2**63, np.array([0, 5]), "uint64")
    IntIds([9223372036854775808, 9223372036854775813])
    """
    wrapped = numbers.astype(np.uint64) + np.uint64(low & (2**64 - 1))
    return IntIds(wrapped.astype(dtype))


def chunk_numbers(chunk: EdgeChunk) -> NumberSet:
    """Return the codes that occur in a chunk that has no ids of its own."""
    bits = NumberSet.empty(chunk.high - chunk.low + 1)
    mark(bits, chunk.source, 0)
    mark(bits, chunk.target, 0)
    return NumberSet.of(bits, np.int64)


def concat_columns(dtype: str, columns: list[tuple[Array, ...]]) -> Ids:
    """Return one column of ids from the columns of several frames."""
    if not columns:
        return no_ids(dtype)
    parts = [ids_from_columns(dtype, some) for some in columns]
    return type(parts[0]).concat(parts)


async def ids_of(ctx: Context, numbering: Numbering, order: int, dtype: str) -> str:
    """Return the user id of an order as an error shows it; every slot asks for the same one."""
    begin, end = numbering.cuts[ctx.slot : ctx.slot + 2]
    here = np.array([order - begin] if begin <= order < end else [], np.int64)
    came = await ctx.allgather(*numbering.ids.take(here).to_columns())
    return repr(concat_columns(dtype, came)[0])


def raise_undeclared(vertex: Any) -> NoReturn:
    """Say that an edge names a vertex that was not declared."""
    raise EdgeValueError(
        "expected edges between the vertices that vertices= declares, or the file or matrix "
        f"itself, got an edge at {vertex!r}, which is not among them; declare it, or drop the "
        "edge"
    )
