"""What of a graph decides how large its shards are, and how large they get.

Where a vertex has proxies is reckoned for owners that are drawn at random. Of a row that is
split into pieces (see `dgraph.build.rhizomes`) a part lies with the other ends of its entries:

    u has no proxy on s  if no entry about u lies there, and no piece of its own row
    an entry (w, u) lies on s with chance  1/k                     w whole: if s owns it
                                           (1 - home(w)) / (k-1)   w split, s not u's owner
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from dgraph.build.rhizomes import Rhizomes
from dgraph.distinct import distinct
from dgraph.shard import number_dtype
from dgraph.sketch import IN, OUT, Sketch

__all__ = ["Census", "shard_bytes"]

Floats = NDArray[Any]

#: Groups of proxies start at multiples of this.
ALIGNED = 64

#: A vertex counts by itself if a sample of edges holds so many of it: its degree is off by a
#: quarter then (one standard deviation), and so is what follows from it.
SEEN = 16

#: Draws of owners for the rows of one degree, and numbers drawn at most for it.
DRAWS, DRAWN = 32, 1 << 16


@dataclass(frozen=True, slots=True)
class Family:
    """The lengths of rows, of out-edges or in-edges; loops and parallel edges count.

    Parameters
    ----------
    own : float array
        Of each sampled vertex.
    other : float array
        Of the other end of each sampled pair, in the row that names the sampled vertex; 0 if
        there is no such entry, NaN if the row is short and its length not known.
    degree, count : float arrays
        How many rows of the graph have which length.
    """

    own: Floats
    other: Floats
    degree: Floats
    count: Floats


@dataclass(frozen=True, slots=True)
class Census:
    """The figures of a graph that decide how large its shards are.

    Parameters
    ----------
    vertices, edges, loops : float
        After the policies; `loops` are counted in `edges`.
    id_bytes, weight_bytes : float
        Bytes of one id, and of one weight (0: unweighted).
    vertex : int64 array
        Pairs of vertices of a sample and their neighbours: which vertex of the sample.
    times : float array beside `vertex`
        How many such pairs there are.
    families : tuple of Family
        Rows of out-edges and in-edges, of an undirected graph the rows.

    Examples
    --------
    >>> Census.of_counts(30, 75).times
    array([5.])
    """

    vertices: float
    edges: float
    loops: float
    id_bytes: float
    weight_bytes: int
    vertex: NDArray[np.int64]
    times: Floats
    families: tuple[Family, ...] = field(repr=False)

    @classmethod
    def of_counts(
        cls, vertices: int, edges: int, weighted: bool = False, directed: bool = False
    ) -> Self:
        """Make a census of two numbers: int64 ids, and all degrees the same.

        Uneven degrees need fewer proxies, so this is an upper bound.
        """
        times = np.array([2 * edges / max(vertices, 1)])
        degree = np.ceil(times / 2) if directed else np.ceil(times)
        one = Family(degree, degree, degree, np.array([float(vertices)]))
        there = np.zeros(1, np.int64)
        families = (one, one)[: 1 + directed]
        return cls(vertices, edges, 0, 8, 8 * weighted, there, times, families)

    @classmethod
    def of_sketch(
        cls,
        sketch: Sketch,
        dtype: str,
        weighted: bool,
        parallels: bool,
        loopless: bool,
        directed: bool = False,
    ) -> Self:
        """Make a census of what a sketch saw.

        Parameters
        ----------
        sketch : Sketch
        dtype : str
            Of the ids.
        weighted : bool
        parallels, loopless : bool
            Whether parallel edges are kept, and loops dropped.
        directed : bool
        """
        if parallels:
            edges, loops = float(sketch.rows), float(sketch.loops)
        else:
            edges, loops = sketch.edges.keys, sketch.loops_distinct
        if loopless:
            edges, loops = edges - loops, 0.0
        sizes = sketch.sizes.rows[:, 1] if dtype == "str" else [np.dtype(dtype).itemsize]
        vertex, families = _families(sketch, directed, parallels, loopless)
        return cls(
            vertices=sketch.ends.keys,
            edges=edges,
            loops=loops,
            id_bytes=float(np.mean(sizes)) if len(sizes) else 0.0,
            weight_bytes=(8 if sketch.wide else 4) if weighted else 0,
            vertex=vertex,
            times=np.ones(vertex.size),
            families=families,
        )


def _families(
    sketch: Sketch, directed: bool, parallels: bool, loopless: bool
) -> tuple[NDArray[np.int64], tuple[Family, ...]]:
    """Return the sampled vertex of each pair, and the lengths of rows."""
    rows = sketch.ends.rows
    vertices, index = np.unique(rows[:, 0], return_inverse=True)
    loop = rows[:, 0] == rows[:, 1]
    first = np.ones(np.count_nonzero(~loop), bool)
    first[1:] = (rows[~loop, :2][1:] != rows[~loop, :2][:-1]).any(axis=1)
    pair = np.cumsum(first) - 1
    counts = sketch.ends.count if parallels else np.ones(len(rows), np.int64)
    if not directed:  # a loop was seen from both of its ends
        counts = np.where(loop & parallels, counts // 2, counts)
    families = []
    for way, back in ((OUT, IN), (IN, OUT)) if directed else ((IN, IN),):
        stands = (rows[:, 2] == way) & ~(loop & loopless)
        own = np.bincount(index[stands], counts[stands], minlength=len(vertices))
        names, degree, short = _heavy(sketch, way if directed else 0, parallels, loopless)
        there = rows[:, 2] == back
        other = np.zeros(int(first.sum()))
        other[pair[there[~loop]]] = _looked_up(rows[there & ~loop, 1], names, degree, short > 0)
        light = own[(own > 0) & (own < short)]
        stand_for = np.full(light.size, 2.0**sketch.ends.level)
        lengths = np.append(degree, light)
        families.append(Family(own, other, lengths, np.append(np.ones(names.size), stand_for)))
    return index[~loop][first].astype(np.int64), tuple(families)


def _heavy(
    sketch: Sketch, way: int, parallels: bool, loopless: bool
) -> tuple[NDArray[np.uint64], Floats, float]:
    """Return the vertices that the sample of edges holds often, their degrees, and from where.

    >>> from dgraph.vertices.ids import IntIds
    >>> ids = IntIds(np.array([1, 1, 1]))
    >>> _heavy(Sketch.of(ids, IntIds(np.array([2, 3, 1])), directed=True), OUT, False, True)
    (array([10451216379200822465], dtype=uint64), array([2.]), 0.0)
    """
    level = sketch.edges.level
    _, source, target = sketch.edges.rows.T
    count = sketch.edges.count if parallels else np.ones(source.size, np.int64)
    loop = source == target
    keep = ~loop if loopless else np.ones(loop.size, bool)
    ends, of_each = (target if way == IN else source)[keep], count[keep]
    if not way:  # an edge stands in the rows of both its ends, but a loop in one
        ends, of_each = np.append(ends, target[~loop]), np.append(of_each, count[~loop])
    names, index = np.unique(ends, return_inverse=True)
    seen = np.bincount(index, minlength=names.size)
    least = SEEN if level else 0
    often = seen >= least
    degree = np.bincount(index, of_each, minlength=names.size)
    return names[often], degree[often] * 2.0**level, least * 2.0**level


def _looked_up(
    asked: NDArray[np.uint64], names: NDArray[np.uint64], degree: Floats, some: bool
) -> Floats:
    """Return degrees by name, NaN for names that are not there."""
    if not names.size:
        return np.full(asked.size, np.nan)
    at = np.minimum(np.searchsorted(names, asked), names.size - 1)
    return np.where(names[at] == asked, degree[at], np.nan if some else 0.0)


def shard_bytes(
    census: Census, slots: int, directed: bool, rhizomes: Rhizomes | None = None
) -> float:
    """Return the bytes of one of so many shards, if the owners of vertices are random.

    Examples
    --------
    >>> census = Census.of_counts(2**20, 2**24)
    >>> round(shard_bytes(census, 2, directed=False) / 2**20)
    86
    >>> round(shard_bytes(census, 2, directed=False, rhizomes=Rhizomes(16)) / 2**20)
    104
    """
    number = number_dtype(int(census.vertices)).itemsize
    masters = census.vertices / slots
    cuts = _cuts(census, slots, rhizomes)
    proxies = masters * (slots - 1) * _reached(census, slots, cuts)
    size = _local_size(masters, proxies, slots)
    order_and_ids = (number + census.id_bytes) * masters
    dictionary = (number + census.id_bytes) * masters
    routes = 4 * proxies
    rows = 2 if directed else 1
    entries = (2 * census.edges - (0 if directed else census.loops)) / slots
    adjacency = 8 * rows * (masters + 1) + (4 + census.weight_bytes) * entries
    split = 0.0
    if any(cut.split.any() for cut in cuts):
        strength = 8 if census.weight_bytes else 0
        for cut in cuts:
            heavy, pieces = cut.totals
            split += (12 + strength) * heavy / slots + 24 * pieces / slots + 8 + size / 8
    return number * size + order_and_ids + dictionary + routes + adjacency + split


@dataclass(frozen=True, slots=True)
class _Cut:
    """How the rows of a family are split.

    Parameters
    ----------
    family : Family
    cutoff : float
        Longer rows are split; infinite if none is.
    split : float array
        Lengths of rows that are split, ascending and rounded to a few.
    home : float array beside `split`
        The part of such a row that lies with the other ends of its entries.
    parts : float array beside `split`
        The pieces of such a row.
    """

    family: Family
    cutoff: float
    split: Floats
    home: Floats
    parts: Floats

    @property
    def totals(self) -> tuple[float, float]:
        """Rows that are split, and their pieces on other slots."""
        long = self.family.degree > self.cutoff
        count = self.family.count[long]
        parts = self.of(self.family.degree[long], self.parts)
        return float(count.sum()), float((count * (parts - 1)).sum())

    def of(self, degree: Floats, values: Floats) -> Floats:
        """Return values of `split` for lengths of rows that are split."""
        found: Floats = values[np.searchsorted(self.split, _rounded(degree))]
        return found

    def away(self, slots: int) -> Floats:
        """Return the chance that the entry of each sampled pair lies on a slot, 0 if none.

        The slot is one that does not own the sampled vertex.
        """
        found = np.where(self.family.other == 0, 0.0, 1 / slots)
        long = self.family.other > self.cutoff
        there = self.of(self.family.other[long], self.home)
        found[long] = (1 - there) / (slots - 1)
        unknown = np.isnan(self.family.other)
        if unknown.any() and self.split.size:
            found[unknown] = self._short(slots)
        return found

    def _short(self, slots: int) -> float:
        """Return that chance for entries of rows that no sample of edges knows."""
        degree, count = self.family.degree, self.family.count
        light = count > 1
        chance = np.full(degree.size, 1 / slots)
        long = degree > self.cutoff
        chance[long] = (1 - self.of(degree[long], self.home)) / (slots - 1)
        weight = (degree * count)[light]
        return float(np.average(chance[light], weights=weight)) if weight.any() else 1 / slots


def _rounded(degree: Floats) -> Floats:
    """Round degrees from 100 on down to two digits.

    >>> _rounded(np.array([7.0, 99.0, 123.0, 4567.0])).tolist()
    [7.0, 99.0, 120.0, 4500.0]
    """
    unit = 10.0 ** np.maximum(np.floor(np.log10(np.maximum(degree, 1))) - 1, 0)
    found: Floats = np.floor(degree / unit) * unit
    return found


def _cuts(census: Census, slots: int, rhizomes: Rhizomes | None) -> list[_Cut]:
    """Say how the rows of each family are split."""
    none = np.zeros(0)
    if rhizomes is None or rhizomes.off or slots == 1:
        return [_Cut(family, np.inf, none, none, none) for family in census.families]
    rules = (rhizomes.ghosts(), rhizomes)[-len(census.families) :]
    found = []
    for family, rule in zip(census.families, rules, strict=True):
        largest = int(family.degree.max(initial=0))
        most, cutoff = rule.cut(largest, int(census.edges), slots)
        if most == 1:
            found.append(_Cut(family, np.inf, none, none, none))
            continue
        degrees = np.concatenate([family.degree, family.own, family.other])
        split = distinct(_rounded(degrees[degrees > cutoff]))
        drawn = [_drawn(int(degree), most, cutoff, slots, rule.at_home) for degree in split]
        home, parts = np.array(drawn).reshape(-1, 2).T
        found.append(_Cut(family, cutoff, split, home, parts))
    return found


def _drawn(
    degree: int, most: int, cutoff: int, slots: int, at_home: bool
) -> tuple[float, float]:
    """Return what part of a split row lies at home, and in how many pieces, as owners fall.

    >>> _drawn(100_000, 16, 10_000, 2, at_home=False)
    (0.9988025, 2.0)
    >>> home, parts = _drawn(100_000, 16, 10_001, 20, at_home=False)
    >>> round(home, 2), parts
    (0.5, 10.0)
    """
    count = min(most, -(-degree // cutoff))
    parts = min(count, slots)
    draws = max(1, min(DRAWS, DRAWN // slots))
    homes = np.random.default_rng(degree).multinomial(degree, [1 / slots] * slots, draws)
    if at_home:
        homes[:, 1:] = -np.sort(-homes[:, 1:], axis=1)
        chosen = homes[:, :parts]
        used = 1 + (chosen[:, 1:] > 0).sum(axis=1)
        return float(chosen.sum(axis=1).mean() / degree), float(used.mean())
    full, rest = divmod(degree, cutoff)
    piece = np.arange(count)
    sizes = cutoff * (full // count + (piece < full % count)) + rest * (piece == full % count)
    room = np.bincount(piece % parts, weights=sizes, minlength=parts)
    at = np.minimum(homes[:, :parts], room)
    return float(at.sum(axis=1).mean() / degree), float(parts)


def _reached(census: Census, slots: int, cuts: Sequence[_Cut]) -> float:
    """Return the chance that a vertex has a proxy on a slot that does not own it."""
    sampled = census.families[0].own.size
    if slots == 1 or sampled == 0:
        return 0.0
    whole = np.zeros(census.vertex.size)
    absent = np.ones(census.vertex.size)
    nowhere = np.ones(sampled)
    for cut in cuts:
        chance = cut.away(slots)
        long = cut.family.other > cut.cutoff
        absent[long] *= 1 - chance[long]
        whole = np.where(long, whole, np.maximum(whole, chance))
        own = cut.family.own > cut.cutoff
        nowhere[own] *= 1 - (cut.of(cut.family.own[own], cut.parts) - 1) / (slots - 1)
    # Both rows of a pair that goes both ways lie with the same owner unless they are split.
    with np.errstate(divide="ignore"):
        lone = census.times * np.log(np.maximum(absent * (1 - whole), 0))
    nowhere *= np.exp(np.bincount(census.vertex, weights=lone, minlength=sampled))
    return float(1 - nowhere.mean())


def _local_size(masters: float, proxies: float, slots: int) -> float:
    """Return the length of an array over local ids: groups start at multiples of ALIGNED."""
    if slots == 1 or proxies == 0:
        return masters
    group = proxies / (slots - 1)
    blocks = np.ceil(masters / ALIGNED) + (slots - 2) * np.ceil(group / ALIGNED)
    return float(blocks * ALIGNED + group)
