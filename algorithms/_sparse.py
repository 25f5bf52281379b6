"""Sparse broadcast: some masters tell their proxies."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from dgraph.engine.context import Context
from dgraph.kernels import kernel
from dgraph.shard import Shard

__all__ = ["broadcast_some", "places_in"]

Array = NDArray[Any]
NONE = np.zeros(0, np.int32)


async def broadcast_some(
    ctx: Context,
    shard: Shard,
    vertices: NDArray[np.int32],
    *values: Array,
    vote: Any = None,
    work: int | None = None,
) -> tuple[Array, ...]:
    """Tell the proxies of some masters that they are meant, and a value or several.

    Parameters
    ----------
    vertices : int32 array
        Masters of this slot, ascending.
    *values : arrays beside `vertices`
    vote : sequence of int, optional
        Summed over the slots on the way.
    work : int, optional
        Edges that this slot expects to scan in the next superstep.

    Returns
    -------
    proxies : int32 array
        Those on this slot that are meant.
    *values : arrays beside them
    """
    columns: list[tuple[Array, ...] | None] = []
    for shared in shard.shared:
        which, places = places_in(vertices, shared) if shared.size else (NONE, NONE)
        told = (places, *(value[which] for value in values)) if places.size else None
        columns.append(told)
    found = []
    for source, some in enumerate(await ctx.alltoall(columns, vote, work)):
        if some is not None:
            found.append((some[0] + np.int32(shard.group_start[source]), *some[1:]))
    if len(found) == 1:
        return found[0]
    found.append((vertices[:0], *(value[:0] for value in values)))
    return tuple(np.concatenate(column) for column in zip(*found, strict=True))


@kernel
def places_in(vertices, shared):  # type: ignore[no-untyped-def]
    """Find those of `vertices` that are in `shared`; both ascend.

    Returns their positions in the one and in the other.

    Examples
    --------
    >>> places_in(np.array([2, 3, 9], np.int32), np.array([0, 3, 4, 9], np.int32))
    (array([1, 2], dtype=int32), array([1, 3], dtype=int32))
    """
    room = min(vertices.size, shared.size)
    which, places = np.empty(room, np.int32), np.empty(room, np.int32)
    found, low = 0, 0
    for i in range(vertices.size):
        # gallop: cheap for few vertices and for many
        step = 1
        while low + step < shared.size and shared[low + step] < vertices[i]:
            low += step
            step *= 2
        high = min(low + step, shared.size)
        while low < high:
            middle = (low + high) >> 1
            if shared[middle] < vertices[i]:
                low = middle + 1
            else:
                high = middle
        if low == shared.size:
            break
        if shared[low] == vertices[i]:
            which[found] = i
            places[found] = low
            found += 1
    return which[:found], places[:found]
