"""The distributed build against a stupid oracle, for drawn edges, policies and spreads."""

from __future__ import annotations

import math
from collections import defaultdict
from contextlib import ExitStack
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any
from unittest.mock import patch

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from dgraph.build.meeting import _file
from dgraph.build.merging import exact_sum
from dgraph.build.program import build
from dgraph.build.spec import BuildSpec
from dgraph.edges.chunk import ChunkSpec, make_chunk
from dgraph.edges.summary import combine
from dgraph.edges.vertex_chunk import VertexSpec, make_vertex_chunk
from dgraph.engine.pool import run
from dgraph.errors import EdgeValueError, RunError
from dgraph.placement import Chunk, Degree, Frame, Hash
from dgraph.shard import Adjacency, Shard
from tests import reference
from tests.reference import PlainGraph, as_ids, plain

POOLS: dict[str, list[Any]] = {
    "int64": [-(2**63), -7, 0, 1, 2, 3, 10, 11, 100, 2**53, 2**53 + 1, 2**63 - 1],
    "uint64": [0, 1, 5, 2**53 + 1, 2**63 - 1, 2**63, 2**63 + 1, 2**64 - 1],
    "int8": [-128, -127, -1, 0, 1, 2, 3, 4, 63, 64, 65, 127],
    "uint8": list(range(250, 256)),
    "str": ["a", "b", "B", "10", "9", "007", "é", "z", "😀", "\uffff", "", "long " * 9],
}
WEIGHTS = [0.0, -0.0, 0.1, 0.25, 1.0, 1 / 3, 3.0, -2.5, 1e6, 1e-9, 1e16]
Row = tuple[Any, Any, float]


@dataclass
class Input:
    """Edges as a user gives them, and how they lie on the slots."""

    dtype: str
    rows: list[Row]
    partitions: list[int] = field(default_factory=list)  # how many rows each has
    homes: list[int] = field(default_factory=list)  # the slot that each lies on
    slots: int = 1
    weighted: bool = False
    directed: bool = False
    duplicates: str = "min"
    self_loops: str = "keep"
    declared: list[Any] | None = None
    placement: Any = field(default_factory=Degree)
    given: list[int] | None = None  # with declared vertices: their slots
    dense: bool = True


@st.composite
def inputs(draw: st.DrawFn) -> Input:
    dtype = draw(st.sampled_from(sorted(POOLS)))
    pool = draw(st.permutations(POOLS[dtype]))
    some = pool[: draw(st.integers(1, len(pool)))]
    end = st.sampled_from(some)
    rows = draw(st.lists(st.tuples(end, end, st.sampled_from(WEIGHTS)), max_size=40))
    slots = draw(st.integers(1, 6))
    partitions = _draw_partitions(draw, len(rows))
    declared = pool if draw(st.booleans()) else None
    placement = draw(st.sampled_from([Degree(), Hash(), Chunk(), Chunk(alpha=1), Frame()]))
    slot = st.integers(0, slots - 1)
    return Input(
        dtype,
        rows,
        partitions,
        draw(st.lists(slot, min_size=len(partitions), max_size=len(partitions))),
        slots,
        weighted=draw(st.booleans()),
        directed=draw(st.booleans()),
        duplicates=draw(st.sampled_from(["min", "max", "sum", "first", "keep"])),
        self_loops=draw(st.sampled_from(["keep", "drop"])),
        declared=declared,
        placement=placement,
        given=draw(st.lists(slot, min_size=len(pool), max_size=len(pool))),
        dense=draw(st.booleans()),
    )


def _draw_partitions(draw: st.DrawFn, rows: int) -> list[int]:
    """Cut the rows into runs, some of which may be empty."""
    cuts = sorted(draw(st.lists(st.integers(0, rows), max_size=5)))
    return [end - begin for begin, end in pairwise([0, *cuts, rows])]


def edge_chunks(case: Input) -> tuple[list[list[Any]], list[Any]]:
    """Return the chunks of each slot, and the receipts of all."""
    chunks: list[list[Any]] = [[] for _ in range(case.slots)]
    receipts = []
    begin = 0
    for partition, (length, home) in enumerate(zip(case.partitions, case.homes, strict=True)):
        rows = case.rows[begin : begin + length]
        frame = pd.DataFrame(
            {
                "source": _column([row[0] for row in rows], case.dtype),
                "target": _column([row[1] for row in rows], case.dtype),
                "weight": np.array([row[2] for row in rows], np.float64),
            }
        )
        spec = ChunkSpec(weight=2 if case.weighted else None)
        chunk, receipt = make_chunk(frame, spec, partition)
        chunks[home].append(chunk)
        receipts.append(receipt)
        begin += length
    return chunks, receipts


def _column(values: list[Any], dtype: str) -> Any:
    return pd.Series(values, dtype="str") if dtype == "str" else np.array(values, dtype)


def vertex_chunks(case: Input) -> tuple[list[Any], list[Any]]:
    """Return chunks of declared vertices and of the user's placement, and their receipts."""
    made = []
    if case.declared is not None:
        made.append(make_vertex_chunk(_column(case.declared, case.dtype), VertexSpec(), 0))
    if isinstance(case.placement, Frame):
        pool = sorted(POOLS[case.dtype])
        table = pd.DataFrame({"vertex": _column(pool, case.dtype), "slot": case.given})
        made.append(make_vertex_chunk(table, VertexSpec(slot=1, declared=False), 1))
    return [chunk for chunk, _ in made], [receipt for _, receipt in made]


def raise_shards(case: Input) -> tuple[list[Shard], list[dict[str, Any]]]:
    chunks, receipts = edge_chunks(case)
    more, vertex_receipts = vertex_chunks(case)
    for at, chunk in enumerate(more):
        chunks[at % case.slots].append(chunk)
    summary = combine(receipts, vertices=vertex_receipts)
    low, high = summary.low, summary.high
    if low is None or high is None or not case.dense or high - low >= 2**20:
        low = high = None
    spec = BuildSpec(
        ids=summary.dtype,
        placement=case.placement,
        directed=case.directed,
        weighted=case.weighted,
        duplicates=case.duplicates,
        self_loops=case.self_loops,
        declared=case.declared is not None,
        low=low,
        high=high,
    )
    results = run(build, chunks, [spec] * case.slots, slots=case.slots)
    assert not any(chunks)
    return [shard for shard, _ in results], [report for _, report in results]


def oracle(case: Input) -> PlainGraph:
    """Apply the policies row by row."""
    groups: dict[tuple[Any, Any], list[float]] = defaultdict(list)
    for u, v, weight in case.rows:
        if u == v and case.self_loops == "drop":
            continue
        pair = (u, v) if case.directed or _key(u) <= _key(v) else (v, u)
        groups[pair].append(weight)
    fold: dict[str, Any] = {
        "min": min, "max": max, "sum": math.fsum, "first": lambda weights: weights[0],
    }  # fmt: skip
    edges = [
        (*pair, weight + 0.0)
        for pair, weights in groups.items()
        for weight in (
            weights if case.duplicates == "keep" else [fold[case.duplicates](weights)]
        )
    ]
    named = [end for u, v, _ in case.rows for end in (u, v)]
    vertices = named if case.declared is None else case.declared
    dtype = case.dtype if vertices or case.dtype != "str" else "int64"
    return plain(
        as_ids(_array([u for u, _, _ in edges], dtype)),
        as_ids(_array([v for _, v, _ in edges], dtype)),
        [weight for _, _, weight in edges] if case.weighted else None,
        directed=case.directed,
        vertices=as_ids(_array(vertices, dtype)),
    )


def _key(value: Any) -> Any:
    return value.encode() if isinstance(value, str) else value


def _array(values: list[Any], dtype: str) -> NDArray[Any]:
    return np.array(values, object) if dtype == "str" else np.array(values, dtype)


def orders_of_locals(shards: list[Shard], shard: Shard) -> NDArray[np.int64]:
    """Return the order of each local id, through the lists that slots share; -1: padding."""
    orders = np.full(shard.size, -1, np.int64)
    for owner in shards:
        members = owner.order
        if owner is not shard:
            members = owner.order[owner.shared[shard.slot]]
        start = shard.group_start[owner.slot]
        assert shard.group_size[owner.slot] == len(members)
        orders[start : start + len(members)] = members
    return orders


def rows_as_orders(shards: list[Shard], shard: Shard, rows: Adjacency) -> list[Any]:
    """Return each row as a list of targets and one of weights."""
    targets = orders_of_locals(shards, shard)[rows.targets]
    cuts = rows.offsets[1:-1]
    weights = np.zeros(0) if rows.weights is None else rows.weights
    return [
        (some.tolist(), weight.tolist())
        for some, weight in zip(
            np.split(targets, cuts),
            np.split(weights, cuts) if len(weights) else [weights] * (len(cuts) + 1),
            strict=True,
        )
    ]


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
