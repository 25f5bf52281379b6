"""Masters are told by their proxies, and all slots hear of whom, in one superstep."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dgraph.engine.context import Context
from dgraph.engine.spreading import enter, pack_told
from dgraph.engine.telling import reduce_and_tell
from dgraph.exchange.routing.ground import Ground
from dgraph.shard import Shard
from dgraph.shard.bits import set_bits, words
from dgraph.topology import CostModel, Topology
from tests.peers import joined, run_apart
from tests.reference import build, plain

#: A byte costs so much between sites that it is saved, as a superstep is.
SLOW = CostModel((0.0, 1e-5, 1e-2), (1e-9, 1e-8, 1e-8))
TREES = [Topology.from_fanouts([1, 2, 2]), Topology.from_shape([[1, 1, 1], [1]])]
SLOTS = 4


async def told(ctx: Context, shard: Shard, chosen: Any) -> list[Any]:
    """Tell of the chosen local ids; return what came to masters, and the bits of proxies."""
    proxies = chosen[chosen >= shard.masters]
    bits = np.zeros(words(shard.size), np.uint64)
    set_bits(bits, chosen[chosen < shard.masters])
    met, values = await reduce_and_tell(
        ctx, shard, proxies, shard.rank[proxies], bits, (1, chosen.size), 0
    )
    bits[: words(shard.masters)] = 0
    came = sorted(zip(met.tolist(), values.tolist(), strict=True))
    return [came, bits.tolist(), ctx.vote.tolist()]


async def reduced_and_told(ctx: Context, shard: Shard, chosen: Any) -> list[Any]:
    """Do so in two supersteps."""
    proxies = chosen[chosen >= shard.masters]
    met, values = await ctx.reduce(shard, proxies, shard.rank[proxies], (1, chosen.size))
    vote = ctx.vote.tolist()
    bits = np.zeros(words(shard.size), np.uint64)
    set_bits(bits, chosen[chosen < shard.masters])
    set_bits(bits, met)
    await ctx.broadcast_bits(shard, bits)
    bits[: words(shard.masters)] = 0
    return [sorted(zip(met.tolist(), values.tolist(), strict=True)), bits.tolist(), vote]


def real(shard: Shard) -> Any:
    """Return the local ids without what only fills words."""
    groups = [
        np.arange(start, start + size, dtype=np.int32)
        for start, size in zip(shard.group_start, shard.group_size, strict=True)
    ]
    return np.unique(np.concatenate([np.arange(shard.masters, dtype=np.int32), *groups]))


def apart(program: Any, shards: Any, chosen: Any, ways: Any, owners: Any) -> list[Any]:
    async def slot_program(ctx: Context, slot: int) -> list[Any]:
        return list(await program(ctx, shards[slot], chosen[slot]))

    with joined(owners) as links:
        found = run_apart(slot_program, range(SLOTS), links, owners, ways, cost=SLOW)
    return list(found.values())


@settings(max_examples=30)
@given(
    ends=st.lists(st.tuples(st.integers(0, 90), st.integers(0, 90)), min_size=1, max_size=250),
    tree=st.sampled_from(TREES),
    group=st.sampled_from([0, 1]),
    owners=st.sampled_from([(0, 1, 2, 3), (0, 0, 1, 1), (0, 1, 1, 0)]),
    share=st.sampled_from([0.0, 0.1, 0.5, 1.0]),
    seed=st.integers(0, 9),
)
def test_one_superstep_tells_what_two_do(
    ends: Any, tree: Topology, group: int, owners: Any, share: float, seed: int
) -> None:
    shards = build(plain(*np.array(ends).T), SLOTS)
    random = np.random.default_rng(seed)
    chosen = [ids[random.random(ids.size) < share] for ids in map(real, shards)]
    ways = Ground(tree, group), "auto"
    wanted = apart(reduced_and_told, shards, chosen, ways, owners)
    assert apart(told, shards, chosen, ways, owners) == wanted


@pytest.mark.parametrize("dear", [False, True])
@pytest.mark.parametrize("share", [0.0, 0.001, 0.02, 0.3, 0.999])
def test_bits_arrive_in_every_encoding(dear: bool, share: float) -> None:
    random = np.random.default_rng(5)
    bits, more = (
        np.packbits(random.random(64 * 500) < some, bitorder="little").view(np.uint64)
        for some in (share, 0.01)
    )
    (frame,) = pack_told(2, [3], bits, [3] if dear else [])
    assert (frame.source, frame.target, frame.count) == (2, 3, np.bitwise_count(bits).sum())
    before, told = bits.copy(), np.concatenate([more, more, more])
    enter(frame.columns, told, np.array([0, 200, 700, 1200, 1500]), [0, 3])
    wanted = np.concatenate([more, more, more])
    wanted[:200] |= bits[:200]
    wanted[1200:] |= bits[200:]
    assert np.array_equal(told, wanted)
    assert np.array_equal(bits, before)


def test_many_proxies_are_told_in_encodings_of_their_own() -> None:
    """So many that bits go in blocks, and places and ranks by their differences."""
    random = np.random.default_rng(2)
    ends = np.unique(random.integers(0, 4000, (30000, 2)), axis=0)
    shards = build(plain(*ends.T), SLOTS)
    ways, owners = (Ground(TREES[0], 1), "auto"), (0, 1, 2, 3)
    for share in (0.02, 0.3, 0.9):
        chosen = [ids[random.random(ids.size) < share] for ids in map(real, shards)]
        wanted = apart(reduced_and_told, shards, chosen, ways, owners)
        assert apart(told, shards, chosen, ways, owners) == wanted
