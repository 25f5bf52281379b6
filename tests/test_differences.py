"""Integers that are sent as their differences come back, in no more bytes."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dgraph.engine import direct
from dgraph.engine.context import Context
from dgraph.engine.network import Network
from dgraph.engine.pool import run
from dgraph.exchange.buffers import Plan
from dgraph.exchange.differences import ROOM, decode_differences, encode_differences
from dgraph.exchange.frame import DTYPES
from dgraph.exchange.routing.ground import Ground
from dgraph.shard import Shard
from dgraph.topology import CostModel, Topology
from tests.peers import run_apart
from tests.reference import build, plain
from tests.slow_peers import slowly_joined


@given(
    dtype=st.sampled_from([dtype for dtype in DTYPES if dtype.kind in "iu"]),
    pieces=st.lists(
        st.tuples(st.integers(0, 2**64 - 1), st.integers(0, 90), st.integers(0, 300))
    ),
)
def test_columns_come_back(dtype: np.dtype[Any], pieces: list[tuple[int, int, int]]) -> None:
    """Of runs that ascend by a step or stay, from anywhere to anywhere in a dtype's range."""
    runs = [
        (np.uint64(begin) + np.uint64(step) * np.arange(length, dtype=np.uint64)).astype(dtype)
        for begin, length, step in pieces
    ]
    column = np.concatenate([np.zeros(0, dtype), *runs])
    told = encode_differences(column)
    assert told is column or told.nbytes <= ROOM * column.nbytes
    back = decode_differences(told, column.size, dtype)
    assert back.dtype == dtype
    np.testing.assert_array_equal(back, column)


def test_what_gets_no_shorter_stays_as_it_is() -> None:
    some = np.random.default_rng(1).integers(0, 2**31, 1000).astype(np.int32)
    for column in (some, some.view(np.float32), some.view(np.int8), np.arange(9)):
        assert encode_differences(column) is column
        assert decode_differences(column, column.size, column.dtype) is column


def test_a_message_along_the_rows_of_few_takes_about_two_bytes() -> None:
    chance = np.random.default_rng(1)
    rows = [np.flatnonzero(chance.random(100_000) < 0.05).astype(np.int32) for _ in range(9)]
    places = np.concatenate(rows)
    parents = np.repeat(chance.integers(0, 2**31, 9), [row.size for row in rows])
    told = encode_differences(places), encode_differences(parents.astype(np.int32))
    assert sum(some.nbytes for some in told) < 1.1 * places.size


@pytest.mark.parametrize(("second", "differs"), [(1e-6, True), (1e-9, False)])
def test_dear_bytes_are_saved_between_processes(
    second: float, differs: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """So they are where auto goes straight; what arrives is what arrives in one process."""
    short = []

    def encode(column: np.ndarray) -> np.ndarray:
        told = encode_differences(column)
        short.append(told is not column)
        return told

    monkeypatch.setattr(direct, "encode_differences", encode)
    ends = np.random.default_rng(2).integers(0, 3000, (2, 20_000))
    shards = build(plain(*ends), 4)

    async def program(ctx: Context, slot: int) -> list[Any]:
        shard: Shard = shards[slot]
        proxies = np.arange(shard.masters, shard.size, dtype=np.int32)
        proxies = proxies[shard.rank[proxies] < shard.num_vertices]
        found: list[Any] = []
        for share in (0.0, 0.05, 0.5):
            chosen = proxies[np.random.default_rng(slot).random(proxies.size) < share]
            for values in (chosen // 100, chosen * 0.5):
                met, came = await ctx.reduce(shard, chosen, values, combine="min")
                found += [met.tolist(), came.tolist(), came.dtype]
        return found

    topology = Topology.from_fanouts([1, 1, 2, 2])
    cost = CostModel((1e-6,) * 4, (second,) * 4)
    ways = Ground(topology, 1), "auto"
    assert Network(*ways, cost=cost).choose("reduce", False, 1000, 8.0, 3000) == "direct"
    with slowly_joined((0, 1, 2, 2), Plan(2000, 2, True)) as (links, _):
        apart = run_apart(program, range(4), links, (0, 1, 2, 2), ways, threads=2, cost=cost)
    assert list(apart.values()) == run(program, range(4), slots=4)
    assert any(short) == differs
