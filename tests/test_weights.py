"""Weights of edges as chunks read them: any numbers, exactly or with a warning."""

from __future__ import annotations

import warnings
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
import scipy.sparse
from distributed import Client

import dgraph as dg
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


MATRIX = "%%MatrixMarket matrix coordinate integer {}\n3 3 2\n2 1 {}\n3 2 4\n"


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("a.csv", f"1,2,{BIG}\n2,3,{2**60}\n3,1,0.5\n"),
        ("a.csv", f"u,v,w\n1,2,+{BIG}\n"),
        ("a.wel", f"1 2 {BIG}\n"),
        ("a.gr", f"p sp 2 1\na 1 2 {BIG}\n"),
        ("a.mtx", MATRIX.format("general", BIG)),
        ("a.mtx", MATRIX.format("symmetric", BIG)),
        ("a.graph", f"2 1 1\n2 {BIG}\n1 {BIG}\n"),
    ],
)
@pytest.mark.parametrize("directed", [False, True])
def test_weights_in_files_that_are_rounded_are_told(
    embedded: Client, tmp_path: Path, name: str, content: str, directed: bool
) -> None:
    path = tmp_path / name
    path.write_text(content)
    for edges in (path, dg.read_edges(path)):
        with (
            pytest.warns(PrecisionWarning, match=f"above .*the first {BIG}, and was"),
            dg.from_edges(edges, weight=True, directed=directed, client=embedded) as g,
        ):
            assert "above 2**53 rounded" in g.report["chosen"]["weights"]


def test_weights_of_matrices_that_are_rounded_are_told(
    embedded: Client, tmp_path: Path
) -> None:
    matrix = scipy.sparse.coo_array(([BIG, BIG], ([0, 1], [1, 0])), (2, 2))
    scipy.sparse.save_npz(tmp_path / "a.npz", matrix)
    for edges in (matrix, tmp_path / "a.npz"):
        with pytest.warns(PrecisionWarning, match=f"the first {BIG}, and was"):
            dg.from_edges(edges, weight=True, client=embedded).close()
    assert dg.read_edges(tmp_path / "a.npz").dtypes["weight"] == np.float64


def test_what_was_rounded_is_not_told_of_other_weights(
    embedded: Client, tmp_path: Path
) -> None:
    (tmp_path / "a.csv").write_text(f"1,2,{BIG}\n2,3,4\n")
    frame = dg.read_edges(tmp_path / "a.csv")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        dg.from_edges(frame[frame["weight"] < 9], weight=True, client=embedded).close()
