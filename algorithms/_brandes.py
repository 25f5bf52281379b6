"""Betweenness of a batch of sources without weights: kernels and supersteps.

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

from dgraph.algorithms._path_counts import LARGE, add, normalise, scaled
from dgraph.engine.context import Context
from dgraph.kernels import kernel
from dgraph.shard import Shard

__all__ = ["Batch", "bytes_per_source", "dependencies"]

#: An edge that is pulled along costs so many times less than one that is pushed along, which
#: reads a level and writes a sum.
PULL = 2

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

    Attributes
    ----------
    union : Shard
        Of all copies, for exchanges. Its edges are those of the one graph.
    level : int32 array over the local ids of all copies
        The distance from the source, -1 unvisited.
    sigma, sigma_exponent : arrays over them
        Brandes' sigma, the number of shortest paths from the source.
    delta : float64 array over them
        Brandes' delta, the dependency of the source on each vertex.
    shown, shown_exponent : arrays over them
        What the vertices of one level show to the others; 0 elsewhere.
    order : int32 array
        The masters in the sequence in which they were visited.
    layers : list of int32 arrays
        The parts of `order`, by level.
    edges : list of pairs
        For each level the edges out of it and into it, on all slots.
    """

    def __init__(self, ctx: Context, shard: Shard, copies: int) -> None:
        self.shard = shard
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
        self.visited = 0
        self.layers: list[Members] = []
        self.edges: list[tuple[int, int]] = []

    def visit(self, count: int) -> Members:
        """Take the next masters in `order` for a layer."""
        self.visited += count
        return self.order[self.visited - count : self.visited]

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
    await ctx.broadcast(batch.union, batch.level)
    for depth in range(len(batch.layers) - 2, 0, -1):
        await _accumulate(ctx, batch, depth)


async def _count_paths(ctx: Context, batch: Batch, sources: Members) -> None:
    """Find levels and path counts, level by level."""
    out, into = batch.shard.out, batch.shard.into
    batch.level[sources] = 0
    batch.sigma[sources] = 1.0
    batch.order[: sources.size] = sources
    front, visited = batch.visit(sources.size), 0
    while True:
        facts = survey(front, batch.copies, out.offsets, into.offsets, batch.sigma)
        votes = (*facts, front.size, into.targets.size * batch.copies)
        total = await ctx.allreduce(votes, work=facts[0])
        out_edges, into_edges, large, awake, arcs = total.tolist()
        if awake == 0:
            return
        batch.layers.append(front)
        batch.edges.append((out_edges, into_edges))
        visited += into_edges
        if large and batch.sigma_exponent is None:
            batch.widen()
        if batch.sigma_exponent is not None:
            normalise(front, batch.sigma, batch.sigma_exponent)
        depth = len(batch.layers)
        if arcs - visited + batch.shard.num_vertices * batch.copies < out_edges:
            front = await _bottom_up(ctx, batch, front, depth)
        else:
            front = await _top_down(ctx, batch, front, depth)


async def _top_down(ctx: Context, batch: Batch, front: Members, depth: int) -> Members:
    """Let the frontier push its path counts; return the masters at `depth`."""
    masters, out = batch.union.masters, batch.shard.out
    counts = batch.level, batch.sigma, batch.sigma_exponent
    room = batch.order[batch.visited :], batch.proxies
    found, proxies = push_counts(
        front, depth, batch.copies, masters, *counts, out.offsets, out.targets, *room
    )
    met = await _reduce(
        ctx, batch, proxies, batch.sigma, batch.sigma_exponent, found + proxies.size
    )
    return batch.visit(receive_counts(*met, depth, *counts, room[0], found))


async def _bottom_up(ctx: Context, batch: Batch, front: Members, depth: int) -> Members:
    """Let the unvisited add up counts of the frontier; return the masters at `depth`."""
    into = batch.shard.into
    batch.shown[front] = batch.sigma[front]
    if batch.sigma_exponent is not None and batch.shown_exponent is not None:
        batch.shown_exponent[front] = batch.sigma_exponent[front]
    await _show(ctx, batch)
    counts = batch.level, batch.sigma, batch.sigma_exponent
    shown = batch.shown, batch.shown_exponent
    found = pull_counts(
        depth, batch.copies, *counts, *shown, into.offsets, into.targets,
        batch.order[batch.visited :],
    )  # fmt: skip
    _hide(batch, front)
    return batch.visit(found)


async def _accumulate(ctx: Context, batch: Batch, depth: int) -> None:
    """Find delta at `depth` from delta one level deeper.

    ``delta[u] = sigma[u] * sum((1 + delta[v]) / sigma[v])`` over the edges from u to level
    `depth` + 1. What v shows is its term of the sum.
    """
    here, deeper = batch.layers[depth], batch.layers[depth + 1]
    out, into = batch.shard.out, batch.shard.into
    sigma = batch.sigma, batch.sigma_exponent
    shown = batch.shown, batch.shown_exponent
    show_terms(deeper, batch.delta, *sigma, *shown)
    told = batch.shard.num_vertices * batch.copies  # to pull, all is shown to all
    if batch.edges[depth][0] + told <= PULL * batch.edges[depth + 1][1]:
        await _show(ctx, batch)
        pull_terms(here, batch.copies, batch.delta, *sigma, *shown, out.offsets, out.targets)
        _hide(batch, deeper)
    else:
        proxies = push_terms(
            deeper, depth, batch.copies, batch.union.masters, batch.level, *shown,
            into.offsets, into.targets, batch.proxies,
        )  # fmt: skip
        work = batch.edges[depth][1] // ctx.slots
        receive_terms(*await _reduce(ctx, batch, proxies, *shown, work), *shown)
        settle_terms(here, batch.delta, *sigma, *shown)
        for touched in here, deeper, proxies:
            batch.shown[touched] = 0.0


async def _show(ctx: Context, batch: Batch) -> None:
    """Let all slots see what is shown."""
    await ctx.broadcast(batch.union, batch.shown)
    if batch.shown_exponent is not None:
        await ctx.broadcast(batch.union, batch.shown_exponent)


def _hide(batch: Batch, members: Members) -> None:
    """Show nothing any more, after `members` did."""
    batch.shown[members] = 0.0
    batch.shown[batch.union.masters :] = 0.0


async def _reduce(
    ctx: Context,
    batch: Batch,
    proxies: Members,
    values: Array,
    exponents: Array | None,
    work: int,
) -> tuple[Members, Array, Array | None]:
    """Send the counts of some proxies to their masters."""
    met, sums = await ctx.reduce(batch.union, proxies, values[proxies], work=work)
    if exponents is None:
        return met, sums, None
    met, sums = met.copy(), sums.copy()  # received arrays are good for one exchange
    _, exponents = await ctx.reduce(batch.union, proxies, exponents[proxies], work=work)
    return met, sums, exponents


@kernel
def survey(front, copies, out_offsets, into_offsets, sigma):  # type: ignore[no-untyped-def]
    """Return the edges out of and into the frontier, and whether counts need exponents."""
    out_edges, into_edges, large = 0, 0, 0
    for member in front:
        v = member // copies
        out_edges += out_offsets[v + 1] - out_offsets[v]
        into_edges += into_offsets[v + 1] - into_offsets[v]
        if sigma[member] >= LARGE:
            large = 1
    return out_edges, into_edges, large


@kernel
def push_counts(  # type: ignore[no-untyped-def]
    front, depth, copies, masters, level, sigma, exponent, offsets, targets, found, proxies
):
    """Push path counts to `depth`; return how many masters were found, and the proxies."""
    founds, proxy = 0, 0
    for member in front:
        u = member // copies
        source = member - u * copies
        power = 0 if exponent is None else exponent[member]
        for j in range(np.uint64(offsets[u]), np.uint64(offsets[u + 1])):
            v = np.uint64(targets[j] * copies + source)
            if level[v] < 0:
                level[v] = depth
                if v < masters:
                    found[founds] = v
                    founds += 1
                else:
                    proxies[proxy] = v
                    proxy += 1
            if level[v] == depth:
                add(sigma, exponent, v, sigma[member], power)
    return founds, proxies[:proxy]


@kernel
def receive_counts(  # type: ignore[no-untyped-def]
    met, sums, powers, depth, level, sigma, exponent, found, founds
):
    """Take the counts that other slots pushed; return how many masters are now found."""
    for i in range(met.size):
        v = met[i]
        if level[v] < 0:
            level[v] = depth
            found[founds] = v
            founds += 1
        if level[v] == depth:
            add(sigma, exponent, v, sums[i], 0 if powers is None else powers[i])
    return founds


@kernel
def pull_counts(  # type: ignore[no-untyped-def]
    depth, copies, level, sigma, exponent, shown, shown_exponent, offsets, targets, found
):
    """Let the unvisited masters add up what is shown; return how many found something."""
    founds = 0
    for v in range(offsets.size - 1):
        for member in range(v * copies, (v + 1) * copies):
            if level[member] >= 0:
                continue
            source = member - v * copies
            total = 0.0
            for j in range(np.uint64(offsets[v]), np.uint64(offsets[v + 1])):
                u = np.uint64(targets[j] * copies + source)
                if exponent is None:
                    total += shown[u]
                elif shown[u] > 0.0:
                    add(sigma, exponent, member, shown[u], shown_exponent[u])
            sigma[member] += total
            if sigma[member] > 0.0:
                level[member] = depth
                found[founds] = member
                founds += 1
    return founds


@kernel
def show_terms(members, delta, sigma, exponent, shown, shown_exponent):  # type: ignore[no-untyped-def]
    """Show what each member adds to the dependencies of its predecessors."""
    for v in members:
        shown[v] = (1.0 + delta[v]) / sigma[v]
        if exponent is not None:
            shown_exponent[v] = -exponent[v]


@kernel
def pull_terms(  # type: ignore[no-untyped-def]
    members, copies, delta, sigma, exponent, shown, shown_exponent, offsets, targets
):
    """Let every member add up the terms of its successors, which alone show something."""
    for member in members:
        u = member // copies
        source = member - u * copies
        for j in range(np.uint64(offsets[u]), np.uint64(offsets[u + 1])):
            v = np.uint64(targets[j] * copies + source)
            if exponent is None:
                delta[member] += shown[v]
            elif shown[v] > 0.0:
                power = exponent[member] + shown_exponent[v]
                delta[member] += scaled(shown[v] * sigma[member], power)
        if exponent is None:
            delta[member] *= sigma[member]


@kernel
def push_terms(  # type: ignore[no-untyped-def]
    members, depth, copies, masters, level, shown, shown_exponent, offsets, targets, proxies
):
    """Push the terms of members to their predecessors at `depth`; return proxies met."""
    count = 0
    for member in members:
        v = member // copies
        source = member - v * copies
        power = 0 if shown_exponent is None else shown_exponent[member]
        for j in range(np.uint64(offsets[v]), np.uint64(offsets[v + 1])):
            u = np.uint64(targets[j] * copies + source)
            if level[u] == depth:
                if u >= masters and shown[u] == 0.0:
                    proxies[count] = u
                    count += 1
                add(shown, shown_exponent, u, shown[member], power)
    return proxies[:count]


@kernel
def receive_terms(met, sums, powers, shown, shown_exponent):  # type: ignore[no-untyped-def]
    """Add the terms that other slots pushed."""
    for i in range(met.size):
        add(shown, shown_exponent, met[i], sums[i], 0 if powers is None else powers[i])


@kernel
def settle_terms(members, delta, sigma, exponent, shown, shown_exponent):  # type: ignore[no-untyped-def]
    """Multiply the sums of terms by sigma."""
    for u in members:
        delta[u] = shown[u] * sigma[u]
        if exponent is not None:
            delta[u] = scaled(delta[u], exponent[u] + shown_exponent[u])
