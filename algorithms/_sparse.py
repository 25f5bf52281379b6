"""Sparse broadcast: some masters tell their proxies."""

from __future__ import annotations

from typing import Any

import numba as nb
import numpy as np
from numpy.typing import NDArray

from dgraph.engine.context import Context
from dgraph.shard import Shard

__all__ = ["broadcast_some"]


async def broadcast_some(
    ctx: Context, shard: Shard, vertices: NDArray[np.int32], vote: Any = None
) -> NDArray[np.int32]:
    """Tell the proxies of some masters that they are meant; return which proxies here are.

    Parameters
    ----------
    vertices : int32 array
        Masters of this slot, ascending.
    vote : sequence of int, optional
        Summed over the slots on the way.
    """
    columns = []
    for peer, shared in enumerate(shard.shared):
        if shard.prefix[peer] >= 0:
            places = vertices[: np.searchsorted(vertices, shard.prefix[peer])]
        else:
            places = _places(vertices, shared)
        columns.append((places,) if places.size else None)
    came = await ctx.alltoall(columns, vote)
    told = [
        some[0] + np.int32(shard.group_start[source])
        for source, some in enumerate(came)
        if some is not None and source != shard.slot
    ]
    return np.concatenate(told) if told else np.zeros(0, np.int32)


@nb.njit(nogil=True, cache=True)
def _places(vertices, shared):  # type: ignore[no-untyped-def]
    """Return the positions in `shared` of those of `vertices` that are in it; both ascend.

    Examples
    --------
    >>> _places(np.array([2, 3, 9], np.int32), np.array([0, 3, 4, 9], np.int32))
    array([1, 3], dtype=int32)
    """
    places = np.empty(min(vertices.size, shared.size), np.int32)
    found, low = 0, 0
    for vertex in vertices:
        # gallop: cheap for few vertices and for many
        step = 1
        while low + step < shared.size and shared[low + step] < vertex:
            low += step
            step *= 2
        high = min(low + step, shared.size)
        while low < high:
            middle = (low + high) >> 1
            if shared[middle] < vertex:
                low = middle + 1
            else:
                high = middle
        if low == shared.size:
            break
        if shared[low] == vertex:
            places[found] = low
            found += 1
    return places[:found]
