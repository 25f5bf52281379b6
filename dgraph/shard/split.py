"""Rows that are split over slots: the rhizomes and ghosts of heavy vertices.

::

    owner of v     row of v: the first piece                         (heavy, degree)
    slot s         a piece of the row of v, beside a proxy of v      (vertices, rows)
    slot t         another one

Every entry of a row lies in one piece, and a piece is in ascending rank as a row is. The first
piece, on the owner, is never empty.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dgraph.shard.adjacency import Adjacency

__all__ = ["Split"]


@dataclass(frozen=True, slots=True)
class Split:
    """What a slot holds of the split rows of one family, out-edges or in-edges.

    Parameters
    ----------
    heavy : int32 array
        Masters of this slot whose rows are split, ascending.
    degree : int64 array beside `heavy`
        The entries of their whole rows.
    strength : float64 array beside `heavy`, or None
        The sums of the weights of their whole rows, added from left to right.
    vertices : int32 array
        Proxies of which a piece lies here, ascending.
    placed : int64 array beside `vertices`
        Their placed numbers.
    rows : Adjacency
        The pieces: a row for each of `vertices`.
    sent : tuple of int32 arrays, one for each slot
        The heavy masters that have a piece there, ascending: the sequence in which that slot
        has them among its `vertices`.
    bits : bitmap over the local ids
        Of all masters and proxies whose rows are split.
    parted : bool
        Whether parallel edges lie in different pieces, on any slot.
    """

    heavy: NDArray[np.int32]
    degree: NDArray[np.int64]
    strength: NDArray[np.float64] | None
    vertices: NDArray[np.int32]
    placed: NDArray[np.int64]
    rows: Adjacency
    sent: tuple[NDArray[np.int32], ...]
    bits: NDArray[np.uint64]
    parted: bool = False

    @property
    def nbytes(self) -> int:
        """Bytes of the arrays."""
        strength = 0 if self.strength is None else self.strength.nbytes
        own = self.heavy.nbytes + self.degree.nbytes + strength
        pieces = self.vertices.nbytes + self.placed.nbytes + self.rows.nbytes
        return own + pieces + self.bits.nbytes + sum(some.nbytes for some in self.sent)

    def whole(self, of_rows: NDArray[Any], values: NDArray[Any]) -> NDArray[Any]:
        """Return figures of the rows of the masters, with those of whole rows where split."""
        found = of_rows.copy()
        found[self.heavy] = values
        return found
