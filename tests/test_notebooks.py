"""Notebooks run from the first cell to the last, and what prints a table in one shows one."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import dgraph as dg
from dgraph.tables import Table
from tests.clusters import cluster

nbclient = pytest.importorskip("nbclient", reason="needs the extra 'test'")
nbformat = pytest.importorskip("nbformat", reason="needs the extra 'test'")
pytest.importorskip("ipykernel", reason="needs the extra 'test'")

ROOT = Path(__file__).parents[1]
NOTEBOOKS = sorted((ROOT / "notebooks").glob("*.ipynb"))


def run(path: Path) -> Any:
    """Return a notebook with its outputs; a cell that fails is an error that shows it."""
    notebook = nbformat.read(path, as_version=4)
    nbclient.NotebookClient(notebook, kernel_name="python3", timeout=250).execute()
    return notebook


def outputs(notebook: Any) -> Iterator[Any]:
    for cell in notebook.cells:
        yield from cell.get("outputs", [])


@pytest.fixture
def jupyter(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Keep what Jupyter leaves behind in a folder of the test."""
    for name in ("JUPYTER_RUNTIME_DIR", "JUPYTER_CONFIG_DIR", "JUPYTER_DATA_DIR", "IPYTHONDIR"):
        monkeypatch.setenv(name, str(tmp_path / name.lower()))
    monkeypatch.setenv("PYTHONPATH", str(ROOT))


@pytest.mark.slow
@pytest.mark.limit(280)
@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
@pytest.mark.usefixtures("jupyter")
def test_runs_to_its_end(path: Path) -> None:
    found = list(outputs(run(path)))
    assert [output for output in found if output.output_type == "error"] == []
    assert any("image/png" in output.get("data", {}) for output in found)
    words = "".join(output.get("text", "") for output in found)
    assert "Warning" not in words, words


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_is_kept_without_outputs(path: Path) -> None:
    notebook = nbformat.read(path, as_version=4)
    nbformat.validate(notebook)
    assert list(outputs(notebook)) == []
    assert len(path.read_bytes()) < 40_000


def test_all_are_there() -> None:
    assert {"first_graph", "placement"} <= {path.stem for path in NOTEBOOKS}


def test_what_prints_a_table_shows_one() -> None:
    with cluster(1, 2, processes=False) as client:
        g = dg.from_edges(np.array([[1, 2], [2, 3]]), client=client)
        levels = dg.bfs(g, 1)
        dg.pagerank(g)
        report = dg.graph500.run(6, roots=2, client=client)
        shown = [g, g.report, g.runs, g.runs[-1], report]
        shown.append(dg.graph500.validate_bfs(g, 1, levels))
        tables = [thing._repr_html_() for thing in shown]
        tree = g.topology._repr_html_()
    assert all("<table" in table for table in tables)
    assert "slots 0-1" in tree
    assert "bfs" in tables[2]
    assert "pagerank" in tables[2]
    assert "rows_read" in tables[1]


def test_names_in_a_table_are_escaped() -> None:
    table = Table("a<b", {"<x>": {"input": "<script>"}})
    assert "<script>" not in table._repr_html_()
    assert "&lt;x&gt;" in table._repr_html_()
