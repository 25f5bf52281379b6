"""Every form of declared vertices, and of a placement, becomes `VertexInput`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import dask.array as da
import dask.dataframe as dd
import numpy as np
import pandas as pd
import pyarrow as pa

from dgraph.edges.parts import IdRange, as_table, column_names, cut_rows, select
from dgraph.edges.roles import check_unique
from dgraph.edges.vertex_chunk import VertexSpec
from dgraph.errors import EdgeTypeError, EdgeValueError

__all__ = ["VertexInput", "placement_input", "range_input", "vertex_input"]


@dataclass(frozen=True, slots=True)
class VertexInput:
    """A table of vertices.

    Parameters
    ----------
    spec : VertexSpec
        For `dgraph.edges.vertex_chunk.make_vertex_chunk`.
    parts : list
        Of its first argument, or Dask delayed objects of it.
    """

    spec: VertexSpec
    parts: list[Any]


def range_input(vertices: range) -> VertexInput:
    """Describe the vertices of a file or matrix that numbers them."""
    return VertexInput(VertexSpec(), cut_rows(IdRange(vertices.start, vertices.stop)))


def vertex_input(vertices: Any) -> VertexInput:
    """Describe declared vertices.

    Parameters
    ----------
    vertices : frame, Series, Index, array of one dimension, list, tuple, set, range
        Of pandas, Dask, Arrow, polars or NumPy. Of a frame the column "vertex", else "id",
        else the first.

    Examples
    --------
    >>> vertex_input(pd.DataFrame({"name": ["x"], "id": [7]})).parts[0]["id"].to_list()
    [7]
    """
    if isinstance(vertices, range) and vertices.step == 1:
        return range_input(vertices)
    if isinstance(vertices, dd.DataFrame):
        name = _vertex_column(list(vertices.columns))
        return VertexInput(VertexSpec(names=(str(name), "slot")), vertices[[name]].to_delayed())
    if isinstance(vertices, dd.Series | dd.Index):
        return VertexInput(VertexSpec(), vertices.to_delayed())
    if isinstance(vertices, da.Array) and vertices.ndim == 1:
        return VertexInput(VertexSpec(), list(vertices.to_delayed()))
    column = _as_column(vertices)
    if column is not None:
        return VertexInput(VertexSpec(), cut_rows(column))
    table = as_table(vertices)
    if table is None:
        raise EdgeTypeError(
            "expected vertices as a frame, Series, array or list, got "
            f"{type(vertices).__name__}: convert them to one"
        )
    names = column_names(table)
    name = _vertex_column(names)
    parts = cut_rows(select(table, [names.index(name)]))
    return VertexInput(VertexSpec(names=(str(name), "slot")), parts)


def _as_column(vertices: Any) -> Any:
    """Return vertices of one dimension as an array or Series, None if they are none."""
    if isinstance(vertices, pd.Series | pa.Array | pa.ChunkedArray):
        return vertices
    if isinstance(vertices, pd.Index | pd.api.extensions.ExtensionArray):
        return pd.Series(vertices)
    if isinstance(vertices, list | tuple | set | frozenset | range):
        return np.fromiter(vertices, np.object_, len(vertices))
    if type(vertices).__module__.startswith("polars.") and hasattr(vertices, "to_arrow"):
        column = vertices.to_arrow()
        return column if isinstance(column, pa.Array | pa.ChunkedArray) else None
    if isinstance(vertices, np.ndarray) and vertices.ndim == 1 and not vertices.dtype.names:
        return vertices
    return None


def _vertex_column(names: Sequence[Any]) -> Any:
    if not names:
        raise EdgeValueError("the table of vertices has no column, expected one of ids")
    name = next((name for name in ("vertex", "id") if name in names), names[0])
    check_unique("the table of vertices has", names, [names.index(name)])
    return name


def placement_input(placement: Any) -> VertexInput:
    """Describe a placement that the user gives: a frame (vertex, slot), or a dict.

    Examples
    --------
    >>> placement_input({"a": 0, "b": 1}).spec.slot
    1
    """
    if isinstance(placement, Mapping):
        vertices = np.fromiter(placement.keys(), np.object_, len(placement))
        slots = np.fromiter(placement.values(), np.object_, len(placement))
        placement = pd.DataFrame({"vertex": vertices, "slot": slots})
    if isinstance(placement, dd.DataFrame):
        names = list(placement.columns)
        both = [names[at] for at in _placement_columns(names)]
        return VertexInput(_placement_spec(both), placement[both].to_delayed())
    table = as_table(placement)
    if table is None:
        raise EdgeTypeError(
            f"expected a frame with columns vertex and slot, got {type(placement).__name__}"
        )
    names = column_names(table)
    positions = _placement_columns(names)
    spec = _placement_spec([names[at] for at in positions])
    return VertexInput(spec, cut_rows(select(table, positions)))


def _placement_columns(names: list[Any]) -> list[int]:
    if len(names) < 2:
        raise EdgeValueError(f"the placement has columns {names}, expected vertex and slot")
    found = [0, 1]
    if "vertex" in names and "slot" in names:
        found = [names.index("vertex"), names.index("slot")]
    check_unique("the placement has", names, found)
    return found


def _placement_spec(names: Sequence[Any]) -> VertexSpec:
    return VertexSpec(slot=1, declared=False, names=(str(names[0]), str(names[1])))
