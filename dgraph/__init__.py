r"""Graph analytics for people who work with Dask: the graph stays on the workers.

.. list-table::

    * - `read_edges`
      - read files of edges into a Dask DataFrame
    * - `from_edges`, `load`
      - make a `Graph` of edges of any form, or of a saved one
    * - `bfs`
      - distances and predecessors from one vertex or several
    * - `sssp`
      - the same along weighted edges
    * - `connected_components`
      - which vertices hang together
    * - `betweenness_centrality`
      - how many shortest paths lead through each vertex
    * - `pagerank`
      - how much a random walker frequents each vertex
    * - `cdlp`
      - communities by label propagation
    * - `local_clustering`
      - how many pairs of neighbours have an edge
    * - `triangles`
      - triangles at each vertex
    * - `core_number`
      - the largest k for which a vertex is in the k-core
    * - `run_vertex_program`
      - supersteps of your own
    * - `dgraph.graph500`
      - the Graph500 benchmark; validation of search trees
    * - `dgraph.gnn`
      - neighbour sampling, caches and batches for graph neural networks
    * - `dgraph.mpi`
      - a cluster of the ranks of an MPI job
    * - `estimate`
      - the memory that a graph will need
    * - `DgraphError`
      - the base of all exceptions of dgraph, which `dgraph.errors` lists
    * - `dgraph.generate`, `dgraph.placement`, `dgraph.topology`
      - graphs to try; which slot owns a vertex; which slots are near each other

**What a graph is.** A graph is made of a table of edges: a row per edge, a column for each of
its ends and, if edges have weights, one for the weight::

       (Ann)---2.0---(Bob)         source  target  weight
         |           /             "Ann"   "Bob"      2.0
        1.0       0.0              "Ann"   "Cid"      1.0
         |       /                 "Bob"   "Cid"      0.0
       (Cid)           (Eve)

The vertices are the ids at the ends of edges: any integers or any strings, which stay as they
are in every result. Eve has no edge, so she is a vertex only if she is declared, with
``vertices=["Ann", "Bob", "Cid", "Eve"]``. In an undirected graph, the default, a row is one
edge that leads both ways; with ``directed=True`` it leads from source to target.

**What a missing edge is.** A row that is not there, and nothing else. A weight of 0 is an edge
of weight 0, as between Bob and Cid; an infinite weight is refused. A row that lacks an id or
has NaN as its weight is no edge but a fault in the table: an error, or dropped and counted with
``nulls="drop"``. Of parallel edges, rows with the same ends, one is left unless
``duplicates="keep"``. What no path leads to has the distance <NA>, or infinity where distances
are floats.

**Where it lies.** `from_edges` spreads the graph over the *slots* of a Dask cluster, one for
each thread, and it stays there for all algorithms::

    partitions of edges          shards of the graph            partitions of a result
    on any workers               one on each slot               one from each slot
    +------------+    build     +----------------+     bfs     +---------------------+
    | Ann  Bob   | ---------->  | Ann: Bob, Cid  | ----------> | Ann     0   <NA>    |
    | Ann  Cid   |   \      /   | Eve:           | <-+         | Eve  <NA>   <NA>    |
    +------------+    \    /    +----------------+   | frames  +---------------------+
    +------------+    /    \    +----------------+   |         +---------------------+
    | Bob  Cid   |   /      \   | Bob: Ann, Cid  | <-+         | Bob     1   Ann     |
    |            | ---------->  | Cid: Ann, Bob  | ----------> | Cid     1   Ann     |
    +------------+              +----------------+             +---------------------+

A result is a Dask DataFrame with a row per vertex. All results of one graph have their rows in
the same order and partitions. The same graph gives the same bits whatever the number of slots,
the placement of vertices and the form of the cluster. Without a cluster, one is started in this
process.

Like whatever Dask has persisted, a result lies on its own cluster: ``scheduler="threads"``
cannot compute it, nor, once another client is the default, a bare ``.compute()``. Then ask the
client of the graph: ``client.compute(levels).result()``.

Examples
--------
>>> import pandas as pd
>>> import dgraph as dg
>>> edges = pd.DataFrame({"source": ["Ann", "Ann", "Bob"], "target": ["Bob", "Cid", "Cid"]})
>>> with dg.from_edges(edges, vertices=["Ann", "Bob", "Cid", "Eve"]) as g:
...     levels = dg.bfs(g, "Ann")
>>> levels.compute().sort_values("vertex", ignore_index=True)
  vertex  distance predecessor
0    Ann         0        <NA>
1    Bob         1         Ann
2    Cid         1         Ann
3    Eve      <NA>        <NA>
"""

from dgraph import (
    command,  # noqa: F401  # first: it sees to Ctrl-C while the others are imported
    config,
    gnn,
    graph500,
    mpi,
    placement,
    topology,
)
from dgraph.algorithms.betweenness_centrality import betweenness_centrality
from dgraph.algorithms.bfs import bfs
from dgraph.algorithms.cdlp import cdlp
from dgraph.algorithms.connected_components import connected_components
from dgraph.algorithms.core_number import core_number
from dgraph.algorithms.local_clustering import local_clustering
from dgraph.algorithms.pagerank import pagerank
from dgraph.algorithms.sssp import sssp
from dgraph.algorithms.triangles import triangles
from dgraph.algorithms.vertex_program import VertexProgram, run_vertex_program
from dgraph.create import from_edges, load
from dgraph.edges import generate
from dgraph.edges.read import read_edges
from dgraph.errors import (
    ClusterWarning,
    ConfigurationWarning,
    ConvergenceWarning,
    DgraphError,
    DgraphWarning,
    EdgeTypeError,
    EdgeValueError,
    EmptyWarning,
    GraphLostError,
    IdWarning,
    JoinTimeoutError,
    LayoutWarning,
    MissingFileError,
    OptionError,
    OptionTypeError,
    OutputError,
    PrecisionWarning,
    RoomWarning,
    RunAbortedError,
    RunError,
    SavedGraphError,
    TopologyError,
    TopologyFileError,
    TopologyWarning,
    VertexNotFoundError,
)
from dgraph.estimate import estimate
from dgraph.graph import Graph

__all__ = [
    "ClusterWarning",
    "ConfigurationWarning",
    "ConvergenceWarning",
    "DgraphError",
    "DgraphWarning",
    "EdgeTypeError",
    "EdgeValueError",
    "EmptyWarning",
    "Graph",
    "GraphLostError",
    "IdWarning",
    "JoinTimeoutError",
    "LayoutWarning",
    "MissingFileError",
    "OptionError",
    "OptionTypeError",
    "OutputError",
    "PrecisionWarning",
    "RoomWarning",
    "RunAbortedError",
    "RunError",
    "SavedGraphError",
    "TopologyError",
    "TopologyFileError",
    "TopologyWarning",
    "VertexNotFoundError",
    "VertexProgram",
    "betweenness_centrality",
    "bfs",
    "cdlp",
    "config",
    "connected_components",
    "core_number",
    "estimate",
    "from_edges",
    "generate",
    "gnn",
    "graph500",
    "load",
    "local_clustering",
    "mpi",
    "pagerank",
    "placement",
    "read_edges",
    "run_vertex_program",
    "sssp",
    "topology",
    "triangles",
]
__version__ = "0.1.0"
