"""Parquet files as Dask reads them, cut finely enough for every thread to have a part."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import dask.dataframe as dd
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

from dgraph.edges.files import File
from dgraph.errors import EdgeValueError, OptionError

__all__ = ["open_parquet"]

_PART = "32MiB"  # of row groups; 2 M edges


def open_parquet(
    files: Sequence[File],
    columns: Sequence[int | str] | None,
    storage_options: Mapping[str, Any] | None,
) -> dd.DataFrame:
    """Read parquet files with their own columns, or those that `columns` selects.

    Selected columns are named source, target and weight, in this order.
    """
    if any(file.codec for file in files):
        frame: dd.DataFrame = dd.from_map(_read_whole, files)
    else:
        frame = dd.read_parquet(
            [file.url() for file in files],
            storage_options=dict(storage_options or {}) or None,
            split_row_groups="adaptive",
            blocksize=_PART,
        )
    if columns is None:
        return frame
    if isinstance(columns, str) or len(columns) not in (2, 3):
        raise OptionError(
            f"columns must name source, target and perhaps weight, not {columns!r}: give 2 or "
            "3 names or positions"
        )
    names = [_name(column, list(frame.columns)) for column in columns]
    selected: dd.DataFrame = frame[names].rename(columns=dict(zip(names, _ROLES, strict=False)))
    return selected


_ROLES = ("source", "target", "weight")


def _name(column: int | str, names: list[str]) -> str:
    if column in names:
        return str(column)
    if isinstance(column, int) and 0 <= column < len(names):
        return names[column]
    raise EdgeValueError(
        f"the parquet file has no column {column!r}: choose from {', '.join(map(str, names))}"
    )


def _read_whole(file: File) -> pd.DataFrame:
    frame: pd.DataFrame = pq.read_table(pa.BufferReader(file.read())).to_pandas()
    return frame
