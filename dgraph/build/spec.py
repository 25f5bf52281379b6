"""What a build is told: frozen, picklable, the same for every slot."""

from __future__ import annotations

from dataclasses import dataclass

from dgraph.build.rhizomes import Rhizomes
from dgraph.build.strategy import EdgeStrategy, Strategy

__all__ = ["BuildSpec"]


@dataclass(frozen=True, slots=True)
class BuildSpec:
    """The policies of a graph, and what the client found in the receipts of its partitions.

    Parameters
    ----------
    ids : str
        The users' dtype, which holds every id: ``"int64"``, ``"uint8"``, ``"str"``, ...
    placement : Strategy or EdgeStrategy
    directed, weighted : bool
    duplicates : {"min", "max", "sum", "first", "keep", "error"}
        What becomes of parallel edges; without weights all but the last two merge them.
    self_loops : {"keep", "drop", "error"}
    declared : bool
        Whether only the vertices of the vertex chunks exist; else all ids that edges name do.
    low, high : int or None
        The least and the greatest id, edges' and vertices', if these are integers so close
        together that a bitmap of the range serves as dictionary; see :meth:`dense_range`.
    rhizomes : Rhizomes or None
        How the rows of heavy vertices are split; None: not at all.
    """

    ids: str
    placement: Strategy | EdgeStrategy
    directed: bool = False
    weighted: bool = False
    duplicates: str = "min"
    self_loops: str = "keep"
    declared: bool = False
    low: int | None = None
    high: int | None = None
    rhizomes: Rhizomes | None = None

    @staticmethod
    def dense_range(low: int, high: int, rows: int, slots: int) -> bool:
        """Tell whether a bitmap of the range costs each slot less than 4 bytes for a row.

        Examples
        --------
        >>> BuildSpec.dense_range(0, 2**20, rows=2**24, slots=2)
        True
        >>> BuildSpec.dense_range(0, 2**40, rows=2**24, slots=2)
        False
        """
        return high - low < 16 * max(rows // slots, 2**16)
