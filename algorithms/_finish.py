"""Let one slot finish: what is left is little, and goes to it and back in two supersteps."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dgraph.engine.context import Context

__all__ = ["finish_on_one"]

Array = NDArray[Any]


async def finish_on_one(
    ctx: Context, columns: tuple[Array, ...], solve: Callable[..., Array]
) -> Array:
    """Let slot 0 solve what is left on all slots together; return this slot's part of it.

    Parameters
    ----------
    ctx : Context
    columns : tuple of arrays
        What is left here. If the first is empty, this slot sends nothing.
    solve : callable
        Is given each column of all slots, one after the other in one array; returns an array
        beside the first.

    Returns
    -------
    array beside ``columns[0]``

    Examples
    --------
    >>> from dgraph.engine.pool import run
    >>> async def program(ctx, mine):
    ...     return (await finish_on_one(ctx, (np.array(mine, int),), np.cumsum)).tolist()
    >>> run(program, [[1, 2], [], [5]], slots=3)
    [[1, 3], [], [8]]
    """
    sent: list[Any] = [None] * ctx.slots
    if columns[0].size:
        sent[0] = columns
    came = await ctx.alltoall(sent)
    answers: list[Any] = [None] * ctx.slots
    here = [slot for slot, some in enumerate(came) if some is not None]
    if here:
        parts = [some for some in came if some is not None]
        whole = solve(*map(np.concatenate, zip(*parts, strict=True)))
        ends = np.cumsum([part[0].size for part in parts])
        for slot, some in zip(here, np.split(whole, ends[:-1]), strict=True):
            answers[slot] = (some,)
    answer = (await ctx.alltoall(answers))[0]
    return columns[0][:0] if answer is None else answer[0]
