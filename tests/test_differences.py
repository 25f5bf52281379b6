"""Integers sent as differences and bits sent in blocks come back, and take no more bytes."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dgraph.engine import direct, multicast, places
from dgraph.engine.context import Context
from dgraph.engine.network import Network
from dgraph.engine.pool import run
from dgraph.exchange.blocks import decode_blocks, encode_blocks
from dgraph.exchange.buffers import Plan
from dgraph.exchange.differences import ROOM, decode_differences, encode_differences
from dgraph.exchange.frame import DTYPES
from dgraph.exchange.routing.ground import Ground
from dgraph.shard import Shard
from dgraph.shard.bits import set_bits, words
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


@given(
    seed=st.integers(0, 2**32),
    shares=st.lists(st.sampled_from([0.0, 0.001, 0.05, 0.12, 0.5, 0.95, 1.0]), min_size=1),
)
def test_bitmaps_come_back(seed: int, shares: list[float]) -> None:
    """Of up to 9 words each as dense as another one."""
    chance = np.random.default_rng(seed)
    each = np.repeat(shares, chance.integers(1, 10, len(shares)))
    bits = np.packbits(chance.random((each.size, 64)) < each[:, None], axis=1).view(np.uint64)
    told = encode_blocks(bits.ravel())
    if told is None:
        return
    assert told.nbytes <= 0.75 * bits.nbytes
    found = np.full(each.size, 7, np.uint64)
    assert decode_blocks(np.concatenate([told, told]), found) == told.nbytes
    assert found.tolist() == bits.ravel().tolist()


#: Within hosts, between two of a domain, between domains: costs by which auto goes straight,
#: over gateways, and straight without saving bytes.
STRAIGHT, ROUND, CHEAP = (1e-6,) * 4, (1e-9, 1e-9, 1e-8, 1e-6), (1e-9,) * 4


@pytest.mark.parametrize("cost", [STRAIGHT, ROUND, CHEAP])
def test_dear_bytes_are_saved_between_processes(
    cost: tuple[float, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    """What arrives is what arrives in one process."""
    short: dict[str, set[bool]] = {"differences": set(), "blocks": set()}

    def differences(column: np.ndarray) -> np.ndarray:
        told = encode_differences(column)
        short["differences"].add(told is not column)
        return told

    def blocks(bits: np.ndarray) -> np.ndarray | None:
        told = encode_blocks(bits)
        short["blocks"].add(told is not None)
        return told

    monkeypatch.setattr(direct, "encode_differences", differences)
    for module in (places, multicast):
        monkeypatch.setattr(module, "encode_blocks", blocks)
    ends = np.random.default_rng(2).integers(0, 6000, (2, 20_000))
    shards = build(plain(*ends), 4)

    async def program(ctx: Context, slot: int) -> list[Any]:
        shard: Shard = shards[slot]
        proxies = np.arange(shard.masters, shard.size, dtype=np.int32)
        proxies = proxies[shard.rank[proxies] < shard.num_vertices]
        found: list[Any] = []
        for share in (0.0, 0.05, 0.5):
            chance = np.random.default_rng(slot)
            chosen = proxies[chance.random(proxies.size) < share]
            for values in (chosen // 100, chosen * 0.5):
                met, came = await ctx.reduce(shard, chosen, values, combine="min")
                order = np.argsort(met, kind="stable")  # gateways give them in another one
                found += [sorted(set(met.tolist())), came.dtype]
                found += [np.minimum.reduceat(came[order], _firsts(met[order])).tolist()]
            bits = np.zeros(words(shard.size), np.uint64)
            marked = np.flatnonzero(chance.random(shard.masters) < share)
            set_bits(bits, marked.astype(np.int32))
            await ctx.broadcast_bits(shard, bits)
            found.append(bits.tolist())
        return found

    topology = Topology.from_fanouts([1, 1, 2, 2])
    ways, model = (Ground(topology, 2), "auto"), CostModel((1e-6,) * 4, cost)
    straight = Network(*ways, cost=model).choose("multicast", True, 9000, 1 / 8, 6000)
    assert (straight == "direct") == (cost is not ROUND)
    with slowly_joined(range(4), Plan(2000, 2, True)) as (links, _):
        apart = run_apart(program, range(4), links, range(4), ways, threads=1, cost=model)
    assert list(apart.values()) == run(program, range(4), slots=4)
    assert [True in some for some in short.values()] == [cost is not CHEAP] * 2


def _firsts(ascending: np.ndarray) -> np.ndarray:
    return np.flatnonzero(np.diff(ascending, prepend=-1))
