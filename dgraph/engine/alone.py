"""A context for work that one slot has all of: nobody else is asked, nothing is sent.

A superstep costs the same however little there is to do, and more the more slots there are.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from dgraph.engine.context import Array, Columns, Context
from dgraph.exchange.frame import Frame
from dgraph.exchange.request import Inner

__all__ = ["Alone"]


class Alone(Context):
    """The engine as a slot sees it that takes the others to have nothing.

    What is for them is dropped; from them come nothing, zeros where something must come.

    Parameters
    ----------
    ctx : Context
        That of the slot.

    Examples
    --------
    >>> from dgraph.engine.pool import run
    >>> async def program(ctx):
    ...     return (await Alone(ctx).allreduce([ctx.slot])).tolist()
    >>> run(program, slots=3)
    [[0], [1], [2]]
    """

    def __init__(self, ctx: Context) -> None:
        super().__init__(ctx.slot, ctx.slots)
        self.notes = ctx.notes

    async def exchange(
        self,
        frames: Sequence[Frame],
        vote: Any = None,
        op: str = "sum",
        work: int | None = None,
        inner: Inner | None = None,
    ) -> list[Frame]:
        """Drop the frames; the total of the votes is the slot's own."""
        self.vote = self.ballot(vote)
        self._turn ^= 1
        return []

    async def allgather(self, *arrays: Array) -> list[Columns]:
        """Return the arrays, and zeros for every other slot."""
        found = [tuple(np.zeros_like(some) for some in arrays)] * self.slots
        found[self.slot] = arrays
        return found
