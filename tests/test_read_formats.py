"""Files that are not text edge lists: Parquet, matrices, NPZ, METIS."""

from __future__ import annotations

import gzip
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import scipy.io
import scipy.sparse
from hypothesis import given, settings
from hypothesis import strategies as st

from dgraph.edges.read import read_edges
from dgraph.edges.sources import open_edges
from dgraph.errors import EdgeValueError
from tests.text_files import listed, write

pytestmark = pytest.mark.usefixtures("in_this_process")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("formats")


@pytest.mark.parametrize("damage", ["", "1,2\n3,4\n", "cut", "footer"])
def test_a_parquet_file_that_is_none_is_named(tmp_path: Path, damage: str) -> None:
    pd.DataFrame({"source": [1, 2], "target": [2, 3]}).to_parquet(tmp_path / "a.parquet")
    whole = (tmp_path / "a.parquet").read_bytes()
    damaged = {"cut": whole[:-100], "footer": whole[:-60] + b"\xff" * 40 + whole[-20:]}
    data = damaged.get(damage, damage.encode())
    write(tmp_path / "b.parquet", data)
    write(tmp_path / "c.parquet.gz", gzip.compress(data))
    for path, name in ((tmp_path / "[ab]*", "b.parquet"), (tmp_path / "c*", "c.parquet.gz")):
        with pytest.raises(EdgeValueError, match=f"{name} is no valid parquet file: write"):
            read_edges(path).compute()


def test_parquet_keeps_its_columns_unless_some_are_selected(tmp_path: Path) -> None:
    frame = pd.DataFrame({"when": [1, 2], "u": ["a", "b"], "v": ["b", "c"], "w": [0.5, 1]})
    frame.to_parquet(tmp_path / "a.parquet", row_group_size=1)
    assert read_edges(tmp_path / "a.parquet").columns.to_list() == ["when", "u", "v", "w"]
    assert listed(tmp_path / "a.parquet", columns=["u", "v", "w"]) == [
        ("a", "b", 0.5),
        ("b", "c", 1.0),
    ]
    chosen = read_edges(tmp_path, columns=["u", "v"])
    assert chosen.columns.to_list() == ["source", "target"]
    with pytest.raises(EdgeValueError, match="when"):
        read_edges(tmp_path, columns=["u", "x"])
    packed = gzip.compress((tmp_path / "a.parquet").read_bytes())
    assert len(read_edges(write(tmp_path / "b.parquet.gz", packed))) == 2


@given(
    st.lists(st.tuples(st.integers(0, 5), st.integers(0, 5), st.integers(1, 9)), max_size=12),
    st.booleans(),
    st.sampled_from(["mtx", "npz"]),
)
@settings(max_examples=25)
def test_matrices_are_read_as_scipy_does(
    folder: Path, edges: list[tuple[int, int, int]], symmetric: bool, suffix: str
) -> None:
    dense = np.zeros((6, 6))
    for source, target, weight in edges:
        dense[source, target] = weight
        if symmetric:
            dense[target, source] = weight
    path = folder / f"matrix.{suffix}"
    matrix = scipy.sparse.coo_array(dense)
    if suffix == "mtx":
        scipy.io.mmwrite(path, matrix, symmetry="symmetric" if symmetric else "general")
    else:
        scipy.sparse.save_npz(path, matrix)
    first = 1 if suffix == "mtx" else 0
    found = np.zeros((6, 6))
    for source, target, weight in listed(path):
        found[source - first, target - first] += weight
    np.testing.assert_array_equal(found, dense)
    half = open_edges(path, half=True)
    assert half.vertices == range(first, first + 6)
    frame = half.frame.compute()
    is_symmetric = (dense == dense.T).all()
    kept = np.tril(dense) if is_symmetric and symmetric and suffix == "mtx" else np.triu(dense)
    assert len(frame) == np.count_nonzero(kept if is_symmetric else dense)


def test_npz_of_plain_arrays(tmp_path: Path) -> None:
    np.savez(tmp_path / "a.npz", source=[1, 2], target=[2, 3], weight=[0.5, 1])
    np.savez(tmp_path / "b.npz", edges=np.array([[1, 2], [2, 3]]))
    np.savez(tmp_path / "c.npz", x=[1])
    assert listed(tmp_path / "a.npz") == [(1, 2, 0.5), (2, 3, 1.0)]
    assert listed(tmp_path / "b.npz") == [(1, 2), (2, 3)]
    assert open_edges(tmp_path / "b.npz").vertices is None
    with pytest.raises(EdgeValueError, match="expected source and target"):
        read_edges(tmp_path / "c.npz").compute()


@pytest.mark.parametrize(
    ("name", "rows", "weights"),
    [
        ("gap/4.el", 256, None),
        ("gap/4.wel", 256, "own"),
        ("gap/4.gr", 256, "own"),
        ("gap/4.mtx", 256, None),
        ("gap/4w.mtx", 256, "own"),
        ("gap/4.graph", 53, None),
        ("gap/4w.graph", 53, "own"),
    ],
)
def test_one_graph_in_seven_forms(
    shared: Path, name: str, rows: int, weights: str | None
) -> None:
    source = open_edges(shared / "data" / name, half=True)
    frame = source.frame.compute()
    assert len(frame) == rows
    first = 0 if name.endswith("el") else 1
    assert source.vertices == (None if first == 0 else range(1, 15))
    frame = frame[frame["source"] != frame["target"]]
    arcs = frame.groupby(["source", "target"], as_index=False).min()
    assert len(arcs) == 53
    assert ("weight" in frame) == (weights is not None)
    if weights:
        assert arcs["weight"].sum() == 4926
        lightest = arcs[arcs["source"] == first].set_index("target")["weight"]
        assert lightest.loc[first + 11] == 2


@pytest.mark.parametrize(
    ("text", "rows", "once"),
    [
        ("3 1\n2\n1\n", 2, 1),  # the list of vertex 3 is empty, and ends with the file
        ("3 1\n2\n1\n\n", 2, 1),
        ("3 2\n2\n3\n\n", 2, 2),  # two arcs, as GAP writes them
        ("2 2\n1 2\n1\n", 3, 2),  # a loop stands once, and counts
        ("2 2\n1 1 2\n1\n", 4, 3),  # twice, and counts
        ("2 1\n1 2\n1\n", 3, 2),  # once, and does not count
        ("2 2\n2 2\n1 1\n", 4, 2),
        ("3 2 1\n2 7\n1 7 3 8\n2 8\n", 4, 2),
        ("3 2 10\n9 2\n9 1 3\n9 2\n", 4, 2),  # vertices have one weight if nothing else is said
        ("3 2 11\n9 2 5\n9 1 5 3 7\n9 2 7\n", 4, 2),
        ("2 1 10\n1 2\n2 1\n", 2, 1),
        ("0 0\n", 0, 0),
    ],
)
def test_lists_of_metis_that_agree_with_their_first_line(
    tmp_path: Path, text: str, rows: int, once: int
) -> None:
    path = write(tmp_path / "a.graph", text)
    assert len(read_edges(path)) == rows
    assert len(open_edges(path, half=True).frame) == once


@given(
    st.integers(1, 6).flatmap(
        lambda n: st.tuples(
            st.just(n), st.sets(st.tuples(st.integers(1, n), st.integers(1, n)), max_size=9)
        )
    ),
    st.integers(0, 40),
    st.booleans(),
)
def test_a_file_of_metis_with_a_line_missing_or_a_number_changed_is_refused(
    folder: Path, graph: tuple[int, set[tuple[int, int]]], at: int, whole: bool
) -> None:
    size, drawn = graph
    edges = sorted({(min(edge), max(edge)) for edge in drawn if edge[0] != edge[1]})
    near = {v: [sum(e) - v for e in edges if v in e] for v in range(1, size + 1)}
    lines = [" ".join(map(str, near[v])) for v in near]
    text = "\n".join([f"{size} {len(edges)}", *lines, ""])
    assert len(listed(write(folder / "whole.graph", text))) == 2 * len(edges)
    owner = at % size + 1
    if not near[owner]:
        return
    lines[owner - 1 :] = [] if whole else [" ".join(map(str, near[owner][1:])), *lines[owner:]]
    lacking = len(edges) * 2 - sum(len(line.split()) for line in lines)
    if not whole and lacking == len(edges):
        return  # so many arcs
    text = "\n".join([f"{size} {len(edges)}", *lines, ""])
    with pytest.raises(EdgeValueError, match="expected"):
        listed(write(folder / "cut.graph", text))


@pytest.mark.parametrize(
    ("name", "rows", "once", "vertices"),
    [
        ("lagraph/karate.mtx", 156, 78, 34),
        ("lagraph/jagmesh7.mtx", 7450, 4294, 1138),
        ("lagraph/west0067.mtx", 294, 294, 67),
        ("networkit/karate.graph", 156, 78, 34),
        ("networkit/lesmis.graph", 508, 254, 77),
        ("networkit/power.graph", 13188, 6594, 4941),
    ],
)
def test_self_describing_files(
    shared: Path, name: str, rows: int, once: int, vertices: int
) -> None:
    path = shared / "data" / name
    half = open_edges(path, half=True)
    assert len(read_edges(path)) == rows
    assert half.vertices == range(1, vertices + 1)
    assert len(half.frame) == once
