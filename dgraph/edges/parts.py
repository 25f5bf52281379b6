"""Tables that are in memory, cut into parts for as many threads."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa

__all__ = ["IdRange", "as_table", "column_names", "cut_rows", "select"]

ROWS = 1 << 20  # of a part: 5 ms to check, 16 MB of int64 pairs


@dataclass(frozen=True, slots=True)
class IdRange:
    """A partition of the vertices ``start, ..., stop - 1``, which need not be written out.

    >>> IdRange(1, 4).values()
    array([1, 2, 3])
    """

    start: int
    stop: int

    def __len__(self) -> int:
        """Return how many vertices these are."""
        return max(self.stop - self.start, 0)

    def __getitem__(self, rows: slice) -> IdRange:
        """Return some of them that follow each other."""
        start, stop, _ = rows.indices(len(self))
        return IdRange(self.start + start, self.start + stop)

    def values(self) -> Any:
        """Write them out."""
        return np.arange(self.start, self.stop)


def cut_rows(table: Any, rows: int = ROWS) -> list[Any]:
    """Cut a table or column into parts of at most `rows` rows, without copying.

    >>> [len(part) for part in cut_rows(np.zeros((5, 2)), 2)]
    [2, 2, 1]
    >>> len(cut_rows(pa.table({"a": []})))
    1
    """
    if len(table) <= rows:
        return [table]
    starts = range(0, len(table), rows)
    if isinstance(table, pd.DataFrame | pd.Series):
        return [table.iloc[start : start + rows] for start in starts]
    if isinstance(table, pa.Table | pa.Array | pa.ChunkedArray):
        return [table.slice(start, rows) for start in starts]
    return [table[start : start + rows] for start in starts]


def as_table(table: Any) -> pd.DataFrame | pa.Table | None:
    """Return a table of any library as one of pandas or Arrow; None if it is no table.

    >>> as_table(np.array([(1, "a")], [("id", int), ("name", "U1")])).columns.to_list()
    ['id', 'name']
    """
    if isinstance(table, pd.DataFrame | pa.Table):
        return table
    if isinstance(table, pa.RecordBatch):
        return pa.Table.from_batches([table])
    if isinstance(table, np.ndarray) and table.dtype.names:
        return pd.DataFrame({name: table[name] for name in table.dtype.names}, copy=False)
    if type(table).__module__.startswith("polars."):
        frame = table.collect() if hasattr(table, "collect") else table
        return frame.to_arrow() if hasattr(frame, "columns") else None
    if hasattr(table, "__arrow_c_stream__") and not hasattr(table, "dtype"):  # a Series has one
        return pa.table(table)
    return None


def column_names(table: pd.DataFrame | pa.Table) -> list[Any]:
    """Return the names of the columns of a table."""
    return list(table.columns if isinstance(table, pd.DataFrame) else table.column_names)


def select(table: pd.DataFrame | pa.Table, positions: Sequence[int]) -> Any:
    """Return a table of some of the columns, without copying them.

    >>> select(pd.DataFrame({"a": [1], "b": [2], "c": [3]}), [2, 0]).columns.to_list()
    ['c', 'a']
    """
    if isinstance(table, pa.Table):
        return table.select(list(positions))
    names = list(table.columns)
    return pd.DataFrame({names[at]: table.iloc[:, at] for at in positions}, copy=False)
