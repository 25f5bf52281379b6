"""Write a result to one file, whole or not at all: parquet, csv, or as LDBC wants it."""

from __future__ import annotations

import contextlib
import errno
import os
import sys
import tempfile
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import IO, Any

import pandas as pd

from dgraph.errors import OptionError, OutputError

__all__ = ["FORMATS", "check_output", "print_lines", "write_frame", "write_whole"]

#: LDBC Graphalytics' word for vertices that were not reached by a search.
UNREACHED = 2**63 - 1

_NO_ROOM = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)


def check_output(
    path: str | os.PathLike[str],
    form: str | None = None,
    inputs: Iterable[str | os.PathLike[str]] = (),
) -> None:
    """Raise unless `path` is a file that :func:`write_frame` can make.

    Parameters
    ----------
    path, form
        As there.
    inputs : iterable of paths
        Files that are read, none of which it may be, by whatever name.

    Raises
    ------
    OptionError
    OutputError
        If the file system does not let files be made there.

    Examples
    --------
    >>> check_output("ranks.xlsx")
    Traceback (most recent call last):
        ...
    dgraph.errors.OptionError: the output must end in .parquet or .csv, not 'ranks.xlsx'
    """
    given, path = Path(path), Path(os.path.realpath(path))
    if form is None and given.suffix[1:] not in ("parquet", "csv"):
        raise OptionError(f"the output must end in .parquet or .csv, not {str(given)!r}")
    if path.is_dir():
        raise OptionError(f"the output is a folder, expected a file: {str(given)!r}")
    if path.exists() and not path.is_file():
        raise OptionError(
            f"the output is a device or pipe, expected a file: {str(given)!r}; leave --out out "
            "and name --format to write to standard output"
        )
    if not path.parent.is_dir():
        raise OptionError(f"the folder of the output does not exist: make {str(path.parent)!r}")
    if not os.access(path.parent, os.W_OK | os.X_OK):
        raise OptionError(
            f"the folder of the output, {str(path.parent)!r}, is not yours to write to: choose "
            "another, or change its permissions"
        )
    if path.exists():
        there = path.stat()
        for each in filter(os.path.exists, inputs):
            if os.path.samestat(os.stat(each), there):
                raise OptionError(
                    f"the output {str(given)!r} is the input {str(each)!r}, which would be "
                    "lost: choose another name"
                )
    handle, beside = _open_beside(path)
    os.close(handle)
    os.unlink(beside)


def write_frame(frame: Any, path: str | os.PathLike[str], form: str | None = None) -> None:
    """Write a Dask DataFrame to one file, partition by partition.

    The rows are written beside the file, which is renamed into its place at the end. At most
    one partition is held here at a time.

    Parameters
    ----------
    frame : dask.dataframe.DataFrame
    path : path
        Ends in .parquet or .csv, unless `form` is given.
    form : {"parquet", "csv", "ldbc"}, optional
        A csv has a header, and missing values are empty. LDBC Graphalytics wants a line
        ``vertex value`` for each vertex, in any sequence: the second column is the value,
        missing is 9223372036854775807, infinite is Infinity.

    Raises
    ------
    OptionError
        If the path has another ending or its folder does not exist.
    OutputError
        If its folder takes no files, or its disk has no room.
    """
    check_output(path, form)
    path = Path(path)
    write = FORMATS[form or path.suffix[1:]]
    write_whole(path, lambda file: write(frame, file))


def write_whole(path: Path, write: Callable[[IO[bytes]], None]) -> None:
    """Let `write` write a file, which is there whole or not at all.

    Raises
    ------
    OutputError
        If its folder takes no files, or its disk has no room.
    """
    path = Path(os.path.realpath(path))  # a link stays one
    handle, beside = _open_beside(path)
    try:
        with os.fdopen(handle, "wb") as file:
            write(file)
        os.chmod(beside, 0o666 & ~_umask())
        os.replace(beside, path)
    except OSError as error:
        if error.errno not in _NO_ROOM:
            raise
        raise OutputError(
            f"{str(path)!r} was not written, {error.strerror}: make room, or choose another "
            "place"
        ) from error
    finally:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(beside)


def _open_beside(path: Path) -> tuple[int, str]:
    """Open a new file in the folder of another one; return its handle and name."""
    try:
        return tempfile.mkstemp(prefix=f".{path.name[:80]}.", dir=path.parent)
    except OSError as error:
        raise OutputError(
            f"the folder of the output, {str(path.parent)!r}, takes no files, "
            f"{error.strerror}: choose another"
        ) from error


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


def _write_ldbc(frame: Any, file: IO[bytes]) -> None:
    for part in _partitions(frame):
        values = part.iloc[:, 1]
        if pd.api.types.is_float_dtype(values):
            values = values.map(repr).replace("inf", "Infinity")
        else:
            values = values.astype("string").fillna(str(UNREACHED))
        lines = pd.DataFrame({"vertex": part.iloc[:, 0], "value": values})
        lines.to_csv(file, sep=" ", index=False, header=False, encoding="utf-8")


#: How to write each format.
FORMATS: dict[str, Callable[[Any, IO[bytes]], None]] = {
    "parquet": _write_parquet,
    "csv": _write_csv,
    "ldbc": _write_ldbc,
}


def print_lines(frame: Any, form: str) -> None:
    """Write a Dask DataFrame to standard output as csv or as LDBC wants it."""
    sys.stdout.flush()
    FORMATS[form](frame, sys.stdout.buffer)
    sys.stdout.buffer.flush()
