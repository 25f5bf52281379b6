"""Whom a hub works with: the hubs of other processes, and who is told of supersteps."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Protocol

from dgraph.exchange.frame import Frame
from dgraph.exchange.hop import Hop
from dgraph.exchange.request import Request, Votes

__all__ = ["Links", "Observer"]


class Links(Protocol):
    """The way to the hubs of the other processes of a run."""

    def exchange(
        self,
        superstep: int,
        frames: Sequence[Frame],
        vote: Votes,
        op: str,
        hop: Hop | None = None,
    ) -> tuple[list[Frame], Votes]:
        """Send frames to slots of other processes; return what came and the whole vote.

        In a stage of a routed superstep: what is known of the vote after it.
        """

    def post(
        self, superstep: int, frame: Frame, encode: Callable[[int], None] | None = None
    ) -> bool:
        """Begin to send a frame of the exchange to come; False: it goes with the others."""

    def abort(self, error: BaseException) -> None:
        """Tell the other processes that the run has failed here."""

    def look_after(self, superstep: int) -> None:
        """See to it that the other processes are alive; raises if one is not."""


class Observer(Protocol):
    """Is told of every superstep, by the thread that completes it."""

    def superstep(
        self,
        stage: str,
        requests: Mapping[int, Request],
        compute: Mapping[int, float],
        exchange: float,
        elapsed: float,
    ) -> None:
        """Note one superstep: seconds of computation by slot, of exchange, and in all."""
