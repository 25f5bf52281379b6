"""Candidates for caches: which vertices are hot, and on which device of a clique each belongs.

Legion's algorithm CSLP, for one clique::

    A     how often each vertex is read by all devices together
    Q     the vertices by A, descending
    G[g]  those of Q that device g reads most often, in the order of Q

"local" is that. "interleave" deals Q round the devices, as the published code of Legion does.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dgraph.arguments import choice
from dgraph.errors import OptionError
from dgraph.kernels import kernel

__all__ = ["POLICIES", "candidates", "hottest", "settle"]

Array = NDArray[Any]
Numbers = NDArray[np.int64]

POLICIES = ("local", "interleave")


def hottest(total: ArrayLike) -> Numbers:
    """Return the vertices by how hot they are; ties: lower number first.

    Examples
    --------
    >>> hottest([7, 5, 7, 6])
    array([0, 2, 3, 1])
    """
    return np.argsort(-np.asarray(total, np.int64), kind="stable")


def candidates(heat: ArrayLike, policy: str = "local") -> tuple[Numbers, list[Numbers]]:
    """Return the queue of a clique and those of its devices.

    Parameters
    ----------
    heat : int array of shape (devices, vertices)
        How often each device reads each vertex; vertices in the vertex order, which decides
        ties.
    policy : {"local", "interleave"}

    Returns
    -------
    queue : int64 array
        All vertices.
    devices : list of int64 arrays
        For each device those that it is to cache, hottest first: together the queue.

    Examples
    --------
    >>> queue, devices = candidates([[5, 1, 0, 3], [2, 4, 0, 3]])
    >>> queue.tolist(), [some.tolist() for some in devices]
    ([0, 3, 1, 2], [[0, 3, 2], [1]])
    """
    counts = np.atleast_2d(np.asarray(heat, np.int64))
    queue = hottest(counts.sum(axis=0))
    room = np.full(len(counts), np.iinfo(np.int64).max)
    where = settle(counts, queue, np.zeros(queue.size, np.int64), room, policy)
    return queue, [queue[where[queue] == device] for device in range(len(counts))]


def settle(
    heat: Array, queue: Array, size: Array, room: Array, policy: str = "local"
) -> NDArray[np.int32]:
    """Say on which device each vertex of a queue is cached, until nothing has room.

    Parameters
    ----------
    heat : int64 array of shape (devices, vertices)
    queue : int64 array
        Vertices, hottest first.
    size : int64 array over the vertices
        Bytes of each.
    room : int64 array over the devices
        Bytes.
    policy : {"local", "interleave"}
        Local: the device that reads it most often, ties to the lowest number; if that is full,
        the next one. Interleave: the devices in turn.

    Returns
    -------
    int32 array over the vertices
        -1: on none. The first of the queue for which no device has room, and all after it.

    Examples
    --------
    >>> heat = np.array([[9, 8, 1], [1, 7, 0]])
    >>> settle(heat, np.arange(3), np.full(3, 4), np.array([4, 8]))
    array([0, 1, 1], dtype=int32)
    """
    choice("policy", policy, POLICIES)
    if len(room) != len(heat) or size.size != heat.shape[1]:
        raise OptionError(
            f"size must be given of {heat.shape[1]} vertices and room of {len(heat)} devices, "
            f"not of {size.size} and {len(room)}"
        )
    where = np.full(heat.shape[1], -1, np.int32)
    _settle(heat, queue, size, room.astype(np.int64), policy == "local", where)
    return where


@kernel
def _settle(heat, queue, size, room, local, where):  # type: ignore[no-untyped-def]
    devices = len(room)
    for turn in range(queue.size):
        v = queue[turn]
        best = -1
        for k in range(devices):
            device = k if local else (turn + k) % devices
            if room[device] < size[v]:
                continue
            if best < 0 or (local and heat[device, v] > heat[best, v]):
                best = device
        if best < 0:
            return
        where[v] = best
        room[best] -= size[v]
