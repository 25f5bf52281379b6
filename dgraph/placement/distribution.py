"""Core trees onto the domain tree, the paper's way: YH-Light's Algorithm 2 in a sound reading.

Cluster by cluster, a cluster being a core tree and the neighbours of its hub that have no place
yet: take the leaf domain with room for it that has most edges to vertices that have a place
(ties: the first), fill one of its slots after the other; what does not fit goes to the sibling
domains, then one level up, to the root. Isolated vertices are left for the end. The paper's own
listing recurses inside the loop over neighbours, and on the same level when a domain is full.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from dgraph.kernels import kernel
from dgraph.placement.halving import leaf_order
from dgraph.topology import Topology

__all__ = ["distribute"]

Array = NDArray[Any]


def distribute(
    offsets: NDArray[np.int64],
    targets: Array,
    tree: NDArray[np.int32],
    taken: NDArray[np.int64],
    topology: Topology,
    eps: float,
) -> NDArray[np.int32]:
    """Return the slot of every vertex, numbered by rank; -1 for isolated ones.

    Parameters
    ----------
    offsets, targets : arrays
        Rows of a simple undirected graph.
    tree, taken : arrays
        See :func:`~dgraph.placement.trees.core_trees`.
    topology : Topology
    eps : float
        A slot gets at most ``1 + eps`` times the mean of vertices, and of ends of edges unless
        one vertex alone has more.

    Examples
    --------
    >>> offsets, targets = np.array([0, 2, 4, 5, 6]), np.array([1, 2, 0, 3, 0, 1])
    >>> tree, taken = np.zeros(4, np.int32), np.arange(4)
    >>> distribute(offsets, targets, tree, taken, Topology.from_fanouts([2]), 0.0)
    array([0, 0, 1, 1], dtype=int32)
    """
    n, slots = len(tree), topology.slots
    degree = np.diff(offsets)
    ends = int(offsets[-1])
    heaviest = int(degree.max(initial=0))
    cap = np.array(
        [
            max(-(-n // slots), int((1 + eps) * n / slots)),
            max(int((1 + eps) * ends / slots), ends // slots + heaviest),
        ]
    )
    by_leaf = leaf_order(topology)
    leaf = topology.domain_of(0)
    near = np.empty((int(leaf.max()) + 1, slots), np.int64)
    for domain in range(len(near)):
        first = int(np.flatnonzero(leaf == domain)[0])
        levels = topology.levels(first)[by_leaf]
        near[domain] = by_leaf[np.argsort(levels, kind="stable")]
    owner = np.full(n, -1, np.int32)
    _distribute(offsets, targets, tree, taken, degree, leaf, near, cap, owner)
    return owner


@kernel
def _distribute(offsets, targets, tree, taken, degree, leaf, near, cap, owner):  # type: ignore[no-untyped-def]
    domains, slots = near.shape
    free = np.full(slots, cap[0], np.int64)
    ends = np.full(slots, cap[1], np.int64)
    cluster = np.empty(owner.size, np.int64)
    waiting = np.full(owner.size, -1, np.int64)  # the cluster in which a vertex is
    begin = 0
    while begin < taken.size:
        hub = taken[begin]
        number = tree[hub]
        many = 0
        end = begin
        while end < taken.size and tree[taken[end]] == number:
            v = taken[end]
            if owner[v] < 0:
                cluster[many] = v
                waiting[v] = number
                many += 1
            end += 1
        if owner[hub] < 0:
            for i in range(offsets[hub], offsets[hub + 1]):
                u = targets[i]
                if owner[u] < 0 and waiting[u] != number:
                    cluster[many] = u
                    waiting[u] = number
                    many += 1
        begin = end
        if many == 0:
            continue
        domain = _best_domain(offsets, targets, cluster[:many], owner, leaf, domains, free)
        _fill(cluster[:many], degree, near[domain], free, ends, owner)


@kernel
def _best_domain(offsets, targets, cluster, owner, leaf, domains, free):  # type: ignore[no-untyped-def]
    """Return the leaf domain of most edges to a cluster, of those with room for all of it."""
    edges = np.zeros(domains, np.int64)
    room = np.zeros(domains, np.int64)
    for s in range(leaf.size):
        room[leaf[s]] += free[s]
    for v in cluster:
        for i in range(offsets[v], offsets[v + 1]):
            if owner[targets[i]] >= 0:
                edges[leaf[owner[targets[i]]]] += 1
    best = -1
    for need in (cluster.size, 1):
        for d in range(domains):
            if room[d] >= need and (best < 0 or edges[d] > edges[best]):
                best = d
        if best >= 0:
            break
    return best


@kernel
def _fill(cluster, degree, near, free, ends, owner):  # type: ignore[no-untyped-def]
    """Place a cluster on the slots in this sequence, each up to its capacity."""
    for v in cluster:
        chosen = -1
        for s in near:
            if free[s] > 0 and ends[s] >= degree[v]:
                chosen = s
                break
        if chosen < 0:  # too many edges for any slot: the one with most left
            for s in near:
                if free[s] > 0 and (chosen < 0 or ends[s] > ends[chosen]):
                    chosen = s
        owner[v] = chosen
        free[chosen] -= 1
        ends[chosen] -= degree[v]
