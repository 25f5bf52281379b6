"""What a graph can be made of: forms of input, ids, policies, and what is refused."""

from __future__ import annotations

import asyncio
import gc
import time
import weakref
from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any, cast

import dask
import dask.array as da
import dask.dataframe as dd
import networkx as nx
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from distributed import Client
from scipy import sparse

import dgraph as dg
from dgraph.errors import EdgeTypeError
from dgraph.topology import Topology
from tests.clusters import asynchronously, held

TABLE = pd.DataFrame(
    {"source": [5, 5, 7, 9], "target": [7, 9, 9, 5], "weight": [1.0, 2.5, 0.0, 4.0], "extra": 1}
)
ARRAY = TABLE[["source", "target", "weight"]].to_numpy(np.float64)
EDGES = {(5, 7): 1.0, (5, 9): 2.5, (7, 9): 0.0}


def rows(frame: Any) -> list[tuple[Any, ...]]:
    return sorted(frame.compute().itertuples(index=False, name=None))


def edges_of(g: dg.Graph) -> dict[tuple[Any, Any], Any]:
    found = {tuple(row[:2]): row[2] if g.weighted else None for row in rows(g.edges())}
    assert len(found) == g.num_edges
    return found


# Forms of input

INTEGERS = np.array([[5, 7], [5, 9], [7, 9], [9, 5]])
MATRIX = sparse.csr_array(([1.0, 2.5, 0.5], ([0, 0, 1], [1, 2, 2])), (4, 4))

FORMS: dict[str, Callable[[], Any]] = {
    "pandas": lambda: TABLE,
    "dask": lambda: dd.from_pandas(TABLE, npartitions=3),
    "dask, unknown divisions": lambda: dd.from_pandas(TABLE, npartitions=2).clear_divisions(),
    "dask, empty partitions": lambda: dd.concat(
        [
            dd.from_pandas(TABLE.iloc[rows], npartitions=1)
            for rows in (slice(0), slice(4), slice(0))
        ]
    ),
    "persisted": lambda: dd.from_pandas(TABLE, npartitions=2).persist(),
    "pyarrow": lambda: pa.Table.from_pandas(TABLE),
    "polars": lambda: pl.from_pandas(TABLE),
    "other names": lambda: TABLE.rename(columns={"source": "u", "target": "v"}),
    "categorical": lambda: TABLE.astype({"source": "category"}),
    "nullable": lambda: TABLE.astype({"source": "Int64", "target": "Int32"}),
}


@pytest.mark.parametrize("form", FORMS)
def test_tables_of_every_form(embedded: Client, form: str) -> None:
    g = dg.from_edges(FORMS[form](), weight="weight")
    assert edges_of(g) == EDGES
    assert g.report["rows_read"] == 4
    assert g.report["duplicates_merged"] == 1


def test_arrays_are_edges_with_or_without_weights(embedded: Client) -> None:
    lazy = da.from_array(INTEGERS, chunks=(2, 1))
    for array in (INTEGERS, lazy, INTEGERS.astype(np.uint8), np.asfortranarray(INTEGERS)):
        assert edges_of(dg.from_edges(array)) == dict.fromkeys(EDGES)
    weighted = np.column_stack([INTEGERS, [3, 1, 2, 0]])
    assert edges_of(dg.from_edges(weighted, weight=True))[5, 9] == 0
    assert edges_of(dg.from_edges(weighted)) == dict.fromkeys(EDGES)
    with pytest.raises(TypeError, match="float64"):
        dg.from_edges(ARRAY)


def test_a_matrix_brings_its_vertices_and_comes_back(embedded: Client) -> None:
    g = dg.from_edges(MATRIX, weight=True, directed=True)
    assert (g.num_vertices, g.num_edges, g.directed) == (4, 3, True)
    assert (g.to_scipy() != MATRIX).nnz == 0
    both = MATRIX + MATRIX.T
    g = dg.from_edges(both, weight=True)
    assert (g.num_vertices, g.num_edges, g.directed) == (4, 3, False)
    assert (g.to_scipy() != both).nnz == 0


@pytest.mark.parametrize("kind", [nx.Graph, nx.DiGraph, nx.MultiGraph, nx.MultiDiGraph])
@pytest.mark.parametrize("names", [int, str])
def test_networkx_graphs_come_back(
    embedded: Client, kind: type[nx.Graph], names: Callable[[int], Any]
) -> None:
    graph = kind()
    graph.add_nodes_from(map(names, [3, 8, 12]))
    edges = [(3, 8, 0.5), (8, 3, 2.0), (3, 3, 1.0)] + [(3, 8, 0.25)] * graph.is_multigraph()
    graph.add_weighted_edges_from((names(u), names(v), w) for u, v, w in edges)
    g = dg.from_edges(graph, weight="weight", duplicates="keep")
    assert g.directed == graph.is_directed()
    assert g.num_vertices == 3
    back = g.to_networkx()
    assert set(back) == set(graph)
    assert Counter(_arcs(back)) == Counter(_arcs(graph))
    wrong = not graph.is_directed()
    with pytest.raises(ValueError, match="directed"):
        dg.from_edges(graph, directed=wrong)


def _arcs(graph: nx.Graph) -> Iterator[tuple[Any, ...]]:
    for u, v, weight in graph.edges(data="weight"):
        yield (u, v, weight) if graph.is_directed() else (*sorted((u, v)), weight)


def test_a_path_is_read(embedded: Client, tmp_path: Any) -> None:
    TABLE.to_csv(tmp_path / "edges.csv", index=False)
    assert edges_of(dg.from_edges(tmp_path / "edges.csv", weight="weight")) == EDGES
    TABLE.to_parquet(tmp_path / "edges.parquet")
    assert edges_of(dg.from_edges(str(tmp_path / "*.parquet"), weight="weight")) == EDGES


def test_a_lazy_collection_is_computed_once(embedded: Client, tmp_path: Any) -> None:
    def counted(
        part: pd.DataFrame, partition_info: dict[str, int] | None = None
    ) -> pd.DataFrame:
        if partition_info is not None:
            name = f"{partition_info['number']}-{pd.Timestamp.now().value}"
            (tmp_path / name).touch()
        return part

    lazy = dd.from_pandas(TABLE, npartitions=4).map_partitions(counted, meta=TABLE.iloc[:0])
    g = dg.from_edges(lazy, nulls="drop", duplicates="sum", weight="weight")
    assert g.num_edges == 3
    assert sorted(path.name[0] for path in tmp_path.iterdir()) == ["0", "1", "2", "3"]


@pytest.mark.parametrize(
    "ids",
    [
        np.array([-(2**63), 2**63 - 1, 0, -1]),
        np.array([2**64 - 1, 2**53 + 1, 2**53, 0], np.uint64),
        np.array([-128, 127, 0, 1], np.int8),
        np.array(["", "é", "Z", "a" * 300]),
        np.array(["007", "7", "a b", "\x00"], object),
    ],
    ids=lambda ids: str(ids.dtype),
)
def test_ids_stay_the_users_own(embedded: Client, ids: Any) -> None:
    frame = pd.DataFrame({"source": ids[:2], "target": ids[2:]})
    g = dg.from_edges(frame)
    found = dg.bfs(g, ids[0]).compute()
    want = frame["source"].dtype if ids.dtype.kind in "iu" else pd.Series(["a"]).dtype
    assert found["vertex"].dtype == want
    assert set(found["vertex"]) == set(ids.tolist())
    assert found.loc[found["distance"] == 1, "predecessor"].tolist() == [ids[0]]
    assert found["distance"].dtype == "Int64"
    assert g.edges().compute().dtypes.to_dict() == {"source": want, "target": want}


# Policies

TWICE = pd.DataFrame({"source": [1, 2, 1, 3], "target": [2, 1, 2, 3], "weight": [5, 1, 2, 8]})


@pytest.mark.parametrize(
    ("options", "edges"),
    [
        ({}, {(1, 2): 1, (3, 3): 8}),
        ({"duplicates": "max"}, {(1, 2): 5, (3, 3): 8}),
        ({"duplicates": "sum"}, {(1, 2): 8, (3, 3): 8}),
        ({"duplicates": "first"}, {(1, 2): 5, (3, 3): 8}),
        ({"directed": True}, {(1, 2): 2, (2, 1): 1, (3, 3): 8}),
        ({"self_loops": "drop"}, {(1, 2): 1}),
        ({"self_loops": "drop", "vertices": [1, 2, 3]}, {(1, 2): 1}),
        ({"placement": "hash"}, {(1, 2): 1, (3, 3): 8}),
        ({"placement": "chunk"}, {(1, 2): 1, (3, 3): 8}),
        (
            {"placement": pd.DataFrame({"vertex": [3, 2, 1, 9], "slot": [0, 1, 0, 1]})},
            {(1, 2): 1, (3, 3): 8},
        ),
    ],
)
def test_policies(embedded: Client, options: Any, edges: Any) -> None:
    for partitions in (1, 3):
        lazy = dd.from_pandas(TWICE, npartitions=partitions)
        g = dg.from_edges(lazy, weight="weight", **options)
        assert edges_of(g) == edges
        assert g.report["rows_read"] == 4
        assert g.report["self_loops"] == 1
        dropped = g.report["self_loops_dropped"] + g.report["duplicates_merged"]
        assert dropped == 4 - len(edges)


def test_kept_parallels_make_a_multigraph(embedded: Client) -> None:
    g = dg.from_edges(TWICE, weight="weight", duplicates="keep")
    assert rows(g.edges()) == [(1, 2, 1.0), (1, 2, 2.0), (1, 2, 5.0), (3, 3, 8.0)]
    assert rows(g.degrees()) == [(1, 3), (2, 3), (3, 2)]
    assert g.to_scipy().toarray()[0, 1] == 8
    assert g.to_networkx().number_of_edges(1, 2) == 3


NULLS = pd.DataFrame(
    {
        "source": ["a", None, "b", "c"],
        "target": ["b", "c", None, "a"],
        "weight": [1, 2, 3, np.nan],
    }
)


@pytest.mark.parametrize(
    ("edges", "options", "error", "says"),
    [
        (TWICE, {"duplicates": "error"}, ValueError, "1"),
        (TWICE, {"self_loops": "error"}, ValueError, "3"),
        (TWICE, {"vertices": [1, 2]}, ValueError, "3"),
        (TWICE, {"duplicates": "average"}, ValueError, "'min', 'max'"),
        (TWICE, {"self_loops": None}, ValueError, "'keep'"),
        (TWICE, {"nulls": "fill"}, ValueError, "'error' or 'drop'"),
        (TWICE, {"placement": "random"}, ValueError, "'degree'"),
        (TWICE, {"source": "from"}, ValueError, "'from'"),
        (TWICE, {"weight": "cost"}, ValueError, "'cost'"),
        (TWICE, {"slots": 3}, ValueError, "slots must be 1 to 2"),
        (TWICE, {"topology": Topology.from_fanouts([2, 2])}, ValueError, "4 slots"),
        (TWICE, {"placement": pd.DataFrame({"vertex": [1], "slot": [0]})}, ValueError, "2"),
        (TWICE.assign(weight=np.inf), {"weight": "weight"}, ValueError, "infinite"),
        (NULLS, {}, ValueError, "2 edges .* row 1"),
        (NULLS, {"weight": "weight"}, ValueError, "3 edges .* row 1"),
        (TWICE.astype({"source": float}), {}, TypeError, "'source' has dtype float64"),
        (TWICE.astype({"source": str}), {}, TypeError, "'source'.*'target'"),
        ([1, 2, 3], {}, TypeError, "list"),
        ("nowhere/*.csv", {}, FileNotFoundError, "nowhere"),
    ],
)
def test_bad_input_is_one_clear_error_and_leaves_nothing_behind(
    embedded: Client, edges: Any, options: Any, error: type[Exception], says: str
) -> None:
    with pytest.raises(error, match=says) as caught:
        dg.from_edges(edges, **options)
    assert isinstance(caught.value, dg.DgraphError)
    del caught
    wait_until_nothing_is_held(embedded)


def test_nulls_are_dropped_and_counted(embedded: Client) -> None:
    g = dg.from_edges(NULLS, nulls="drop", weight="weight")
    assert edges_of(g) == {("a", "b"): 1.0}
    assert (g.report["rows_read"], g.report["nulls_dropped"]) == (4, 3)


def test_partitions_of_different_kinds_are_refused(embedded: Client) -> None:
    frames = [
        pd.DataFrame({"source": x, "target": x}, dtype=object) for x in ([1, 2], ["a", "b"])
    ]
    with dask.config.set({"dataframe.convert-string": False}):
        lazy = dd.from_map(lambda frame: frame, frames, meta=frames[0].iloc[:0])
    with pytest.raises(EdgeTypeError, match=r"partition 0 .*partition 1"):
        dg.from_edges(lazy)


def test_a_partition_that_raises_ends_it_with_its_own_error(
    embedded: Client, caplog: pytest.LogCaptureFixture
) -> None:
    def broken(part: pd.DataFrame, partition_info: Any = None) -> pd.DataFrame:
        if partition_info and partition_info["number"] >= 1:
            raise ZeroDivisionError("in the user's own function")
        return part

    lazy = dd.from_pandas(TABLE, npartitions=4).map_partitions(broken, meta=TABLE.iloc[:0])
    with pytest.raises(ZeroDivisionError, match="user's own"):
        dg.from_edges(lazy)
    wait_until_nothing_is_held(embedded)
    gc.collect()  # nobody asks for the other errors, and nobody complains of that
    said = [record.getMessage() for record in caplog.records]
    assert not [line for line in said if "never retrieved" in line and "ingest.py" in line]


def wait_until_nothing_is_held(client: Client) -> None:
    for _ in range(500):  # turns, for time goes on where the process is stopped
        if not any(map(any, held(client).values())):
            return
        time.sleep(0.02)
    raise AssertionError(held(client))


def test_an_error_does_not_hold_what_the_call_was_given() -> None:
    async def work(client: Client) -> None:
        edges, from_edges = TABLE.astype({"source": float}), cast(Any, dg.from_edges)
        given = weakref.ref(edges)
        with pytest.raises(EdgeTypeError):
            await from_edges(edges, client=client)
        del edges
        for _ in range(500):
            if given() is None:
                return
            await asyncio.sleep(0.02)
        raise AssertionError(gc.get_referrers(given()))

    gc.disable()
    try:
        asynchronously(work)
    finally:
        gc.enable()


def test_isolated_vertices_are_vertices(embedded: Client) -> None:
    for declared in (
        [1, 2, 3, 9],
        range(1, 10),
        pd.Series([9, 1, 2, 3]),
        np.array([1, 2, 3, 9]),
    ):
        g = dg.from_edges(TWICE, vertices=declared)
        assert g.num_vertices == len(declared)
        assert (9, 9) in rows(dg.connected_components(g))
    lazy = dd.from_pandas(pd.DataFrame({"vertex": range(1, 6)}), npartitions=2)
    assert dg.from_edges(TWICE, vertices=lazy).num_vertices == 5


@pytest.mark.parametrize("directed", [False, True])
def test_slots_without_edges_know_that_the_graph_is_weighted(
    embedded: Client, directed: bool
) -> None:
    answers = []
    for slots in (1, 9):
        g = dg.from_edges(
            TABLE, weight="weight", directed=directed, virtual_slots=slots, placement="hash"
        )
        answers.append([rows(g.edges()), rows(dg.pagerank(g))])
    assert answers[0] == answers[1]
