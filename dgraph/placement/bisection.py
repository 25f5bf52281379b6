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
from dgraph.kernels import kernel
from dgraph.placement.halving import halving_of, parted, share_of
from dgraph.placement.multilevel import cut, fraction_of, slack_of
from dgraph.placement.quotient import Quotient
from dgraph.topology import Topology

__all__ = ["bisect", "split", "split_together"]

Array = NDArray[Any]

#: How many sides are tried on it, for cuts inside leaf domains and between domains.
TRIES, MORE_TRIES = 6, 24

#: Cuts between domains are tried so often, unless that makes for more entries than this.
AGAIN, ENOUGH = 2, 1 << 19

#: How far apart the seeds of such tries are.
STRIDE = 101


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
    owner, names = np.zeros(quotient.n, np.int32), np.arange(quotient.n)
    halving, share = halving_of(topology), share_of(topology, eps)
    _split(quotient.rows, names, halving, 0, share, 1, owner)
    return owner


async def split_together(
    ctx: Context,
    quotient: Quotient | None,
    topology: Topology,
    eps: float,
    *,
    for_all: bool = True,
) -> NDArray[np.int32] | None:
    """Return the same on every slot, of a graph that slot 0 knows; None if it has none.

    Two slots, far from each other, try the first cut, and each goes on with a half.

    Parameters
    ----------
    for_all : bool
        Whether all are told, or slot 0 alone; the others then return nothing, but not None.
    """
    judges = [0, ctx.slots // 2]
    rows = await _hand_over(ctx, quotient, judges)
    if not ctx.vote[0]:
        return None
    share = share_of(topology, eps)
    side = halving = told = None
    if rows is not None:  # nobody else needs to know where slots are cut
        halving = halving_of(topology)
        which = judges.index(ctx.slot)
        if which < _times(rows, halving.runs[0]):
            side = _try(rows, halving, 0, share, 1 + STRIDE * which)
    came = await ctx.alltoall(
        [(side,) if side is not None and to in judges else None for to in range(ctx.slots)]
    )
    if rows is not None:
        told = _half(
            rows, [some[0] for some in came if some is not None], halving, share, which
        )
    sent = [told if for_all or to == 0 else None for to in range(ctx.slots)]
    parts = [some for some in await ctx.alltoall(sent) if some is not None]
    owner = np.empty(sum(len(some[0]) for some in parts), np.int32)
    for names, slots in parts:
        owner[names] = slots
    return owner


async def _hand_over(ctx: Context, quotient: Quotient | None, judges: list[int]) -> Any:
    """Return the rows and masses that slot 0 has on the judges, None elsewhere."""
    sent: list[Any] = [None] * ctx.slots
    if quotient is not None:
        for judge in judges:
            sent[judge] = quotient.rows
    came = (await ctx.alltoall(sent, [quotient is not None]))[0]
    # kernels of what may be written are the only ones there are
    return None if came is None else tuple(np.require(some, None, "W") for some in came)


def _half(
    rows: Any, found: list[Array], halving: Any, share: float, which: int
) -> tuple[Array, Array]:
    """Return the vertices of one half, by the best of the first cuts, and their slots."""
    n = rows[3].size
    side = found[0] if len(found) == 1 else _pick(rows, np.stack(found), halving, 0, share)
    owner = np.empty(n, np.int32)
    part, names = parted(rows, side, np.arange(n))[which]
    _split(part, names, halving, (1, halving.seconds)[which], share, 2 + which, owner)
    return names, owner[names]


def bisect(
    q: Quotient, fraction: float, share: float, seed: int, tries: int = TRIES
) -> NDArray[np.int8]:
    """Return side 0 or 1 of each vertex; side 0 has about this fraction of the mass."""
    side: NDArray[np.int8] = cut(
        q.rows, round(int(q.mass.sum()) * fraction), share, seed, tries
    )
    return side


@kernel
def _split(rows, names, halving, run, share, seed, owner):  # type: ignore[no-untyped-def]
    """Write the slots of a part of the graph, whose vertices have these names, for a run."""
    todo = [(rows, names, run, seed)]
    while todo:
        rows, names, run, seed = todo.pop()
        begin, _, end, seconds, _ = halving.runs[run]
        if end - begin == 1:
            owner[names] = halving.slots[begin]
        elif names.size:
            side = _cut(rows, halving, run, share, seed)
            first, second = parted(rows, side, names)
            todo.append((*first, run + 1, 2 * seed))
            todo.append((*second, seconds, 2 * seed + 1))


@kernel
def _cut(rows, halving, run, share, seed):  # type: ignore[no-untyped-def]
    """Return the side of each vertex where a run is cut, the best of as many as are tried."""
    times = _times(rows, halving.runs[run])
    found = np.empty((times, rows[3].size), np.int8)
    for turn in range(times):
        found[turn] = _try(rows, halving, run, share, seed + STRIDE * turn)
    return found[0] if times == 1 else _pick(rows, found, halving, run, share)


@kernel
def _try(rows, halving, run, share, seed):  # type: ignore[no-untyped-def]
    """Return the side of each vertex where a run is cut."""
    goal = np.int64(np.rint(rows[3].sum() * fraction_of(halving, run)))
    tries = MORE_TRIES if halving.runs[run, 4] else TRIES
    return cut(rows, goal, share, seed, tries)


@kernel
def _times(rows, run):  # type: ignore[no-untyped-def]
    """Return how often a cut is tried."""
    return max(1, min(AGAIN, ENOUGH // max(rows[1].size, 1))) if run[4] else 1


@kernel
def _pick(rows, found, halving, run, share):  # type: ignore[no-untyped-def]
    """Return the best of several sides: the most even, then the one that cuts least."""
    offsets, targets, weights, mass = rows
    if not mass.size:
        return found[0]
    goal = mass.sum() * fraction_of(halving, run)
    slack = slack_of(mass, np.int64(np.rint(goal)), share)
    best, least, least_over = 0, np.int64(0), 0.0
    for turn in range(len(found)):
        side, have, cuts = found[turn], np.int64(0), np.int64(0)
        for v in range(mass.size):
            have += (1 - side[v]) * mass[v]
            for i in range(offsets[v], offsets[v + 1]):
                cuts += (side[targets[i]] ^ side[v]) * weights[i]
        over = max(abs(have - goal) - slack, 0.0)
        if turn == 0 or over < least_over or (over == least_over and cuts < least):
            best, least, least_over = turn, cuts, over
    return found[best]
