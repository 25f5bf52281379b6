"""Placement strategies: one owner each, even loads, and no trace of how vertices were cut."""

from __future__ import annotations

import pickle
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dgraph.errors import DgraphError
from dgraph.placement import (
    Chunk,
    Degree,
    Frame,
    Given,
    Hash,
    Strategy,
    Totals,
    VertexBlock,
    resolve,
)
from dgraph.vertices.ids import Ids, IntIds, StringIds


class Vertices(NamedTuple):
    ids: Ids
    degree: Any
    rank: Any

    def block(self, start: int, stop: int, table: Given | None = None) -> VertexBlock:
        span = slice(start, stop)
        order = np.arange(start, stop)
        ids = self.ids.slice(start, stop)
        return VertexBlock(order, self.rank[span], self.degree[span], ids, table)


@st.composite
def vertices(draw: st.DrawFn) -> Vertices:
    degree = np.array(draw(st.lists(st.integers(0, 40), max_size=50)), np.int64)
    rank = np.empty(len(degree), np.int64)
    rank[np.lexsort([np.arange(len(degree)), -degree])] = np.arange(len(degree))
    numbers = np.arange(len(degree)) * 7 - 30
    strings = StringIds.of(f"v{number:04}" for number in range(len(degree)))
    return Vertices(draw(st.sampled_from([IntIds(numbers), strings])), degree, rank)


cuts = st.lists(st.integers(0, 50), max_size=4).map(sorted)
strategies = st.sampled_from([Degree(), Hash(), Chunk(), Chunk(alpha=0), Chunk(alpha=3)])


def place(strategy: Strategy, some: Vertices, slots: int, cuts: list[int]) -> Any:
    """Do what the build does, with any number of blocks."""
    bounds = [0, *(min(cut, len(some.ids)) for cut in cuts), len(some.ids)]
    blocks = [some.block(a, b) for a, b in pairwise(bounds)]
    measures = np.stack([strategy.measure(block) for block in blocks])
    owners = [strategy.slots_of(b, slots, Totals(i, measures)) for i, b in enumerate(blocks)]
    assert all(owner.dtype == np.int32 for owner in owners)
    return np.concatenate(owners)


@given(strategies, vertices(), st.integers(1, 9), cuts)
def test_every_vertex_gets_one_slot_however_they_are_cut(
    strategy: Strategy, some: Vertices, slots: int, cuts: list[int]
) -> None:
    owner = place(strategy, some, slots, cuts)
    assert len(owner) == len(some.ids)
    assert ((owner >= 0) & (owner < slots)).all()
    assert np.array_equal(owner, place(strategy, some, slots, []))


@given(vertices(), st.integers(1, 9))
def test_degree_deals_vertices_and_edges_evenly(some: Vertices, slots: int) -> None:
    owner = place(Degree(), some, slots, [])
    counts = np.bincount(owner, minlength=slots)
    loads = np.bincount(owner, weights=some.degree, minlength=slots)
    assert counts.max() - counts.min() <= 1
    assert loads.max() - loads.min() <= some.degree.max(initial=0)


@given(vertices(), st.integers(1, 9), st.none() | st.integers(0, 30))
def test_chunks_are_runs_of_even_weight(some: Vertices, slots: int, alpha: int | None) -> None:
    owner = place(Chunk(alpha), some, slots, [])
    assert (np.diff(owner) >= 0).all()
    weight = some.degree + (8 * (slots - 1) if alpha is None else alpha)
    loads = np.bincount(owner, weights=weight, minlength=slots)
    assert loads.max() <= weight.sum() / slots + weight.max(initial=0)


def test_chunk_weights_may_pass_int32_and_float() -> None:
    heavy = np.array([2**61, 1, 1, 2**61], np.int64)
    some = Vertices(IntIds(np.arange(4)), heavy, np.array([0, 2, 3, 1]))
    assert place(Chunk(alpha=0), some, 2, [1]).tolist() == [0, 0, 1, 1]


def test_hash_is_even_and_the_same_for_an_id_in_any_graph() -> None:
    n = 10_000
    many = Vertices(IntIds(np.arange(n)), np.zeros(n, int), np.arange(n))
    few = Vertices(IntIds(np.arange(50, 60, dtype=np.int8)), np.zeros(10, int), np.arange(10))
    owner = place(Hash(), many, 4, [])
    assert np.array_equal(place(Hash(), few, 4, []), owner[50:60])
    assert np.abs(np.bincount(owner) - n / 4).max() < 200


@given(vertices(), st.integers(1, 9), st.randoms())
def test_a_frame_is_obeyed_in_any_sequence(some: Vertices, slots: int, random: Any) -> None:
    wanted = np.array([random.randrange(slots) for _ in range(len(some.ids))], np.int64)
    turn = np.array(random.sample(range(len(wanted)), len(wanted)), np.int64)
    middle = len(wanted) // 2
    # Every block may be shown the whole table: what lies elsewhere is passed over.
    table = Given(some.ids.take(turn), wanted[turn])
    owner = [
        Frame().slots_of(some.block(a, b, table), slots, Totals(0, np.empty((1, 0), np.int64)))
        for a, b in ((0, middle), (middle, len(wanted)))
    ]
    assert np.concatenate(owner).tolist() == wanted.tolist()


@pytest.mark.parametrize(
    ("ids", "slots", "message"),
    [
        (["a", "b"], [0, 2], "from 0 to 1, not 2 as for vertex 'b'"),
        (["a", "b"], [-1, 0], "not -1 as for vertex 'a'"),
        (["a", "b", "a"], [0, 1, 0], "once .* not in 2 rows as vertex 'a'"),
        (["b", "x"], [0, 1], "every vertex .* vertex 'a' is missing"),
        ([], [], "vertex 'a' is missing"),
    ],
)
def test_a_wrong_frame_is_refused_by_name(
    ids: list[str], slots: list[int], message: str
) -> None:
    some = Vertices(StringIds.of("ab"), np.zeros(2, int), np.arange(2))
    table = Given(StringIds.of(ids), np.array(slots, np.int64))
    with pytest.raises(ValueError, match=message) as caught:
        Frame().slots_of(some.block(0, 2, table), 2, Totals(0, np.empty((1, 0), np.int64)))
    assert isinstance(caught.value, DgraphError)


def test_resolve_takes_names_objects_and_frames() -> None:
    assert [resolve(name) for name in ("degree", "hash", "chunk")] == [
        Degree(),
        Hash(),
        Chunk(),
    ]
    assert resolve(Chunk(alpha=4)) == Chunk(alpha=4)
    frame = pd.DataFrame({"vertex": [1], "slot": [0]})
    for table in (frame, pa.Table.from_pandas(frame)):
        strategy = resolve(table)
        assert isinstance(strategy, Frame)
        assert strategy.table is table


@pytest.mark.parametrize(
    "wrong", ["random", "", None, 3, Degree, pd.DataFrame({"vertex": [1]})]
)
def test_resolve_lists_what_is_allowed(wrong: Any) -> None:
    with pytest.raises(ValueError, match="placement must be one of 'degree', 'hash'"):
        resolve(wrong)


def test_chunk_refuses_a_negative_weight() -> None:
    with pytest.raises(ValueError, match="alpha"):
        Chunk(alpha=-1)


def test_strategies_are_values() -> None:
    for strategy in (Degree(), Hash(), Chunk(alpha=2)):
        assert pickle.loads(pickle.dumps(strategy)) == strategy
        assert hash(strategy) == hash(pickle.loads(pickle.dumps(strategy)))
