"""What memory a graph takes: estimated, and in use."""

from __future__ import annotations

import os
import signal
from typing import Any
from unittest.mock import patch

import dask
import dask.dataframe as dd
import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

import dgraph as dg
from dgraph.build.rhizomes import ALLOCATIONS, Rhizomes
from dgraph.build.splitting import split_rows
from dgraph.census import Census, shard_bytes
from dgraph.engine.context import Context
from dgraph.engine.pool import run
from dgraph.errors import OptionError, RunError
from dgraph.shard import Shard
from dgraph.sketch import Sketch
from dgraph.vertices.ids import IntIds
from tests.clusters import cluster
from tests.reference import build, plain

Array = NDArray[Any]


def skewed(n: int, m: int, power: float, seed: int = 0) -> Array:
    """Return edges whose sources are small numbers, the more so the higher the power."""
    drawn = np.random.default_rng(seed).random((m, 2))
    return (n * drawn ** [power, 1]).astype(np.int64)


async def _split(ctx: Context, shard: Shard, how: Rhizomes) -> int:
    found, _ = await split_rows(ctx, shard, how)
    return found.nbytes


@settings(max_examples=25)
@given(
    power=st.sampled_from([1, 2, 4]),
    n=st.sampled_from([300, 1500]),
    most=st.sampled_from([1, 2, 4, 16, 64]),
    allocation=st.sampled_from(ALLOCATIONS),
    cutoff=st.sampled_from([None, None, 3, 20]),
    directed=st.booleans(),
    parallels=st.booleans(),
    loopless=st.booleans(),
    weighted=st.booleans(),
    slots=st.sampled_from([1, 2, 6]),
    sampled=st.sampled_from([1 << 17, 1 << 12]),
)
def test_an_estimate_with_split_rows_is_within_20_percent(
    power: int,
    n: int,
    most: int,
    allocation: str,
    cutoff: int | None,
    directed: bool,
    parallels: bool,
    loopless: bool,
    weighted: bool,
    slots: int,
    sampled: int,
) -> None:
    edges = skewed(n, 6000, power)
    graph = plain(
        edges[:, 0],
        edges[:, 1],
        np.full(len(edges), 0.1) if weighted else None,
        directed=directed,
        duplicates="keep" if parallels else "min",
        self_loops="drop" if loopless else "keep",
    )
    how = Rhizomes(most, allocation, cutoff)
    shards = build(graph, slots)
    needed = run(_split, shards, [how] * slots, slots=slots)
    source, target = (IntIds(np.ascontiguousarray(column)) for column in edges.T)
    weight = np.full(len(edges), 0.1) if weighted else None
    with patch("dgraph.sketch.MOST", sampled):
        sketch = Sketch.of(source, target, weight, directed=directed)
    census = Census.of_sketch(sketch, "int64", weighted, parallels, loopless, directed)
    estimated = shard_bytes(census, slots, directed, how)
    assert estimated == pytest.approx(np.mean(needed), rel=0.15)


@pytest.mark.parametrize("directed", [False, True])
def test_what_algorithms_keep_is_counted(client: Any, directed: bool) -> None:
    edges = np.c_[skewed(1500, 6000, 3), np.arange(6000)]
    options: dict[str, Any] = {"weight": True, "directed": directed, "client": client}
    options |= {"rhizome_max": 16, "virtual_slots": 4}
    estimated = dg.estimate(edges, **options)
    whole = dg.estimate(edges, **options | {"rhizome_max": None})
    with dg.from_edges(edges, **options) as g:
        assert g.report["rhizomes"]["split"] > 0
        built = g.memory_usage()
        assert estimated.sum() == pytest.approx(built.sum(), rel=0.1)
        assert estimated.max() == pytest.approx(built.max(), rel=0.2)
        assert g.memory_usage(kept=True).sum() < 1.05 * built.sum()
        g.edges()  # puts the rows together, on a graph that shares its ids with the split one
        kept = g.memory_usage(kept=True) - built
        assert 0.5 * whole.sum() < kept.sum() < 1.05 * whole.sum()
        dg.sssp(g, 1)  # sorts the whole rows by weight
        assert kept.sum() + 1.5 * 8 * 6000 < (g.memory_usage(kept=True) - built).sum()
        assert g.memory_usage().equals(built)


@pytest.mark.parametrize("given", [{"duplicates": "average"}, {"self_loops": "count"}])
def test_policies_are_those_of_from_edges(given: dict[str, Any]) -> None:
    with pytest.raises(OptionError, match=r"must be .* not '(average|count)'"):
        dg.estimate((3, 2), **given)


def killing(part: pd.DataFrame) -> pd.DataFrame:
    """End the worker, as the system does if memory runs out."""
    os.kill(os.getpid(), signal.SIGKILL)
    return part


def test_workers_that_end_are_one_sentence() -> None:
    frame = pd.DataFrame({"source": [1], "target": [2]})
    edges = dd.from_pandas(frame, npartitions=1).map_partitions(killing, meta=frame)
    once = dask.config.set({"distributed.scheduler.allowed-failures": 0})
    with (
        once,
        cluster(1) as client,
        pytest.raises(RunError, match=r"1 worker ended while .*repartition"),
    ):
        dg.estimate(edges, client=client)
