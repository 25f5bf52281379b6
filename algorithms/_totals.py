"""Sums over all vertices that do not depend on how these are spread over the slots."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dgraph.engine.context import Context

__all__ = ["exact_totals"]

Array = NDArray[Any]

#: Bits that a sum may take in an int64.
ROOM = 61

#: The exponent that stands for numbers that are not finite, and the one for no numbers.
ENDLESS, NOTHING = 5000, -1000


async def exact_totals(ctx: Context, parts: Mapping[str, Any]) -> dict[str, float | int]:
    """Sum arrays over all slots: two exchanges.

    Integers and bools are added as int64. Floats are cut at two grids that all slots share, and
    the two parts are added as integers. If a float is not finite, its sum is NaN.

    Parameters
    ----------
    parts : mapping of str to array
        Of the same names and kinds on all slots.

    Examples
    --------
    >>> from dgraph.engine.pool import run
    >>> async def program(ctx, values):
    ...     return (await exact_totals(ctx, {"sum": np.array(values)}))["sum"]
    >>> run(program, [[0.1, 0.2], [0.3]], slots=2), run(program, [[0.3, 0.2, 0.1]], slots=1)
    ([0.6, 0.6], [0.6])
    """
    arrays = [np.atleast_1d(some) for some in parts.values()]
    terms = max([some.size for some in arrays], default=0)
    ballot = [terms, *(_exponent(some) for some in arrays)]
    most, *exponents = (await ctx.allreduce(ballot, op="max")).tolist()
    bits = ROOM - (most * ctx.slots + 1).bit_length()
    pairs = [_cut(some, e, bits) for some, e in zip(arrays, exponents, strict=True)]
    sums = (await ctx.allreduce(np.ravel(pairs))).reshape(-1, 2).tolist()
    return {
        name: _joined(high, low, e, bits) if some.dtype.kind == "f" else high
        for name, some, (high, low), e in zip(parts, arrays, sums, exponents, strict=True)
    }


def _exponent(some: Array) -> int:
    """Return e such that all numbers are below 2**e."""
    if some.dtype.kind != "f" or not some.size:
        return NOTHING
    largest = float(np.abs(some).max())
    return math.frexp(largest)[1] if math.isfinite(largest) else ENDLESS


def _cut(some: Array, exponent: int, bits: int) -> tuple[int, int]:
    """Return the sums of multiples of ``2**(exponent - bits)``, and of what is left.

    Examples
    --------
    >>> _cut(np.array([1.0, 0.25]), 1, 2)
    (2, 2)
    """
    if some.dtype.kind != "f":
        return int(some.sum(dtype=np.int64)), 0
    if exponent == ENDLESS:
        return 0, 0
    scaled = np.ldexp(some.astype(np.float64), bits - exponent)
    high = np.rint(scaled)
    low = np.rint(np.ldexp(scaled - high, bits))
    return int(high.astype(np.int64).sum()), int(low.astype(np.int64).sum())


def _joined(high: int, low: int, exponent: int, bits: int) -> float:
    """Return the float next to what :func:`_cut` has cut."""
    if exponent == ENDLESS:
        return math.nan
    return math.ldexp((high << bits) + low, exponent - 2 * bits)
