"""What runs in the pinned task on every worker of a run: join the others, host the slots."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from distributed import Status, secede

from dgraph.engine.buffering import find_cap, make_plans
from dgraph.engine.context import MOST_COMPANIONS, Context, Near
from dgraph.engine.failure import Watch, pack_error, wait_for_turn
from dgraph.engine.joining import Joining, Peers, run_number
from dgraph.engine.network import Network, find_network
from dgraph.engine.plugin import Plugin, Seat, find_plugin
from dgraph.engine.records import Log, Recorder
from dgraph.engine.spec import RunSpec
from dgraph.errors import RunAbortedError
from dgraph.exchange.buffers import Pool
from dgraph.exchange.cores import Cores, allowed_cores, own_cores
from dgraph.exchange.hub import Hub
from dgraph.exchange.transport.links import BEFORE, PeerLinks

__all__ = ["Outcome", "host"]

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
        self.number = run_number(spec.run)
        self.peers = Peers.of(spec, member)
        limit = self.worker.memory_manager.memory_limit
        self.pool = Pool(find_cap(spec.options.buffers, limit))
        callers = [other for other in self.peers.over("tcp") if other > member]
        self.seat = Seat(spec.token, self.peers.over("comm"), self.pool.cap, callers)
        self.links: PeerLinks | None = None
        self.watch = Watch(
            self.worker,
            plugin.loop,
            spec.run,
            {other: spec.members[other].address for other in self.peers.names},
            spec.options.silence_timeout,
            self.check,
        )
        plugin.seats[spec.run] = self.seat

    def run(self) -> Outcome:
        spec, slots = self.spec, self.spec.members[self.me].slots
        held = self.plugin.held_for(spec, slots)
        cores = self._cores()
        if self.peers.names:
            self.links = self.seat.links = self._join(eager=bool(cores.mine))
        network = self._network()
        if network is not None:
            network.kept = held
        away = set(range(spec.slots)).difference(slots)
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
        for context in contexts.values():
            context.works_for(hub)
            if network is None and _is_on_one_host(spec):
                context.near = Near(hub, has_cores=len(allowed_cores()) >= spec.slots)
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
            wait_for_turn(self.plugin.loop, self.spec.options.silence_timeout, self.check)
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

    def _join(self, eager: bool) -> PeerLinks:
        """Connect to all other members."""
        spec, pool = self.spec, self.pool
        joining = Joining(spec, self.me, self.peers, self.plugin, self.seat)
        channels = joining.channels(self.check)
        plans = make_plans(spec, self.me, self.peers.carriers, pool.cap)
        owners, waker = _owners(spec), self.seat.waker
        return PeerLinks(
            self.number, owners, channels, waker, self.watch, plans, pool, eager=eager
        )

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


def _is_on_one_host(spec: RunSpec) -> bool:
    """Tell whether slots of several processes may work on the same memory.

    Each has a thread, and nobody has said which way frames should take.
    """
    members, options = spec.members, spec.options
    return (
        len(members) > 1
        and len({them.host for them in members}) == 1
        and all(them.place is None and len(them.slots) <= them.threads for them in members)
        and options.transport == "auto"
        and not options.carriers
        and spec.holds == "shard"
        and spec.slots <= MOST_COMPANIONS
    )


def _owners(spec: RunSpec) -> list[int]:
    """Return for each slot the member that has it."""
    owners = [0] * spec.slots
    for member, them in enumerate(spec.members):
        for slot in them.slots:
            owners[slot] = member
    return owners
