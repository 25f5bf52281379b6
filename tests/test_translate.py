"""Translation between users' ids and numbers, on every spread."""

from __future__ import annotations

from itertools import chain
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dgraph.engine.columns import Nullable, Plain, to_frame
from dgraph.engine.context import Context
from dgraph.engine.pool import run
from dgraph.engine.translate import (
    ids_of_locals,
    ids_of_orders,
    local_of_neighbours,
    masters_of,
)
from dgraph.errors import RunError, VertexNotFoundError
from dgraph.shard import Shard
from tests.reference import PlainGraph, as_ids, build, gather, plain
from tests.strategies import spread_graphs


@given(data=st.data(), drawn=spread_graphs(least=1))
def test_masters_of_named_vertices(data: st.DataObject, drawn: Any) -> None:
    graph, spread = drawn
    named = data.draw(st.lists(st.integers(0, graph.n - 1), max_size=5))
    ids, shards = graph.ids.take(np.array(named, np.int64)), spread.shards(graph)

    async def program(ctx: Context, shard: Shard) -> list[tuple[int, int]]:
        positions, masters = await masters_of(ctx, shard, ids)
        assert (np.diff(positions) > 0).all()
        return list(zip(positions.tolist(), shard.order[masters].tolist(), strict=True))

    found = chain.from_iterable(run(program, shards, slots=spread.slots))
    assert sorted(found) == list(enumerate(named))


@pytest.mark.parametrize("slots", [1, 3])
def test_the_first_unknown_vertex_is_named_by_every_slot(slots: int) -> None:
    graph = plain([1, 2, 3], [2, 3, 1])
    seen = []

    async def program(ctx: Context, shard: Shard) -> None:
        try:
            await masters_of(ctx, shard, as_ids([2, 98, 1, 99]))
        except VertexNotFoundError as error:
            seen.append(str(error))
            raise

    with pytest.raises(RunError):
        run(program, build(graph, slots), slots=slots, threads=1)
    assert set(seen) == {seen[0]}
    assert "98" in seen[0]


@given(data=st.data(), drawn=spread_graphs(least=1))
def test_ids_of_orders_and_of_locals(data: st.DataObject, drawn: Any) -> None:
    graph, spread = drawn
    orders = np.array(data.draw(st.lists(st.integers(0, graph.n - 1))), np.int32)
    shards = spread.shards(graph)

    async def program(ctx: Context, shard: Shard) -> None:
        found = await ids_of_orders(ctx, shard, orders)
        assert found == graph.ids.take(orders)
        some = np.flatnonzero(shard.rank < shard.num_vertices)[::-1].repeat(2).astype(np.int32)
        wanted = graph.ids.take(graph.by_rank[shard.rank[some]])
        assert await ids_of_locals(ctx, shard, some) == wanted

    run(program, shards, slots=spread.slots)


@given(data=st.data(), drawn=spread_graphs())
def test_neighbours_are_found_by_their_ranks(data: st.DataObject, drawn: Any) -> None:
    graph, spread = drawn
    for shard in spread.shards(graph):
        into, codes, wanted = shard.into, [], []
        for begin, end in zip(into.offsets[:-1], into.offsets[1:], strict=True):
            row = into.targets[begin:end].tolist()
            local = data.draw(st.sampled_from([-1, *row]))
            by_rank = local >= 0 and data.draw(st.booleans())
            codes.append(-2 - int(shard.rank[local]) if by_rank else local)
            wanted.append(local)
        assert local_of_neighbours(shard, np.array(codes, np.int64)).tolist() == wanted


def frame(graph: PlainGraph, slots: int) -> list[pd.DataFrame]:
    async def program(ctx: Context, shard: Shard) -> pd.DataFrame:
        numbers = shard.order.astype(np.int32)
        columns = {"half": Plain(numbers / 2), "some": Nullable(numbers - 2)}
        return await to_frame(ctx, shard, columns)

    return run(program, build(graph, slots), slots=slots)


@pytest.mark.parametrize("dtype", ["int8", "uint64", "int64", "str"])
def test_columns_have_the_users_dtype(dtype: str) -> None:
    ids = np.array([5, 3, 9]) if dtype != "str" else np.array(["5", "3", "9"])
    graph = plain(ids.astype(dtype), np.roll(ids, 1).astype(dtype))
    for part in [*frame(graph, 2), *frame(graph, 5)]:  # some slots have no vertex
        assert part["vertex"].dtype == pd.Series(ids.tolist(), dtype=dtype).dtype
        assert part["half"].dtype == "float64"
        assert part["some"].dtype == "Int64"
        assert part["some"].isna().equals(part["half"] < 1)  # the orders 0 and 1


def test_writing_into_a_result_leaves_the_shard_alone() -> None:
    shards = build(plain([1, 2, 3], [2, 3, 1]), 1)

    async def program(ctx: Context, shard: Shard) -> pd.DataFrame:
        return await to_frame(ctx, shard, {})

    (part,) = run(program, shards, slots=1)
    part.loc[:, "vertex"] = 0
    assert gather(shards, [shards[0].ids.to_pandas()]).tolist() == [1, 2, 3]
