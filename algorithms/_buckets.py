"""From bucket to bucket: the supersteps of :mod:`dgraph.algorithms.sssp`.

A bucket begins with a superstep in which all agree where the next edge lands, and then has one
for each time that an improvement goes from slot to slot, the last of which improves nothing.
While there is little to do, one slot acts for all (:mod:`dgraph.algorithms._together`).
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from dgraph.algorithms._addresses import array_at, strided_at
from dgraph.algorithms._by_weight import WeightedRows, by_weight
from dgraph.algorithms._delta import DEFERRED, PILED, UNSETTLED, Search, enter, receive, relax
from dgraph.algorithms._together import Done, Everything, act_for_all, take_of
from dgraph.engine.context import Context
from dgraph.exchange.hub import TINY
from dgraph.kernels import kernel
from dgraph.shard import Shard

__all__ = ["Progress", "Rules", "begin_at", "go_on"]

#: A bucket that has settled the ends of fewer edges was less work than its supersteps, of about
#: a tenth of a millisecond each: the next is twice as wide, and at most so many times as wide
#: as it would be. That leaves 597 of 1641 supersteps on a grid of 300 x 300; 16 leaves 520.
LITTLE, WIDEST = 10_000, 8


class Rules(NamedTuple):
    """What decides about the buckets.

    Parameters
    ----------
    delta, widest : float
        Least width, and width of the first ones where distances are larger than that.
    beyond : float
        What lands there or farther is not looked at.
    arcs, vertices : int
        Of the whole graph.
    pull, near : float
        See `PULL` and `NEAR` of :mod:`dgraph.algorithms.sssp`.
    alike : bool
        Whether all slots have weights of the same dtype, so that one can act for all.
    patient : bool
        Whether supersteps take so long, as they do between processes, that buckets with little
        to do should be wider.
    """

    delta: float
    widest: float
    beyond: float
    arcs: int
    vertices: int
    pull: float
    near: float
    alike: bool
    patient: bool


class Progress(NamedTuple):
    """How far a search is, the same on all slots.

    Parameters
    ----------
    nearest, horizon : float
        Where the bucket begins and ends. At the end of the search `nearest` is inf.
    lowest : float
        What is nearer than this is near.
    improved : int
        What the last superstep improved on other slots; 0: the bucket is done.
    deferred, unsettled : int
        Edges that were put off, and edges into vertices that are not settled.
    piled : int
        Masters that have edges left.
    begun : int
        What `unsettled` was when the bucket began.
    stretch : int
        So many times as wide as it would be are the buckets.
    """

    nearest: float
    horizon: float
    lowest: float
    improved: int
    deferred: int
    unsettled: int
    piled: int
    begun: int
    stretch: int

    @property
    def is_over(self) -> bool:
        """Whether everything is settled."""
        return self.nearest == math.inf

    def is_pull_due(self, rules: Rules) -> bool:
        """Tell whether the unsettled vertices should look for their best in-neighbours."""
        return bool(_is_pull_due(self, rules))

    def after_pull(self, vertices: int) -> Progress:
        """Return how far the search is when nothing is put off any more."""
        return self._replace(deferred=0, piled=vertices)


def begin_at(rules: Rules) -> Progress:
    """Return how far a search is before the first bucket."""
    return Progress(0.0, 0.0, 0.0, 0, 0, rules.arcs, 0, rules.arcs, 1)


async def go_on(ctx: Context, shard: Shard, s: Search, now: Progress, rules: Rules) -> Progress:
    """Go on for a superstep, or for many if one slot can act for all."""
    if ctx.companions and rules.alike and _work(now) < TINY:
        return await _together(ctx, shard, s, now, rules)
    out, into = by_weight(shard)
    if now.improved:
        sent, distances = relax(now.horizon, s, out, into)
        vote = sent.size, s.counts[DEFERRED], s.counts[UNSETTLED], s.counts[PILED]
        work = int(s.counts[DEFERRED]) + sent.size
        met = await ctx.reduce(shard, sent, distances, vote, work, combine="min")
        receive(*met, s, out)
        improved, deferred, unsettled, piled = ctx.vote.tolist()
        return now._replace(
            improved=improved, deferred=deferred, unsettled=unsettled, piled=piled
        )
    # the bits of floats that are not negative are in the same order as the floats
    work = int(s.counts[DEFERRED] + s.counts[PILED])
    least = await ctx.allreduce(s.nearest.view(np.int64), "min", work=work)
    now = Progress(*_next_bucket(float(least.view(np.float64)[0]), now, rules))
    if not now.is_over:
        enter(now.horizon, s)
    return now


@kernel
def _work(now):  # type: ignore[no-untyped-def]
    return now.improved + now.deferred + now.piled


@kernel
def _is_pull_due(now, rules):  # type: ignore[no-untyped-def]
    return not now.improved and now.deferred > rules.pull * (now.unsettled + rules.vertices)


@kernel
def _next_bucket(nearest, now, rules):  # type: ignore[no-untyped-def]
    """Return the progress at the begin of the bucket in which the next edge lands."""
    lowest, horizon, improved, stretch = now.lowest, now.horizon, 0, now.stretch
    if nearest >= rules.beyond:
        nearest = np.inf
    if nearest < np.inf:
        if now.unsettled > (1 - rules.near) * rules.arcs:
            lowest = nearest
        if rules.patient:
            stretch = _stretched(stretch, now.begun - now.unsettled)
        width = min(max(rules.delta, nearest), rules.widest) * stretch
        horizon = nearest + width * rules.arcs / max(now.unsettled, 1)
        horizon = min(max(horizon, np.nextafter(nearest, np.inf)), rules.beyond)
        improved = 1
    return Progress(
        nearest,
        horizon,
        lowest,
        improved,
        now.deferred,
        now.unsettled,
        now.piled,
        now.unsettled,
        stretch,
    )


@kernel
def _stretched(stretch, settled):  # type: ignore[no-untyped-def]
    """Return how wide the next bucket is, after one that has settled the ends of so many edges.

    >>> [int(_stretched(2, settled)) for settled in (LITTLE // 2, LITTLE, 5 * LITTLE)]
    [4, 2, 1]
    """
    if settled < LITTLE:
        return min(2 * stretch, WIDEST)
    return stretch if settled < 4 * LITTLE else max(stretch // 2, 1)


async def _together(
    ctx: Context, shard: Shard, s: Search, now: Progress, rules: Rules
) -> Progress:
    """Go on while there is little to do, and until a pull is due."""
    out, into = by_weight(shard)

    def act(everything: Everything) -> Done:
        found, supersteps = _go_on(everything, out.weights[:0].copy(), now, rules)
        return Done(_as_votes(Progress(*found)), supersteps, _work(found))

    arrays = (*s, *out, into.offsets)
    votes = await act_for_all(ctx, shard, arrays, act, len(now), [np.float64])
    return Progress(*votes[:3].view(np.float64).tolist(), *votes[3:].tolist())


def _as_votes(now: Progress) -> NDArray[np.int64]:
    """Return all of it as integers: the bits of floats, which added to 0 stay as they are."""
    return np.append(np.array(now[:3]).view(np.int64), np.array(now[3:], np.int64))


@kernel
def _slot(row, like):  # type: ignore[no-untyped-def]
    """Return the search of a slot, and its edges; `like` has the dtype of the weights."""
    s = Search(
        array_at(row, 0, np.float64),
        array_at(row, 1, np.int64),
        array_at(row, 2, np.uint8),
        array_at(row, 3, np.int32),
        array_at(row, 4, np.int32),
        array_at(row, 5, np.float64),
        array_at(row, 6, np.int32),
        array_at(row, 7, np.float64),
        array_at(row, 8, np.int64),
        array_at(row, 9, np.float64),
    )
    offsets, into_offsets = array_at(row, 10, np.int64), array_at(row, 13, np.int64)
    targets, weights = strided_at(row, 11, np.uint32), strided_at(row, 12, like.dtype)
    out = WeightedRows(offsets, targets, weights)
    return s, out, WeightedRows(into_offsets, targets, weights)


@kernel
def _go_on(everything, like, now, rules):  # type: ignore[no-untyped-def]
    """Do supersteps for all; return how far the search is, and how many those were."""
    arrays, sent = everything.arrays, everything.sent
    distances = np.empty(everything.vertices.size)
    step = 0
    while step < sent.shape[0]:
        if now.improved:
            now = _relax_all(everything, distances, sent[step], like, now)
        else:
            nearest = np.inf
            for slot in range(arrays.shape[0]):
                nearest = min(nearest, array_at(arrays[slot], 9, np.float64)[0])
            now = _next_bucket(nearest, now, rules)
            for slot in range(arrays.shape[0] if now.improved else 0):
                enter(now.horizon, _slot(arrays[slot], like)[0])
        step += 1
        if now.nearest == np.inf or _is_pull_due(now, rules) or _work(now) >= TINY:
            break
    return now, step


@kernel
def _relax_all(everything, distances, sent, like, now):  # type: ignore[no-untyped-def]
    """Relax on every slot, then let every owner take what others have improved."""
    arrays, routes, vertices = everything.arrays, everything.routes, everything.vertices
    slots = arrays.shape[0]
    lengths = np.empty(slots, np.int64)
    improved = deferred = unsettled = piled = 0
    for slot in range(slots):
        s, out, into = _slot(arrays[slot], like)
        lengths[slot] = relax(now.horizon, s, out, into)[0].size
        improved += lengths[slot]
        deferred += s.counts[DEFERRED]
        unsettled += s.counts[UNSETTLED]
        piled += s.counts[PILED]
    for slot in range(slots):
        s, _, _ = _slot(arrays[slot], like)
        found, told = s.outbox[: lengths[slot]], s.told[: lengths[slot]]
        for owner in range(slots):
            if owner != slot and found.size:
                count = take_of(found, told, routes[slot, owner], vertices, distances)
                other, out, _ = _slot(arrays[owner], like)
                receive(vertices[:count], distances[:count], other, out)
                sent[slot, owner] = count
    return Progress(
        now.nearest,
        now.horizon,
        now.lowest,
        improved,
        deferred,
        unsettled,
        piled,
        now.begun,
        now.stretch,
    )
