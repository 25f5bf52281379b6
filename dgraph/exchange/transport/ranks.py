"""All ranks of an MPI job together: they meet, and agree on what each can do."""

from __future__ import annotations

import os
import sys
import time
import uuid
from collections.abc import Sequence
from typing import Any

import numpy as np
from dask.system import CPU_COUNT

from dgraph.exchange.transport.world import Place, World

__all__ = ["Ranks", "enter", "split", "split_by_names"]

#: Seconds for which a rank that waits for others sleeps, at first and at most.
SHORTEST, LONGEST = 1e-4, 1e-2

#: More cores than a host has.
MOST_CORES = 1 << 14


class Ranks:
    """The ranks of the job; stands for their communicator where dask-mpi uses one.

    MPI's own waiting spins. This sleeps.
    """

    def __init__(self, comm: Any) -> None:
        self.comm = comm
        self.rank: int = self.comm.Get_rank()
        self.size: int = self.comm.Get_size()

    def wait(self, request: Any, seconds: float = float("inf")) -> bool:
        """Wait until a request has ended; return whether it has within a time."""
        end = time.monotonic() + seconds
        pause = SHORTEST
        while not request.Test():
            if time.monotonic() > end:
                return False
            time.sleep(pause)
            pause = min(2 * pause, LONGEST)
        return True

    def meet(self, seconds: float = float("inf")) -> bool:
        """Wait until all ranks have called this; return whether they have within a time."""
        return self.wait(self.comm.Ibarrier(), seconds)

    def share(self, text: str) -> str:
        """Return what rank 0 has."""
        buffer = np.frombuffer(text.encode().ljust(1024), np.uint8).copy()
        self.wait(self.comm.Ibcast(buffer, 0))
        return buffer.tobytes().decode().rstrip()

    def abort(self) -> None:
        """End all ranks at once."""
        for stream in (sys.stdout, sys.stderr):
            stream.flush()
        self.comm.Abort(1)

    # What dask-mpi calls

    def Get_rank(self) -> int:
        """Return the number of this rank."""
        return self.rank

    def Get_size(self) -> int:
        """Return the number of ranks."""
        return self.size

    def bcast(self, address: str | None, root: int) -> str:
        """Return the address that rank 0 has."""
        return self.share(address or "")

    def Barrier(self) -> None:
        """Wait for all ranks."""
        self.meet()


def enter(mpi: Any, ranks: Ranks, hardware: bool | Sequence[str] = False) -> World | None:
    """Return this process's place in the job, None if MPI cannot carry frames.

    All ranks take part, and say alike whether they ask for domains of the hardware, and which.
    """
    comm, request = ranks.comm.Idup()
    ranks.wait(request)
    name = ranks.share(uuid.uuid4().hex)
    near = comm.Split_type(mpi.COMM_TYPE_SHARED, key=ranks.rank)
    memory = _lowest(ranks, near)
    if isinstance(hardware, bool):
        inner = split(mpi, ranks, near) if hardware else ()
    else:
        inner = split_by_names(mpi, ranks, near, hardware)
    cores = np.isin(np.arange(MOST_CORES), list(os.sched_getaffinity(0)))
    share = CPU_COUNT if cores.sum() > CPU_COUNT else MOST_CORES  # a container may have less
    ranks.wait(near.Iallreduce(mpi.IN_PLACE, cores, mpi.LOR))
    near.Free()
    if mpi.Query_thread() < mpi.THREAD_MULTIPLE:
        return None
    place = Place(name, ranks.rank, memory, min(int(cores.sum()), share), inner)
    return World(comm, place)


def split(mpi: Any, ranks: Ranks, near: Any) -> tuple[int, ...]:
    """Return the lowest rank of each domain inside of shared memory that has several ranks.

    MPI 4 splits unguided: again and again into the next smaller domains of the hardware, such
    as NUMA nodes and caches, of ranks that are bound to cores. A library that cannot says so,
    or that there is no smaller domain.
    """
    found: list[int] = []
    kind = getattr(mpi, "COMM_TYPE_HW_UNGUIDED", mpi.UNDEFINED)
    inside, size = near, near.Get_size()
    while kind != mpi.UNDEFINED:
        try:
            smaller = inside.Split_type(kind, key=ranks.rank)
        except (mpi.Exception, NotImplementedError):
            break
        finally:
            if inside is not near:
                inside.Free()
        if smaller == mpi.COMM_NULL:
            return tuple(found)
        inside = smaller
        if not 1 < inside.Get_size() < size:
            inside.Free()
            return tuple(found)
        size = inside.Get_size()
        found.append(_lowest(ranks, inside))
    return tuple(found)


def split_by_names(mpi: Any, ranks: Ranks, near: Any, names: Sequence[str]) -> tuple[int, ...]:
    """Return the same for domains of some kinds only, such as NUMA nodes, outermost first.

    MPI 4 splits guided, by names that are its library's own. Each name splits all of `near`, so
    that ranks that a kind tells nothing of take part alike. What splits nothing is no level.
    """
    found: list[int] = []
    kind = getattr(mpi, "COMM_TYPE_HW_GUIDED", mpi.UNDEFINED)
    size = near.Get_size()
    for name in names if kind != mpi.UNDEFINED else ():
        info = mpi.Info.Create()
        info.Set("mpi_hw_resource_type", name)
        try:
            part = near.Split_type(kind, key=ranks.rank, info=info)
        except (mpi.Exception, NotImplementedError):
            break
        finally:
            info.Free()
        if part == mpi.COMM_NULL:
            continue
        lowest = _lowest(ranks, part)
        if 1 < part.Get_size() < size:
            size = part.Get_size()
            found.append(lowest)
        part.Free()
    return tuple(found)


def _lowest(ranks: Ranks, comm: Any) -> int:
    """Return the rank, in the job, of the first rank of a communicator."""
    lowest = np.array([ranks.rank])
    ranks.wait(comm.Ibcast(lowest, 0))
    return int(lowest[0])
