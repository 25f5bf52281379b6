"""Start a run on the workers of a graph, wait for it, and say how it ended: the client's part.

::

    launch ──submit──> one pinned task on every worker ──> gang.host
       │                                                      │ (supersteps: no scheduler)
       └─── vigil: wait, look after lost workers <─ Outcome ──┘
                  └──> RunResult: record, values, futures

All this happens on the client's event loop.
"""

from __future__ import annotations

import asyncio
import contextlib
import contextvars
import secrets
import uuid
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from time import perf_counter
from typing import TYPE_CHECKING, Any

from distributed import CancelledError, Client, Future, Worker
from distributed.client import _wait as wait  # the public one wants a default client

from dgraph.config import Options
from dgraph.engine.gang import Outcome, host
from dgraph.engine.plugin import find_plugin
from dgraph.engine.records import RunRecord, merge
from dgraph.engine.spec import Member, RunSpec, SlotProgram
from dgraph.engine.vigil import Vigil
from dgraph.errors import GraphLostError, OptionError, TopologyError
from dgraph.events import RunEnded, RunStarted, notify
from dgraph.topology import CostModel, Topology
from dgraph.topology.probed import named

if TYPE_CHECKING:
    from pandas import DataFrame

__all__ = ["RunResult", "launch", "make_spec", "read_options", "take", "take_partitions"]

#: Runs come before other work that waits on the same workers: they hold up all of them.
PRIORITY = 100


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
    agreed : frozenset of str
        What all slots have agreed on about the graph.
    """

    record: RunRecord
    values: tuple[Any, ...]
    futures: tuple[Future[Outcome], ...]
    agreed: frozenset[str] = frozenset()


def make_spec(
    algorithm: str,
    program: SlotProgram,
    *arguments: Any,
    graph: str,
    members: tuple[Member, ...],
    topology: Topology,
    holds: str = "shard",
    keeps: str = "value",
    options: Options | None = None,
    scores: tuple[int, ...] = (),
    agreed: frozenset[str] = frozenset(),
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
        options=options or read_options(topology),
        scores=scores,
        agreed=agreed,
    )


def read_options(topology: Topology) -> Options:
    """Read the configuration on the client, with costs as a model for this topology.

    Workers could not: what was probed is kept where the client is.

    Examples
    --------
    >>> import dask
    >>> with dask.config.set({"dgraph.cost": "decade"}):
    ...     read_options(Topology.from_fanouts([2, 2])).cost.relative()
    (1.0, 10.0)
    """
    options = Options.read()
    if options.cost is None:
        return options
    try:
        probe = named(options.cost, topology)
        cost = CostModel.of(probe or options.cost, topology)
    except (OptionError, TopologyError) as error:
        raise type(error)(f"dgraph.cost: {error}") from None
    best = () if probe is None else probe.carriers(topology.height)
    return replace(options, cost=cost, carriers=best)


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
        # In a context of its own: what the user annotates is not meant for these tasks.
        futures = contextvars.Context().run(_submit, client, spec)
        outcomes = await Vigil(client, spec, futures).outcomes()
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
    slots = tuple(values[slot] for slot in sorted(values))
    return RunResult(record, slots, tuple(futures), outcomes[0].agreed)


def _check_transport(spec: RunSpec) -> None:
    hosts = {member.host for member in spec.members}
    if (wanted := spec.options.transport) in ("shm", "unix") and len(hosts) > 1:
        raise OptionError(
            f"dgraph.transport is {wanted!r}, but the workers are on different hosts "
            "or cannot reach each other's sockets: use 'auto' or 'comm'"
        )
    if spec.options.transport == "tcp" and not all(member.tcp for member in spec.members):
        raise OptionError(
            "dgraph.transport is 'tcp', but the workers' addresses are not all tcp://: use "
            "'auto' or 'comm'"
        )
    worlds = {member.place and member.place.world for member in spec.members}
    if spec.options.transport == "mpi" and (None in worlds or len(worlds) > 1):
        raise OptionError(
            "dgraph.transport is 'mpi', but the workers are not all ranks of one MPI job with "
            "MPI_THREAD_MULTIPLE that dgraph.mpi.start() has made a cluster: use 'auto'"
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
    partitions = contextvars.Context().run(_submit_takes, client, spec)
    loop: Any = client.loop
    loop.add_callback(_hold, client, result.futures, partitions)
    return partitions


def _submit_takes(client: Client, spec: RunSpec) -> list[Future[DataFrame]]:
    return [
        future
        for member in spec.members
        for future in client.map(
            partial(take, member.address, spec.run),
            member.slots,
            key=[f"dgraph-{spec.run}-partition-{slot}" for slot in member.slots],
            workers=[member.address],
            allow_other_workers=True,
            pure=False,
            priority=PRIORITY,
        )
    ]


async def _hold(
    client: Client, futures: Sequence[Future[Outcome]], partitions: list[Future[Any]]
) -> None:
    """Hold the futures of a run, and with them the outputs, until all outputs were taken.

    Then the tasks may run anywhere. Where all workers are lost, Dask lets a task that prefers
    one of them wait for ever, though others come: it shall say that its output is lost.
    """
    with contextlib.suppress(CancelledError):
        await wait(partitions)
        if client.status != "running":  # the scheduler would log that it does not know them
            return
        scheduler: Any = client.scheduler
        keys = [some.key for some in partitions if some.status == "finished"]
        with contextlib.suppress(OSError, KeyError):  # the cluster is closed, or they are gone
            await scheduler.set_restrictions(worker=dict.fromkeys(keys))
    del futures
