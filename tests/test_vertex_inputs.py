"""Declared vertices and placements, in every form in which users bring them."""

from __future__ import annotations

from typing import Any

import dask.array as da
import dask.dataframe as dd
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from dgraph.edges.inputs import edge_input
from dgraph.edges.vertex_chunk import make_vertex_chunk
from dgraph.edges.vertex_inputs import placement_input, vertex_input
from dgraph.errors import DgraphError, EdgeTypeError, EdgeValueError
from tests.parts import computed, vertices_of

pytestmark = pytest.mark.usefixtures("in_this_process")


BOTH = pd.DataFrame({"source": [3, 1, 2], "target": [1, 2, 3]})


@pytest.mark.parametrize(
    "vertices",
    [
        [3, 1, 2],
        (1, 2, 3),
        {1, 2, 3},
        range(1, 4),
        range(3, 0, -1),
        np.array([1, 2, 3, 3]),
        pd.Series([1, 2, 3]),
        pd.Index([1, 2, 3]),
        pd.array([1, 2, 3], "Int64"),
        pd.DataFrame({"vertex": [1, 2, 3], "name": "x"}),
        pd.DataFrame({"name": ["x", "y", "z"], "id": [1, 2, 3]}),
        pa.table({"id": [1, 2, 3]}),
        pa.array([1, 2, 3]),
        pl.DataFrame({"id": [1, 2, 3]}),
        pl.Series([1, 2, 3]),
        dd.from_pandas(pd.Series([1, 2, 3]), npartitions=2),
        dd.from_pandas(pd.DataFrame({"vertex": [1, 2, 3], "x": 0}), npartitions=2),
        da.from_array(np.array([1, 2, 3]), chunks=2),
    ],
    ids=lambda vertices: type(vertices).__name__,
)
def test_declared_vertices(vertices: Any) -> None:
    found = edge_input(BOTH, vertices=vertices)
    assert vertices_of(found.vertices) == [1, 2, 3]
    assert all(each.spec.declared for each in found.vertices)


def test_vertices_of_no_known_form() -> None:
    for vertices in ("abc", 7, np.zeros((2, 2)), {"a": 1}):
        with pytest.raises(EdgeTypeError, match="expected vertices"):
            vertex_input(vertices)
    with pytest.raises(EdgeValueError, match="no column"):
        vertex_input(pd.DataFrame())


def test_two_columns_of_one_name() -> None:
    with pytest.raises(EdgeValueError, match="vertices has more than one column 'id'"):
        vertex_input(pd.DataFrame([[1, 2]], columns=["id", "id"]))
    assert vertex_input(pd.DataFrame([[1, 2, 3]], columns=["id", "x", "x"])).parts
    for names in (["a", "a"], ["vertex", "slot", "slot"]):
        frame = pd.DataFrame([[0] * len(names)], columns=names)
        with pytest.raises(EdgeValueError, match="placement has more than one column"):
            placement_input(frame)


@pytest.mark.parametrize(
    "placement",
    [
        {"a": 1, "b": 0},
        pd.DataFrame({"slot": [1, 0], "vertex": ["a", "b"]}),
        pa.table({"v": ["a", "b"], "s": [1, 0]}),
        dd.from_pandas(pd.DataFrame({"vertex": ["a", "b"], "slot": [1, 0]}), npartitions=1),
    ],
    ids=lambda placement: type(placement).__name__,
)
def test_placements(placement: Any) -> None:
    found = placement_input(placement)
    (part,) = computed(found.parts)
    chunk, _ = make_vertex_chunk(part, found.spec, 0)
    assert chunk.slots is not None
    assert dict(zip(chunk.ids.to_list(), chunk.slots.tolist(), strict=True)) == {"a": 1, "b": 0}
    assert not chunk.declared


@pytest.mark.parametrize("placement", [[1, 2], pd.DataFrame({"vertex": [1]})])
def test_placements_of_no_known_form(placement: Any) -> None:
    with pytest.raises(DgraphError, match="vertex"):
        placement_input(placement)
