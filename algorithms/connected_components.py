"""Weakly connected components by union-find on the slots, and of what crosses between them.

Returned is, for every vertex, the smallest vertex (by user id) of its component; direction does
not matter. The label is the same whatever the partitions.

Inside a slot this is like Afforest [1]_: link every vertex with a few neighbours, find the
largest tree by sampling, and link the other edges only of vertices outside it. An edge between
two vertices of the largest tree has nothing to say, and most edges are of that kind. To read
the beginning of every row would take longest. So each vertex is linked with its first
neighbour only, the heaviest, which are kept beside each other; and of each tree that has come
of that the root, its heaviest vertex, with some more. In a graph with hubs few rows are read.

Between slots::

    1  The label of a tree is the smallest order among its masters: no other slot has it.
    2  Masters tell their proxies their labels. A proxy in a tree here whose master is in a tree
       there joins two labels; the owner is told so as well (one reduce).
    3  The slots merge what is joined along a binary tree, by union-find over labels: half of
       the slots send what they joined to the other half, and so on, until slot 0 has
       everything, and on the way back every slot hears the final label of each that it sent.

An edge is left out only if both ends are in the largest tree of their slots. So slot 0 looks
whether all these trees have ended in one component; if they have not (a graph whose largest
components lie apart), the edges that were left out are linked as well and 1 to 3 are repeated.

Pieces of rows that are split over slots are linked like rows, and left out like them. A tree
there may have proxies only: its label is that of the first of them.

Encodings: `parent` uint32 over the local ids, a root is its own parent, and a parent is never
larger than its child. Labels are orders.

Cost: supersteps: 2 + 2 log2(slots), twice if edges were left out in vain; a path of a million
vertices takes no more. Messages: a label a proxy, and a few a tree that leaves its slot.

References
----------
.. [1] M. Sutton, T. Ben-Nun, A. Barak: Optimizing parallel graph connectivity computation via
   subgraph sampling, IPDPS 2018, doi:10.1109/IPDPS.2018.00012
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from dgraph.algorithms._first import first_neighbours
from dgraph.algorithms._forest import Forest
from dgraph.algorithms.strong_components import strong_components_slot
from dgraph.arguments import choice
from dgraph.engine.columns import Column, Orders
from dgraph.engine.context import Context
from dgraph.graph import Graph, check_graph, run_algorithm
from dgraph.kernels import kernel
from dgraph.keywords import named
from dgraph.results import VERTEX
from dgraph.shard import Shard
from dgraph.shard.rows import rows_of

if TYPE_CHECKING:
    from dask.dataframe import DataFrame

__all__ = ["connected_components", "connected_components_slot"]

#: How often roots are linked, with how many neighbours each, unless so many vertices are in one
#: tree: the others then are few, and all their edges are linked anyway.
ROUNDS, SOME, NEARLY_ALL = 2, 16, 0.9

#: Vertices sampled to find the largest tree, as in the GAP Benchmark Suite.
SAMPLES = 1024

Array = NDArray[Any]


async def connected_components_slot(ctx: Context, shard: Shard) -> dict[str, Column]:
    """Label every master; see :func:`connected_components`."""
    parent = ctx.scratch(shard, shard.size, np.uint32)
    labels = ctx.scratch(shard, shard.size, shard.order.dtype)
    link_firsts(parent, first_neighbours(shard))
    largest, share = _largest_tree(parent, shard)
    for _ in range(ROUNDS):
        if share < NEARLY_ALL:
            link_roots(parent, SOME, rows_of(shard.out))
            largest, share = _largest_tree(parent, shard)
    _link_rest(parent, shard, largest)
    while True:
        label_trees(parent, shard.order, labels)
        trees, others = await _joined_trees(ctx, shard, parent, labels)
        skipped = labels[[] if largest < 0 else [largest]]
        final, apart = await _merge(ctx, labels[trees], others, skipped)
        if not apart:
            break
        largest = -1
        _link_rest(parent, shard, largest)
    labels[trees] = final
    spread(parent, labels, shard.masters)
    return {"component": Orders(labels[: shard.masters])}


def _largest_tree(parent: NDArray[np.uint32], shard: Shard) -> tuple[int, float]:
    """Return the root of the tree that most masters are in, -1 if there is none; its share."""
    offsets = shard.out.offsets
    linked = int(np.searchsorted(offsets, offsets[-1]))  # those without edges come last
    if linked == 0:
        return -1, 0.0
    sample = parent[np.arange(SAMPLES) * linked // SAMPLES]
    roots, counts = np.unique(sample, return_counts=True)
    most = int(np.argmax(counts))
    share = float(counts[most] / SAMPLES)
    return int(roots[most]) if 2 * share > 1 else -1, share


def _link_rest(parent: NDArray[np.uint32], shard: Shard, largest: int) -> None:
    """Link the edges of all masters outside the tree of `largest`."""
    for rows in (shard.out, shard.into) if shard.directed else (shard.out,):
        link_outside(parent, largest, rows_of(rows))
    for _, split in shard.families:
        if split is not None:
            link_pieces(parent, largest, split.vertices, rows_of(split.rows))
    compress(parent)


async def _joined_trees(
    ctx: Context, shard: Shard, parent: NDArray[np.uint32], labels: Array
) -> tuple[NDArray[np.uint32], Array]:
    """Return the roots of trees here, and labels of trees elsewhere that they are joined to."""
    ctx.stage = "labels"
    await ctx.broadcast(shard, labels)
    room = ctx.scratch(shard, shard.size - shard.masters, np.int32)
    proxies = room[: joints(parent, labels, shard.masters, room)]
    # a proxy joins its tree here to the tree of its master: both slots have to know it
    trees = parent[proxies]
    told, news = proxies, labels[trees]
    if shard.out_split is not None:
        strangers, first = np.unique(trees[trees >= shard.masters], return_index=True)
        # the tree of such a root is that of its master, who has to know it as well
        news = np.append(news, labels[proxies[trees >= shard.masters][first]])
        told = np.append(told, strangers.astype(np.int32))
    masters, others = await ctx.reduce(shard, told, news, combine="min")
    return np.append(trees, parent[masters]), np.append(labels[proxies], others)


async def _merge(ctx: Context, own: Array, others: Array, skipped: Array) -> tuple[Array, bool]:
    """Merge what all slots have joined along a binary tree.

    Parameters
    ----------
    own, others : arrays of the same length
        Labels of trees here, and beside each a label that it is joined to.
    skipped : array of length 0 or 1
        The label of the tree inside which this slot has left out edges.

    Returns
    -------
    final : array
        Beside each label in `own` the final one.
    apart : bool
        Whether the skipped trees have ended in more than one component.
    """
    ctx.stage = "merge"
    forest, heard = Forest(own.dtype), dict[int, Array]()
    steps = [1 << height for height in range((ctx.slots - 1).bit_length())]
    hears = ctx.slot % 2 == 0
    told = own, others
    if hears:
        forest.join(own, others)
    for step in steps:
        sends = ctx.slot % (2 * step) == step
        if sends and hears:
            told = forest.star()
        for child, (labels, joined_to, more) in await _hand(
            ctx, ctx.slot - step, (*told, skipped) if sends else None
        ):
            heard[child] = labels
            forest.join(labels, joined_to)
            skipped = np.append(skipped, more)
    # what slot 0 has now is final
    apart = ctx.slot == 0 and np.unique(forest.smallest(skipped)).size > 1
    for step in reversed(steps):
        child = ctx.slot + step
        answer = (forest.smallest(heard[child]),) if child in heard else None
        for _, (final,) in await _hand(ctx, child, answer, vote=[apart]):
            if hears:
                forest.join(told[0], final)
            else:
                own = final
        apart = bool(ctx.vote[0])
    return forest.smallest(own) if hears else own, bool(apart)


async def _hand(
    ctx: Context, slot: int, columns: tuple[Array, ...] | None, vote: Any = None
) -> list[tuple[int, tuple[Array, ...]]]:
    """Send columns to one slot; return what others sent to this one, and which they are."""
    outgoing: list[tuple[Array, ...] | None] = [None] * ctx.slots
    if columns is not None:
        outgoing[slot] = columns
    came = await ctx.alltoall(outgoing, vote)
    return [(source, some) for source, some in enumerate(came) if some is not None]


@kernel
def joints(parent, labels, masters, proxies):  # type: ignore[no-untyped-def]
    """List proxies in trees of others, one for each pair of labels that is joined by some.

    Some pairs are listed more than once: only the latest are remembered.
    """
    recent = np.full((1024, 2), -1, labels.dtype)
    found = 0
    for proxy in range(masters, parent.size):
        root = parent[proxy]
        if root == proxy:  # padding, or no edge that was linked leads to it
            continue
        here, there = labels[root], labels[proxy]
        place = (here + 31 * there) & 1023
        if recent[place, 0] != here or recent[place, 1] != there:
            recent[place, 0], recent[place, 1] = here, there
            proxies[found] = proxy
            found += 1
    return found


@kernel
def link(parent, u, v):  # type: ignore[no-untyped-def]
    """Put the trees of `u` and `v` together: climb from the higher one, hook it when a root."""
    u, v = parent[u], parent[v]
    while u != v:
        high, v = max(u, v), min(u, v)
        u = parent[high]
        if u == high:
            parent[high] = v
            break
        # halve the path, so that climbing it again costs half as much
        u = parent[u]
        parent[high] = u


@kernel
def link_firsts(parent, first):  # type: ignore[no-untyped-def]
    """Link every master with one neighbour, and nobody else; compress."""
    for v in range(parent.size):
        parent[v] = v
    for v in range(first.size):
        link(parent, np.uint32(v), first[v])
    compress(parent)


@kernel
def link_roots(parent, some, rows):  # type: ignore[no-untyped-def]
    """Link the heaviest master of each tree with its first neighbours; compress."""
    offsets, targets = rows.offsets, rows.targets
    for v in range(offsets.size - 1):
        if parent[v] == v:
            begin, end = offsets[v], offsets[v + 1]
            for j in range(begin, min(begin + np.uint64(some), end)):
                link(parent, np.uint32(v), targets[j])
    compress(parent)


@kernel
def link_outside(parent, largest, rows):  # type: ignore[no-untyped-def]
    """Link all edges of the masters that are not in the largest tree."""
    for v in range(rows.offsets.size - 1):
        if parent[v] != largest:
            for j in range(rows.offsets[v], rows.offsets[v + 1]):
                link(parent, np.uint32(v), rows.targets[j])


@kernel
def link_pieces(parent, largest, vertices, rows):  # type: ignore[no-untyped-def]
    """Link all edges of pieces of rows whose vertices are not in the largest tree."""
    for piece in range(vertices.size):
        v = np.uint32(vertices[piece])
        if parent[v] != largest:
            for j in range(rows.offsets[piece], rows.offsets[piece + 1]):
                link(parent, v, rows.targets[j])


@kernel
def compress(parent):  # type: ignore[no-untyped-def]
    """Let every vertex point to its root; once through, for parents come before children."""
    for v in range(parent.size):
        parent[v] = parent[parent[v]]


@kernel
def label_trees(parent, order, labels):  # type: ignore[no-untyped-def]
    """Label every master with the smallest order of a master in its tree."""
    for v in range(order.size):
        labels[v] = order[v]
        root = parent[v]
        labels[root] = min(labels[root], order[v])
    spread(parent, labels, order.size)


@kernel
def spread(parent, labels, masters):  # type: ignore[no-untyped-def]
    """Give every master the label of its root."""
    for v in range(masters):
        labels[v] = labels[parent[v]]


@named
def connected_components(g: Graph, *, connection: str = "weak") -> DataFrame:
    """Label every vertex with the smallest vertex of its component.

    Parameters
    ----------
    g : Graph
    connection : {"weak", "strong"}
        Weakly connected: the direction of edges does not matter. Strongly connected: from each
        vertex of the component there is a path to each other one. In an undirected graph they
        are the same.

    Returns
    -------
    dask DataFrame
        A row per vertex: vertex; component, a vertex: the smallest id in the component.

    Raises
    ------
    OptionError
        If `connection` is something else.

    Notes
    -----
    Deterministic, whatever the slots and the placement. Supersteps: 2 + 2 log2(slots), twice as
    many if the largest components lie apart; the diameter does not matter. Strong components
    take those of a few searches; where these take long, one slot finishes what is left.

    References
    ----------
    Sutton, Ben-Nun, Barak: Optimizing parallel graph connectivity computation via subgraph
    sampling, IPDPS 2018, doi:10.1109/IPDPS.2018.00012. Strong: Slota, Rajamanickam, Madduri:
    BFS and coloring-based parallel algorithms for strongly connected components and related
    problems, IPDPS 2014, doi:10.1109/IPDPS.2014.64

    Examples
    --------
    >>> import dgraph as dg
    >>> g = dg.from_edges(np.array([[1, 2], [2, 3], [8, 9]]))
    >>> connected_components(g).compute().sort_values("vertex")["component"].tolist()
    [1, 1, 1, 8, 8]
    """
    check_graph(g)
    strong = choice("connection", connection, ("weak", "strong")) == "strong" and g.directed
    found: DataFrame = run_algorithm(
        g,
        "connected_components",
        strong_components_slot if strong else connected_components_slot,
        columns={"component": VERTEX},
    )
    return found
