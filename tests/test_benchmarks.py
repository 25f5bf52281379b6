"""The benchmarks run, tiny: every case, every rival that is installed, both ways out."""

from __future__ import annotations

import doctest
import importlib
import importlib.util
import json
import os
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner

from benchmarks import graphs
from benchmarks.__main__ import main
from benchmarks.bench import SLOTS
from benchmarks.cases import CASES
from benchmarks.contest import Contest
from benchmarks.edges import read, read_weights, symmetric, write
from benchmarks.machine import measure, measure_triad, say_least
from benchmarks.rivals.gap import TRIALS, Gap
from benchmarks.rivals.remote import LIBRARIES, Remote
from benchmarks.row import Row, report

ROOT = Path(__file__).parents[1]
MODULES = [
    ".".join(path.relative_to(ROOT).with_suffix("").parts)
    for path in sorted((ROOT / "benchmarks").glob("**/*.py"))
]

#: The rows that issue after issue asked for, as far as they are built: case and what it says.
PROMISED = [
    ("bfs", "kernel", 0.40),
    ("bfs", "columns in users' ids", 1.0),
    ("bfs", "whole call", 1.0),
    ("cc", "kernel", 0.50),
    ("pagerank", "per round", 1.0),
    ("betweenness", "one source", 0.60),
    ("cdlp", "10 rounds", 0.10),
    ("lcc", "local_clustering", 1.0),
    ("lcc", "triangles", 1.0),
    ("sssp", "kernel", 0.60),
    ("processes", "bfs", 1.3),
    ("processes", "cc", 1.3),
    ("processes", "pagerank round", 1.3),
    ("grid", "kernel", 5.0),
    ("latency", "dg.bfs(karate, 1), embedded", 1.0),
    ("latency", "dg.bfs(karate, 1), 2 processes", 1.0),
    ("latency", ".compute() of it, embedded", 1.0),
    ("slots", "pagerank round", 1 / 1.6),
    ("slots", "bfs", 1 / 1.6),
    ("build", "read and build", 1.5),
    ("strings", "read and build", 6.0),
    ("graph500", "bfs", 1 / 20),
    ("graph500", "sssp", 1 / 5),
    ("memory", "peak", 1.0),
    ("placement", "cut against hash", 0.1),
    ("placement", "seconds beside a build", 1.5),
    ("placement", "fullest slot", 1.1),
    ("rhizomes", "not combined", 1 / 8),
    ("rhizomes", "the hub's edges on a slot", 1 / 4),
    ("rhizomes", "bytes between domains", 0.8),
    ("rhizomes", "fullest slot", 1.1),
]

#: A stand-in for GAPBS's programs: checks the graph it is given, says what they say.
GAPBS = """#!{python}
import struct, sys
option = dict(zip(sys.argv[1::2], sys.argv[2::2]))
graph = open(option["-f"], "rb").read()
directed, arcs, vertices = struct.unpack("<?qq", graph[:17])
offsets = struct.unpack(f"<{{vertices + 1}}q", graph[17 : 17 + 8 * (vertices + 1)])
assert not directed and offsets[0] == 0 and offsets[-1] == arcs
weighted = sys.argv[0].endswith("sssp")
assert option["-f"].endswith(".wsg" if weighted else ".sg")
assert len(graph) == 17 + 8 * (vertices + 1) + (8 if weighted else 4) * arcs
if weighted:
    pairs = struct.unpack(f"<{{2 * arcs}}i", graph[-8 * arcs :])
    assert max(pairs[::2]) < vertices and 1 <= min(pairs[1::2]) <= max(pairs[1::2]) <= 255
    assert int(option["-d"]) > 0
assert not sys.argv[0].endswith("bc") or (option["-i"] == "1" and 0 <= int(option["-r"]))
for trial in range(int(option["-n"])):
    if "-l" in sys.argv:
        print("    0                0.93634\\n    1                0.12203")
    print("Trial Time:          0.00321")
print("Average Time:        0.00321")
"""


@pytest.fixture(scope="module")
def gapbs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("gapbs")
    for program in ("bfs", "cc", "pr", "bc", "tc", "sssp"):
        (folder / program).write_text(GAPBS.format(python=sys.executable))
        (folder / program).chmod(0o755)
    return folder


@pytest.fixture(scope="module")
def edges(tmp_path_factory: pytest.TempPathFactory) -> graphs.EdgeFiles:
    return graphs.karate(tmp_path_factory.mktemp("karate"))


@pytest.fixture(scope="module")
def weighted(
    edges: graphs.EdgeFiles, tmp_path_factory: pytest.TempPathFactory
) -> graphs.EdgeFiles:
    return graphs.weighted(tmp_path_factory.mktemp("weighted"), edges)


@pytest.fixture(scope="module")
def outcome(gapbs: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    path = tmp_path_factory.mktemp("outcome") / "rows.json"
    arguments = ["--scale", "8", "--repeat", "1", "--sources", "2", "--json", str(path)]
    result = CliRunner().invoke(main, arguments, env={"GAPBS": str(gapbs)})
    assert result.exit_code == 0, result.output
    found: dict[str, Any] = json.loads(path.read_text())
    return found | {"output": result.output}


@pytest.mark.slow
@pytest.mark.limit(300)
def test_every_case_gives_rows(outcome: dict[str, Any]) -> None:
    assert list(dict.fromkeys(row["case"] for row in outcome["rows"])) == list(CASES)


@pytest.mark.slow
@pytest.mark.limit(300)
@pytest.mark.parametrize(("case", "what", "target"), PROMISED)
def test_promised_rows_are_judged(
    outcome: dict[str, Any], case: str, what: str, target: float
) -> None:
    rows = [row for row in outcome["rows"] if row["case"] == case and what in row["what"]]
    assert rows
    assert rows[0]["target"] == pytest.approx(target)
    assert rows[0]["ours"] > 0
    if rows[0]["ratio"] is None:
        libraries = [LIBRARIES[name] for name in rows[0]["against"].split(" or ")]
        assert not any(map(importlib.util.find_spec, libraries))
    else:
        assert rows[0]["met"] is (rows[0]["ratio"] <= target)


@pytest.mark.slow
@pytest.mark.limit(300)
def test_contenders_agree(outcome: dict[str, Any]) -> None:
    notes = [note for row in outcome["rows"] for note in row["notes"]]
    assert not [note for note in notes if "disagrees" in note]


@pytest.mark.slow
@pytest.mark.limit(300)
def test_rivals_that_are_not_there_are_named(outcome: dict[str, Any]) -> None:
    for rival, library in LIBRARIES.items():
        there = importlib.util.find_spec(library) is not None
        assert (f"{rival} is skipped" in outcome["output"]) is not there


@pytest.mark.slow
def test_without_gapbs_a_row_is_not_judged() -> None:
    skip = ",".join(LIBRARIES)
    arguments = ["--scale", "6", "--repeat", "1", "--only", "cc", "--skip", skip, "--isolated"]
    result = CliRunner().invoke(main, arguments, env={"GAPBS": None})
    assert result.exit_code == 0, result.output
    assert "GAPBS is skipped: the variable GAPBS does not name" in result.output
    assert "not judged, it is missing" in result.output


def test_unknown_case_is_refused() -> None:
    result = CliRunner().invoke(main, ["--only", "bfs,dfs"])
    assert result.exit_code == 2
    assert "'dfs' is none of bfs, cc," in result.output


@pytest.mark.parametrize("name", sorted(LIBRARIES))
def test_rival_builds_and_searches(name: str, edges: graphs.EdgeFiles) -> None:
    pytest.importorskip(LIBRARIES[name])
    with Remote(name, SLOTS) as rival:
        assert rival.build(edges.parquet, edges.vertices).keys() == {"reading", "seconds"}
        assert rival.run("bfs", source=1).answer == 34
        with pytest.raises(RuntimeError, match="asked to kernel"):
            rival.run("dfs", source=1)  # it lives on, and answers again
        assert rival.run("bfs", source=2).answer == 34


def test_scipy_builds_from_strings(edges: graphs.EdgeFiles) -> None:
    with Remote("scipy", 1) as rival:
        rival.build(edges.strings, edges.vertices)
        assert rival.run("components").answer == 1


def test_serialized_graph_is_what_gapbs_reads(edges: graphs.EdgeFiles, gapbs: Path) -> None:
    trials = Gap(str(gapbs)).run("pr", edges.serialized, 1, "-l")
    assert trials.seconds == (0.00321,) * TRIALS
    assert trials.rounds == 2


@pytest.mark.skipif("GAPBS" not in os.environ, reason="GAPBS names no folder of its programs")
@pytest.mark.parametrize("program", ["bfs", "cc", "pr", "bc", "sssp"])
def test_gapbs_itself_verifies_on_our_file(
    program: str, edges: graphs.EdgeFiles, weighted: graphs.EdgeFiles
) -> None:
    files = weighted if program == "sssp" else edges
    assert Gap().run(program, files.serialized, 1, "-v").seconds


def test_weights_are_the_same_in_both_directions(
    edges: graphs.EdgeFiles, weighted: graphs.EdgeFiles
) -> None:
    assert read_weights(edges.parquet) is None
    weights = read_weights(weighted.parquet)
    assert weights is not None
    assert weights.min() >= 1
    assert weights.max() <= 255
    with Path(weighted.serialized).open("rb") as file:
        arcs, vertices = np.fromfile(file, np.int64, 2, offset=1)
        offsets = np.fromfile(file, np.int64, vertices + 1)
        targets, found = np.fromfile(file, np.int32, 2 * arcs).reshape(-1, 2).T.tolist()
    sources = np.repeat(np.arange(vertices), np.diff(offsets)).tolist()
    ends = (end.tolist() for end in read(weighted.parquet))
    drawn = dict(zip(zip(*ends, strict=True), weights.tolist(), strict=True))
    assert dict(zip(zip(sources, targets, strict=True), found, strict=True)) == {
        way: weight for (u, v), weight in drawn.items() for way in ((u, v), (v, u))
    }


def test_row_takes_the_best_of_several_rivals() -> None:
    rivals = {"GAPBS": 1.0, "networkit": 2.0, "igraph": 3.0}
    row = Row("lcc", "triangles", 1.0, rivals, against="igraph or networkit", target=1.0)
    assert row.base == 2.0


def test_grid_has_as_many_levels_as_said(tmp_path: Path) -> None:
    files = graphs.grid(tmp_path, 5)
    assert (files.vertices, files.edges) == (25, 40)
    rows = symmetric(*read(files.parquet), files.vertices)
    steps = np.zeros(25)
    steps[0] = 1
    for _ in range(7):
        steps = steps + rows @ steps
    assert steps[24] == 0
    assert (steps + rows @ steps)[24] > 0


def test_sources_have_an_edge(tmp_path: Path) -> None:
    import pyarrow as pa

    write(tmp_path / "edges", pa.array([3, 3]), pa.array([5, 9]))
    files = graphs.EdgeFiles("star", tmp_path, 12, 2, compact=False)
    assert sorted(files.sources(16)) == [3, 5, 9]
    assert len(files.declared["vertices"]) == 12


def test_limits_of_the_machine(edges: graphs.EdgeFiles) -> None:
    limits = measure(edges, 2, size=1 << 12, repeat=1)
    assert min(limits.triad, limits.random, limits.gather) > 0
    assert measure_triad(edges, 2, size=1 << 12, repeat=1) > 0


def test_what_is_left_to_the_limit_is_said(edges: graphs.EdgeFiles) -> None:
    row = Row("bfs", "kernel", 4e-6 * edges.vertices, {})
    say_least(12, "three numbers", edges, row, triad=6e6)
    assert "12 bytes per vertex (three numbers)" in row.notes[0]
    assert row.notes[0].endswith("50% of the figure")


def test_contest_notes_a_wrong_answer() -> None:
    contest = Contest([1, 2])
    contest.enter("dgraph", lambda item: (0.1, 5.0))
    contest.enter("rival", lambda item: (0.2, 5.0 + item))
    row = contest.row("bfs", "kernel", against="rival", target=1.0)
    assert row.met
    assert "rival disagrees: item 1: 6, dgraph 5" in report(row)


def test_row_without_its_rival_is_not_judged() -> None:
    row = Row("bfs", "kernel", 1.0, {"scipy": 2.0}, against="GAPBS", target=0.4)
    assert row.met is None
    assert row.record()["ratio"] is None


@pytest.mark.parametrize("module", MODULES)
def test_examples_in_docstrings(module: str) -> None:
    library = next((name for name in LIBRARIES if module.endswith(f".{name}_rival")), "scipy")
    pytest.importorskip(LIBRARIES[library])
    assert doctest.testmod(importlib.import_module(module)).failed == 0
