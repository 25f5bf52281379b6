"""Edges blocked m x n over the slots of a leaf domain: a two-dimensional decomposition of each.

::

    slots of a leaf domain           an entry of the row of v, whose other end is u
    (m x n, as square as it gets)
        0  1  2                      lies in the domain of v, in the row of v's slot,
        3  4  5                      in the column in which u's slot is in its own domain

So a vertex is known in n slots of its own leaf domain (where its row is) and in m slots of each
one in which it has neighbours (where their columns are), instead of in all of them; and the
edges of a hub are spread. A row of no more entries than there are columns stays whole: to tell
all columns of a vertex would take no fewer messages than its entries do. Of a row that is
blocked one entry stays with the owner, whatever its column.

A. Buluc, K. Madduri: Parallel breadth-first search on distributed memory systems, SC 2011,
doi:10.1145/2063384.2063471.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from dgraph.topology import Topology

__all__ = ["allot_blocks", "block_slots", "near_root"]

Array = NDArray[Any]


def near_root(number: int) -> int:
    """Return the greatest divisor that is no greater than the square root.

    >>> near_root(12), near_root(7)
    (3, 1)
    """
    return max(d for d in range(1, int(number**0.5) + 1) if number % d == 0)


def block_slots(topology: Topology, slot: int) -> NDArray[np.int32]:
    """Return where entries of the rows of a slot lie, by the slot that owns the other end.

    Examples
    --------
    >>> block_slots(Topology.from_fanouts([4, 2]), 2)
    array([2, 3, 2, 3, 2, 3, 2, 3], dtype=int32)
    """
    place = np.empty(topology.slots, np.int64)  # among the slots of its own leaf domain
    for inside in topology.domains(0):
        place[inside] = np.arange(len(inside))
    own = topology.domains(0)[topology.domain_of(0)[slot]]
    columns = len(own) // near_root(len(own))
    row = place[slot] // columns
    found: NDArray[np.int32] = own[row * columns + place % columns].astype(np.int32)
    return found


def allot_blocks(
    owner: Array, row: Array, root: int, by_owner: NDArray[np.int32]
) -> NDArray[np.int32]:
    """Say where each entry of some rows goes.

    Parameters
    ----------
    owner : int array
        The slot that owns the other end of each entry.
    row : int array beside `owner`
        Ascending.
    root : int
        The slot whose rows they are; it gets one entry of each at least.
    by_owner : int32 array of length slots
        See :func:`block_slots`.

    Examples
    --------
    >>> by_owner = block_slots(Topology.from_fanouts([4]), 0)
    >>> allot_blocks(np.array([0, 1, 3, 1]), np.array([0, 0, 0, 5]), 0, by_owner)
    array([0, 1, 1, 0], dtype=int32)
    """
    slot = by_owner[owner]
    first = np.flatnonzero(np.diff(row, prepend=np.int32(-1)))
    at_home = np.add.reduceat(slot == root, first) if first.size else first
    slot[first[at_home == 0]] = root
    return slot
