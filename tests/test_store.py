"""Graphs in folders: what is saved comes back, onto any cluster, whole or not at all."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import networkx as nx
import numpy as np
import pandas as pd
import pytest
from distributed import Client

import dgraph as dg
from dgraph import SavedGraphError, store
from tests.clusters import asynchronously

STRINGS = pd.DataFrame(
    {"source": ["é", "b", "b", "Z"], "target": ["b", "b", "Z", "é"], "w": [0.1, 1.0, 3.0, 0.0]}
)
FIGURES = ["num_vertices", "num_edges", "directed", "weighted", "id_dtype", "placement"]
COUNTS = ["rows_read", "nulls_dropped", "duplicates_merged", "self_loops", "self_loops_dropped"]
NARROW = pd.DataFrame({"source": [200, 3, 7], "target": [3, 200, 200]}, dtype="uint8")


def told(g: dg.Graph) -> dict[str, Any]:
    """Return everything a graph tells that does not depend on where it lies."""
    client = g._home.client
    frames = [g.edges(), g.degrees(), dg.connected_components(g)]
    if g.num_vertices:
        frames.append(dg.bfs(g, client.compute(g.vertices()).result()["vertex"].max()))
    tables = client.gather(client.compute(frames))
    return {
        "figures": {name: getattr(g, name) for name in FIGURES},
        "counts": {name: g.report[name] for name in COUNTS},
        "dtypes": [table.dtypes.astype(str).to_dict() for table in tables],
        "rows": [sorted(table.astype(str).itertuples(index=False)) for table in tables],
    }


@pytest.mark.parametrize(
    ("edges", "options"),
    [
        (STRINGS, {"weight": "w"}),
        (STRINGS, {"weight": "w", "directed": True, "duplicates": "keep", "placement": "hash"}),
        (STRINGS, {"duplicates": "keep", "vertices": ["é", "b", "Z", "alone", ""]}),
        (NARROW, {}),
        (NARROW, {"self_loops": "drop", "directed": True, "placement": "chunk"}),
        (NARROW[:0], {}),
        (STRINGS[:0], {"vertices": ["alone"]}),
        (nx.karate_club_graph(), {"weight": True}),
    ],
)
def test_comes_back_onto_any_cluster(
    embedded: Client, processes: Client, tmp_path: Path, edges: Any, options: Any
) -> None:
    with dg.from_edges(edges, virtual_slots=3, **options) as g:
        g.save(tmp_path / "graph")
        want = told(g)
    for client, slots in [(embedded, 1), (embedded, 5), (processes, 2)]:
        with dg.load(tmp_path / "graph", client=client, virtual_slots=slots) as again:
            assert again.slots == slots
            assert told(again) == want


def test_saved_by_processes_and_saved_again(
    embedded: Client, processes: Client, tmp_path: Path
) -> None:
    with dg.from_edges(STRINGS, weight="w", client=processes) as g:
        want = told(g)
        g.save(tmp_path / "first")
    with dg.load(str(tmp_path / "first")) as g:
        g.save(str(tmp_path / "second"))
    with dg.load(tmp_path / "second", placement="hash") as g:
        want["figures"]["placement"] = "hash"
        assert told(g) == want


def test_a_given_placement_is_kept_on_as_many_slots(embedded: Client, tmp_path: Path) -> None:
    given = pd.DataFrame({"vertex": ["é", "b", "Z"], "slot": [1, 1, 0]})
    with dg.from_edges(STRINGS, placement=given) as g:
        parts = [part.compute()["vertex"].tolist() for part in g.vertices().partitions]
        g.save(tmp_path / "graph")
    with dg.load(tmp_path / "graph") as g:
        assert g.placement == "frame"
        assert [part.compute()["vertex"].tolist() for part in g.vertices().partitions] == parts
    with dg.load(tmp_path / "graph", slots=1) as g:
        assert g.placement == "degree"


def test_files_in_row_groups(
    embedded: Client, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(store, "ROWS", 10)  # the slots are threads of this process
    with dg.from_edges(nx.karate_club_graph()) as g:
        g.save(tmp_path / "graph")
        want = told(g)
    with dg.load(tmp_path / "graph") as g:
        assert told(g) == want


def test_the_folder_holds_parquet_and_a_manifest(embedded: Client, tmp_path: Path) -> None:
    with dg.from_edges(STRINGS, weight="w") as g:
        g.save(tmp_path / "graph")
    assert [path.name for path in tmp_path.iterdir()] == ["graph"]
    files = {path.suffix for path in (tmp_path / "graph").iterdir()}
    assert files == {".parquet", ".json"}
    manifest = json.loads((tmp_path / "graph" / "manifest.json").read_text())
    assert manifest["facts"]["num_edges"] == 4
    edges = pd.concat(map(pd.read_parquet, (tmp_path / "graph").glob("edges-*")))
    assert sorted(edges["weight"]) == [0.0, 0.1, 1.0, 3.0]


def test_what_exists_is_not_overwritten(embedded: Client, tmp_path: Path) -> None:
    g = dg.from_edges(STRINGS)
    (tmp_path / "there").mkdir()
    for path in (tmp_path / "there", tmp_path / "no" / "graph"):
        with pytest.raises(SavedGraphError, match="exist"):
            g.save(path)
    assert [path.name for path in tmp_path.iterdir()] == ["there"]
    assert issubclass(SavedGraphError, OSError)


def test_a_failure_leaves_nothing_behind(
    embedded: Client, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*arguments: Any, **options: Any) -> None:
        raise OSError(28, "No space left on device")

    g = dg.from_edges(STRINGS)
    monkeypatch.setattr("pyarrow.parquet.write_table", full)
    with pytest.raises(dg.DgraphError, match="No space left"):
        g.save(tmp_path / "graph")
    assert list(tmp_path.iterdir()) == []
    assert g.num_edges == len(g.edges())


def test_what_is_no_saved_graph_is_refused(embedded: Client, tmp_path: Path) -> None:
    with dg.from_edges(STRINGS) as g:
        g.save(tmp_path / "graph")
    manifest = tmp_path / "graph" / "manifest.json"
    whole = manifest.read_text()
    for text in ("", "[]", "{}", whole[:-20]):
        manifest.write_text(text)
        with pytest.raises(SavedGraphError, match=r"Graph\.save"):
            dg.load(tmp_path / "graph")
    manifest.write_text(whole.replace('"format": 1', '"format": 99'))
    with pytest.raises(SavedGraphError, match="format 99"):
        dg.load(tmp_path / "graph")
    manifest.write_text(whole)
    shutil.copy(tmp_path / "graph" / "edges-00000.parquet", tmp_path / "graph" / "x.parquet")
    assert dg.load(tmp_path / "graph").num_edges == 4
    (tmp_path / "graph" / "edges-00000.parquet").unlink()
    with pytest.raises(OSError, match="edges-00000"):
        dg.load(tmp_path / "graph")
    with pytest.raises(SavedGraphError, match="nowhere"):
        dg.load(tmp_path / "nowhere")


def test_a_damaged_part_is_named(embedded: Client, tmp_path: Path) -> None:
    with dg.from_edges(dg.generate.kronecker(8), virtual_slots=2) as g:
        g.save(tmp_path / "graph")
        want = sorted(g.edges().compute().itertuples(index=False))
    part = tmp_path / "graph" / "edges-00001.parquet"
    whole = part.read_bytes()
    said = []
    for at in [*range(4, len(whole), len(whole) // 12), -9, -1]:
        damaged = bytearray(whole)
        damaged[at] ^= 4
        part.write_bytes(damaged)
        try:
            with dg.load(tmp_path / "graph") as g:
                assert sorted(g.edges().compute().itertuples(index=False)) == want
        except SavedGraphError as error:
            said.append(str(error))
    assert len(said) > 8
    assert all("edges-00001.parquet' is missing or damaged" in some for some in said)
    part.write_bytes(whole[:-20])
    with pytest.raises(SavedGraphError, match="damaged"):
        dg.load(tmp_path / "graph")
    part.unlink()
    with pytest.raises(SavedGraphError, match="missing"):
        dg.load(tmp_path / "graph")


def test_an_asynchronous_client_saves_and_loads(tmp_path: Path) -> None:
    async def work(client: Client) -> tuple[int, int]:
        g: Any = await dg.from_edges(np.array([[1, 2], [2, 3]]), client=client)  # type: ignore[misc]
        await g.save(tmp_path / "graph")
        again: Any = await dg.load(tmp_path / "graph", client=client)  # type: ignore[misc]
        return again.num_vertices, again.num_edges

    assert asynchronously(work) == (3, 2)
