"""Workers that Dask has paused for their memory: who waits for one is told so, and ends.

Dask begins no task on a worker whose process takes more than 80 % of its limit, until it takes
less. What a worker holds of graphs is never spilled to disk, so that this may be never.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Iterable, Sequence
from time import monotonic
from typing import Any

from dask.utils import format_bytes

from dgraph.errors import RunError

__all__ = ["Pauses"]

#: Seconds in which memory may become free: Dask writes what it can to disk.
PATIENCE = 30.0

#: Seconds before the first question, and between two.
TURN = 2.0

#: Seconds in which a worker answers, or is not asked any longer.
PROMPT = 0.5


class Pauses:
    """How long workers have been paused, with nothing under way that could end it.

    Parameters
    ----------
    all : bool
        Whether work goes on as long as one of the workers is not paused.
    """

    def __init__(self, *, all: bool = False) -> None:
        self._all = all
        self._ask_at = monotonic() + TURN
        self._since: dict[str, float] = {}

    async def check(self, scheduler: Any, addresses: Iterable[str]) -> None:
        """Raise if one of some workers has been paused for long; ask now and then only.

        Raises
        ------
        RunError
        """
        if monotonic() < self._ask_at:
            return
        asked = scheduler.broadcast(
            msg={"op": "dgraph_stuck"}, workers=list(addresses), on_error="ignore"
        )
        with contextlib.suppress(TimeoutError):
            answers = await asyncio.wait_for(asked, PROMPT)
            now = monotonic()
            self._ask_at = now + TURN
            stuck = {address: memory for address, memory in answers.items() if memory}
            if self._all and len(stuck) < len(answers):
                stuck = {}
            self._since = {address: self._since.get(address, now) for address in stuck}
            for address, since in self._since.items():
                if now - since > PATIENCE:
                    raise RunError(_why(address, stuck[address], len(stuck) - 1))


def _why(address: str, memory: Sequence[int], others: int) -> str:
    """Say what is the matter with a worker, and what to do.

    >>> print(_why("tcp://10.0.0.1:1", [258_000_000, 300_000_000], 1))
    worker tcp://10.0.0.1:1 (and 1 more) begins nothing: Dask has paused it, because it takes \
246.05 MiB of the 286.10 MiB that it may; give workers more memory (memory_limit=, \
--memory-limit), or take more of them, dgraph.estimate says how much a graph needs
    """
    used, limit = map(format_bytes, memory)
    also = f" (and {others} more)" if others else ""
    return (
        f"worker {address}{also} begins nothing: Dask has paused it, because it takes {used} "
        f"of the {limit} that it may; give workers more memory (memory_limit=, "
        "--memory-limit), or take more of them, dgraph.estimate says how much a graph needs"
    )
