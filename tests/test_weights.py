"""Weights of edges as chunks read them: any numbers, exactly or with a warning."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from dgraph.edges.chunk import ChunkSpec, make_chunk
from dgraph.edges.summary import combine
from dgraph.edges.weights import read_weights
from dgraph.errors import EdgeTypeError, PrecisionWarning

WEIGHTED = ChunkSpec(weight=2)

BIG = 2**53 + 1


@pytest.mark.parametrize(
    ("column", "rounded"),
    [
        (np.array([BIG, 2**60, 1, BIG + 2]), 2),
        (np.array([2**64 - 1, 0, 1, 2], np.uint64), 1),
        (np.array([-BIG, 2**53, -(2**53), 0]), 1),
        (np.array([BIG, 1.5, None, 2], object), 1),
        (pd.array([BIG, None, 1, 2], "Int64"), 1),
        (pa.array([BIG, None, BIG, 2]), 2),
        (np.array([float(BIG), 2.0**60, 1e300, 0.1]), 0),
        (pd.array([2.0**60, None, 0.1, 1], "Float64"), 0),
        (pa.array([2.0**60, None, 0.1, 1]), 0),
    ],
    ids=str,
)
def test_integers_that_do_not_fit_float64_are_told(column: Any, rounded: int) -> None:
    edges = pa.array([1, 2, 3, 4])
    if isinstance(column, pa.Array):
        frame: Any = pa.table({"a": edges, "b": edges, "w": column})
    else:
        frame = pd.DataFrame({"a": [1, 2, 3, 4], "b": [2, 3, 4, 5], "w": column})
    receipt = make_chunk(frame, WEIGHTED, 0)[1]
    assert receipt.rounded == rounded
    if rounded:
        first = f"the first {receipt.first_rounded}, "
        with pytest.warns(PrecisionWarning, match=first):
            assert combine([receipt], nulls="drop").rounded == rounded


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        ([1, 2], [1.0, 2.0]),
        (np.array([1, 2], np.uint8), [1.0, 2.0]),
        (np.array([0.5, 1], np.float32), [0.5, 1.0]),
        ([Decimal("0.5"), 2], [0.5, 2.0]),
        (pd.array([1, 2], "Int8"), [1.0, 2.0]),
        (pa.array([Decimal("0.1"), Decimal(2)]), [0.1, 2.0]),
        (pd.array([0.5, 1], "double[pyarrow]"), [0.5, 1.0]),
    ],
)
def test_numbers_are_weights(values: Any, expected: list[float]) -> None:
    column = (
        values if hasattr(values, "dtype") or hasattr(values, "type") else pd.Series(values)
    )
    assert read_weights(column, "w").tolist() == expected


@pytest.mark.parametrize(
    "values", [[True, False], ["1", "2"], [1j, 2], [1, "x"], pd.date_range("2026", periods=2)]
)
def test_other_things_are_not(values: Any) -> None:
    with pytest.raises(EdgeTypeError, match=r"'w'.*expected numbers"):
        read_weights(pd.Series(values), "w")


def test_weights_may_overflow_in_sum() -> None:
    frame = pd.DataFrame({"a": [1, 2], "b": [2, 3], "w": [1.7e308, 1.7e308]})
    _, receipt = make_chunk(frame, WEIGHTED, 0)
    assert (receipt.nulls, receipt.infinite) == (0, 0)
