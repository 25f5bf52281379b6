"""The five rules of Graph500 for a search tree, each checked by all slots together.

==============  ==============================================================================
tree            every vertex that was reached has a path of parents to the source, no cycle
tree edges      levels of a vertex and its parent differ by one; distances by the weight of an
                edge between them
input edges     levels of the ends of every edge differ by at most one, distances by at most its
                weight; or neither end was reached
component       no edge leads from the tree to a vertex that was not reached
parent edges    there is an edge between every vertex and its parent
==============  ==============================================================================

None of the code of the kernels is used. Depths come from the parents alone, by pointer
jumping::

    ancestor[v] = parent[v]        steps[v] = 1
    repeat: steps[v] += steps[ancestor[v]];  ancestor[v] = ancestor[ancestor[v]]

which ends after about log2(depth) rounds where there is no cycle. The last three rules are one
pass over the edges.

References
----------
Graph500 benchmark specification, "Validation": https://graph500.org/?page_id=12
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dgraph.engine.context import Context
from dgraph.graph500.claims import NOTHING, Claimed
from dgraph.graph500.edges import Edges
from dgraph.graph500.places import ask_masters
from dgraph.kernels import kernel
from dgraph.shard import Shard, number_dtype

__all__ = ["RULES", "Finding", "count_traversed", "depths", "find_faults"]

Array = NDArray[Any]

RULES = ("tree", "tree edges", "input edges", "component", "parent edges")

#: What is known of the edge between a vertex and its parent.
EXISTS, AGREES = 1, 2

#: What is counted of edges.
STEEP, LEAVING, INSIDE = 0, 1, 2


@dataclass(frozen=True, slots=True)
class Finding:
    """What one slot has found against one rule.

    Parameters
    ----------
    faults : int
        How many vertices or edges break it.
    vertex, other : int
        Placed numbers: such a vertex and its parent, or the ends of such an edge.
    """

    faults: int = 0
    vertex: int = NOTHING
    other: int = NOTHING


class Tree:
    """A claimed search tree over the masters of one slot.

    Parameters
    ----------
    claimed : Claimed
    source : int
        Placed number.
    depth : int64 array
        From the parents alone; NOTHING where they do not lead to the source.

    Attributes
    ----------
    number : array
        Placed numbers of the masters.
    level : array
        The claimed distances, else the depths; NOTHING: not reached.
    """

    def __init__(self, shard: Shard, claimed: Claimed, source: int, depth: Array) -> None:
        base = int(shard.bases[shard.slot])
        dtype = number_dtype(shard.num_vertices)
        self.number = np.arange(base, base + shard.masters, dtype=dtype)
        self.parent = claimed.parent
        self.is_source = self.number == source
        self.depth = depth
        self.level: Array = depth.astype(dtype)
        if claimed.distance is not None:
            self.level = claimed.distance

    def finding(self, faulty: NDArray[np.bool_]) -> Finding:
        """Count the vertices that break a rule and name the first."""
        where = np.flatnonzero(faulty)
        if not where.size:
            return Finding()
        first = where[0]
        return Finding(where.size, int(self.number[first]), int(self.parent[first]))


async def depths(ctx: Context, shard: Shard, parent: Array, source: int) -> Array:
    """Return how many parents lie between each master and the source.

    Parameters
    ----------
    parent : array
        Placed numbers; NOTHING or NO_VERTEX where there is none.
    source : int
        Placed number.

    Returns
    -------
    int64 array
        NOTHING if the parents lead somewhere else, nowhere, or round a cycle.

    Notes
    -----
    Three exchanges a round, bit_length(n) + 1 rounds at most.
    """
    ancestor, steps = parent.copy(), np.ones(parent.size, np.int64)
    here = source - int(shard.bases[shard.slot])
    if 0 <= here < shard.masters:
        ancestor[here], steps[here] = source, 0
    for _ in range(shard.num_vertices.bit_length() + 1):
        below = np.flatnonzero((ancestor >= 0) & (ancestor != source))
        if not (await ctx.allreduce([below.size]))[0]:
            break
        further, more = await ask_masters(ctx, shard, ancestor[below], ancestor, steps)
        ancestor[below] = further
        steps[below] += more
    return np.where(ancestor == source, steps, NOTHING)


async def find_faults(
    ctx: Context, shard: Shard, edges: Edges, tree: Tree, weighted: bool, tolerance: float
) -> tuple[dict[str, Finding], int]:
    """Hold a tree against the rules.

    Parameters
    ----------
    weighted : bool
        Whether levels are distances, which go by the weights of edges.
    tolerance : float
        By how much, relative to the largest of the three, a sum of distance and weight may
        differ from a distance.

    Returns
    -------
    dict of Finding
        What this slot has found, by rule.
    int
        How many edges with two ends in the tree this slot has seen.
    """
    found = {"tree": tree.finding(_not_in_tree(tree))}
    scan = await _scan(ctx, edges, tree, weighted, tolerance)
    found["input edges"], found["component"] = scan.steep, scan.leaving
    has_parent = (tree.parent != NOTHING) & ~tree.is_source
    exists = scan.known & EXISTS != 0
    found["parent edges"] = tree.finding(has_parent & ~exists)
    if weighted:
        apart = exists & (scan.known & AGREES == 0)
    else:
        apart = await _not_one_below(ctx, shard, tree)
    found["tree edges"] = tree.finding(has_parent & apart & (tree.level != NOTHING))
    return found, scan.traversed


def _not_in_tree(tree: Tree) -> NDArray[np.bool_]:
    """Return which vertices are claimed to be reached but hang on nothing, or the reverse."""
    reached = tree.level != NOTHING
    faulty: NDArray[np.bool_] = (reached != (tree.depth != NOTHING)) | (
        (tree.parent != NOTHING) & ~reached
    )
    root = tree.is_source
    at_home = (tree.parent == NOTHING) | (tree.parent == tree.number)
    faulty[root] = ~at_home[root] | (tree.level[root] != 0)
    return faulty


async def _not_one_below(ctx: Context, shard: Shard, tree: Tree) -> NDArray[np.bool_]:
    """Return which vertices are not exactly one level below their parents."""
    asked = np.flatnonzero(tree.parent >= 0)
    (above,) = await ask_masters(ctx, shard, tree.parent[asked], tree.level)
    faulty = np.zeros(tree.level.size, np.bool_)
    faulty[asked] = (above == NOTHING) | (tree.level[asked] != above + 1)
    return faulty


@dataclass(frozen=True, slots=True)
class _Scan:
    """What one pass over the edges has found: against two rules, and for two others."""

    steep: Finding
    leaving: Finding
    traversed: int
    known: NDArray[np.uint8]


async def _scan(
    ctx: Context, edges: Edges, tree: Tree, weighted: bool, tolerance: float
) -> _Scan:
    ends = await _side_by_side(ctx, edges, tree)
    known = np.zeros(ends.size, np.uint8)
    counts, first = np.zeros(3, np.int64), np.full((3, 2), NOTHING, np.int64)
    for near, far, weight in edges.pieces():
        by = weight if weighted else None
        _check_edges(near, far, by, edges.symmetric, ends, tolerance, known, counts, first)
    return _Scan(
        Finding(int(counts[STEEP]), *first[STEEP].tolist()),
        Finding(int(counts[LEAVING]), *first[LEAVING].tolist()),
        int(counts[INSIDE]),
        await edges.collect(ctx, known),
    )


async def _side_by_side(ctx: Context, edges: Edges, tree: Tree) -> Array:
    """Return level, number and parent at all positions, as records.

    So an edge costs two cache misses, not six: the pass over a graph that is larger than the
    cache takes a quarter of the time.
    """
    columns = {"level": tree.level, "number": tree.number, "parent": tree.parent}
    spread = {name: await edges.spread(ctx, values) for name, values in columns.items()}
    ends = np.empty(
        spread["level"].size, [(name, values.dtype) for name, values in columns.items()]
    )
    for name, values in spread.items():
        ends[name] = values
    return ends


@kernel
def _check_edges(near, far, weight, symmetric, ends, tolerance, known, counts, first):  # type: ignore[no-untyped-def]
    """Check edges from near to far and, if symmetric, back; loops join nothing.

    counts: of edges that are too steep, leave the tree, lie inside it. first: such an edge.
    """
    for i in range(near.size):
        u, v = np.uint64(near[i]), np.uint64(far[i])  # unsigned: none counts from the end
        if u == v:
            continue
        here, there = ends[u], ends[v]
        w = 1 if weight is None else weight[i]
        slack = tolerance * max(here.level, there.level, w)
        known[v] |= _kinship(here, there, w, slack)
        if symmetric:
            known[u] |= _kinship(there, here, w, slack)
        if here.level != NOTHING and there.level != NOTHING:
            _note(counts, first, INSIDE, here, there)
            rise = there.level - here.level
            broken = (abs(rise) if symmetric else rise) > w + slack
        else:
            broken = here.level != NOTHING or (symmetric and there.level != NOTHING)
            if broken:
                _note(counts, first, LEAVING, here, there)
        if broken:
            _note(counts, first, STEEP, here, there)


@kernel(inline="always")
def _kinship(above, below, w, slack):  # type: ignore[no-untyped-def]
    """Return what an edge says of a vertex and its parent, 0 if it joins others."""
    if below.parent != above.number:
        return 0
    agrees = above.level != NOTHING and abs(above.level + w - below.level) <= slack
    return EXISTS | AGREES if agrees else EXISTS


@kernel(inline="always")
def _note(counts, first, what, here, there):  # type: ignore[no-untyped-def]
    if counts[what] == 0:
        first[what, 0], first[what, 1] = here.number, there.number
    counts[what] += 1


async def count_traversed(ctx: Context, edges: Edges, reached: NDArray[np.bool_]) -> int:
    """Return how many edges have two ends that were reached; loops do not count.

    Parameters
    ----------
    reached : bool array over the masters
    """
    inside = await edges.spread(ctx, reached)
    count = sum(_count_inside(near, far, inside) for near, far, _ in edges.pieces())
    return int((await ctx.allreduce([count]))[0]) // edges.copies


@kernel
def _count_inside(near, far, inside):  # type: ignore[no-untyped-def]
    """Count the edges whose ends are both inside.

    Examples
    --------
    >>> near, far = np.array([0, 1, 2]), np.array([1, 1, 0])
    >>> int(_count_inside(near, far, np.array([True, True, False])))
    1
    """
    count = 0
    for i in range(near.size):
        count += (near[i] != far[i]) & inside[near[i]] & inside[far[i]]
    return count
