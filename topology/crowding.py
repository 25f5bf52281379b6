"""The cycles of messages on a mesh or torus; see :mod:`dgraph.topology.lattice`.

A port is a direction: ``2 * dimension`` ahead, one more back. What leaves a slot by a port
comes to the receive buffer of its neighbour that is numbered alike. In a cycle all slots decide
by what there was before it, and then all messages move.

A row that is a ring never fills up: a message that enters it leaves one more place free than it
takes ("bubble" flow control, Carrion et al., HiPC 1997), so those in it always move on.
"""

from __future__ import annotations

import numba as nb
import numpy as np

__all__ = ["crowd"]


@nb.njit(nogil=True, cache=True)
def crowd(coordinates, shape, wrap, starts, targets, buffer):  # type: ignore[no-untyped-def]
    """Return cycles, and for each slot and port what passed, and cycles that refused some.

    Parameters
    ----------
    coordinates : int64 array of shape (slots, dimensions)
    shape : int64 array
    wrap : bool
    starts : int64 array of length slots + 1
        Where the messages of each source begin.
    targets : int64 array
        Of the messages, by source.
    buffer : int
        Messages that a receive buffer holds.

    Examples
    --------
    >>> row = np.array([[0], [1], [2]]), np.array([3]), False
    >>> cycles, passed, _ = crowd(*row, np.array([0, 2, 2, 2]), np.array([2, 1]), 4)
    >>> cycles, passed[:, 0].tolist()
    (3, [2, 1, 0])
    """
    slots, ports = coordinates.shape[0], 2 * shape.size
    near = _neighbours(coordinates, shape)
    held = np.zeros((slots, ports, buffer), np.int64)  # rings of messages, told by target
    first, size = np.zeros((slots, ports), np.int64), np.zeros((slots, ports), np.int64)
    own = starts[:-1].copy()  # the next message that a slot itself sends
    turn = np.zeros((slots, ports + 1), np.int64)  # which input is served next; last: taken
    served = np.empty((slots, ports + 1), np.int64)
    passed, refused = np.zeros((slots, ports), np.int64), np.zeros((slots, ports), np.int64)
    wants = np.empty(ports + 1, np.int64)
    left, cycles = targets.size, 0
    while left:
        cycles += 1
        for s in range(slots):
            for k in range(ports + 1):  # inputs: receive buffers, and what the slot sends
                wants[k] = -1
                if k < ports and size[s, k]:
                    to = held[s, k, first[s, k]]
                    wants[k] = _port(coordinates[s], coordinates[to], shape, wrap)
                elif k == ports and own[s] < starts[s + 1]:
                    to = targets[own[s]]
                    wants[k] = _port(coordinates[s], coordinates[to], shape, wrap)
            for port in range(ports + 1):
                served[s, port] = -1
                waiting = 0
                for step in range(ports + 1):
                    k = (turn[s, port] + step) % (ports + 1)
                    if wants[k] != port:
                        continue
                    waiting += 1
                    if served[s, port] >= 0:
                        continue
                    if port < ports:
                        room = buffer - size[near[s, port], port]
                        enters = k == ports or k // 2 != port // 2
                        if room < (2 if wrap and enters else 1):
                            continue
                    served[s, port] = k
                if port < ports:
                    went = served[s, port] >= 0
                    passed[s, port] += went
                    refused[s, port] += waiting > went
        left -= _move(near, held, first, size, own, turn, served, targets)
    return cycles, passed, refused


@nb.njit(nogil=True, cache=True)
def _move(near, held, first, size, own, turn, served, targets):  # type: ignore[no-untyped-def]
    """Let go what was decided; return how many messages were taken."""
    slots, ports, buffer = held.shape
    taken = 0
    for s in range(slots):
        for port in range(ports + 1):
            k = served[s, port]
            if k < 0:
                continue
            turn[s, port] = (k + 1) % (ports + 1)
            if k == ports:
                to = targets[own[s]]
                own[s] += 1
            else:
                to = held[s, k, first[s, k]]
                first[s, k] = (first[s, k] + 1) % buffer
                size[s, k] -= 1
            if port == ports:
                taken += 1
            else:
                other = near[s, port]
                held[other, port, (first[other, port] + size[other, port]) % buffer] = to
                size[other, port] += 1
    return taken


@nb.njit(nogil=True, cache=True)
def _port(here, there, shape, wrap):  # type: ignore[no-untyped-def]
    """Return the way to a slot: along the first dimension in which it is elsewhere."""
    for d in range(shape.size):
        ahead = there[d] - here[d]
        if ahead:
            if wrap:  # the shorter way; if both are as long, ahead
                return 2 * d + (2 * (ahead % shape[d]) > shape[d])
            return 2 * d + (ahead < 0)
    return 2 * shape.size


@nb.njit(nogil=True, cache=True)
def _neighbours(coordinates, shape):  # type: ignore[no-untyped-def]
    """Return the slot behind each port, as if rows were rings."""
    near = np.empty((coordinates.shape[0], 2 * shape.size), np.int64)
    for s in range(coordinates.shape[0]):
        stride = 1
        for d in range(shape.size):
            place = coordinates[s, d]
            near[s, 2 * d] = s + ((place + 1) % shape[d] - place) * stride
            near[s, 2 * d + 1] = s + ((place - 1) % shape[d] - place) * stride
            stride *= shape[d]
    return near
