"""One stage of a routed superstep, as one process sees it."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["Hop"]


@dataclass(frozen=True, slots=True)
class Hop:
    """One stage of a routed superstep, as one process sees it.

    Parameters
    ----------
    stage : int
        Of the strategy; one in which no message moves is left out.
    first, last : bool
        Whether the superstep begins, and ends, with this stage.
    to, come : frozenset of int
        The processes to send to, and those from which something will come.
    takes : int
        The process of which the vote replaces the own one; -1 for none.
    adds : frozenset of int
        Those of which the vote is added to that.
    fresh : bool
        Begin again with the votes of the own slots.
    """

    stage: int
    first: bool
    last: bool
    to: frozenset[int] = frozenset()
    come: frozenset[int] = frozenset()
    adds: frozenset[int] = frozenset()
    takes: int = -1
    fresh: bool = False
