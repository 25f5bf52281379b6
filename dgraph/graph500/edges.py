"""The edges that a result is held against: the tuples of the benchmark, or those of a graph.

Both are seen as pieces of pairs (near, far) of positions among some vertices, to which the
values that masters have can be spread::

               positions                   pieces                        each edge occurs
    rows       local ids of the shard      in-edges of the masters       as often as in rows
    tuples     vertices they name, by      the tuples that this slot     once
               placed number               has generated

A kernel works on the graph, in which parallel tuples are one edge. Validation and the count of
traversed edges want every tuple as it was generated, multiples included. Because a tuple is a
function of its index, each slot makes its share anew, finds out where the ends lie, and keeps
that: 8 bytes a tuple, 12 with weights.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from time import perf_counter
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dgraph.build.joining import whole_rows
from dgraph.build.numberset import NumberSet, mark
from dgraph.edges.generate import kronecker, kronecker_rows
from dgraph.engine.context import Context
from dgraph.errors import RunError
from dgraph.graph500.places import placed_of
from dgraph.shard import Shard, number_dtype
from dgraph.vertices.ids import IntIds

__all__ = ["EdgeList", "Edges", "Piece", "RowEdges", "TupleEdges", "edges_of", "prepare"]

Array = NDArray[Any]
Piece = tuple[Array, Array, Array | None]

#: Edges of a piece: its arrays stay in the cache of the second level.
PIECE = 1 << 16

#: Tuples that are generated at a time.
BATCH = 1 << 20

_KEPT = "graph500 tuples"


@dataclass(frozen=True, slots=True)
class EdgeList:
    """The edge list of a run of the benchmark: `dgraph.generate.kronecker` of these arguments.

    Examples
    --------
    >>> EdgeList(10).tuples
    16384
    """

    scale: int
    edgefactor: int = 16
    seed: int = 1
    weighted: bool = False

    @property
    def tuples(self) -> int:
        """How many edge tuples there are."""
        return self.edgefactor << self.scale

    def frame(self) -> Any:
        """Return the Dask DataFrame that kernel 1 reads."""
        return kronecker(self.scale, self.edgefactor, seed=self.seed, weights=self.weighted)

    def make(self, begin: int, end: int) -> Piece:
        """Generate the tuples from `begin` to `end`: ids at both ends, and weights."""
        dtype = number_dtype(1 << self.scale)
        near, far = np.empty(end - begin, dtype), np.empty(end - begin, dtype)
        weight = np.empty(end - begin, np.float32) if self.weighted else None
        for start in range(begin, end, BATCH):
            stop = min(start + BATCH, end)
            rows = slice(start - begin, stop - begin)
            made = kronecker_rows(
                self.scale, start, stop, seed=self.seed, weights=self.weighted
            )
            near[rows], far[rows] = made["source"], made["target"]
            if weight is not None:
                weight[rows] = made["weight"]
        return near, far, weight


class Edges(ABC):
    """The part of the edges that one slot has.

    Attributes
    ----------
    symmetric : bool
        Whether a piece has an edge that leads both ways in one direction only.
    copies : int
        In how many pieces, of all slots together, an edge occurs.
    """

    symmetric: bool
    copies: int

    @abstractmethod
    async def spread(self, ctx: Context, values: Array) -> Array:
        """Return the values at all positions, given those of the masters: one exchange."""

    @abstractmethod
    async def collect(self, ctx: Context, flags: Array) -> Array:
        """Return the flags of the masters: or of what all slots have at their positions."""

    @abstractmethod
    def pieces(self) -> Iterator[Piece]:
        """Yield the edges: positions at both ends, and weights if there are any."""


class RowEdges(Edges):
    """The edges of a graph, as in-edges of this slot's masters: far is the master.

    >>> from tests.reference import build, plain
    >>> shard, = build(plain([7, 7], [8, 9], directed=True))
    >>> [(near.tolist(), far.tolist()) for near, far, _ in RowEdges(shard).pieces()]
    [([0, 0], [1, 2])]
    """

    symmetric = False

    def __init__(self, shard: Shard) -> None:
        self._shard = shard
        self.copies = 1 if shard.directed else 2

    async def spread(self, ctx: Context, values: Array) -> Array:
        """Return the values over the local ids."""
        whole = np.zeros(self._shard.size, values.dtype)
        whole[: values.size] = values
        await ctx.broadcast(self._shard, whole)
        return whole

    async def collect(self, ctx: Context, flags: Array) -> Array:
        """Return the flags of the masters: only these are far ends."""
        return flags[: self._shard.masters]

    def pieces(self) -> Iterator[Piece]:
        """Yield the edges; a piece may begin and end within a row."""
        rows = self._shard.into
        for begin in range(0, rows.targets.size, PIECE):
            end = min(begin + PIECE, rows.targets.size)
            first = int(np.searchsorted(rows.offsets, begin, side="right")) - 1
            last = int(np.searchsorted(rows.offsets, end, side="left"))
            cuts = np.clip(rows.offsets[first : last + 1], begin, end)
            far = np.repeat(np.arange(first, last, dtype=np.int32), cuts[1:] - cuts[:-1])
            weight = None if rows.weights is None else rows.weights[begin:end]
            yield rows.targets[begin:end], far, weight


@dataclass(frozen=True)
class TupleEdges(Edges):
    """A share of the edge list, its ends as positions among the vertices that it names.

    Parameters
    ----------
    near, far : arrays
    weight : float32 array or None
    masters : int
        How many this slot has.
    shared : tuple of arrays, one for each slot
        My masters that the share of that slot names, ascending.
    starts : list of int
        The vertices that slot k owns have the positions from ``starts[k]`` to ``starts[k+1]``.
    """

    near: Array
    far: Array
    weight: Array | None
    masters: int
    shared: tuple[Array, ...]
    starts: list[int]

    symmetric = True
    copies = 1

    @property
    def nbytes(self) -> int:
        """Bytes of the arrays."""
        weight = 0 if self.weight is None else self.weight.nbytes
        routes = sum(some.nbytes for some in self.shared)
        return self.near.nbytes + self.far.nbytes + weight + routes

    async def spread(self, ctx: Context, values: Array) -> Array:
        """Return the values of the vertices that the tuples name."""
        came = await ctx.alltoall([(values[mine],) for mine in self.shared])
        return np.concatenate([some[0] for some in came if some is not None])

    async def collect(self, ctx: Context, flags: Array) -> Array:
        """Return the flags of the masters."""
        whole = np.zeros(self.masters, flags.dtype)
        came = await ctx.alltoall([(flags[a:b],) for a, b in pairwise(self.starts)])
        for mine, some in zip(self.shared, came, strict=True):
            if some is not None:
                whole[mine] |= some[0]
        return whole

    def pieces(self) -> Iterator[Piece]:
        """Yield the tuples."""
        for begin in range(0, self.near.size, PIECE):
            rows = slice(begin, begin + PIECE)
            weight = None if self.weight is None else self.weight[rows]
            yield self.near[rows], self.far[rows], weight


async def edges_of(ctx: Context, shard: Shard, listed: EdgeList | None) -> Edges:
    """Return the tuples of the edge list that the graph was made of, else the graph's edges."""
    if listed is None:
        return RowEdges(await whole_rows(ctx, shard))
    kept: TupleEdges | None = shard.derived.get(_KEPT)
    if (await ctx.allreduce([kept is not None], "min"))[0]:
        assert kept is not None
        return kept
    made, _ = await _gather(ctx, shard, listed)
    return made


async def prepare(ctx: Context, shard: Shard, listed: EdgeList) -> float:
    """Keep the tuples beside the shard; return the seconds that it took to generate them."""
    shard.derived[_KEPT], seconds = await _gather(ctx, shard, listed)
    return seconds


async def _gather(ctx: Context, shard: Shard, listed: EdgeList) -> tuple[TupleEdges, float]:
    """Generate this slot's share of the tuples and find out where their ends lie."""
    began = perf_counter()
    share = [listed.tuples * (ctx.slot + end) // ctx.slots for end in (0, 1)]
    near, far, weight = listed.make(*share)
    seconds = perf_counter() - began
    named = _distinct(near, far, 1 << listed.scale)
    placed = await placed_of(ctx, shard, IntIds(named.numbers()))
    await _check_all_there(ctx, named, placed)
    sequence = np.argsort(placed)
    position = np.empty_like(near, shape=len(sequence))
    position[sequence] = np.arange(len(sequence))
    for begin in range(0, near.size, BATCH):
        rows = slice(begin, begin + BATCH)
        ends = [position[named.positions(ids[rows])] for ids in (near, far)]
        _arrange(near[rows], far[rows], None if weight is None else weight[rows], *ends)
    placed = placed[sequence]
    starts = np.searchsorted(placed, shard.bases).tolist()
    bases = shard.bases[:-1].tolist()
    wanted = [
        (placed[a:b] - base,) for (a, b), base in zip(pairwise(starts), bases, strict=True)
    ]
    shared = tuple(some[0] for some in await ctx.alltoall(wanted) if some is not None)
    return TupleEdges(near, far, weight, shard.masters, shared, starts), seconds


def _arrange(near: Array, far: Array, weight: Array | None, one: Array, other: Array) -> None:
    """Let tuples follow their far ends, of which one is the vertex with fewer edges.

    Of every slot's vertices those with many edges come first, and stay in the cache. So a pass
    over the tuples of scale 21 takes 31 ns for each, instead of 71 in the generated sequence.
    """
    rare = np.maximum(one, other)
    sequence = np.argsort(rare)
    near[:] = np.minimum(one, other)[sequence]
    far[:] = rare[sequence]
    if weight is not None:
        weight[:] = weight[sequence]


def _distinct(near: Array, far: Array, limit: int) -> NumberSet:
    """Return the ids that occur: a bitmap is small beside the tuples.

    Examples
    --------
    >>> _distinct(np.array([3, 1]), np.array([1, 9]), 16).numbers()
    array([1, 3, 9])
    """
    bits = NumberSet.empty(limit)
    mark(bits, near, 0)
    mark(bits, far, 0)
    return NumberSet.of(bits, near.dtype)


async def _check_all_there(ctx: Context, named: NumberSet, placed: Array) -> None:
    missing = np.flatnonzero(placed < 0)
    none = np.iinfo(np.int64).max
    first = int(named.numbers()[missing[0]]) if missing.size else none
    first = int((await ctx.allreduce([first], "min"))[0])
    if first != none:
        raise RunError(f"the edge list names vertex {first}, which the graph does not have")
