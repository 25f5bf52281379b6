"""Every form of edges gives the same edges, and is computed once."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable, Hashable
from itertools import pairwise
from pathlib import Path
from typing import Any

import dask.array as da
import dask.dataframe as dd
import networkx as nx
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import scipy.sparse
from dask.delayed import Delayed
from hypothesis import given, settings
from hypothesis import strategies as st

from dgraph.edges import parts
from dgraph.edges.chunk import make_chunk
from dgraph.edges.inputs import EdgeInput, edge_input
from dgraph.edges.summary import Nulls, Summary, combine
from dgraph.edges.vertex_inputs import vertex_input
from dgraph.errors import DgraphError, EdgeTypeError, EdgeValueError, OptionError
from tests.parts import computed, ids_in, vertices_of

pytestmark = pytest.mark.usefixtures("in_this_process")


def rows_of(found: EdgeInput, nulls: Nulls = "error") -> list[tuple[Any, ...]]:
    """Return the edges (source, target[, weight]) that the parts of an input hold."""
    rows: list[tuple[Any, ...]] = []
    for number, part in enumerate(computed(found.parts)):
        chunk, receipt = make_chunk(part, found.spec, number)
        combine([receipt], nulls=nulls)
        ends = ids_in(chunk)
        if chunk.weight is None:
            rows += ends
        else:
            rows += [(*pair, weight) for pair, weight in zip(ends, chunk.weight, strict=True)]
    return rows


def summary_of(found: EdgeInput, nulls: Nulls = "error") -> Summary:
    some = enumerate(computed(found.parts))
    receipts = [make_chunk(part, found.spec, number)[1] for number, part in some]
    return combine(receipts, nulls=nulls)


EDGES = pd.DataFrame({"source": [3, 1, 2**53 + 1], "target": [1, 2, 3], "weight": [0.5, 2, 3]})
ROWS = [(3, 1, 0.5), (1, 2, 2.0), (2**53 + 1, 3, 3.0)]
BOTH = EDGES[["source", "target"]]
WHOLE = EDGES.assign(weight=[5, 2, 3])

FRAMES: dict[str, Callable[[pd.DataFrame], Any]] = {
    "pandas": lambda frame: frame,
    "dask": lambda frame: dd.from_pandas(frame, npartitions=2),
    "more partitions than rows": lambda frame: dd.concat(
        [dd.from_pandas(frame.iloc[at : at + 1], npartitions=1) for at in range(4)]
    ),
    "arrow": pa.Table.from_pandas,
    "record batch": pa.RecordBatch.from_pandas,
    "polars": pl.from_pandas,
    "lazy polars": lambda frame: pl.from_pandas(frame).lazy(),
    "structured": lambda frame: frame.to_records(index=False).view(np.ndarray),
}


@pytest.mark.parametrize("form", FRAMES)
def test_frames(form: str) -> None:
    edges = FRAMES[form](EDGES)
    assert rows_of(edge_input(edges)) == [row[:2] for row in ROWS]
    assert rows_of(edge_input(edges, weight="weight")) == ROWS
    assert rows_of(edge_input(edges, weight=True)) == ROWS
    assert rows_of(edge_input(edges, "target", "source")) == [(v, u) for u, v, _ in ROWS]
    found = edge_input(edges)
    assert (found.directed, found.vertices, found.weighted) == (False, [], False)
    assert edge_input(edges, directed=True).directed


@pytest.mark.parametrize("form", FRAMES)
def test_strings_in_frames(form: str) -> None:
    names = pd.DataFrame({"from": ["a", "b", "é"], "to": ["b", "c", "a"]})
    if form == "structured":
        names = names.astype(object)
    found = edge_input(FRAMES[form](names))
    assert rows_of(found) == [("a", "b"), ("b", "c"), ("é", "a")]
    assert summary_of(found).dtype == "str"
    assert found.spec.names[:2] == ("from", "to")


@pytest.mark.parametrize(
    ("array", "expected"),
    [
        (BOTH.to_numpy(), [row[:2] for row in ROWS]),
        (WHOLE.to_numpy(np.int64), [row[:2] for row in ROWS]),
        (np.array([["a", "b"]]), [("a", "b")]),
        (np.array([["a", "b", 1]], object), [("a", "b")]),
        (np.empty((0, 2)), []),
        (np.empty((0, 3)), []),
    ],
)
def test_arrays(array: Any, expected: list[Any]) -> None:
    assert rows_of(edge_input(array)) == expected
    lazy = da.from_array(array, chunks=(2, 1))
    found = edge_input(lazy)
    assert rows_of(found) == expected
    assert all(isinstance(part, Delayed) for part in found.parts)


def test_weights_of_arrays() -> None:
    array = WHOLE.to_numpy(np.int64)
    expected = [(3, 1, 5.0), (1, 2, 2.0), (2**53 + 1, 3, 3.0)]
    assert rows_of(edge_input(array, weight=True)) == expected
    assert rows_of(edge_input(da.from_array(array, chunks=2), weight=True)) == expected
    assert rows_of(edge_input(np.array([["a", "b", 0.5]], object), weight=True)) == [
        ("a", "b", 0.5)
    ]


@pytest.mark.parametrize(
    ("edges", "options", "error", "mention"),
    [
        (np.zeros((3, 4), int), {}, EdgeValueError, r"\(3, 4\)"),
        (np.zeros(3, int), {}, EdgeValueError, r"\(3,\)"),
        (da.zeros((3, 1), dtype=int), {}, EdgeValueError, r"\(3, 1\)"),
        (np.zeros((3, 2), int), {"weight": True}, EdgeValueError, "third column"),
        (np.zeros((3, 3), int), {"weight": "w"}, OptionError, "weight=True"),
        (np.zeros((3, 2), int), {"source": "u"}, OptionError, "source="),
        (np.ma.masked_array(np.zeros((3, 2), int)), {}, EdgeTypeError, "masked"),
        (EDGES, {"source": "u"}, EdgeValueError, "no column 'u'.*'source'"),
        (EDGES, {"weight": "w"}, EdgeValueError, "no column 'w'"),
        (EDGES, {"target": "source"}, OptionError, "two columns"),
        (BOTH, {"weight": True}, EdgeValueError, "no column 'weight'"),
        (EDGES[["source"]], {}, EdgeValueError, "two of ids"),
        (EDGES[["weight", "source"]], {}, EdgeValueError, "no 'target'"),
        (pd.concat([BOTH, BOTH], axis=1), {}, EdgeValueError, "more than one"),
        (scipy.sparse.csr_array((2, 3)), {}, EdgeValueError, "square"),
        (scipy.sparse.csr_array(np.eye(2) * 1j), {"weight": True}, EdgeTypeError, "complex"),
        (scipy.sparse.csr_array((2, 2)), {"weight": "w"}, OptionError, "weight=True"),
        (nx.Graph(), {"directed": True}, OptionError, "undirected"),
        (nx.DiGraph(), {"directed": False}, OptionError, "is directed"),
        (nx.Graph([(1, 2)]), {"weight": "km"}, EdgeValueError, "'km'"),
        (nx.Graph(), {"source": "u"}, OptionError, "source="),
        ([(1, 2)], {}, EdgeTypeError, "got list"),
        (7, {}, EdgeTypeError, "got int"),
        (None, {}, EdgeTypeError, "NoneType"),
        (pl.Series([1]), {}, EdgeTypeError, "got Series"),
        (pd.Series([1]), {}, EdgeTypeError, "got Series"),
        ("none.csv", {}, FileNotFoundError, "none.csv"),
    ],
)
def test_what_is_refused(
    edges: Any, options: dict[str, Any], error: type[Exception], mention: str
) -> None:
    with pytest.raises(error, match=mention) as caught:
        edge_input(edges, **options)
    assert isinstance(caught.value, DgraphError)


@pytest.mark.parametrize(
    ("names", "options", "expected"),
    [
        (["u", "v"], {}, [0, 1]),
        (["w", "u", "v"], {"weight": "w"}, [1, 2, 0]),
        (["x", "target", "source"], {}, [2, 1]),
        (["source", "dst"], {}, [0, 1]),
        ([0, 1, 2], {"weight": 2}, [0, 1, 2]),
        ([5, 6, 7], {"source": 7, "target": 5}, [2, 0]),
    ],
)
def test_names_of_columns(
    names: list[Hashable], options: dict[str, Any], expected: list[int]
) -> None:
    values = np.arange(len(names))
    for frame in (
        pd.DataFrame([values], columns=names),
        dd.from_pandas(pd.DataFrame([values], columns=names), npartitions=1),
    ):
        assert [int(end) for end in rows_of(edge_input(frame, **options))[0]] == expected


@pytest.mark.parametrize(
    ("names", "options", "twice"),
    [
        (["a", "a"], {}, "a"),
        (["a", "b", "b"], {}, "b"),
        (["source", "source"], {}, "source"),
        (["source", "target", "target"], {}, "target"),
        (["source", "target", "w", "w"], {"weight": "w"}, "w"),
        (["source", "a", "a"], {"source": "source"}, "a"),
        (["source", "target", "w", "w"], {}, None),
        (["a", "b", "c", "c"], {}, None),
    ],
)
def test_two_columns_of_one_name(
    names: list[str], options: dict[str, Any], twice: str | None
) -> None:
    columns = np.arange(len(names)).reshape(-1, 1)
    frame = pd.DataFrame(columns.T, columns=names)
    lazy = dd.from_pandas(frame.set_axis(range(len(names)), axis=1), npartitions=1)
    lazy.columns = names
    for edges in (frame, lazy, pa.table(list(columns), names=names)):
        if twice is None:
            assert rows_of(edge_input(edges, **options)) == [(0, 1)]
            continue
        with pytest.raises(
            EdgeValueError, match=f"have more than one column {twice!r}, expected .*: rename"
        ):
            edge_input(edges, **options)


def test_a_dask_frame_is_computed_once() -> None:
    computed_parts: list[int] = []

    def make(number: int) -> pd.DataFrame:
        computed_parts.append(number)
        return pd.DataFrame({"source": [number], "target": [number + 1], "idle": "x"})

    meta = pd.DataFrame({"source": [0], "target": [0], "idle": "x"}).iloc[:0]
    edges = dd.from_map(make, range(3), meta=meta)
    found = edge_input(edges, weight=None)
    assert computed_parts == []
    assert rows_of(found) == [(0, 1), (1, 2), (2, 3)]
    assert sorted(computed_parts) == [0, 1, 2]


def test_what_is_in_memory_is_cut_and_not_copied(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(parts.cut_rows, "__defaults__", (2,))
    array = np.arange(10).reshape(5, 2)
    found = edge_input(array)
    assert [len(part) for part in found.parts] == [2, 2, 1]
    assert all(np.shares_memory(part, array) for part in found.parts)
    frame = pd.DataFrame({"idle": 0, "source": np.arange(5), "target": np.arange(5)})
    found = edge_input(frame)
    assert rows_of(found) == [(number, number) for number in range(5)]
    whole = frame["source"].to_numpy()
    assert all(np.shares_memory(part["source"].to_numpy(), whole) for part in found.parts)
    assert [len(part) for part in vertex_input(range(5)).parts] == [2, 2, 1]


DENSE = np.array([[1.0, 2, 0], [2, 0, 0], [0, 0, 0]])


@pytest.mark.parametrize("form", ["csr", "csc", "coo", "lil", "dok", "dia", "bsr"])
@pytest.mark.parametrize("maker", [scipy.sparse.coo_array, scipy.sparse.coo_matrix])
def test_scipy_matrices(form: str, maker: Any) -> None:
    matrix = maker(DENSE).asformat(form)
    found = edge_input(matrix, weight=True)
    assert sorted(rows_of(found)) == [(0, 0, 1.0), (0, 1, 2.0)], "the upper triangle"
    assert vertices_of(found.vertices) == [0, 1, 2]
    directed = edge_input(matrix, weight=True, directed=True)
    assert sorted(rows_of(directed)) == [(0, 0, 1.0), (0, 1, 2.0), (1, 0, 2.0)]


def test_what_scipy_matrices_store() -> None:
    twice = scipy.sparse.coo_array(([1.0, 2.0, 0.0], ([0, 0, 1], [1, 1, 2])), shape=(3, 3))
    assert sorted(rows_of(edge_input(twice, weight=True))) == [(0, 1, 3.0), (1, 2, 0.0)]
    asymmetric = scipy.sparse.csr_array([[0, 1], [2, 0]])
    assert sorted(rows_of(edge_input(asymmetric, weight=True))) == [(0, 1, 1.0), (1, 0, 2.0)]
    assert rows_of(edge_input(asymmetric)) == [(0, 1)], "unweighted it is symmetric"
    csr = scipy.sparse.csr_array(([1.0, 1.0], [1, 1], [0, 2, 2]), shape=(2, 2))
    assert rows_of(edge_input(csr, weight=True)) == [(0, 1, 2.0)]
    assert csr.nnz == 2, "the user's matrix stays as it is"


@pytest.mark.parametrize("kind", [nx.Graph, nx.DiGraph, nx.MultiGraph, nx.MultiDiGraph])
def test_networkx_graphs(kind: Any) -> None:
    graph = kind([("a", "b", {"weight": 3}), ("b", "a"), ("c", "c", {"weight": 0.5})])
    graph.add_node("alone")
    found = edge_input(graph, weight=True)
    expected = {
        nx.Graph: [("a", "b", 3.0), ("c", "c", 0.5)],
        nx.DiGraph: [("a", "b", 3.0), ("b", "a", 1.0), ("c", "c", 0.5)],
        nx.MultiGraph: [("a", "b", 1.0), ("a", "b", 3.0), ("c", "c", 0.5)],
        nx.MultiDiGraph: [("a", "b", 3.0), ("b", "a", 1.0), ("c", "c", 0.5)],
    }
    assert sorted(rows_of(found)) == expected[kind]
    assert found.directed == graph.is_directed()
    assert vertices_of(found.vertices) == ["a", "alone", "b", "c"]
    assert len(rows_of(edge_input(graph))) == graph.number_of_edges()


@pytest.mark.parametrize("nodes", [(1.0, 2.0), (1, "a"), ((1, 2), (3, 4)), (True, False)])
def test_networkx_nodes_that_are_no_ids(nodes: Any) -> None:
    with pytest.raises(EdgeTypeError, match="source"):
        rows_of(edge_input(nx.Graph([nodes])))


def test_networkx_integers_are_exact() -> None:
    graph = nx.Graph([(2**53, 2**53 + 1), (np.int64(7), 2**63)])
    assert rows_of(edge_input(graph)) == [(2**53, 2**53 + 1), (7, 2**63)]
    assert rows_of(edge_input(nx.Graph())) == []


def test_paths(tmp_path: Path) -> None:
    csv = tmp_path / "roads.csv"
    csv.write_text("km,from,to,toll\n1.5,a,b,0\n2,b,c,1\n")
    named = edge_input(csv, "from", "to", "km")
    assert rows_of(named) == [("a", "b", 1.5), ("b", "c", 2.0)]
    assert rows_of(edge_input([str(csv)], "to", "from")) == [("b", "a"), ("c", "b")]
    with pytest.raises(EdgeValueError, match="no column 'x'"):
        edge_input(csv, "from", "to", "x")
    plain = tmp_path / "plain.csv"
    plain.write_text("u,v,w\n1,2,0.5\n")
    assert rows_of(edge_input(plain)) == [(1, 2)]
    assert rows_of(edge_input(plain, weight=True)) == [(1, 2, 0.5)]
    assert rows_of(edge_input(plain, weight="w")) == [(1, 2, 0.5)]
    bare = tmp_path / "bare.el"
    bare.write_text("1 2\n")
    with pytest.raises(EdgeValueError, match="no weights"):
        edge_input(bare, weight=True)
    EDGES.rename(columns={"source": "u", "weight": "w"}).to_parquet(tmp_path / "e.parquet")
    assert rows_of(edge_input(tmp_path / "e.parquet", "u", "target", "w")) == ROWS


def test_messages_about_files_name_columns_as_the_header_does(tmp_path: Path) -> None:
    csv = tmp_path / "nan.csv"
    csv.write_text("source,target,w\n1,2,0.5\n2,3,\n")
    advice = r'or pass nulls="drop" \(--nulls drop\)$'
    for weight in ("w", True):
        with pytest.raises(EdgeValueError, match=f"row 1 .*, column 'w': .*{advice}"):
            rows_of(edge_input(csv, weight=weight))
    assert rows_of(edge_input(csv)) == [(1, 2), (2, 3)]
    csv.write_text("km,to,from\n1,2,\n2,3,4\n")
    for name in (None, "km"):
        with pytest.raises(EdgeValueError, match=r"row 0 .*, column 'from'"):
            rows_of(edge_input(csv, "from", "to", name))
    csv.write_text("1,2,0.5\n2,3,\n")  # no header
    with pytest.raises(EdgeValueError, match=r"row 1 .*, column 'weight'"):
        rows_of(edge_input(csv, weight=True))


def test_paths_of_self_describing_files(shared: Path) -> None:
    data = shared / "data"
    karate = edge_input(data / "lagraph" / "karate.mtx")
    assert (len(rows_of(karate)), len(vertices_of(karate.vertices))) == (78, 34)
    assert len(rows_of(edge_input(data / "lagraph" / "karate.mtx", directed=True))) == 156
    metis = edge_input(data / "gap" / "4w.graph", weight=True, directed=True)
    assert (len(rows_of(metis)), vertices_of(metis.vertices)) == (53, list(range(1, 15)))
    with pytest.raises(OptionError, match="no columns"):
        edge_input(data / "gap" / "4w.graph", "u", "v")


def test_nothing_optional_is_imported_to_find_out_that_it_is_not_used() -> None:
    program = (
        "import sys, numpy as np; from dgraph.edges.inputs import edge_input; "
        "edge_input(np.array([[1, 2]])); "
        "sys.exit(' '.join({'networkx', 'polars', 'matplotlib'} & set(sys.modules)) or 0)"
    )
    subprocess.run([sys.executable, "-c", program], check=True, cwd=Path(__file__).parents[1])


@given(
    st.lists(st.tuples(st.integers(0, 4), st.integers(0, 4)), min_size=1, max_size=15),
    st.lists(st.integers(1, 14), max_size=4),
)
@settings(max_examples=30)
def test_partitions_do_not_matter(ends: list[tuple[int, int]], cuts: list[int]) -> None:
    whole = pd.DataFrame(ends, columns=["source", "target"])
    bounds = [0, *sorted(min(cut, len(ends)) for cut in cuts), len(ends)]
    pieces = [whole.iloc[start:stop] for start, stop in pairwise(bounds)]
    edges = dd.from_map(lambda piece: piece, pieces, meta=whole.iloc[:0])
    assert rows_of(edge_input(edges)) == ends
    assert summary_of(edge_input(edges)) == summary_of(edge_input(whole))
