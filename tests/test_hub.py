"""The hub steps every slot once a superstep, whatever its threads do in between."""

from __future__ import annotations

import random
import sys
import threading
from collections.abc import Iterator

import numpy as np
import pytest

from dgraph.errors import RunError
from dgraph.exchange.hub import TINY, Hub, Request


@pytest.fixture(autouse=True)
def _restless() -> Iterator[None]:
    """Let Python change threads as often as it can."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    yield
    sys.setswitchinterval(before)


async def program(slot: int, slots: int, steps: int, fails: int | None = None) -> list[int]:
    """Vote in every superstep; some are announced as tiny, some take long."""
    draw = random.Random(slot)
    totals = []
    for step in range(steps):
        if step == fails:
            raise ZeroDivisionError(f"step {step}")
        work = draw.choice([None, 0, TINY // 2, 2 * TINY])
        delivery = await Request(vote=np.array([slot, step]), work=work)
        totals.append(int(delivery.vote[0]))
        assert delivery.vote[1] == step * slots
        if draw.random() < 0.1:
            np.sort(np.random.default_rng(step).random(20_000))  # others may run meanwhile
    return totals


@pytest.mark.parametrize("threads", [1, 2, 3, 8])
def test_every_slot_takes_part_in_every_superstep(threads: int) -> None:
    for trial in range(60):
        slots, steps = 1 + trial % 9, trial % 17
        hub = Hub({slot: program(slot, slots, steps) for slot in range(slots)}, threads)
        total = slots * (slots - 1) // 2
        assert hub.run() == {slot: [total] * steps for slot in range(slots)}


@pytest.mark.parametrize("threads", [1, 2, 8])
def test_an_error_on_one_slot_ends_all(threads: int) -> None:
    for trial in range(30):
        slots, fails = 2 + trial % 7, trial % 11
        hub = Hub(
            {
                slot: program(slot, slots, 12, fails if slot == trial % slots else None)
                for slot in range(slots)
            },
            threads,
        )
        with pytest.raises(RunError, match=f"superstep {fails}, slot {trial % slots}.*ZeroDiv"):
            hub.run()


def test_slots_that_end_at_different_times_are_an_error() -> None:
    hub = Hub({0: program(0, 2, 3), 1: program(1, 2, 4)}, 2)
    with pytest.raises(RunError, match="SPMD"):
        hub.run()


def test_threads_end_when_the_run_cannot_begin() -> None:
    def ready() -> None:
        raise ZeroDivisionError("not ready")

    before = threading.active_count()
    hub = Hub({slot: program(slot, 3, 2) for slot in range(3)}, 3)
    with pytest.raises(ZeroDivisionError, match="not ready"):
        hub.run(ready)
    assert threading.active_count() == before
