"""What the program of a slot hands its hub, and what it gets."""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Generator, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from dgraph.exchange.frame import Frame
from dgraph.exchange.hop import Hop

__all__ = ["COMBINE_VOTES", "Delivery", "Early", "Inner", "Program", "Request", "Votes"]

Votes = NDArray[np.int64]
Program = Coroutine["Request | Early", "Delivery | None", Any]

COMBINE_VOTES: dict[str, Callable[[Votes, Votes], Votes]] = {
    "sum": np.add,
    "min": np.minimum,
    "max": np.maximum,
    "or": np.bitwise_or,
}
_NO_VOTE = np.zeros(0, np.int64)


class Delivery(NamedTuple):
    """What a slot gets at the end of a superstep: its frames by source slot, and the vote."""

    frames: list[Frame]
    vote: Votes

    def take(self) -> list[Frame]:
        """Return the frames, to which the hub refers no more: their memory serves again."""
        frames = self.frames.copy()
        self.frames.clear()
        return frames


class Inner(NamedTuple):
    """Supersteps that slots have done among themselves before one hands over its request.

    Parameters
    ----------
    messages, nbytes : int64 arrays of shape (supersteps, slots of this process, slots)
        From each slot to each other; the bytes with the heads of frames.
    computed : float64 array of shape (supersteps, some)
        Seconds that slots computed.
    ended : float64 array of length supersteps
        When each ended, by `time.perf_counter`.
    stages : sequence of str
        What each is called; empty: as the request is.
    is_over : bool
        Whether the last one is over; else it ends with the request.
    """

    messages: NDArray[np.int64]
    nbytes: NDArray[np.int64]
    computed: NDArray[Any]
    ended: NDArray[Any]
    stages: Sequence[str] = ()
    is_over: bool = False


@dataclass(slots=True)
class Request:
    """What a slot hands over at the end of a superstep; awaiting it gives the delivery.

    Parameters
    ----------
    frames : sequence of Frame
        At most one for every other slot. A slot with nothing to say sends no frame.
    vote : int64 array
        Combined over all slots with `op`; every slot must bring the same length and `op`.
    work : int or None
        Edges that this slot expects to scan in the next superstep; None: many.
    stage : str
        What the superstep is called in the record.
    hop : Hop or None
        Which stage of a routed superstep this is; None: a superstep of its own. The vote is
        that of the first stage; what is delivered with the last one is its total.
    before : int64 array of shape (3, levels), or None
        What would have been sent straight to the targets; None: just the frames.
    inner : Inner or None
        Supersteps before this one, or up to it.
    """

    frames: Sequence[Frame] = ()
    vote: Votes = field(default_factory=lambda: _NO_VOTE)
    op: str = "sum"
    work: int | None = None
    stage: str = ""
    hop: Hop | None = None
    before: NDArray[np.int64] | None = None
    inner: Inner | None = None

    def __await__(self) -> Generator[Request, Delivery, Delivery]:
        """Hand this over to the hub and wait for the delivery."""
        return (yield self)


@dataclass(slots=True)
class Early:
    """A frame that may travel at once, while the slot makes the others of the superstep.

    It is handed over again with the request. If it is for a slot of this process, or short,
    nothing happens before.

    Parameters
    ----------
    frame : Frame
    encode : callable, optional
        Writes the first so many bytes of the last column, at least; called with ever larger
        numbers, the last of which is all of it. Then a buffer travels while the next is filled.
    """

    frame: Frame
    encode: Callable[[int], None] | None = None

    def __await__(self) -> Generator[Early, None, None]:
        """Hand the frame over."""
        yield self
