"""A cluster of MPI ranks: one schedules, one runs your program, the others work.

::

    mpiexec -n 6 python program.py

    rank 0   the Dask scheduler
    rank 1   returns from start() and runs the rest of program.py, or of the command
    rank 2   a Dask worker in the MPI process itself, without a nanny; its slots exchange
    ...      frames with those of other ranks over MPI, if MPI allows calls from any thread
    rank 5

The cluster lives as long as the program. If that raises, or a rank fails or is killed, all
ranks end, with an exit code that is not 0.

dask-mpi starts scheduler and workers. Of its own ways we take care of three: it waits inside
MPI, which burns a core; at the end it leaves errors on the screen and does not wait for the
other ranks; and a rank that fails lets the others wait for ever.
"""

from __future__ import annotations

import asyncio
import atexit
import contextlib
import logging
import os
import signal
import sys
import time
import traceback
from collections.abc import Iterator, Sequence
from typing import Any, NoReturn

import dask
from distributed import Client, SchedulerPlugin, Worker

from dgraph.clients import LOCAL
from dgraph.errors import OptionError, RunError
from dgraph.events import Note, notify
from dgraph.exchange.transport.ranks import Ranks, enter
from dgraph.exchange.transport.world import World

__all__ = ["Rank", "start"]

#: The fewest ranks: a scheduler, a program, a worker.
FEWEST = 3

#: Seconds that all workers may take to register.
ARRIVAL = 120

#: Seconds that a worker may take to answer when the program has ended.
ANSWER = 5

#: Seconds that the other ranks may take to end after the program.
END = 15

#: Seconds that MPI may take to say goodbye before the process is killed, and the job with it
#: that has done its work: eight ranks of Open MPI on two crowded cores have taken more than 30.
GOODBYE = 120

#: Seconds by which a rank that fails lets the one before it speak first, and at most: often all
#: fail for one reason, and the first that speaks ends the others.
TURN, LAST_TURN = 0.5, 5.0

#: Seconds in which a launcher passes on what a rank has written: it drops the rest of it when
#: that rank has ended all.
PASSED_ON = 0.2

#: Keys of Dask's configuration by which users say what is logged.
LOGGING = {"logging", "logging-file-config"}

#: Variables by which launchers tell a process its rank.
LAUNCHED = ("PMI_RANK", "PMIX_RANK", "OMPI_COMM_WORLD_RANK", "SLURM_PROCID")

_started: list[Client] = []


def start(
    *,
    threads: int = 1,
    interface: str | None = None,
    protocol: str | None = None,
    local_directory: str | None = None,
    memory_limit: Any = 0,
    dashboard_address: str = LOCAL,
    hardware: bool | Sequence[str] = False,
) -> Client:
    """Make a Dask cluster of the ranks of this MPI job; rank 1 goes on with its client.

    Call it first thing in a program that ``mpiexec`` or ``srun`` starts on at least 3 ranks.
    It returns on rank 1 only, when all workers are there. The other ranks serve until the
    program on rank 1 has ended, and exit.

    Parameters
    ----------
    threads : int, default 1
        Threads of each worker, its slots.
    interface : str, optional
        The network interface for Dask's own connections, such as "ib0".
    protocol : str, optional
        Theirs, such as "tcp" or "tls".
    local_directory : str, optional
        Where workers may keep files.
    memory_limit : int, float or str, default 0
        Of each worker, as Dask has it; 0: none. A graph is never spilled to disk.
    dashboard_address : str, optional
        Where the scheduler serves its dashboard, such as ":8787". Default: a free port that
        only its own machine can reach.
    hardware : bool or list of str
        Whether NUMA nodes, caches and the like are levels below the host, where MPI 4 tells of
        them; ranks must be bound to cores. Names: only such ones, outermost first, as the MPI
        calls them (``mpi_hw_resource_type``): ``["numanode", "l3cache"]`` with MPICH and
        Open MPI; of a kind that it does not know, or that has all ranks or one, nothing comes.
        Default: they are not.

    Returns
    -------
    distributed.Client
        Connected, and the default client from now on. To close it ends the cluster.

    Raises
    ------
    OptionError
        If there are fewer than 3 ranks, or mpi4py, dask-mpi or an MPI library is missing. It
        is raised on one rank; the others exit.

    Notes
    -----
    The program ends the job: with exit code 0 when it ends, with another if it raises. A
    worker that fails on its own prints its traceback and aborts all ranks; where a rank is
    killed, ``mpiexec`` does.

    Frames between slots of different ranks go over MPI (``dgraph.transport``: "auto" or
    "mpi") if it offers MPI_THREAD_MULTIPLE; else over sockets and Dask's comms. Results are
    the same. A rank that waits sleeps, so there may be more ranks than cores.

    Examples
    --------
    A program for ``mpiexec -n 6 python program.py``:

    >>> program = '''
    ... import dgraph as dg
    ... client = dg.mpi.start(threads=2)
    ... with dg.from_edges("edges.parquet") as graph:
    ...     print(dg.connected_components(graph).head())
    ... '''
    """
    if _started:
        return _started[0]
    mpi = _import_mpi()
    ranks = Ranks(mpi.COMM_WORLD)
    hardware = (hardware,) if isinstance(hardware, str) else hardware
    if fault := _find_fault(mpi, ranks.size, threads):
        _refuse(ranks, fault)
    if not LOGGING & {*dask.config.config, *dask.config.get("distributed")}:
        logging.getLogger("distributed").setLevel(logging.WARNING)
    if ranks.rank == 1:
        _started.append(_lead(mpi, ranks, hardware))
        return _started[0]
    _serve(
        mpi,
        ranks,
        hardware,
        nthreads=threads,
        interface=interface,
        protocol=protocol,
        local_directory=local_directory,
        memory_limit=memory_limit,
        dashboard_address=dashboard_address,
    )
    sys.exit()


class Rank(Worker):
    """A worker in an MPI process. It ends with its scheduler, whatever tasks still do.

    Parameters
    ----------
    mpi_world : World or None
        Where its slots find those of other ranks.
    *args, **options
        As of distributed.Worker.
    """

    def __init__(self, *args: Any, mpi_world: World | None = None, **options: Any) -> None:
        super().__init__(*args, **options)
        self.mpi_world = mpi_world
        self.handlers["dgraph_hush"] = _hush

    async def close(  # type: ignore[override]
        self,
        timeout: float = END,
        executor_wait: bool = False,
        nanny: bool = False,
        reason: str = "worker-close",
    ) -> str | None:
        """Close the worker; its threads end with the process."""
        _hush()
        closed: str | None = await super().close(timeout, False, False, reason)
        return closed


class _Leash(SchedulerPlugin):
    """End the scheduler, and with it the workers, when the program's client goes."""

    name = "dgraph-mpi"

    def __init__(self, client: str) -> None:
        self._client = client

    def remove_client(self, scheduler: Any, client: str) -> None:
        """Be told that a client has gone."""
        if client == self._client:
            scheduler.loop.add_callback(self._close, scheduler)

    async def _close(self, scheduler: Any) -> None:
        hushed = scheduler.broadcast(msg={"op": "dgraph_hush"}, on_error="ignore")
        with contextlib.suppress(Exception):  # a worker does not answer
            await asyncio.wait_for(hushed, ANSWER)
        _hush()
        await scheduler.close(reason="the program has ended")


def _hush() -> None:
    """Let Dask be silent from now on: it complains of heartbeats into closed connections."""
    logging.getLogger("distributed").setLevel(logging.CRITICAL)


def _import_mpi() -> Any:
    """Import mpi4py.MPI, which initialises MPI."""
    try:
        import dask_mpi  # noqa: F401
        from mpi4py import MPI
    except (ImportError, RuntimeError) as error:  # mpi4py finds no library: RuntimeError
        leave_it_to_the_first()
        raise OptionError(
            f"expected dask-mpi, mpi4py and an MPI library, got: {str(error).splitlines()[0]}; "
            "pip install 'dask-dgraph[mpi]', and MPI as your machine has it, or mpich"
        ) from None
    return MPI


def leave_it_to_the_first(code: int = 2) -> None:
    """Exit if a launcher says that this is not the first of its processes."""
    if any(int(os.environ.get(name, 0)) for name in LAUNCHED):
        raise SystemExit(code)


def _find_fault(mpi: Any, size: int, threads: int) -> str | None:
    """Return why there can be no cluster, None if there can."""
    if isinstance(threads, bool) or not isinstance(threads, int) or threads < 1:
        return f"threads must be an integer of at least 1, not {threads!r}"
    if size >= FEWEST:
        return None
    fault = (
        f"expected at least {FEWEST} MPI ranks, for a scheduler, a program and a worker, "
        f"got {size}: start it with mpiexec -n {FEWEST} or more"
    )
    if size > 1:
        return fault
    library = " ".join(mpi.Get_library_version().split(",")[0].splitlines()[0].split())
    return (
        f"{fault}; if you have, that is not the mpiexec of the MPI that was loaded, {library}"
    )


def _refuse(ranks: Ranks, fault: str) -> NoReturn:
    """End the job with one error."""
    if ranks.size == 1:
        leave_it_to_the_first()
    if ranks.rank > 0:
        ranks.meet()  # when the first has spoken
        raise SystemExit(2)
    atexit.register(ranks.meet)
    raise OptionError(fault)


def _serve(mpi: Any, ranks: Ranks, hardware: bool | Sequence[str], **options: Any) -> None:
    """Be the scheduler or a worker, until the program on rank 1 has ended."""
    import dask_mpi

    with contextlib.suppress(ValueError):  # not in the main thread: then nobody is interrupted
        # a launcher tells all ranks of Ctrl-C; rank 1 ends the job in order
        signal.signal(signal.SIGINT, signal.SIG_IGN)
    with _aborting(ranks):
        world = enter(mpi, ranks, hardware)
        dask_mpi.initialize(
            comm=ranks,
            exit=False,
            dashboard=False,
            worker_class="dgraph.mpi.Rank",
            worker_options={"mpi_world": world, "dashboard_address": LOCAL},
            **options,
        )
        _part(ranks, world)


def _lead(mpi: Any, ranks: Ranks, hardware: bool | Sequence[str]) -> Client:
    """Return a client when all workers are there."""
    import dask_mpi

    try:
        world = enter(mpi, ranks, hardware)
        dask_mpi.initialize(comm=ranks, exit=False)
        client = Client()
    except KeyboardInterrupt:  # the others would wait for ever
        _abort(ranks, "dgraph: interrupted\n")
        raise
    atexit.register(_end, ranks, world, client)
    client.register_plugin(_Leash(client.id))
    expected = ranks.size - 2
    try:
        client.wait_for_workers(expected, timeout=ARRIVAL)
    except TimeoutError:
        raise RunError(
            f"expected {expected} workers, one on each rank from 2 on, within {ARRIVAL} s, got "
            f"{len(client.ncores())}: see whether the hosts of all ranks reach that of rank 0"
        ) from None
    if world is None:
        notify(
            Note(
                "MPI does not allow calls from several threads (MPI_THREAD_MULTIPLE): frames "
                "go over sockets and Dask's comms instead"
            )
        )
    return client


@contextlib.contextmanager
def _aborting(ranks: Ranks) -> Iterator[None]:
    """Print what is raised, on one rank, and end all of them."""
    try:
        yield
    except (Exception, SystemExit):  # Dask lets a worker end where a task calls sys.exit
        time.sleep(min(TURN * max(ranks.rank - 2, 0), LAST_TURN))
        _abort(ranks, traceback.format_exc())


def _abort(ranks: Ranks, reason: str) -> None:
    """Say why, and end all ranks when the launcher has passed it on."""
    sys.stderr.write(reason)
    sys.stderr.flush()
    time.sleep(PASSED_ON)
    ranks.abort()


def _part(ranks: Ranks, world: World | None, seconds: float = float("inf")) -> bool:
    """Part from the other ranks; return whether all have come to it within a time."""
    if world is not None:
        world.close()
    have_come = ranks.meet(seconds)
    signal.alarm(GOODBYE)
    return have_come


def _end(ranks: Ranks, world: World | None, client: Client) -> None:
    """End the cluster, and with it all ranks: called when rank 1 exits."""
    logging.disable(logging.CRITICAL)  # Dask complains of connections that close
    with contextlib.suppress(Exception):
        client.close(timeout=END)
    if not _part(ranks, world, END):
        _abort(ranks, f"dgraph: not all ranks have ended within {END} s of the program\n")
