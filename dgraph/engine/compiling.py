"""The first run on a machine compiles kernels: every process takes the time, the client tells.

::

    worker   Numba ──says when it compiles──▶ Compilations ◀──dgraph_compiling── client: a Note
"""

from __future__ import annotations

import asyncio
import contextlib
import math
from time import monotonic
from typing import Any
from weakref import WeakSet

import dask
from distributed import Client
from numba.core import event as numba_event

from dgraph.events import Note, notify

__all__ = ["COMPILATIONS", "Compilations", "seconds_compiled", "tell_of_compilation"]

#: Seconds of compilation from which on it is worth a word.
LONG = 1.0

#: Kernels that are compiled within so many seconds of each other belong together.
TOGETHER = 2.0

#: Seconds in which a worker answers, or is not asked any longer.
PROMPT = 0.5

TEXT = (
    "compiling the kernels of dgraph for this machine, which can take a minute; later "
    "runs of the same algorithm on such ids and weights find them cached"
)

_told: WeakSet[Client] = WeakSet()


class Compilations(numba_event.Listener):
    """How long this process has compiled kernels of ours.

    Numba compiles in one thread at a time, the kernels that a kernel calls inside of it.
    """

    def __init__(self) -> None:
        self.total = 0.0
        self._lately = 0.0
        self._depth = 0
        self._began = self._ended = -math.inf

    def on_start(self, event: Any) -> None:
        """Hear that a kernel is about to be compiled; called by Numba."""
        name = event.data["dispatcher"].py_func.__module__ or ""
        if self._depth or name.split(".")[0] == "dgraph":
            self._depth += 1
        if self._depth == 1:
            self._began = monotonic()
            if self._began - self._ended > TOGETHER:
                self._lately = 0.0

    def on_end(self, event: Any) -> None:
        """Hear that it was compiled."""
        if not self._depth:
            return
        self._depth -= 1
        if not self._depth:
            self._ended = monotonic()
            self._lately += self._ended - self._began
            self.total += self._ended - self._began

    def lately(self) -> float:
        """Return for how many seconds it has compiled now; 0 if it does not."""
        now = monotonic()
        if self._depth:
            return self._lately + now - self._began
        return self._lately if now - self._ended < TOGETHER else 0.0

    def answer(self) -> tuple[float, float]:
        """Return both to a client that asks."""
        return self.lately(), self.total


COMPILATIONS = Compilations()
numba_event.register("numba:compile", COMPILATIONS)


async def tell_of_compilation(client: Client, address: str) -> None:
    """Let a client say, once, that a worker is compiling, if it does so for long."""
    if client in _told or dask.config.get("dgraph.progress") is False:
        return
    with contextlib.suppress(TimeoutError):
        found = await asyncio.wait_for(_ask(client, [address]), PROMPT)
        if any(lately > LONG for lately, _ in found) and client not in _told:
            _told.add(client)
            notify(Note(TEXT, loud=True))


async def seconds_compiled(client: Client) -> float:
    """Return for how long all workers together have compiled since they were started."""
    return sum(total for _, total in await _ask(client))


async def _ask(client: Client, addresses: list[str] | None = None) -> list[tuple[float, float]]:
    """Return what the workers answer that know dgraph."""
    scheduler: Any = client.scheduler
    answers = await scheduler.broadcast(
        msg={"op": "dgraph_compiling"}, workers=addresses, on_error="ignore"
    )
    return [(answer[0], answer[1]) for answer in answers.values() if answer is not None]
