"""One partition of a table of vertices: declared ones, or where the user places them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
from numpy.typing import NDArray

from dgraph.edges.chunk import note_missing, take_column
from dgraph.edges.columns import IdColumn, read_ids
from dgraph.edges.receipt import Receipt
from dgraph.errors import DgraphError, EdgeTypeError, EdgeValueError
from dgraph.vertices.ids import Ids, IntIds

__all__ = ["VertexChunk", "VertexSpec", "make_vertex_chunk"]


@dataclass(frozen=True, slots=True)
class VertexSpec:
    """Where the vertices stand in every partition.

    Parameters
    ----------
    vertex : int
        Position of the ids in a frame; a partition of one dimension holds nothing else.
    slot : int or None
        Position of the slots on which the user places them.
    declared : bool
        Whether the vertices exist because they stand here.
    names : tuple of str
        What messages call the two columns.
    """

    vertex: int = 0
    slot: int | None = None
    declared: bool = True
    names: tuple[str, str] = ("vertex", "slot")


@dataclass(slots=True)
class VertexChunk:
    """The vertices of one partition.

    Parameters
    ----------
    ids : Ids
        Distinct and ascending; beside `slots` they stand as they came, and may repeat.
    declared : bool
        Whether these vertices exist because they stand here.
    slots : int32 array beside `ids`, or None
        The slots on which the user places them.
    """

    ids: Ids
    declared: bool = True
    slots: NDArray[np.int32] | None = None


def make_vertex_chunk(
    part: Any, spec: VertexSpec, partition: int
) -> tuple[VertexChunk, Receipt]:
    """Check one partition of vertices; those that lack their id are counted and left out.

    Parameters
    ----------
    part : pandas DataFrame or Series, pyarrow Table or array, NumPy array, IdRange
    spec : VertexSpec
    partition : int

    Examples
    --------
    >>> chunk, receipt = make_vertex_chunk(pd.Series(["b", "a", "b"]), VertexSpec(), 0)
    >>> chunk.ids, receipt.rows
    (StringIds(['a', 'b']), 3)
    """
    receipt = Receipt(partition, origin="vertices=" if spec.declared else "placement=")
    try:
        if isinstance(part, DgraphError):
            raise part
        return _make(part, spec, receipt), receipt
    except DgraphError as error:
        receipt.error = error
        return VertexChunk(IntIds(np.empty(0, np.int64)), spec.declared), receipt


def _make(part: Any, spec: VertexSpec, receipt: Receipt) -> VertexChunk:
    column = read_ids(_column(part, spec.vertex), spec.names[0])
    receipt.rows, receipt.dtypes, receipt.kind = column.rows, (column.dtype,), column.kind
    slots = None
    if spec.slot is not None:
        slots = _read_slots(_column(part, spec.slot), spec.names[1])
    keep = note_missing(receipt, column, column, None, (spec.names[0],) * 3)
    if keep is not None:
        column = column.keep(keep)
        slots = None if slots is None else slots[keep]
    ids = _written_out(column)
    receipt.id_dtypes = () if column.ids is None else (ids.dtype,)
    if slots is None:
        ids = ids.unique()
    if isinstance(ids, IntIds) and len(ids):
        receipt.low, receipt.high = ids.low, ids.high
    return VertexChunk(ids, spec.declared, slots)


def _column(part: Any, position: int) -> Any:
    if isinstance(part, pd.DataFrame | pa.Table) or getattr(part, "ndim", 1) == 2:
        return take_column(part, position)
    return part


def _written_out(column: IdColumn) -> Ids:
    """Return the ids of the rows; a dictionary's written out, for vertices seldom repeat."""
    if column.ids is None:
        return IntIds(np.empty(0, np.int64))
    return column.ids if column.codes is None else column.ids.take(column.codes)


def _read_slots(column: Any, name: str) -> NDArray[np.int32]:
    read = read_ids(column, name)
    if read.rows == 0:
        return np.empty(0, np.int32)
    if not isinstance(read.ids, IntIds) or read.missing is not None:
        raise EdgeTypeError(
            f"column {name!r} has dtype {read.dtype}, expected a slot number in every row"
        )
    slots = _written_out(read)
    assert isinstance(slots, IntIds)
    if slots.low < 0 or slots.high >= 2**31:
        raise EdgeValueError(
            f"column {name!r} holds slots from {slots.low} to {slots.high}, expected numbers "
            "from 0 on"
        )
    return slots.values.astype(np.int32)
