"""Wait for a run to end on all workers, and see to it that it does: the client's watch."""

from __future__ import annotations

import asyncio
import contextlib
import math
from collections.abc import Coroutine, Mapping, Sequence
from time import perf_counter
from typing import Any

from distributed import CancelledError, Client, Future
from distributed.client import _wait as wait  # the public one wants a default client

from dgraph.engine.compiling import tell_of_compilation
from dgraph.engine.failure import judge, unpack_error
from dgraph.engine.gang import Outcome
from dgraph.engine.pauses import Pauses
from dgraph.engine.spec import RunSpec
from dgraph.errors import DgraphError, RunAbortedError
from dgraph.events import Note, SuperstepDone, notify

__all__ = ["Vigil"]

#: Seconds between two looks at which workers are still there, and how far they are.
LOOK = 0.5

#: Seconds after which a run that has not begun says for whom it waits.
LONG = 5.0

#: Seconds in which the other members end once one has: they end in the same superstep.
TOGETHER = 0.25

#: Seconds that members get to end after they were told to abort, before they are given up.
GRACE = 5.0

#: Seconds between two looks at members that should end.
PAUSE = 0.05

#: Tasks for which nobody waits; asyncio itself holds its tasks weakly only.
_background: set[asyncio.Task[None]] = set()


class Vigil:
    """Wait for the pinned tasks of a run, and see to it that all end if one does."""

    def __init__(
        self, client: Client, spec: RunSpec, futures: Sequence[Future[Outcome]]
    ) -> None:
        self._client = client
        self._spec = spec
        self._futures = futures
        self._outcomes: dict[int, Outcome] = {}
        self._errors: dict[int, BaseException] = {}
        self._gone: set[int] = set()
        self._ask_at = perf_counter() + LONG

    async def outcomes(self) -> list[Outcome]:
        """Return the outcomes of all members, or raise the one error that counts."""
        try:
            await self._unless_gone(self._until_ended())
        except asyncio.CancelledError:
            if self._client.status != "running":  # closing, it cancels what runs on its loop
                raise self._closed() from None
            self._abort("it was cancelled")
            raise
        except Exception as error:
            if self._client.status == "running":
                self._abort(str(error))
                raise
        if self._errors or len(self._outcomes) < len(self._futures):
            raise await self._autopsy()
        return [self._outcomes[member] for member in range(len(self._futures))]

    async def _until_ended(self) -> None:
        """Wait until all members have ended, or one has failed."""
        with contextlib.suppress(CancelledError):
            await wait(self._futures, return_when="FIRST_COMPLETED")
        while self._pending() and not self._errors:
            with contextlib.suppress(CancelledError, TimeoutError):
                await wait(self._futures, timeout=TOGETHER)
            await self._harvest()
        await self._harvest()

    async def _unless_gone(self, waiting: Coroutine[Any, Any, None]) -> None:
        """Wait, but no longer than all workers of the run are there.

        A pinned task whose worker is gone would wait for ever, and so would who waits for it.
        Nobody waits for what is only looked at.
        """
        over = asyncio.Event()
        ended = asyncio.ensure_future(waiting)
        looked = _in_background(self._look_after(over))
        try:
            await asyncio.wait({ended, looked}, return_when="FIRST_COMPLETED")
            (ended if ended.done() else looked).result()
        finally:
            ended.cancel()
            over.set()  # a question that is under way is not cut off: Dask would log it

    async def _look_after(self, over: asyncio.Event) -> None:
        """Look now and then, until the client is closed or a worker has left the cluster."""
        pauses = Pauses()
        addresses = [member.address for member in self._spec.members]
        looks = [self._report, self._tell_of_compilation, self._tell_of_busy_workers]
        while not await _comes(over, LOOK):
            if self._client.status != "running" or await self._look():
                return
            if not self._outcomes:
                await pauses.check(self._client.scheduler, addresses)
            for look in looks if self._spec.options.progress is not False else []:
                if not over.is_set():
                    await look(over)

    async def _look(self) -> set[int]:
        """Return the members whose worker has left the cluster."""
        addresses = [member.address for member in self._spec.members]
        scheduler: Any = self._client.scheduler
        there = await scheduler.ncores(workers=addresses)
        self._gone = {
            member for member, address in enumerate(addresses) if address not in there
        }
        return self._gone

    async def _report(self, over: asyncio.Event) -> None:
        """Tell listeners how far the first member is, if it says so at once."""
        first = self._spec.members[0].address
        scheduler: Any = self._client.scheduler
        asked = scheduler.broadcast(
            msg={"op": "dgraph_progress", "run": self._spec.run},
            workers=[first],
            on_error="ignore",
        )
        with contextlib.suppress(TimeoutError):
            progress = (await asyncio.wait_for(asked, LOOK)).get(first)
            if progress is not None and not over.is_set():
                superstep, stage, seconds = progress
                notify(SuperstepDone(self._spec.run, superstep, stage, {}, {}, {}, seconds))

    async def _tell_of_compilation(self, over: asyncio.Event) -> None:
        await tell_of_compilation(self._client, self._spec.members[0].address)

    async def _tell_of_busy_workers(self, over: asyncio.Event) -> None:
        """Say, once, which workers do something else instead of taking part in the run."""
        if perf_counter() < self._ask_at or self._outcomes or self._errors:
            return
        scheduler: Any = self._client.scheduler
        asked = scheduler.broadcast(
            msg={"op": "dgraph_busy", "run": self._spec.run},
            workers=[them.address for them in self._spec.members],
            on_error="ignore",
        )
        with contextlib.suppress(TimeoutError):
            answers = await asyncio.wait_for(asked, LOOK)
            busy = {address: with_what for address, with_what in answers.items() if with_what}
            if busy or all(with_what is None for with_what in answers.values()):
                self._ask_at = math.inf
            if busy and not over.is_set():
                notify(Note(_why_waiting(self._spec.algorithm, busy), loud=True))

    async def _harvest(self) -> None:
        """Fetch the outcomes of members that have ended and are still there."""
        finished = []
        for member, future in enumerate(self._futures):
            if member in self._outcomes or member in self._errors or member in self._gone:
                continue
            if future.status == "finished":
                finished.append(member)
            elif future.status in ("error", "cancelled"):
                self._errors[member] = await _error_of(future)
        outcomes = await self._client.gather([self._futures[member] for member in finished])
        for member, outcome in zip(finished, outcomes, strict=True):
            self._outcomes[member] = outcome
            if outcome.error is not None:
                self._errors[member] = unpack_error(outcome.error)

    async def _autopsy(self) -> DgraphError:
        """End the run on all workers and return what was the matter."""
        if self._client.status != "running":
            return self._closed()
        await self._look()
        self._abort(str(judge(self._spec, self._errors, self._gone)))
        end = perf_counter() + GRACE
        while self._pending() - await self._look() and perf_counter() < end:
            await asyncio.sleep(PAUSE)
        await self._unless_gone(self._harvest())
        return judge(self._spec, self._errors, self._gone)

    def _closed(self) -> RunAbortedError:
        return RunAbortedError(
            f"{self._spec.algorithm} ended: its client was closed or has lost the scheduler"
        )

    def _pending(self) -> set[int]:
        return {
            member
            for member, future in enumerate(self._futures)
            if future.status in ("pending", "lost")
        }

    def _abort(self, reason: str) -> None:
        """Tell all members that the run is over; releasing the futures tells them as well."""
        workers = [
            them.address
            for member, them in enumerate(self._spec.members)
            if member not in self._gone
        ]
        _in_background(_tell(self._client, self._spec.run, workers, reason))


def _in_background(work: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
    """Begin something for whose end nobody need wait, and whose failure nobody need hear of."""
    task = asyncio.ensure_future(work)
    _background.add(task)
    task.add_done_callback(_forget)
    return task


def _forget(task: asyncio.Task[None]) -> None:
    _background.discard(task)
    if not task.cancelled():
        task.exception()


async def _comes(event: asyncio.Event, seconds: float) -> bool:
    """Return whether an event comes within so many seconds."""
    with contextlib.suppress(TimeoutError):
        await asyncio.wait_for(event.wait(), seconds)
    return event.is_set()


def _why_waiting(algorithm: str, busy: Mapping[str, Sequence[str] | str]) -> str:
    """Say for what a run waits.

    Examples
    --------
    >>> _why_waiting("bfs", {"tcp://10.0.0.1:1": ["clean-7", "clean-8"]})
    "bfs waits for worker tcp://10.0.0.1:1, busy with 'clean-7' and 1 more task: it starts \
when one of these ends"
    >>> _why_waiting("bfs", {"tcp://10.0.0.1:1": "paused"})
    'bfs waits for worker tcp://10.0.0.1:1, which is paused: Dask starts nothing there until \
its memory is less full'
    """
    (address, why), *others = busy.items()
    also = f" (and {len(others)} more workers)" if others else ""
    waits = f"{algorithm} waits for worker {address}{also}, "
    if why == "paused":
        return (
            waits + "which is paused: Dask starts nothing there until its memory is less full"
        )
    if isinstance(why, str):
        return waits + f"which is {why}: Dask starts nothing there"
    more = f" and {len(why) - 1} more task{'s' * (len(why) > 2)}" if why[1:] else ""
    return waits + f"busy with {why[0]!r}{more}: it starts when one of these ends"


async def _tell(client: Client, run: str, workers: list[str], reason: str) -> None:
    message = {"op": "dgraph_abort", "run": run, "reason": reason}
    scheduler: Any = client.scheduler
    with contextlib.suppress(Exception):  # the client may be closed, a worker gone
        await asyncio.wait_for(
            scheduler.broadcast(msg=message, workers=workers, on_error="ignore"), GRACE
        )


async def _error_of(future: Future[Outcome]) -> BaseException:
    """Return why a task failed that should have returned an outcome."""
    if future.status == "cancelled":
        return RunAbortedError("its task was cancelled")
    error = await future._exception()
    assert isinstance(error, BaseException)
    return error
