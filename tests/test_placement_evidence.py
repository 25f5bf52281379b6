"""The placement benchmark runs to the end, tiny, and what must hold of its figures does."""

from __future__ import annotations

import json
from typing import Any

import pandas as pd
import pytest
from click.testing import CliRunner

from benchmarks.placement import ablation, autos, layouts, rhizomes
from benchmarks.placement.__main__ import main
from benchmarks.placement.ablation import PLACEMENTS, ROUTINGS

NAMES = ("hash", "hierarchy", layouts.RHIZOMES)
ALGORITHMS = ("bfs", "connected_components")
ASKED = ["--scale", "6", "--slots", "8", "--leaves", "640", "--turns", "1", "--sides", "12"]


@pytest.fixture(scope="module")
def outcome(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """Return what the command prints, the files it writes, and its tables by name."""
    folder = tmp_path_factory.mktemp("placement")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(layouts, "_NAMES", NAMES)
        patch.setattr(autos, "ALGORITHMS", ("bfs",))
        patch.setattr(autos, "SECONDS", 0.0)  # one pair of each
        patch.setattr(autos, "CASES", autos.CASES[:1] + autos.CASES[-1:])
        patch.setattr(ablation, "ALGORITHMS", ALGORITHMS)
        patch.setattr(rhizomes, "MOST", (1, 8))
        patch.setattr(rhizomes, "DOMAINS", (1, 2))
        result = CliRunner().invoke(main, [*ASKED, "--out", str(folder)])
    assert result.exit_code == 0, result.output
    record = json.loads((folder / "tables.json").read_text())
    tables = {each["name"]: pd.DataFrame(each["rows"]) for each in record}
    titles = {each["name"]: each["title"] for each in record}
    return {"output": result.output, "folder": folder, "tables": tables, "titles": titles}


@pytest.mark.limit(280)
def test_every_figure_is_printed_written_and_drawn(outcome: dict[str, Any]) -> None:
    assert list(outcome["tables"]) == [
        *("yh3_teps_kronecker", "yh3_teps_planted", "yh4_preprocessing"),
        *("yh5_real_karate_club", "yh5_real_les_miserables", "star", "star_wall"),
        *("rh3_speed_up", "rh4_links", "rh4_histogram", "rh4_waiting"),
        *("rh5_scaling", "auto"),
        "quality",
        *("ablation_kronecker", "ablation_gains_kronecker"),
        *("ablation_planted", "ablation_gains_planted"),
    ]
    for name, title in outcome["titles"].items():
        assert f"{name}: {title}" in outcome["output"]
        assert (outcome["folder"] / f"{name}.csv").exists()
        assert len(outcome["tables"][name])
    for name in ("yh3_teps_planted", "yh4_preprocessing", "rh3_speed_up", "rh4_histogram"):
        assert (outcome["folder"] / f"{name}.png").stat().st_size > 1000
    for name in ("yh3_teps_kronecker", "yh5_real_karate_club", "ablation_planted"):
        assert "simulated" in outcome["titles"][name]


@pytest.mark.limit(280)
def test_placements_give_the_same_answers(outcome: dict[str, Any]) -> None:
    for name in ("yh5_real_karate_club", "yh5_real_les_miserables"):
        table = outcome["tables"][name]
        assert list(table["placement"].unique()) == list(NAMES)
        assert table["same"].all()


@pytest.mark.limit(280)
def test_what_is_near_is_kept_near(outcome: dict[str, Any]) -> None:
    found = outcome["tables"]["yh3_teps_planted"].set_index("placement")
    assert found["far_bytes"]["hierarchy"] < found["far_bytes"]["hash"]
    table = outcome["tables"]["yh4_preprocessing"]
    cut = table[table["graph"] == "planted"].set_index("placement")["cut_top"]
    assert cut["hierarchy"] < 0.5 * cut["hash"]
    assert (table["build"] >= table["placing"]).all()


@pytest.mark.limit(280)
def test_every_message_is_in_the_histogram(outcome: dict[str, Any]) -> None:
    links = outcome["tables"]["rh4_links"]
    each = links[links["link"] == "slot to slot"].set_index("rhizome_max")
    bins = outcome["tables"]["rh4_histogram"].groupby("rhizome_max")
    assert bins["links"].sum().to_dict() == each["links"].to_dict() == {1: 240, 16: 240}
    assert bins["messages"].sum().to_dict() == each["messages"].to_dict()
    assert (each["messages"] > 0).all()
    across = links[links["link"] == "domain"].set_index("rhizome_max")["messages"]
    assert (across <= 2 * each["messages"]).all()  # each goes up once and down once
    assert across[16] % 2 == 0
    waiting = outcome["tables"]["rh4_waiting"].set_index(["direction", "rhizome_max"])
    assert (waiting["links"] == 4).all()
    for name in ("frames", "bytes"):  # what goes up comes down
        assert waiting[name]["up"].to_dict() == waiting[name]["down"].to_dict()
        assert (waiting[name] > 0).all()
    assert (waiting["waited"] > waiting["waited_most"]).all()
    assert (waiting["waited_most"] > 0).all()


@pytest.mark.limit(280)
def test_a_star_is_spread(outcome: dict[str, Any]) -> None:
    found = outcome["tables"]["star"].set_index("rhizome_max")
    assert found["uncombined"].to_dict() == {1: 600, 16: 40}
    assert found["entries"].to_dict() == {1: 640, 16: 40}
    assert found["received"][16] <= found["received"][1] / 8
    assert (outcome["tables"]["star_wall"]["split"] > 0).all()
    table = outcome["tables"]["rh5_scaling"]
    assert table["slots"].tolist() == [4, 4, 8, 8]
    assert (table["entries"][1::2].to_numpy() <= table["entries"][::2].to_numpy()).all()


@pytest.mark.limit(280)
def test_combining_and_gateways_never_send_more(outcome: dict[str, Any]) -> None:
    for graph in ("kronecker", "planted"):
        table = outcome["tables"][f"ablation_{graph}"]
        assert len(table) == len(PLACEMENTS) * len(ALGORITHMS) * len(ROUTINGS) * 2
        key = ["algorithm", "placement", "routing"]
        without = table[~table["combining"]].set_index(key)
        combined = table[table["combining"]].set_index(key)
        assert (combined["far_bytes"] <= without["far_bytes"]).all()
        fewer = (combined["far_messages"] <= without["far_messages"]).xs("connected_components")
        assert fewer.all()  # of bfs a bitmap is counted as if all its bits were set
        frames = without["far_frames"].unstack("routing")
        assert (frames["tree"] <= frames["aml"]).all()
        assert (frames["aml"] <= frames["direct"]).all()
        assert (without["far_messages"].groupby(level=key[:2]).nunique() == 1).all()
        gains = outcome["tables"][f"ablation_gains_{graph}"].set_index(["algorithm", "what"])
        cell = without["far_bytes"]
        for algorithm in ALGORITHMS:
            base, tree = (cell[algorithm, "degree", routing] for routing in ("direct", "tree"))
            assert gains["alone far_bytes"][algorithm, "tree"] == pytest.approx(base / tree)


@pytest.mark.limit(280)
def test_auto_is_degree_where_there_are_two_levels(outcome: dict[str, Any]) -> None:
    table = outcome["tables"]["auto"]
    flat = table[table["levels"] == 2]
    assert (flat["chosen"] == "degree").all()
    assert flat["runs"].tolist() == [1.0] * len(flat)
    deep = table[table["levels"] == 3]
    assert (deep["of_bytes"] <= 1.1).all()
    assert (table["low"] <= table["with build"]).all()
    assert (table["with build"] <= table["high"]).all()


@pytest.mark.limit(280)
def test_hierarchy_beside_metis(outcome: dict[str, Any]) -> None:
    table = outcome["tables"]["quality"].set_index("graph")
    assert list(table.index) == ["planted", "grid 12", "karate_club", "les_miserables"]
    assert (table["fullest"] <= table["most"]).all()
    assert (table["/hash"] < 1).all()


def test_the_command_says_what_it_does_not_know() -> None:
    for wrong in (["--only", "fig99"], ["--slots", "many"]):
        assert CliRunner().invoke(main, wrong).exit_code == 2
