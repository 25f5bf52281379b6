"""Run slot programs on threads of this process, without Dask: for tests and virtual slots."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any

from dgraph.engine.context import Context
from dgraph.engine.network import Network
from dgraph.engine.spec import SlotProgram
from dgraph.exchange.hub import Hub
from dgraph.exchange.parties import Observer

__all__ = ["run"]


def run(
    program: SlotProgram,
    *arguments: Sequence[Any],
    slots: int,
    threads: int | None = None,
    observer: Observer | None = None,
    network: Network | None = None,
) -> list[Any]:
    """Run a program on every slot and return the results by slot.

    Parameters
    ----------
    program : coroutine function
        Called as ``program(ctx, *its arguments)`` for every slot.
    *arguments : sequences of length slots
        The slots' arguments: ``arguments[i][slot]``.
    slots : int
    threads : int, optional
        Default: as many as there are cores, at most `slots`.
    observer : Observer, optional
        Is told of every superstep.
    network : Network, optional
        How frames travel; default: each straight to its target.

    Examples
    --------
    >>> async def program(ctx, value):
    ...     return int((await ctx.allreduce([value], op="max"))[0])
    >>> run(program, [3, 7, 5], slots=3)
    [7, 7, 7]
    """
    contexts = [Context(slot, slots, network) for slot in range(slots)]
    for context in contexts:
        context.shares_process_with(contexts)
    programs = {
        slot: program(context, *(values[slot] for values in arguments))
        for slot, context in enumerate(contexts)
    }
    hub = Hub(programs, threads or min(slots, os.cpu_count() or 1), observer=observer)
    for context in contexts:
        context.works_for(hub)
    results = hub.run()
    return [results[slot] for slot in range(slots)]
