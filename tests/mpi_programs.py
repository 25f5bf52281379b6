"""Programs that test_mpi.py starts on MPI ranks: ``python mpi_programs.py NAME ...``."""

from __future__ import annotations

import json
import os
import signal
import sys
import threading
import time
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np

ROOT = Path(__file__).parents[1]


def algorithms() -> dict[str, Callable[[Any], Any]]:
    """Return algorithms by name, as functions of the graph only."""
    import dgraph as dg

    return {
        "bfs": lambda graph: dg.bfs(graph, 0),
        "pagerank": dg.pagerank,
        "components": dg.connected_components,
    }


def make_graph(client: Any) -> Any:
    """Return a graph of which some vertices are not reached from vertex 0."""
    import dgraph as dg

    edges = dg.generate.kronecker(8, 4, seed=3)
    return dg.from_edges(edges, vertices=range(256), client=client)


def results(folder: str) -> None:
    """Run algorithms over every transport; write what they give, and who has used MPI."""
    import dask

    import dgraph as dg

    client = dg.mpi.start()
    assert dg.mpi.start() is client
    notes: dict[str, Any] = {"channels": {}}

    def place(dask_worker: Any) -> tuple[int, int, int]:
        """Return rank, shared memory and cores."""
        found: tuple[int, int, int] = dask_worker.mpi_world.place[1:4]
        return found

    def next_tag(dask_worker: Any) -> int:
        """Return the tag of the next channel, which is taken thereby."""
        return int(next(dask_worker.mpi_world._tags))

    def leaving(dask_worker: Any) -> int:
        """Return how many channels the other end has not closed yet."""
        world = dask_worker.mpi_world
        end = time.monotonic() + 20
        while world._leaving and time.monotonic() < end:
            world.look()
            time.sleep(1e-3)
        return len(world._leaving)

    notes["places"] = [*client.run(place).values()]
    with make_graph(client) as graph:
        notes["levels"] = graph.topology.level_names
        for transport in ("auto", "mpi", "shm", "unix", "comm"):
            before = client.run(next_tag)
            with dask.config.set({"dgraph.transport": transport}):
                for name, run in algorithms().items():
                    run(graph).compute().to_parquet(Path(folder, f"{name}-{transport}.parquet"))
            after = client.run(next_tag)
            notes["channels"][transport] = [after[who] - before[who] - 1 for who in before]
    with dask.config.set({"dgraph.probes": folder}):
        found = dg.topology.probe(client, seconds=0.05)
        assert dg.topology.CostModel.of("probed", dg.topology.Topology.discover(client))
    notes["probe"] = found.to_dict()
    notes["left"] = client.run(leaving)
    Path(folder, "notes.json").write_text(json.dumps(notes))


def without_threads() -> None:
    """Have an MPI that does not allow calls from several threads."""
    import dask
    import mpi4py

    mpi4py.rc.thread_level = "funneled"
    import dgraph as dg

    with make_graph(dg.mpi.start()) as graph:
        assert len(dg.bfs(graph, 0).compute()) == 256
        sys.stdout.write("searched\n")
        with dask.config.set({"dgraph.transport": "mpi"}):
            dg.bfs(graph, 0)


def too_few() -> None:
    """Start on ranks that are too few."""
    only_modules()
    from dgraph import mpi

    mpi.start()


def worker_fails() -> None:
    """Let no worker start."""
    only_modules()
    from dgraph import mpi

    mpi.start(local_directory="/proc/no/such/folder")


def kill() -> None:
    """Kill this process soon."""
    time.sleep(0.5)
    os.kill(os.getpid(), signal.SIGKILL)


def killed_in_a_run() -> None:
    """Lose a worker in the middle of a run that would take for ever."""
    import dgraph as dg

    client = dg.mpi.start()
    with make_graph(client) as graph:
        client.submit(kill)
        sys.stdout.write("running\n")
        sys.stdout.flush()
        dg.pagerank(graph, max_iter=10**9, tol=None)


def exits_in_a_task() -> None:
    """Call sys.exit in a task of a worker."""
    only_modules()
    from dgraph import mpi

    client = mpi.start()
    client.submit(sys.exit, 5, workers=[*client.nthreads()][:1]).result()


def killed() -> None:
    """Lose a worker while the program waits for something else."""
    only_modules()
    from dgraph import mpi

    client = mpi.start()
    client.submit(kill, workers=[*client.nthreads()][:1])
    time.sleep(1000)


def interrupted() -> None:
    """Press Ctrl-C in the middle of a run: the launcher tells all ranks of it."""
    import dgraph as dg

    client = dg.mpi.start()

    def interrupt() -> None:
        os.kill(os.getpid(), signal.SIGINT)

    client.run(interrupt)
    client.run_on_scheduler(interrupt)
    with make_graph(client) as graph:
        assert len(dg.bfs(graph, 0).compute()) == 256
        threading.Timer(1, interrupt).start()
        dg.pagerank(graph, max_iter=10**9, tol=None)


def only_modules() -> None:
    """Let modules of the package be imported without all the rest: that takes seconds."""
    package = ModuleType("dgraph")
    package.__path__ = [str(ROOT / "dgraph")]
    sys.modules["dgraph"] = package


def links() -> None:
    """Exchange between ranks, without Dask: bundles of all sizes, aborted and closed runs."""
    only_modules()
    from mpi4py import MPI

    from dgraph.errors import RunAbortedError, RunError
    from dgraph.exchange.transport import mpi
    from dgraph.exchange.transport.links import ChannelClosedError, PeerLinks, Waker
    from dgraph.exchange.transport.ranks import Ranks, enter

    mpi.LARGEST = 1 << 18
    ranks = Ranks(MPI.COMM_WORLD)
    world = enter(MPI, ranks)
    assert world is not None

    def quiet(superstep: int, waited: Collection[int] | None) -> None:
        """Wait on."""

    @contextmanager
    def joined(run: int) -> Iterator[PeerLinks]:
        others = {rank: rank for rank in range(ranks.size) if rank != ranks.rank}
        names = {rank: f"member {rank}" for rank in others}
        meeting = mpi.MpiMeeting(world, run, others, names)
        while meeting.missing:
            meeting.step()
            time.sleep(1e-3)
        meeting.close()
        waker = Waker()
        made = PeerLinks(run, range(ranks.size), [*meeting.channels.values()], waker, quiet)
        try:
            yield made
        finally:
            made.close()
            waker.close()

    with joined(1) as here:
        exchange_all_sizes(here, ranks.rank, ranks.size)
        # one rank gives up while the others send much: they are told, and nothing stays behind
        if ranks.rank == 0:
            here.abort(RunError("no luck"))
        else:
            try:
                here.exchange(100, frames_of(ranks.rank, ranks.size, 1 << 18), VOTE, "sum")
            except RunAbortedError:
                pass
            else:
                raise AssertionError("the run went on")
    with joined(2) as here:
        exchange_all_sizes(here, ranks.rank, ranks.size)
        if ranks.rank == 1:
            here.close()
        reason = ""
        try:
            here.exchange(100, [], VOTE, "sum")
        except ChannelClosedError as error:
            reason = str(error)
        assert ("lost member" in reason) == (ranks.rank != 1)
    world.close(seconds=30)
    assert not world._leaving
    ranks.meet()
    sys.stdout.write(f"rank {ranks.rank} is content\n")


VOTE = np.array([1])


def frames_of(source: int, size: int, length: int) -> list[Any]:
    """Return a frame to every other rank."""
    from dgraph.exchange.frame import Frame

    column = np.full(length, source, np.int64)
    return [Frame(source, target, (column,), 1) for target in range(size) if target != source]


def exchange_all_sizes(here: Any, me: int, size: int) -> None:
    """Exchange bundles around every threshold; all ranks draw the same numbers."""
    from dgraph.exchange.frame import DTYPES, Frame
    from dgraph.exchange.transport.bundle import SMALL
    from dgraph.exchange.transport.mpi import APART, FIRST, LARGEST

    random = np.random.default_rng(7)
    lengths = [0, 1, SMALL, FIRST - 32, FIRST, APART - 1, APART, LARGEST - 1, 2 * LARGEST + 3]
    for step in range(40):
        many = 400 if step % 10 == 9 else int(random.integers(0, 3))
        frames: list[list[Any]] = [[] for _ in range(size)]
        for source in range(size):
            for _ in range(many):
                target = int(random.integers(size - 1))
                columns = tuple(
                    random.integers(0, 2, length).astype(DTYPES[random.integers(len(DTYPES))])
                    for length in random.choice(lengths[: 2 if many > 2 else None], 2)
                )
                frames[source].append(Frame(source, target + (target >= source), columns, 1))
        came, vote = here.exchange(step, frames[me], np.array([me]), "max")
        mine = [frame for some in frames for frame in some if frame.target == me]
        came.sort(key=lambda frame: frame.source)
        assert [frame.source for frame in came] == [frame.source for frame in mine]
        for one, other in zip(came, mine, strict=True):
            assert len(one.columns) == len(other.columns)
            for left, right in zip(one.columns, other.columns, strict=True):
                assert left.dtype == right.dtype
                assert left.flags.aligned
                assert left.flags.writeable
                np.testing.assert_array_equal(left, right)
        assert vote.tolist() == [size - 1]


if __name__ == "__main__":
    globals()[sys.argv[1]](*sys.argv[2:])
