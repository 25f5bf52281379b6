"""Kernels of :mod:`dgraph.algorithms.sssp`: relax below a horizon, and pull from below it."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from dgraph.algorithms._by_weight import WeightedRows
from dgraph.algorithms._prefetch import prefetch
from dgraph.engine.context import Context
from dgraph.kernels import kernel
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
    outbox, told : arrays
        Proxies that were improved, and their distances when they are sent.
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
    told: NDArray[np.float64]
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
        told=ctx.scratch(shard, shard.size - masters, np.float64),
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


# The kernels take the fields out of `s`, `out` and `into` first: to count references to arrays
# in a loop would cost more than the loop itself.


@kernel(inline="always")
def _first(v, cursor, mark, offsets):  # type: ignore[no-untyped-def]
    """Return the first edge of v that was not relaxed with its present distance."""
    return cursor[v] if mark[v] & RELAXED else offsets[v]


@kernel(inline="always")
def _improve(  # type: ignore[no-untyped-def]
    v, landing, distance, cursor, mark, queue, outbox, counts, offsets
):
    """Give a vertex a shorter distance: a master relaxes its edges again, a proxy is sent."""
    distance[v] = landing
    if v < cursor.size:
        if mark[v] & RELAXED:
            counts[DEFERRED] += cursor[v] - offsets[v]
            cursor[v] = offsets[v]
        _enqueue(v, mark, queue, counts)
    else:
        _enclose(v, mark, outbox, counts)


@kernel(inline="always")
def _enqueue(v, mark, queue, counts):  # type: ignore[no-untyped-def]
    """Let a master wait for its turn to relax."""
    if not mark[v] & QUEUED:
        mark[v] |= QUEUED
        queue[(counts[HEAD] + counts[WAITING]) % queue.size] = v
        counts[WAITING] += 1


@kernel(inline="always")
def _enclose(v, mark, outbox, counts):  # type: ignore[no-untyped-def]
    """Let a proxy be sent."""
    if not mark[v]:
        mark[v] = QUEUED
        outbox[counts[SENT]] = v
        counts[SENT] += 1


@kernel(inline="always")
def _put_off(u, landing, pile, landings, counts, nearest):  # type: ignore[no-untyped-def]
    """Put u on the pile until the horizon is beyond `landing`."""
    pile[counts[PILED]] = u
    landings[counts[PILED]] = landing
    counts[PILED] += 1
    nearest[0] = min(nearest[0], landing)


@kernel
def _compact(s, out):  # type: ignore[no-untyped-def]
    """Drop the stale entries of the pile, and all but one of the same master."""
    piled = 0
    for i in range(s.counts[PILED]):
        v = s.pile[i]
        j = _first(v, s.cursor, s.mark, out.offsets)
        is_last = j < out.offsets[v + 1] and s.landing[i] == s.distance[v] + out.weights[j]
        if is_last and not s.mark[v] & KEPT:
            s.mark[v] |= KEPT
            s.pile[piled] = v
            s.landing[piled] = s.landing[i]
            piled += 1
    s.counts[PILED] = piled
    for i in range(piled):
        s.mark[s.pile[i]] &= ~np.uint8(KEPT)


@kernel
def start(source, s, out):  # type: ignore[no-untyped-def]
    """Reach the source."""
    s.distance[source] = 0.0
    first = out.offsets[source]
    if first < out.offsets[source + 1]:
        landing = 0.0 + out.weights[first]
        _put_off(source, landing, s.pile, s.landing, s.counts, s.nearest)


@kernel
def enter(horizon, s):  # type: ignore[no-untyped-def]
    """Begin a bucket: queue what has an edge that lands below the new horizon."""
    pile, landings, mark, queue, counts = s.pile, s.landing, s.mark, s.queue, s.counts
    piled = 0
    nearest = np.inf
    for i in range(counts[PILED]):
        if landings[i] < horizon:
            _enqueue(np.uint32(pile[i]), mark, queue, counts)
        else:
            pile[piled] = pile[i]
            landings[piled] = landings[i]
            nearest = min(nearest, landings[i])
            piled += 1
    counts[PILED] = piled
    s.nearest[0] = nearest


@kernel
def receive(vertices, distances, s, out):  # type: ignore[no-untyped-def]
    """Take what other slots found for masters of this one."""
    distance, cursor, mark, queue = s.distance, s.cursor, s.mark, s.queue
    outbox, counts, offsets = s.outbox, s.counts, out.offsets
    for i in range(vertices.size):
        v = np.uint32(vertices[i])
        if distances[i] < distance[v]:
            _improve(v, distances[i], distance, cursor, mark, queue, outbox, counts, offsets)


@kernel(inline="always")
def _look_ahead(distance, cursor, queue, counts, offsets, weights):  # type: ignore[no-untyped-def]
    """Ask for what will be read of the masters that come up in the queue."""
    if counts[WAITING] > 2 * AHEAD:
        v = queue[(counts[HEAD] + 2 * AHEAD) % queue.size]
        prefetch(offsets, v)
        prefetch(cursor, v)
        prefetch(distance, v)
        prefetch(weights, offsets[queue[(counts[HEAD] + AHEAD) % queue.size]])


@kernel
def relax(horizon, s, out, into):  # type: ignore[no-untyped-def]
    """Relax the edges that land below the horizon until none here improves anything.

    Returns the proxies that were improved and their distances.
    """
    distance, cursor, mark, queue = s.distance, s.cursor, s.mark, s.queue
    pile, landings, outbox = s.pile, s.landing, s.outbox
    counts, nearest, into_offsets = s.counts, s.nearest, into.offsets
    offsets, targets, weights = out.offsets, out.targets, out.weights
    while counts[WAITING]:
        _look_ahead(distance, cursor, queue, counts, offsets, weights)
        u = np.uint32(queue[counts[HEAD]])
        counts[HEAD] = (counts[HEAD] + 1) % queue.size
        counts[WAITING] -= 1
        first, end = _first(u, cursor, mark, offsets), offsets[u + 1]
        if not mark[u] & RELAXED:
            counts[DEFERRED] += end - first
            counts[UNSETTLED] -= into_offsets[u + 1] - into_offsets[u]
        mark[u] = RELAXED
        start, landing = distance[u], np.inf
        j, stop = np.uint64(first), np.uint64(end)
        while j < stop:
            landing = start + weights[j]
            if landing >= horizon:
                break
            v = targets[j]
            if landing < distance[v]:  # relax
                _improve(v, landing, distance, cursor, mark, queue, outbox, counts, offsets)
            j += np.uint64(1)
        cursor[u] = j
        counts[DEFERRED] -= np.int64(j) - first
        if j < stop:
            if counts[PILED] == pile.size:
                _compact(s, out)
            _put_off(u, landing, pile, landings, counts, nearest)
    return _take_outbox(s)


@kernel
def _take_outbox(s):  # type: ignore[no-untyped-def]
    proxies, distances = s.outbox[: s.counts[SENT]], s.told[: s.counts[SENT]]
    for i in range(proxies.size):
        s.mark[proxies[i]] = 0
        distances[i] = s.distance[proxies[i]]
    s.counts[SENT] = 0
    return proxies, distances


@kernel
def flush(lowest, s, out):  # type: ignore[no-untyped-def]
    """Relax all edges of the masters nearer than `lowest`, however far they land.

    What they land on is not settled, so it waits for :func:`pull`. Returns as :func:`relax`.
    """
    distance, mark, outbox, counts = s.distance, s.mark, s.outbox, s.counts
    for i in range(counts[PILED]):
        u = s.pile[i]
        if distance[u] < lowest:
            first = _first(u, s.cursor, mark, out.offsets)
            for j in range(first, out.offsets[u + 1]):
                v = out.targets[j]
                landing = distance[u] + out.weights[j]
                if landing < distance[v]:
                    distance[v] = landing
                    if v >= s.cursor.size:
                        _enclose(v, mark, outbox, counts)
    return _take_outbox(s)


@kernel
def lower(vertices, distances, s):  # type: ignore[no-untyped-def]
    """Take what the flush of other slots found."""
    for i in range(vertices.size):
        s.distance[vertices[i]] = min(s.distance[vertices[i]], distances[i])


@kernel(inline="always")
def _leads_to_settled_only(v, horizon, distance, offsets, targets):  # type: ignore[no-untyped-def]
    """Return True if v has nothing to relax; only found out of short rows."""
    first, end = offsets[v], offsets[v + 1]
    j = first
    while j < end and end - first <= SHORT and distance[targets[j]] < horizon:
        j += 1
    return j == end


@kernel
def pull(lowest, horizon, s, out, into):  # type: ignore[no-untyped-def]
    """Let every unsettled master look for its best in-neighbour; the settled ones are done.

    A settled in-neighbour nearer than `lowest` has relaxed all its edges, so a row, which is by
    weight, ends where ``lowest + weight`` is no improvement.
    """
    distance, pile, landings, counts = s.distance, s.pile, s.landing, s.counts
    offsets, targets, weights = into.offsets, into.targets, into.weights
    out_offsets, out_targets, out_weights = out.offsets, out.targets, out.weights
    counts[PILED] = counts[DEFERRED] = counts[UNSETTLED] = 0
    s.nearest[0] = np.inf
    for v in range(s.cursor.size):
        best = distance[v]
        if best < horizon:
            continue
        for j in range(np.uint64(offsets[v]), np.uint64(offsets[v + 1])):
            if lowest + weights[j] >= best:
                break
            best = min(best, distance[targets[j]] + weights[j])
        distance[v] = best
        if not _leads_to_settled_only(v, horizon, distance, out_offsets, out_targets):
            counts[UNSETTLED] += offsets[v + 1] - offsets[v]
            if best < np.inf:
                landing = best + out_weights[out_offsets[v]]
                _put_off(v, landing, pile, landings, counts, s.nearest)
