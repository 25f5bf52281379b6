"""The benchmark of caches runs to the end, tiny, and what must hold of its figures does."""

from __future__ import annotations

import json
from typing import Any

import pandas as pd
import pytest
from click.testing import CliRunner

import dgraph as dg
from benchmarks.gnn import figures
from benchmarks.gnn.__main__ import main

ASKED = ["--scale", "6", "--dimension", "16", "--batch-size", "8", "--turns", "1"]


@pytest.fixture(scope="module")
def tables(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    folder = tmp_path_factory.mktemp("gnn")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(figures, "CACHES", (0.05, 0.5))
        patch.setattr(figures, "APART", False)
        patch.setattr(figures, "ALPHAS", (0.0, 1.0))
        result = CliRunner().invoke(main, [*ASKED, "--out", str(folder)])
    assert result.exit_code == 0, result.output
    found = {}
    for each in json.loads((folder / "tables.json").read_text()):
        assert f"{each['name']}: {each['title']}" in result.output
        found[each["name"]] = pd.DataFrame(each["rows"])
    return found


def test_every_figure_is_there_for_both_graphs(tables: dict[str, Any]) -> None:
    graphs = ("kronecker", "grid")
    names = [
        f"gnn_{some}{graph}"
        for some in ("", "devices_", "matrix_", "alpha_")
        for graph in graphs
    ]
    assert list(tables) == [*names, "gnn_shuffle"]


@pytest.mark.parametrize("graph", ["kronecker", "grid"])
def test_larger_caches_read_less_and_every_epoch_is_timed(
    tables: dict[str, Any], graph: str
) -> None:
    table = tables[f"gnn_{graph}"]
    assert table["layout"].tolist() == 2 * list(dg.gnn.LAYOUTS)
    fits = table.dropna(subset="hit_rate")
    assert (fits["epoch_s"] > 0).all()
    relative = fits.pivot(index="layout", columns="cache", values="relative")
    assert (relative.loc["none"] == 1).all()
    for layout in ("legion", "quiver_plus", "gnnlab", "pagraph_plus"):
        assert relative.loc[layout, "50.00%"] < relative.loc[layout, "5.00%"] <= 1
    matrix = tables[f"gnn_matrix_{graph}"].set_index("layout")
    near = matrix.loc[["gnnlab", "pagraph_plus"]]
    for device in range(4):
        others = near[near["device"] != device]
        assert (others[f"from {device}"] == 0).all()


def test_unknown_figures_are_refused() -> None:
    assert CliRunner().invoke(main, ["--only", "speed"]).exit_code == 2
