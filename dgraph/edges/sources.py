"""What a path leads to: a Dask DataFrame of edges, and what the files say of themselves."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

import dask.dataframe as dd
from dask.delayed import delayed

from dgraph.edges import adjacency, ldbc
from dgraph.edges.blocks import Block
from dgraph.edges.doubt import doubt_of_first_line
from dgraph.edges.dtypes import as_dtype, wanted_dtypes
from dgraph.edges.ends import doubt_of_ends
from dgraph.edges.files import File, Path, find_files
from dgraph.edges.layout import Columns, Layout, check_names, find_layout
from dgraph.edges.matrices import parse_matrix, read_npz, shape_of_npz, symmetry_of
from dgraph.edges.metis import read_header, read_metis
from dgraph.edges.parquet import open_parquet
from dgraph.edges.roles import find_columns
from dgraph.edges.run import attempt, run_all
from dgraph.edges.survey import IdPlan, Survey, describe
from dgraph.edges.text import TextFile, TextReader, empty, plan_of, survey_all
from dgraph.errors import EdgeValueError, EmptyWarning, LayoutWarning, OptionError
from dgraph.events import Note, notify
from dgraph.warn import warn

__all__ = ["EdgeSource", "Files", "open_edges", "remember", "source_of"]

#: The attribute of a frame that holds its name and source; what is made of it has none.
_KEPT = "_dgraph_source"

_TEXT = ("csv", "tsv", "txt", "el", "wel", "mtx", "gr")


@dataclass(frozen=True, slots=True)
class Files:
    """A path, and how to read it; see `dgraph.read_edges`."""

    path: Path | Iterable[Path]
    format: str | None = None
    sep: str | None = None
    header: bool | None = None
    dtype: Any = None


@dataclass(frozen=True, slots=True)
class EdgeSource:
    """What a path leads to.

    Parameters
    ----------
    frame : Dask DataFrame
        Columns source, target[, weight]; of a parquet file those it has.
    vertices : range, Dask DataFrame or None
        All vertices, if the files say so: Matrix Market, METIS, DIMACS, scipy's .npz; a frame
        with a column vertex: adjacency lists, vertex files of LDBC's.
    own_columns : bool
        Whether the frame has the columns of the file under their own names.
    directed : bool or None
        Whether edges have a direction, if the files say so: properties of LDBC's.
    readers : sequence of callable
        Of which each returns a partition of `frame`; empty if Dask reads the files.
    files : sequence of File
        Parquet files that Dask reads: to be looked at if it cannot.
    chosen : mapping of str to str
        What was decided of separator, header and ids, and why.
    names : tuple of str
        What the header of the first file calls the columns of `frame`; empty: it has none.
    columns : tuple of int
        Where in the lines of delimited text these stand.
    """

    frame: dd.DataFrame
    vertices: range | dd.DataFrame | None = None
    own_columns: bool = False
    directed: bool | None = None
    readers: Sequence[Callable[[], Any]] = ()
    files: Sequence[File] = ()
    chosen: Mapping[str, str] = field(default_factory=dict)
    names: tuple[str, ...] = ()
    columns: tuple[int, ...] = ()

    def parts(self) -> list[Any]:
        """Return Dask delayed objects of the partitions, or of the errors of reading them."""
        return [delayed(partial(attempt, reader), pure=False)() for reader in self.readers]

    def locate(self, partition: int, row: int) -> str:
        """Name file and line of a row of delimited text; nothing where that is not cheap."""
        reader = self.readers[partition] if self.readers else None
        return reader.locate(row) if isinstance(reader, TextReader) else ""


def remember(source: EdgeSource) -> dd.DataFrame:
    """Return the frame of a source, from which :func:`source_of` gets the source again."""
    source.frame.__dict__[_KEPT] = source.frame._name, source
    return source.frame


def source_of(frame: dd.DataFrame) -> EdgeSource | None:
    """Return what a frame was read from, None if it was not, or is not as it was read."""
    name, source = frame.__dict__.get(_KEPT, ("", None))
    return source if name == frame._name else None  # it can be changed in place


def open_edges(
    path: Path | Iterable[Path],
    *,
    format: str | None = None,
    sep: str | None = None,
    header: bool | None = None,
    columns: Sequence[int | str] | None = None,
    dtype: Any = None,
    storage_options: Mapping[str, Any] | None = None,
    names: Columns = (None, None),
    half: bool = False,
    weighted: bool = True,
) -> EdgeSource:
    """Read edges from files as `dgraph.read_edges`, with what the files say of themselves.

    Parameters
    ----------
    names : sequence
        Like `columns`, with None for what shall be found out, and without the demand that the
        file has columns to name; a parquet file keeps its own columns all the same.
    half : bool
        For an undirected graph: of a symmetric matrix give one triangle.
    weighted : bool
        Whether weights are wanted.
    """
    named = any(name is not None for name in names)
    files = find_files(path, format, storage_options)
    wanted = wanted_dtypes(dtype)
    kind = _family(files)
    if kind == "text":
        chosen = names if named else columns
        layouts = _layouts(files, partial(find_layout, sep=sep, header=header, columns=chosen))
        for file, layout in zip(files, layouts, strict=True):
            check_names(file, layout, chosen, weighted)
        _warn_of_ends(layouts[0], chosen)
        found = _open_text(files, layouts, wanted, half, weighted)
        properties = ldbc.properties_of(files)
        return replace(found, directed=properties.directed) if properties else found
    if kind == "parquet":
        frame = open_parquet(files, columns, storage_options)
        source = EdgeSource(frame, own_columns=columns is None, files=files)
    elif columns is not None or named:
        raise OptionError(f"a .{kind} file has no columns to choose from: do not name any")
    elif kind == "adjlist":
        return _open_adjacency(files, sep, wanted, half)
    elif kind == "graph":
        source = _open_metis(files, half, weighted)
    else:
        source = _open_npz(files, half, weighted)
    return _as_wanted(source, wanted, names)


def _warn_of_ends(layout: Layout, columns: Columns | None) -> None:
    """Warn if nobody chose the ends, and other columns of a header are plainly these."""
    names, taken = layout.names, layout.columns[:2]
    chosen = any(column is not None for column in (columns or ())[:2])
    if chosen or not names or {"source", "target"} <= {name.strip().lower() for name in names}:
        return
    if max(taken) < len(names) and (doubt := doubt_of_ends(names, taken)):
        warn(doubt, LayoutWarning)


def _as_wanted(source: EdgeSource, wanted: Mapping[str, str], names: Columns) -> EdgeSource:
    """Let a source whose columns have dtypes of their own have those that are wanted."""
    frame = source.frame
    dtypes = _by_column(list(frame.columns), wanted, names)
    if not dtypes:
        return source
    if source.readers:
        readers = [partial(_read_as, reader, dtypes) for reader in source.readers]
        meta = _read_as(lambda: frame._meta, dtypes)
        return replace(source, frame=_frame(readers, meta), readers=readers)
    cast = {name: _cast(frame[name], dtype) for name, dtype in dtypes.items()}
    return replace(source, frame=frame.assign(**cast))


def _by_column(columns: list[Any], wanted: Mapping[str, str], names: Columns) -> dict[Any, str]:
    """Return which of the columns shall have which dtype."""
    source, target, weight = [*names, None][:3]
    known: dict[Any, str] = {}
    if wanted.keys() & {"source", "target"}:
        ends = find_columns(columns, source or "source", target or "target", None)
        for role, at in zip(("source", "target"), ends, strict=True):
            known |= {columns[at]: wanted[role]} if role in wanted else {}
    if "weight" in wanted and (weight or "weight") in columns:
        known[weight or "weight"] = wanted["weight"]
    return known


def _cast(column: Any, dtype: str) -> Any:
    """Return a column of a Dask DataFrame in a dtype; others need not be read for it."""
    meta = as_dtype(column._meta, dtype)
    return column.map_partitions(as_dtype, dtype, meta=meta, enforce_metadata=False)


def _read_as(reader: Callable[[], Any], dtypes: Mapping[str, str]) -> Any:
    frame = reader()
    return frame.assign(**{name: as_dtype(frame[name], dtypes[name]) for name in dtypes})


def _family(files: Sequence[File]) -> str:
    """Return "text" for all delimited formats, else the one format of all files."""
    kinds = {"text" if file.format in _TEXT else file.format for file in files}
    if len(kinds) > 1:
        names = " and ".join(sorted({file.format for file in files}))
        raise OptionError(
            f"expected files that can be read together, got {names}: read them one by one and "
            "join them with dask.dataframe.concat"
        )
    return kinds.pop()


def _layouts(files: Sequence[File], find: Callable[..., Layout]) -> list[Layout]:
    """Return the layouts of all files; what is a header in the first is one in the others."""
    first = find(files[0])
    return [first, *run_all(partial(find, like=first), files[1:])]


def _open_text(
    files: Sequence[File],
    layouts: Sequence[Layout],
    wanted: Mapping[str, str],
    half: bool,
    weighted: bool,
) -> EdgeSource:
    filled = [layout for layout in layouts if not layout.empty] or layouts
    if weighted and len({layout.weighted for layout in filled}) > 1:
        raise EdgeValueError(
            "some of the files have weights and some do not: name columns=, or read them one "
            "by one"
        )
    has_weight = weighted and filled[0].weighted
    texts = [TextFile.of(*each, weighted) for each in zip(files, layouts, strict=True)]
    declared = ldbc.vertex_texts(files)
    if not declared and all(layout.empty for layout in layouts):
        _warn_of_nothing(files, next((each.names for each in layouts if each.names), ()))
    texts, declared, plan, ids = _plan(texts, declared, wanted)
    readers = [reader for text in texts for reader in _readers(text, plan, has_weight, half)]
    matrices = [layout.matrix for layout in layouts]
    vertices: range | dd.DataFrame | None = None
    if all(matrix is not None for matrix in matrices):
        vertices = range(1, 1 + max(matrix.size for matrix in matrices if matrix is not None))
    elif declared:
        vertices = _vertices(ldbc.read_vertices, declared, plan)
    chosen = {**_choices(files, layouts), "ids": ids}
    told = "; ".join(f"{what}: {why}" for what, why in chosen.items())
    notify(Note(f"{files[0].path}: {told}"))
    frame = _frame(readers, empty(plan, has_weight))
    names = _names(filled[0], has_weight)
    columns = () if matrices[0] else filled[0].columns[: 2 + has_weight]
    return EdgeSource(
        frame, vertices, readers=readers, chosen=chosen, names=names, columns=columns
    )


def _warn_of_nothing(files: Sequence[File], names: Sequence[str] = ()) -> None:
    """Warn that no line of any file holds an edge, so that a graph of them is empty."""
    first, *others = (file.path for file in files)
    told = f"the {len(files)} files from {first} on hold" if others else f"{first} holds"
    but = f"only the names of columns {', '.join(map(repr, names))}" if names else "no line"
    warn(
        f"{told} no edges, {but}: expected lines of two ids; is it the right path?",
        EmptyWarning,
    )


def _names(layout: Layout, has_weight: bool) -> tuple[str, ...]:
    """Return what the header calls source, target and weight, or nothing."""
    columns = layout.columns[: 2 + has_weight]
    if max(columns) >= len(layout.names):
        return ()
    return tuple(layout.names[at] for at in columns)


def _choices(files: Sequence[File], layouts: Sequence[Layout]) -> dict[str, str]:
    """Say how the first of the files was read that holds edges, and whether others differ."""
    filled = [at for at, layout in enumerate(layouts) if not layout.empty] or [0]
    first = layouts[filled[0]]
    chosen = dict(first.chosen)
    for key, why in chosen.items():
        word = why.partition(":")[0]
        others = sum(layouts[at].chosen[key].partition(":")[0] != word for at in filled)
        if others:
            chosen[key] += f" (in {files[filled[0]].path}; {others} other files differ)"
    return chosen


def _plan(
    texts: list[TextFile], declared: list[TextFile], wanted: Mapping[str, str]
) -> tuple[list[TextFile], list[TextFile], IdPlan, str]:
    """Find out the dtypes of ids, declared vertices included, unless they are given.

    The last that is returned says what they were taken for, and why.
    """
    surveys = None
    if not {"source", "target"} <= wanted.keys():
        count = len(texts)
        both, surveys = survey_all([*texts, *declared])
        _warn_of_first_line(texts, surveys)
        texts, declared = both[:count], both[count:]
    return texts, declared, plan_of(surveys, wanted), describe(surveys)


def _warn_of_first_line(texts: Sequence[TextFile], surveys: Sequence[Survey]) -> None:
    """Warn if all of the first file speaks against what its first line was taken for.

    The parts of a larger file do not begin alike, and their ids occur in other parts.
    """
    layout, *others = (text.layout for text in texts)
    if not layout.doubted or any(each.doubted[:1] != layout.doubted[:1] for each in others):
        return
    file, last = texts[0].blocks[0].file, len(texts[0].blocks)
    surveyed = [found.doubted for found in surveys[:last] if found.doubted]  # else of integers
    counts = [sum(each[at] for each in surveyed) for at in range(len(layout.doubted))]
    if doubt := doubt_of_first_line(file.path, layout.doubted, bool(layout.names), counts):
        warn(doubt, LayoutWarning)


def _vertices(
    reader: Callable[[Block, IdPlan], Any], texts: Iterable[TextFile], plan: IdPlan
) -> dd.DataFrame:
    readers = [partial(reader, block, plan) for text in texts for block in text.blocks]
    meta = empty(plan, False)[["source"]].rename(columns={"source": "vertex"})
    return _frame(readers, meta)


def _open_adjacency(
    files: Sequence[File], sep: str | None, wanted: Mapping[str, str], half: bool
) -> EdgeSource:
    if not any(file.head(1) for file in files):
        _warn_of_nothing(files)
    texts = [adjacency.AdjacencyFile.of(file, sep).text() for file in files]
    texts, _, plan, ids = _plan(texts, [], wanted)
    blocks = [block for text in texts for block in text.blocks]
    if half:  # whether each edge stands at both of its ends
        sums = run_all(partial(adjacency.symmetry_of, plan=plan), blocks)
        half = sum(sums) % 2**64 == 0
    readers = [partial(adjacency.read_adjacency, block, plan, half) for block in blocks]
    vertices = _vertices(adjacency.read_vertices, texts, plan)
    frame = _frame(readers, empty(plan, False))
    return EdgeSource(frame, vertices, readers=readers, chosen={"ids": ids})


def _readers(
    text: TextFile, plan: IdPlan, has_weight: bool, half: bool
) -> Iterable[Callable[[], Any]]:
    if text.layout.empty:
        return [partial(empty, plan, has_weight)]
    matrix = text.layout.matrix
    if matrix is None:
        return [TextReader(block, plan) for block in text.blocks]
    once = half and (matrix.half or sum(run_all(symmetry_of, text.blocks)) % 2**64 == 0)
    return [partial(parse_matrix, block, plan, once) for block in text.blocks]


def _open_metis(files: Sequence[File], half: bool, weighted: bool) -> EdgeSource:
    headers = run_all(read_header, files)
    has_weight = weighted and all(header.weighted for header in headers)
    readers = [partial(read_metis, file, has_weight, half) for file in files]
    size = max(header.vertices for header in headers)
    frame = _frame(readers, empty(IdPlan(), has_weight))
    return EdgeSource(frame, range(1, size + 1), readers=readers)


def _open_npz(files: Sequence[File], half: bool, weighted: bool) -> EdgeSource:
    shapes = run_all(shape_of_npz, files)
    has_weight = weighted and all(shape.weighted for shape in shapes)
    readers = [partial(read_npz, file, has_weight, half) for file in files]
    sizes = [shape.vertices for shape in shapes if shape.vertices is not None]
    vertices = range(max(sizes)) if len(sizes) == len(files) else None
    return EdgeSource(_frame(readers, readers[0]().iloc[:0]), vertices, readers=readers)


def _frame(readers: Sequence[Callable[[], Any]], meta: Any) -> dd.DataFrame:
    frame: dd.DataFrame = dd.from_map(
        _call, readers, meta=meta, enforce_metadata=False, label="read-edges"
    )
    return frame


def _call(reader: Callable[[], Any]) -> Any:
    frame = reader()
    frame.attrs.clear()  # they would not tell any more of what users make of it
    return frame
