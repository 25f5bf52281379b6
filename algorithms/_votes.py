"""Label propagation where rows are split over slots: votes are counted where the edges are.

::

    slot with a piece of v   counts the labels in it     -- (v, label, count) -->  slot of label
    slot of a label          adds the counts up          -- (v, best, votes)  -->  owner of v
    owner of v               takes the best of all

The labels are dealt to the slots by a hash, so no slot sees all labels of a heavy vertex. In
the first round each neighbour has a label of its own: where parallel edges lie in one piece, a
piece knows all votes for its labels, and its best goes to the owner at once. Of a piece without
parallel edges that is the smallest label.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dgraph.build.meeting import count_slots, deal
from dgraph.distinct import distinct
from dgraph.engine.context import Context
from dgraph.kernels import kernel
from dgraph.shard import Adjacency, Shard
from dgraph.shard.bits import set_bits, words

__all__ = ["Votes"]

Array = NDArray[Any]
_MIX = np.uint64(0x9E3779B97F4A7C15)
_NOTHING = np.zeros(0, np.int64)


class Votes:
    """The votes for heavy vertices, of which this slot has rows or pieces of rows.

    Parameters
    ----------
    ctx : Context
    shard : Shard
        Whose rows are split.
    counters : int32 array
        A zero for each label, or for each of as many as a hash table needs.
    """

    def __init__(self, ctx: Context, shard: Shard, counters: NDArray[np.int32]) -> None:
        self._ctx, self._shard = ctx, shard
        self._counters = counters if counters.size >= shard.num_vertices else None
        splits = [split for _, split in shard.families if split is not None]
        self._alone = not (shard.directed or any(split.parted for split in splits))
        self.heavy = distinct(np.concatenate([split.heavy for split in splits]))
        self.bits = np.zeros(words(shard.masters), np.uint64)
        set_bits(self.bits, self.heavy)
        base = int(shard.bases[shard.slot])
        self._rows: list[tuple[Array, Array, Adjacency]] = []
        for rows, split in shard.families:
            if self.heavy.size:
                self._rows.append((self.heavy + np.int64(base), self.heavy, rows))
            if split is not None and split.vertices.size:
                pieces = np.arange(split.vertices.size, dtype=np.int32)
                self._rows.append((split.placed, pieces, split.rows))

    async def elect(self, label: Array, first: bool) -> tuple[NDArray[np.int32], Array]:
        """Return the heavy masters whose label changes, ascending, and the new labels.

        Parameters
        ----------
        label : array over the local ids
        first : bool
            Whether every vertex still has its own.
        """
        alone = first and self._alone
        counted = [(_NOTHING, label[:0], _NOTHING)]
        counted += [self._count(*some, label, alone) for some in self._rows]
        vertex, labels, counts = (np.concatenate(some) for some in zip(*counted, strict=True))
        if alone:
            by_vertex = np.argsort(vertex, kind="stable")
            came: Sequence[Array] = [x[by_vertex] for x in (vertex, labels, counts)]
        else:
            homes = _home(labels, self._ctx.slots)
            came = await self._send(vertex, homes, labels, counts)
        vertex, labels, counts = self._best(*came)
        owner = np.searchsorted(self._shard.bases, vertex, side="right") - 1
        came = await self._send(vertex, owner, labels, counts)
        vertex, labels, _ = self._best(*came)
        masters = (vertex - self._shard.bases[self._ctx.slot]).astype(np.int32)
        changed = label[masters] != labels
        return masters[changed], labels[changed]

    def _count(
        self, placed: Array, chosen: Array, rows: Adjacency, label: Array, alone: bool
    ) -> tuple[Array, Array, Array]:
        """Count the labels in some rows: vertex, label, count; `alone`: the first round's."""
        targets = rows.targets.view(np.uint32)
        if alone and not any_parallel(rows.offsets, targets, chosen):
            some, labels = least_labels(label, rows.offsets, targets, chosen)
            return placed[some], labels, np.ones(labels.size, np.int64)
        room = int((rows.offsets[chosen + 1] - rows.offsets[chosen]).sum())
        at, labels = np.empty(room, np.int32), np.empty(room, label.dtype)
        counts = np.empty(room, np.int64)
        count = _count_by_sorting if self._counters is None else count_labels
        found = count(label, rows.offsets, targets, chosen, self._counters, at, labels, counts)
        return placed[at[:found]], labels[:found], counts[:found]

    async def _send(
        self, vertex: Array, slot: Array, labels: Array, counts: Array
    ) -> Sequence[Array]:
        """Send each count to a slot; return what came, by vertex."""
        dealt: list[tuple[Array, ...] | None] = [None] * self._ctx.slots
        if vertex.size:
            numbers = np.zeros(self._ctx.slots, np.int64)
            slot = slot.astype(np.int32)
            count_slots(slot, numbers)
            dealt = deal([vertex, labels, counts], slot, numbers)
        came = [some for some in await self._ctx.alltoall(dealt) if some is not None]
        if not came:
            return vertex[:0], labels[:0], counts[:0]
        columns = [np.concatenate(some) for some in zip(*came, strict=True)]
        by_vertex = np.argsort(columns[0], kind="stable")
        return [column[by_vertex] for column in columns]

    def _best(self, vertex: Array, labels: Array, counts: Array) -> tuple[Array, Array, Array]:
        """Return for each vertex the label with most votes, of several the smallest."""
        if not vertex.size:
            return vertex, labels, counts
        if self._counters is None:
            by_label = np.lexsort((labels, vertex))
            vertex, labels, counts = vertex[by_label], labels[by_label], counts[by_label]
        begins = np.flatnonzero(np.diff(vertex, prepend=-1))
        best, most = np.empty(begins.size, labels.dtype), np.empty(begins.size, np.int64)
        ends = np.append(begins[1:], vertex.size)
        choose = _best_of_sorted if self._counters is None else best_labels
        choose(begins, ends, labels, counts, self._counters, best, most)
        return vertex[begins], best, most


def _home(labels: Array, slots: int) -> Array:
    """Return the slot that adds up the votes for each label."""
    mixed = labels.astype(np.uint64) * _MIX
    return ((mixed >> np.uint64(32)) * np.uint64(slots)) >> np.uint64(32)


@kernel
def any_parallel(offsets, targets, chosen):  # type: ignore[no-untyped-def]
    """Return whether there are parallel edges in a chosen row: such stand together."""
    same = 0
    for v in chosen:
        for j in range(offsets[v] + 1, offsets[v + 1]):
            same += targets[j - 1] == targets[j]
    return same > 0


@kernel
def least_labels(label, offsets, targets, chosen):  # type: ignore[no-untyped-def]
    """Return which of the chosen rows are not empty, and the smallest label in each of these.

    >>> offsets, targets = np.array([0, 2, 2, 3]), np.array([1, 2, 0], np.uint32)
    >>> least_labels(np.array([5, 4, 3]), offsets, targets, np.array([0, 1, 2]))
    (array([0, 2], dtype=int32), array([3, 5]))
    """
    at, labels, found = np.empty(chosen.size, np.int32), np.empty(chosen.size, label.dtype), 0
    for i in range(chosen.size):
        begin, end = offsets[chosen[i]], offsets[chosen[i] + 1]
        if begin == end:
            continue
        least = label[targets[begin]]
        for j in range(begin + 1, end):
            least = min(least, label[targets[j]])
        at[found], labels[found] = i, least
        found += 1
    return at[:found], labels[:found]


@kernel
def count_labels(label, offsets, targets, chosen, counters, at, labels, counts):  # type: ignore[no-untyped-def]
    """Write which row, label, count for each label of the chosen rows; return how many."""
    found = 0
    for i in range(chosen.size):
        begin = found
        for j in range(offsets[chosen[i]], offsets[chosen[i] + 1]):
            vote = label[targets[j]]
            if counters[vote] == 0:
                at[found], labels[found] = i, vote
                found += 1
            counters[vote] += 1
        for k in range(begin, found):
            counts[k] = counters[labels[k]]
            counters[labels[k]] = 0
    return found


@kernel
def _count_by_sorting(label, offsets, targets, chosen, counters, at, labels, counts):  # type: ignore[no-untyped-def]
    """Do so without a counter for each label."""
    found = 0
    for i in range(chosen.size):
        begin, end = offsets[chosen[i]], offsets[chosen[i] + 1]
        votes = np.empty(end - begin, label.dtype)
        for j in range(begin, end):
            votes[j - begin] = label[targets[j]]
        votes.sort()
        for j in range(votes.size):
            if j == 0 or votes[j] != votes[j - 1]:
                at[found], labels[found], counts[found] = i, votes[j], 0
                found += 1
            counts[found - 1] += 1
    return found


@kernel
def best_labels(begins, ends, labels, counts, counters, best, most):  # type: ignore[no-untyped-def]
    """Add up the counts of each label of each vertex, and choose; leaves all counters at 0.

    A label comes by when it has reached its number of votes, so of those that reach the
    highest number the smallest is what remains.
    """
    for i in range(begins.size):
        most[i] = 0
        for k in range(begins[i], ends[i]):
            votes = counters[labels[k]] + counts[k]
            counters[labels[k]] = votes
            if votes > most[i] or (votes == most[i] and labels[k] < best[i]):
                best[i], most[i] = labels[k], votes
        for k in range(begins[i], ends[i]):
            counters[labels[k]] = 0


@kernel
def _best_of_sorted(begins, ends, labels, counts, counters, best, most):  # type: ignore[no-untyped-def]
    """Do so where the labels of each vertex ascend."""
    for i in range(begins.size):
        most[i] = 0
        votes = np.int64(0)
        for k in range(begins[i], ends[i]):
            same = k > begins[i] and labels[k] == labels[k - 1]
            votes = votes + counts[k] if same else counts[k]
            if votes > most[i]:
                best[i], most[i] = labels[k], votes
