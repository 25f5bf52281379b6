"""Validation of search trees, and the count of the edges that a search has traversed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from html import escape
from typing import Any

import numpy as np

from dgraph.clients import call
from dgraph.engine.context import Context
from dgraph.engine.translate import masters_of
from dgraph.errors import OptionError
from dgraph.graph import Graph, check_graph, home_of
from dgraph.graph500.claims import NOTHING, Claim, check_columns, examine, lay_out
from dgraph.graph500.edges import EdgeList, edges_of
from dgraph.graph500.places import NO_VERTEX, ids_of_placed
from dgraph.graph500.rules import (
    RULES,
    Finding,
    Tree,
    count_traversed,
    depths,
    find_faults,
)
from dgraph.named_ids import as_sources
from dgraph.shard import Shard
from dgraph.vertices.ids import Ids

__all__ = [
    "Validation",
    "count_edges",
    "traversed_edges",
    "validate_bfs",
    "validate_sssp",
    "validate_tree",
]

#: A distance is the rounded sum of two numbers: it may be a few units in the last place off.
ULPS = 4

_WORDS = {
    "tree": "the parents of {vertex!r} do not lead to the source at level 0",
    "tree edges": "{vertex!r} is not {step} its parent {other!r}",
    "input edges": "the ends of {vertex!r}-{other!r} are too far apart",
    "component": "{vertex!r}-{other!r} leads out of the tree",
    "parent edges": "there is no edge between {vertex!r} and its parent {other!r}",
}


@dataclass(frozen=True)
class Validation:
    """Whether a result is a valid search tree, and if not, why; true if it is.

    Parameters
    ----------
    kernel : {"bfs", "sssp"}
    source : vertex
    failures : mapping of str to str
        What was found, by the name of the rule that is broken.
    traversed_edges : int
        Edges with two ends in the tree, without loops.

    Examples
    --------
    >>> found = Validation("bfs", 7, {"parent edges": "there is no edge between 8 and 9"})
    >>> bool(found)
    False
    >>> print(found)
    bfs from 7 is invalid: parent edges: there is no edge between 8 and 9
    """

    kernel: str
    source: Any
    failures: Mapping[str, str] = field(default_factory=dict)
    traversed_edges: int = 0

    @property
    def valid(self) -> bool:
        """Whether no rule is broken."""
        return not self.failures

    def __bool__(self) -> bool:
        """Return whether the result is valid."""
        return self.valid

    def __str__(self) -> str:
        """Say which rules are broken."""
        if self.valid:
            return f"{self.kernel} from {self.source!r} is valid"
        found = "; ".join(f"{rule}: {words}" for rule, words in self.failures.items())
        return f"{self.kernel} from {self.source!r} is invalid: {found}"

    def _repr_html_(self) -> str:
        rows = "".join(
            f'<tr><td style="text-align: left">{rule}</td>'
            f'<td style="text-align: left">{escape(self.failures.get(rule, "holds"))}</td></tr>'
            for rule in RULES
        )
        title = f"{self.kernel} from {self.source!r}: {'' if self.valid else 'in'}valid"
        return f"<table><caption>{escape(title)}</caption><tbody>{rows}</tbody></table>"


def validate_bfs(g: Graph, source: Any, result: Any) -> Any:
    """Hold a breadth-first search tree against the five rules of Graph500.

    Parameters
    ----------
    g : Graph
    source : vertex
    result : Dask or pandas DataFrame
        Columns vertex, predecessor and, if it should be checked as well, distance; in the ids
        of the graph. What has no row, or neither a predecessor nor a distance, was not reached.
        The source has no predecessor or is its own. -1 is no predecessor unless it is a vertex.

    Returns
    -------
    Validation
        True if the tree is valid, else false; ``failures`` names the rules that are broken:
        tree, tree edges, input edges, component, parent edges. An awaitable of it if the client
        is asynchronous.

    Raises
    ------
    VertexNotFoundError
        If the source, or what a row is about, is not a vertex.
    OptionError
        If there are two rows about a vertex, or columns are missing.

    Notes
    -----
    About 3 log2(depth) + 20 supersteps, one pass over the edges, none of the code of
    `dgraph.bfs`. In a directed graph levels may differ by more against an edge's direction.

    Examples
    --------
    >>> import dgraph as dg
    >>> import pandas as pd
    >>> g = dg.from_edges(np.array([[0, 1], [1, 2]]))
    >>> bool(validate_bfs(g, 0, dg.bfs(g, 0)))
    True
    >>> bad = pd.DataFrame({"vertex": [0, 1, 2], "predecessor": [0, 0, 0]})
    >>> list(validate_bfs(g, 0, bad).failures)
    ['parent edges']
    """
    check_graph(g)
    check_columns(result, ["vertex", "predecessor"])
    return call(home_of(g).client, validate_tree, g, source, result, "bfs")


def validate_sssp(g: Graph, source: Any, result: Any) -> Any:
    """Hold a tree of shortest paths against the five rules of Graph500.

    Parameters
    ----------
    g : Graph
        If it is unweighted, every edge weighs 1.
    source : vertex
    result : Dask or pandas DataFrame
        Columns vertex, distance (infinite or missing: not reached) and predecessor. Distances
        may be off by a few units in the last place of the column's dtype.

    Returns
    -------
    Validation
        As of `validate_bfs`, and with the same errors.

    Examples
    --------
    >>> import dgraph as dg
    >>> import pandas as pd
    >>> edges = pd.DataFrame({"source": [0, 1], "target": [1, 2], "weight": [0.5, 2.0]})
    >>> g = dg.from_edges(edges, weight="weight")
    >>> tree = pd.DataFrame({"vertex": [0, 1, 2], "predecessor": [0, 0, 1]})
    >>> bool(validate_sssp(g, 0, tree.assign(distance=[0.0, 0.5, 2.5])))
    True
    >>> list(validate_sssp(g, 0, tree.assign(distance=[0.0, 0.5, 2.75])).failures)
    ['tree edges', 'input edges']
    """
    check_graph(g)
    check_columns(result, ["vertex", "distance", "predecessor"])
    return call(home_of(g).client, validate_tree, g, source, result, "sssp")


def traversed_edges(g: Graph, result: Any) -> Any:
    """Count the edges whose two ends a search has reached.

    Parameters
    ----------
    g : Graph
        Parallel edges that it has kept count each, loops do not.
    result : Dask or pandas DataFrame
        Columns vertex, predecessor and, usually, distance: without it, the source counts only
        if it is its own predecessor.

    Returns
    -------
    int
        An awaitable of it if the client is asynchronous.

    Examples
    --------
    >>> import dgraph as dg
    >>> g = dg.from_edges(np.array([[0, 1], [1, 2], [1, 0], [2, 2]]), duplicates="keep")
    >>> traversed_edges(g, dg.bfs(g, 0))
    3
    """
    check_graph(g)
    check_columns(result, ["vertex", "predecessor"])
    return call(home_of(g).client, count_edges, g, result)


async def validate_tree(
    g: Graph, source: Any, result: Any, kernel: str, listed: EdgeList | None = None
) -> Validation:
    """Validate a result on the loop of the graph's client.

    Parameters
    ----------
    listed : EdgeList, optional
        The edges that the graph was made of. Default: the graph's own are believed.
    """
    sources = as_sources(source, g.id_dtype)
    if len(sources) != 1:
        raise OptionError(f"expected one source, got {len(sources)}")
    distances = "distance" in result.columns
    tolerance = _tolerance(result) if kernel == "sssp" else 0.0
    verdict = await examine(
        g, result, f"validate {kernel}", _validate_slot,
        sources, kernel == "sssp", distances, tolerance, listed,
    )  # fmt: skip
    failures, traversed = verdict[0]
    return Validation(kernel, sources[0], failures, traversed)


async def count_edges(g: Graph, result: Any, listed: EdgeList | None = None) -> int:
    """Count the traversed edges on the loop of the graph's client."""
    distances = "distance" in result.columns
    counts = await examine(g, result, "traversed edges", _count_slot, distances, listed)
    return int(counts[0])


def _tolerance(result: Any) -> float:
    """Return by how much, relatively, distances of the column's dtype may be off."""
    narrow = getattr(result.dtypes["distance"], "itemsize", 8) == 4
    return ULPS * float(np.finfo(np.float32 if narrow else np.float64).eps)


async def _validate_slot(
    ctx: Context,
    claims: list[Claim],
    source: Ids,
    weighted: bool,
    distances: bool,
    tolerance: float,
    listed: EdgeList | None,
) -> tuple[dict[str, str], int]:
    """Return the failures in words and the traversed edges, the same on every slot."""
    (claim,) = claims
    shard = claim.shard
    edges = await edges_of(ctx, shard, listed)
    number = await _number_of(ctx, shard, source)
    claimed = await lay_out(ctx, claim, distances)
    depth = await depths(ctx, shard, claimed.parent, number)
    tree = Tree(shard, claimed, number, depth)
    found, traversed = await find_faults(ctx, shard, edges, tree, weighted, tolerance)
    total = (await ctx.allreduce([traversed]))[0]
    return await _in_words(ctx, shard, found, weighted), int(total) // edges.copies


async def _count_slot(
    ctx: Context, claims: list[Claim], distances: bool, listed: EdgeList | None
) -> int:
    (claim,) = claims
    edges = await edges_of(ctx, claim.shard, listed)
    claimed = await lay_out(ctx, claim, distances)
    reached = claimed.parent != NOTHING
    if claimed.distance is not None:
        reached |= claimed.distance != NOTHING
    return await count_traversed(ctx, edges, reached)


async def _number_of(ctx: Context, shard: Shard, source: Ids) -> int:
    """Return the placed number of the source, on every slot."""
    _, masters = await masters_of(ctx, shard, source)
    numbers = shard.bases[shard.slot] + masters
    return int((await ctx.allreduce([numbers[0] if numbers.size else NOTHING], "max"))[0])


async def _in_words(
    ctx: Context, shard: Shard, found: Mapping[str, Finding], weighted: bool
) -> dict[str, str]:
    """Put together what all slots have found; empty if that is nothing."""
    rows = [[found[rule].faults, found[rule].vertex, found[rule].other] for rule in RULES]
    came = await ctx.allgather(np.array(rows, np.int64).ravel())
    by_slot = [columns[0].reshape(len(RULES), 3) for columns in came]
    worst = {
        rule: _total([table[at].tolist() for table in by_slot]) for at, rule in enumerate(RULES)
    }
    broken = {rule: some for rule, some in worst.items() if some.faults}
    if not broken:
        return {}
    named = {number for some in broken.values() for number in (some.vertex, some.other)}
    ids = await ids_of_placed(ctx, shard, sorted(named - {NOTHING, NO_VERTEX}))
    ids |= {NOTHING: None, NO_VERTEX: "(no vertex)"}
    step = "an edge away from" if weighted else "one level below"
    return {
        rule: _WORDS[rule].format(vertex=ids[some.vertex], other=ids[some.other], step=step)
        + (f" ({some.faults:,} such faults)" if some.faults > 1 else "")
        for rule, some in broken.items()
    }


def _total(rows: Sequence[Sequence[int]]) -> Finding:
    """Add up the faults against a rule; the first slot that has some names one.

    Examples
    --------
    >>> _total([[0, -1, -1], [2, 7, 8], [1, 3, 4]])
    Finding(faults=3, vertex=7, other=8)
    """
    first = next((row for row in rows if row[0]), rows[0])
    return Finding(sum(row[0] for row in rows), first[1], first[2])
