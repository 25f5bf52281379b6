"""Messages to the same vertex become one, as NumPy combines them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from dgraph.exchange.combining import COMBINERS, SPARSE, can_combine, merge

SIZE = 3 * SPARSE

EXTREMES: dict[str, list[Any]] = {
    "int8": [-128, -1, 0, 1, 127],
    "uint64": [0, 1, 2**63, 2**64 - 1],
    "float64": [-np.inf, -1.5, 0.0, np.inf, np.nan],
    "bool": [False, True],
}


@pytest.mark.parametrize("dtype", EXTREMES)
@pytest.mark.parametrize("combiner", COMBINERS)
@given(st.lists(st.tuples(st.integers(0, SIZE - 1), st.integers(0, 4)), max_size=12))
@example([(5, 0), (5, 4), (5, 1), (SIZE - 1, 2)])
@example([(64, 3), (63, 2), (64, 4)])
@example([(0, 0), (0, 4)])
@settings(max_examples=20)
def test_merging_is_what_numpy_does(
    dtype: str, combiner: str, pairs: list[tuple[int, int]]
) -> None:
    if not can_combine(combiner, np.dtype(dtype)):
        return
    some = EXTREMES[dtype]
    numbers = np.array([number for number, _ in pairs], np.int64)
    values = np.array([some[which % len(some)] for _, which in pairs], dtype)
    found, combined = merge(numbers, values, combiner, SIZE)
    assert found.tolist() == sorted(set(numbers.tolist()))
    assert combined.dtype == values.dtype
    for number, value in zip(found, combined, strict=True):
        met = values[numbers == number]
        np.testing.assert_equal(value, COMBINERS[combiner].reduce(met, dtype=met.dtype))
