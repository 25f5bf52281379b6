"""What a call on a tiny graph takes, beside what Dask itself takes for the same errands."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from itertools import cycle

import dask.dataframe as dd
import numpy as np
import pandas as pd
from distributed import Client, wait

from benchmarks.bench import SLOTS, Bench
from benchmarks.contest import OURS, Contest, Entrant
from benchmarks.graphs import EdgeFiles
from benchmarks.ours import Ours
from benchmarks.row import Row
from benchmarks.timing import timed

#: Calls behind a median, for each of the repetitions of the settings.
CALLS = 8

SOURCE = 1


def run(bench: Bench) -> Iterator[Row]:
    """Call and compute, on both forms of the cluster."""
    files = bench.karate()
    forms = (
        ("embedded", bench.embedded(), 0.030),
        (f"{SLOTS} processes", bench.processes(), 0.050),
    )
    for name, client, limit in forms:
        yield from one_form(bench, files, name, client, limit)


def one_form(
    bench: Bench, files: EdgeFiles, name: str, client: Client, limit: float
) -> Iterator[Row]:
    """Time the call, and then the computing of what it returns."""
    ours = bench.ours(files, client)
    turns = range(CALLS * bench.settings.turns)
    result = ours.call("bfs", source=SOURCE)
    calls, computes = Contest(turns), Contest(turns)
    calls.enter(OURS, entrant(lambda: ours.call("bfs", source=SOURCE)))
    calls.enter("Dask: submit and wait", entrant(lambda: submit_and_wait(client)))
    computes.enter(OURS, entrant(lambda: ours.compute(result)))
    computes.enter("Dask: from_delayed, compute", entrant(lambda: gather(ours)))
    for what, contest, most in (
        ("dg.bfs(karate, 1)", calls, limit),
        (".compute() of it", computes, 0.040),
    ):
        contest.enter("limit", lambda turn, most=most: (most, math.nan))  # type: ignore[misc]
        text = f"{what}, {name}, median of {len(turns)}"
        yield contest.row("latency", text, against="limit", target=1.0)


def entrant(call: Callable[[], object]) -> Entrant:
    """Make a contender without an answer to compare of a call."""
    return lambda turn: (timed(call)[0], math.nan)


def partition(number: int) -> pd.DataFrame:
    """Return a frame like a slot's part of a result."""
    return pd.DataFrame({"vertex": np.array([number]), "distance": np.array([1])})


def submit_and_wait(client: Client) -> None:
    """Run one task per slot and wait for them: what no launch can be faster than."""
    addresses = list(client.scheduler_info(n_workers=-1)["workers"])
    with client.as_current():
        wait(
            [
                client.submit(partition, slot, workers=[address], pure=False)
                for slot, address in zip(range(SLOTS), cycle(addresses), strict=False)
            ]
        )


def gather(ours: Ours) -> None:
    """Fetch one frame per slot: what no ``.compute()`` can be faster than."""
    with ours.client.as_current():
        futures = [ours.client.submit(partition, slot, pure=False) for slot in range(SLOTS)]
        dd.from_delayed(futures, meta=partition(0).iloc[:0], verify_meta=False).compute()
