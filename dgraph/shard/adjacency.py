"""Compressed sparse rows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["Adjacency"]

Array = NDArray[Any]


@dataclass(frozen=True, slots=True)
class Adjacency:
    """Compressed sparse rows over local ids.

    Parameters
    ----------
    offsets : int64 array of length rows + 1
    targets : int32 array
        Local ids; inside a row by ascending rank, so the first hit is the first in the vertex
        order.
    weights : float32 or float64 array, or None
        Beside `targets`; float32 where that loses nothing.
    """

    offsets: NDArray[np.int64]
    targets: NDArray[np.int32]
    weights: Array | None = None

    @property
    def nbytes(self) -> int:
        """Bytes of the arrays."""
        weights = 0 if self.weights is None else self.weights.nbytes
        return self.offsets.nbytes + self.targets.nbytes + weights
