"""Every form of edges that a user may hold becomes one description: `EdgeInput`.

The parts of a lazy collection stay lazy: each is a Dask delayed object for one task, which
calls `dgraph.edges.chunk.make_chunk` on it, so that the collection is computed once. What is in
memory is cut into parts of bounded length, without copying it.

Optional libraries are recognised by the module of the object that came in: nothing is imported
to find out that it is not used.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import dask.array as da
import dask.dataframe as dd
import numpy as np

from dgraph.arguments import optional_flag
from dgraph.edges.chunk import ChunkSpec
from dgraph.edges.ends import doubt_of_ends
from dgraph.edges.matrices import entries
from dgraph.edges.networks import network_edges, network_vertices
from dgraph.edges.parquet import guarded
from dgraph.edges.parts import as_table, column_names, cut_rows, select
from dgraph.edges.roles import find_columns
from dgraph.edges.sources import EdgeSource, Files, open_edges, source_of
from dgraph.edges.vertex_inputs import VertexInput, range_input, vertex_input
from dgraph.errors import EdgeTypeError, EdgeValueError, LayoutWarning, OptionError
from dgraph.warn import warn

__all__ = ["EdgeInput", "edge_input"]

_DEFAULTS = ("source", "target")
_FORMS = (
    "a Dask, pandas or polars DataFrame, a pyarrow Table, a NumPy or Dask array of shape "
    "(m, 2) or (m, 3), a scipy sparse matrix, a networkx graph or a path"
)


@dataclass(frozen=True, slots=True)
class EdgeInput:
    """Edges of any form.

    Parameters
    ----------
    form : str
        What came, in words.
    spec : ChunkSpec
        Where the columns are; for `dgraph.edges.chunk.make_chunk`.
    parts : list
        Of its first argument, or Dask delayed objects of it.
    directed : bool
        As the user says, else as the input is, else False.
    vertices : list of VertexInput
        Vertices that are declared, by the input itself or by the user. Empty: those that the
        edges name.
    chosen : mapping of str to str
        What was decided when files were read, and why.
    locate : function of a partition's number and a row in it, optional
        Returns the file and line of that, or nothing.
    columns : mapping of "source", "target" and "weight" to str or int
        What is taken as these: names, or positions of columns without names.
    """

    form: str
    spec: ChunkSpec
    parts: list[Any]
    directed: bool
    vertices: list[VertexInput]
    chosen: Mapping[str, str] = field(default_factory=dict)
    locate: Callable[[int, int], str] | None = None
    columns: Mapping[str, str | int] = field(default_factory=dict)

    @property
    def weighted(self) -> bool:
        """Whether the edges have weights."""
        return self.spec.weight is not None


@dataclass(frozen=True, slots=True)
class _Wanted:
    """The arguments of `from_edges` that say where things are."""

    source: Hashable
    target: Hashable
    weight: Hashable
    directed: bool | None

    @property
    def weighted(self) -> bool:
        return self.weight is not None and self.weight is not False

    @property
    def half(self) -> bool:
        """Whether one triangle of a symmetric matrix is all."""
        return not self.directed

    def require_no_names(self, form: str) -> None:
        """Raise if names are given for columns of something that has no names."""
        if (self.source, self.target) != _DEFAULTS:
            raise OptionError(f"{form} has no column names: leave source= and target= out")
        if self.weighted and self.weight is not True:
            raise OptionError(f"{form} has no column names: pass weight=True for its weights")


def edge_input(
    edges: Any,
    source: Hashable = "source",
    target: Hashable = "target",
    weight: Hashable = None,
    *,
    directed: bool | None = None,
    vertices: Any = None,
) -> EdgeInput:
    """Describe edges of any form; nothing is computed, files are looked into.

    Parameters
    ----------
    edges, source, target, weight
        As in `dgraph.from_edges`.
    directed : bool or None
        None: as the input says, else undirected.
    vertices : any form that `vertex_input` takes, optional
        Declared vertices, besides those that the input declares itself.

    Raises
    ------
    EdgeTypeError
        If `edges` is of no form that is known.
    EdgeValueError
        If a column that is named is not there, or an array has a wrong shape.
    OptionError
        If `directed` contradicts the input.

    Examples
    --------
    >>> edge_input(np.array([[1, 2], [2, 3]])).spec
    ChunkSpec(source=0, target=1, weight=None, names=('source', 'target', 'weight'))
    """
    directed = optional_flag("directed", directed)
    if isinstance(weight, np.bool_):
        weight = bool(weight)
    found = _describe(edges, _Wanted(source, target, weight, directed))
    if vertices is not None:
        found = replace(found, vertices=[*found.vertices, vertex_input(vertices)])
    return found


def _describe(edges: Any, wanted: _Wanted) -> EdgeInput:
    if isinstance(edges, dd.DataFrame):
        if (source := source_of(edges)) is not None:
            return _from_source(source, wanted, "edges that read_edges reads")
        return _from_dask_frame(edges, wanted, "a Dask DataFrame")
    if isinstance(edges, da.Array):
        return _from_dask_array(edges, wanted)
    if isinstance(edges, Files):
        return _from_path(edges, wanted)
    if isinstance(edges, str | os.PathLike) or _are_paths(edges):
        return _from_path(Files(edges), wanted)
    library = type(edges).__module__.split(".")
    if library[:2] == ["scipy", "sparse"]:
        return _from_matrix(edges, wanted)
    if hasattr(edges, "is_multigraph") and hasattr(edges, "is_directed"):
        return _from_network(edges, wanted)
    table = as_table(edges)
    if table is not None:
        return _from_table(table, wanted, f"a {library[0]} {type(edges).__name__}")
    if isinstance(edges, np.ndarray):
        return _from_array(edges, wanted)
    raise EdgeTypeError(f"expected {_FORMS}, got {type(edges).__name__}: convert it to one")


def _are_paths(edges: Any) -> bool:
    return (
        isinstance(edges, list | tuple)
        and len(edges) > 0
        and all(isinstance(path, str | os.PathLike) for path in edges)
    )


def _spec(names: Sequence[Any]) -> ChunkSpec:
    """Return the spec of a table that was reduced to the columns that are needed."""
    shown = [str(name) for name in names]
    weight = 2 if len(shown) == 3 else None
    return ChunkSpec(weight=weight, names=(shown[0], shown[1], [*shown, "weight"][2]))


def _find_columns(names: list[Any], wanted: _Wanted) -> list[int]:
    """Find the columns; warn if nobody named the ends, and others are plainly these."""
    positions = find_columns(names, wanted.source, wanted.target, wanted.weight)
    if (wanted.source, wanted.target) == _DEFAULTS and (
        doubt := doubt_of_ends(names, positions)
    ):
        warn(doubt, LayoutWarning)
    return positions


def _as_roles(columns: Sequence[Any]) -> dict[str, Any]:
    """Return which role each of two or three columns has.

    >>> _as_roles(["from", "to"]), _as_roles((0, 1, 2))
    ({'source': 'from', 'target': 'to'}, {'source': 0, 'target': 1, 'weight': 2})
    """
    shown = [name if isinstance(name, int) else str(name) for name in columns]
    return dict(zip(("source", "target", "weight"), shown, strict=False))


def _from_dask_frame(edges: dd.DataFrame, wanted: _Wanted, form: str) -> EdgeInput:
    names = list(edges.columns)
    chosen = [names[at] for at in _find_columns(names, wanted)]
    parts = edges[chosen].to_delayed(optimize_graph=True)
    roles = _as_roles(chosen)
    return EdgeInput(form, _spec(chosen), parts, bool(wanted.directed), [], columns=roles)


def _from_source(source: EdgeSource, wanted: _Wanted, form: str) -> EdgeInput:
    """Read the frame of files; what is wrong with them comes as a value, not out of a task."""
    read = _from_dask_frame(source.frame, wanted, form)
    if source.readers:
        names = list(source.frame.columns)
        at = find_columns(names, wanted.source, wanted.target, wanted.weight)
        spec = replace(read.spec, source=at[0], target=at[1], weight=[*at, None][2])
        read = replace(read, parts=source.parts(), spec=spec)
    elif source.files:
        read = replace(read, parts=[guarded(part, source.files) for part in read.parts])
    taken = source.names or source.columns
    if taken:  # of files of text; a frame of theirs calls them source, target and weight
        roles = _as_roles(taken)
        own = {role: roles[str(name)] for role, name in read.columns.items()}
        read = replace(read, columns=own)
    return replace(read, chosen=source.chosen, locate=source.locate)


def _from_dask_array(edges: da.Array, wanted: _Wanted) -> EdgeInput:
    weight = _check_shape(edges, wanted, "a Dask array")
    whole_rows = edges.rechunk({1: -1})
    parts = list(whole_rows.to_delayed(optimize_graph=True).ravel())
    return _of_array("a Dask array", parts, weight, wanted)


def _from_array(edges: np.ndarray[Any, Any], wanted: _Wanted) -> EdgeInput:
    if isinstance(edges, np.ma.MaskedArray):
        raise EdgeTypeError(
            "expected a plain NumPy array, got a masked one: make a DataFrame of Int64 columns"
        )
    weight = _check_shape(edges, wanted, "a NumPy array")
    return _of_array("a NumPy array", cut_rows(edges), weight, wanted)


def _of_array(form: str, parts: list[Any], weight: bool, wanted: _Wanted) -> EdgeInput:
    spec = ChunkSpec(weight=2 if weight else None)
    roles = _as_roles(range(2 + weight))
    return EdgeInput(form, spec, parts, bool(wanted.directed), [], columns=roles)


def _check_shape(edges: Any, wanted: _Wanted, form: str) -> bool:
    """Check that an array has two or three columns; return whether the third one is wanted."""
    wanted.require_no_names(form)
    if edges.ndim != 2 or edges.shape[1] not in (2, 3):
        raise EdgeValueError(
            f"expected {form} of shape (m, 2) or (m, 3), got shape {edges.shape}: one row per "
            "edge, source and target first"
        )
    if wanted.weighted and edges.shape[1] == 2:
        raise EdgeValueError(
            f"weight=True, but {form} of shape {edges.shape} has no third column of weights"
        )
    return wanted.weighted


def _from_table(table: Any, wanted: _Wanted, form: str) -> EdgeInput:
    names = column_names(table)
    positions = _find_columns(names, wanted)
    chosen = [names[at] for at in positions]
    spec = _spec(chosen)
    taken = [*dict.fromkeys(positions)]  # a column of ids may be that of weights as well
    if len(taken) < len(positions):
        spec = replace(spec, weight=taken.index(positions[2]))
    parts, roles = cut_rows(select(table, taken)), _as_roles(chosen)
    return EdgeInput(form, spec, parts, bool(wanted.directed), [], columns=roles)


def _from_matrix(edges: Any, wanted: _Wanted) -> EdgeInput:
    wanted.require_no_names("a scipy matrix")
    frame = entries(edges, wanted.weighted, wanted.half)
    size = int(edges.shape[0])
    spec = ChunkSpec(weight=2 if wanted.weighted else None)
    return EdgeInput(
        f"a scipy {type(edges).__name__} of {size} vertices",
        spec,
        cut_rows(frame),
        bool(wanted.directed),
        [range_input(range(size))],
    )


def _from_network(edges: Any, wanted: _Wanted) -> EdgeInput:
    if (wanted.source, wanted.target) != _DEFAULTS:
        raise OptionError("a networkx graph has no columns: leave source= and target= out")
    directed = bool(edges.is_directed())
    if wanted.directed is not None and bool(wanted.directed) != directed:
        kind = "directed" if directed else "undirected"
        raise OptionError(
            f"directed={wanted.directed}, but the networkx graph is {kind}: leave directed= "
            "out, or convert the graph with its to_directed() or to_undirected()"
        )
    name = None
    if wanted.weighted:
        name = "weight" if wanted.weight is True else wanted.weight
    frame = network_edges(edges, name)
    declared = vertex_input(network_vertices(edges))
    spec = ChunkSpec(weight=2 if wanted.weighted else None)
    form = f"a networkx {type(edges).__name__}"
    return EdgeInput(form, spec, cut_rows(frame), directed, [declared])


def _from_path(files: Files, wanted: _Wanted) -> EdgeInput:
    """Read files; a column that the user names must be in them."""
    path = files.path
    names: list[Any] = [None, None]
    if (wanted.source, wanted.target) != _DEFAULTS:
        names = [wanted.source, wanted.target]
    if wanted.weighted:
        names.append(None if wanted.weight in (True, "weight") else wanted.weight)
    found = open_edges(
        path, format=files.format, sep=files.sep, header=files.header, dtype=files.dtype,
        half=wanted.half, weighted=wanted.weighted, names=names,
    )  # fmt: skip
    if not found.own_columns:
        if wanted.weighted and "weight" not in found.frame.columns:
            raise EdgeValueError(
                f"weight={wanted.weight!r}, but {path} has no weights: leave weight= out"
            )
        wanted = replace(wanted, source="source", target="target", weight=wanted.weighted)
    form = path if isinstance(path, str) else "files"
    if found.directed is not None:
        if wanted.directed not in (None, found.directed):
            kind = "directed" if found.directed else "undirected"
            raise OptionError(
                f"directed={wanted.directed}, but the properties beside {path} say that it is "
                f"{kind}: leave directed= out"
            )
        wanted = replace(wanted, directed=found.directed)
    read = _from_source(found, wanted, str(form))
    if found.names:  # messages call columns what the user does
        first, second, third = (*found.names, "weight")[:3]
        read = replace(read, spec=replace(read.spec, names=(first, second, third)))
    if found.vertices is None:
        return read
    return replace(read, vertices=[vertex_input(found.vertices)])
