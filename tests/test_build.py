"""The distributed build against a stupid oracle, for drawn edges, policies and spreads."""

from __future__ import annotations

import math
from contextlib import ExitStack
from typing import Any
from unittest.mock import patch

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dgraph.build.meeting import _file
from dgraph.build.merging import exact_sum
from dgraph.errors import EdgeValueError, RunError
from dgraph.shard import Shard
from tests import reference
from tests.builds import (
    Input,
    Row,
    inputs,
    oracle,
    orders_of_locals,
    raise_shards,
    rows_as_orders,
)
from tests.reference import PlainGraph


def check(shards: list[Shard], graph: PlainGraph) -> None:
    """Hold shards against the definitions of `dgraph.shard.shard`."""
    cuts = shards[0].dictionary.cuts
    owner = np.full(graph.n, -1)
    for shard in shards:
        owner[shard.order] = shard.slot
    assert (owner >= 0).all()
    expected = reference.build(graph, len(shards), owner, cuts)
    for shard, other in zip(shards, expected, strict=True):
        _check_vertices(shards, shard, other, graph)
        _check_groups(shard, other, graph, shards)
        assert rows_as_orders(shards, shard, shard.out) == rows_as_orders(
            expected, other, other.out
        )
        assert rows_as_orders(shards, shard, shard.into) == rows_as_orders(
            expected, other, other.into
        )
        assert (shard.into is shard.out) == (not graph.directed)
    if shards[0].weighted:
        assert (
            len({shard.out.weights.dtype for shard in shards if shard.out.weights is not None})
            == 1
        )


def _check_vertices(shards: list[Shard], shard: Shard, other: Shard, graph: PlainGraph) -> None:
    assert (shard.slot, shard.slots) == (other.slot, other.slots)
    assert (shard.num_vertices, shard.num_edges) == (graph.n, len(graph.source))
    np.testing.assert_array_equal(shard.bases, other.bases)
    np.testing.assert_array_equal(shard.order, other.order)
    assert shard.ids.to_list() == other.ids.to_list()
    np.testing.assert_array_equal(shard.dictionary.cuts, other.dictionary.cuts)
    assert shard.dictionary.ids.to_list() == other.dictionary.ids.to_list()
    np.testing.assert_array_equal(shard.dictionary.placed, other.dictionary.placed)
    orders = orders_of_locals(shards, shard)
    ranks = np.where(orders < 0, graph.n, graph.rank[orders] if graph.n else 0)
    np.testing.assert_array_equal(shard.rank, ranks)
    for array, like in [(shard.rank, other.rank), (shard.order, other.order)]:
        assert array.dtype == like.dtype
    assert shard.dictionary.placed.dtype == other.dictionary.placed.dtype


def _check_groups(shard: Shard, other: Shard, graph: PlainGraph, shards: list[Shard]) -> None:
    """Check that a group holds what occurs here, or all the owner's vertices with edges."""
    end = shard.masters
    for owner in shards:
        if owner is shard:
            assert not owner.shared[shard.slot].size
            continue
        assert shard.group_start[owner.slot] == -(-end // 64) * 64
        end = int(shard.group_start[owner.slot] + shard.group_size[owner.slot])
        members = owner.shared[shard.slot]
        assert members.dtype == np.int32
        live = int(np.count_nonzero(graph.degree[owner.order]))
        occurring = int(other.group_size[owner.slot])
        if live and 4 * occurring >= 3 * live:
            np.testing.assert_array_equal(members, np.arange(live))
        else:
            assert len(members) == occurring
    assert shard.size == end


@given(inputs(), st.booleans(), st.booleans())
def test_shards_are_what_their_definition_says(case: Input, wide: bool, pieces: bool) -> None:
    with ExitStack() as patches:
        if wide:
            patches.enter_context(patch("dgraph.shard.shard.WIDE", 0))
        if pieces:
            patches.enter_context(patch("dgraph.build.meeting.PIECE", 3))
            patches.enter_context(patch("dgraph.build.settling.PIECE", 3))
            patches.enter_context(patch("dgraph.build.settling.BLOCK", 4))
        shards, reports = raise_shards(case)
        check(shards, oracle(case))
    check_report(case, shards, reports)


def check_report(case: Input, shards: list[Shard], reports: list[dict[str, Any]]) -> None:
    loops = sum(u == v for u, v, _ in case.rows)
    for shard, report in zip(shards, reports, strict=True):
        assert report["rows_read"] == len(case.rows)
        assert report["self_loops"] == loops
        assert report["self_loops_dropped"] == loops * (case.self_loops == "drop")
        left = len(case.rows) - report["self_loops_dropped"] - report["duplicates_merged"]
        assert left == shard.num_edges
        assert report["bytes"] == shard.nbytes
        assert set(report["seconds"]) >= {"numbering", "settling", "rows"}


def _random(rows: int, vertices: int, **options: Any) -> Input:
    """Return edges with hubs, cut into partitions, all on the first of two slots."""
    random = np.random.default_rng(5)
    ends = (vertices * random.random((rows, 2)) ** 3).astype(int)
    weights = random.integers(1, 9, rows) / 8
    table = [(u, v, w) for (u, v), w in zip(ends.tolist(), weights.tolist(), strict=True)]
    return Input("int64", table, [rows], [0], slots=2, **options)


@pytest.mark.parametrize("directed", [False, True])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("dense", [False, True])
def test_a_larger_graph(directed: bool, weighted: bool, dense: bool) -> None:
    case = _random(6000, 900, directed=directed, weighted=weighted, dense=dense)
    shards, _ = raise_shards(case)
    check(shards, oracle(case))
    assert min(len(shard.out.targets) for shard in shards) > 1000


def test_edges_meet_evenly_on_the_slots() -> None:
    """A star, and hubs at regular distances: the heaviest slot has at most twice its share."""

    def heaviest(first: Any, second: Any, slots: int) -> float:
        size = len(first)
        counts = np.zeros(slots, np.int64)
        out = np.empty(size, np.int32), np.empty(size, np.int32), np.empty(size, np.int16)
        _file(np.asarray(first), np.asarray(second), False, False, slots, *out, counts)
        return float(counts.max() * slots / size)

    ends = np.arange(1, 100_001)
    regular = np.random.default_rng(1).integers(0, 2**10, (2, 100_000)) * 64
    assert heaviest(np.zeros_like(ends), ends, 2) < 1.6  # half of a star is filed by its hub
    assert heaviest(regular[0], regular[1], 8) < 1.3


def test_empty_graph_of_either_kind() -> None:
    for slots in (1, 3):
        shards, _ = raise_shards(Input("int64", [], [0], [0], slots))
        assert [shard.num_vertices for shard in shards] == [0] * slots
        assert all(shard.size == 0 for shard in shards)


def _fails(case: Input) -> str:
    with pytest.raises(RunError) as raised:
        raise_shards(case)
    assert isinstance(raised.value.__cause__, EdgeValueError)
    return str(raised.value.__cause__)


ROWS: list[Row] = [("d", "c", 1.0), ("a", "b", 1.0), ("b", "a", 2.0), ("c", "c", 1.0)]


@pytest.mark.parametrize("slots", [1, 3])
@pytest.mark.parametrize("numbers", [False, True])
def test_policy_error_names_the_edge(slots: int, numbers: bool) -> None:
    rows: list[Row] = [(ord(u), ord(v), w) for u, v, w in ROWS] if numbers else ROWS
    names = [repr(ord(name)) if numbers else repr(name) for name in "abc"]
    kind = "int64" if numbers else "str"
    case = Input(kind, rows, [2, 2], [0, slots - 1], slots, duplicates="error")
    assert f"{names[0]} - {names[1]}" in _fails(case)
    case.directed = True
    raise_shards(case)
    case.self_loops = "error"
    assert f"1, the first at vertex {names[2]}" in _fails(case)


@pytest.mark.parametrize("slots", [1, 3])
@pytest.mark.parametrize("dense", [False, True])
def test_undeclared_vertex_is_named(slots: int, dense: bool) -> None:
    rows: list[Row] = [(1, 2, 1.0), (9, 7, 1.0)]
    case = Input(
        "int64", rows, [1, 1], [0, slots - 1], slots, declared=[1, 2, 3, 9], dense=dense
    )
    assert "an edge at 7, which is not among them" in _fails(case)


def test_sum_of_weights_that_overflows_is_an_error() -> None:
    rows: list[Row] = [(1, 2, 1e308)] * 3
    case = Input("int64", rows, [3], [0], weighted=True, duplicates="sum")
    assert "finite sum" in _fails(case)
    case.rows = [(1, 2, 1e308), (1, 2, 1e308), (1, 2, -1e308)]
    shards, _ = raise_shards(case)
    assert shards[0].out.weights is not None
    assert shards[0].out.weights.tolist() == [1e308, 1e308]


@given(st.lists(st.floats(-1e300, 1e300), min_size=1, max_size=20))
def test_sums_are_exactly_rounded(terms: list[float]) -> None:
    assert exact_sum(np.array(terms)) == math.fsum(terms)
