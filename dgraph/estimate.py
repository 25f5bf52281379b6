"""Say how much memory a graph will need, before it is built."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from dgraph.shard import number_dtype
from dgraph.sketch import Sketch

__all__ = ["Census", "by_slot", "shard_bytes"]

#: Groups of proxies start at multiples of this.
ALIGNED = 64


@dataclass(frozen=True, slots=True)
class Census:
    """The figures of a graph that decide how large its shards are.

    Parameters
    ----------
    vertices, edges, loops : float
        After the policies; `loops` are counted in `edges`.
    id_bytes, weight_bytes : float
        Bytes of one id, and of one weight (0: unweighted).
    neighbours : array
        Distinct neighbours of each vertex of a sample.

    Examples
    --------
    >>> Census.of_counts(30, 75).neighbours
    array([5.])
    """

    vertices: float
    edges: float
    loops: float
    id_bytes: float
    weight_bytes: int
    neighbours: NDArray[Any]

    @classmethod
    def of_counts(cls, vertices: int, edges: int, weighted: bool = False) -> Self:
        """Make a census of two numbers: int64 ids, and all degrees the same.

        Uneven degrees need fewer proxies, so this is an upper bound.
        """
        mean = 2 * edges / max(vertices, 1)
        return cls(vertices, edges, 0, 8, 8 * weighted, np.array([mean]))

    @classmethod
    def of_sketch(
        cls, sketch: Sketch, weighted: bool, duplicates: str, self_loops: str
    ) -> Self:
        """Make a census of what a sketch saw, under the policies for parallels and loops."""
        if duplicates == "keep":
            edges, loops = float(sketch.rows), float(sketch.loops)
        else:
            edges = sketch.edges.keys
            loops = float(sketch.edges.rows[:, 1].sum()) * 2**sketch.edges.level
        if self_loops == "drop":
            edges, loops = edges - loops, 0.0
        sizes = sketch.sizes.rows[:, 1]
        return cls(
            vertices=sketch.ends.keys,
            edges=edges,
            loops=loops,
            id_bytes=float(sizes.mean()) if len(sizes) else 8.0,
            weight_bytes=(8 if sketch.wide else 4) if weighted else 0,
            neighbours=sketch.neighbours,
        )


def shard_bytes(census: Census, slots: int, directed: bool) -> float:
    """Return the bytes of one of so many shards, if the owners of vertices are random.

    Examples
    --------
    >>> round(shard_bytes(Census.of_counts(2**20, 2**24), 2, directed=False) / 2**20)
    86
    """
    number = number_dtype(int(census.vertices)).itemsize
    masters = census.vertices / slots
    # A vertex has a proxy on each other slot that owns one of its neighbours.
    reached = 1 - (1 - 1 / slots) ** census.neighbours
    proxies = masters * (slots - 1) * float(reached.mean()) if len(reached) else 0.0
    rank = number * _local_size(masters, proxies, slots)
    order_and_ids = (number + census.id_bytes) * masters
    dictionary = (number + census.id_bytes) * masters
    routes = 4 * proxies
    rows = 2 if directed else 1
    entries = (2 * census.edges - (0 if directed else census.loops)) / slots
    adjacency = 8 * rows * (masters + 1) + (4 + census.weight_bytes) * entries
    return rank + order_and_ids + dictionary + routes + adjacency


def by_slot(sizes: Sequence[float]) -> pd.Series[int]:
    """Return bytes by slot.

    >>> by_slot([10, 20]).to_dict()
    {0: 10, 1: 20}
    """
    index = pd.RangeIndex(len(sizes), name="slot")
    return pd.Series([round(size) for size in sizes], index, np.int64, name="bytes")


def _local_size(masters: float, proxies: float, slots: int) -> float:
    """Return the length of an array over local ids: groups start at multiples of ALIGNED."""
    if slots == 1 or proxies == 0:
        return masters
    group = proxies / (slots - 1)
    blocks = np.ceil(masters / ALIGNED) + (slots - 2) * np.ceil(group / ALIGNED)
    return float(blocks * ALIGNED + group)
