"""What goes to proxies of other processes: as within one, in as few bytes as can be."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dgraph.engine import context
from dgraph.engine.context import Context
from dgraph.engine.places import decode_places, encode_bits, encode_places
from dgraph.engine.pool import run
from dgraph.exchange.buffers import Plan
from dgraph.exchange.encoding import choose
from dgraph.shard.bits import compress_bits, gather_bits, positions, set_bits, words
from tests.reference import build, plain
from tests.slow_peers import run_slowly


@pytest.mark.parametrize("prefix", [True, False])
def test_direct_exchanges_between_processes_are_those_within_one(
    prefix: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(context, "LONG", 1000)
    rng = np.random.default_rng(2)
    ends = rng.integers(0, 3000, (2, 20_000))
    if not prefix:  # then not the first masters of a slot are known elsewhere
        ends = np.concatenate([ends, np.array([[0] * 900, range(3000, 3900)])], axis=1)
    shards = build(plain(*ends), 4)

    async def program(ctx: Context, slot: int) -> list[Any]:
        shard = shards[slot]
        proxies = np.flatnonzero(shard.rank < shard.num_vertices).astype(np.int32)
        proxies = proxies[proxies >= shard.masters]
        found: list[Any] = []
        for share in (0, 0.01, 0.3, 1):
            chosen = proxies[np.random.default_rng(slot).random(proxies.size) < share]
            for order in (1, -1):
                met, came = await ctx.reduce(
                    shard, chosen[::order].copy(), shard.rank[chosen][::order] * 1.5
                )
                found += [met.tolist(), came.tolist()]
            copies = np.full(shard.size, -1.0)
            copies[: shard.masters] = shard.rank[: shard.masters] * share
            await ctx.broadcast(shard, copies)
            found.append(copies[proxies].tolist())
            bits = np.zeros(words(shard.size), np.uint64)
            marked = np.random.default_rng(slot).random(shard.masters) < share
            set_bits(bits, np.flatnonzero(marked).astype(np.int32))
            await ctx.broadcast_bits(shard, bits)
            found.append(bits.tolist())
        return found

    apart, _ = run_slowly(program, "direct", (0, 1, 2, 2), Plan(2000, 2, True), 2, None)
    assert list(apart.values()) == run(program, range(4), slots=4)


@given(
    seed=st.integers(0, 2**32),
    share=st.sampled_from([0.0, 0.01, 0.05, 0.5, 1.0]),
    dear=st.booleans(),
)
def test_places_come_back_in_as_few_bytes_as_can_be(
    seed: int, share: float, dear: bool
) -> None:
    rng = np.random.default_rng(seed)
    size = int(rng.integers(1, 2000))
    places = np.flatnonzero(rng.random(size) < share).astype(np.int32)
    columns = encode_places(places, size, dear)
    np.testing.assert_array_equal(decode_places(columns, size, places.size), places)
    name, most = choose(size, places.size, 8)
    if name != "dense" or places.size == size:  # values for all need not be made up
        assert sum(column.nbytes for column in columns) + 8 * places.size <= most
    mixed = rng.permutation(places)
    told = decode_places(encode_places(mixed, size, dear), size, mixed.size)
    np.testing.assert_array_equal(told, mixed)
    bits = np.zeros(words(size), np.uint64)
    set_bits(bits, places)
    assert encode_bits(bits).nbytes == min(bits.nbytes, 4 * places.size)


def test_the_check_figures_of_gluon() -> None:
    def size(k: int) -> int:
        places = np.arange(k, dtype=np.int32) * (1000 // k)
        return sum(column.nbytes for column in encode_places(places, 1000)) + 8 * k

    assert [size(k) for k in (20, 500, 1000)] == [240, 4128, 8000]


@given(
    seed=st.integers(0, 2**32),
    size=st.integers(1, 500),
    share=st.sampled_from([0.0, 0.02, 0.5, 0.95, 1.0]),
    kept=st.sampled_from([0.02, 0.5, 0.95, 1.0]),
)
def test_bits_that_a_mask_selects_are_those_at_its_positions(
    seed: int, size: int, share: float, kept: float
) -> None:
    rng = np.random.default_rng(seed)
    bits, mask = (
        np.packbits(rng.random(64 * words(size)) < part, bitorder="little").view(np.uint64)
        for part in (share, kept)
    )
    selected = np.empty(64 * mask.size, np.int32)
    selected = selected[: positions(mask, selected)]
    found, expected = (np.full(words(selected.size), 7, np.uint64) for _ in range(2))
    compress_bits(bits, mask, found)
    gather_bits(bits, selected, expected)
    assert found.tolist() == expected.tolist()
