"""Threads of a run that keep to their cores."""

import threading
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dgraph.errors import RunError
from dgraph.exchange.cores import Cores, allowed_cores, own_cores
from dgraph.exchange.hub import Hub
from dgraph.exchange.request import Request

#: For each slot the threads that have stepped it, and the cores that they were allowed.
Seen = dict[int, list[tuple[int, list[int]]]]

pinning = pytest.mark.skipif(not allowed_cores(), reason="the system cannot pin threads")


@given(
    st.lists(st.tuples(st.sampled_from("abc"), st.integers(1, 4)), min_size=1, max_size=8),
    st.integers(1, 16),
    st.integers(-(2**63), 2**63 - 1),
)
def test_members_of_a_full_host_share_out_its_cores(
    members: list[tuple[str, int]], count: int, first: int
) -> None:
    allowed = list(range(3, 3 + count))
    for host in {host for host, _ in members}:
        here = [number for number, member in enumerate(members) if member[0] == host]
        taken = [core for number in here for core in own_cores(members, number, allowed, first)]
        fills = sum(members[number][1] for number in here) == count
        assert sorted(taken) == (allowed if fills else [])


def _programs(seen: Seen, cores: Cores, slots: int) -> dict[int, Any]:
    async def program(slot: int) -> None:
        for _ in range(3):
            seen[slot].append((threading.get_ident(), allowed_cores()))
            await Request(vote=np.array([slot]))
        cores.release()
        await Request()
        seen[slot].append((threading.get_ident(), allowed_cores()))

    return {slot: program(slot) for slot in range(slots)}


@pinning
@pytest.mark.parametrize("threads", [1, 2, 3])
def test_each_thread_steps_on_its_core_until_all_are_released(threads: int) -> None:
    before = allowed_cores()
    cores = Cores([before[thread % len(before)] for thread in range(threads)])
    seen: Seen = {slot: [] for slot in range(3)}
    Hub(_programs(seen, cores, 3), threads, cores=cores).run()
    kept: dict[int, list[int]] = {}
    for steps in seen.values():
        for thread, allowed in steps[:3]:
            assert len(allowed) == 1
            assert kept.setdefault(thread, allowed) == allowed
        assert steps[3][1] == before
    assert allowed_cores() == before


@pinning
def test_a_run_that_fails_leaves_the_thread_free() -> None:
    before = allowed_cores()

    async def program() -> None:
        await Request()
        raise ValueError("broken")

    with pytest.raises(RunError, match="broken"):
        Hub({0: program()}, cores=Cores(before[:1])).run()
    assert allowed_cores() == before


@pinning
def test_a_core_that_is_gone_is_no_fault() -> None:
    before = allowed_cores()
    with Cores([max(before) + 4096]).hold(0):
        assert allowed_cores() == before
