"""A stupid builder of shards from an edge list, the oracle for everything that walks shards.

It holds the whole graph in NumPy arrays and follows the definitions of `dgraph.shard.shard`
one after another. Vertices are numbered by `order` (position of the user id) throughout.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import ArrayLike, NDArray

from dgraph.shard import Adjacency, Dictionary, Shard, number_dtype
from dgraph.vertices.ids import Ids, IntIds, StringIds, concat_ids

Array = NDArray[Any]


@dataclass(frozen=True)
class PlainGraph:
    """A whole graph: sorted ids, and its edges between orders after the policies."""

    ids: Ids
    source: NDArray[np.int64]
    target: NDArray[np.int64]
    weight: NDArray[np.float64] | None
    directed: bool

    @property
    def n(self) -> int:
        return len(self.ids)

    @cached_property
    def arcs(self) -> tuple[Array, Array, Array | None]:
        """Every edge in both directions if undirected (a loop once), else as it is."""
        if self.directed:
            return self.source, self.target, self.weight
        back = self.source != self.target
        source = np.concatenate([self.source, self.target[back]])
        target = np.concatenate([self.target, self.source[back]])
        if self.weight is None:
            return source, target, None
        return source, target, np.concatenate([self.weight, self.weight[back]])

    @cached_property
    def degree(self) -> Array:
        """Edges at each vertex; a loop counts 2 (one in and one out if directed)."""
        return np.bincount(self.source, minlength=self.n) + np.bincount(
            self.target, minlength=self.n
        )

    @cached_property
    def by_rank(self) -> Array:
        """Orders of the vertices in the vertex order: higher degree first, then smaller id."""
        return np.argsort(-self.degree, kind="stable")

    @cached_property
    def rank(self) -> Array:
        """Rank of each vertex."""
        return inverse(self.by_rank)


def inverse(permutation: Array) -> Array:
    found = np.empty(len(permutation), np.int64)
    found[permutation] = np.arange(len(permutation))
    return found


def as_ids(values: Any) -> Ids:
    """Return ids of a list, array or Ids: integers or strings."""
    if isinstance(values, Ids):
        return values
    array = np.asarray(values)
    if array.dtype.kind in "iu":
        return IntIds(array)
    if array.size == 0:
        return IntIds(np.zeros(0, np.int64))
    return StringIds(pa.array([str(value) for value in array], pa.large_string()))


def plain(
    source: Any,
    target: Any,
    weight: ArrayLike | None = None,
    *,
    directed: bool = False,
    vertices: Any = None,
    duplicates: str = "keep",
    self_loops: str = "keep",
) -> PlainGraph:
    """Return the graph of an edge list; `vertices` are declared in addition.

    `duplicates`: keep, min, max, sum or first, as `dgraph.from_edges` has them.
    """
    ends = [as_ids(source), as_ids(target)]
    declared = [as_ids(vertices)] if vertices is not None and len(vertices) else []
    codes, ids = concat_ids(ends + declared).factorize()
    edges = len(ends[0])
    u, v = codes[:edges].astype(np.int64), codes[edges : 2 * edges].astype(np.int64)
    w = None if weight is None else np.asarray(weight, np.float64)
    if self_loops == "drop":
        keep = u != v
        u, v, w = u[keep], v[keep], None if w is None else w[keep]
    if duplicates != "keep":
        u, v, w = merge_duplicates(u, v, w, directed, duplicates)
    return PlainGraph(ids, u, v, w, directed)


def merge_duplicates(
    u: Array, v: Array, w: Array | None, directed: bool, policy: str
) -> tuple[Array, Array, Array | None]:
    """Leave one edge of every set of parallel ones."""
    if not directed:
        u, v = np.minimum(u, v), np.maximum(u, v)
    pairs = u * (v.max(initial=0) + 1) + v
    _, first, which = np.unique(pairs, return_index=True, return_inverse=True)
    if w is None or policy == "first":
        return u[first], v[first], None if w is None else w[first]
    fold = {"min": np.minimum, "max": np.maximum, "sum": np.add}[policy]
    start = {"min": np.inf, "max": -np.inf, "sum": 0.0}[policy]
    merged = np.full(len(first), start)
    fold.at(merged, which, w)
    return u[first], v[first], merged


def by_degree(graph: PlainGraph, slots: int) -> Array:
    """Return the slot of each vertex under the default placement: dealt round by rank."""
    return graph.rank % slots


def build(
    graph: PlainGraph,
    slots: int = 1,
    owner: Array | None = None,
    cuts: Sequence[int] | Array | None = None,
) -> list[Shard]:
    """Return the shards of a graph.

    Parameters
    ----------
    owner : array of length n, optional
        The slot of each vertex, by order. Default: "degree".
    cuts : array of length slots + 1, optional
        Where the blocks of the dictionary begin and end. Default: even.
    """
    owner = by_degree(graph, slots) if owner is None else np.asarray(owner, np.int64)
    if cuts is None:
        cuts = [graph.n * slot // slots for slot in range(slots + 1)]
    bases = np.concatenate([[0], np.cumsum(np.bincount(owner, minlength=slots))])
    # placed: grouped by owner, inside a slot by ascending rank
    placed = inverse(np.lexsort((graph.rank, owner)))
    halves = [_Half(graph, slot, slots, owner) for slot in range(slots)]
    return [half.shard(bases, placed, np.asarray(cuts, np.int64), halves) for half in halves]


class _Half:
    """What a slot knows before it hears which of its vertices the others hold."""

    def __init__(self, graph: PlainGraph, slot: int, slots: int, owner: Array) -> None:
        self.graph, self.slot, self.slots = graph, slot, slots
        source, target, weight = graph.arcs
        mine = owner == slot
        touched = np.zeros(graph.n, bool)
        touched[target[mine[source]]] = True
        touched[source[mine[target]]] = True
        self.groups = [
            self._ranked(mine if other == slot else touched & (owner == other))
            for other in range(slots)
        ]
        self.start, self.size = self._lay_out()
        self.local = np.full(graph.n, -1, np.int64)
        for start, group in zip(self.start, self.groups, strict=True):
            self.local[group] = start + np.arange(len(group))
        self.out = self._rows(source, target, weight, mine)
        self.into = self._rows(target, source, weight, mine) if graph.directed else self.out

    def _ranked(self, members: Array) -> Array:
        return self.graph.by_rank[members[self.graph.by_rank]]

    def _lay_out(self) -> tuple[Array, int]:
        """Return where each group starts: masters, then the others at multiples of 64."""
        start = np.zeros(self.slots, np.int64)
        end = len(self.groups[self.slot])
        for other in range(self.slots):
            if other != self.slot:
                start[other] = -(-end // 64) * 64
                end = start[other] + len(self.groups[other])
        return start, int(end)

    def _rows(self, near: Array, far: Array, weight: Array | None, mine: Array) -> Adjacency:
        """Return the rows of the masters: by ascending rank, parallels by weight."""
        keep = np.flatnonzero(mine[near])
        row, rank = self.local[near[keep]], self.graph.rank[far[keep]]
        if weight is None:
            key = row * max(self.graph.n, 1) + rank
            key.sort()
            target = self.graph.by_rank[key % max(self.graph.n, 1)]
        else:
            sequence = np.lexsort((weight[keep], rank, row))
            target, weight = far[keep][sequence], weight[keep][sequence]
            with np.errstate(over="ignore"):
                narrow = weight.astype(np.float32)
            weight = narrow if np.array_equal(narrow, weight) else weight
        counts = np.bincount(row, minlength=len(self.groups[self.slot]))
        offsets = np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)
        return Adjacency(offsets, self.local[target].astype(np.int32), weight)

    def shard(self, bases: Array, placed: Array, cuts: Array, halves: list[_Half]) -> Shard:
        graph, slot = self.graph, self.slot
        number = number_dtype(graph.n)
        rank = np.full(self.size, graph.n, number)
        for start, group in zip(self.start, self.groups, strict=True):
            rank[start : start + len(group)] = graph.rank[group]
        none = np.zeros(0, np.int32)
        block = slice(cuts[slot], cuts[slot + 1])
        masters = self.groups[slot]
        return Shard(
            slot=slot,
            slots=self.slots,
            num_vertices=graph.n,
            num_edges=len(graph.source),
            directed=graph.directed,
            bases=bases.astype(np.int64),
            group_start=self.start,
            group_size=np.array([len(group) for group in self.groups], np.int64),
            size=self.size,
            rank=rank,
            order=masters.astype(number),
            ids=graph.ids.take(masters),
            out=self.out,
            into=self.into,
            shared=tuple(
                none if other is self else self.local[other.groups[slot]].astype(np.int32)
                for other in halves
            ),
            dictionary=Dictionary(
                cuts, graph.ids.slice(block.start, block.stop), placed[block].astype(number)
            ),
        )


def gather(shards: Sequence[Shard], values: Sequence[Any]) -> Array:
    """Return a result over all vertices by order, from what each slot has for its masters."""
    whole = np.zeros(shards[0].num_vertices, np.asarray(values[0]).dtype)
    for shard, part in zip(shards, values, strict=True):
        whole[shard.order] = part
    return whole
