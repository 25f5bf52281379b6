"""What a routed superstep would send if everything went straight to its target: for the record.

Nothing is combined on the way then, and a value goes to each slot by itself.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np
from numpy.typing import NDArray

from dgraph.exchange.frame import COLUMN, HEADER, Frame
from dgraph.shard import Shard
from dgraph.shard.bits import words
from dgraph.topology import Topology

__all__ = ["Straight"]

Counts = NDArray[np.int64]

#: Bytes of a frame with one column, and of one with two, without what is in them.
ONE, TWO = (HEADER.size + columns * COLUMN.size for columns in (1, 2))

#: What a shard keeps: for each level and master, the slots of that level that have a proxy.
HOLDERS = "holders by level"


class Straight:
    """Counts, for one slot, frames, messages and bytes by level.

    Parameters
    ----------
    slot : int
    topology : Topology

    Examples
    --------
    >>> straight = Straight(0, Topology.from_fanouts([2, 2]))
    >>> straight.frames([Frame(0, 1, (), 0), Frame(0, 3, (np.zeros(2),), 2)]).tolist()
    [[1, 1], [0, 2], [40, 72]]
    """

    def __init__(self, slot: int, topology: Topology) -> None:
        self._level: list[int] = topology.levels(slot).tolist()
        self._levels = topology.height + 1

    def frames(self, frames: Sequence[Frame]) -> Counts:
        """Count frames."""
        return self._count((frame.target, frame.count, frame.nbytes) for frame in frames)

    def parts(self, placed: Counts, bases: Counts, width: int) -> Counts:
        """Count messages to vertices, which ascend, with values of so many bytes."""
        counts = np.diff(np.searchsorted(placed, bases))
        targets = np.flatnonzero(counts).tolist()
        each = counts[targets].tolist()
        return self._count(
            (target, count, TWO + count * (4 + width))
            for target, count in zip(targets, each, strict=True)
        )

    def shared(self, shard: Shard, width: int | None) -> Counts:
        """Count values of all masters to all proxies; of so many bytes, None: bits.

        Of bits a slot would send none where none is set: these are as many as can be.
        """
        sizes = [(slot, shard.shared[slot].size) for slot in shard.peers]
        return self._count(
            (slot, size, ONE + (8 * words(size) if width is None else width * size))
            for slot, size in sizes
            if size
        )

    def changed(self, shard: Shard, changed: NDArray[np.int32], width: int) -> Counts:
        """Count values of some masters to all their proxies; frames at most."""
        holders = shard.derived.get(HOLDERS)
        if holders is None:
            holders = np.zeros((self._levels, shard.masters), np.int32)
            for slot in shard.peers:
                holders[self._level[slot], shard.shared[slot]] += 1
            shard.derived[HOLDERS] = holders
        messages = holders[:, changed].sum(axis=1)
        peers = np.bincount(
            [self._level[slot] for slot in shard.peers if shard.shared[slot].size],
            minlength=self._levels,
        )
        frames = np.minimum(messages, peers)
        return np.array([frames, messages, TWO * frames + messages * (4 + width)], np.int64)

    def _count(self, rows: Iterable[tuple[int, int, int]]) -> Counts:
        table = [[0] * self._levels for _ in range(3)]
        for target, count, size in rows:
            level = self._level[target]
            table[0][level] += 1
            table[1][level] += count
            table[2][level] += size
        return np.array(table, np.int64)
