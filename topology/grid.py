"""Every domain as a grid of what is in it (YH-Light): coordinates, and the distance in steps.

Grid distance is not tree distance: two slots of different domains that have the same place in
their own domains are no step apart on that level.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["coordinates", "distance", "width_of"]


def width_of(places: int) -> int:
    """Return the width of the grid nearest to a square that has just so many places.

    Examples
    --------
    >>> [width_of(places) for places in (1, 4, 6, 7, 16)]
    [1, 2, 2, 1, 4]
    """
    return next(width for width in range(math.isqrt(places), 0, -1) if places % width == 0)


def coordinates(partitions: Sequence[Sequence[int]]) -> NDArray[np.int64]:
    """Return x and y of every slot at every level.

    Parameters
    ----------
    partitions : as those of a Topology
        Where fan-outs of a level differ, all its grids are as wide as that of the largest.

    Examples
    --------
    >>> coordinates([[0, 0, 1, 1], [0, 0, 0, 0]])[:, 0].tolist()
    [[0, 0], [0, 1], [0, 0], [0, 1]]
    """
    inner: Any = np.arange(len(partitions[0]))
    levels = []
    for partition in partitions:
        place = _places(inner, np.asarray(partition))
        width = width_of(int(place.max(initial=0)) + 1)
        levels.append(np.stack([place % width, place // width], axis=-1))
        inner = np.asarray(partition)
    return np.stack(levels, axis=1)


def _places(inner: NDArray[np.int64], outer: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the place of each slot's inner domain among those of its outer one.

    Examples
    --------
    >>> _places(np.array([0, 0, 1, 2]), np.array([0, 0, 0, 1]))
    array([0, 0, 1, 0])
    """
    domains, first = np.unique(inner, return_index=True)
    above = outer[first]
    order = np.lexsort((domains, above))
    starts = np.searchsorted(above[order], above[order])
    place = np.empty(len(domains), np.int64)
    place[order] = np.arange(len(domains)) - starts
    of_slot: NDArray[np.int64] = place[np.searchsorted(domains, inner)]
    return of_slot


def distance(
    places: NDArray[np.int64],
    here: NDArray[np.int64],
    there: NDArray[np.int64],
    costs: Sequence[Any],
) -> NDArray[np.float64]:
    """Return the sum over levels of the steps along x and along y, each with its cost.

    Parameters
    ----------
    places : array
        What `coordinates` returns.
    here, there : int64 arrays
        Slots.
    costs : sequence of float or (float, float)
        By level: of a step, or of one along y (vertical) and one along x (horizontal).

    Examples
    --------
    >>> places = coordinates([[0, 0, 0, 0]])
    >>> float(distance(places, np.array(0), np.array(3), [(5.0, 2.0)]))
    7.0
    """
    levels = places.shape[1]
    by_axis = np.array([np.broadcast_to(np.asarray(cost, float), 2) for cost in costs])
    steps = np.abs(places[here] - places[there])  # [..., level, (x, y)]
    total: NDArray[np.float64] = (steps * by_axis[:levels, ::-1]).sum(axis=(-2, -1))
    return total
