"""Which files a path means, what format they have, and how their bytes are read.

All file systems that fsspec knows are fine. A file is read as a whole, decompressed if its name
says so, or, if it is not compressed, in blocks that begin and end at line ends.
"""

from __future__ import annotations

import bz2
import gzip
import lzma
import os
import zlib
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from io import BytesIO
from typing import Any, BinaryIO, cast

import pyarrow as pa
from dask.utils import natural_sort_key
from fsspec import AbstractFileSystem  # type: ignore[import-untyped]
from fsspec.core import url_to_fs  # type: ignore[import-untyped]

from dgraph.errors import EdgeTypeError, EdgeValueError, MissingFileError, OptionError
from dgraph.keywords import hint

__all__ = ["FORMATS", "File", "beside", "find_files"]

Path = str | os.PathLike[str]

# The ending of a name -> the format. The formats are the values.
FORMATS = {
    "parquet": "parquet", "parq": "parquet", "pq": "parquet",
    "csv": "csv", "tsv": "tsv", "tab": "tsv",
    "txt": "txt", "dat": "txt", "edges": "txt", "edgelist": "txt", "konect": "txt", "e": "txt",
    "el": "el", "wel": "wel",
    "mtx": "mtx", "gr": "gr", "graph": "graph", "metis": "graph", "npz": "npz",
    "adjlist": "adjlist", "adj": "adjlist",
}  # fmt: skip


def _unzstd(data: bytes) -> bytes:
    with pa.CompressedInputStream(pa.BufferReader(data), "zstd") as stream:
        return cast(bytes, stream.read())


CODECS: Mapping[str, Callable[[bytes], bytes]] = {
    "gz": gzip.decompress,
    "zst": _unzstd,
    "bz2": bz2.decompress,
    "xz": lzma.decompress,
}

# What they raise where bytes are missing or wrong.
_DAMAGED = (OSError, EOFError, ValueError, lzma.LZMAError, zlib.error)

_PIECE = 1 << 16  # bytes read at once in search of a line's end


@dataclass(frozen=True, slots=True)
class File:
    """One file of edges.

    Parameters
    ----------
    system : fsspec file system
    path : str
        As `system` knows it.
    format : str
        A value of FORMATS.
    codec : str
        A key of CODECS, or empty if the file is not compressed.
    stamp : str
        Changes when the file does, so that Dask's keys do.
    """

    system: AbstractFileSystem
    path: str
    format: str
    codec: str
    stamp: str = ""

    def size(self) -> int | None:
        """Return the bytes of the file as it is stored; None if its server does not tell."""
        size = self.system.size(self.path)
        return None if size is None else int(size)

    def url(self) -> str:
        """Return the path with the protocol of its file system, as Dask's readers take it."""
        return str(self.system.unstrip_protocol(self.path))

    def open(self) -> BinaryIO:
        """Open the bytes, decompressed."""
        return BytesIO(self.read()) if self.codec else self._stored()

    def read(self) -> bytes:
        """Return all bytes, decompressed."""
        with self._stored() as stream:
            data = stream.read()
        if not self.codec or not data:
            return data
        try:
            return CODECS[self.codec](data)
        except (*_DAMAGED, pa.ArrowException) as error:
            raise EdgeValueError(
                f"{self.path} is no complete {self.codec} file ({error}): write it again"
            ) from error

    def _stored(self) -> BinaryIO:
        return cast(BinaryIO, self.system.open(self.path, "rb"))

    def head(self, least: int) -> bytes:
        """Return the first bytes, `least` or all there are; all of a compressed file."""
        if self.codec:
            return self.read()
        with self._stored() as stream:
            return stream.read(least)

    def line_of(self, byte: int) -> int:
        """Return the number of the line, from 1 on, in which a byte of :meth:`read` stands."""
        before = self.head(byte)[:byte]
        return 1 + (before.count(b"\n") or before.count(b"\r"))

    def lines(self, start: int, stop: int, exact: bool) -> tuple[bytes, int]:
        """Return the lines that begin at ``start <= byte < stop``, and where the first does.

        A line begins after every newline byte, and at `start` if that is `exact`. The file must
        not be compressed.
        """
        before = start if exact else start - 1
        with self._stored() as stream:
            stream.seek(before)
            pieces = [stream.read(stop - before)]
            skipped = 0 if exact else pieces[0].find(b"\n") + 1
            if skipped == 0 and not exact:
                return b"", stop  # one line covers all of the block
            while pieces[-1] and not pieces[-1].endswith(b"\n"):
                piece = stream.read(_PIECE)
                end = piece.find(b"\n") + 1
                pieces.append(piece[:end] if end else piece)
        return b"".join(pieces)[skipped:], before + skipped


def find_files(
    path: Path | Iterable[Path],
    format: str | None = None,
    storage_options: Mapping[str, Any] | None = None,
) -> list[File]:
    """List the files that `path` means, in natural order ("part.2" before "part.10").

    Parameters
    ----------
    path : str, path-like, or list of them
        A file, a folder (all its files, also in folders below, but not those whose names start
        with "." or "_"), a glob; of a graph of LDBC's also its other files, NAME.v and
        NAME.properties, or just NAME: they mean NAME.e.
    format : str, optional
        A key or value of FORMATS; else the ending of each name tells.
    storage_options : dict, optional
        Passed to fsspec.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> folder = pathlib.Path(tempfile.mkdtemp())
    >>> for name in ["part.10.csv.gz", "part.9.csv.gz", "_SUCCESS"]:
    ...     (folder / name).touch()
    >>> [(file.path.rsplit("/", 1)[1], file.format, file.codec) for file in find_files(folder)]
    [('part.9.csv.gz', 'csv', 'gz'), ('part.10.csv.gz', 'csv', 'gz')]
    """
    alone = isinstance(path, str | os.PathLike | bytes) or not isinstance(path, Iterable)
    paths: list[Any] = [path] if alone else list(cast(Iterable[Path], path))
    if not paths:
        raise OptionError("expected at least one path, got an empty list: name the files")
    files = [file for each in paths for file in _find(each, format, storage_options or {})]
    kinds = sorted({file.format for file in files})
    if "parquet" in kinds and len(kinds) > 1:
        raise OptionError(
            f"expected files of one kind, got {' and '.join(kinds)}: read them one by one and "
            "join them with dask.dataframe.concat"
        )
    return files


def _find(path: Path, format: str | None, options: Mapping[str, Any]) -> list[File]:
    if not isinstance(path, str | os.PathLike):
        raise EdgeTypeError(
            f"expected a path, got {type(path).__name__}: give a str or os.PathLike"
        )
    system, root = _opened(os.fspath(path), options)
    if system.isfile(root):
        names = _edges_beside(system, root)
    elif system.isdir(root):
        names = _visible(system.find(root), root)
        if format is None:  # a folder may hold a README beside the edges
            names = [name for name in names if _format_of(name)[0]] or names
    elif pair := beside(system, root, "e"):
        names = [pair]
    else:
        names = [name for name in system.glob(root) if system.isfile(name)]
    if not names:
        raise MissingFileError(
            f"found no file for {os.fspath(path)!r}: expected a file, a folder or a glob"
        )
    return [_file(system, name, format) for name in sorted(names, key=natural_sort_key)]


def _opened(path: str, options: Mapping[str, Any]) -> tuple[AbstractFileSystem, str]:
    """Return the file system that a path is of, and the path there."""
    if not path:
        raise OptionError("expected a path, got an empty one: name a file, folder or glob")
    try:
        system, root = url_to_fs(path, **options)
    except ImportError as error:
        raise OptionError(f"{path!r} needs a package that is not installed: {error}") from error
    except ValueError as error:
        raise OptionError(
            f"{path!r} is on no file system that fsspec knows, {error}: name another"
        ) from error
    return system, root


def _edges_beside(system: AbstractFileSystem, name: str) -> list[str]:
    """Return the file itself; of a vertex file or properties of LDBC's the file of edges."""
    stem, ending = _stem_and_ending(name)
    if ending not in ("v", "properties"):
        return [name]
    edges = beside(system, stem, "e")
    if edges is None:
        raise MissingFileError(f"found {name!r}, but no {stem}.e with edges: put it beside")
    return [edges]


def _stem_and_ending(name: str) -> tuple[str, str]:
    """Cut a name before its ending, and drop what it is compressed with.

    >>> _stem_and_ending("data/kgs.e.zst")
    ('data/kgs', 'e')
    """
    stem, _, ending = name.rpartition(".")
    if ending.lower() in CODECS:
        stem, _, ending = stem.rpartition(".")
    return stem, ending


def beside(system: AbstractFileSystem, stem: str, ending: str) -> str | None:
    """Return the name of a file with this ending, compressed or not; None if there is none.

    >>> from fsspec.implementations.memory import MemoryFileSystem
    >>> system = MemoryFileSystem()
    >>> system.pipe("/kgs.e.gz", b"")
    >>> beside(system, "/kgs", "e")
    '/kgs.e.gz'
    """
    names = (f"{stem}.{ending}{codec}" for codec in ("", *(f".{codec}" for codec in CODECS)))
    return next((name for name in names if system.isfile(name)), None)


def _visible(names: Iterable[str], root: str) -> list[str]:
    """Drop what Spark, Dask and editors leave beside the data, such as _SUCCESS and .crc."""
    return [
        name
        for name in names
        if not any(part.startswith((".", "_")) for part in name[len(root) :].split("/") if part)
    ]


def _format_of(name: str) -> tuple[str | None, str]:
    """Return format and codec that a file's name tells; KONECT's files are named out.NAME."""
    base = name.rsplit("/", 1)[-1]
    stem, _, codec = base.rpartition(".")
    if codec.lower() in CODECS:
        base, codec = stem, codec.lower()
    else:
        codec = ""
    known = FORMATS.get(base.rpartition(".")[2].lower()) if "." in base else None
    return known or ("txt" if base.startswith("out.") else None), codec


def _file(system: AbstractFileSystem, name: str, format: str | None) -> File:
    known, codec = _format_of(name)
    if format is not None:
        known = FORMATS.get(format) if isinstance(format, str) else None
    if known is None:
        allowed = dict.fromkeys(FORMATS.values())
        asked = f"the ending of {name!r}" if format is None else f"format={format!r}"
        given = _stem_and_ending(name)[1] if format is None else format
        raise OptionError(
            f"{asked} names no known format: pass format= one of {', '.join(allowed)}"
            f"{hint(given, allowed)}"
        )
    return File(system, name, known, codec, str(system.ukey(name)))
