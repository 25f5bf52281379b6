"""The Graph500 benchmark [1]_, and its parts for any graph.

.. list-table::

    * - `run`
      - generate a Kronecker graph, construct, search, validate, report
    * - `search_keys`
      - draw vertices to search from
    * - `validate_bfs`, `validate_sssp`
      - hold a search tree against the five rules
    * - `traversed_edges`
      - count the edges that a search has traversed

What is timed and what is checked::

    kernel 1    edge list, generated where it is used ─▶ graph      construction_time
    keys        vertices with an edge to another one
    kernel 2    bfs from each key                                   bfs  ..._TEPS
    kernel 3    sssp from each key                                  sssp ..._TEPS
    rules       each result against all tuples of the edge list     ..._validate

The kernels work on the graph, in which parallel tuples are one edge. Validation and the count
of traversed edges work on the tuples themselves, multiples included: a tuple is a function of
its index, so each slot makes its share of them anew.

References
----------
.. [1] https://graph500.org/?page_id=12
"""

from dgraph.graph500.benchmark import run
from dgraph.graph500.keys import search_keys
from dgraph.graph500.report import Report
from dgraph.graph500.validate import Validation, traversed_edges, validate_bfs, validate_sssp

__all__ = [
    "Report",
    "Validation",
    "run",
    "search_keys",
    "traversed_edges",
    "validate_bfs",
    "validate_sssp",
]
