"""`read_edges`: a file, folder, glob or list of them becomes a Dask DataFrame of edges."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import dask.dataframe as dd

from dgraph.edges.files import Path
from dgraph.edges.sources import open_edges, remember
from dgraph.keywords import named

__all__ = ["read_edges"]


@named
def read_edges(
    path: Path | Iterable[Path],
    *,
    format: str | None = None,
    sep: str | None = None,
    header: bool | None = None,
    columns: Sequence[int | str] | None = None,
    dtype: Any = None,
    storage_options: Mapping[str, Any] | None = None,
) -> dd.DataFrame:
    r"""Read edges from files.

    Parameters
    ----------
    path : str, path-like, or list of them
        A file, a folder, a glob; on any file system that fsspec knows. A graph of LDBC
        Graphalytics goes by any of its files, NAME.e, NAME.v, NAME.properties, or by NAME.
    format : str, optional
        "parquet", "csv", "tsv", "txt", "el", "wel", "mtx" (Matrix Market), "graph" (METIS),
        "npz", "gr" (DIMACS) or "adjlist" (lines ``u v1 v2 ...``, a vertex and its neighbours);
        else the ending of the names tells, before .gz, .zst, .bz2, .xz.
    sep : str, optional
        Separator of text: " " (any blanks or tabs), "\t", ",", ";"; else found out.
    header : bool, optional
        Whether the first line of text holds names; else found out: from numbers below words,
        known names, quotes, digits; if an id of it occurs again below, or nothing tells, it is
        taken for an edge. A line ``sep=;`` above it, as Excel writes, tells the separator.
    columns : list of names or positions, optional
        Which columns are source, target and perhaps weight; else those named so, or the first
        two, and as weight the one after them if it holds numbers, which have decimal points,
        not commas. Lines may then have any
        number of further fields.
    dtype : dtype or dict, optional
        Of both id columns, or of "source", "target" and "weight"; else ids are integers if
        every id of both columns is written as Python writes one ("007" is a string), which
        takes a pass over the text before this function returns. A value that is not what the
        dtype holds is an error, also in a parquet file.
    storage_options : dict, optional
        For fsspec.

    Returns
    -------
    dask DataFrame
        Columns source, target[, weight: float64]; a parquet file keeps its own unless `columns`
        selects. Ids are int64 or uint64, Int64 or UInt64 if some are missing (empty fields), or
        strings; integers of parquet are objects in a partition where some are missing. Of a
        symmetric matrix, and of a METIS file, each edge is given at both ends; of adjacency
        lists as they stand. `from_edges`, given the path, also learns what files say of
        vertices without edges, and properties of the direction.

    Raises
    ------
    MissingFileError
        If there is no such file.
    EdgeValueError
        If a line has too few or too many fields, or an id is an integer beyond 64 bits; names
        file and line. If the header calls another column as it calls one that is read, and
        `columns` does not give its position. If a title stands above the lines of data.

    Warns
    -----
    IdWarning
        If all ids of a text column are numbers, and some of them decimal, or if most are
        integers, none with leading zeros, and some are words: all are strings, which
        ``dtype="str"`` says as well.
    LayoutWarning
        If the first two columns of text are taken as ends, though others are called so, as in
        ``id,from,to``. If the first line is taken for names, but these occur below as ids; or
        for an edge, whose ids occur in no other, while those of the next three edges do, or of
        both that there are.
    EmptyWarning
        If a text file, or all of them, hold no edge, with names of columns or without.

    Notes
    -----
    Uncompressed delimited text is read in blocks of 32 MiB, parquet by row groups; of all else
    a file is one partition. A line that starts with "#" or "%" is a comment. Fields may be
    quoted as in csv; blanks around fields do not count. What was decided of separator, header
    and ids, and why, goes to the logger "dgraph" as information, and into the report of a graph
    of these edges: ``g.report["chosen"]``.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> file = pathlib.Path(tempfile.mkdtemp(), "roads.csv")
    >>> _ = file.write_text("from,to,km\nYork,Leeds,39\nLeeds,Hull,98.5\n")
    >>> read_edges(file).compute()
      source target  weight
    0   York  Leeds    39.0
    1  Leeds   Hull    98.5
    """
    source = open_edges(
        path, format=format, sep=sep, header=header, columns=columns, dtype=dtype,
        storage_options=storage_options,
    )  # fmt: skip
    return remember(source)
