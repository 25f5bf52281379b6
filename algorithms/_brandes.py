"""Betweenness of a batch of sources without weights: the supersteps.

The sources of a batch are searched at the same time, each on a copy of the graph of its own:
the copy of vertex v for the source at position s of the batch has the local id
``v * copies + s``. That is again a shard, of a graph of as many parts, so all exchanges work on
it as they are; only edges are looked up in the one graph.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dgraph.algorithms._expected import expected, to_masters, unheard_of
from dgraph.algorithms._path_counts import (
    EXACT,
    LARGE,
    count_in_rows,
    normalise,
    pull_counts,
    push_counts,
    receive_counts,
)
from dgraph.algorithms._sparse import broadcast_some
from dgraph.algorithms._terms import (
    Grids,
    pairs,
    pull_terms,
    push_terms,
    receive_terms,
    settle_terms,
    show_terms,
)
from dgraph.engine.context import Context
from dgraph.kernels import kernel
from dgraph.shard import Shard

__all__ = ["Batch", "bytes_per_source", "dependencies"]

#: An edge that is pulled along costs so many times less than one that is pushed along, which
#: reads a level and writes a sum.
PULL = 2

#: What fewer than one vertex in so many show is sent with their places, and by them alone.
SPARSE = 8

Array = NDArray[Any]
Members = NDArray[np.int32]


def bytes_per_source(shard: Shard) -> int:
    """Return the bytes that a slot needs for each source of a batch.

    That is level 4, sigma, delta and shown 8 each, found and layers 4 each; 4 for each of the
    two exponents that there may be; and what the copies of the routes take.
    """
    return 48 * shard.size + sum(shared.nbytes for shared in shard.shared)


class Batch:
    """The searches from some sources.

    Parameters
    ----------
    ctx : Context
    shard : Shard
        Of the one graph.
    copies : int
        How many sources there are.
    grids : Grids
        At which terms are cut.
    proxies : int
        Of the one graph, on all slots; 0 if all goes straight.

    Attributes
    ----------
    union : Shard
        Of all copies, for exchanges. Its edges are those of the one graph.
    level : int32 array over the local ids of all copies
        The distance from the source, -1 unvisited.
    sigma, sigma_exponent : arrays over them
        Brandes' sigma, the number of shortest paths from the source.
    in_rows : bool
        False as long as all counts are exact. Then `level` and `sigma` are known of proxies
        too, and counts are added up in rows.
    delta : float64 array over them
        Brandes' delta, the dependency of the source on each vertex.
    shown, shown_exponent : arrays over them
        What the vertices of one level show to the others; 0 elsewhere.
    order : int32 array
        The masters in the sequence in which they were visited.
    layers : list of int32 arrays
        The parts of `order`, by level.
    facts : list of (int, int, int)
        For each level the edges out of it and into it, and its vertices, on all slots.
    """

    def __init__(
        self, ctx: Context, shard: Shard, copies: int, grids: Grids, proxies: int = 0
    ) -> None:
        self.shard = shard
        self.everywhere = proxies * copies
        self.grids = grids
        self.copies = copies
        self.union = shard if copies == 1 else _copied(shard, copies)
        size, masters = self.union.size, self.union.masters
        self.level = _room(ctx, self, size, np.int32)
        self.sigma, self.delta, self.shown = (
            _room(ctx, self, size, np.float64) for _ in range(3)
        )
        self.order = _room(ctx, self, masters, np.int32)
        self.proxies = _room(ctx, self, size - masters, np.int32)

    def clear(self) -> None:
        """Visit nothing: to be called before each search."""
        self.level.fill(-1)
        for array in self.sigma, self.delta, self.shown:
            array.fill(0.0)
        self.sigma_exponent: NDArray[np.int32] | None = None
        self.shown_exponent: NDArray[np.int32] | None = None
        self.in_rows = False
        self.visited = 0
        self.layers: list[Members] = []
        self.facts: list[tuple[int, int, int]] = []

    def visit(self, count: int) -> Members:
        """Take the next masters in `order` for a layer."""
        self.visited += count
        return self.order[self.visited - count : self.visited]

    def told(self, edges: int, vertices: int) -> int:
        """Return about how many proxies of so many vertices so many edges lead to."""
        among = self.shard.num_vertices * self.copies, self.everywhere
        return to_masters(edges, unheard_of(vertices, *among), *among)

    def widen(self) -> None:
        """Give the counts exponents."""
        self.sigma_exponent = np.zeros(self.union.size, np.int32)
        self.shown_exponent = np.zeros(self.union.size, np.int32)


def _room(ctx: Context, batch: Batch, length: int, dtype: Any) -> Array:
    """Return an array; of a large graph one that the shard keeps."""
    if batch.copies == 1:
        return ctx.scratch(batch.shard, length, dtype)
    return np.empty(length, dtype)


def _copied(shard: Shard, copies: int) -> Shard:
    """Return the shard of so many copies of a graph, without edges of its own."""
    several = np.arange(copies, dtype=np.int32)
    return replace(
        shard,
        size=shard.size * copies,
        group_start=shard.group_start * copies,
        group_size=shard.group_size * copies,
        shared=tuple((some[:, None] * copies + several).ravel() for some in shard.shared),
    )


async def dependencies(ctx: Context, batch: Batch, sources: Members) -> None:
    """Find `level` and `delta` of a batch.

    Parameters
    ----------
    sources : int32 array
        The masters of this slot, among all copies, that are sources.
    """
    ctx.stage = "forward"
    await _count_paths(ctx, batch, sources)
    ctx.stage = "backward"
    depths = range(len(batch.layers) - 2, 0, -1)
    if not batch.in_rows and not all(_pulls(batch, depth) for depth in depths):
        await _tell_all(ctx, batch)  # proxies will be pushed to
    for depth in depths:
        await _accumulate(ctx, batch, depth)


async def _count_paths(ctx: Context, batch: Batch, sources: Members) -> None:
    """Find levels and path counts, level by level."""
    batch.level[sources] = 0
    batch.sigma[sources] = 1.0
    batch.order[: sources.size] = sources
    front, visited = batch.visit(sources.size), 0
    while True:
        total = await _survey(ctx, batch, front)
        out_edges, into_edges, rounded, large, awake, arcs = total.tolist()
        if awake == 0:
            return
        batch.layers.append(front)
        batch.facts.append((out_edges, into_edges, awake))
        visited += into_edges
        if rounded and not batch.in_rows:
            await _recount(ctx, batch, front)
        if large and batch.sigma_exponent is None:
            batch.widen()
            normalise(front, batch.sigma, batch.sigma_exponent)
        depth = len(batch.layers)
        if batch.in_rows:
            front = await _in_rows(ctx, batch, front, depth)
        elif arcs - visited + batch.shard.num_vertices * batch.copies < out_edges:
            front = await _bottom_up(ctx, batch, front, depth)
        else:
            front = await _top_down(ctx, batch, front, depth)


async def _survey(ctx: Context, batch: Batch, front: Members) -> NDArray[np.int64]:
    """Return what all slots need to know of the frontier; tell its counts if it is time."""
    out, into = batch.shard.out, batch.shard.into
    if batch.sigma_exponent is not None:
        normalise(front, batch.sigma, batch.sigma_exponent)
    facts = survey(front, batch.copies, out.offsets, into.offsets, batch.sigma)
    votes = (*facts, front.size, into.targets.size * batch.copies)
    if not batch.in_rows:
        return await ctx.allreduce(votes, work=facts[0])
    await _tell(ctx, batch, front, len(batch.layers), votes, facts[0])
    return ctx.vote


async def _tell(
    ctx: Context, batch: Batch, front: Members, depth: int, vote: Any = None, work: int = 0
) -> None:
    """Tell the proxies of masters at `depth` that they are, and how many paths lead there."""
    counts = batch.sigma, batch.sigma_exponent
    batch.level[await _tell_some(ctx, batch, front, counts, vote, work)] = depth


async def _tell_all(ctx: Context, batch: Batch) -> None:
    """Tell all proxies the levels and path counts."""
    await ctx.broadcast(batch.union, batch.level)
    await ctx.broadcast(batch.union, batch.sigma)


async def _recount(ctx: Context, batch: Batch, front: Members) -> None:
    """Count the paths to the last layer again, in rows, as all that follow will be."""
    batch.in_rows = True
    await _tell_all(ctx, batch)
    depth = len(batch.layers) - 1
    _count_in_rows(batch, front, depth)
    await _tell(ctx, batch, front, depth)


def _count_in_rows(batch: Batch, members: Members, depth: int) -> None:
    into = batch.shard.into
    counts = batch.level, batch.sigma, batch.sigma_exponent
    count_in_rows(members, depth, batch.copies, *counts, into.offsets, into.targets)


async def _in_rows(ctx: Context, batch: Batch, front: Members, depth: int) -> Members:
    """Let the frontier only be followed, and `depth` count; return the masters there."""
    layer = await _top_down(ctx, batch, front, depth)
    _count_in_rows(batch, layer, depth)
    return layer


async def _top_down(ctx: Context, batch: Batch, front: Members, depth: int) -> Members:
    """Let the frontier push its path counts; return the masters at `depth`."""
    masters, out, room = batch.union.masters, batch.shard.out, batch.order[batch.visited :]
    sigma = None if batch.in_rows else batch.sigma
    found, proxies = push_counts(
        front, depth, batch.copies, masters, batch.level, sigma, out.offsets, out.targets,
        room, batch.proxies,
    )  # fmt: skip
    work = found + proxies.size
    left = batch.shard.num_vertices * batch.copies - sum(each[2] for each in batch.facts)
    about = batch.told(batch.facts[-1][0], left)
    if sigma is not None:
        _expect(ctx, about)
        met = await ctx.reduce(batch.union, proxies, sigma[proxies], work=work)
    else:
        marks = np.ones(proxies.size, np.bool_)
        met = await ctx.reduce(batch.union, proxies, marks, None, work, "or", about)
    return batch.visit(receive_counts(*met, depth, batch.level, sigma, room, found))


async def _bottom_up(ctx: Context, batch: Batch, front: Members, depth: int) -> Members:
    """Let the unvisited add up counts of the frontier; return the masters at `depth`."""
    into = batch.shard.into
    batch.shown[front] = batch.sigma[front]
    told = await _show(ctx, batch, front, depth - 1)
    found = pull_counts(
        depth, batch.copies, batch.level, batch.sigma, batch.shown, into.offsets,
        into.targets, batch.order[batch.visited :],
    )  # fmt: skip
    _hide(batch, front, told)
    return batch.visit(found)


def _pulls(batch: Batch, depth: int) -> bool:
    """Return whether delta at `depth` is pulled; then what is deeper is shown to all."""
    into_edges, told = batch.facts[depth + 1][1:]
    if _is_dense(batch, told):
        told = batch.shard.num_vertices * batch.copies
    return batch.facts[depth][0] + told <= PULL * into_edges


def _is_dense(batch: Batch, count: int) -> bool:
    """Return whether so many vertices are told of among all rather than by themselves."""
    return count * SPARSE > batch.shard.num_vertices * batch.copies


async def _accumulate(ctx: Context, batch: Batch, depth: int) -> None:
    """Find delta at `depth` from delta one level deeper.

    ``delta[u] = sigma[u] * sum((1 + delta[v]) / sigma[v])`` over the edges from u to level
    `depth` + 1.
    """
    here, deeper = batch.layers[depth], batch.layers[depth + 1]
    out, into, masters = batch.shard.out, batch.shard.into, batch.union.masters
    counts = batch.delta, batch.sigma, batch.sigma_exponent, batch.shown
    if _pulls(batch, depth):
        show_terms(deeper, *counts, batch.shown_exponent)
        told = await _show(ctx, batch, deeper, depth + 1)
        pull_terms(
            here, batch.copies, *counts, batch.shown_exponent, out.offsets, out.targets,
            batch.grids,
        )  # fmt: skip
        _hide(batch, deeper, told)
    else:
        proxies = push_terms(
            deeper, depth, batch.copies, masters, batch.level, *counts, into.offsets,
            into.targets, batch.proxies, batch.grids,
        )  # fmt: skip
        sums = pairs(proxies, batch.shown, batch.delta)
        work = batch.facts[depth][1] // ctx.slots
        _expect(ctx, batch.told(batch.facts[depth + 1][1], batch.facts[depth][2]))
        met, sums = await ctx.reduce(batch.union, proxies, sums, work=work)
        receive_terms(met, sums, batch.shown, batch.delta)
        settle_terms(here, batch.shown, batch.delta)


async def _show(ctx: Context, batch: Batch, members: Members, depth: int) -> Members | slice:
    """Let the proxies of `members`, the masters at a depth, show what these do.

    Returns which proxies may show something now.
    """
    shown = batch.shown, batch.shown_exponent
    out_edges, into_edges, count = batch.facts[depth]
    if _is_dense(batch, count):
        for some in shown:
            if some is not None:
                await ctx.broadcast(batch.union, some)
        return slice(batch.union.masters, None)
    _expect(ctx, expected(max(out_edges, into_edges), count * (ctx.slots - 1)))
    return await _tell_some(ctx, batch, members, shown, None, members.size)


def _expect(ctx: Context, messages: int) -> None:
    """Say about how many messages the next frames will have."""
    if ctx.gateways is not None:
        ctx.gateways.figures.expect("frames", messages)


async def _tell_some(
    ctx: Context,
    batch: Batch,
    members: Members,
    arrays: tuple[Array, Array | None],
    vote: Any,
    work: int,
) -> Members:
    """Let the proxies of `members` have what these have in one array or two; return them."""
    members.sort()
    some = [array for array in arrays if array is not None]
    mine = (array[members] for array in some)
    told, *came = await broadcast_some(ctx, batch.union, members, *mine, vote=vote, work=work)
    for array, theirs in zip(some, came, strict=True):
        array[told] = theirs
    return told


def _hide(batch: Batch, members: Members, proxies: Members | slice) -> None:
    """Show nothing any more, after these did."""
    batch.shown[members] = 0.0
    batch.shown[proxies] = 0.0


@kernel
def survey(front, copies, out_offsets, into_offsets, sigma):  # type: ignore[no-untyped-def]
    """Return the edges out of and into the frontier, and of its counts whether any is large.

    That is whether one may be rounded, and whether one needs an exponent.
    """
    out_edges, into_edges, rounded, large = 0, 0, 0, 0
    for member in front:
        v = member // copies
        out_edges += out_offsets[v + 1] - out_offsets[v]
        into_edges += into_offsets[v + 1] - into_offsets[v]
        if sigma[member] >= EXACT:
            rounded = 1
        if sigma[member] >= LARGE:
            large = 1
    return out_edges, into_edges, rounded, large
