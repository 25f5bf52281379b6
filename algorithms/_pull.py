"""What PageRank does with the arcs of a slot: shares on a common grid, and their exact sums.

::

    share_all     rank -> shares          before the first round
    pull          shares -> rank, shares  a round of the rows that lie here whole
    pull_pieces   shares -> sums          of the pieces of rows whose owners are elsewhere
    finish        sums -> rank, shares    the round of the rows that are split, by their owner
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from dgraph.algorithms._prefetch import prefetch
from dgraph.kernels import count_below, kernel

__all__ = ["GRID", "Grid", "Ranks", "add_to", "finish", "pull", "pull_pieces", "share_all"]

#: Terms are multiples of 1 / GRID. Sums reach 2 (of changes), so 2 GRID has to fit an int64.
GRID = 2.0**60

#: Arcs between one whose share is asked for and the one whose share is added.
AHEAD = 128

Floats = NDArray[np.float64]


class Ranks(NamedTuple):
    """What a slot knows of its masters; arrays over them.

    Parameters
    ----------
    rank : float64 array
    inverse : float64 array
        1 / s(v), 0 if v is dangling.
    restart, sinks : float64 arrays
        r and d; of length 1 if they are the same for all.
    """

    rank: Floats
    inverse: Floats
    restart: Floats
    sinks: Floats


class Grid(NamedTuple):
    """How shares are rounded: to multiples of 1 / `unit`, of which `limit` fit."""

    unit: float
    limit: int


@kernel
def on_grid(x):  # type: ignore[no-untyped-def]
    """Return `x` as a multiple of 1 / GRID."""
    return np.int64(np.rint(x * GRID))


@kernel
def share_all(s, weights, shares, grid):  # type: ignore[no-untyped-def]
    """Enter what every master gives along an arc.

    Returns the rank of all that are dangling, and how many shares were too large.
    """
    dangling, spilled = 0, 0
    rank, inverse = s.rank, s.inverse  # see `pull`
    for v in range(rank.size):
        spilled += give(rank[v] * inverse[v], weights, shares, v, grid)
        if inverse[v] == 0:
            dangling += on_grid(rank[v])
    return dangling, spilled


@kernel
def give(share, weights, shares, v, grid):  # type: ignore[no-untyped-def]
    """Enter a share; tell whether it was too large."""
    if weights is not None:
        shares[v] = share
        return False
    portions = np.int64(np.rint(share * grid.unit))
    shares[v] = min(portions, grid.limit)
    return portions > grid.limit


@kernel
def pull_pieces(rows, weights, shares, sums):  # type: ignore[no-untyped-def]
    """Sum what comes along the arcs of each piece of a row."""
    offsets, targets = rows.offsets, rows.targets  # variables: see `pull`
    for piece in range(sums.size):
        total = 0
        for j in range(offsets[piece], offsets[piece + 1]):
            total += term(targets, weights, shares, j)
        sums[piece] = total


@kernel
def add_to(sums, heavy, vertices, values):  # type: ignore[no-untyped-def]
    """Add values to the sums of heavy masters, of which one may occur more than once."""
    for i in range(vertices.size):
        sums[count_below(heavy, vertices[i])] += values[i]


@kernel
def pull(rows, part, weights, alpha, dangling, shares, heavy, sums, s, following, grid):  # type: ignore[no-untyped-def]
    """Do one round of a part of the masters, from `part[0]` up to but not `part[1]`.

    Of the `heavy` ones it finds only the sums of what lies here of their rows.

    Returns what it changed and the rank of the dangling, both as multiples of 1 / GRID, and how
    many shares were too large.
    """
    # Fields that a loop reads from a tuple are counted as references; variables are not.
    offsets, targets = rows.offsets, rows.targets
    rank, inverse, restart, sinks = s.rank, s.inverse, s.restart, s.sinks
    first, last = part
    changed, loose, spilled, end, total = 0, 0, 0, offsets[first], 0
    at = count_below(heavy, first)
    ahead = np.uint64(AHEAD)
    for v in range(first, last):
        begin, end, total = end, offsets[v + 1], 0
        if end + ahead > targets.size:  # the last arcs have nothing ahead of them
            for j in range(begin, end):
                total += term(targets, weights, shares, j)
        elif end - begin == 1:  # to begin a loop takes longer than to go round once
            prefetch(shares, targets[begin + ahead])
            total += term(targets, weights, shares, begin)
        else:
            for j in range(begin, end):
                prefetch(shares, targets[j + ahead])
                total += term(targets, weights, shares, j)
        if at < heavy.size and heavy[at] == v:
            sums[at], at = total, at + 1
            continue
        new = renewed(v, total, weights, alpha, dangling, restart, sinks, grid)
        changed += on_grid(abs(new - rank[v]))
        rank[v] = new
        spilled += give(new * inverse[v], weights, following, v, grid)
        if inverse[v] == 0:
            loose += on_grid(new)
    return changed, loose, spilled


@kernel
def finish(heavy, sums, weights, alpha, dangling, s, following, grid):  # type: ignore[no-untyped-def]
    """Do the round of the heavy masters, now that their sums are whole; returns as `pull`."""
    changed, loose, spilled = 0, 0, 0
    for i in range(heavy.size):
        v = heavy[i]
        new = renewed(v, sums[i], weights, alpha, dangling, s.restart, s.sinks, grid)
        changed += on_grid(abs(new - s.rank[v]))
        s.rank[v] = new
        spilled += give(new * s.inverse[v], weights, following, v, grid)
        if s.inverse[v] == 0:
            loose += on_grid(new)
    return changed, loose, spilled


@kernel
def renewed(v, total, weights, alpha, dangling, restart, sinks, grid):  # type: ignore[no-untyped-def]
    """Return the new rank of a master from the sum of what it pulled."""
    portion = 1 / (GRID if weights is not None else grid.unit)
    pulled = total * portion + dangling * sinks[v if sinks.size > 1 else 0]
    return (1 - alpha) * restart[v if restart.size > 1 else 0] + alpha * pulled


@kernel
def term(targets, weights, shares, j):  # type: ignore[no-untyped-def]
    """Return what comes along an arc, on the grid."""
    if weights is None:
        return np.int64(shares[targets[j]])  # of both ways one type, or the sums are of floats
    return on_grid(shares[targets[j]] * weights[j])
