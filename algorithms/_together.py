"""One slot acts for all, while all of them are in one process and have little to do.

On a road network a search has thousands of supersteps of a few hundred edges. Each would cost
a step of Python on every slot, several times what the edges cost. So one slot does it for all::

    slot 0   shows its arrays ─┐        ┌ superstep, superstep ... ┐       ┌ goes on
    slot 1   shows its arrays ─┴ vote ──┴ waits ───────────────────┴ vote ─┴ goes on

It does just what the slots would have done: in a superstep first each slot computes, and then
every owner takes what others have found for it, in the sequence of the slots. The record counts
the messages as if they had been sent.

An algorithm brings a kernel that goes over supersteps and slots. It gets a table of where the
arrays of all slots are (:mod:`dgraph.algorithms._addresses`): :func:`take_of` is what one slot
found for another, :func:`tell_of` what another has of its masters.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from time import perf_counter
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from dgraph.algorithms._addresses import address, array_of
from dgraph.algorithms._sparse import places_in
from dgraph.engine.context import Context
from dgraph.exchange.frame import Frame
from dgraph.exchange.request import Inner
from dgraph.kernels import kernel
from dgraph.shard import Shard

__all__ = [
    "Done",
    "Everything",
    "act_for_all",
    "take_of",
    "tell_of",
]

#: Supersteps after which the slots look whether the run was cancelled.
SUPERSTEPS = 512

Array = NDArray[Any]


class Everything(NamedTuple):
    """What a kernel needs to act for all slots.

    Parameters
    ----------
    arrays : int64 array of shape (slots, 3, fields)
        Address, length and stride of every array that a slot has shown.
    routes : int64 array of shape (slots, slots, 3)
        For a slot and an owner: where the group of that owner begins, how long it is, and the
        address of what the owner calls its vertices.
    vertices : int32 array
        Room for the masters that a slot found something for.
    sent : int64 array of shape (supersteps, slots, slots)
        Messages from each slot to each other, to be filled.
    """

    arrays: Array
    routes: Array
    vertices: Array
    sent: Array


class Done(NamedTuple):
    """What a kernel says when it has acted.

    Parameters
    ----------
    votes : sequence of int
        How far all are.
    supersteps : int
        At least 1.
    work : int
        Edges to be scanned in the next one.
    """

    votes: Sequence[int] | Array
    supersteps: int
    work: int


class _Shown(NamedTuple):
    shard: Shard
    arrays: Sequence[Array]


async def act_for_all(
    ctx: Context,
    shard: Shard,
    arrays: Sequence[Array],
    act: Callable[[Everything], Done],
    votes: int,
    message: Sequence[Any],
) -> Array:
    """Let slot 0 act for all: its supersteps, and one before them.

    To be called by all slots alike, only if there are `ctx.companions`, and when everything
    that was sent has been taken.

    Parameters
    ----------
    arrays : sequence of arrays
        Of this slot, of the same dtypes on all of them.
    act : callable
        Is called on slot 0.
    votes : int
        How many numbers `act` returns.
    message : sequence of dtypes
        Of what a slot would send another beside the places of vertices.

    Returns
    -------
    int64 array
        The votes, on all slots.
    """
    shown = await ctx.show(_Shown(shard, arrays))
    if ctx.slot:
        return await ctx.allreduce(np.zeros(votes, np.int64), work=0)
    began = perf_counter()
    all_of_them = _everything(ctx, shown)
    done = act(all_of_them)
    columns = tuple(np.zeros(0, dtype) for dtype in (np.int32, *message))
    sent = all_of_them.sent[: done.supersteps]
    head = Frame(0, 1, columns, 0).nbytes
    size = sum(column.itemsize for column in columns)
    each = (perf_counter() - began) / done.supersteps
    inner = Inner(
        sent,
        np.where(sent, head + size * sent, 0),
        np.full((done.supersteps, 1), each),
        began + each * np.arange(1, done.supersteps + 1),
    )
    ctx.inner = inner
    return await ctx.allreduce(done.votes, work=done.work)


def _everything(ctx: Context, shown: Sequence[_Shown]) -> Everything:
    arrays = [
        [
            [address(a) for a in some.arrays],
            [a.size for a in some.arrays],
            [a.strides[0] for a in some.arrays],
        ]
        for some in shown
    ]
    shards = [some.shard for some in shown]
    first = shards[0].derived
    if "routes in one process" not in first:
        first["routes in one process"] = _routes(shards)
    routes = first["routes in one process"]
    slots = len(shown)
    return Everything(
        np.array(arrays, np.int64),
        routes,
        ctx.scratch(shards[0], int(routes[:, :, 1].max(initial=0)), np.int32),
        np.zeros((SUPERSTEPS, slots, slots), np.int64),
    )


def _routes(shards: Sequence[Shard]) -> Array:
    """Return the routes of `Everything`; they hold as long as the shards, which go together."""
    routes = np.zeros((len(shards), len(shards), 3), np.int64)
    for slot, shard in enumerate(shards):
        routes[slot, :, 0] = shard.group_start
        routes[slot, :, 1] = shard.group_size
        routes[:, slot, 2] = [address(some) for some in shard.shared]
    return routes


@kernel
def take_of(found, values, route, vertices, taken):  # type: ignore[no-untyped-def]
    """Fill `vertices` and `taken` with what a slot has found for one owner; return the count.

    Parameters
    ----------
    found, values : arrays
        Local ids of proxies, and what was found for them.
    route : int64 array
        From the slot to the owner.
    vertices, taken : arrays
        The masters as the owner calls them, and their values.
    """
    start, size = route[0], route[1]
    names = array_of(route[2], size, np.int32)
    count = 0
    for i in range(found.size):
        place = found[i] - start
        if 0 <= place < size:
            vertices[count] = names[place]
            taken[count] = values[i]
            count += 1
    return count


@kernel
def tell_of(masters, route, proxies):  # type: ignore[no-untyped-def]
    """Fill `proxies` with those that a slot has of some masters of an owner; return the count.

    Parameters
    ----------
    masters : int32 array
        As the owner calls them, ascending.
    route : int64 array
        From the slot to the owner.
    proxies : int32 array
    """
    names = array_of(route[2], route[1], np.int32)
    _, places = places_in(masters, names)
    for i in range(places.size):
        proxies[i] = route[0] + places[i]
    return places.size
