"""Sketches of edge lists: their size, their vertices and degrees, from a bounded sample.

An id belongs to the sample if its hash is small: the same ids in every partition, on every
machine (adaptive sampling, [1]_). So sketches of partitions merge, an edge that occurs in two
of them counts once, and all edges of a sampled vertex are seen. What is small is sampled whole.

References
----------
.. [1] P. Flajolet: On adaptive sampling, Computing 43 (1990), doi:10.1007/BF02241657
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import reduce
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from dgraph.distinct import distinct
from dgraph.vertices.hash import hash_ints
from dgraph.vertices.ids import Ids, StringIds

__all__ = ["IN", "OUT", "Sample", "Sketch"]

Words = NDArray[np.uint64]

#: Rows of a sample at most. Of a graph of mean degree 32 they are the edges of 4,000 vertices,
#: which tell the number of vertices to 2 % (one standard deviation).
MOST = 1 << 17

#: In which rows of a vertex an edge stands.
IN, OUT = 1, 2

_ODD = np.uint64(0x9E3779B97F4A7C15)


@dataclass(frozen=True, slots=True)
class Sample:
    """The distinct rows of a table whose first column, a hash, has `level` leading zeros.

    Parameters
    ----------
    level : int
        One key in ``2**level`` is sampled.
    rows : uint64 array of shape (m, columns)
    count : int64 array of length m
        How often the table has each row.

    Examples
    --------
    >>> table = np.arange(2**18, dtype=np.uint64)
    >>> sample = Sample.of(hash_ints(table))
    >>> sample.level, abs(sample.keys / 2**18 - 1) < 0.01
    (2, True)
    """

    level: int
    rows: Words
    count: NDArray[np.int64]

    @classmethod
    def of(cls, *columns: Words) -> Self:
        """Sample a table; its first column is the hash."""
        level = max(0, (len(columns[0]) - 1) // MOST).bit_length()
        keep = _is_sampled(columns[0], level)
        rows = np.stack([column[keep] for column in columns], axis=1)
        return cls._distinct(level, rows, np.ones(len(rows), np.int64))

    def merge(self, other: Self) -> Self:
        """Return the sample of both tables."""
        level = max(self.level, other.level)
        rows = np.concatenate([self.rows, other.rows])
        count = np.concatenate([self.count, other.count])
        keep = _is_sampled(rows[:, 0], level)
        return self._distinct(level, rows[keep], count[keep])

    @classmethod
    def _distinct(cls, level: int, rows: Words, count: NDArray[np.int64]) -> Self:
        rows, count = _distinct_rows(rows, count)
        while len(rows) > MOST and len(distinct(rows[:, 0])) > 1:
            level += 1
            keep = _is_sampled(rows[:, 0], level)
            rows, count = rows[keep], count[keep]
        return cls(level, rows, count)

    @property
    def keys(self) -> float:
        """Estimate how many distinct keys the table has."""
        return float(len(distinct(self.rows[:, 0])) * 2**self.level)


def _distinct_rows(rows: Words, count: NDArray[np.int64]) -> tuple[Words, NDArray[np.int64]]:
    """Return each row once, ascending, and the sum of its counts.

    >>> _distinct_rows(np.array([[2, 1], [1, 5], [2, 1]], np.uint64), np.array([1, 2, 3]))
    (array([[1, 5],
           [2, 1]], dtype=uint64), array([2, 4]))
    """
    ascending = np.lexsort(rows.T[::-1])  # ten times as fast as numpy.unique(axis=0)
    rows = rows[ascending]
    new = np.ones(len(rows), np.bool_)
    new[1:] = (rows[1:] != rows[:-1]).any(axis=1)
    total = np.cumsum(np.append(0, count[ascending]))
    starts = np.append(np.flatnonzero(new), len(rows))
    return rows[new], np.diff(total[starts])


def _is_sampled(hashes: Words, level: int) -> NDArray[np.bool_]:
    return hashes <= np.uint64((1 << (64 - level)) - 1)


@dataclass(frozen=True, slots=True)
class Sketch:
    """What is known of some edges.

    Parameters
    ----------
    rows, loops : int
        The edges, parallel ones counted each, and those of them that are loops.
    wide : bool
        Whether some weight needs float64.
    edges : Sample
        Rows (edge, source, target); of an undirected edge the lower hash first.
    ends : Sample
        Rows (vertex, neighbour, way), a row for each entry of the rows of the vertex: IN (or
        undirected) and OUT; a vertex that was declared is its own neighbour, by no WAY.
    sizes : Sample
        Rows (vertex, bytes of its id).
    """

    rows: int
    loops: int
    wide: bool
    edges: Sample
    ends: Sample
    sizes: Sample

    @classmethod
    def of(
        cls, source: Ids, target: Ids, weight: NDArray[Any] | None = None, *, directed: bool
    ) -> Self:
        """Sketch some edges.

        Examples
        --------
        >>> from dgraph.vertices.ids import IntIds
        >>> ids = IntIds(np.array([1, 2, 1]))
        >>> sketch = Sketch.of(ids, ids.take(np.array([1, 0, 0])), directed=False)
        >>> sketch.rows, sketch.loops, sketch.edges.keys, sketch.ends.keys
        (3, 1, 2.0, 2.0)
        """
        near, far = source.hash(), target.hash()
        loop = near == far
        low, high = (near, far) if directed else (np.minimum(near, far), np.maximum(near, far))
        both, other = np.concatenate([near, far]), np.concatenate([far, near])
        way = np.repeat(np.array([OUT if directed else IN, IN], np.uint64), len(loop))
        sizes = np.concatenate([_sizes(source), _sizes(target)])
        narrow = weight is None or bool((weight.astype(np.float32) == weight).all())
        return cls(
            rows=len(loop),
            loops=int(loop.sum()),
            wide=not narrow,
            edges=Sample.of(hash_ints(low * _ODD + high), low, high),
            ends=Sample.of(both, other, way),
            sizes=Sample.of(both, sizes),
        )

    @classmethod
    def of_vertices(cls, ids: Ids) -> Self:
        """Sketch vertices without edges."""
        none = np.zeros(0, np.uint64)
        hashes = ids.hash()
        return cls(
            rows=0,
            loops=0,
            wide=False,
            edges=Sample.of(none, none, none),
            ends=Sample.of(hashes, hashes, np.zeros(len(hashes), np.uint64)),
            sizes=Sample.of(hashes, _sizes(ids)),
        )

    def merge(self, other: Self) -> Self:
        """Return the sketch of the edges of both."""
        return type(self)(
            rows=self.rows + other.rows,
            loops=self.loops + other.loops,
            wide=self.wide or other.wide,
            edges=self.edges.merge(other.edges),
            ends=self.ends.merge(other.ends),
            sizes=self.sizes.merge(other.sizes),
        )

    @classmethod
    def merge_all(cls, sketches: Iterable[Self]) -> Self:
        """Return the sketch of all edges."""
        return reduce(cls.merge, sketches)

    @property
    def loops_distinct(self) -> float:
        """Estimate how many loops there are, parallel ones counted once."""
        _, low, high = self.edges.rows.T
        return float((low == high).sum()) * 2.0**self.edges.level


def _sizes(ids: Ids) -> Words:
    """Return the bytes that each id takes: of a string, its text and an offset."""
    if isinstance(ids, StringIds):
        return np.diff(ids.to_columns()[0]).astype(np.uint64) + np.uint64(8)
    return np.full(len(ids), np.dtype(ids.dtype).itemsize, np.uint64)
