"""How far two slots are from each other: the domain tree's distance, and YH-Light's grid."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from dgraph.build.blocks import near_root
from dgraph.errors import OptionError
from dgraph.figures import unit_costs
from dgraph.topology import Topology

__all__ = ["coordinates", "grid_distances", "tree_distances"]


@lru_cache(maxsize=8)
def tree_distances(topology: Topology) -> NDArray[np.float64]:
    """Return what an edge between two slots costs: 1, 10, 100, ... by level, 0 inside a slot.

    Every slot of a process asks for the same: it is made once, and nobody may change it.

    Examples
    --------
    >>> tree_distances(Topology.from_fanouts([2, 2]))[0]
    array([ 0.,  1., 10., 10.])
    """
    slots = np.arange(topology.slots)
    far = unit_costs(topology)[topology.level(slots[:, None], slots)]
    np.fill_diagonal(far, 0.0)
    return far


def grid_distances(
    topology: Topology,
    vertical: Sequence[float] | None = None,
    horizontal: Sequence[float] | None = None,
) -> NDArray[np.float64]:
    """Return YH-Light's distance on grids inside grids.

    The slots of a lowest domain stand in a grid as square as their number allows, the domains
    below the same parent likewise. The distance is the sum over levels of
    ``vertical[l] * |dy| + horizontal[l] * |dx|``.

    Parameters
    ----------
    vertical, horizontal : sequence of float, optional
        One for each level from 0 to the height. Default: 1, 10, 100, ...

    Examples
    --------
    >>> grid_distances(Topology.from_fanouts([4, 4]))[0, [3, 8, 15]]
    array([ 2., 10., 22.])
    """
    units = [unit_costs(topology) if some is None else some for some in (vertical, horizontal)]
    if any(len(some) != topology.height + 1 for some in units):
        raise OptionError(
            f"vertical and horizontal must be {topology.height + 1} numbers each, one for each "
            f"level of the topology, not {len(units[0])} and {len(units[1])}"
        )
    place = coordinates(topology).astype(np.float64)
    apart = np.abs(place[:, :, :, None] - place[:, :, None, :])
    weights = np.array([[units[0][at], units[1][at]] for at in range(topology.height + 1)])
    distance: NDArray[np.float64] = (weights[:, :, None, None] * apart).sum(axis=(0, 1))
    return distance


def coordinates(topology: Topology) -> NDArray[np.int64]:
    """Return (level, (y, x), slot): where a slot's domain of each level stands in the next one.

    Examples
    --------
    >>> coordinates(Topology.from_fanouts([4, 2]))[:, :, 7].tolist()
    [[1, 1], [0, 1]]
    """
    inner = np.arange(topology.slots)
    found = np.zeros((topology.height + 1, 2, topology.slots), np.int64)
    for level in range(topology.height + 1):
        outer = topology.domain_of(level)
        for domain in range(int(outer.max()) + 1):
            inside = np.flatnonzero(outer == domain)
            children, number = np.unique(inner[inside], return_inverse=True)
            columns = -(-len(children) // near_root(len(children)))
            found[level, :, inside] = np.stack(divmod(number, columns), axis=1)
        inner = outer
    return found
