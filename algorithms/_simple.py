"""The simple graph under a multigraph: of parallel edges the lightest, or one."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dgraph.kernels import kernel
from dgraph.shard import Adjacency, Shard

__all__ = ["parallels", "simple"]

Array = NDArray[Any]


def parallels(shard: Shard) -> bool:
    """Return whether there are parallel edges on this slot."""
    if "parallels" not in shard.derived:
        found = any(
            has_parallels(rows.offsets, rows.targets) for rows in (shard.out, shard.into)
        )
        shard.derived["parallels"] = np.array(found)
    return bool(shard.derived["parallels"])


def simple(shard: Shard) -> Shard:
    """Return the shard without parallel edges, made once.

    It is a shard of its own also where there are none: what slots agree on about a shard, they
    agree on all at once, so all have to ask for this one if any slot has parallel edges.
    """
    if "simple" not in shard.derived:
        out, into = shard.out, shard.into
        if parallels(shard):
            out = _without_parallels(out)
            into = _without_parallels(into) if shard.directed else out
        shard.derived["simple"] = replace(shard, out=out, into=into)
    found: Shard = shard.derived["simple"]
    return found


def _without_parallels(rows: Adjacency) -> Adjacency:
    """Leave of parallel edges, which are neighbours in a row, the lightest.

    Examples
    --------
    >>> rows = Adjacency(np.array([0, 3]), np.array([5, 5, 6], np.int32), np.array([2.0, 1, 4]))
    >>> rows = _without_parallels(rows)
    >>> rows.offsets, rows.targets, rows.weights
    (array([0, 2]), array([5, 6], dtype=int32), array([1., 4.]))
    """
    targets = np.empty_like(rows.targets)
    weights = None if rows.weights is None else np.empty_like(rows.weights)
    offsets = _merge(rows.offsets, rows.targets, rows.weights, targets, weights)
    count = offsets[-1]
    if weights is not None:
        weights = weights[:count].copy()
    return Adjacency(offsets, targets[:count].copy(), weights)


@kernel
def has_parallels(offsets, targets):  # type: ignore[no-untyped-def]
    """Return whether a target occurs twice in a row, which is by rank.

    >>> has_parallels(np.array([0, 2, 4]), np.array([1, 2, 2, 3], np.int32))
    False
    """
    for v in range(offsets.size - 1):
        for j in range(offsets[v] + 1, offsets[v + 1]):
            if targets[j] == targets[j - 1]:
                return True
    return False


@kernel
def _merge(offsets, targets, weights, new_targets, new_weights):  # type: ignore[no-untyped-def]
    new_offsets = np.zeros_like(offsets)
    count = 0
    for v in range(offsets.size - 1):
        for j in range(offsets[v], offsets[v + 1]):
            if j > offsets[v] and targets[j] == targets[j - 1]:
                if weights is not None:
                    new_weights[count - 1] = min(new_weights[count - 1], weights[j])
                continue
            new_targets[count] = targets[j]
            if weights is not None:
                new_weights[count] = weights[j]
            count += 1
        new_offsets[v + 1] = count
    return new_offsets
