"""Domains of the hardware that MPI splits a host into: one that is made up, or this one."""

from __future__ import annotations

import json
import os
from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dgraph.engine.members import lay_out, topology_of
from dgraph.exchange.transport.ranks import Ranks, split, split_by_names
from tests.mpis import LIBRARIES, find_mpi

#: A machine: its ranks, or parts of it. One rank may also be bound to nothing inside of it.
Machine = Any
machines = st.recursive(st.integers(1, 3), lambda part: st.lists(part, min_size=1, max_size=3))

NULL = object()


def places(machine: Machine) -> list[tuple[int, ...]]:
    """Return for each rank the numbers of the parts it is in, outermost first."""
    if isinstance(machine, int):
        return [()] * machine
    return [(at, *place) for at, part in enumerate(machine) for place in places(part)]


class Comm:
    """The ranks of some part of the machine, as one of them sees it."""

    def __init__(
        self, held: Sequence[int], rank: int, where: Sequence[tuple[int, ...]]
    ) -> None:
        self.held, self.rank, self.where = held, rank, where
        self.freed = False

    def Get_rank(self) -> int:
        return self.held.index(self.rank)

    def Get_size(self) -> int:
        return len(self.held)

    def Free(self) -> None:
        assert not self.freed
        self.freed = True

    def Ibcast(self, buffer: Any, root: int) -> Any:
        buffer[0] = self.held[root]
        return SimpleNamespace(Test=lambda: True)

    def Split_type(self, kind: int, key: int, info: Any = None) -> Any:
        """Split into the next parts that are smaller, as MPI_COMM_TYPE_HW_UNGUIDED says.

        Or with MPI_COMM_TYPE_HW_GUIDED into those of the depth that is told as the kind.
        """
        assert not self.freed
        assert (kind, key) == (2 if info else 3, self.rank)
        mine = self.where[self.rank]
        if info:
            depth = int(info["mpi_hw_resource_type"])
            if depth > len(mine):
                return NULL
            inside = [rank for rank in self.held if self.where[rank][:depth] == mine[:depth]]
            made.append(Comm(inside, self.rank, self.where))
            return made[-1]
        for depth in range(1, len(mine) + 1):
            inside = [rank for rank in self.held if self.where[rank][:depth] == mine[:depth]]
            if len(inside) < len(self.held):
                made.append(Comm(inside, self.rank, self.where))
                return made[-1]
        return NULL


made: list[Comm] = []


class Info(dict[str, str]):
    """What a split is told."""

    Create = classmethod(lambda cls: cls())
    Set = dict.__setitem__
    Free = dict.clear


def mpi(**more: Any) -> Any:
    return SimpleNamespace(UNDEFINED=-1, COMM_NULL=NULL, Exception=OSError, Info=Info, **more)


@given(machines, st.randoms(use_true_random=False))
def test_levels_are_those_of_the_machine(machine: Machine, chance: Any) -> None:
    where = places(machine)
    chance.shuffle(where)  # ranks are not side by side
    made.clear()
    inner = []
    for rank in range(len(where)):
        near = Comm(range(len(where)), rank, where)
        ranks = Ranks(SimpleNamespace(Get_rank=lambda rank=rank: rank, Get_size=lambda: 0))
        inner.append(split(mpi(COMM_TYPE_HW_UNGUIDED=3), ranks, near))
        guided = mpi(COMM_TYPE_HW_GUIDED=2)
        names = [str(depth) for depth in range(1, 1 + max(map(len, where)))]
        assert split_by_names(guided, ranks, near, names) == inner[-1]
        assert not near.freed
    assert all(comm.freed for comm in made)
    identities = {
        f"tcp://10.0.0.1:{rank + 1}": {
            "process": rank,
            "host": "h",
            "threads": 1,
            "place": ["w", rank, 0, 8, list(some)],  # as it comes from a worker
        }
        for rank, some in enumerate(inner)
    }
    members = lay_out(identities)
    order = [member.place.rank for member in members if member.place is not None]
    topology = topology_of(members)
    size = np.array([[together(where, i, j) for j in order] for i in order])
    level = topology.level(*np.indices(size.shape))
    for sizes, levels in zip(size, level, strict=True):
        assert np.array_equal(
            np.unique(sizes, return_inverse=True)[1], np.unique(levels, return_inverse=True)[1]
        )
    for number in range(topology.height + 1):  # a domain has neighbouring slots
        assert all(np.ptp(slots) == slots.size - 1 for slots in topology.domains(number))


def together(where: Sequence[tuple[int, ...]], i: int, j: int) -> int:
    """Return how many ranks the smallest part with both has; 1 for one and the same."""
    if i == j:
        return 1
    depth = 0
    for here, there in zip(where[i], where[j], strict=False):
        if here != there:
            break
        depth += 1
    return sum(place[:depth] == where[i][:depth] for place in where)


@pytest.mark.parametrize(
    "library", [mpi(), mpi(COMM_TYPE_HW_UNGUIDED=-1), mpi(COMM_TYPE_HW_UNGUIDED=3)]
)
def test_libraries_that_cannot(library: Any) -> None:
    def refuse(*arguments: Any, **options: Any) -> None:
        raise OSError

    near = Comm([0, 1], 0, [(0,), (1,)])
    near.Split_type = refuse  # type: ignore[method-assign]
    assert split(library, Ranks(near), near) == ()
    assert split_by_names(library, Ranks(near), near, ["numanode"]) == ()
    assert not near.freed


#: Ranks 0 to 3, each bound to a core, two to each: how a launcher is told.
BOUND = {
    "mpich": ["-bind-to", "user:{0},{1},{0},{1}"],
    "openmpi": ["--map-by", "core:OVERSUBSCRIBE", "--bind-to", "core:overload-allowed"],
}

#: Prints for each rank its cores, and the domains that MPI finds.
SPLIT = r"""
import json, os, sys
from mpi4py import MPI
from dgraph.exchange.transport.ranks import Ranks, split_by_names
ranks = Ranks(MPI.COMM_WORLD)
near = MPI.COMM_WORLD.Split_type(MPI.COMM_TYPE_SHARED)
can = getattr(MPI, "COMM_TYPE_HW_GUIDED", MPI.UNDEFINED) != MPI.UNDEFINED
found = [split_by_names(MPI, ranks, near, [*names, "no such"]) for names in ([], ["core"])]
row = [ranks.rank, sorted(os.sched_getaffinity(0)), can, *found]
sys.stdout.write(json.dumps(row) + "\n")
"""


@pytest.mark.limit(280)
@pytest.mark.parametrize("name", LIBRARIES)
def test_mpi_splits_ranks_by_cores(name: str, tmp_path: Path) -> None:
    cores = sorted(os.sched_getaffinity(0))
    if len(cores) < 2:
        pytest.skip("this machine has one core: ranks cannot be bound to two")
    options = [option.format(*cores) for option in BOUND[name]]
    done = find_mpi(name, tmp_path).run(4, "-c", SPLIT, options=options)
    assert (done.returncode, done.stderr) == (0, "")
    rows = sorted(json.loads(line) for line in done.stdout.splitlines())
    together = defaultdict(list)
    for rank, bound, _, unknown, _ in rows:
        together[tuple(bound)].append(rank)
        assert unknown == []
    if sorted(map(len, together.values())) != [2, 2]:
        pytest.skip(f"{name} does not bind ranks to cores here: {together}")
    if not all(can for _, _, can, _, _ in rows):
        pytest.skip(f"{name} has no COMM_TYPE_HW_GUIDED")
    assert [found for *_, found in rows] == [
        together[tuple(bound)][:1] for _, bound, *_ in rows
    ]
