"""One superstep on its way over gateways, stage by stage."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dgraph.distinct import distinct
from dgraph.engine.network import Network
from dgraph.exchange.combining import merge
from dgraph.exchange.envelope import Parts, pack_parts
from dgraph.exchange.frame import Frame
from dgraph.exchange.hop import Hop
from dgraph.exchange.hub import Delivery, Request

__all__ = ["Trip", "merged"]

Votes = NDArray[np.int64]
_NO_VOTE = np.zeros(0, np.int64)

#: What a gateway does with a message takes as long as to scan so many edges.
HANDLING = 4


class Trip:
    """The stages of a superstep, and what is asked of the hub in each.

    Parameters
    ----------
    network : Network
    stage : str
        What the record calls the superstep.
    name : str
        Of the routing.
    backwards : bool or None
        Whether its ways are gone backwards; None: both ways at once.
    ballot, op, work
        See `Request`.
    before : int64 array
        What would have been sent straight to the targets.
    """

    def __init__(
        self,
        network: Network,
        stage: str,
        name: str,
        backwards: bool | None,
        ballot: Votes,
        op: str,
        work: int | None,
        before: NDArray[np.int64],
    ) -> None:
        self.strategy = network.strategy(name, bool(backwards))
        self.hops = network.hops(name, backwards)
        self._ballot = ballot
        self._op = op
        self._work = work
        self._stage = stage
        self._before: NDArray[np.int64] | None = before
        self.vote = _NO_VOTE

    async def exchange(self, hop: Hop, frames: Sequence[Frame]) -> list[Frame]:
        """Exchange the frames of a stage."""
        work = self._work if hop.last else HANDLING * sum([frame.count for frame in frames])
        vote = self._ballot if hop.first else _NO_VOTE
        request = Request(frames, vote, self._op, work, self._stage, hop, self._before)
        self._before = None
        delivery: Delivery = await request
        self.vote = delivery.vote
        return delivery.take()

    def cut(
        self,
        slot: int,
        parts: Parts,
        bases: Votes,
        stage: int,
        values: NDArray[Any] | None = None,
    ) -> tuple[list[Frame], Parts]:
        """Return the envelopes that a slot sends in a stage, and what stays there.

        With the `values` that are given instead of those of the parts, for all alike.
        """
        nothing = Parts(parts.numbers[:0], parts.values[:0])
        if not parts.numbers.size:
            return [], nothing
        begin = np.searchsorted(parts.numbers, bases)
        owners = np.flatnonzero(np.diff(begin))
        steps = self.strategy.step(stage, slot, owners)
        frames, stay = [], nothing
        for to in distinct(steps).tolist():
            mine = owners[steps == to]
            some = _pieces(parts, begin[mine], begin[mine + 1])
            if to == slot:
                stay = some
                continue
            ends = np.concatenate([[0], np.cumsum(begin[mine + 1] - begin[mine])])
            sent = some if values is None else Parts(some.numbers, values)
            frames.append(pack_parts(slot, to, sent, mine, ends, bases))
        return frames, stay


def merged(held: Sequence[Parts], combiner: str, size: int) -> Parts:
    """Return all messages that a slot holds, combined, in one piece.

    The vertices of each part ascend.

    Parameters
    ----------
    held : sequence of Parts
    combiner : str
        A key of `COMBINERS`.
    size : int
        Vertices of all slots.

    Examples
    --------
    >>> one = Parts(np.array([1, 4]), np.array([7, 9]))
    >>> other = Parts(np.array([4]), np.array([3]))
    >>> merged([one, other], "min", 10)
    Parts(numbers=array([1, 4]), values=array([7, 3]))
    """
    if not held:
        return Parts(np.zeros(0, np.int64), np.zeros(0))
    if len(held) == 1:
        return held[0]
    numbers = np.concatenate([some.numbers for some in held])
    values = np.concatenate([some.values for some in held])
    return Parts(*merge(numbers, values, combiner, size))


def _pieces(parts: Parts, begin: Votes, end: Votes) -> Parts:
    """Return the messages of some owners, of whom each has one piece."""
    cut = [slice(*ends) for ends in zip(begin.tolist(), end.tolist(), strict=True)]
    if len(cut) == 1:
        return Parts(parts.numbers[cut[0]], parts.values[cut[0]])
    return Parts(*(np.concatenate([column[piece] for piece in cut]) for column in parts))
