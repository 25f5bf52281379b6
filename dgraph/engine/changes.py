"""What has changed, and whom it concerns: the exchange of algorithms that skip idle vertices.

In one exchange masters that have changed tell their proxies the new values, and vertices that
a slot has marked among its proxies are marked on their owners::

    master  -- new values, if changed -->  proxies
    master  <---- mark, if marked -------  proxies

Which vertices of a group are meant goes as a list of places in the group, or as a bitmap over
the group if that is shorter; all of them as a bitmap of no words. A slot with nothing to say to
another sends it no frame.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dgraph.engine.context import Context
from dgraph.exchange.frame import Frame
from dgraph.kernels import count_below, kernel
from dgraph.shard import Shard
from dgraph.shard.bits import positions, set_bits, words

__all__ = ["exchange_changes"]

Array = NDArray[Any]
Bits = NDArray[np.uint64]
Places = NDArray[np.int32]
_NOTHING = np.zeros(0, np.int32)
_ALL = np.zeros(0, np.uint64)


async def exchange_changes(
    ctx: Context,
    shard: Shard,
    changed: Places,
    values: Sequence[Array],
    marks: Bits | None = None,
    vote: Any = None,
    work: int | None = None,
    most: bool = False,
) -> Places:
    """Tell the proxies of changed masters their values, and the owners what is marked.

    Parameters
    ----------
    shard : Shard
    changed : int32 array
        Masters of this slot, ascending.
    values : sequence of arrays over the local ids
        The entries of changed masters are read, those of their proxies written.
    marks : bitmap over the local ids, optional
        Masters that have been marked on other slots are added; the proxies' bits are cleared.
    vote : sequence of int, optional
        Summed over the slots on the way; see :attr:`Context.vote`.
    work : int, optional
        Edges that this slot expects to scan in the next superstep.
    most : bool
        Whether most masters change the first time, the same on every slot: by that the way of
        that superstep is chosen; of later ones by how many there were.

    Returns
    -------
    int32 array
        Proxies of this slot whose masters have changed.
    """
    if ctx.gateways is not None:
        ctx.gateways.figures.most = most
    gateways = await ctx.gateways_for("changes", shard, sum(some.itemsize for some in values))
    if gateways is not None:
        return await ctx.over_gateways(
            gateways.changes(shard, changed, values, marks, ctx.ballot(vote), work)
        )
    frames, counts = [], np.zeros(2, np.int64)
    any_marked = marks is not None and marks[words(shard.masters) :].any()
    for peer in shard.peers if changed.size or any_marked else ():
        places = _places_of(changed, shard, peer)
        marked = _marked(marks, shard, peer) if marks is not None and any_marked else _NOTHING
        if places.size or marked.size:
            rows = shard.shared[peer][places]
            size = int(shard.group_size[peer])
            columns = (
                _encode(places, shard.shared[peer].size),
                *(some[rows] for some in values),
                _encode(marked, size),
            )
            frames.append(Frame(ctx.slot, peer, columns, places.size + marked.size))
            counts += marked.size, places.size
    if ctx.gateways is not None:
        ctx.gateways.figures.counts(*counts.tolist())
    told = [_NOTHING]
    for frame in await ctx.exchange(frames, vote, "sum", work):
        places, *news, marked = frame.columns
        group = int(shard.group_size[frame.source])
        proxies = _decode(places, group) + np.int32(shard.group_start[frame.source])
        for some, new in zip(values, news, strict=True):
            some[proxies] = new
        told.append(proxies)
        if marks is not None:
            shared = shard.shared[frame.source]
            set_bits(marks, shared[_decode(marked, shared.size)])
    return np.concatenate(told)


def _places_of(masters: Places, shard: Shard, peer: int) -> Places:
    """Return which of the vertices shared with a peer are among `masters`."""
    prefix = shard.prefix[peer]
    if prefix >= 0:
        # a copy: it is sent by reference, and the caller may use its array again at once
        return masters[: count_below(masters, prefix)].copy()
    found: Places = _intersect(masters, shard.shared[peer])
    return found


def _marked(marks: Bits, shard: Shard, peer: int) -> Places:
    """Take the marks of the proxies that a peer owns: their places in its group."""
    word = int(shard.group_start[peer]) >> 6
    group = marks[word : word + words(int(shard.group_size[peer]))]
    if not group.any():
        return _NOTHING
    places = _list(group)
    group[:] = 0
    return places


def _encode(places: Places, size: int) -> Array:
    """Return places of a group of so many as a list, or as a bitmap if that is shorter.

    They ascend.

    Examples
    --------
    >>> _encode(np.array([0, 2], np.int32), 640)
    array([0, 2], dtype=int32)
    >>> _encode(np.array([0, 2, 3], np.int32), 10)
    array([13], dtype=uint64)
    """
    if places.size == size > 0:
        return _ALL
    if places.nbytes <= 8 * words(size):
        return places
    bits = np.zeros(words(size), np.uint64)
    set_bits(bits, places)
    return bits


def _decode(column: Array, size: int) -> Places:
    """Return the places that :func:`_encode` made a column of.

    Examples
    --------
    >>> _decode(np.array([5], np.uint64), 10), _decode(_encode(np.arange(3), 3), 3)
    (array([0, 2], dtype=int32), array([0, 1, 2], dtype=int32))
    """
    if column.size == 0 and column.dtype == np.uint64:
        return np.arange(size, dtype=np.int32)
    return _list(column) if column.dtype == np.uint64 else column


def _list(bits: Bits) -> Places:
    places = np.empty(64 * bits.size, np.int32)
    return places[: positions(bits, places)]


@kernel
def _intersect(some, shared):  # type: ignore[no-untyped-def]
    """Return the positions in `shared` of those of `some` that are in it; both ascend.

    Examples
    --------
    >>> _intersect(np.array([2, 3, 9], np.int32), np.array([0, 3, 4, 9], np.int32))
    array([1, 3], dtype=int32)
    """
    places = np.empty(min(some.size, shared.size), np.int32)
    found, low = 0, 0
    for vertex in some:
        step = 1  # gallop: cheap for few vertices and for many
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
