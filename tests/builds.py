"""Graphs that are built of drawn partitions of edges, and what they must look like."""

from __future__ import annotations

import math
from collections import defaultdict
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

import numpy as np
import pandas as pd
from hypothesis import strategies as st
from numpy.typing import NDArray

from dgraph.build.program import build
from dgraph.build.spec import BuildSpec
from dgraph.edges.chunk import ChunkSpec, make_chunk
from dgraph.edges.summary import combine
from dgraph.edges.vertex_chunk import VertexSpec, make_vertex_chunk
from dgraph.engine.pool import run
from dgraph.placement import Chunk, Degree, Frame, Hash
from dgraph.shard import Adjacency, Shard
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
