"""PageRank by power iteration with pulled, exactly summed contributions [1]_.

With damping a, restart r and s(u) the strength of u (the weight, or number, of its out-edges)::

    rank'[v] = (1 - a) r[v] + a ( sum of rank[u] w(u, v) / s(u) over the arcs u -> v
                                + d[v] * sum of rank[u] over the dangling u, s(u) = 0 )

The sums on the right are over terms that are first rounded to multiples of 2**-60, as int64.
Their sum is then exact, so that it does not matter in which sequence, or on which slots, the
terms are added: the same graph gives the same bits on any slots. No sum overflows, since the
terms of all vertices together are at most 1. Rounding moves a rank by less than 1e-18 an arc.

A round is one superstep: every master tells its proxies ``rank[u] / s(u)``, and with it travel
what the last round has changed in all (L1) and the rank of the dangling vertices. Where rows
are split over slots (rhizomes), each piece is summed where it lies, beside the rows that are
whole, and the sums go to the owner, which finishes the few that are split: a second superstep,
with a message a piece, and so short that one thread does it for all slots of a process.

Of the rows that are whole a slot may do some for another one of its process, which is slower in
a round: exact sums do not show who found them.

An iteration may begin anywhere; only its last rounds decide how near the end it is. So if the
user gives a tolerance, all arcs weigh the same and vertices are many, shares have 32 bits as
long as ranks change by more than `COARSE` and `NEAR` tolerances, and by less in every round,
which only rounding can prevent. The rounds from there on, at least one, are exact. Shares of
half the size are half the bytes to send, and more of them fit the caches: a round takes a sixth
less.

Encodings: `shares` over the local ids: float64 with weights, and the term of every arc is
rounded; without, multiples of 2**-60 as int64, or of about 2**-26 / n as uint32 (if one is too
large for that, all become exact). `strength` float64, 0 if dangling.

Cost: supersteps: rounds + 1, one more if shares had 32 bits, and twice as many with split rows.
Messages: 8 bytes a proxy in each, or 4. A round reads from memory 4 bytes an arc in sequence (4
or 8 more with weights), and 8 or 4 at a place that is mostly in the cache, since heavy vertices
come first.

References
----------
.. [1] L. Page, S. Brin, R. Motwani, T. Winograd: The PageRank citation ranking: bringing order
   to the Web, Stanford InfoLab 1999-66
"""

from __future__ import annotations

import math
from bisect import bisect_left
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from dgraph.algorithms._pull import (
    GRID,
    Grid,
    Ranks,
    add_to,
    finish,
    pull,
    pull_pieces,
    share_all,
)
from dgraph.algorithms._strength import inverse_strength
from dgraph.algorithms._weights import check_weights
from dgraph.arguments import flag, integer, number, optional_number
from dgraph.engine.columns import Column, Plain
from dgraph.engine.context import Context
from dgraph.engine.parts import from_pieces
from dgraph.engine.translate import masters_of
from dgraph.errors import EdgeValueError
from dgraph.graph import Graph, check_graph, run_algorithm
from dgraph.keywords import named
from dgraph.named_ids import as_values
from dgraph.plurals import counted
from dgraph.shard import Shard, Split
from dgraph.shard.rows import rows_of
from dgraph.vertices.ids import Ids

if TYPE_CHECKING:
    from dask.dataframe import DataFrame

__all__ = ["GRID", "pagerank", "pagerank_slot"]

#: Shares may be rounded to 32 bits while ranks change by more than this in all, and by more
#: than so many tolerances.
COARSE = 2.0**-20
NEAR = 3

#: What part of a round on a slot is the least that another may take over, and how much work is
#: not worth it; arcs to pull along that take as long as what is to do at a vertex once.
LEAST, LITTLE, ROW = 64, 2**18, 4

#: Vertices from which on it is worth it: the shares of fewer are in the cache anyway.
MANY = 2**16

Array = NDArray[Any]
Floats = NDArray[np.float64]
#: Some vertices and how much of something each has; 1 in all.
Portions = tuple[Ids, Floats]


async def pagerank_slot(
    ctx: Context,
    shard: Shard,
    alpha: float = 0.85,
    restart_at: Portions | None = None,
    max_iter: int = 100,
    tol: float | None = 1e-6,
    weighted: bool = True,
    dangling_to: Portions | None = None,
) -> dict[str, Column]:
    """Rank every master; see :func:`pagerank`."""
    weights = shard.into.weights if weighted else None
    s, faint = await _first_ranks(ctx, shard, weights, restart_at, dangling_to)
    rows = _Rows(ctx, shard, weights)
    near = math.inf if tol is None or weights is not None else max(NEAR * tol, COARSE)
    coarse = near < 1 and shard.num_vertices >= MANY
    grid, shares, following = _no_shares(ctx, shard, weights, coarse)
    dangling, spilled = share_all(s, weights, shares, grid)
    converged, round_, exact_from, change, before = False, 0, 0, 0, math.inf
    while round_ < max_iter:
        ballot = change, dangling, spilled, faint
        await ctx.broadcast(shard, shares, vote=ballot, stays=True)
        change, dangling, spilled, all_faint = ctx.vote.tolist()
        _check_strengths(all_faint)
        if coarse and (spilled or (round_ and (change / GRID < near or change >= before))):
            coarse, exact_from = False, round_
            grid, shares, following = _no_shares(ctx, shard, weights)
            dangling, spilled = share_all(s, weights, shares, grid)
            continue
        if tol is not None and round_ > exact_from and change / GRID < tol:
            converged = True
            break
        total, before = dangling / GRID, change if round_ else math.inf
        change, dangling, spilled = await rows.pull(s, alpha, total, shares, following, grid)
        shares, following = following, shares
        round_ += 1
    else:
        change = int((await ctx.allreduce((change,)))[0])
        converged = tol is None or change / GRID < tol
    ctx.notes |= {"converged": converged, "rounds": round_}
    return {"rank": Plain(s.rank)}


async def _first_ranks(
    ctx: Context,
    shard: Shard,
    weights: Array | None,
    restart_at: Portions | None,
    dangling_to: Portions | None,
) -> tuple[Ranks, int]:
    """Return even ranks, and how many vertices have a strength that has no inverse."""
    ctx.stage = "portions"
    even = np.full(1, 1 / max(shard.num_vertices, 1))
    restart = await _portions(ctx, shard, restart_at, default=even)
    sinks = await _portions(ctx, shard, dangling_to, default=restart)
    if weights is not None:
        await check_weights(ctx, shard)
    ctx.stage = "ranks"
    inverse = ctx.scratch(shard, shard.masters, np.float64)
    faint = inverse_strength(shard, weights, inverse)
    return Ranks(np.full(shard.masters, even[0]), inverse, restart, sinks), faint


def _check_strengths(faint: int) -> None:
    """Raise if so many vertices have weights whose sum has no inverse."""
    if faint:
        raise EdgeValueError(
            "expected weights whose sum at a vertex is 0 or at least 5.6e-309, got less at "
            f"{counted(faint, 'vertex')}; multiply them all by a number"
        )


def _no_shares(
    ctx: Context, shard: Shard, weights: Array | None, coarse: bool = False
) -> tuple[Grid, Array, Array]:
    """Return a grid, and room for the shares of this round and of the next."""
    if coarse:  # 64 times the mean rank has 32 bits
        grid, kind = Grid(2.0 ** (25 + shard.num_vertices.bit_length()), 2**32 - 1), "u4"
    else:
        grid, kind = Grid(GRID, 2**62), "i8" if weights is None else "f8"
    return grid, ctx.scratch(shard, shard.size, kind), ctx.scratch(shard, shard.size, kind)


async def _portions(
    ctx: Context, shard: Shard, portions: Portions | None, default: Floats
) -> Floats:
    """Return each master's portion."""
    if portions is None:
        return default
    ids, values = portions
    positions, masters = await masters_of(ctx, shard, ids)
    found = np.zeros(shard.masters)
    found[masters] = values[positions]
    return found


class _Rows:
    """The rows that a slot pulls along; some lie in pieces, on other slots too.

    Parameters
    ----------
    ctx : Context
    shard : Shard
    weights : array or None
        None: all arcs weigh the same.
    """

    def __init__(self, ctx: Context, shard: Shard, weights: Array | None) -> None:
        self._ctx, self._shard, self._weights = ctx, shard, weights
        self._rows = rows_of(shard.into)
        self._parts = _parts(shard.into.offsets)
        self._split = shard.into_split
        self._heavy = np.zeros(0, np.int32) if self._split is None else self._split.heavy
        self._sums = np.zeros(self._heavy.size, np.int64)
        self._pieces = None if self._split is None else rows_of(self._split.rows)
        self._later = 0 if self._split is None else _to_finish(ctx, shard, self._split)

    async def pull(
        self, s: Ranks, alpha: float, total: float, shares: Array, following: Array, grid: Grid
    ) -> tuple[int, int, int]:
        """Find the ranks of a round, in place, and the shares that follow from them.

        Parameters
        ----------
        total : float
            Rank of all dangling vertices.

        Returns
        -------
        tuple of int
            How much ranks have changed and that of dangling vertices, as multiples of 1 / GRID;
            how many shares were too large for the grid.
        """
        heavy, sums, weights = self._heavy, self._sums, self._weights
        rest = weights, alpha, total, shares, heavy, sums, s, following, grid

        def pull_part(part: int) -> tuple[int, int, int]:
            counts: tuple[int, int, int] = pull(self._rows, self._parts[part], *rest)
            return counts

        told = self._ctx.crew.share(self._ctx.slot, pull_part, len(self._parts))
        if self._split is not None:
            await self._add_pieces(self._split, shares)
        if heavy.size:
            told.append(finish(heavy, sums, weights, alpha, total, s, following, grid))
        change, dangling, spilled = map(sum, zip(*told, strict=True))
        return change, dangling, spilled

    async def _add_pieces(self, split: Split, shares: Array) -> None:
        """Sum the pieces of split rows where they lie, and add them to their owners' sums."""
        theirs = np.empty(split.vertices.size, np.int64)
        weights = None if self._weights is None else split.rows.weights
        if theirs.size:
            pull_pieces(self._pieces, weights, shares, theirs)
        vertices, found = await from_pieces(
            self._ctx, self._shard, split, theirs, "sum", self._later
        )
        if vertices.size:
            add_to(self._sums, split.heavy, vertices, found)


def _parts(offsets: Array) -> list[tuple[int, int]]:
    """Return from which master to which each part goes, a third of what is left."""

    def work(master: int) -> int:
        return int(offsets[master]) + ROW * master

    masters = offsets.size - 1
    bounds, whole = [0], work(masters)
    part = max(LITTLE, whole // LEAST)
    while (left := whole - work(bounds[-1])) > 2 * part:
        wanted = whole - left + max(part, left // 3)
        bounds.append(bisect_left(range(masters), wanted, bounds[-1] + 1, key=work))
    return list(pairwise([*bounds, masters]))


def _to_finish(ctx: Context, shard: Shard, split: Split) -> int:
    """Return how much is left to do once sums are whole: masters, and shares to copy."""
    lies_ready = [ctx.gateways is None and prefix >= 0 for prefix in shard.prefix]
    copied = [
        0 if ready else some.size for some, ready in zip(shard.shared, lies_ready, strict=True)
    ]
    return split.heavy.size + sum(copied)


@named
def pagerank(
    g: Graph,
    *,
    alpha: float = 0.85,
    personalization: Any = None,
    max_iter: int = 100,
    tol: float | None = 1e-6,
    weighted: bool = True,
    dangling: Any = None,
) -> DataFrame:
    """Rank vertices by the share of time that a random walker spends at them.

    Parameters
    ----------
    g : Graph
    alpha : float from 0 to 1
        Damping: the probability that the walker goes on along an edge.
    personalization : dict, Series (indexed by vertex) or frame (vertex, value), optional
        Where the walker starts anew, in proportion to the values. Default: anywhere.
    max_iter : int
        The most rounds.
    tol : float, optional
        Stop when a round changes the ranks by less than this in all (L1). None: do exactly
        `max_iter` rounds.
    weighted : bool
        Choose among the out-edges in proportion to their weights, if the graph has weights.
    dangling : dict, Series or frame, optional
        Where the walker goes from a vertex without out-edges. Default: as it starts anew.

    Returns
    -------
    dask DataFrame
        A row per vertex: vertex; rank, float64; the ranks add up to 1.

    Raises
    ------
    OptionError
        If an option has a value that is not allowed; if values are negative or all zero.
    VertexNotFoundError
        If `personalization` or `dangling` names something that is not a vertex.
    EdgeValueError
        If an edge has a negative weight; names it. If weights are so large or so small that
        their sum at a vertex, or its inverse, is no finite number.

    Warns
    -----
    ConvergenceWarning
        If `tol` was not met. The ranks of the last round are returned.

    Notes
    -----
    A loop is an edge to follow, and each of several parallel edges counts. The same graph gives
    the same bits, whatever the slots and the placement. One superstep a round.

    References
    ----------
    Page, Brin, Motwani, Winograd: The PageRank citation ranking: bringing order to the Web,
    Stanford InfoLab 1999-66

    Examples
    --------
    >>> import dgraph as dg
    >>> g = dg.from_edges(np.array([[1, 2], [3, 2], [2, 1]]), directed=True)
    >>> pagerank(g).compute().sort_values("vertex", ignore_index=True).round(3)
       vertex   rank
    0       1  0.464
    1       2  0.486
    2       3  0.050
    """
    check_graph(g)
    damping = number("alpha", alpha, 0, 1)
    rounds = integer("max_iter", max_iter, 1)
    tolerance = optional_number("tol", tol, 0)
    by_weight = flag("weighted", weighted)
    found: DataFrame = run_algorithm(
        g,
        "pagerank",
        pagerank_slot,
        damping,
        _as_portions(personalization, g.id_dtype, "personalization"),
        rounds,
        tolerance,
        by_weight,
        _as_portions(dangling, g.id_dtype, "dangling"),
        columns={"rank": "float64"},
    )
    return found


def _as_portions(values: Any, dtype: str, name: str) -> Portions | None:
    """Return what a user gave to some vertices so that it adds up to 1."""
    if values is None:
        return None
    ids, numbers = as_values(values, dtype, name)
    numbers = numbers / numbers.max()  # so that their sum does not overflow
    return ids, numbers / math.fsum(numbers)
