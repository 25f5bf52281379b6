"""Write a result to one file, whole or not at all."""

from __future__ import annotations

import contextlib
import os
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import IO, Any

import pandas as pd

from dgraph.errors import OptionError

__all__ = ["check_output", "write_frame"]


def check_output(path: str | os.PathLike[str]) -> None:
    """Raise OptionError unless `path` is a file that :func:`write_frame` can make.

    Examples
    --------
    >>> check_output("ranks.xlsx")
    Traceback (most recent call last):
        ...
    dgraph.errors.OptionError: the output must end in .parquet or .csv, not 'ranks.xlsx'
    """
    path = Path(path)
    if path.suffix not in _WRITERS:
        raise OptionError(f"the output must end in .parquet or .csv, not {str(path)!r}")
    if not path.parent.is_dir():
        raise OptionError(f"the folder of the output does not exist: make {str(path.parent)!r}")


def write_frame(frame: Any, path: str | os.PathLike[str]) -> None:
    """Write a Dask DataFrame to one parquet or csv file, partition by partition.

    The rows are written beside the file, which is renamed into its place at the end. At most
    one partition is held here at a time.

    Parameters
    ----------
    frame : dask.dataframe.DataFrame
    path : path
        Ends in .parquet or .csv. A csv has a header, and missing values are empty.

    Raises
    ------
    OptionError
        If the path has another ending or its folder does not exist.
    """
    check_output(path)
    path = Path(path)
    handle, beside = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)
    try:
        with os.fdopen(handle, "wb") as file:
            _WRITERS[path.suffix](frame, file)
        os.chmod(beside, 0o666 & ~_umask())
        os.replace(beside, path)
    except BaseException:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(beside)
        raise


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask


def _partitions(frame: Any) -> Iterator[pd.DataFrame]:
    for delayed in frame.to_delayed():
        yield delayed.compute()


def _write_csv(frame: Any, file: IO[bytes]) -> None:
    header = True
    for part in _partitions(frame):
        part.to_csv(file, index=False, header=header, encoding="utf-8")
        header = False


def _write_parquet(frame: Any, file: IO[bytes]) -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    schema = pa.Schema.from_pandas(frame._meta, preserve_index=False)
    with pq.ParquetWriter(file, schema) as writer:
        for part in _partitions(frame):
            writer.write_table(pa.Table.from_pandas(part, schema, preserve_index=False))


_WRITERS: dict[str, Callable[[Any, IO[bytes]], None]] = {
    ".parquet": _write_parquet,
    ".csv": _write_csv,
}
