"""Slots that go through a search in compiled code: the same answers, records and endings."""

from __future__ import annotations

import threading
from functools import partial
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import dgraph.algorithms._abreast as abreast_module
import dgraph.algorithms.bfs as bfs_module
import dgraph.exchange.cores as cores_module
from dgraph.algorithms._levels_abreast import Rules
from dgraph.algorithms.bfs import bfs_slot
from dgraph.engine.commons import NAME
from dgraph.engine.context import Context, Near
from dgraph.engine.pool import run
from dgraph.engine.records import ROUTES, Log, Recorder
from dgraph.errors import RunError, VertexNotFoundError
from dgraph.exchange.hub import Hub
from dgraph.exchange.meeting import NOBODY, OVER, SIZE, clock, meet
from dgraph.exchange.request import Request
from dgraph.kernels import kernel
from dgraph.shard import Shard
from dgraph.topology import Topology
from tests.harness import frame_of
from tests.reference import as_ids, build, plain
from tests.strategies import spread_graphs


@pytest.fixture(autouse=True)
def enough_cores(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let every slot count as having a core, however many there are."""
    monkeypatch.setattr(cores_module, "allowed_cores", lambda: list(range(64)))


@kernel(cache=False)
def rounds(words, parties, me, many, written, seen):  # type: ignore[no-untyped-def]
    """Write, meet, read what all wrote, meet; return how often."""
    for turn in range(many):
        written[me] = turn
        if not meet(words, parties, NOBODY):
            return turn
        seen[turn] = written.sum()
        if not meet(words, parties, NOBODY):
            return turn
    return many


@pytest.mark.parametrize("parties", [1, 2, 3])
def test_what_was_written_before_a_meeting_is_read_after_it(parties: int) -> None:
    many = 300
    words, written = np.zeros(SIZE, np.int64), np.zeros(parties, np.int64)
    seen = np.full((parties, many), -1)
    threads = [
        threading.Thread(target=rounds, args=(words, parties, me, many, written, seen[me]))
        for me in range(parties)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert (seen == parties * np.arange(many)).all()


def test_who_waits_goes_when_the_meetings_are_called_off() -> None:
    words, gone = np.zeros(SIZE, np.int64), threading.Event()

    def wait() -> None:
        assert not meet(words, 2, NOBODY)
        gone.set()

    waiting = threading.Thread(target=wait, daemon=True)
    waiting.start()
    assert not gone.wait(0.2)
    words[OVER] = 1
    assert gone.wait(60)
    assert not meet(words, 1, NOBODY)


def test_the_clock_is_that_of_python() -> None:
    from time import perf_counter

    @kernel(cache=False)
    def now():  # type: ignore[no-untyped-def]
        return clock()

    now()
    before = perf_counter()
    found = now()
    assert before <= found <= perf_counter()


def recorded(shards: Any, *arguments: Any, threads: int) -> tuple[pd.DataFrame, Log]:
    slots = len(shards)
    recorder = Recorder(Topology.from_fanouts([slots]), range(slots))
    found = frame_of(bfs_slot, shards, *arguments, observer=recorder, threads=threads)
    return found, recorder.log("output")


@settings(max_examples=40)
@given(data=st.data(), drawn=spread_graphs(least=1))
def test_results_and_records_are_those_of_slots_that_exchange_frames(
    data: st.DataObject, drawn: Any
) -> None:
    graph, spread = drawn
    sources = data.draw(
        st.lists(st.integers(0, graph.n - 1), min_size=1, max_size=3, unique=True)
    )
    limit = data.draw(st.none() | st.integers(0, 4))
    ids, shards = graph.ids.take(np.array(sources)), spread.shards(graph)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(bfs_module, "ALPHA", data.draw(st.sampled_from([0, 3, 15, 10**9])))
        patch.setattr(bfs_module, "BETA", data.draw(st.sampled_from([1, 2, 18])))
        patch.setattr(abreast_module, "SUPERSTEPS", data.draw(st.sampled_from([1, 2, 512])))
        few, long = (data.draw(st.sampled_from(some)) for some in ([0, 10, 400], [-1, 500]))
        patch.setattr(bfs_module, "Rules", partial(Rules, few=few, long=long))
        runs = [recorded(shards, ids, limit, threads=spread.slots)]
        patch.setattr(cores_module, "allowed_cores", list)
        apart, expected = recorded(shards, ids, limit, threads=1)
        patch.setattr(Context, "works_for", be_near)
        runs += [recorded(shards, ids, limit, threads=spread.slots) for _ in range(2)]
    assert all(is_there(shard) for shard in shards)
    for turn, (found, record) in enumerate(runs):
        pd.testing.assert_frame_equal(found, apart)
        stages = [step for step in by_stage(record) if turn != 1 or step[0] != ROUTES]
        assert stages == by_stage(expected)
        assert len(record.times) == len(record.counts) == len(record.stage)
        assert (record.times >= 0).all()


def be_near(ctx: Context, hub: Hub) -> None:
    """Let a slot meet the others as if they were in other processes."""
    ctx.near, ctx.companions = Near(hub, has_cores=True), ()


def is_there(shard: Shard) -> bool:
    """Tell whether a shard keeps memory that all slots see, and nobody has it."""
    desk = shard.derived[NAME]
    return desk.common is not None and desk.lend()


def by_stage(log: Log) -> list[tuple[str, Any]]:
    """Return what every superstep sent; those that sent nothing may be more or less."""
    return [
        (log.stages[stage], counts.tolist())
        for stage, counts in zip(log.stage.tolist(), log.counts, strict=True)
        if counts.any()
    ]


def test_an_unknown_source_is_named() -> None:
    graph = plain([1, 2, 3], [2, 3, 1])
    with pytest.raises(VertexNotFoundError, match="99"):
        frame_of(bfs_slot, build(graph, 2), as_ids([1, 99]), None, threads=2)


def test_a_slot_that_fails_ends_those_that_wait_for_it_in_compiled_code() -> None:
    async def program(ctx: Context) -> None:
        assert ctx.meeting is not None
        if ctx.slot == 1:
            raise KeyError("slot 1 is out of order")
        assert not meet(ctx.meeting, 2, NOBODY)
        raise RuntimeError("another slot has failed")

    with pytest.raises(RunError, match="slot 1 is out of order"):
        run(program, slots=2, threads=2)


def test_an_aborted_run_ends_slots_in_compiled_code() -> None:
    class Program:
        """Waits for somebody who never comes."""

        def __init__(self) -> None:
            self.began = threading.Event()

        def __call__(self) -> Any:
            return self._run()

        async def _run(self) -> None:
            await Request()
            self.began.set()
            assert hub.meeting is not None
            assert not meet(hub.meeting, 2, NOBODY)
            await Request()

    program = Program()
    hub = Hub({0: program()}, 1)

    def kill() -> None:
        assert program.began.wait(60)
        hub.abort(RunError("it was cancelled"))

    killer = threading.Thread(target=kill)
    killer.start()
    with pytest.raises(RunError, match="it was cancelled"):
        hub.run()
    killer.join()


@pytest.mark.parametrize(("slots", "threads", "cores"), [(3, 2, 8), (3, 3, 2)])
def test_slots_without_a_thread_and_a_core_do_not_meet(
    monkeypatch: pytest.MonkeyPatch, slots: int, threads: int, cores: int
) -> None:
    monkeypatch.setattr(cores_module, "allowed_cores", lambda: list(range(cores)))

    async def program(ctx: Context) -> bool:
        return ctx.meeting is None

    assert run(program, slots=slots, threads=threads) == [True] * slots
