"""Parquet files as Dask reads them, cut finely enough for every thread to have a part."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from typing import Any

import dask.dataframe as dd
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
from dask.delayed import Delayed, delayed
from dask.local import get_sync
from dask.optimization import cull
from dask.utils import ensure_dict

from dgraph.edges.files import File
from dgraph.edges.roles import check_unique
from dgraph.edges.run import attempt
from dgraph.errors import EdgeValueError, OptionError
from dgraph.keywords import hint

__all__ = ["guarded", "open_parquet"]

_PART = "32MiB"  # of row groups; 2 M edges

#: Integers of which some are missing stay integers, and do not become floats.
_EXACT = {"integer_object_nulls": True}


def open_parquet(
    files: Sequence[File],
    columns: Sequence[int | str] | None,
    storage_options: Mapping[str, Any] | None,
) -> dd.DataFrame:
    """Read parquet files with their own columns, or those that `columns` selects.

    Selected columns are named source, target and weight, in this order.
    """
    if any(file.codec for file in files):
        meta = _read_whole(files[0]).iloc[:0]
        frame: dd.DataFrame = dd.from_map(_read_whole, files, meta=meta)
    else:
        frame = _read_parts(files, storage_options)
    if columns is None:
        return frame
    if isinstance(columns, str) or len(columns) not in (2, 3):
        raise OptionError(
            f"columns must name source, target and perhaps weight, not {columns!r}: give 2 or "
            "3 names or positions"
        )
    names = [_name(column, list(frame.columns)) for column in columns]
    if names[0] == names[1]:
        raise OptionError(f"source and target are both {names[0]!r}, expected two columns")
    selected: dd.DataFrame = frame[names].rename(columns=dict(zip(names, _ROLES, strict=False)))
    return selected


def _read_parts(
    files: Sequence[File], storage_options: Mapping[str, Any] | None
) -> dd.DataFrame:
    try:
        frame: dd.DataFrame = dd.read_parquet(
            [file.url() for file in files],
            storage_options=dict(storage_options or {}) or None,
            split_row_groups="adaptive",
            blocksize=_PART,
            arrow_to_pandas=_EXACT,
        )
    except (pa.ArrowException, OSError) as error:
        failure = error
    else:
        return frame
    for file in files:  # which of them is it?
        with _named(file), file.open() as stream:
            names = pq.read_schema(stream).names
        check_unique(f"{file.path} has", names, range(len(names)))
    raise failure


@contextlib.contextmanager
def _named(file: File) -> Iterator[None]:
    """Tell which file is damaged; what the operating system says passes."""
    try:
        yield
    except (pa.ArrowException, OSError) as error:
        if isinstance(error, OSError) and error.errno is not None:
            raise
        raise EdgeValueError(
            f"{file.path} is no valid parquet file: write it again if it is damaged, or name "
            "its format if it is of another (format=, --input-format)"
        ) from error


def guarded(part: Delayed, files: Sequence[File]) -> Delayed:
    """Return a partition that Dask reads, or, as its value, which of the files is damaged.

    A footer is looked at when files are opened, but not what comes before it.
    """
    graph = ensure_dict(part.dask)
    needed, _ = cull(graph, [part.key])
    read = partial(_computed, needed, part.key, tuple(files))  # Dask looks into arguments
    found: Delayed = delayed(partial(attempt, read), pure=False)()
    return found


def _computed(graph: dict[Any, Any], key: Any, files: Sequence[File]) -> pd.DataFrame:
    try:
        frame: pd.DataFrame = get_sync(graph, key)
    except EdgeValueError as error:
        others = f" or one of the {len(files) - 1} after it" * (len(files) > 1)
        raise EdgeValueError(f"{files[0].path}{others}: {error}") from error
    except (pa.ArrowException, OSError, KeyError):
        _blame(files)
        raise
    return frame


def _blame(files: Sequence[File]) -> None:
    """Raise if a file is damaged, or lacks a column of the first one; says which."""
    expected: list[str] = []
    for file in files:
        with _named(file), file.open() as stream:
            table = pq.ParquetFile(stream)
            for _ in table.iter_batches():
                pass
        names = table.schema_arrow.names
        expected = expected or names
        lacking = [name for name in expected if name not in names]
        if lacking:
            raise EdgeValueError(
                f"{file.path} has no column {lacking[0]!r}, but {files[0].path} has one: read "
                "them one by one and join them with dask.dataframe.concat"
            )


_ROLES = ("source", "target", "weight")


def _name(column: int | str, names: list[str]) -> str:
    if column in names:
        return str(column)
    if isinstance(column, int) and 0 <= column < len(names):
        return names[column]
    raise EdgeValueError(
        f"the parquet file has no column {column!r}: choose from {', '.join(map(str, names))}"
        f"{hint(column, names)}"
    )


def _read_whole(file: File) -> pd.DataFrame:
    data = file.read()
    with _named(file):
        frame: pd.DataFrame = pq.read_table(pa.BufferReader(data)).to_pandas(**_EXACT)
    return frame
