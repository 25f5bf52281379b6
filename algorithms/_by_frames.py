"""Levels of a breadth-first search that are supersteps of the engine, each slot by itself.

As :mod:`dgraph.algorithms.bfs` says, and with fewer supersteps where these are slow, as
:mod:`dgraph.algorithms._afar` says.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from dgraph.algorithms._afar import MARKED, Afar, edges_of, expected, mark_parents
from dgraph.algorithms._levels import Progress, can_push_together, push_together
from dgraph.algorithms._levels_abreast import Rules
from dgraph.algorithms._pieces import search_with_pieces
from dgraph.algorithms._search import Search, bottom_up, settle, top_down
from dgraph.engine.context import Context
from dgraph.engine.telling import reduce_and_tell
from dgraph.exchange.hub import TINY
from dgraph.shard import Shard
from dgraph.shard.rows import rows_of

__all__ = ["search_by_frames"]

#: In-neighbours that an unvisited vertex looks at in a bottom-up level, more or less.
PROBES = 4

Array = NDArray[Any]
First = Callable[[], NDArray[np.uint32]]


class News(NamedTuple):
    """What a slot heard in the last top-down level.

    Parameters
    ----------
    met, ranks : arrays
        Its masters that other slots have found, and the ranks of those that lead to them.
    unheard : int
        Its proxies that it has not found: each is found once.
    is_told : bool
        Whether all slots were told of the frontier.
    """

    met: Array
    ranks: Array
    unheard: int
    is_told: bool


async def search_by_frames(
    ctx: Context,
    shard: Shard,
    s: Search,
    rules: Rules,
    first: First,
    afar: Afar | None = None,
) -> bool:
    """Search level by level, each a superstep of the engine, or several that are short.

    Returns whether all sources are vertices, as far as that was left to see.

    Parameters
    ----------
    first : callable
        Returns the first entry of the row of in-neighbours of every master.
    """
    limit = rules.limit
    proxies = int(shard.group_size.sum()) - shard.masters
    news = nothing = News(s.found[:0], s.found_by[:0], proxies, is_told=False)
    now = Progress(0, rules.sources, 0, rules.arcs)
    together = can_push_together(ctx, s)
    if shard.out_split is not None:
        bounds = rules.alpha, rules.beta, limit
        depth = await search_with_pieces(ctx, shard, s, now, first(), bounds)
        now = Progress(depth, 0, 0, 0)
    while now.awake and now.depth < limit:
        turns = now.edges * rules.alpha > now.unexplored
        if not turns and not (together and now.edges < TINY):
            now, news, named = await _top_down_level(ctx, shard, s, now, news, rules, afar)
            if afar is not None and named < rules.sources:
                return False
            continue
        settle(news.met, news.ranks, now.depth, s)
        if turns:
            args = now, rules, first, news.is_told, afar is not None
            now = await _bottom_up_levels(ctx, shard, s, *args)
        else:
            ctx.stage = "top-down"
            now = await push_together(ctx, shard, s, now, limit, rules.alpha)
        news = nothing._replace(unheard=news.unheard)
    settle(news.met, news.ranks, now.depth, s)
    return True


async def _top_down_level(
    ctx: Context,
    shard: Shard,
    s: Search,
    now: Progress,
    news: News,
    rules: Rules,
    afar: Afar | None,
) -> tuple[Progress, News, int]:
    """Push from the frontier; return also how many sources are vertices, if `afar`."""
    ctx.stage = "top-down"
    depth, out, tells = now.depth + 1, rows_of(shard.out), False
    if afar is not None:
        if depth < rules.limit:
            tells = afar.tells(ctx, now.edges, rules.alpha, now.unexplored)
        mark_parents(news.met[:MARKED], news.ranks, s, out, shard.rank)
    met = news.met, news.ranks
    mine, sent, edges, pushed = top_down(*met, depth, s, out, shard.rank, rules.mean)
    found = s.found[:sent], s.found_by[:sent]
    leads, named = (1, 0) if afar is None else afar.tell(mine, edges, found[0])
    if afar is not None and mine + sent <= MARKED:
        edges = int(edges_of(afar.outlook.bits, s, out.offsets, found[0]))
    vote = mine + sent, edges, pushed, leads, named
    turns = edges * ctx.slots * rules.alpha > now.unexplored  # if all slots are alike
    work, unheard = sent if turns else edges, news.unheard - sent
    if tells:
        met = await reduce_and_tell(ctx, shard, *found, s.front, vote, work)
    else:
        ahead = 0 if turns else int(expected(edges, unheard, ctx.slots))
        met = await ctx.reduce(shard, *found, vote, work, "min", ahead)
    if afar is not None:
        met = _writable(met[0]), _writable(met[1])
    awake, edges, pushed, leads, named = ctx.vote.tolist()
    now = Progress(depth, awake if leads else 0, edges, now.unexplored - pushed)
    return now, News(met[0], met[1], unheard, tells), named


async def _bottom_up_levels(
    ctx: Context,
    shard: Shard,
    s: Search,
    now: Progress,
    rules: Rules,
    first: First,
    is_told: bool,
    is_afar: bool,
) -> Progress:
    """Go bottom-up while the frontier is large, of which the slots may have been told.

    If `is_afar`, nobody is told of the last frontier, where it is known to be that.
    """
    ctx.stage = "bottom-up"
    depth, awake, _, unexplored = now
    front, following = s.front, ctx.scratch(shard, s.front.size, np.uint64)
    into, few, is_last = rows_of(shard.into), rules.vertices // rules.beta, False
    if not is_told:
        await ctx.broadcast_bits(shard, front)
    while depth < rules.limit:
        depth += 1
        before = awake
        mine, lost = bottom_up(front, following, depth, s, into, first())
        front, following = following, front
        if is_last:
            break
        work = PROBES * lost + s.front.size
        vote = (mine, lost) if is_afar else (mine,)
        await ctx.broadcast_bits(shard, front, vote=vote, work=work)
        awake, *left = ctx.vote.tolist()
        if left == [0]:
            awake = 0
        if awake == 0 or (awake < before and awake <= few):
            break
        is_last = is_afar and left[0] < awake and left[0] <= few
        if is_last and ctx.gateways is not None:
            ctx.gateways.figures.expect("reduce", left[0])
    s.front[:] = front
    return Progress(depth, awake, 1, unexplored)


def _writable(some: Array) -> Array:
    """Return an array that may be written; kernels would be made for others, too."""
    return some if some.flags.writeable else some.copy()
