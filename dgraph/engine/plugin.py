"""The worker plugin: holds what stays on a worker, and answers the client and other workers.

What it holds belongs to tasks: it is dropped when Dask releases the result of the task that
made it. So closing a graph, collecting it as garbage and the end of its client all free the
memory, by Dask's own counting of references::

    client:  Graph --futures--> the results of the build's tasks (small)
    worker:  those tasks' keys --plugin--> shards (large, Dask does not see them)
"""

from __future__ import annotations

import asyncio
import contextlib
import gc
import hmac
import os
import socket
import uuid
from collections.abc import Collection
from pathlib import Path
from typing import TYPE_CHECKING, Any

from distributed import Status, Worker, WorkerPlugin, get_worker
from distributed.comm.core import Comm
from distributed.protocol.serialize import to_serialize

from dgraph.engine.compiling import COMPILATIONS
from dgraph.engine.holdings import Holdings
from dgraph.engine.records import Recorder
from dgraph.engine.shield import shield
from dgraph.errors import GraphLostError, RunAbortedError
from dgraph.exchange.hub import Hub
from dgraph.exchange.transport.comm import ACCEPTED, LATER, REFUSED, Inbox, serve
from dgraph.exchange.transport.links import NOTHING, PeerLinks
from dgraph.exchange.transport.meeting import can_reach, listen, private_folder, sweep
from dgraph.exchange.transport.poll import Waker
from dgraph.exchange.transport.tcp import has_sockets, take_socket
from dgraph.exchange.transport.world import World
from dgraph.topology import host_key, whereabouts

if TYPE_CHECKING:
    from dgraph.engine.spec import RunSpec

__all__ = ["Plugin", "Seat", "find_plugin"]

#: Seconds between two looks whether a result that was moved elsewhere is still there.
LOOK = 2.0

#: The same for all workers of this process, and together with the process id only for them.
_PROCESS = uuid.uuid4().hex


class Seat:
    """The place of a worker in one run, by which others reach it.

    Parameters
    ----------
    token : bytes
        Who wants to send to this place must present it.
    members : collection of int
        The members that send by a Dask comm.
    cap : int
        Of so many bytes that wait to be taken no more are read.
    callers : collection of int
        The members that call by TCP.
    """

    def __init__(
        self, token: bytes, members: Collection[int], cap: int, callers: Collection[int] = ()
    ) -> None:
        self.token = token
        self.waker = Waker()
        limit = cap // max(1, len(members))
        self.inboxes = {member: Inbox(self.waker, limit) for member in members}
        self.guests: dict[int, socket.socket] = {}
        self.callers = set(callers)  # that have not called yet
        self.reason: str | None = None
        self.hub: Hub | None = None
        self.recorder: Recorder | None = None
        self.links: PeerLinks | None = None

    @property
    def sent(self) -> int:
        """The number of the last exchange of which everything has left this worker."""
        return NOTHING if self.links is None else self.links.sent

    def admits(self, token: bytes, member: int) -> bool:
        """Return whether a member that presents this token may send here."""
        inbox = self.inboxes.get(member)
        is_due = member in self.callers or (inbox is not None and not inbox.open)
        return hmac.compare_digest(token, self.token) and is_due

    def abort(self, reason: str) -> None:
        """End the run on this worker, at the latest when its slots have ended their step."""
        self.reason = self.reason or reason
        self.waker.wake()
        if self.hub is not None:
            self.hub.abort(RunAbortedError(reason))


class Plugin(WorkerPlugin):
    """What dgraph holds on a worker.

    Attributes
    ----------
    shards : Holdings
        Shards by (graph, slot).
    chunks : Holdings
        EdgeChunks by (graph, partition), only while the graph is built.
    outputs : Holdings
        DataFrames by (run, slot), until they were taken as results.
    seats : dict
        ``{run: Seat}``, while the run goes on.
    """

    name = "dgraph"
    idempotent = True

    def setup(self, worker: Worker) -> None:
        """Attach to a worker: called by Dask, on the worker's event loop."""
        self.worker = worker
        self.loop = asyncio.get_running_loop()
        self.shards, self.chunks, self.outputs = Holdings(), Holdings(), Holdings()
        _profile_without_gc(worker)
        shield(worker)
        self.seats: dict[str, Seat] = {}
        self._leaving: dict[Any, asyncio.Task[None]] = {}
        self._door = _Door()
        worker.handlers.update(
            dgraph_identity=self.identity,
            dgraph_reach=self.reach,
            dgraph_ping=self.ping,
            dgraph_progress=self.progress,
            dgraph_abort=self.abort,
            dgraph_busy=self.busy,
            dgraph_stuck=self.stuck,
            dgraph_compiling=COMPILATIONS.answer,
            dgraph_take=self.take,
            dgraph_channel=self.channel,
        )

    def teardown(self, worker: Worker) -> None:
        """Detach from the worker: end its runs and let go of everything."""
        for seat in list(self.seats.values()):
            seat.abort(f"worker {worker.address_safe} is closing")
        for leaving in self._leaving.values():
            leaving.cancel()
        for some in (self.shards, self.chunks, self.outputs):
            some.clear()
        self._door.close()

    @property
    def folder(self) -> Path:
        """Where the Unix sockets of runs lie."""
        return self._door.path.parent if self._door.path else private_folder()

    @property
    def world(self) -> World | None:
        """The MPI job by which the worker can exchange, if it is a rank of one."""
        found: World | None = getattr(self.worker, "mpi_world", None)
        return found

    # What is held, and for how long

    def keep_chunk(self, graph: str, partition: int, chunk: Any) -> None:
        """Hold a partition of edges for the build; called in the task that made it."""
        self.chunks.keep(self.worker.get_current_task(), (graph, partition), chunk)

    def transition(self, key: Any, start: str, finish: str, **kwargs: Any) -> None:
        """Drop what belongs to a task that Dask releases: called by Dask, very often."""
        if finish not in ("released", "forgotten"):
            return
        self.chunks.release(key)
        if key not in self._leaving and (key in self.shards or key in self.outputs):
            self._leaving[key] = self.loop.create_task(self._leave(key))

    async def _leave(self, key: Any) -> None:
        """Drop what belongs to a task once its result is nowhere any more.

        Dask may only have moved that, which is small, to another worker, to even out memory.
        """
        with contextlib.suppress(OSError):
            while (await self.worker.scheduler.who_has(keys=[key])).get(key):
                await asyncio.sleep(LOOK)
        del self._leaving[key]
        self.shards.release(key)
        self.outputs.release(key)

    def held_for(self, spec: RunSpec, slots: tuple[int, ...]) -> dict[int, Any]:
        """Return what the programs of a run get on this worker, by slot.

        Raises
        ------
        GraphLostError
            If this worker does not hold it.
        """
        if spec.holds == "chunks":
            chunks = self.chunks.take(spec.graph)  # each goes as soon as it is used up
            return {slot: chunks[at :: len(slots)] for at, slot in enumerate(slots)}
        shards = {slot: self.shards.get((spec.graph, slot)) for slot in slots}
        if any(shard is None for shard in shards.values()):
            raise GraphLostError(
                f"worker {self.worker.address} no longer holds its part of the graph: "
                "call from_edges again"
            )
        return shards

    # What others ask: handlers of the worker, on its event loop

    def identity(self) -> dict[str, Any]:
        """Say which process, host and threads this worker is."""
        return {
            "process": f"{_PROCESS}-{os.getpid()}",
            "host": self._door.host or f"{_PROCESS}-{os.getpid()}",
            "threads": self.worker.state.nthreads,
            "ready": self.worker.status == Status.running,
            "status": self.worker.status.name,
            "nanny": self.worker.nanny is not None,
            "door": os.fspath(self._door.path) if self._door.path else None,
            "place": None if self.world is None else tuple(self.world.place),
            "about": whereabouts(),
            "tcp": has_sockets(self.worker.address),
        }

    def reach(self, door: str) -> bool:
        """Say whether a Unix socket of another worker can be reached from here."""
        return can_reach(Path(door))

    def ping(self, run: str) -> int | None:
        """Say which exchange of a run was the last to leave this worker.

        Returns
        -------
        int or None
            None if this worker does not take part in the run.
        """
        seat = self.seats.get(run)
        return None if seat is None else seat.sent

    def progress(self, run: str) -> tuple[int, str, float] | None:
        """Say how many supersteps a run has ended here, in which stage, and how fast."""
        seat = self.seats.get(run)
        return None if seat is None or seat.recorder is None else seat.recorder.latest

    def busy(self, run: str) -> list[str] | str | None:
        """Say why a run does not begin here.

        Returns
        -------
        list of str, str or None
            The tasks that all threads of this worker are busy with, or the worker's status if
            it begins nothing; an empty list if it could begin; None if it takes part.
        """
        if run in self.seats:
            return None
        if self.worker.status != Status.running:
            return str(self.worker.status.name)
        state = self.worker.state
        if len(state.executing) < state.nthreads:
            return []
        keys = [str(task.key) for task in state.executing]
        return [key for key in keys if not key.startswith(f"dgraph-{run}")]

    def stuck(self) -> tuple[int, int] | None:
        """Return the bytes that the worker takes and may take if it is paused and idle."""
        state = self.worker.state
        if self.worker.status != Status.paused or state.executing or state.long_running:
            return None
        limit = self.worker.memory_manager.memory_limit
        return self.worker.monitor.get_process_memory(), limit or 0

    def abort(self, run: str, reason: str) -> bool:
        """End a run; say whether this worker took part in it."""
        seat = self.seats.get(run)
        if seat is not None:
            seat.abort(reason)
        return seat is not None

    def take(self, run: str, slot: int) -> dict[str, Any]:
        """Return the output of a slot, None if it is not here."""
        return {"output": to_serialize(self.outputs.get((run, slot)))}

    async def channel(self, comm: Comm, run: str, token: bytes, member: int) -> Any:
        """Receive the bundles of another member of a run, until it closes the comm."""
        seat = self.seats.get(run)
        if seat is None:
            return LATER
        if not seat.admits(token, member):
            return REFUSED
        if member in seat.callers:
            seat.callers.discard(member)
            await comm.write(ACCEPTED)
            seat.guests[member] = await take_socket(comm)
        else:
            await serve(comm, seat.inboxes[member])
        return Status.dont_reply


class _Door:
    """A Unix socket by which others find out that they are on the same host.

    Attributes
    ----------
    path : Path or None
        None if there are no Unix sockets here.
    host : str or None
        Boot, network namespace and the folder itself: in two containers of one machine a
        folder of the same name is not the same folder.
    """

    def __init__(self) -> None:
        self.path: Path | None = None
        self.host: str | None = None
        with contextlib.suppress(OSError):
            folder = private_folder()
            sweep(folder)
            path = folder / f"door-{uuid.uuid4().hex[:16]}"
            self._listener = listen(path)
            found = folder.stat()
            self.host = "-".join(map(str, (*host_key(), found.st_dev, found.st_ino)))
            self.path = path
            self._loop = asyncio.get_running_loop()
            self._loop.add_reader(self._listener, self._answer)

    def _answer(self) -> None:
        with contextlib.suppress(OSError):
            self._listener.accept()[0].close()

    def close(self) -> None:
        """Take the socket away."""
        if self.path is not None:
            self._loop.remove_reader(self._listener)
            self._listener.close()
            self.path.unlink(missing_ok=True)


def _profile_without_gc(worker: Worker) -> None:
    """Keep Dask's profiler of a worker from a deadlock of CPython.

    ``sys._current_frames()`` holds the lock on the list of threads while it makes its dict. If
    that starts a garbage collection whose callbacks, of which Dask has one, let another thread
    run that is just starting or ending, both wait for ever, and the event loop with them
    (https://github.com/python/cpython/issues/106883). Every run starts threads.

    Dask's other profiler, `distributed.profile.watch` of every server's event loop, asks for
    the frames too, but not in Python 3.11; and from 3.12 on nothing is collected while a
    function in C runs.
    """
    timer = worker.periodic_callbacks.get("profile")
    if timer is None:
        return
    profile = timer.callback

    def without_gc() -> Any:
        enabled = gc.isenabled()
        gc.disable()
        try:
            return profile()
        finally:
            if enabled:
                gc.enable()

    timer.callback = without_gc


def find_plugin() -> Plugin:
    """Return the plugin of the worker that runs the current task."""
    plugin = get_worker().plugins["dgraph"]
    assert isinstance(plugin, Plugin)
    return plugin
