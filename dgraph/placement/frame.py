"""Placement by a frame (vertex, slot) that the user brings."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dgraph.build.strategy import Totals, VertexBlock, no_measure
from dgraph.errors import OptionError


@dataclass(frozen=True, eq=False)
class Frame:
    """Place each vertex on the slot that the user's table gives it.

    Parameters
    ----------
    table : frame of (vertex, slot), optional
        Every vertex of the graph once; ids that the graph lacks are passed over. The client
        reads it as it reads edges and sends each block of vertices its rows
        (`VertexBlock.given`); slots are told of ``Frame()`` only.

    Examples
    --------
    >>> import numpy as np
    >>> from dgraph.placement import Given, Totals, VertexBlock
    >>> from dgraph.vertices.ids import StringIds
    >>> number = np.arange(2)
    >>> given = Given(StringIds.of(["b", "a"]), np.array([0, 1]))
    >>> block = VertexBlock(number, number, number, StringIds.of(["a", "b"]), given)
    >>> Frame().slots_of(block, 2, Totals(0, np.empty((1, 0), int)))
    array([1, 0], dtype=int32)
    """

    table: Any = None

    def measure(self, block: VertexBlock) -> NDArray[np.int64]:
        """Return nothing: the table says everything."""
        return no_measure()

    def slots_of(self, block: VertexBlock, slots: int, totals: Totals) -> NDArray[np.int32]:
        """Return the given slots, in the sequence of the block's vertices."""
        owner = np.full(len(block), -1, np.int32)
        if block.given is not None:
            place = block.ids.locate(block.given.ids)
            known = place >= 0
            place, given = place[known], block.given.slots[known]
            _check_range(block, place, given, slots)
            _check_once(block, place)
            owner[place] = given
        _check_all(block, owner)
        return owner


def _check_range(
    block: VertexBlock, place: NDArray[np.int64], given: NDArray[Any], slots: int
) -> None:
    wrong = np.flatnonzero((given < 0) | (given >= slots))
    if wrong.size:
        first = wrong[0]
        raise OptionError(
            f"the slots of the placement must be from 0 to {slots - 1}, not {given[first]} as "
            f"for vertex {block.ids[int(place[first])]!r}: correct its row"
        )


def _check_once(block: VertexBlock, place: NDArray[np.int64]) -> None:
    rows = np.bincount(place, minlength=len(block))
    if rows.max(initial=0) > 1:
        twice = int(np.flatnonzero(rows > 1)[0])
        raise OptionError(
            f"every vertex must stand once in the placement, not in {rows[twice]} rows as "
            f"vertex {block.ids[twice]!r}: drop all but one"
        )


def _check_all(block: VertexBlock, owner: NDArray[np.int32]) -> None:
    absent = np.flatnonzero(owner < 0)
    if absent.size:
        raise OptionError(
            "every vertex must stand in the placement, but vertex "
            f"{block.ids[int(absent[0])]!r} is missing: add a row with its slot"
        )
