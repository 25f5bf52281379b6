"""Supersteps of your own: the four calls of ChattyGraph on arrays.

A vertex program says in four functions what a vertex does in a superstep. They are called with
whole arrays, an entry for each vertex or edge, and are plain NumPy::

    init_vertex     fields of all vertices, and which vertices are active at first
    repeat while a vertex is active:
        compute_scatter     a message for every edge from an active vertex
        (the combiner makes one message of all those that arrive at a vertex)
        compute_reduce      new fields of the vertices that are active or got a message
        update_status       which of these are active in the next superstep

Example, the distance from a vertex, in words: every vertex has a distance, at first 0 or
infinity; an active vertex tells its neighbours its distance plus the weight of the edge; the
smallest message counts; whoever got nearer is active next. In code: the example of
:class:`VertexProgram`.

Messages are computed on the slot where they arrive, which has the fields of the sender too. So
what travels are the fields of active vertices, once to each slot, and sums have the same bits
whatever the slots and the placement.

Cost: supersteps: one each, and one to three more if the program has totals. Messages: for each
proxy of an active vertex its shared fields, and a bit for each proxy that gets a message.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar

from dgraph.algorithms._messages import COMBINERS
from dgraph.algorithms._supersteps import Run, columns_of, vertex_program_slot
from dgraph.arguments import choice, optional_integer
from dgraph.errors import OptionError, OptionTypeError
from dgraph.graph import Graph, check_graph, run_algorithm
from dgraph.keywords import named

if TYPE_CHECKING:
    from dask.dataframe import DataFrame

__all__ = ["Run", "VertexProgram", "run_vertex_program", "vertex_program_slot"]


class VertexProgram:
    """The base of vertex programs.

    Groups of arrays are given as objects with an attribute for each, such as
    ``source.distance``. Functions must return new arrays, and must treat every entry by itself:
    vertices and edges come in blocks of any size and sequence.

    Attributes
    ----------
    fields : mapping of str to str
        The fields of a vertex and their dtypes: of NumPy, or "vertex" for a vertex, given by
        its number, or "nullable vertex", where -1 is none. All are columns of the result
        unless `columns` names fewer.
    shared : sequence of str, optional
        Fields that `compute_scatter` reads of `source`. Default: all.
    columns : sequence of str, optional
        Fields to be returned. Default: all.
    message : str, default "float64"
        The dtype of messages, or "vertex".
    combiner : {"min", "max", "sum", "or", "mode"}
        How several messages become one. "mode": the most frequent, of several the smallest.
    direction : {"out", "in", "both"}, or a tuple of them
        Whether messages go along the edges, against them, or both; a tuple: one for each phase.

    Examples
    --------
    >>> import numpy as np
    >>> import dgraph as dg
    >>> class Distance(dg.VertexProgram):
    ...     fields = {"distance": "float64"}
    ...     combiner = "min"
    ...     def init_vertex(self, vertex, run):
    ...         distance = np.where(vertex.id == 1, 0.0, np.inf)
    ...         return {"distance": distance}, distance == 0
    ...     def compute_scatter(self, source, target, edge, run):
    ...         return source.distance + edge.weight
    ...     def compute_reduce(self, vertex, message, run):
    ...         return {"distance": np.minimum(vertex.distance, message)}
    ...     def update_status(self, new, old, run):
    ...         return new.distance < old.distance
    >>> g = dg.from_edges(np.array([[1, 2], [2, 3], [8, 9]]))
    >>> found = dg.run_vertex_program(g, Distance()).compute()
    >>> found.sort_values("vertex")["distance"].tolist()
    [0.0, 1.0, 2.0, inf, inf]
    """

    fields: ClassVar[Mapping[str, str]] = {}
    shared: Sequence[str] | None = None
    columns: Sequence[str] | None = None
    message: str = "float64"
    combiner: str = "min"
    direction: str | tuple[str, ...] = "out"

    def init_vertex(self, vertex: Any, run: Run) -> tuple[Mapping[str, Any], Any]:
        """Return the fields of vertices, and which of them are active.

        Parameters
        ----------
        vertex : object with arrays
            `id`: in the user's dtype; `number`: 0..n-1 by ascending id, what a field of dtype
            "vertex" holds; `rank`: 0..n-1 by the vertex order; `out_degree`, `in_degree`.
        run : Run
        """
        raise NotImplementedError

    def compute_scatter(self, source: Any, target: Any, edge: Any, run: Run) -> Any:
        """Return a message for each edge from an active vertex.

        Parameters
        ----------
        source, target : objects with arrays
            Shared fields of the senders, all fields of the receivers.
        edge : object with arrays
            `weight`: 1 if the graph is unweighted.
        run : Run
        """
        raise NotImplementedError

    def compute_reduce(self, vertex: Any, message: Any, run: Run) -> Mapping[str, Any]:
        """Return the fields that change, of vertices that are active or got a message.

        Parameters
        ----------
        vertex : object with arrays
            All fields.
        message : array
            The combined messages; the combiner's identity where there is none: the largest or
            smallest number for "min" and "max", 0 for "sum" and "or", -1 for "mode".
        run : Run
        """
        raise NotImplementedError

    def update_status(self, new: Any, old: Any, run: Run) -> Any:
        """Return which of the vertices are active in the next superstep."""
        raise NotImplementedError

    def aggregate(self, new: Any, old: Any, run: Run) -> Mapping[str, Any] | None:
        """Return numbers of the vertices whose sums all are to know, by name.

        Their exact sums are in ``run.totals`` from `update_status` on.
        """
        return None

    def wake(self, vertex: Any, run: Run) -> Any:
        """Return which of all vertices are to be active after all, now that none is.

        ``run.phase`` is then 1 higher. None: the run is over.
        """
        return None


@named
def run_vertex_program(
    g: Graph, program: VertexProgram, *, max_iter: int | None = None
) -> DataFrame:
    """Run a vertex program: supersteps of your own as plain NumPy functions.

    Parameters
    ----------
    g : Graph
    program : VertexProgram
        Picklable. Every slot has a copy of its own.
    max_iter : int, optional
        The largest number of supersteps. Default: until no vertex is active.

    Returns
    -------
    dask DataFrame
        A row per vertex: vertex, and the program's columns.

    Raises
    ------
    OptionError
        If the program declares something that is not allowed, or one of its functions returns
        arrays of another shape or kind.
    RunError
        If one of its functions raises; chained to what it raised, names superstep and slot.

    Notes
    -----
    Deterministic, whatever the slots and the placement, if the program treats every entry of
    its arrays by itself. Each parallel edge is an edge, and so is a loop.

    Where processes of a run fill a host, threads keep to a core each (``dgraph.pin``), and so
    would those that a library starts in a superstep: start them before, or set it to False.

    Examples
    --------
    See :class:`VertexProgram`.
    """
    check_graph(g)
    most = optional_integer("max_iter", max_iter, 0)
    _check(program)
    found: DataFrame = run_algorithm(
        g,
        type(program).__name__,
        vertex_program_slot,
        program,
        most,
        columns=columns_of(program),
    )
    return found


def _check(program: Any) -> None:
    """Refuse a program that declares what is not allowed."""
    if not isinstance(program, VertexProgram):
        raise OptionTypeError(
            f"program must be a dgraph.VertexProgram, not {type(program).__name__}; derive it "
            "from that"
        )
    choice("combiner", program.combiner, COMBINERS)
    phases = program.direction
    for direction in (phases,) if isinstance(phases, str) else phases:
        choice("direction", direction, ("out", "in", "both"))
    unknown = [
        name
        for name in (*(program.shared or ()), *(program.columns or ()))
        if name not in program.fields
    ]
    if unknown or not program.fields:
        raise OptionError(
            f"shared and columns must name fields among {list(program.fields)}, not "
            f"{unknown[0]!r}"
            if unknown
            else "fields must declare at least one field, not none"
        )
