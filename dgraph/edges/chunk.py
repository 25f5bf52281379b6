"""One partition of edges becomes an `EdgeChunk`: checked, and its ids reduced to codes.

This runs where the partition lies, in a Dask task of its own. The chunk stays there until the
graph is built; the client gets the `Receipt`.

A code is a small integer that stands for an id within the chunk. Integers close together need
no dictionary: their code is the distance to the least of them. All others are factorised.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
from numpy.typing import NDArray

from dgraph.edges.columns import IdColumn, read_ids
from dgraph.edges.receipt import Receipt
from dgraph.edges.weights import count_rounded, read_weights
from dgraph.errors import DgraphError, EdgeTypeError
from dgraph.kernels import kernel
from dgraph.vertices.base import frozen
from dgraph.vertices.ids import Codes, Ids, IntIds, code_dtype, common_dtype, concat_ids

__all__ = ["ChunkSpec", "EdgeChunk", "make_chunk"]

Mask = NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class ChunkSpec:
    """Where the edges stand in every partition.

    Parameters
    ----------
    source, target : int
        Positions of the id columns.
    weight : int or None
        Position of the weights; None: the graph has none.
    names : tuple of str
        What messages call the three.
    """

    source: int = 0
    target: int = 1
    weight: int | None = None
    names: tuple[str, str, str] = ("source", "target", "weight")


@dataclass(slots=True)
class EdgeChunk:
    """The edges of one partition.

    Parameters
    ----------
    partition : int
        Its place among the partitions; with the row it says which of parallel edges is first.
    source, target : int32 or int64 arrays
        Codes of the ids at both ends, row for row.
    weight : float64 array or None
    ids : Ids or None
        Distinct, ascending; a code is a position in it. None: the ids are integers, and a code
        is ``id - low``.
    low, high : int
        The least and the greatest id, if `ids` is None.
    """

    partition: int
    source: Codes
    target: Codes
    weight: NDArray[np.float64] | None
    ids: Ids | None = None
    low: int = 0
    high: int = -1

    @property
    def nbytes(self) -> int:
        """Bytes that the chunk holds."""
        parts = (self.source, self.target, self.weight, self.ids)
        return sum(part.nbytes for part in parts if part is not None)


def make_chunk(frame: Any, spec: ChunkSpec, partition: int) -> tuple[EdgeChunk, Receipt]:
    """Check one partition of edges and reduce it to codes.

    Rows with a missing id or weight are counted and left out; self-loops are counted and stay.

    Parameters
    ----------
    frame : pandas DataFrame, pyarrow Table or NumPy array of shape (rows, 2 or 3)
        Or a DgraphError: why there is none.
    spec : ChunkSpec
    partition : int

    Returns
    -------
    EdgeChunk
        Empty if the partition cannot be read.
    Receipt
        Small; the error is in it, so that the client can name the first of all.

    Examples
    --------
    >>> frame = pd.DataFrame({"source": [7, 7], "target": [9, 7]})
    >>> chunk, receipt = make_chunk(frame, ChunkSpec(), 0)
    >>> chunk.source, chunk.target, chunk.low, receipt.self_loops
    (array([0, 0], dtype=int32), array([2, 0], dtype=int32), 7, 1)
    """
    receipt = Receipt(partition)
    try:
        if isinstance(frame, DgraphError):
            raise frame
        return _make_chunk(frame, spec, receipt), receipt
    except DgraphError as error:
        receipt.error = error
        nothing = np.empty(0, np.int32)
        weight = None if spec.weight is None else np.empty(0)
        return EdgeChunk(partition, nothing, nothing, weight), receipt


def _make_chunk(frame: Any, spec: ChunkSpec, receipt: Receipt) -> EdgeChunk:
    source = read_ids(take_column(frame, spec.source), spec.names[0])
    target = read_ids(take_column(frame, spec.target), spec.names[1])
    weight = None
    if spec.weight is not None:
        column = take_column(frame, spec.weight)
        weight = read_weights(column, spec.names[2])
        receipt.rounded, receipt.first_rounded = count_rounded(column, weight)
    receipt.rows, receipt.dtypes = source.rows, (source.dtype, target.dtype)
    receipt.id_dtypes = tuple(
        side.ids.dtype for side in (source, target) if side.ids is not None
    )
    _check_kinds(source, target, spec)
    keep = note_missing(receipt, source, target, weight, spec.names)
    if keep is not None:
        source, target = source.keep(keep), target.keep(keep)
        weight = None if weight is None else weight[keep]
    return _encode(source, target, weight, receipt)


def take_column(frame: Any, position: int) -> Any:
    """Return a column of a partition of any form, without copying it.

    >>> take_column(np.array([[1, 2], [3, 4]]), 1)
    array([2, 4])
    """
    if isinstance(frame, pd.DataFrame):
        return frame.iloc[:, position]
    if isinstance(frame, pa.Table):
        return frame.column(position)
    return frame[:, position]


def _check_kinds(source: IdColumn, target: IdColumn, spec: ChunkSpec) -> None:
    if None not in (source.kind, target.kind) and source.kind != target.kind:
        raise EdgeTypeError(
            f"column {spec.names[0]!r} has dtype {source.dtype} and column {spec.names[1]!r} "
            f"{target.dtype}, expected integers in both or strings in both: convert one"
        )


def note_missing(
    receipt: Receipt,
    source: IdColumn,
    target: IdColumn,
    weight: NDArray[np.float64] | None,
    names: tuple[str, ...],
) -> Mask | None:
    """Count what is missing or infinite; return the rows to keep, or None for all of them."""
    lacking = [(source.missing, names[0]), (target.missing, names[1])]
    if weight is not None and not np.isfinite(weight).all():
        lacking.append((np.isnan(weight), names[2]))
    masks = [(mask, name) for mask, name in lacking if mask is not None]
    if not masks:
        return None
    missing: Mask = np.logical_or.reduce([mask for mask, _ in masks])
    if missing.any():
        receipt.nulls = int(np.count_nonzero(missing))
        receipt.first_null = first = int(np.argmax(missing))
        receipt.null_column = next(name for mask, name in masks if mask[first])
    if weight is not None:
        infinite = np.isinf(weight) & ~missing
        receipt.infinite = int(np.count_nonzero(infinite))
        receipt.first_infinite = int(np.argmax(infinite)) if receipt.infinite else None
    return ~missing if receipt.nulls else None


def _encode(
    source: IdColumn, target: IdColumn, weight: NDArray[np.float64] | None, receipt: Receipt
) -> EdgeChunk:
    if source.rows == 0 or source.ids is None or target.ids is None:
        nothing = np.empty(0, np.int32)
        return EdgeChunk(receipt.partition, nothing, nothing, weight)
    receipt.kind = source.kind
    plain = source.codes is None and target.codes is None
    if plain and isinstance(source.ids, IntIds) and isinstance(target.ids, IntIds):
        return _encode_integers(source.ids, target.ids, weight, receipt)
    codes, ids = _join_dictionaries(source, target)
    return _with_ids(codes, ids, weight, receipt)


def _encode_integers(
    source: IntIds, target: IntIds, weight: NDArray[np.float64] | None, receipt: Receipt
) -> EdgeChunk:
    """Take distances to the least id as codes if the ids lie close together."""
    dtype = common_dtype([source, target])
    here = frozen(source.values.astype(dtype, copy=False))
    there = frozen(target.values.astype(dtype, copy=False))
    low, high, loops, first_loop = _extent(here, there)
    low, high = int(low), int(high)
    if high - low >= 2**31 or high - low > 8 * len(here) + 2**16:
        codes, ids = IntIds(np.concatenate([here, there])).factorize()
        return _with_ids((codes[: len(here)], codes[len(here) :]), ids, weight, receipt)
    receipt.low, receipt.high, receipt.self_loops = low, high, int(loops)
    receipt.first_loop = int(here[first_loop]) if loops else None
    least = dtype.type(low)
    distances = _distances(here, least), _distances(there, least)
    return EdgeChunk(receipt.partition, *distances, weight, None, low, high)


def _with_ids(
    codes: tuple[Codes, Codes], ids: Ids, weight: NDArray[np.float64] | None, receipt: Receipt
) -> EdgeChunk:
    source, target = codes
    loops = source == target
    receipt.self_loops = int(np.count_nonzero(loops))
    receipt.first_loop = ids[int(source[np.argmax(loops)])] if receipt.self_loops else None
    if isinstance(ids, IntIds):
        receipt.low, receipt.high = int(ids[0]), int(ids[len(ids) - 1])
    return EdgeChunk(receipt.partition, source, target, weight, ids)


def _join_dictionaries(source: IdColumn, target: IdColumn) -> tuple[tuple[Codes, Codes], Ids]:
    """Give both columns codes into one dictionary of the ids that occur."""
    assert source.ids is not None
    assert target.ids is not None
    if source.codes is None and target.codes is None:
        codes, ids = concat_ids([source.ids, target.ids]).factorize()
        return (codes[: source.rows], codes[source.rows :]), ids
    first, second = _coded(source), _coded(target)
    ids = concat_ids([first[1], second[1]]).unique()
    dtype = code_dtype(len(ids))
    places = [ids.locate(known).astype(dtype) for _, known in (first, second)]
    return (places[0][first[0]], places[1][second[0]]), ids


def _coded(column: IdColumn) -> tuple[NDArray[Any], Ids]:
    """Return codes, and the ids they stand for without those that do not occur."""
    assert column.ids is not None
    if column.codes is None:
        return column.ids.factorize()
    used = np.zeros(len(column.ids), np.bool_)
    used[column.codes] = True
    if used.all():
        return column.codes, column.ids
    return (np.cumsum(used) - 1)[column.codes], column.ids.take(np.flatnonzero(used))


@kernel
def _extent(source: NDArray[Any], target: NDArray[Any]) -> tuple[Any, Any, int, int]:
    """Return the least and greatest value, how many rows are loops, and the first of them."""
    low = high = source[0]
    loops, first = 0, -1
    for row in range(len(source)):
        low = min(low, source[row], target[row])
        high = max(high, source[row], target[row])
        if source[row] == target[row]:
            if loops == 0:
                first = row
            loops += 1
    return low, high, loops, first


@kernel
def _distances(values: NDArray[Any], least: Any) -> NDArray[np.int32]:
    codes = np.empty(len(values), np.int32)
    for row in range(len(values)):
        codes[row] = values[row] - least
    return codes
