"""What runs in the pinned task on every worker of a run: join the others, host the slots."""

from __future__ import annotations

import asyncio
import hashlib
import time
from collections.abc import Callable, Collection, Coroutine, Mapping, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field
from typing import Any, TypeVar

import numpy as np
from distributed import Status, secede
from distributed.comm.core import Comm

from dgraph.engine.buffering import find_cap, make_plans
from dgraph.engine.carriers import choose_carriers
from dgraph.engine.context import Context
from dgraph.engine.failure import Watch, pack_error
from dgraph.engine.network import Network, find_network
from dgraph.engine.plugin import Plugin, Seat, find_plugin
from dgraph.engine.records import Log, Recorder
from dgraph.engine.spec import RunSpec
from dgraph.errors import JoinTimeoutError, RunAbortedError
from dgraph.exchange.buffers import Pool
from dgraph.exchange.cores import Cores, allowed_cores, own_cores
from dgraph.exchange.hub import Hub
from dgraph.exchange.transport.comm import CommChannel, dial
from dgraph.exchange.transport.links import BEFORE, Channel, PeerLinks
from dgraph.exchange.transport.meeting import Meeting
from dgraph.exchange.transport.mpi import MpiMeeting
from dgraph.exchange.transport.tcp import Calls, call

__all__ = ["Outcome", "host"]

T = TypeVar("T")
AnyMeeting = Meeting | MpiMeeting | Calls

#: A worker looks for missing members again after this share of the time that it has waited
#: already, but at least so often (seconds).
PATIENCE, LONGEST_PAUSE = 0.1, 0.02

#: A worker in another state ends its runs.
ALIVE = (Status.running, Status.paused, Status.closing_gracefully)


@dataclass(frozen=True)
class Outcome:
    """How a run ended on one worker: the result of its pinned task.

    Parameters
    ----------
    log : Log or None
        None if it failed.
    values : dict
        What the programs returned for the client, by slot.
    notes : dict
        What the program of the worker's first slot noted.
    error : bytes or None
        A packed error.
    agreed : frozenset of str
        What the slots have agreed on about the graph.
    """

    log: Log | None = None
    values: Mapping[int, Any] = field(default_factory=dict)
    notes: Mapping[str, Any] = field(default_factory=dict)
    error: bytes | None = None
    agreed: frozenset[str] = frozenset()


def host(spec: RunSpec, member: int) -> Outcome:
    """Host the slots of one member for the length of a run; the function of a pinned task.

    A failure is returned, not raised: the client makes one error of those of all workers, and
    Dask would log each.
    """
    secede()  # other work of the worker goes on, and several runs cannot block each other
    gang = _Gang(spec, member, find_plugin())
    try:
        return gang.run()
    except Exception as error:
        return Outcome(error=pack_error(error))
    finally:
        gang.close()


class _Gang:
    """One member of a run while it goes on."""

    def __init__(self, spec: RunSpec, member: int, plugin: Plugin) -> None:
        self.spec = spec
        self.me = member
        self.plugin = plugin
        self.worker = plugin.worker
        self.key = plugin.worker.get_current_task()
        self.number = _run_number(spec.run)
        self.names = {
            other: f"worker {them.address}"
            for other, them in enumerate(spec.members)
            if other != member
        }
        self.carriers = choose_carriers(spec, member)
        limit = self.worker.memory_manager.memory_limit
        self.pool = Pool(find_cap(spec.options.buffers, limit))
        callers = [other for other in self._reached_by("tcp") if other > member]
        self.seat = Seat(spec.token, self._reached_by("comm"), self.pool.cap, callers)
        self.links: PeerLinks | None = None
        self.watch = Watch(
            self.worker,
            plugin.loop,
            spec.run,
            {other: spec.members[other].address for other in self.names},
            spec.options.silence_timeout,
            self.check,
        )
        plugin.seats[spec.run] = self.seat

    def run(self) -> Outcome:
        spec, slots = self.spec, self.spec.members[self.me].slots
        held = self.plugin.held_for(spec, slots)
        if self.names:
            self.links = self.seat.links = self._join()
        network = self._network()
        if network is not None:
            network.kept = held
        away = set(range(spec.slots)).difference(slots)
        cores = self._cores()
        contexts = {slot: Context(slot, spec.slots, network, away) for slot in slots}
        for context in contexts.values():
            context.shares_process_with(list(contexts.values()))
            context.cores = cores
        programs = {
            slot: spec.program(contexts[slot], held[slot], *spec.arguments) for slot in slots
        }
        del held
        recorder = Recorder(spec.topology, slots, self.pool)
        threads = spec.members[self.me].threads
        hub = Hub(programs, threads, self.links, recorder, self.why_cancelled, cores)
        self.seat.hub, self.seat.recorder = hub, recorder
        results = hub.run(ready=self._start_the_clock)
        for context in contexts.values():
            context.close()
        first = contexts[slots[0]]
        log = recorder.log(first.stage)
        agreed = frozenset(network.met if network else ())
        return Outcome(log, self._keep(results), first.notes, agreed=agreed)

    def _cores(self) -> Cores:
        """Return the cores of this member's threads.

        A build starts threads of libraries, which would stay where it is.
        """
        members, options = self.spec.members, self.spec.options
        if not options.pin or self.spec.holds == "chunks":
            return Cores()
        here = [(them.host, them.threads) for them in members]
        return Cores(own_cores(here, self.me, allowed_cores(), self.number))

    def _start_the_clock(self) -> None:
        """Do so once all members are there, and their event loops idle.

        To tell the scheduler that this task runs takes a millisecond of Python, which would
        hold up every slot that wants to go on, above all in one process with the scheduler.
        """
        for _ in range(3):
            asyncio.run_coroutine_threadsafe(asyncio.sleep(0), self.plugin.loop).result()
        if self.links is not None:
            self.links.exchange(BEFORE, [], np.zeros(0, np.int64), "sum")
        assert self.seat.recorder is not None
        self.seat.recorder.start()

    def close(self) -> None:
        """Leave the run."""
        del self.plugin.seats[self.spec.run]
        self.watch.close()
        if self.links is not None:
            self.links.close()
        self.seat.waker.close()
        if self.spec.holds == "chunks":
            self.plugin.chunks.drop(self.spec.graph)

    def check(self) -> None:
        """Raise if the run is over."""
        if self.seat.hub is not None:
            self.seat.hub.check()
        elif reason := self.why_cancelled():
            raise RunAbortedError(reason)

    def why_cancelled(self) -> str | None:
        """Return why the run was cancelled on this worker, None if it was not."""
        if self.seat.reason is not None:
            return self.seat.reason
        if self.worker.status not in ALIVE:
            return f"worker {self.worker.address} is closing"
        task = self.worker.state.tasks.get(self.key)
        if task is None or task.state in ("cancelled", "resumed"):
            return "it was cancelled, or its client has gone"
        return None

    def _keep(self, results: Mapping[int, Any]) -> dict[int, Any]:
        """Hold what the programs made; return what goes to the client."""
        if self.spec.keeps == "value":
            return dict(results)
        values = {}
        for slot, result in results.items():
            kept, values[slot] = result if isinstance(result, tuple) else (result, None)
            if self.spec.keeps == "shard":
                self.plugin.shards.keep(self.key, (self.spec.graph, slot), kept)
            else:
                self.plugin.outputs.keep(self.key, (self.spec.run, slot), kept)
        return values

    def _join(self) -> PeerLinks:
        """Connect to all other members."""
        spec = self.spec
        meetings = self._meetings()
        dials = self._call(dial, self.seat.inboxes)
        try:
            self._await_all(meetings, dials)
        except BaseException:
            self._give_up(meetings, dials)
            raise
        finally:
            for meeting in meetings:
                meeting.close()
        channels: list[Channel] = [
            channel for meeting in meetings for channel in meeting.channels.values()
        ]
        channels += [self._channel(other, made.result()) for other, made in dials.items()]
        owners = _owners(spec)
        plans = make_plans(spec, self.me, self.carriers, self.pool.cap)
        return PeerLinks(
            self.number, owners, channels, self.seat.waker, self.watch, plans, self.pool
        )

    def _call(
        self, how: Callable[..., Coroutine[Any, Any, T]], others: Collection[int]
    ) -> dict[int, Future[T]]:
        """Begin to call other members, on the event loop."""
        spec = self.spec
        hello = {"run": spec.run, "token": spec.token, "member": self.me}
        return {
            other: asyncio.run_coroutine_threadsafe(
                how(self.worker, spec.members[other].address, **hello), self.plugin.loop
            )
            for other in others
        }

    def _network(self) -> Network | None:
        """Return how frames travel; the edges of a graph that is built go straight."""
        spec, options = self.spec, self.spec.options
        if spec.holds == "chunks":
            return None
        return find_network(
            options.routing,
            options.combine,
            options.cost,
            spec.topology,
            spec.scores,
            _owners(spec),
            self.me,
            spec.agreed,
        )

    def _reached_by(self, carrier: str) -> dict[int, str]:
        """Return the members that a carrier leads to, and their names."""
        return {
            other: name for other, name in self.names.items() if self.carriers[other] == carrier
        }

    def _meetings(self) -> list[AnyMeeting]:
        """Begin to look for the members that are reached by sockets, and by MPI."""
        spec, near, ranks = self.spec, self._reached_by("unix"), self._reached_by("mpi")
        far = self._reached_by("tcp")
        meetings: list[AnyMeeting] = []
        if near:
            meetings.append(Meeting(self.plugin.folder, self.number, spec.token, self.me, near))
        if ranks:
            assert self.plugin.world is not None
            numbers = {other: _rank(spec, other) for other in ranks}
            meetings.append(MpiMeeting(self.plugin.world, self.number, numbers, ranks))
        if far:
            made = self._call(call, [other for other in far if other < self.me])
            meetings.append(Calls(self.number, far, made, self.seat.guests))
        return meetings

    def _await_all(
        self, meetings: Sequence[AnyMeeting], dials: Mapping[int, Future[Comm]]
    ) -> None:
        began = time.monotonic()
        while True:
            missing = self._not_connected(dials)
            for meeting in meetings:
                if meeting.missing:
                    meeting.step()
                missing |= meeting.missing
            if not missing:
                return
            self.check()
            waited = time.monotonic() - began
            if waited > self.spec.options.join_timeout:
                names = ", ".join(self.names[other] for other in sorted(missing))
                raise JoinTimeoutError(
                    f"expected all workers to join within {waited:.3g} s, {names} did not: "
                    "see whether all their threads are busy, or raise dgraph.timeouts.join"
                )
            time.sleep(min(PATIENCE * waited, LONGEST_PAUSE))

    def _not_connected(self, dials: Mapping[int, Future[Comm]]) -> set[int]:
        """Return the members to which there is not yet a comm in both directions."""
        calling = {
            other for other, made in dials.items() if not (made.done() and made.result())
        }
        silent = {other for other, inbox in self.seat.inboxes.items() if not inbox.open}
        return calling | silent

    def _give_up(
        self, meetings: Sequence[AnyMeeting], dials: Mapping[int, Future[Comm]]
    ) -> None:
        for meeting in meetings:
            for channel in meeting.channels.values():
                channel.close()
        for other, made in dials.items():
            if not made.cancel() and made.exception() is None:
                self._channel(other, made.result()).close()

    def _channel(self, other: int, comm: Comm) -> CommChannel:
        return CommChannel(
            comm,
            self.seat.inboxes[other],
            other,
            self.number,
            self.names[other],
            self.plugin.loop,
        )


def _rank(spec: RunSpec, member: int) -> int:
    place = spec.members[member].place
    assert place is not None
    return place.rank


def _owners(spec: RunSpec) -> list[int]:
    """Return for each slot the member that has it."""
    owners = [0] * spec.slots
    for member, them in enumerate(spec.members):
        for slot in them.slots:
            owners[slot] = member
    return owners


def _run_number(run: str) -> int:
    """Return the number that marks the frames of a run.

    Examples
    --------
    >>> _run_number("bfs-1") != _run_number("bfs-2")
    True
    """
    digest = hashlib.blake2b(run.encode(), digest_size=8).digest()
    return int.from_bytes(digest, "little", signed=True)
