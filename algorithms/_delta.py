"""Kernels of :mod:`dgraph.algorithms.sssp`: relax below a horizon, and pull from below it."""

from __future__ import annotations

from typing import NamedTuple

import numba as nb
import numpy as np
from numpy.typing import NDArray

from dgraph.algorithms._by_weight import WeightedRows
from dgraph.algorithms._prefetch import prefetch
from dgraph.engine.context import Context
from dgraph.shard import Shard

__all__ = [
    "Search",
    "begin",
    "enter",
    "flush",
    "lower",
    "pull",
    "receive",
    "relax",
    "reset",
    "start",
]

#: Bits of `Search.mark`.
QUEUED, RELAXED, KEPT = 1, 2, 4

#: Vertices ahead of the queue for which memory is asked for. 4 to 16 make no difference.
AHEAD = 8

#: Edges of a row that is looked through to save its vertex the way over the pile. Most vertices
#: that are not settled when hubs are have fewer, and they lead to the hubs.
SHORT = 8

#: Places in `Search.counts`.
HEAD, WAITING, PILED, SENT, DEFERRED, UNSETTLED = range(6)


class Search(NamedTuple):
    """What a slot knows in the course of a search.

    Parameters
    ----------
    distance : float64 array over the local ids
        Tentative; of a proxy, the least that is known here.
    cursor : int64 array over the masters
        Of a RELAXED one, the first edge that was not relaxed with its present distance.
    mark : uint8 array over the local ids
        QUEUED: in `queue` (masters) or `outbox` (proxies). RELAXED: was in `queue`, so it is
        nearer than the horizon. KEPT: see :func:`_compact`.
    queue : int32 array, a ring
        Masters that may have edges to relax in this bucket.
    pile, landing : arrays
        Masters that have edges left, and where the first of these lands: the distance that it
        would give its target. An entry is stale when its vertex was improved since.
    outbox : int32 array
        Proxies that were improved.
    counts : int64 array
        HEAD: where `queue` begins. WAITING, PILED, SENT: entries of `queue`, `pile` and
        `outbox`. DEFERRED: edges out of relaxed masters that were put off. UNSETTLED: edges
        into the other masters.
    nearest : float64 array of length 1
        The least landing on the pile.
    """

    distance: NDArray[np.float64]
    cursor: NDArray[np.int64]
    mark: NDArray[np.uint8]
    queue: NDArray[np.int32]
    pile: NDArray[np.int32]
    landing: NDArray[np.float64]
    outbox: NDArray[np.int32]
    counts: NDArray[np.int64]
    nearest: NDArray[np.float64]


def begin(ctx: Context, shard: Shard) -> Search:
    """Return room for a search."""
    masters = shard.masters
    return Search(
        distance=ctx.scratch(shard, shard.size, np.float64),
        cursor=ctx.scratch(shard, masters, np.int64),
        mark=ctx.scratch(shard, shard.size, np.uint8),
        queue=ctx.scratch(shard, max(masters, 1), np.int32),
        pile=ctx.scratch(shard, 2 * masters + 1, np.int32),
        landing=ctx.scratch(shard, 2 * masters + 1, np.float64),
        outbox=ctx.scratch(shard, shard.size - masters, np.int32),
        counts=np.zeros(6, np.int64),
        nearest=np.zeros(1),
    )


def reset(s: Search, into: WeightedRows) -> None:
    """Bring a search into the state in which nothing is reached."""
    s.distance.fill(np.inf)
    s.mark.fill(0)
    s.counts.fill(0)
    s.counts[UNSETTLED] = into.targets.size
    s.nearest.fill(np.inf)


@nb.njit(nogil=True, cache=True, inline="always")
def _first(v, s, out):  # type: ignore[no-untyped-def]
    """Return the first edge of v that was not relaxed with its present distance."""
    return s.cursor[v] if s.mark[v] & RELAXED else out.offsets[v]


@nb.njit(nogil=True, cache=True, inline="always")
def _improve(v, distance, s, out):  # type: ignore[no-untyped-def]
    """Give a vertex a shorter distance: a master relaxes its edges again, a proxy is sent."""
    s.distance[v] = distance
    if v >= s.cursor.size:
        if not s.mark[v]:
            s.mark[v] = QUEUED
            s.outbox[s.counts[SENT]] = v
            s.counts[SENT] += 1
    else:
        if s.mark[v] & RELAXED:
            s.counts[DEFERRED] += s.cursor[v] - out.offsets[v]
            s.cursor[v] = out.offsets[v]
        _enqueue(v, s)


@nb.njit(nogil=True, cache=True, inline="always")
def _enqueue(v, s):  # type: ignore[no-untyped-def]
    if not s.mark[v] & QUEUED:
        s.mark[v] |= QUEUED
        s.queue[(s.counts[HEAD] + s.counts[WAITING]) % s.queue.size] = v
        s.counts[WAITING] += 1


@nb.njit(nogil=True, cache=True, inline="always")
def _landing(v, s, out):  # type: ignore[no-untyped-def]
    """Return where the first edge of v that was not relaxed lands."""
    j = _first(v, s, out)
    return s.distance[v] + out.weights[j] if j < out.offsets[v + 1] else np.inf


@nb.njit(nogil=True, cache=True, inline="always")
def _put_off(u, landing, s, out):  # type: ignore[no-untyped-def]
    """Put u on the pile until the horizon is beyond `landing`."""
    if s.counts[PILED] == s.pile.size:
        _compact(s, out)
    s.pile[s.counts[PILED]] = u
    s.landing[s.counts[PILED]] = landing
    s.counts[PILED] += 1
    s.nearest[0] = min(s.nearest[0], landing)


@nb.njit(nogil=True, cache=True)
def _compact(s, out):  # type: ignore[no-untyped-def]
    """Drop the stale entries of the pile, and all but one of the same master."""
    piled = 0
    for i in range(s.counts[PILED]):
        v = s.pile[i]
        if s.landing[i] == _landing(v, s, out) and not s.mark[v] & KEPT:
            s.mark[v] |= KEPT
            s.pile[piled] = v
            s.landing[piled] = s.landing[i]
            piled += 1
    s.counts[PILED] = piled
    for i in range(piled):
        s.mark[s.pile[i]] &= ~np.uint8(KEPT)


@nb.njit(nogil=True, cache=True)
def start(source, s, out):  # type: ignore[no-untyped-def]
    """Reach the source."""
    s.distance[source] = 0.0
    if out.offsets[source] < out.offsets[source + 1]:
        _put_off(source, _landing(source, s, out), s, out)


@nb.njit(nogil=True, cache=True)
def enter(horizon, s, out):  # type: ignore[no-untyped-def]
    """Begin a bucket: queue what has an edge that lands below the new horizon."""
    piled = 0
    s.nearest[0] = np.inf
    for i in range(s.counts[PILED]):
        v, landing = s.pile[i], s.landing[i]
        if landing >= horizon:
            s.pile[piled] = v
            s.landing[piled] = landing
            s.nearest[0] = min(s.nearest[0], landing)
            piled += 1
        else:
            _enqueue(v, s)
    s.counts[PILED] = piled


@nb.njit(nogil=True, cache=True)
def receive(vertices, distances, s, out):  # type: ignore[no-untyped-def]
    """Take what other slots found for masters of this one."""
    for i in range(vertices.size):
        if distances[i] < s.distance[vertices[i]]:
            _improve(vertices[i], distances[i], s, out)


@nb.njit(nogil=True, cache=True, inline="always")
def _look_ahead(s, out):  # type: ignore[no-untyped-def]
    """Ask for what will be read of the masters that come up in the queue."""
    if s.counts[WAITING] > 2 * AHEAD:
        v = s.queue[(s.counts[HEAD] + 2 * AHEAD) % s.queue.size]
        prefetch(out.offsets, v)
        prefetch(s.cursor, v)
        prefetch(s.distance, v)
        prefetch(out.weights, out.offsets[s.queue[(s.counts[HEAD] + AHEAD) % s.queue.size]])


@nb.njit(nogil=True, cache=True)
def relax(horizon, s, out, into):  # type: ignore[no-untyped-def]
    """Relax the edges that land below the horizon until none here improves anything.

    Returns the proxies that were improved and their distances.
    """
    while s.counts[WAITING]:
        _look_ahead(s, out)
        u = s.queue[s.counts[HEAD]]
        s.counts[HEAD] = (s.counts[HEAD] + 1) % s.queue.size
        s.counts[WAITING] -= 1
        first, end = _first(u, s, out), out.offsets[u + 1]
        if not s.mark[u] & RELAXED:
            s.counts[DEFERRED] += end - first
            s.counts[UNSETTLED] -= into.offsets[u + 1] - into.offsets[u]
        s.mark[u] = RELAXED
        distance, landing = s.distance[u], np.inf
        j = first
        while j < end:
            landing = distance + out.weights[j]
            if landing >= horizon:
                break
            if landing < s.distance[out.targets[j]]:  # relax
                _improve(out.targets[j], landing, s, out)
            j += 1
        s.cursor[u] = j
        s.counts[DEFERRED] -= j - first
        if j < end:
            _put_off(u, landing, s, out)
    return _take_outbox(s)


@nb.njit(nogil=True, cache=True)
def _take_outbox(s):  # type: ignore[no-untyped-def]
    proxies = s.outbox[: s.counts[SENT]]
    distances = np.empty(proxies.size)
    for i in range(proxies.size):
        s.mark[proxies[i]] = 0
        distances[i] = s.distance[proxies[i]]
    s.counts[SENT] = 0
    return proxies, distances


@nb.njit(nogil=True, cache=True)
def flush(lowest, s, out):  # type: ignore[no-untyped-def]
    """Relax all edges of the masters nearer than `lowest`, however far they land.

    What they land on is not settled, so it waits for :func:`pull`. Returns as :func:`relax`.
    """
    for i in range(s.counts[PILED]):
        u = s.pile[i]
        if s.distance[u] < lowest:
            for j in range(_first(u, s, out), out.offsets[u + 1]):
                v = out.targets[j]
                landing = s.distance[u] + out.weights[j]
                if landing < s.distance[v]:
                    s.distance[v] = landing
                    if v >= s.cursor.size and not s.mark[v]:
                        s.mark[v] = QUEUED
                        s.outbox[s.counts[SENT]] = v
                        s.counts[SENT] += 1
    return _take_outbox(s)


@nb.njit(nogil=True, cache=True)
def lower(vertices, distances, s):  # type: ignore[no-untyped-def]
    """Take what the flush of other slots found."""
    for i in range(vertices.size):
        s.distance[vertices[i]] = min(s.distance[vertices[i]], distances[i])


@nb.njit(nogil=True, cache=True, inline="always")
def _leads_to_settled_only(v, horizon, s, out):  # type: ignore[no-untyped-def]
    """Return True if v has nothing to relax; only found out of short rows."""
    first, end = out.offsets[v], out.offsets[v + 1]
    j = first
    while j < end and end - first <= SHORT and s.distance[out.targets[j]] < horizon:
        j += 1
    return j == end


@nb.njit(nogil=True, cache=True)
def pull(lowest, horizon, s, out, into):  # type: ignore[no-untyped-def]
    """Let every unsettled master look for its best in-neighbour; the settled ones are done.

    A settled in-neighbour nearer than `lowest` has relaxed all its edges, so a row, which is by
    weight, ends where ``lowest + weight`` is no improvement.
    """
    s.counts[PILED] = s.counts[DEFERRED] = s.counts[UNSETTLED] = 0
    s.nearest[0] = np.inf
    for v in range(s.cursor.size):
        best = s.distance[v]
        if best < horizon:
            continue
        for j in range(into.offsets[v], into.offsets[v + 1]):
            if lowest + into.weights[j] >= best:
                break
            best = min(best, s.distance[into.targets[j]] + into.weights[j])
        s.distance[v] = best
        if not _leads_to_settled_only(v, horizon, s, out):
            s.counts[UNSETTLED] += into.offsets[v + 1] - into.offsets[v]
            if best < np.inf:
                _put_off(v, best + out.weights[out.offsets[v]], s, out)
