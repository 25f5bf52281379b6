"""Hypothesis draws graphs of every kind, and ways to spread them over slots."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from hypothesis import strategies as st
from numpy.typing import NDArray

from dgraph.shard import Shard
from tests.reference import PlainGraph, build, plain

#: Gaps, negative ones, above 2**53; and names whose order is not that of their numbers.
INTS = [-(2**63), -7, 0, 1, 2, 3, 10, 11, 100, 2**53, 2**53 + 1, 2**63 - 1]
NAMES = ["a", "b", "B", "10", "9", "007", "é", "z", "😀", "\uffff", "", "long " * 9]


@dataclass(frozen=True)
class Spread:
    """How a graph lies on slots."""

    slots: int
    owner: NDArray[np.int64]
    cuts: NDArray[np.int64]

    def shards(self, graph: PlainGraph) -> list[Shard]:
        return build(graph, self.slots, self.owner, self.cuts)


@st.composite
def graphs(draw: st.DrawFn, least: int = 0, weights: bool | None = None) -> PlainGraph:
    """Draw a graph of at least so many vertices; `weights`: with, without, or either."""
    n = draw(st.integers(least, len(INTS)))
    pool: list[Any] = draw(st.sampled_from([INTS, NAMES]))
    ids = np.array(draw(st.permutations(pool))[:n]) if n else np.zeros(0, np.int64)
    vertex = st.integers(0, max(n - 1, 0))
    pairs = draw(st.lists(st.tuples(vertex, vertex), max_size=3 * n if n else 0))
    ends = np.array(pairs, np.int64).reshape(-1, 2)
    weight: Any = None
    if draw(st.booleans()) if weights is None else weights:
        number = st.sampled_from([0.0, 0.1, 0.25, 1.0, 1 / 3, 3.0, 1e6])
        weight = draw(st.lists(number, min_size=len(pairs), max_size=len(pairs)))
    return plain(
        ids[ends[:, 0]],
        ids[ends[:, 1]],
        weight,
        directed=draw(st.booleans()),
        vertices=ids,
        duplicates=draw(st.sampled_from(["keep", "min"])),
    )


@st.composite
def spreads(draw: st.DrawFn, graph: PlainGraph) -> Spread:
    """Draw a number of slots, any placement on them, and any blocks of the dictionary."""
    slots = draw(st.integers(1, 6))
    owner = draw(st.lists(st.integers(0, slots - 1), min_size=graph.n, max_size=graph.n))
    inner = draw(st.lists(st.integers(0, graph.n), min_size=slots - 1, max_size=slots - 1))
    cuts = np.array([0, *sorted(inner), graph.n], np.int64)
    return Spread(slots, np.array(owner, np.int64), cuts)


@st.composite
def spread_graphs(
    draw: st.DrawFn, least: int = 0, weights: bool | None = None
) -> tuple[PlainGraph, Spread]:
    """Draw a graph and a way to spread it."""
    graph = draw(graphs(least, weights))
    return graph, draw(spreads(graph))
