"""Make a graph: of edges, or of a folder in which one was saved."""

from __future__ import annotations

from collections.abc import Hashable
from os import PathLike
from time import perf_counter
from typing import Any

from distributed import Client

from dgraph.build.rhizomes import Rhizomes
from dgraph.build.strategy import EdgeStrategy, Strategy
from dgraph.clients import call, find_client, look_and_make
from dgraph.edges.inputs import EdgeInput, edge_input
from dgraph.edges.summary import Nulls, SelfLoops
from dgraph.edges.vertex_inputs import VertexInput, placement_input
from dgraph.engine.discovery import Given
from dgraph.graph import Graph
from dgraph.home import Home
from dgraph.ingest import check_slots, find_home, ingest
from dgraph.keywords import named
from dgraph.placement.frame import Frame
from dgraph.placement.resolve import resolve, settled
from dgraph.policies import Policies
from dgraph.store import GIVEN, Saved, open_saved

__all__ = ["from_edges", "load"]


@named
def from_edges(
    edges: Any,
    source: Hashable = "source",
    target: Hashable = "target",
    weight: Hashable = None,
    *,
    directed: bool | None = None,
    vertices: Any = None,
    duplicates: str = "min",
    self_loops: SelfLoops = "keep",
    nulls: Nulls = "error",
    placement: Any = "auto",
    rhizome_max: int | None = None,
    rhizome_allocation: str = "random",
    rhizome_cutoff: int | None = None,
    topology: Given = None,
    slots: int | None = None,
    virtual_slots: int | None = None,
    client: Client | None = None,
) -> Graph:
    """Make a graph of edges; when this returns, the graph is in the memory of the workers.

    Parameters
    ----------
    edges : table, array, matrix, graph or path
        A Dask, pandas or polars DataFrame or a pyarrow Table with a row per edge; a NumPy or
        Dask array of shape (m, 2) or (m, 3); a scipy sparse matrix; a networkx graph; a path,
        which `read_edges` reads. A lazy collection is computed once.
    source, target : column names
        Default: "source" and "target", or the first two columns if there are none so named.
        Ids are any integers or any strings.
    weight : column name or True, optional
        True: the third column of an array, the entries of a matrix, the weights of a file or of
        a networkx graph. Default: all edges weigh 1, further columns are ignored.
    directed : bool, optional
        Whether edges have a direction. Default, None: as a networkx graph or the properties of
        an LDBC file say, else False; True or False that contradicts them is an error.
    vertices : frame, Series, array or list, optional
        All vertices, isolated ones included: an edge to any other is an error. Default: the ids
        that occur in edges, and those of a matrix or networkx graph.
    duplicates : {"min", "max", "sum", "first", "keep", "error"}
        The weight of parallel edges; "keep" makes a multigraph. In an undirected graph u-v and
        v-u are parallel.
    self_loops : {"keep", "drop", "error"}
    nulls : {"error", "drop"}
        What becomes of an edge that lacks an id, or whose weight is NaN.
    placement : str, object of `dgraph.placement`, or frame
        Which slot owns a vertex: "degree", "hash", "chunk", "2d", "hierarchy", "metis",
        "fennel", "xtree", "adp", "topox" or "auto", see `dgraph.placement`; a frame has columns
        vertex and slot. The default, the last of these, is the first one unless the topology
        has more than two levels, the links are slow and the graph can be cut well; what
        `Graph.report` says of its choice says why. Never changes a result.
    rhizome_max : int, optional
        Split the in-edges of heavy vertices (of an undirected graph: their edges) into so many
        parts at most, and lay these on several slots; of a directed graph the out-edges of
        heavy vertices likewise. Heavy is who has more than the largest number of edges of a
        vertex divided by this. Default, or 1: nobody is split. Never changes a result. BFS,
        PageRank, CDLP and weak components work with the parts; what needs whole rows (see
        `dgraph.placement`) puts them together when it first runs, and keeps them.
    rhizome_allocation : {"random", "vicinity", "sources"}
        Where the parts go: anywhere; to the leaf domain of the owner first; to the slots that
        own most of the neighbours.
    rhizome_cutoff : int, optional
        Heavy is who has more edges than this.
    topology : Topology, path or text, optional
        The domain tree over the slots; or a description of the hosts in any format of
        `dgraph.topology.sources`, which is matched to the workers by name. Default, and
        "discover": as `Topology.discover` finds it.
    slots : int, optional
        Use only so many slots. Default: every thread of every worker is one.
    virtual_slots : int, optional
        Run so many slots on whatever threads there are, one after another if need be; not with
        `slots`.
    client : distributed.Client, optional
        Default: the current one, else a cluster is started in this process and kept.

    Returns
    -------
    Graph
        An awaitable of it if the client is asynchronous.

    Raises
    ------
    EdgeTypeError
        If ids are neither integers nor strings, or both.
    EdgeValueError
        If the edges hold what a policy forbids; says how many, and where the first is.
    OptionError
        If an option has a value that is not allowed.

    Warns
    -----
    LayoutWarning
        If the first two columns are taken as source and target, though others are plainly
        called so, as in id, from, to. ``Graph.report["columns"]`` names what was taken.

    Examples
    --------
    >>> import pandas as pd
    >>> flights = {"from": ["OSL", "OSL"], "to": ["CDG", "FCO"], "km": [1342, 2004]}
    >>> g = from_edges(pd.DataFrame(flights), "from", "to", "km", directed=True)
    >>> g.num_vertices, g.num_edges, g.weighted
    (3, 2, True)
    """
    rhizomes = Rhizomes(rhizome_max, rhizome_allocation, rhizome_cutoff)
    policies = Policies(duplicates, self_loops, nulls, rhizomes)
    topology = check_slots(slots, virtual_slots, topology)
    strategy = resolve(placement)
    client = find_client(client)

    def look() -> tuple[EdgeInput, VertexInput | None, float]:
        began = perf_counter()
        with client.as_current():
            found = edge_input(
                edges, source, target, weight, directed=directed, vertices=vertices
            )
            placed = placement_input(strategy.table) if isinstance(strategy, Frame) else None
        return found, placed, perf_counter() - began

    async def make(found: tuple[EdgeInput, VertexInput | None, float]) -> Graph:
        home = await find_home(client, slots, virtual_slots, topology)
        inputs, placed, seconds = found
        facts = await ingest(
            home, inputs, policies, settled(strategy, home.topology), placed, seconds
        )
        return Graph(home, facts)

    graph: Graph = look_and_make(client, look, make)
    return graph


@named
def load(
    path: str | PathLike[str],
    *,
    placement: Any = None,
    rhizome_max: int | None = None,
    topology: Given = None,
    slots: int | None = None,
    virtual_slots: int | None = None,
    client: Client | None = None,
) -> Graph:
    """Read a graph that `Graph.save` has written, onto any cluster and any number of slots.

    Parameters
    ----------
    path : path
        The folder, which every worker must see.
    placement, topology, slots, virtual_slots, client
        As in `from_edges`. `placement` is by default that of the saved graph; if that was a
        frame and the number of slots is another one now, "degree".
    rhizome_max : int, optional
        As in `from_edges`. Default: heavy vertices are split as those of the saved graph were.

    Returns
    -------
    Graph
        With the same results, bit for bit. An awaitable of it if the client is asynchronous.

    Raises
    ------
    SavedGraphError
        If the folder is not a saved graph.

    Examples
    --------
    >>> import tempfile, numpy as np
    >>> folder = tempfile.mkdtemp() + "/path"
    >>> from_edges(np.array([[1, 2], [2, 3]])).save(folder)
    >>> load(folder).num_edges
    2
    """
    topology = check_slots(slots, virtual_slots, topology)
    saved = open_saved(path)
    client = find_client(client)
    strategy = None if placement is None else resolve(placement)
    remembered = {"most": None, **saved.facts.rhizomes}
    if rhizome_max is not None:
        remembered |= {"most": rhizome_max, "cutoff": None}
        remembered |= {"fission": False, "blocks": False}
    rhizomes = Rhizomes(**remembered)

    async def make() -> Graph:
        home = await find_home(client, slots, virtual_slots, topology)
        chosen, again = _placement_of(saved, strategy, home)
        policies = Policies(duplicates="keep", rhizomes=rhizomes)
        facts = await ingest(home, saved.edges, policies, settled(chosen, home.topology), again)
        return Graph(home, saved.remember(facts))

    graph: Graph = call(client, make)
    return graph


def _placement_of(
    saved: Saved, strategy: Strategy | EdgeStrategy | None, home: Home
) -> tuple[Strategy | EdgeStrategy, VertexInput | None]:
    """Return how a saved graph is placed, and the table of that if it is by a frame."""
    again = None
    if strategy is not None:
        chosen = strategy
    elif saved.facts.placement != GIVEN:
        chosen = resolve(saved.facts.placement)
    elif saved.slots == home.slots:
        chosen, again = Frame(), saved.placed
    else:
        chosen = resolve("degree")
    if isinstance(chosen, Frame) and chosen.table is not None:
        again = placement_input(chosen.table)
    return chosen, again
