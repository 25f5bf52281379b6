"""Start a run on the workers of a graph, wait for it, and say how it ended: the client's part.

::

    launch ──submit──> one pinned task on every worker ──> gang.host
       │                                                      │ (supersteps: no scheduler)
       └─── wait, look after lost workers <──── Outcome ──────┘
                  └──> RunResult: record, values, futures

Everything here is a coroutine that runs on the client's event loop.
"""

from __future__ import annotations

import asyncio
import contextlib
import secrets
import uuid
from collections.abc import Callable, Coroutine, Sequence
from dataclasses import dataclass
from time import perf_counter
from typing import TYPE_CHECKING, Any, TypeVar

from distributed import CancelledError, Client, Future, Worker
from distributed.client import _wait as wait  # the public one wants a default client

from dgraph.config import Options
from dgraph.engine.failure import judge, unpack_error
from dgraph.engine.gang import Outcome, host
from dgraph.engine.plugin import find_plugin
from dgraph.engine.records import RunRecord, merge
from dgraph.engine.spec import Member, RunSpec
from dgraph.errors import DgraphError, GraphLostError, OptionError, RunAbortedError
from dgraph.events import RunEnded, RunStarted, notify
from dgraph.topology import Topology

if TYPE_CHECKING:
    from pandas import DataFrame

__all__ = ["RunResult", "launch", "make_spec", "take", "take_partitions"]

#: Seconds between two looks at which workers are still there.
LOOK = 1.0

#: Seconds in which the other members end once one has: they end in the same superstep.
TOGETHER = 0.25

#: Seconds that members get to end after they were told to abort, before they are given up.
GRACE = 5.0

#: Runs come before other work that waits on the same workers: they hold up all of them.
PRIORITY = 100

#: Seconds between two looks at members that should end.
PAUSE = 0.05

T = TypeVar("T")

#: Tasks that tell workers of an abort; asyncio itself holds its tasks weakly only.
_background: set[asyncio.Task[None]] = set()


@dataclass(frozen=True)
class RunResult:
    """A run that ended well.

    Parameters
    ----------
    record : RunRecord
    values : tuple
        What the programs returned for the client, by slot.
    futures : tuple of distributed.Future
        The pinned tasks. As long as somebody holds them, the workers keep what the run left
        there: shards, or outputs that wait to be taken.
    """

    record: RunRecord
    values: tuple[Any, ...]
    futures: tuple[Future[Outcome], ...]


def make_spec(
    algorithm: str,
    program: Callable[..., Coroutine[Any, Any, Any]],
    *arguments: Any,
    graph: str,
    members: tuple[Member, ...],
    topology: Topology,
    holds: str = "shard",
    keeps: str = "value",
    options: Options | None = None,
) -> RunSpec:
    """Return a new run of a slot program; see :class:`~dgraph.engine.spec.RunSpec`."""
    return RunSpec(
        run=f"{algorithm}-{uuid.uuid4().hex}",
        token=secrets.token_bytes(32),
        algorithm=algorithm,
        program=program,
        arguments=arguments,
        graph=graph,
        holds=holds,
        keeps=keeps,
        members=members,
        topology=topology,
        options=options or Options.read(),
    )


async def launch(client: Client, spec: RunSpec) -> RunResult:
    """Run a slot program on all slots and wait until it has ended on all of them.

    Parameters
    ----------
    client : distributed.Client
    spec : RunSpec

    Raises
    ------
    RunError
        If a slot raised; chained to what it raised, or that itself if it is a DgraphError.
    GraphLostError
        If a worker has left the cluster.
    RunAbortedError
        If the run was cancelled or the client closed.

    Notes
    -----
    When the coroutine is cancelled (Ctrl-C in a synchronous client), the run ends on all
    workers.
    """
    _check_transport(spec)
    began = perf_counter()
    notify(RunStarted(spec.run, spec.algorithm, spec.slots))
    try:
        futures = _submit(client, spec)
        outcomes = await _Vigil(client, spec, futures).outcomes()
    except BaseException as error:
        seconds = perf_counter() - began
        notify(
            RunEnded(spec.run, spec.algorithm, 0, seconds, str(error) or type(error).__name__)
        )
        raise
    record = merge(
        [outcome.log for outcome in outcomes if outcome.log is not None],
        spec.algorithm,
        perf_counter() - began,
        outcomes[0].notes,
    )
    notify(RunEnded(spec.run, spec.algorithm, record.supersteps, record.seconds))
    values = {slot: value for outcome in outcomes for slot, value in outcome.values.items()}
    return RunResult(record, tuple(values[slot] for slot in sorted(values)), tuple(futures))


def _check_transport(spec: RunSpec) -> None:
    hosts = {member.host for member in spec.members}
    if spec.options.transport == "unix" and len(hosts) > 1:
        raise OptionError(
            "dgraph.transport is 'unix', but the workers are on different hosts "
            "or cannot reach each other's sockets: use 'auto' or 'comm'"
        )


def _submit(client: Client, spec: RunSpec) -> list[Future[Outcome]]:
    """Start one task on every worker of the run."""
    return [
        client.submit(
            host,
            spec,
            member,
            key=f"dgraph-{spec.run}-{member}",
            workers=[them.address],
            allow_other_workers=False,
            pure=False,
            retries=0,
            priority=PRIORITY,
        )
        for member, them in enumerate(spec.members)
    ]


class _Vigil:
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

    async def outcomes(self) -> list[Outcome]:
        """Return the outcomes of all members, or raise the one error that counts."""
        try:
            await self._unless_gone(self._until_ended())
        except asyncio.CancelledError:
            if self._client.status != "running":  # closing, it cancels what runs on its loop
                raise self._closed() from None
            self._abort("it was cancelled")
            raise
        except Exception:
            if self._client.status == "running":
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
        """
        task = asyncio.ensure_future(waiting)
        try:
            while not (await asyncio.wait({task}, timeout=LOOK))[0]:
                if self._client.status != "running" or await self._look():
                    return
            task.result()
        finally:
            task.cancel()

    async def _look(self) -> set[int]:
        """Return the members whose worker has left the cluster."""
        addresses = [member.address for member in self._spec.members]
        scheduler: Any = self._client.scheduler
        there = await scheduler.ncores(workers=addresses)
        self._gone = {
            member for member, address in enumerate(addresses) if address not in there
        }
        return self._gone

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
        told = asyncio.ensure_future(_tell(self._client, self._spec.run, workers, reason))
        _background.add(told)
        told.add_done_callback(_background.discard)


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


def take(address: str, run: str, slot: int) -> DataFrame:
    """Return the output of a slot; the function of a small task.

    Parameters
    ----------
    address : str
        The worker that holds it.
    run : str
    slot : int

    Raises
    ------
    GraphLostError
        If the worker is gone, or no longer holds it.
    """
    plugin = find_plugin()
    worker = plugin.worker
    found: DataFrame | None
    if worker.address == address:
        found = plugin.outputs.get((run, slot))
    else:
        fetched = asyncio.run_coroutine_threadsafe(
            _fetch(worker, address, run, slot), plugin.loop
        )
        found = fetched.result()
    if found is None:
        raise GraphLostError(
            f"the result of slot {slot} was lost with worker {address}: run the algorithm again"
        )
    return found


async def _fetch(worker: Worker, address: str, run: str, slot: int) -> DataFrame | None:
    """Fetch an output from another worker, None if that is gone."""
    with contextlib.suppress(OSError):
        if await worker.scheduler.ncores(workers=[address]):
            answer = await worker.rpc(address).dgraph_take(run=run, slot=slot)
            found: DataFrame | None = answer["output"]
            return found
    return None


def take_partitions(
    client: Client, spec: RunSpec, result: RunResult
) -> list[Future[DataFrame]]:
    """Turn the outputs of a run into ordinary futures, one partition for each slot.

    Does not wait. The tasks prefer the workers that hold the outputs; where one runs elsewhere
    it fetches its output. A result that is lost later is an error, because an output cannot be
    made again, and never a hang.
    """
    partitions = [
        client.submit(
            take,
            member.address,
            spec.run,
            slot,
            key=f"dgraph-{spec.run}-partition-{slot}",
            workers=[member.address],
            allow_other_workers=True,
            pure=False,
            priority=PRIORITY,
        )
        for member in spec.members
        for slot in member.slots
    ]
    loop: Any = client.loop
    loop.add_callback(_hold, result.futures, partitions)
    return partitions


async def _hold(futures: Sequence[Future[Outcome]], partitions: list[Future[Any]]) -> None:
    """Hold the futures of a run, and with them the outputs, until all outputs were taken."""
    with contextlib.suppress(CancelledError):
        await wait(partitions)
    del futures
