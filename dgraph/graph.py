"""The graph as users hold it."""

from __future__ import annotations

from collections.abc import Mapping
from inspect import isawaitable
from os import PathLike
from types import TracebackType
from typing import TYPE_CHECKING, Any, NoReturn, Self

import numpy as np
import pandas as pd
from dask.base import is_dask_collection
from dask.utils import format_bytes

from dgraph.clients import call, then
from dgraph.convert import as_networkx, as_scipy
from dgraph.elsewhere import Elsewhere, reduced, refuse
from dgraph.engine.records import Runs
from dgraph.engine.spec import SlotProgram
from dgraph.errors import OptionError, OptionTypeError
from dgraph.estimate import by_slot
from dgraph.facts import Facts
from dgraph.figures import Figures, Placed
from dgraph.home import Home
from dgraph.listing import arcs_slot, degrees_slot, edges_slot, kept_slot, vertices_slot
from dgraph.plurals import counted
from dgraph.results import VERTEX, collect, listing, meta_of, table
from dgraph.store import save
from dgraph.tables import Table, html
from dgraph.topology import Topology

if TYPE_CHECKING:
    from dask.dataframe import DataFrame

__all__ = ["Graph", "check_graph", "check_undirected", "home_of", "run_algorithm"]


class Graph:
    """A graph that lies in shards on the slots of a Dask cluster; made by `from_edges`.

    It cannot be changed. The workers free its memory when it is closed, when no variable holds
    it any more, and when its client ends; results of algorithms stay. With an asynchronous
    client every method that computes returns an awaitable.

    Examples
    --------
    >>> import dgraph as dg
    >>> edges = pd.DataFrame({"source": ["a", "b"], "target": ["b", "c"]})
    >>> with dg.from_edges(edges, slots=1) as g:
    ...     g
    ...     g.degrees().compute()
    <Graph: 3 vertices, 2 edges, undirected, 1 slot>
      vertex  degree
    0      b       2
    1      a       1
    2      c       1
    """

    def __init__(self, home: Home, facts: Facts) -> None:
        self._home = home
        self._facts = facts
        why = facts.report.get("chosen", {}).get("rhizomes", Figures.why)
        self._placed = Placed.of(facts.placement, home, why)

    @property
    def num_vertices(self) -> int:
        """How many vertices there are, isolated ones included."""
        return self._facts.num_vertices

    @property
    def num_edges(self) -> int:
        """How many edges there are after the policies; an undirected one counts once."""
        return self._facts.num_edges

    @property
    def directed(self) -> bool:
        """Whether edges have a direction."""
        return self._facts.directed

    @property
    def weighted(self) -> bool:
        """Whether edges have weights."""
        return self._facts.weighted

    @property
    def multigraph(self) -> bool:
        """Whether parallel edges were kept."""
        return self._facts.multigraph

    @property
    def id_dtype(self) -> str:
        """The dtype of the vertex ids: "int64", "uint8", ..., or "str"."""
        return self._facts.ids

    @property
    def id_kind(self) -> str:
        """Whether vertex ids are integers, "int", or strings, "str"."""
        return "str" if self._facts.ids == "str" else "int"

    @property
    def placement(self) -> Placed:
        """The name of the strategy that chose a slot for each vertex; a str.

        ``g.placement.figures()`` says what it cuts, repeats and costs, and how even it is.
        """
        return self._placed

    @property
    def topology(self) -> Topology:
        """The domain tree over the slots."""
        return self._home.topology

    @property
    def slots(self) -> int:
        """How many slots the graph lies on."""
        return self._home.slots

    @property
    def report(self) -> Mapping[str, Any]:
        """What was found and done when the graph was built.

        Keys: input, rows_read, nulls_dropped, duplicates_merged, self_loops (of the rows),
        self_loops_dropped; seconds by phase; bytes of all shards; rhizomes: how many vertices
        were split into how many parts; chosen: what was decided automatically, and why.
        """
        return Table("report", self._facts.report)

    @property
    def runs(self) -> Runs:
        """A record for each run of an algorithm, the latest to end last: a list."""
        return Runs(self._home.runs)

    def memory_usage(self, *, kept: bool = False) -> pd.Series[int]:
        """Return the bytes that each slot holds.

        Parameters
        ----------
        kept : bool
            Count what algorithms have kept for their next runs as well: rows by weight, ways of
            messages, arrays to work in, and whole rows beside split ones (`rhizome_max`).

        Returns
        -------
        pandas Series
            int64, indexed by slot; with `kept` and an asynchronous client an awaitable of it.
        """
        if not kept:
            return by_slot(self._facts.bytes)

        async def count() -> pd.Series[int]:
            more = await self._home.ask("memory usage", kept_slot)
            return by_slot(np.add(self._facts.bytes, more).tolist())

        self._home.check()
        sizes: pd.Series[int] = call(self._home.client, count)
        return sizes

    def vertices(self) -> DataFrame:
        """List the vertices.

        Returns
        -------
        dask DataFrame
            Column vertex, in the sequence that all results of this graph have.
        """
        meta = meta_of(self.id_dtype, {"vertex": VERTEX})
        found: DataFrame = listing(self._home, meta, "vertices", vertices_slot)
        return found

    def degrees(self) -> DataFrame:
        """List the degree of every vertex.

        Returns
        -------
        dask DataFrame
            Columns vertex, degree: int64, or vertex, in_degree, out_degree if the graph is
            directed. A loop counts 2, or one in and one out; kept parallel edges count each.
        """
        names = ("in_degree", "out_degree") if self.directed else ("degree",)
        columns = dict.fromkeys(names, "int64")
        found: DataFrame = table(
            self._home, self.id_dtype, "degrees", degrees_slot, columns=columns
        )
        return found

    def edges(self) -> DataFrame:
        """List every edge once, in no particular sequence.

        Returns
        -------
        dask DataFrame
            Columns source, target[, weight: float64]. An undirected edge has its smaller id as
            source.
        """
        columns = {"source": VERTEX, "target": VERTEX}
        if self.weighted:
            columns["weight"] = "float64"
        meta = meta_of(self.id_dtype, columns)
        found: DataFrame = listing(self._home, meta, "edges", edges_slot)
        return found

    def to_networkx(self) -> Any:
        """Fetch the graph as a networkx Graph, DiGraph, MultiGraph or MultiDiGraph.

        Vertices are Python integers or strings; weights are the edge attribute "weight".

        Examples
        --------
        >>> import numpy as np
        >>> import dgraph as dg
        >>> dg.from_edges(np.array([[1, 2], [2, 3]])).to_networkx().degree[2]
        2
        """
        parts = collect(self._home, vertices_slot, edges_slot)
        return then(parts, lambda tables: as_networkx(self._facts, *tables))

    def to_scipy(self) -> Any:
        """Fetch the graph as a scipy sparse array.

        Returns
        -------
        scipy.sparse.csr_array of shape (num_vertices, num_vertices)
            Row and column i stand for the i-th id in ascending order. Entries are weights
            (float64), or 1 (int64); parallel edges are added. Symmetric if undirected. An
            edge of weight 0 is an explicit zero.

        Examples
        --------
        >>> import numpy as np
        >>> import dgraph as dg
        >>> dg.from_edges(np.array([[10, 20], [20, 30]])).to_scipy().toarray()
        array([[0, 1, 0],
               [1, 0, 1],
               [0, 1, 0]])
        """
        parts = collect(self._home, arcs_slot)
        return then(parts, lambda tables: as_scipy(self._facts, *tables))

    def save(self, path: str | PathLike[str]) -> None:
        """Write the graph to a new folder, which every worker must see: parquet and JSON.

        The folder appears whole or not at all. `dgraph.load` reads it, onto any cluster.

        Raises
        ------
        SavedGraphError
            If there is something at `path`, or the workers do not see its folder.
        """
        self._home.check()
        return call(self._home.client, save, self._home, self._facts, path)  # type: ignore[no-any-return]

    def close(self) -> None:
        """Let the workers free the graph's memory; results of algorithms stay.

        A run that another thread has begun goes on to its end.
        """
        self._home.close()

    def __enter__(self) -> Self:
        """Return the graph; it is closed at the end of the ``with`` block."""
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Close the graph."""
        self.close()

    async def __aenter__(self) -> Self:
        """Return the graph; it is closed at the end of the ``async with`` block."""
        return self

    async def __aexit__(self, *raised: object) -> None:
        """Close the graph."""
        self.close()

    def __reduce__(self) -> tuple[Any, ...]:
        """Refuse to be pickled; a task gets what says so there."""
        return reduced()

    def __dask_tokenize__(self) -> NoReturn:
        """Refuse to be part of a task before Dask tries to pickle it, and logs its failure."""
        refuse()

    def __dask_graph__(self) -> NoReturn:
        """Refuse to be part of a delayed task."""
        refuse()

    def __repr__(self) -> str:
        """Say how large the graph is and of what kind."""
        slots = counted(self.slots, "slot")
        counts = f"{counted(self.num_vertices, 'vertex')}, {counted(self.num_edges, 'edge')}"
        state = "" if self._home.open else f", {self._home.state}"
        return f"<Graph: {counts}, {self._facts.kind}, {slots}{state}>"

    def _repr_html_(self) -> str:
        rows = {
            "vertices": f"{self.num_vertices:,} ({self.id_dtype})",
            "edges": f"{self.num_edges:,} ({self._facts.kind})",
            "slots": f"{self.slots}, on {counted(len(self._home.members), 'worker')}",
            "placement": self.placement,
            "memory": format_bytes(sum(self._facts.bytes)),
            "state": self._home.state,
        }
        return html("dgraph.Graph", rows)


def check_graph(g: Any) -> None:
    """Raise unless an algorithm was given a graph; what it may be otherwise, says what to do.

    Raises
    ------
    OptionTypeError
        Both a TypeError and a ValueError.

    Examples
    --------
    >>> check_graph("edges.csv")
    Traceback (most recent call last):
        ...
    dgraph.errors.OptionTypeError: expected a graph of dgraph, got str: make one with \
dgraph.from_edges first
    """
    if isinstance(g, Graph):
        return
    if isinstance(g, Elsewhere):
        refuse()
    kind = type(g)
    known = kind.__module__.split(".")[0] + " " if hasattr(kind, "is_multigraph") else ""
    waits = isawaitable(g) and not is_dask_collection(g)  # these can be awaited too
    remedy = "await it first" if waits else "make one with dgraph.from_edges first"
    raise OptionTypeError(
        f"expected a graph of dgraph, got {'a ' * bool(known)}{known}{kind.__name__}: {remedy}"
    )


def home_of(g: Graph) -> Home:
    """Return where a graph lies, for what runs slot programs on it beside the algorithms."""
    return g._home


def check_undirected(g: Any, what: str) -> None:
    """Raise unless an algorithm was given a graph, and an undirected one.

    Parameters
    ----------
    g : object
    what : str
        The beginning of the sentence that says so.

    Raises
    ------
    OptionTypeError
        If it is no graph.
    OptionError
        If it is a directed one.
    """
    check_graph(g)
    if g.directed:
        raise OptionError(
            f"{what} undirected graphs, and this one is directed: build it with directed=False"
        )


def run_algorithm(
    g: Graph,
    name: str,
    program: SlotProgram,
    *arguments: Any,
    columns: Mapping[str, str],
) -> Any:
    """Run an algorithm on a graph, add it to ``g.runs``, and return its result.

    Parameters
    ----------
    g : Graph
    name : str
        What the record calls the algorithm.
    program : coroutine function
        Of the module's top level; called on every slot as ``program(ctx, shard, *arguments)``.
        Returns a mapping of names to :class:`~dgraph.engine.columns.Column`. Sets
        ``ctx.notes["converged"]`` where the question arises.
    *arguments
        Picklable.
    columns : mapping of str to str
        The dtypes of these columns: of pandas, or `dgraph.results.VERTEX` or
        `dgraph.results.NULLABLE_VERTEX` for vertices in the users' ids.

    Returns
    -------
    dask DataFrame
        Columns vertex, then `columns`. An awaitable of it if the client is asynchronous.
    """
    check_graph(g)
    return table(g._home, g.id_dtype, name, program, *arguments, columns=columns, record=True)
