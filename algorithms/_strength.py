"""The strength of vertices: what their out-edges weigh together."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from dgraph.kernels import kernel
from dgraph.shard import Shard

__all__ = ["inverse_strength"]

Array = NDArray[Any]
Floats = NDArray[np.float64]


def inverse_strength(shard: Shard, weights: Array | None, inverse: Floats) -> int:
    """Enter 1 / s(v) for every master v, 0 where s(v) is 0.

    Returns for how many it is infinite.
    """
    out, split = shard.out, shard.out_split
    if weights is None:
        invert_lengths(out.offsets, inverse)
        if split is not None:
            inverse[split.heavy] = 1 / split.degree
        return 0
    strength = row_sums(out.offsets, out.weights)
    if split is not None and split.strength is not None:
        strength = split.whole(strength, split.strength)
    return int(invert(strength, inverse))


@kernel(error_model="numpy")
def invert(strength, inverse):  # type: ignore[no-untyped-def]
    """Enter 1 / s, 0 where s is 0; return how many are infinite."""
    infinite = 0
    for v in range(strength.size):
        inverse[v] = 1 / strength[v] if strength[v] > 0 else 0
        infinite += np.isinf(inverse[v])
    return infinite


@kernel(error_model="numpy")
def invert_lengths(offsets, inverse):  # type: ignore[no-untyped-def]
    """Enter 1 / the length of every row, 0 where it is empty."""
    for v in range(inverse.size):
        length = offsets[v + 1] - offsets[v]
        inverse[v] = 1 / length if length > 0 else 0


@kernel
def row_sums(offsets, weights):  # type: ignore[no-untyped-def]
    """Return the sum of every row, added from left to right."""
    sums = np.zeros(offsets.size - 1)
    for v in range(sums.size):
        for j in range(offsets[v], offsets[v + 1]):
            sums[v] += weights[j]
    return sums
