"""The naive baseline: PageRank as merge and groupby of dask.dataframe, on a smaller graph."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from typing import Any

import dask.dataframe as dd
import pandas as pd
from distributed import Client, wait

from benchmarks.bench import SLOTS, Bench
from benchmarks.cases.pagerank import one_round
from benchmarks.contest import OURS, Contest
from benchmarks.graphs import EdgeFiles
from benchmarks.row import Row
from benchmarks.timing import timed

ALPHA = 0.85
ROUNDS = 5

#: The recipe's graph is 2**this times smaller than that of the other cases.
SMALLER = 4

# Every shuffle would announce itself.
logging.getLogger("distributed.shuffle").setLevel(logging.ERROR)


def run(bench: Bench) -> Iterator[Row]:
    """Time a round of each on the same graph."""
    files = bench.kronecker(max(bench.settings.scale - SMALLER, 4), compact=True)
    ours = bench.ours(files)
    contest = Contest(range(bench.settings.turns), tolerance=1e-9)
    contest.enter(OURS, lambda turn: one_round(ours, ROUNDS))
    contest.enter("dask.dataframe recipe", lambda turn: recipe(bench.embedded(), files))
    what = f"{files.name}, median of {len(contest.items)} runs, per round of pagerank"
    yield contest.row("recipe", what)


def recipe(client: Client, files: EdgeFiles) -> tuple[float, float]:
    """Return seconds per round and the largest rank; the edges are persisted before."""
    with client.as_current():
        there = dd.read_parquet(files.parquet)
        back = there.rename(columns={"source": "target", "target": "source"})
        arcs = dd.concat([there, back[["source", "target"]]])
        arcs = settled(arcs.repartition(npartitions=SLOTS))  # few: shuffles cost by the pair
        degrees = settled(arcs.groupby("source").size().rename("degree").reset_index())
        arcs = settled(arcs.merge(degrees, on="source"))
        ranks = settled(degrees.assign(rank=1 / files.vertices)[["source", "rank"]])
        seconds, ranks = timed(iterate, arcs, ranks, files.vertices)
        return seconds / ROUNDS, float(ranks["rank"].max())


def settled(frame: Any) -> Any:
    """Compute a frame on the workers and wait until it is there."""
    frame = frame.persist()
    wait(frame)
    return frame


def iterate(arcs: dd.DataFrame, ranks: dd.DataFrame, vertices: int) -> pd.DataFrame:
    """Do the rounds: join each arc with its source's rank, add up by target."""
    for _ in range(ROUNDS):
        joined = arcs.merge(ranks, on="source")
        portions = joined.assign(rank=ALPHA * joined["rank"] / joined["degree"])
        sums = portions.groupby("target")["rank"].sum() + (1 - ALPHA) / vertices
        ranks = settled(sums.reset_index().rename(columns={"target": "source"}))
    computed: pd.DataFrame = ranks.compute()
    return computed
