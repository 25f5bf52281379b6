"""Calls about placements: results do not show them, and what is asked in vain is said."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from distributed import Client
from hypothesis import given, settings
from hypothesis import strategies as st

import dgraph as dg
from dgraph.build.strategy import EdgeStrategy
from dgraph.cli import _main
from dgraph.errors import DgraphError
from dgraph.placement import Hierarchy, Metis
from tests.clusters import asynchronously
from tests.placed import HIERARCHIES, NAMES, STRATEGIES, TREE, grid, pairs_of

# No result shows where a graph lies


def results(g: dg.Graph, source: int) -> dict[str, pd.DataFrame]:
    found = {
        "bfs": dg.bfs(g, source),
        "sssp": dg.sssp(g, source),
        "components": dg.connected_components(g),
        "pagerank": dg.pagerank(g, max_iter=20, tol=None),
        "cdlp": dg.cdlp(g),
        "betweenness": dg.betweenness_centrality(g),
    }
    client = g._home.client
    return {
        name: client.compute(some, sync=True).sort_values("vertex", ignore_index=True)
        for name, some in found.items()
    }


@given(
    st.lists(
        st.tuples(st.integers(0, 11), st.integers(0, 11), st.sampled_from([0.1, 1.0, 1 / 3])),
        min_size=1,
        max_size=40,
    ),
    st.booleans(),
    st.permutations([*NAMES, *HIERARCHIES]),
)
@settings(max_examples=3)
def test_no_placement_changes_any_result(
    client: Client, rows: list[tuple[int, int, float]], directed: bool, order: list[Any]
) -> None:
    frame = pd.DataFrame(rows, columns=["source", "target", "w"])
    options: Any = {"weight": "w", "directed": directed, "client": client}
    with dg.from_edges(frame, virtual_slots=3, **options) as g:
        want = results(g, rows[0][0])
    for placement in order[:4]:
        if placement == "metis":
            pytest.importorskip("pymetis", reason="extra metis")
        with dg.from_edges(
            frame, placement=placement, virtual_slots=4, topology=TREE, **options
        ) as g:
            have = results(g, rows[0][0])
        for name in want:
            exact = name != "betweenness"
            pd.testing.assert_frame_equal(
                have[name], want[name], check_exact=exact, rtol=0.0 if exact else 1e-12
            )


# At the edges


@pytest.mark.parametrize("name", [name for name in NAMES if name != "metis"])
def test_graphs_of_nothing_and_of_next_to_nothing(client: Client, name: str) -> None:
    for edges, vertices in (([], []), ([], [5]), ([(1, 1)], None), ([(1, 2)], [1, 2, 3, 4, 9])):
        found = dg.placement.assign(
            pairs_of(edges), name, slots=3, vertices=vertices, client=client
        )
        table = client.compute(found, sync=True)
        assert len(table) == len(vertices if vertices is not None else {1})
        assert table["slot"].between(0, 2).all()
        assert table["slot"].dtype == "int64"


def test_metis_says_what_is_missing(monkeypatch: pytest.MonkeyPatch, client: Client) -> None:
    import sys

    monkeypatch.setitem(sys.modules, "pymetis", None)
    with pytest.raises(ValueError, match=r"install dask-dgraph\[metis\]") as caught:
        dg.from_edges(grid(3), placement="metis", virtual_slots=2, client=client)
    assert isinstance(caught.value, DgraphError)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"edges": "vertex"}, "edges must be 'source' or"),
        ({"order": "random"}, "order must be 'grown'"),
        ({"spread": "greedy"}, "one after the other"),
        ({"vol_st": 0}, "vol_st must be an integer from 1 on or None, not 0"),
        ({"refine": -1}, "refine must be an integer from 0 on, not -1"),
        ({"eps": 2.0}, "eps must be a number from 0 to 1, not 2.0"),
    ],
)
def test_wrong_options_say_what_is_allowed(options: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        Hierarchy(**options)


def test_all_strategies_are_values_that_see_edges() -> None:
    for strategy in (*STRATEGIES, Metis()):
        assert isinstance(strategy, EdgeStrategy)
        assert strategy == type(strategy)(**vars(strategy))
        assert hash(strategy.on(TREE)) == hash(strategy.on(TREE))


def test_an_asynchronous_client_gets_awaitables() -> None:
    async def work(client: Client) -> Any:
        assign: Any = dg.placement.assign
        make: Any = dg.from_edges
        found = await assign(grid(4), "hierarchy", slots=2, client=client)
        g = await make(grid(4), client=client)
        with pytest.raises(ValueError, match="synchronous"):
            dg.placement.compare(grid(4), ["hash"], client=client)
        figures = await g.placement.figures()
        again = await g.placement.figures()
        g.close()
        return await client.compute(found), figures == again

    table, same = asynchronously(work)
    assert same
    assert sorted(table["vertex"]) == list(range(16))


def test_the_command_compares(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    grid(6).to_csv(tmp_path / "grid.csv", index=False)
    command = ["placement", "compare", str(tmp_path / "grid.csv")]
    chosen = ["--fanouts", "2,2", "--only", "hash,hierarchy"]
    assert _main([*command, *chosen]) == 0
    head, *rows = capsys.readouterr().out.splitlines()
    assert head.split()[:4] == ["placement", "seconds", "cut_top", "cut"]
    assert head.split()[-2:] == ["pagerank_frames", "pagerank_bytes"]
    assert [row.split()[0] for row in rows] == ["hash", "hierarchy"]
    picture = tmp_path / "compared.svg"
    split = ["--only", "hash", "--no-measure", "--rhizome-max", "4", "--plot", str(picture)]
    assert _main([*command, *split]) == 0
    head, *rows = capsys.readouterr().out.splitlines()
    assert "bytes" not in head
    assert [row.split()[:3] for row in rows][1] == ["hash", "+", "rhizomes"]
    assert b"<svg" in picture.read_bytes()
    (tmp_path / "loops.csv").write_text("source,target\n1,1\n2,2\n")
    loops = ["placement", "compare", str(tmp_path / "loops.csv"), *chosen]
    assert _main(loops) == 0
    assert "bfs_bytes" in capsys.readouterr().out.splitlines()[0]
    for wrong in (
        ["--only", "best"],
        ["--rhizome-max", "1"],
        ["--plot", "compared.xlsx"],
        ["--plot", str(tmp_path / "nowhere" / "a.png")],
        ["--fanouts", "0"],
        ["--fanouts", "2", "--topology", "x"],
    ):
        assert _main([*command, *wrong]) == 2
        assert len(capsys.readouterr().err.splitlines()) == 1


def test_rhizomes_are_compared_and_drawn(client: Client) -> None:
    star = pd.DataFrame({"source": np.zeros(64, int), "target": np.arange(1, 65)})
    split = {"rhizome_max": 4, "rhizome_allocation": "sources"}
    found = dg.placement.compare(
        star,
        ["degree", split, {"placement": Hierarchy(), "rhizome_max": 1}],
        topology=TREE,
        measure={"rank": lambda g: dg.pagerank(g, max_iter=2, tol=None)},
        client=client,
    )
    assert found["placement"].tolist() == ["degree", "degree + rhizomes 4", "hierarchy"]
    assert found["split"].tolist() == [0, 1, 0]
    assert found["parts"].tolist() == [0, 4, 0]
    assert found["edge_balance"][1] < 1.1 < found["edge_balance"][0]
    assert found["cut_top"][1] < found["cut_top"][0]
    assert (found["build_seconds"] >= found["seconds"]).all()
    drawn = dg.placement.plot(found)
    assert drawn[-1].get_title() == "bytes of rank, by level"
    wide = drawn[1].patches
    assert [bar.get_width() for bar in wide] == found["edge_balance"].tolist()
    for wrong, what in (
        ({"rhizome_max": 4, "slots": 2}, "must be among placement, rhizome_max, "),
        ({"rhizome_max": 0}, "rhizome_max"),
        ({"placement": "best"}, "placement must be one of "),
    ):
        with pytest.raises(ValueError, match=what):
            dg.placement.compare(star, [wrong], client=client)


def test_comparing_measures_what_is_asked(client: Client) -> None:
    measure = {
        "bfs": lambda g: dg.bfs(g, 0),
        "rank": lambda g: dg.pagerank(g, max_iter=3, tol=None),
    }
    found = dg.placement.compare(
        grid(8), ["hash", Hierarchy(refine=2)], topology=TREE, measure=measure, client=client
    )
    assert found["placement"].tolist() == ["hash", "hierarchy"]
    assert list(found.columns[:8]) == [
        "placement", "seconds", "cut_top", "cut", "replication", "vertex_balance",
        "edge_balance", "cost",
    ]  # fmt: skip
    for name in measure:
        sent = found[f"{name}_bytes"].tolist()
        assert len(sent[0]) == TREE.height + 1
        assert sent[1][-1] < sent[0][-1]


def test_a_graph_on_one_slot_has_figures(client: Client) -> None:
    star = np.array([[0, 1], [0, 2], [0, 3]])
    with dg.from_edges(star, virtual_slots=1, client=client) as g:
        found = g.placement.figures()
    assert (found.cut_top, found.replication, found.edge_balance) == (0, 1.0, 1.0)
