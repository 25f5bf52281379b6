"""Graph500: the run, and the block of figures it prints."""

from __future__ import annotations

import json
import math
import os
import subprocess
import sys
from collections.abc import Callable, Sequence
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from distributed import Client

import dgraph as dg
from dgraph import graph500
from dgraph.algorithms.bfs import bfs
from dgraph.cli import _main
from dgraph.errors import OptionError
from dgraph.graph500.benchmark import KERNELS
from dgraph.graph500.edges import EdgeList
from dgraph.graph500.report import Report, Search, Statistics
from dgraph.graph500.validate import Validation
from tests import oracles
from tests.clusters import asynchronously, cluster
from tests.graph500_rules import (
    kronecker_graph,
)

SLOTS = [1, 2, 3, 5]


# The run

#: The keys of scale 8, edge factor 16, seed 1.
KEYS = [22, 116, 146, 9, 204]


def parse(text: str) -> dict[str, float]:
    """Read the official block as scripts do: a name, a colon, perhaps a mark, a number."""
    found = {}
    for line in text.splitlines():
        name, value = line.split(":", 1)
        found[" ".join(name.split())] = float(value.replace("!", " "))
    return found


def statistics(kernel: str, what: str) -> list[str]:
    names = ["min", "firstquartile", "median", "thirdquartile", "max"]
    names += ["harmonic_mean", "harmonic_stddev"] if what == "TEPS" else ["mean", "stddev"]
    return [f"{kernel} {name}_{what}".strip() for name in names]


@pytest.mark.parametrize("slots", SLOTS)
def test_a_run_is_valid_for_any_slots(client: Client, slots: int) -> None:
    report = graph500.run(8, roots=5, virtual_slots=slots, client=client)
    assert report.valid
    assert report.slots == slots
    assert [search.key for search in report.bfs] == KEYS
    assert [search.edges for search in report.bfs] == [traversed(key) for key in KEYS]
    block = parse(str(report))
    assert list(block) == [
        *("SCALE", "edgefactor", "NBFS", "graph_generation", "num_mpi_processes"),
        "construction_time",
        *statistics("bfs", "time"),
        *statistics("", "nedge"),
        *statistics("bfs", "TEPS"),
        *statistics("bfs", "validate"),
        "peak_memory_bytes",
    ]
    assert (block["SCALE"], block["edgefactor"], block["NBFS"]) == (8, 16, 5)
    teps = [search.edges / search.seconds for search in report.bfs]
    assert block["bfs harmonic_mean_TEPS"] == pytest.approx(
        5 / sum(1 / rate for rate in teps), rel=1e-5
    )
    assert block["bfs max_TEPS"] == pytest.approx(max(teps), rel=1e-5)
    assert block["peak_memory_bytes"] > 1e7


@pytest.mark.parametrize("slots", SLOTS)
def test_shortest_paths_are_valid_for_any_slots(client: Client, slots: int) -> None:
    report = graph500.run(8, roots=3, sssp=True, virtual_slots=slots, client=client)
    assert report.valid
    assert [search.key for search in report.sssp] == KEYS[:3]
    assert [search.edges for search in report.sssp] == [search.edges for search in report.bfs]
    block = parse(str(report))
    for what in ("time", "TEPS", "validate"):
        assert {*statistics("bfs", what), *statistics("sssp", what)} <= set(block)


def traversed(key: int) -> int:
    graph = kronecker_graph(EdgeList(8), "keep")
    level, _ = oracles.bfs(graph, [int(graph.ids.to_list().index(key))])
    inside = np.array(level) >= 0
    return int(np.count_nonzero(inside[graph.source] & (graph.source != graph.target)))


def spoil(g: dg.Graph, key: Any) -> Any:
    """Search, but say that every vertex hangs on the key."""

    async def work() -> Any:
        result: Any = await bfs(g, key)
        below = result["predecessor"].where(result["predecessor"].isna(), key)
        return result.assign(predecessor=below)

    return work()


@pytest.fixture
def main(client: Client, monkeypatch: pytest.MonkeyPatch) -> Callable[[str], int]:
    """Return the command, on the cluster of these tests."""
    monkeypatch.setattr("dgraph.cli.cluster_client", lambda *options: nullcontext(client))
    return lambda line: _main(["graph500", *line.split()])


def test_an_invalid_run_prints_no_results(
    main: Callable[[str], int],
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setitem(KERNELS, "bfs", spoil)
    assert main("--scale 6 --roots 3") == 1
    printed = capsys.readouterr()
    assert printed.out == "No results printed for invalid run.\n"
    assert "parent edges" in printed.err
    assert main("--scale 6 --roots 3 --format json") == 1
    found = json.loads(capsys.readouterr().out)
    assert (found["valid"], found["kernels"], len(found["searches"])) == (False, {}, 1)
    assert main("--scale 6 --roots 3 --no-validate") == 0
    assert parse(capsys.readouterr().out)["bfs max_validate"] == -1


def test_formats(main: Callable[[str], int], capsys: pytest.CaptureFixture[str]) -> None:
    assert main("--scale 6 --edgefactor 4 --roots 2 --seed 2") == 0
    block = parse(capsys.readouterr().out)
    assert (block["SCALE"], block["edgefactor"], block["NBFS"]) == (6, 4, 2)
    assert main("--scale 6 --roots 2 --format table") == 0
    assert "harmonic_mean_TEPS" in capsys.readouterr().out
    assert main("--scale 6 --roots 2 --format json --sssp") == 0
    assert json.loads(capsys.readouterr().out)["kernels"]["sssp"]["TEPS"]["mean"] > 0
    assert main("--roots 2") == main("--scale 6 --roots 0") == 2


def test_the_command_starts_a_cluster() -> None:
    line = [sys.executable, "-m", "dgraph", "graph500", "--scale", "6", "--threads", "3"]
    root = str(Path(__file__).parents[1])
    done = subprocess.run(
        line, capture_output=True, text=True, env={**os.environ, "PYTHONPATH": root}, check=True
    )
    assert parse(done.stdout)["num_mpi_processes"] == 3
    assert done.stderr == ""


def test_runs_on_worker_processes() -> None:
    with cluster(2) as workers:
        report = graph500.run(7, roots=2, client=workers)
    assert report.valid
    assert report.slots == 2


def test_an_async_client_gets_an_awaitable() -> None:
    async def work(client: Client) -> Report:
        report: Report = await graph500.run(6, roots=2, client=client)
        return report

    assert asynchronously(work).valid


def test_refuses_a_run_of_nothing(client: Client) -> None:
    with pytest.raises(OptionError, match="roots must be"):
        graph500.run(6, roots=0, client=client)
    with pytest.raises(OptionError, match="scale must be"):
        graph500.run(-1, client=client)
    with pytest.raises(OptionError, match="between different vertices"):
        graph500.run(0, client=client)


# The figures


@pytest.mark.parametrize("n", range(1, 14))
def test_statistics_are_those_of_the_reference(n: int) -> None:
    sample = np.random.default_rng(n).permutation(n) ** 2.0
    x = sorted(sample)
    found = Statistics.of(sample.tolist())
    assert found.firstquartile == (x[(n - 1) // 4] + x[n // 4]) / 2
    assert found.median == (x[(n - 1) // 2] + x[n // 2]) / 2
    assert found.thirdquartile == (x[n - 1 - (n - 1) // 4] + x[n - 1 - n // 4]) / 2
    assert (found.min, found.max, found.mean) == (x[0], x[-1], sum(x) / n)
    assert (
        math.isnan(found.stddev) if n == 1 else found.stddev == pytest.approx(np.std(x, ddof=1))
    )


def report_of(searches: Sequence[Search], sssp: Sequence[Search] = ()) -> Report:
    return Report(20, 16, 1, 2, 10, 20, 0.5, 2.0, tuple(searches), tuple(sssp), 1 << 30)


def test_harmonic_mean_and_its_deviation() -> None:
    rates = Statistics.of_rates([Search(0, 2.0, 4, 1), Search(1, 3.0, 12, 1)])
    assert rates.mean == pytest.approx(2 / (1 / 2 + 1 / 4))
    pace = np.array([1 / 2, 1 / 4])
    assert rates.stddev == pytest.approx(pace.std(ddof=1) / pace.mean() ** 2)
    assert (rates.min, rates.max) == (2, 4)


def test_the_block_is_laid_out_as_the_reference_does() -> None:
    searches = [Search(0, 0.5, 1 << 24, 7), Search(1, 0.25, 1 << 24, 7)]
    lines = str(report_of(searches, searches)).splitlines()
    assert lines[0] == "SCALE:                          20"
    assert "min_nedge:                      16777216" in lines
    assert "bfs  harmonic_mean_TEPS:     !  4.47392e+07" in lines
    assert "sssp harmonic_mean_TEPS:     !  4.47392e+07" in lines
    assert "sssp median_time:               0.375" in lines
    names = [line.split(":")[0] for line in lines]
    assert names.index("bfs  stddev_time") < names.index("sssp min_time")
    assert names.index("sssp stddev_time") < names.index("min_nedge")
    assert names.index("stddev_nedge") < names.index("bfs  min_TEPS")
    assert names.index("sssp harmonic_stddev_TEPS") < names.index("bfs  min_validate")


def test_a_report_shows_tables() -> None:
    good = Validation("bfs", 0)
    report = report_of([Search(0, 0.5, 1 << 24, 7, good, 0.1)])
    assert "<table" in report._repr_html_()
    assert "1.00 GiB" in report.table()
    assert report.to_frame()["TEPS"].tolist() == [1 << 25]
    assert json.loads(json.dumps(report.to_dict()))["kernels"]["bfs"]["TEPS"]["mean"] == 1 << 25
    bad = Validation("bfs", 0, {"tree": "1 vertex"})
    failed = report_of([Search(0, 0.5, 1 << 24, 7, bad, 0.1)])
    assert str(failed) == failed.table() == "No results printed for invalid run."
    assert "tree" in failed._repr_html_()
