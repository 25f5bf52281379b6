"""The rules of Graph500 as the specification has them, one vertex and edge after the other."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd

from dgraph.engine.pool import run
from dgraph.errors import RunError
from dgraph.graph500.claims import Claim
from dgraph.graph500.edges import EdgeList
from dgraph.graph500.validate import _validate_slot
from dgraph.shard import Shard
from tests import oracles
from tests.reference import PlainGraph, plain

#: A parent that is not in the graph; ids of drawn graphs are others.
STRANGER = -99


def depth_of(v: int, source: int, parent: Sequence[int | None]) -> int | None:
    for steps in range(len(parent)):
        if v == source:
            return steps
        above = parent[v]
        if above is None or above == STRANGER:
            return None
        v = above
    return None


def fits(high: float | None, weight: float, low: float | None) -> bool:
    return high is not None and low is not None and math.isclose(high + weight, low)


def broken_rules(
    graph: PlainGraph,
    source: int,
    parent: Sequence[int | None],
    level: Sequence[float | None] | None,
    weighted: bool,
) -> set[str]:
    """Return the names of the rules that a tree breaks; vertices are given by their orders."""
    tail, head, weight = graph.arcs
    arcs = [
        (int(u), int(v), 1.0 if weight is None or not weighted else float(weight[i]))
        for i, (u, v) in enumerate(zip(tail, head, strict=True))
        if u != v
    ]
    depth = [depth_of(v, source, parent) for v in range(graph.n)]
    level = depth if level is None else level
    broken = set()
    if level[source] != 0 or parent[source] not in (None, source):
        broken.add("tree")
    for v in set(range(graph.n)) - {source}:
        above, reached = parent[v], level[v] is not None
        if reached != (depth[v] is not None) or (above is not None and not reached):
            broken.add("tree")
        if above is None:
            continue
        joining = [w for u, t, w in arcs if (u, t) == (above, v)]
        if not joining:
            broken.add("parent edges")
        steps = joining if weighted else [1.0] * (above != STRANGER)
        if reached and steps and not any(fits(level[above], w, level[v]) for w in steps):
            broken.add("tree edges")
    for u, v, w in arcs:
        here, there = level[u], level[v]
        if here is not None and there is None:
            broken |= {"component", "input edges"}
        elif here is not None and there is not None and there > here + w:
            broken.add("input edges") if not math.isclose(there, here + w) else None
    return broken


def frame_of(
    graph: PlainGraph, parent: Sequence[int | None], level: Sequence[float | None] | None
) -> pd.DataFrame:
    """Return a tree as a result: in the ids of the graph, which are integers."""
    ids = np.array(graph.ids.to_list(), np.int64)
    stands = [v is not None for v in parent]
    named = [STRANGER if v == STRANGER else ids[v or 0] for v in parent]
    missing = ~np.array(stands, bool)
    columns: dict[str, Any] = {
        "vertex": ids,
        "predecessor": pd.arrays.IntegerArray(np.array(named, np.int64), missing),
    }
    if level is not None:
        columns["distance"] = [math.inf if value is None else value for value in level]
    return pd.DataFrame(columns)


def judge(
    shards: Sequence[Shard],
    source: Any,
    frame: pd.DataFrame,
    weighted: bool,
    listed: EdgeList | None = None,
    deal: Sequence[int] = (),
) -> tuple[set[str], int]:
    """Validate on threads; row i of the result goes to slot ``deal[i]``, in turn by default."""
    slots = len(shards)
    to = np.array(deal) if len(deal) else np.arange(len(frame)) % slots
    claims = [[Claim(shard, [frame[to == slot]])] for slot, shard in enumerate(shards)]
    fixed = (source, weighted, "distance" in frame.columns, 1e-15 if weighted else 0.0, listed)
    try:
        found = run(_validate_slot, claims, *([value] * slots for value in fixed), slots=slots)
    except RunError as error:
        raise error.__cause__ or error from None
    assert all(each == found[0] for each in found)
    failures, traversed = found[0]
    return set(failures), traversed


def shortest(graph: PlainGraph, source: int) -> tuple[list[int | None], list[float | None]]:
    """Return a tree of shortest paths by Bellman and Ford."""
    tail, head, weight = graph.arcs
    weight = np.ones(len(tail)) if weight is None else weight
    parent: list[int | None] = [None] * graph.n
    level = [math.inf] * graph.n
    level[source] = 0.0
    for _ in range(graph.n):
        for u, v, w in zip(tail.tolist(), head.tolist(), weight.tolist(), strict=True):
            if level[u] + w < level[v]:
                level[v], parent[v] = level[u] + w, u
    return parent, [None if math.isinf(value) else value for value in level]


def breadth_first(
    graph: PlainGraph, source: int
) -> tuple[list[int | None], list[float | None]]:
    level, parent = oracles.bfs(graph, [source])
    return (
        [None if value < 0 else value for value in parent],
        [None if value < 0 else value for value in level],
    )


def kronecker_graph(listed: EdgeList, duplicates: str) -> PlainGraph:
    near, far, weight = listed.make(0, listed.tuples)
    return plain(near, far, weight, duplicates=duplicates)
