"""Files of LDBC Graphalytics in, its output format out, by the command; adjacency lists."""

from __future__ import annotations

import gzip
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path

import networkx as nx
import numpy as np
import pandas as pd
import pytest
from distributed import Client

import dgraph as dg
from dgraph.cli import _main
from dgraph.edges.ldbc import read_properties
from dgraph.edges.sources import open_edges
from dgraph.errors import EdgeValueError, EmptyWarning, IdWarning, OptionError
from tests import ldbc

#: The suite's name of each kernel, and ours.
KERNELS = {
    "bfs": "bfs",
    "cdlp": "cdlp",
    "lcc": "lcc",
    "pr": "pagerank",
    "sssp": "sssp",
    "wcc": "cc",
}
KINDS = [("dir", "directed"), ("undir", "undirected")]

PROPERTIES = """\
# Filenames of graph on local filesystem
graph.{name}.vertex-file = {name}.v
graph.{name}.edge-file = {name}.e
graph.{name}.directed = {directed}
graph.{name}.edge-properties.names = weight
graph.{name}.edge-properties.types = real
graph.{name}.bfs.source-vertex = {source}
graph.{name}.cdlp.max-iterations = 2
graph.{name}.pr.damping-factor = 0.85
graph.{name}.pr.num-iterations = 2
graph.{name}.sssp.weight-property = weight
graph.{name}.sssp.source-vertex = {source}
"""


@pytest.fixture(autouse=True)
def same_cluster(client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the command run on the cluster of these tests."""

    @contextmanager
    def current(*options: object) -> Iterator[Client]:
        with client.as_current():
            yield client

    monkeypatch.setattr("dgraph.cli.cluster_client", current)


def run(kernel: str, *arguments: object) -> None:
    words = [KERNELS[kernel], *map(str, arguments), "--format", "ldbc"]
    assert _main(["run", *words]) == 0


def matches(kernel: str, expected: Path, actual: Path) -> bool:
    match = {"wcc": ldbc.equivalence, "bfs": ldbc.exact, "cdlp": ldbc.exact}
    lines = actual.read_text().splitlines()
    assert all(line.count(" ") == 1 for line in lines)
    return match.get(kernel, ldbc.epsilon)(ldbc.values(expected), ldbc.values(actual))


@pytest.fixture
def folder(shared: Path) -> Path:
    return shared / "data" / "ldbc"


@pytest.mark.parametrize("kind", ["directed", "undirected"])
@pytest.mark.parametrize("kernel", KERNELS)
def test_the_examples_as_their_properties_say(
    kernel: str, kind: str, folder: Path, tmp_path: Path
) -> None:
    name = f"example-{kind}"
    for ending in "ve":
        shutil.copy(folder / "example" / f"{name}.{ending}", tmp_path)
    source = ldbc.parameters(folder)["example"][kind]["bfs"]["source"]
    words = {"name": name, "directed": str(kind == "directed").lower(), "source": source}
    (tmp_path / f"{name}.properties").write_text(PROPERTIES.format(**words))
    out = tmp_path / "out"
    run(kernel, tmp_path / name, "--out", out)
    assert matches(kernel, folder / "example" / f"{name}-{kernel.upper()}", out)


@pytest.mark.parametrize(("letters", "kind"), KINDS)
@pytest.mark.parametrize("kernel", KERNELS)
def test_the_validation_graphs(
    kernel: str, letters: str, kind: str, folder: Path, tmp_path: Path
) -> None:
    facts = ldbc.parameters(folder)["validation"][kernel][kind]
    options: list[object] = [f"--{kind}", "--out", tmp_path / "out"]
    if "source" in facts:
        options += ["--source", facts["source"]]
    if kernel == "sssp":
        options += ["--weight", "true"]
    else:
        options += ["--input-format", "adjlist"]
    if "iterations" in facts:
        options += ["--max-iter", facts["iterations"]]
    if kernel == "pr":
        options += ["--tol", 0]
    with pytest.warns(dg.ConvergenceWarning) if kernel == "pr" else nullcontext():
        run(kernel, folder / kernel / f"{letters}-input", *options)
    assert matches(kernel, folder / kernel / f"{letters}-output", tmp_path / "out")


def test_standard_output_holds_the_lines_and_nothing_else(tmp_path: Path) -> None:
    (tmp_path / "kgs.v").write_text("3\n1\n7\n5\n")
    (tmp_path / "kgs.e").write_text("1 3\n")
    done = subprocess.run(
        [sys.executable, "-m", "dgraph", "run", "bfs", str(tmp_path / "kgs"), "--source", "3",
         "--format", "ldbc", "--threads", "1"],
        capture_output=True, text=True, cwd=Path(__file__).parents[1], timeout=100, check=True,
    )  # fmt: skip
    assert sorted(done.stdout.splitlines()) == [
        "1 1",
        "3 0",
        f"5 {2**63 - 1}",
        f"7 {2**63 - 1}",
    ]
    assert "4 vertices, 1 edge;" in done.stderr


def test_infinite_distances_and_other_options(
    tmp_path: Path, capsysbinary: pytest.CaptureFixture[bytes]
) -> None:
    (tmp_path / "kgs.v").write_text("1\n2\n3\n")
    (tmp_path / "kgs.e").write_text("1 2 0.25\n")
    path = str(tmp_path / "kgs.e")
    line = ["run", "sssp", path, "--source", "1", "--format"]
    assert _main([*line, "ldbc", "--weight", "true"]) == 0
    assert sorted(capsysbinary.readouterr().out.split(b"\n")) == [
        b"", b"1 0.0", b"2 0.25", b"3 Infinity",
    ]  # fmt: skip
    assert _main([*line, "csv"]) == 0
    assert capsysbinary.readouterr().out.startswith(b"vertex,distance,predecessor\n")
    assert _main([*line, "parquet"]) == 2
    assert b"--out" in capsysbinary.readouterr().err
    assert _main(["run", "sssp", path]) == 2
    assert b"--source" in capsysbinary.readouterr().err
    assert _main([*line, "ldbc", "--out", str(tmp_path)]) == 2
    assert b"folder" in capsysbinary.readouterr().err


def test_weights_are_the_column_that_properties_name(
    tmp_path: Path, capsysbinary: pytest.CaptureFixture[bytes]
) -> None:
    (tmp_path / "kgs.v").write_text("1\n2\n")
    (tmp_path / "kgs.e").write_text("1 2 9 0.25\n")
    properties = tmp_path / "kgs.properties"
    properties.write_text(
        "graph.kgs.edge-properties.names = time, weight\n"
        "graph.kgs.sssp.weight-property = weight\n"
        "graph.kgs.sssp.source-vertex = 2\n"
    )
    line = ["run", "sssp", str(properties), "--format", "ldbc"]
    assert _main(line) == 0
    assert sorted(capsysbinary.readouterr().out.split()) == [b"0.0", b"0.25", b"1", b"2"]
    properties.write_text(properties.read_text().replace("time, weight", "time, length"))
    assert _main(line) == 2
    assert b"expected one of edge-properties.names" in capsysbinary.readouterr().err


@pytest.mark.parametrize("name", ["kgs", "kgs.e", "kgs.v", "kgs.properties"])
@pytest.mark.parametrize("packed", [False, True])
def test_any_of_its_files_means_the_graph(
    name: str, packed: bool, tmp_path: Path, client: Client
) -> None:
    files = {"kgs.v": b"-1\n5\n9\n10\n", "kgs.e": b"5 -1 0.5\n9 5 2\n"}
    for each, text in files.items():
        if packed:
            (tmp_path / f"{each}.gz").write_bytes(gzip.compress(text))
        else:
            (tmp_path / each).write_bytes(text)
    (tmp_path / "kgs.properties").write_text("graph.kgs.directed = true\n")
    if packed and name != "kgs" and not name.endswith("properties"):
        name += ".gz"
    with dg.from_edges(tmp_path / name, weight=True, client=client) as g:
        assert (g.num_vertices, g.num_edges, g.directed, g.weighted) == (4, 2, True, True)
        with client.as_current():
            assert g.edges().compute()["weight"].sum() == 2.5
    with dg.from_edges(tmp_path / name, client=client) as g:
        assert not g.weighted
    frame = dg.read_edges(tmp_path / name).compute()
    assert frame["source"].tolist() == [5, 9]
    with pytest.raises(OptionError, match="directed=False, but the properties"):
        dg.from_edges(tmp_path / name, directed=False, client=client)


def test_vertices_and_edges_have_one_dtype(tmp_path: Path, client: Client) -> None:
    (tmp_path / "g.v").write_text("# names\n1 property\n2 another\nAnn third\n")
    (tmp_path / "g.e").write_text("1 2\n")
    with (
        pytest.warns(IdWarning, match=r"1 of 4 ids, 'Ann' in line 4 of .*g\.v"),
        dg.from_edges(tmp_path / "g", client=client) as g,
    ):
        assert (g.id_dtype, g.num_vertices) == ("str", 3)
    (tmp_path / "g.v").write_text("1\n2\n" + str(2**64 - 1))
    with dg.from_edges(tmp_path / "g", client=client) as g:
        assert (g.id_dtype, g.num_vertices) == ("uint64", 3)
    (tmp_path / "g.e").write_text("")
    with dg.from_edges(tmp_path / "g", client=client) as g:
        assert (g.num_edges, g.num_vertices) == (0, 3)


def test_what_does_not_fit_is_said(tmp_path: Path, client: Client) -> None:
    (tmp_path / "g.v").write_text("1\n2\n")
    with pytest.raises(FileNotFoundError, match=r"no .*g\.e"):
        dg.read_edges(tmp_path / "g.v")
    (tmp_path / "g.e").write_text("1 2\n2 3\n")
    with pytest.raises(EdgeValueError, match="3"):
        dg.from_edges(tmp_path / "g", client=client)
    (tmp_path / "h.e").write_text("1 2\n")
    with pytest.raises(EdgeValueError, match=r"h\.e has no vertex file"):
        open_edges([tmp_path / "g.e", tmp_path / "h.e"])
    assert read_properties(tmp_path / "g") is None
    (tmp_path / "g.properties").write_text("graph.g.directed = maybe\n")
    found = read_properties(tmp_path / "g")
    assert found is not None
    with pytest.raises(EdgeValueError, match="directed = maybe, expected true or false"):
        found.directed  # noqa: B018
    (tmp_path / "g.properties").write_text("graph.g.cdlp.max-iterations = ten\n")
    assert _main(["run", "cdlp", str(tmp_path / "g")]) == 2


@pytest.mark.parametrize("directed", [False, True])
@pytest.mark.parametrize("names", [False, True])
def test_adjacency_lists_as_networkx_writes_them(
    directed: bool, names: bool, tmp_path: Path, client: Client
) -> None:
    theirs = nx.gnp_random_graph(30, 0.05, seed=2, directed=directed)
    theirs.add_edge(3, 3)
    if names:
        theirs = nx.relabel_nodes(theirs, {v: f"v{v}" for v in theirs})
    assert nx.number_of_isolates(theirs) > 0
    nx.write_adjlist(theirs, tmp_path / "g.adjlist")
    path = tmp_path / "g.adjlist"
    with dg.from_edges(path, directed=directed, duplicates="error", client=client) as g:
        ours = g.to_networkx()
    assert nx.utils.graphs_equal(ours, theirs)


@pytest.mark.parametrize("names", [False, True])
def test_an_edge_at_both_ends_counts_once(names: bool, tmp_path: Path, client: Client) -> None:
    rng = np.random.default_rng(3)
    theirs = nx.gnp_random_graph(40, 0.1, seed=5)
    rows = [[v, *theirs[v]] for v in rng.permutation(40)]
    mark = "v" if names else ""
    for part in range(2):  # each edge is in two files, some in both
        text = "\n".join(" ".join(f"{mark}{v}" for v in row) for row in rows[part::2])
        (tmp_path / f"{part}.adj").write_text(text)
    with dg.from_edges(str(tmp_path), duplicates="error", client=client) as g:
        assert (g.num_vertices, g.num_edges) == (40, theirs.number_of_edges())
    with dg.from_edges(str(tmp_path), directed=True, client=client) as g:
        assert g.num_edges == 2 * theirs.number_of_edges()


def test_adjacency_lists_of_other_separators_and_faults(tmp_path: Path) -> None:
    path = tmp_path / "g.adjlist"
    path.write_bytes(b"\xef\xbb\xbf% a comment\r\n1, 2,\t3\r\n\r\n4\n5,1")
    frame = dg.read_edges(path, sep=",").compute()
    pd.testing.assert_frame_equal(
        frame.reset_index(drop=True),
        pd.DataFrame({"source": [1, 1, 5], "target": [2, 3, 1]}),
    )
    path.write_text("1 2\n\n3 4 x\n")
    with pytest.warns(IdWarning, match="'x' in line 3 of"):
        assert dg.read_edges(path).compute()["target"].tolist() == ["2", "4", "x"]
    with pytest.raises(EdgeValueError, match="line 3 of"):
        dg.read_edges(path, dtype="int64").compute()
    with pytest.raises(OptionError, match="no columns"):
        dg.read_edges(path, columns=[0, 1])
    with pytest.raises(OptionError, match="sep must be"):
        dg.read_edges(path, sep="|")
    path.write_text("")
    with pytest.warns(EmptyWarning, match="holds no edges"):
        assert len(dg.read_edges(path)) == 0
