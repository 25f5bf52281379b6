"""The strength of vertices: what their out-edges weigh together."""

from __future__ import annotations

from typing import Any

import numba as nb
import numpy as np
from numpy.typing import NDArray

from dgraph.shard import Shard

__all__ = ["inverse_strength"]

Array = NDArray[Any]
Floats = NDArray[np.float64]


def inverse_strength(shard: Shard, weights: Array | None) -> Floats:
    """Return 1 / s(v) of every master v, 0 where s(v) is 0."""
    out, split = shard.out, shard.out_split
    if weights is None:
        strength = shard.out_degree.astype(np.float64)
    else:
        strength = row_sums(out.offsets, out.weights)
        if split is not None and split.strength is not None:
            strength = split.whole(strength, split.strength)
    with np.errstate(over="ignore"):  # it is refused
        return np.divide(1, strength, out=np.zeros_like(strength), where=strength > 0)


@nb.njit(nogil=True, cache=True)
def row_sums(offsets, weights):  # type: ignore[no-untyped-def]
    """Return the sum of every row, added from left to right."""
    sums = np.zeros(offsets.size - 1)
    for v in range(sums.size):
        for j in range(offsets[v], offsets[v + 1]):
            sums[v] += weights[j]
    return sums
