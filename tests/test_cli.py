"""The command line, as a person uses it: real files, real processes, exit codes."""

from __future__ import annotations

import os
import re
import signal
import socket
import subprocess
import sys
import time
import warnings
from collections.abc import Iterator
from pathlib import Path

import networkx as nx
import pandas as pd
import pytest
from click.testing import CliRunner

import dgraph as dg
from dgraph.cli import cli, main
from dgraph.cli_messages import warn_in_lines

pytestmark = pytest.mark.limit(180)


def dgraph(
    *arguments: str, cwd: Path | None = None, **environment: str
) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "dgraph", *arguments],
        capture_output=True,
        text=True,
        timeout=150,
        cwd=cwd,
        env={**os.environ, "PYTHONPATH": str(Path(__file__).parents[1]), **environment},
        check=False,
    )


def test_prints_a_summary_and_the_first_rows(karate: Path) -> None:
    done = dgraph("run", "bfs", str(karate), "--source", "0")
    assert done.returncode == 0, done.stderr
    assert "34 vertices, 78 edges" in done.stdout
    assert re.search(r"vertex\s+distance\s+predecessor", done.stdout)
    assert done.stderr == ""


def test_a_parquet_file_with_damaged_data_is_named_in_one_line(tmp_path: Path) -> None:
    frame = pd.DataFrame({"source": range(5000), "target": range(1, 5001)})
    for name in "ab":
        frame.to_parquet(tmp_path / f"{name}.parquet")
    data = bytearray((tmp_path / "b.parquet").read_bytes())
    data[100:3000] = b"\xff" * 2900  # far from the footer, which is at the end
    (tmp_path / "b.parquet").write_bytes(data)
    done = dgraph("run", "cc", str(tmp_path / "*.parquet"), "--workers", "2")
    assert (done.returncode, done.stdout) == (2, "")
    (line,) = done.stderr.splitlines()
    assert re.match(r"dgraph: \S+b\.parquet is no valid parquet file: write it again", line)
    (tmp_path / "b.parquet").unlink()
    done = dgraph("run", "cc", str(tmp_path / "*.parquet"))
    assert done.returncode == 0, done.stderr
    assert "5001 vertices" in done.stdout.replace(",", "")


def test_help_lists_what_is_allowed() -> None:
    shown = CliRunner().invoke(cli, ["run", "bfs", "--help"]).output
    for allowed in ("min|max|sum|first|keep|error", "keep|drop|error", "error|drop"):
        assert allowed in "".join(shown.split())
    for word in ("degree", "hash", "chunk", "parquet", "mtx"):
        assert word in shown


@pytest.mark.parametrize(
    ("option", "allowed"),
    [("duplicates", "'sum'"), ("self-loops", "'drop'"), ("nulls", "'drop'"),
     ("placement", "'hash'"), ("input-format", "'csv'")],
)  # fmt: skip
def test_a_wrong_choice_is_told_what_is_allowed(
    karate: Path, option: str, allowed: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["run", "cc", str(karate), f"--{option}", "x"])
    told = capsys.readouterr().err
    assert ended.value.code == 2
    assert told.count("\n") == 1
    assert f"'--{option}'" in told
    assert allowed in told


def test_cores_triangles_and_strong_components(karate: Path, tmp_path: Path) -> None:
    graph = nx.karate_club_graph()
    wanted = {"core": nx.core_number(graph), "triangles": nx.triangles(graph)}
    for name, column in (("core", "core"), ("triangles", "triangles")):
        out = tmp_path / f"{name}.csv"
        assert (
            CliRunner().invoke(cli, ["run", name, str(karate), "--out", str(out)]).exit_code
            == 0
        )
        found = pd.read_csv(out).set_index("vertex")[column].to_dict()
        assert found == wanted[name]
    out = tmp_path / "scc.csv"
    command = ["run", "scc", str(karate), "--directed", "--out", str(out)]
    assert CliRunner().invoke(cli, command).exit_code == 0
    assert pd.read_csv(out)["component"].nunique() == 34  # every edge leads to a larger vertex


def test_warnings_are_one_line_each(tmp_path: Path) -> None:
    (tmp_path / "e.el").write_text("1 2\n2 3\n")
    (tmp_path / "config.yaml").write_text("dgraph: {rooting: direct}")
    options = ["--max-iter", "1", "--tol", "1e-20"]
    done = dgraph("run", "pagerank", "e.el", *options, cwd=tmp_path, DASK_CONFIG=str(tmp_path))
    assert done.returncode == 0, done.stderr
    key, rounds = done.stderr.splitlines()
    assert re.fullmatch("dgraph: dgraph.rooting is no key .*", key)
    assert re.fullmatch("dgraph: pagerank did .* in 1 round: .*--max-iter.*", rounds)


def test_notes_go_to_terminals_only() -> None:
    program = (
        "from dgraph.cli_messages import notes_to_terminals\n"
        "from dgraph.events import Note, notify\n"
        "with notes_to_terminals():\n"
        "    notify(Note('compiling', loud=True))\n"
        "notify(Note('after it', loud=True))\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program],
        capture_output=True,
        text=True,
        cwd=Path(__file__).parents[1],
        timeout=100,
        check=True,
    )
    assert (done.stdout, done.stderr) == ("", "after it\n")


def test_warnings_of_others_stay_as_they_are(capsys: pytest.CaptureFixture[str]) -> None:
    with warnings.catch_warnings(record=True) as caught, warn_in_lines():
        warnings.simplefilter("always")
        warnings.warn("one\nof two", dg.ConvergenceWarning, stacklevel=1)
        warnings.warn("theirs", stacklevel=1)
    assert [str(warning.message) for warning in caught] == ["theirs"]
    assert capsys.readouterr().err == "dgraph: one of two\n"


def test_writes_csv_with_empty_missing_values(karate: Path, tmp_path: Path) -> None:
    out = tmp_path / "levels.csv"
    done = dgraph("run", "bfs", str(karate), "--source", "0", "--out", str(out))
    assert done.returncode == 0, done.stderr
    assert (done.stdout, done.stderr) == ("", "")
    frame = pd.read_csv(out, dtype=str, keep_default_na=False)
    assert list(frame.columns) == ["vertex", "distance", "predecessor"]
    source = {"vertex": "0", "distance": "0", "predecessor": ""}
    assert source in frame.to_dict("records")
    want = nx.single_source_shortest_path_length(nx.karate_club_graph(), 0)
    assert (
        frame[["vertex", "distance"]].astype(int).set_index("vertex")["distance"].to_dict()
        == want
    )


def test_writes_parquet_with_worker_processes(karate: Path, tmp_path: Path) -> None:
    out = tmp_path / "ranks.parquet"
    done = dgraph("run", "pagerank", str(karate), "--out", str(out), "--workers", "2")
    assert done.returncode == 0, done.stderr
    ranks = pd.read_parquet(out).set_index("vertex")["rank"]
    want = nx.pagerank(nx.karate_club_graph(), weight=None)
    assert ranks.sum() == pytest.approx(1)
    assert ranks.to_dict() == pytest.approx(want, abs=1e-5)
    assert [path.name for path in tmp_path.iterdir()] == ["ranks.parquet"]


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["run", "bfs", "{karate}", "--source", "99"], "99"),
        (["run", "bfs", "{karate}", "--source", "Ann"], "integer"),
        (["run", "bfs", "{karate}"], "--source"),
        (["run", "cc", "nowhere.csv"], "nowhere.csv"),
        (["run", "cc", "{karate}", "--out", "labels.xlsx"], ".parquet or .csv"),
        (["run", "cc", "{karate}", "--out", "no/such/labels.csv"], "no/such"),
        (["run", "cc", "{karate}", "--duplicates", "average"], "average"),
        (["run", "pagerank", "{karate}", "--alpha", "2"], "alpha"),
        (["run", "cc", "{karate}", "--source-column", "from"], "from"),
        (
            ["run", "cc", "{karate}", "--scheduler", "tcp://x:1", "--workers", "2"],
            "drop",
        ),
        (["run", "cc", "{karate}", "--scheduler", "nonsense://x"], "tcp://host:8786"),
        (["run", "louvain", "{karate}"], "Choose from bc, bfs, cc,"),
        (["run", "pagerank", "{karate}", "--apha", "0.9"], "Did you mean '--alpha'?"),
        (["run", "pagerank", "{karate}", "--zz", "1"], "'dgraph run pagerank --help' lists"),
        (["run", "cc", "{karate}", "--placement", "degre"], "Did you mean 'degree'?"),
        (["generate", "torus", "--scale", "4", "--out", "x.csv"], "torus"),
    ],
)
def test_bad_input_is_one_line_and_exit_code_2(
    arguments: list[str], says: str, karate: Path, tmp_path: Path
) -> None:
    done = dgraph(*(text.format(karate=karate) for text in arguments), cwd=tmp_path)
    assert done.returncode == 2, done.stderr
    assert done.stdout == ""
    assert len(done.stderr.splitlines()) == 1, done.stderr
    assert says in done.stderr
    assert list(tmp_path.iterdir()) == []


def test_of_ids_that_are_floats_one_is_warned_unless_they_are_said_to_be_names(
    tmp_path: Path,
) -> None:
    (tmp_path / "m.csv").write_text("source,target\n1,2.0\n2,3.0\n")
    for options, told in (
        ([], r"dgraph: column 'target' holds floats, .*--dtype str.*\n"),
        (["--dtype", "str"], ""),
    ):
        done = dgraph("run", "cc", "m.csv", *options, cwd=tmp_path)
        assert done.returncode == 0, done.stderr
        assert re.fullmatch(told, done.stderr)
        assert "4 vertices, 2 edges" in done.stdout


@pytest.mark.parametrize(
    ("name", "text"),
    [("z.csv", ""), ("z.el", "# nothing\n"), ("z.csv", "source,target\n"),
     ("z.mtx", "%%MatrixMarket matrix coordinate real general\n2 2 0\n")],
)  # fmt: skip
def test_a_file_without_edges_is_told_of(tmp_path: Path, name: str, text: str) -> None:
    (tmp_path / name).write_text(text)
    done = dgraph("run", "cc", name, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert re.fullmatch(rf"dgraph: {name} holds no edges, .*\n", done.stderr)


def test_shortest_paths_without_weights_are_said_to_be_so(tmp_path: Path) -> None:
    (tmp_path / "w.csv").write_text("source,target,weight\n1,2,3\n2,3,4\n")
    for options, told, last in (
        ([], "2 edges of weight 1, as no --weight is named; sssp", 2.0),
        (["--weight", "weight"], "2 edges; sssp", 7.0),
    ):
        done = dgraph("run", "sssp", "w.csv", "--source", "1", *options, cwd=tmp_path)
        assert done.returncode == 0, done.stderr
        assert told in done.stdout
        rows = [line.split() for line in done.stdout.splitlines()]
        assert ["3", str(last), "2"] in rows


def test_a_scheduler_that_is_not_there_is_told_in_one_line(
    karate: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("dgraph.cli_cluster.ANSWER", 0.5)
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))  # and does not listen
        address = f"tcp://127.0.0.1:{probe.getsockname()[1]}"
        with pytest.raises(SystemExit) as ended:
            main(["run", "cc", str(karate), "--scheduler", address])
    assert ended.value.code == 2
    told = capsys.readouterr().err
    assert told.count("\n") == 1
    assert f"no scheduler answered at {address}" in told
    assert "dask scheduler" in told


def test_a_broken_parquet_file_is_one_line(tmp_path: Path) -> None:
    (tmp_path / "edges.parquet").write_text("no parquet")
    done = dgraph("run", "cc", "edges.parquet", cwd=tmp_path)
    assert done.returncode == 2
    assert len(done.stderr.splitlines()) == 1, done.stderr
    assert "edges.parquet is no valid parquet file: write" in done.stderr
    assert "--input-format" in done.stderr


@pytest.mark.parametrize(
    ("algorithm", "column"),
    [
        ("sssp", "distance"),
        ("cdlp", "label"),
        ("lcc", "clustering"),
        ("bc", "betweenness"),
    ],
)
def test_runs_every_algorithm(algorithm: str, column: str, karate: Path) -> None:
    source = ["--source", "3"] if algorithm == "sssp" else []
    done = dgraph("run", algorithm, str(karate), *source)
    assert done.returncode == 0, done.stderr
    assert column in done.stdout


def test_generate_gives_the_same_graph_again(tmp_path: Path) -> None:
    for name in ("a.parquet", "b.csv"):
        out = str(tmp_path / name)
        done = dgraph("generate", "kronecker", "--scale", "6", "--seed", "3", "--out", out)
        assert done.returncode == 0, done.stderr
    first = pd.read_parquet(tmp_path / "a.parquet")
    assert len(first) == 16 * 64
    pd.testing.assert_frame_equal(first, pd.read_csv(tmp_path / "b.csv"))


@pytest.fixture
def scheduler() -> Iterator[str]:
    """Start a scheduler and two workers as a person does."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        address = f"tcp://127.0.0.1:{probe.getsockname()[1]}"
    commands = [
        ["scheduler", "--host", address, "--no-dashboard"],
        *(["worker", address, "--nthreads", "2", "--no-nanny", "--no-dashboard"] for _ in "ab"),
    ]
    env = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[1])}
    processes = []
    for command in commands:
        processes.append(
            subprocess.Popen(
                [sys.executable, "-m", "dask", *command],
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                env=env,
            )
        )
        time.sleep(0.5)
    try:
        yield address
    finally:
        # A worker that is told to stop in the moment in which its scheduler goes can hang in
        # Dask's own retries, so the scheduler goes last.
        for process in reversed(processes):
            process.send_signal(signal.SIGTERM)
            process.wait(timeout=30)


def test_joins_a_running_cluster(scheduler: str, karate: Path, tmp_path: Path) -> None:
    out = tmp_path / "labels.csv"
    done = dgraph("run", "cc", str(karate), "--scheduler", scheduler, "--out", str(out))
    assert done.returncode == 0, done.stderr
    assert pd.read_csv(out).component.tolist() == [0] * 34
    again = dgraph("run", "bfs", str(karate), "--source", "33", "--scheduler", scheduler)
    assert again.returncode == 0, again.stderr


def test_a_folder_that_is_not_ones_own_is_told_before_anything_is_done(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(os, "access", lambda path, mode: Path(path) != tmp_path)
    edges, out = tmp_path / "edges.csv", tmp_path / "out.csv"
    edges.write_text("1,2\n")
    with pytest.raises(SystemExit) as ended:
        main(["run", "cc", str(edges), "--out", str(out)])
    assert ended.value.code == 2
    said = capsys.readouterr().err
    assert said.startswith("dgraph: the folder of the output")
    assert "is not yours to write to" in said
    assert said.count("\n") == 1
