"""Levels of a breadth-first search that are supersteps of the engine, each slot by itself.

As :mod:`dgraph.algorithms.bfs` says, and with fewer supersteps where these are slow, as
:mod:`dgraph.algorithms._afar` says.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from dgraph.algorithms._afar import MARKED, Afar, edges_of, mark_parents
from dgraph.algorithms._expected import likely_bits, to_masters, unheard_of
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
        About how many copies of vertices have not been found, of all slots.
    proxies : int
        Of all slots; 0 if all goes straight.
    is_told : bool
        Whether all slots were told of the frontier.
    """

    met: Array
    ranks: Array
    unheard: int
    proxies: int
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
    proxies = 0 if ctx.gateways is None else (await ctx.gateways.numbers(shard)).total
    unheard = rules.vertices + proxies
    news = nothing = News(s.found[:0], s.found_by[:0], unheard, proxies, is_told=False)
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
            now, left = await _bottom_up_levels(ctx, shard, s, *args)
            news = nothing._replace(unheard=unheard_of(left, rules.vertices, proxies))
        else:
            ctx.stage = "top-down"
            now = await push_together(ctx, shard, s, now, limit, rules.alpha)
            news = nothing
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
    bits = _likely_bits(shard) if afar is None else afar.outlook.bits
    if bits.size and (afar is None or mine + sent <= MARKED):
        edges = int(edges_of(bits, s, out.offsets, found[0]))
    vote = mine + sent, edges, pushed, leads, named
    turns = edges * ctx.slots * rules.alpha > now.unexplored  # if all slots are alike
    work = sent if turns else edges
    if tells:
        met = await reduce_and_tell(ctx, shard, *found, s.front, vote, work)
    else:
        along = now.edges if now.edges > 1 else now.awake * rules.mean
        about = to_masters(along, news.unheard, rules.vertices, news.proxies)
        met = await ctx.reduce(shard, *found, vote, work, "min", about)
    if afar is not None:
        met = _writable(met[0]), _writable(met[1])
    awake, edges, pushed, leads, named = ctx.vote.tolist()
    now = Progress(depth, awake if leads else 0, edges, now.unexplored - pushed)
    unheard = max(news.unheard - awake, 0)
    return now, News(met[0], met[1], unheard, news.proxies, tells), named


def _likely_bits(shard: Shard) -> NDArray[np.uint8]:
    """Return for each proxy of how many bits its out-degree is likely to be; kept.

    Nothing if the graph is directed: there the order of vertices tells less of it than those do
    that are found together.
    """
    found: NDArray[np.uint8] | None = shard.derived.get("likely bits")
    if found is None:
        found = np.zeros(0, np.uint8)
        if not shard.directed:
            own, theirs = np.split(shard.rank, [shard.masters])
            degrees = np.diff(shard.out.offsets)
            found = likely_bits(theirs, own, degrees, shard.num_vertices)
        shard.derived["likely bits"] = found
    return found


async def _bottom_up_levels(
    ctx: Context,
    shard: Shard,
    s: Search,
    now: Progress,
    rules: Rules,
    first: First,
    is_told: bool,
    is_afar: bool,
) -> tuple[Progress, int]:
    """Go bottom-up while the frontier is large, of which the slots may have been told.

    Returns also how many vertices are left, or a few less. If `is_afar`, nobody is told of the
    last frontier, where it is known to be that.
    """
    ctx.stage = "bottom-up"
    (depth, awake, _, unexplored), left = now, rules.vertices
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
            awake = left
            break
        work = PROBES * lost + s.front.size
        await ctx.broadcast_bits(shard, front, vote=(mine, lost), work=work)
        awake, left = ctx.vote.tolist()
        if is_afar and not left:
            awake = 0
        if awake == 0 or (awake < before and awake <= few):
            break
        is_last = is_afar and left < awake and left <= few
    s.front[:] = front
    return Progress(depth, awake, 1, unexplored), left


def _writable(some: Array) -> Array:
    """Return an array that may be written; kernels would be made for others, too."""
    return some if some.flags.writeable else some.copy()
