"""Stage G, routes: which vertices of other slots occur here, and the order of every group.

::

    holder    bitmap of the seats at the ends of its edges: one group for each owner
              a group of 3/4 of an owner's vertices with edges is made complete
    alltoall  the members of each group to their owner: its `shared`
    alltoall  their ranks back

Three quarters, because sending a complete group is a copy of the front of an array, while a
group with gaps is gathered entry by entry at three to five times the cost of an entry.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dgraph.build.numberset import NumberSet
from dgraph.build.owning import Masters, Seats
from dgraph.engine.context import Context
from dgraph.kernels import kernel
from dgraph.shard.bits import count_bits, positions

__all__ = ["Groups", "agree", "gather_groups", "groups_alone"]

Array = NDArray[Any]
Bits = NDArray[np.uint64]


@dataclass(slots=True)
class Groups:
    """The local ids of a slot.

    Parameters
    ----------
    start, size : int64 arrays of length slots
        Where the group of each owner lies; the own one begins at 0.
    total : int
        Local ids, padding included.
    local : NumberSet
        Maps seats to local ids.
    members : list of int32 arrays
        For each owner, which of its masters are in its group; none for the slot itself.
    """

    start: NDArray[np.int64]
    size: NDArray[np.int64]
    total: int
    local: NumberSet
    members: list[NDArray[np.int32]]


def gather_groups(slot: int, seen: Bits, seats: Seats) -> Groups:
    """Lay out the groups of the vertices whose seats were seen.

    Parameters
    ----------
    slot : int
        Whose groups they are.
    seen : bitmap over seats
        Is completed in place.
    seats : Seats
    """
    word = (seats.starts >> 6).tolist()
    masters = np.diff(seats.bases)
    parts = [seen[a:b] for a, b in pairwise(word)]
    members = []
    for owner, part in enumerate(parts):
        if owner == slot:
            _fill(part, masters[owner])
        elif 4 * count_bits(part) >= 3 * seats.live[owner]:
            _fill(part, seats.live[owner])
        some = np.empty(0 if owner == slot else count_bits(part), np.int32)
        if some.size:
            positions(part, some)
        members.append(some)
    size = np.array([some.size for some in members], np.int64)
    size[slot] = masters[slot]
    start, total = _lay_out(slot, size)
    local = NumberSet.of(seen, np.int32)
    for owner, (a, b) in enumerate(pairwise(word)):
        if b > a:
            local.before[a:b] += np.int32(start[owner] - local.before[a])
    return Groups(start, size, total, local, members)


def groups_alone(slot: int, masters: NDArray[np.int64]) -> Groups:
    """Return the groups of a slot that has no proxies."""
    size = np.where(np.arange(masters.size) == slot, masters, 0)
    start, total = _lay_out(slot, size)
    members = [np.zeros(0, np.int32)] * masters.size
    return Groups(start, size, total, NumberSet.of(NumberSet.empty(0), np.int32), members)


def _lay_out(slot: int, size: NDArray[np.int64]) -> tuple[NDArray[np.int64], int]:
    """Return where groups of these sizes start, and where the last one ends.

    Examples
    --------
    >>> _lay_out(1, np.array([70, 3, 5]))
    (array([ 64,   0, 192]), 197)
    """
    start = np.zeros(size.size, np.int64)
    end = int(size[slot])
    for owner in range(size.size):
        if owner != slot:
            start[owner] = -(-end // 64) * 64
            end = int(start[owner] + size[owner])
    return start, end


async def agree(
    ctx: Context, groups: Groups, masters: Masters, vertices: int
) -> tuple[tuple[NDArray[np.int32], ...], Array]:
    """Tell the owners what this slot holds of theirs, and learn the ranks.

    Returns
    -------
    shared : tuple of int32 arrays
        For each slot, which masters of this one it holds.
    rank : array of length groups.total
    """
    sent = [(some,) if some.size else None for some in groups.members]
    none = np.zeros(0, np.int32)
    came = await ctx.alltoall(sent)
    shared = tuple(none if some is None else some[0] for some in came)
    replies = [(masters.rank[some],) if some.size else None for some in shared]
    rank = np.full(groups.total, vertices, masters.rank.dtype)
    rank[: len(masters.rank)] = masters.rank
    for owner, some in enumerate(await ctx.alltoall(replies)):
        if some is not None:
            start = groups.start[owner]
            rank[start : start + some[0].size] = some[0]
    return shared, rank


@kernel
def _fill(bits, count):  # type: ignore[no-untyped-def]
    """Set the first `count` bits."""
    for word in range(count >> 6):
        bits[word] = ~np.uint64(0)
    if count & 63:
        bits[count >> 6] |= (np.uint64(1) << np.uint64(count & 63)) - np.uint64(1)
