"""The quotient graph onto the domain tree: domains split in two, top down, down to slots.

Each split is multilevel (see `fm`): match and contract until few vertices are left, grow a side
around several of them, take the best, and improve it on the way back. So the most expensive
level is cut first, and a level's cut does not disturb those above.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from dgraph.engine.context import Context
from dgraph.placement.fm import restrict
from dgraph.placement.multilevel import cut, improve_at, slack_of
from dgraph.placement.quotient import Quotient
from dgraph.topology import Topology

__all__ = [
    "halves",
    "improve_sides",
    "leaf_order",
    "part_of",
    "share_of",
    "split",
    "split_together",
]

Array = NDArray[Any]

#: How many sides are tried on it, for cuts inside leaf domains and between domains.
TRIES, MORE_TRIES = 6, 24

#: Cuts between domains are tried so often, unless that makes for more entries than this.
AGAIN, ENOUGH = 2, 1 << 19


def split(quotient: Quotient, topology: Topology, eps: float) -> NDArray[np.int32]:
    """Return a slot for every vertex, slots being even to about ``1 + eps``.

    Examples
    --------
    >>> from dgraph.placement.quotient import make_quotient
    >>> pairs = np.array([[0, 1], [2, 3], [1, 2]]).T
    >>> q = make_quotient(*pairs, np.array([9, 9, 1]), np.ones(4, np.int64))
    >>> split(q, Topology.from_fanouts([2]), 0.0).tolist() in ([0, 0, 1, 1], [1, 1, 0, 0])
    True
    """
    slots = leaf_order(topology)
    owner = np.zeros(quotient.n, np.int32)
    names = np.arange(quotient.n)
    _split(quotient, names, slots, topology, share_of(topology, eps), owner, 1)
    return owner


async def split_together(
    ctx: Context, quotient: Quotient | None, topology: Topology, eps: float
) -> NDArray[np.int32]:
    """Return the same on every slot, of a graph that slot 0 knows.

    Two slots, far from each other, try the first cut, and each goes on with a half.
    """
    judges = [0, ctx.slots // 2]
    q = await _hand_over(ctx, quotient, judges)
    slots, share = leaf_order(topology), share_of(topology, eps)
    at = halves(slots, topology)
    side = None
    if q is not None and ctx.slot in judges[: _times(q, slots, topology)]:
        seed, tries = 1 + 101 * judges.index(ctx.slot), _tries(slots, topology)
        side = bisect(q, at / len(slots), share, seed, tries)
    came = await ctx.alltoall(
        [(side,) if side is not None and to in judges else None for to in range(ctx.slots)]
    )
    told: Any = None
    if q is not None:
        side = _pick(q, [some[0] for some in came if some is not None], at / len(slots), share)
        which = judges.index(ctx.slot)
        kept = np.flatnonzero(side == which)
        owner = np.empty(q.n, np.int32)
        _split(
            part_of(q, kept),
            kept,
            (slots[:at], slots[at:])[which],
            topology,
            share,
            owner,
            2 + which,
        )
        told = (kept, owner[kept])
    parts = [some for some in await ctx.alltoall([told] * ctx.slots) if some is not None]
    found = np.empty(sum(len(some[0]) for some in parts), np.int32)
    for some in parts:
        found[some[0]] = some[1]
    return found


async def _hand_over(
    ctx: Context, quotient: Quotient | None, judges: list[int]
) -> Quotient | None:
    """Return the graph that slot 0 has on the judges, None elsewhere."""
    sent: list[Any] = [None] * ctx.slots
    if quotient is not None:
        columns = quotient.offsets, quotient.targets, quotient.weights, quotient.mass
        for judge in judges:
            sent[judge] = columns
    came = (await ctx.alltoall(sent))[0]
    # kernels of what may be written are the only ones there are
    return None if came is None else Quotient(*(np.require(some, None, "W") for some in came))


def share_of(topology: Topology, eps: float) -> float:
    """Return how uneven each cut may be, of all those that follow one another."""
    return eps / int(np.ceil(np.log2(max(topology.slots, 2))))


def leaf_order(topology: Topology) -> Array:
    """Return the slots so that those of every domain follow one another."""
    domains = [topology.domain_of(level) for level in range(topology.height + 1)]
    order: Array = np.lexsort([np.arange(topology.slots), *domains])
    return order


def halves(slots: Array, topology: Topology) -> int:
    """Return where a run of slots is cut: between domains of the highest level that can be.

    Examples
    --------
    >>> halves(np.arange(12), Topology.from_fanouts([4, 3]))
    4
    """
    for level in range(topology.height, -1, -1):
        domain = topology.domain_of(level)[slots]
        cuts = np.flatnonzero(domain[1:] != domain[:-1]) + 1
        if cuts.size:
            return int(cuts[np.argmin(np.abs(cuts - len(slots) / 2))])
    return len(slots) // 2


def _split(
    q: Quotient,
    names: Array,
    slots: Array,
    topology: Topology,
    share: float,
    owner: NDArray[np.int32],
    seed: int,
) -> None:
    """Write the slots of a part of the graph, whose vertices have these names."""
    if len(slots) == 1 or q.n == 0:
        owner[names] = slots[0]
        return
    at = halves(slots, topology)
    tries = _tries(slots, topology)
    found = [
        bisect(q, at / len(slots), share, seed + 101 * turn, tries)
        for turn in range(_times(q, slots, topology))
    ]
    side = _pick(q, found, at / len(slots), share)
    for which, some in ((0, slots[:at]), (1, slots[at:])):
        kept = np.flatnonzero(side == which)
        if kept.size:
            _split(
                part_of(q, kept), names[kept], some, topology, share, owner, 2 * seed + which
            )


def _times(q: Quotient, slots: Array, topology: Topology) -> int:
    """Return how often a cut is tried."""
    apart = int(topology.level(slots[0], slots[-1]))
    return max(1, min(AGAIN, ENOUGH // max(len(q.targets), 1))) if apart else 1


def _tries(slots: Array, topology: Topology) -> int:
    """Return how many sides are tried on the smallest graph of a cut."""
    return MORE_TRIES if int(topology.level(slots[0], slots[-1])) else TRIES


def _pick(
    q: Quotient, found: list[NDArray[np.int8]], fraction: float, share: float
) -> NDArray[np.int8]:
    """Return the best of several bisections."""
    if len(found) == 1 or q.n == 0:
        return found[0]
    row = np.repeat(np.arange(q.n), np.diff(q.offsets))
    cuts = [int(q.weights[side[row] != side[q.targets]].sum()) for side in found]
    goal = q.mass.sum() * fraction
    off = [abs(float(q.mass[side == 0].sum()) - goal) for side in found]
    slack = slack_of(q.mass, round(goal), share)
    keys = [(max(0.0, far - slack), cut) for far, cut in zip(off, cuts, strict=True)]
    return found[min(range(len(found)), key=keys.__getitem__)]


def part_of(q: Quotient, kept: Array) -> Quotient:
    """Return the graph of some of the vertices."""
    new = np.full(q.n, -1, np.int32)
    new[kept] = np.arange(kept.size, dtype=np.int32)
    return Quotient(*restrict((q.offsets, q.targets, q.weights, q.mass), kept, new))


def bisect(
    q: Quotient, fraction: float, share: float, seed: int, tries: int = TRIES
) -> NDArray[np.int8]:
    """Return side 0 or 1 of each vertex; side 0 has about this fraction of the mass."""
    if q.n == 0:
        return np.zeros(0, np.int8)
    goal = round(int(q.mass.sum()) * fraction)
    rows = (q.offsets, q.targets, q.weights, q.mass)
    side: NDArray[np.int8] = cut(rows, goal, share, seed, tries)
    return side


def improve_sides(q: Quotient, side: NDArray[np.int8], fraction: float, share: float) -> None:
    """Improve a bisection, of which side 0 is to have this fraction of the mass, in place."""
    goal = round(int(q.mass.sum()) * fraction)
    improve_at((q.offsets, q.targets, q.weights, q.mass), side, goal, share)
