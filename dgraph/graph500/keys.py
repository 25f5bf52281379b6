"""Search keys: distinct vertices from which a search has somewhere to go."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from dgraph.arguments import integer
from dgraph.clients import call
from dgraph.engine.context import Context
from dgraph.graph import Graph, check_graph, home_of
from dgraph.kernels import kernel
from dgraph.shard import Shard
from dgraph.vertices.hash import hash_ints

__all__ = ["draw_keys", "search_keys"]

Array = NDArray[Any]


def search_keys(g: Graph, k: int = 64, seed: int = 1) -> Any:
    """Draw vertices to search from, as Graph500 does.

    Parameters
    ----------
    g : Graph
    k : int
        How many.
    seed : int

    Returns
    -------
    list of int or str
        Distinct vertices, in random sequence, each with an edge to another vertex (in a
        directed graph: that leads there). All such vertices if there are fewer than `k`. An
        awaitable of it if the client is asynchronous.

    Notes
    -----
    The keys are those whose hash with the seed is the least, so they do not depend on the slots
    and the placement.

    Examples
    --------
    >>> import dgraph as dg
    >>> g = dg.from_edges(np.array([[0, 1], [1, 2], [3, 3]]))
    >>> sorted(search_keys(g))
    [0, 1, 2]
    """
    check_graph(g)
    number, start = integer("k", k, 1), integer("seed", seed)
    return call(home_of(g).client, draw_keys, g, number, start)


async def draw_keys(g: Graph, k: int, seed: int) -> list[Any]:
    """Draw search keys on the loop of the graph's client."""
    drawn = await home_of(g).ask("search keys", _draw_slot, k, seed)
    first = sorted(pair for pairs in drawn for pair in pairs)[:k]
    return [vertex for _, vertex in first]


async def _draw_slot(ctx: Context, shard: Shard, k: int, seed: int) -> list[tuple[int, Any]]:
    """Return the k masters of the least hash among the eligible ones, with it."""
    rows, split = shard.out, shard.out_split
    reaching = _reach_another(np.arange(shard.masters), rows.offsets, rows.targets)
    if split is not None:
        hits = _reach_another(split.vertices, split.rows.offsets, split.rows.targets)
        heard = await ctx.reduce(shard, split.vertices, hits.astype(np.int8), combine="max")
        np.logical_or.at(reaching, *heard)
    eligible = np.flatnonzero(reaching)
    ids = shard.ids.take(eligible)
    salt = hash_ints(np.array([seed], np.int64))
    hashed = hash_ints(ids.hash() ^ salt)
    least = np.argsort(hashed, kind="stable")[:k]
    return list(zip(hashed[least].tolist(), ids.take(least).to_list(), strict=True))


@kernel
def _reach_another(vertices, offsets, targets):  # type: ignore[no-untyped-def]
    """Return which vertices have an edge that is no loop.

    Examples
    --------
    >>> _reach_another(np.arange(3), np.array([0, 1, 1, 3]), np.array([0, 2, 0], np.int32))
    array([False, False,  True])
    """
    found = np.zeros(offsets.size - 1, np.bool_)
    for row in range(found.size):
        for at in range(offsets[row], offsets[row + 1]):
            if targets[at] != vertices[row]:
                found[row] = True
                break
    return found
