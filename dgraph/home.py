"""Where a graph lies, as its client knows it: the workers, and what keeps the shards there.

::

    spec   dgraph.engine.spec      what a run is: frozen, sent to the workers
    run    dgraph.engine.gang      doing it on a worker
    state  here                    what the client knows of the graph
"""

from __future__ import annotations

import asyncio
import threading
import uuid
from collections.abc import Awaitable
from dataclasses import replace
from typing import TYPE_CHECKING, Any, TypeVar

from distributed import Client, Future

from dgraph.config import Options
from dgraph.engine.compiling import tell_of_compilation
from dgraph.engine.launch import (
    RunResult,
    launch,
    make_spec,
    read_options,
    take_partitions,
)
from dgraph.engine.network import find_network, weigh_slot
from dgraph.engine.pauses import Pauses
from dgraph.engine.records import RunRecord
from dgraph.engine.spec import Member, RunSpec, SlotProgram
from dgraph.errors import GraphLostError
from dgraph.topology import Topology

if TYPE_CHECKING:
    from pandas import DataFrame

__all__ = ["Home", "while_all_there"]

T = TypeVar("T")

#: Seconds between two looks at which workers are still there.
LOOK = 1.0


class Home:
    """The place of one graph on a cluster.

    The workers hold a shard for as long as the client holds the result of the task that made
    it. So the shards go when this object does, when it is closed, and when its client ends.

    Parameters
    ----------
    client : distributed.Client
    members : tuple of Member
        The workers, and the slots on each.
    topology : Topology
        The domain tree over the slots.

    Attributes
    ----------
    name : str
        Unique in the cluster; the workers know the graph by it.
    """

    def __init__(self, client: Client, members: tuple[Member, ...], topology: Topology) -> None:
        self.client = client
        self.members = members
        self.topology = topology
        self.name = f"graph-{uuid.uuid4().hex}"
        self._futures: tuple[Future[Any], ...] = ()
        self._ended: str | None = None
        #: "in memory", "closed", or "lost" since this was found.
        self.state = "in memory"
        self._runs: list[RunRecord] = []
        self._scores: tuple[int, ...] | None = None
        self._agreed: frozenset[str] = frozenset()
        self._lock = threading.Lock()

    @property
    def slots(self) -> int:
        """How many slots the graph lies on."""
        return self.topology.slots

    @property
    def addresses(self) -> list[str]:
        """The addresses of the workers."""
        return [member.address for member in self.members]

    async def build(self, program: SlotProgram, *arguments: Any) -> tuple[Any, ...]:
        """Run the program that turns the chunks of the workers into shards.

        Returns
        -------
        tuple
            What it returns on each slot beside the shard.
        """
        spec = self._spec("build", program, arguments, holds="chunks", keeps="shard")
        result = await launch(self.client, spec)
        self._futures = result.futures
        return result.values

    async def run(
        self, name: str, program: SlotProgram, *arguments: Any
    ) -> tuple[RunRecord, list[Future[DataFrame]], tuple[Any, ...]]:
        """Run a slot program on the shards.

        Returns
        -------
        record
        partitions : list of Future
            The frames that it makes, by slot.
        values : tuple
            What it returns on each slot beside its frame.

        Raises
        ------
        GraphLostError
            If the graph is not there any more, or a worker leaves during the run.
        """
        scores = await self._elect()
        spec = self._spec(name, program, arguments, keeps="frame", scores=scores)
        result = await self._launch(spec)
        return result.record, take_partitions(self.client, spec, result), result.values

    async def ask(self, name: str, program: SlotProgram, *arguments: Any) -> tuple[Any, ...]:
        """Run a slot program on the shards; return the small values it returns, by slot."""
        scores = await self._elect()
        return (await self._launch(self._spec(name, program, arguments, scores=scores))).values

    async def _elect(self) -> tuple[int, ...]:
        """Return how heavy the slots are, by which monitors are elected; asked for once."""
        options = read_options(self.topology)
        network = find_network(options.routing, options.combine, options.cost, self.topology)
        if network is None:
            return ()
        if self._scores is None:
            straight = replace(options, routing="direct")
            spec = self._spec("weigh", weigh_slot, (), options=straight)
            self._scores = (await self._launch(spec)).values
        return self._scores

    async def _launch(self, spec: RunSpec) -> RunResult:
        self.check()
        try:
            result = await launch(self.client, spec)
        except GraphLostError as error:
            if self._ended is not None:  # closed, or found lost, while this run went on
                raise GraphLostError(self._ended) from error
            self._ended, self._futures = f"the graph is lost: {error}", ()
            self.state = "lost"
            raise
        self._agreed |= result.agreed
        return result

    def _spec(
        self,
        algorithm: str,
        program: SlotProgram,
        arguments: tuple[Any, ...],
        holds: str = "shard",
        keeps: str = "value",
        options: Options | None = None,
        scores: tuple[int, ...] = (),
    ) -> RunSpec:
        return make_spec(
            algorithm,
            program,
            *arguments,
            graph=self.name,
            members=self.members,
            topology=self.topology,
            holds=holds,
            keeps=keeps,
            options=options,
            scores=scores,
            agreed=self._agreed,
        )

    def check(self) -> None:
        """Raise an error that says what happened and what to do, unless the graph is there.

        Raises
        ------
        GraphLostError
        """
        if self._ended is None:
            if self.client.status != "running":
                self._end("the client of the graph is closed, and with it the graph")
            elif lost := self._lost():
                self._end(lost, "lost")
        if self._ended is not None:
            raise GraphLostError(self._ended)

    def _lost(self) -> str:
        """Say whose shards are gone and why, if any are: Dask would have to make them again."""
        states = [future.status for future in self._futures]
        gone = " and ".join(
            f"worker {member.address} (slots {', '.join(map(str, member.slots))})"
            for member, state in zip(self.members, states, strict=True)
            if state != "finished"
        )
        if "cancelled" in states:
            return f"Client.cancel or Client.restart has released the shards of {gone}"
        return gone and f"{gone} left the cluster, and its part of the graph is lost"

    def close(self) -> None:
        """Let the workers free the shards; runs that have begun still end."""
        if self._ended is None:
            self._end("the graph was closed")

    def _end(self, reason: str, state: str = "closed") -> None:
        self.state = state
        self._ended = f"{reason}: build it again with from_edges, or load a saved copy"
        self._futures = ()

    @property
    def open(self) -> bool:
        """Whether the graph was not closed, and not found to be lost."""
        return self._ended is None

    @property
    def runs(self) -> list[RunRecord]:
        """A record for each run, the latest to end last."""
        with self._lock:
            return list(self._runs)

    def note(self, record: RunRecord) -> None:
        """Add the record of a run of an algorithm."""
        with self._lock:
            self._runs.append(record)


async def while_all_there(home: Home, waiting: Awaitable[T]) -> T:
    """Wait while a graph is built, but no longer than all of its workers are there.

    Raises
    ------
    GraphLostError
        If one of them has left, whatever else was raised because of that.
    RunError
        If one is paused, for its memory, and stays so.
    """
    pauses = Pauses()
    task = asyncio.ensure_future(waiting)
    error: BaseException | None = None
    try:
        while not (await asyncio.wait({task}, timeout=LOOK))[0]:
            await _check_workers(home)
            await pauses.check(home.client.scheduler, home.addresses)
            await tell_of_compilation(home.client, home.addresses[0])
        error = None if task.cancelled() else task.exception()
        if error is not None:
            await _check_workers(home, error)
        return task.result()
    finally:
        task.cancel()
        del task, error  # an error that this frame is part of would hold itself


async def _check_workers(home: Home, error: BaseException | None = None) -> None:
    """Raise if a worker of the graph has left the cluster; chained to what that led to."""
    scheduler: Any = home.client.scheduler
    there = await scheduler.ncores(workers=home.addresses)
    gone = [address for address in home.addresses if address not in there]
    if gone:
        raise GraphLostError(
            f"worker {' and '.join(gone)} left the cluster while the graph was being built: "
            "call from_edges again"
        ) from error
