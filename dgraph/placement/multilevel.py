"""One cut of a graph, as one kernel: contract it, cut what is small, improve on the way back.

All of it is one call, during which other threads run: between many short ones each would have
to wait for the interpreter.
"""

from __future__ import annotations

import numpy as np

from dgraph.kernels import kernel
from dgraph.placement.fm import contract, improve, match, try_sides

__all__ = ["cut", "fraction_of", "improve_at", "slack_of"]

#: A graph of so many vertices is not contracted further.
SMALL = 96

#: Passes of the improvement on every level.
PASSES = 3

#: Moves beyond the best state before a pass ends: so many, or this part of the vertices.
PATIENCE, PATIENT = 64, 40


@kernel
def cut(rows, goal, share, seed, tries):  # type: ignore[no-untyped-def]
    """Return side 0 or 1 of each vertex, the best of so many sides grown at random."""
    mass = rows[3]
    if not mass.size:
        return np.zeros(0, np.int8)
    heaviest = max(mass.sum() // 20, mass.max())
    finer, pair_of = [rows], [np.zeros(0, np.int32)]
    while finer[-1][3].size > SMALL:
        coarse = np.empty(finer[-1][3].size, np.int32)
        pairs = match(finer[-1], heaviest, seed + len(finer) - 1, coarse)
        if pairs > 0.97 * coarse.size:
            break
        pair_of.append(coarse)
        finer.append(contract(finer[-1], coarse, pairs))
    side = _first(finer[-1], goal, share, seed, tries)
    for level in range(len(finer) - 1, 0, -1):
        side = side[pair_of[level]]
        improve_at(finer[level - 1], side, goal, share)
    return side


@kernel
def _first(rows, goal, share, seed, tries):  # type: ignore[no-untyped-def]
    """Return the best of several sides grown around random vertices."""
    n = rows[3].size
    np.random.seed(seed)  # noqa: NPY002 - Numba's own generator, one for each thread
    starts = np.random.permutation(n)[:tries]  # noqa: NPY002
    slack = slack_of(rows[3], goal, share)
    return try_sides(rows, starts, goal, slack, PASSES, max(PATIENCE, n // PATIENT))


@kernel
def improve_at(rows, side, goal, share):  # type: ignore[no-untyped-def]
    """Improve a cut, of which side 0 is to be near a goal, in place."""
    mass = rows[3]
    patience = max(PATIENCE, mass.size // PATIENT)
    improve(rows, side, goal, slack_of(mass, goal, share), PASSES, patience)


@kernel
def slack_of(mass, goal, share):  # type: ignore[no-untyped-def]
    """Return how far side 0 may be from the goal: its share, but half of a typical vertex."""
    smaller = min(goal, mass.sum() - goal)
    return max(np.int64(share * smaller), mass.min() // 2)


@kernel
def fraction_of(halving, run):  # type: ignore[no-untyped-def]
    """Return which part of a run of slots its first half is."""
    begin, at, end = halving.runs[run, 0], halving.runs[run, 1], halving.runs[run, 2]
    return (at - begin) / (end - begin)
