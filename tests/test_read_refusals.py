"""Files that cannot be read as they are: one sentence that says why, and no value changed."""

from __future__ import annotations

import bz2
import decimal
import io
import lzma
from pathlib import Path
from typing import Any

import dask.dataframe as dd
import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import scipy.sparse
from distributed import Client
from fsspec.registry import known_implementations  # type: ignore[import-untyped]

import dgraph as dg
from dgraph.edges.read import read_edges
from dgraph.errors import EdgeTypeError, EdgeValueError, EmptyWarning, OptionError
from tests.text_files import listed, write

MATRIX = "%%MatrixMarket matrix coordinate pattern general\n"


def parquet(path: Path, **columns: Any) -> Path:
    pq.write_table(pa.table(columns), path)
    return path


def packed(**arrays: Any) -> bytes:
    stream = io.BytesIO()
    np.savez(stream, allow_pickle=True, **arrays)
    return stream.getvalue()


def alone(array: Any) -> bytes:
    stream = io.BytesIO()
    np.save(stream, array)
    return stream.getvalue()


@pytest.mark.parametrize(
    ("name", "content", "says"),
    [
        ("cut.csv.bz2", bz2.compress(b"1,2\n" * 99)[:-9], "no complete bz2 file"),
        (
            "cut.csv.bz2",
            bz2.compress(b"1,2\n") + bz2.compress(b"2,3\n")[:-9],
            "no complete bz2",
        ),
        ("cut.csv.xz", lzma.compress(b"1,2\n" * 99)[:-9], "no complete xz file"),
        ("weight.csv", "1,2,1\n2,3,1_000\n", "line 2 .*'1_000' as its weight"),
        ("wraps.graph", f"3 2\n{2**64 + 2} 3\n1\n1\n", "line 2 .* at most 18 digits"),
        ("square.graph", "3 ²\n2 3\n1\n1\n".encode("latin-1"), "begins with '3 ²'"),
        ("long.graph", f"{10**30} 1\n2\n1\n", "too short for 10+ vertices"),
        ("long.graph.bz2", bz2.compress(f"{10**13} 1\n2\n1\n".encode()), "too short for 10+ v"),
        ("zero.graph", "3 2\n1\n0 2\n1\n", "vertex 2 of .* lists 0, .* 1 to 3, .*: add 1"),
        ("beyond.graph", "3 2\n2 4\n1\n1\n", "vertex 1 of .* lists 4, .*: repair the list"),
        ("nine.graph", "3 2 9\n2 3\n1\n1\n", "the format '9' in its first line"),
        ("four.graph", "3 2 0011\n2 3\n1\n1\n", "the format '0011' in its first line"),
        ("edges.gr", "p sp 3 1\ne 1 2 5\n", "line 2 .* is 'e 1 2 5', expected lines that"),
        ("arcs.gr", "p sp 3 1\narc 1 2 5\n", "line 2 .* is 'arc 1 2 5', expected lines"),
        ("twice.gr", "p sp 3 1\np sp 4 1\na 1 2 5\n", "line 2 .* is 'p sp 4 1', expected"),
        ("short.gr", "c\np sp 3\na 1 2 5\n", "arcs, got 'p sp 3'"),
        ("words.gr", "p sp x 2\na 1 2 5\n", "vertices and arcs, got 'p sp x 2'"),
        ("negative.mtx", MATRIX + "-3 -3 0\n", "columns and entries, got '-3 -3 0'"),
        ("short.mtx", MATRIX + "3 3\n", "columns and entries, got '3 3'"),
        ("none.npz", b"hello", "none.npz is no .npz file"),
        ("nothing.npz", b"", "nothing.npz is no .npz file"),
        ("cut.npz", packed(source=[1], target=[2])[:-30], "cut.npz is no .npz file"),
        ("one.npz", alone([1, 2]), "one.npz is no .npz file"),
        ("pickled.npz", packed(source=np.array([{}]), target=[2]), "pickled.npz is no .npz f"),
        ("uneven.npz", packed(source=[1, 2], target=[3]), r"source \(2,\), target \(1,\)"),
        ("flat.npz", packed(source=[[1, 2]], target=[[3, 4]]), r"source \(1, 2\), target"),
    ],
)
@pytest.mark.usefixtures("in_this_process")
def test_what_is_wrong_with_a_file_is_one_sentence(
    tmp_path: Path, name: str, content: str | bytes, says: str
) -> None:
    path = write(tmp_path / name, content)
    with pytest.raises(EdgeValueError, match=says):
        read_edges(path).compute()


@pytest.mark.parametrize(
    ("path", "says"),
    [
        ("", "got an empty one: name a file"),
        (b"a.csv", "expected a path, got bytes: give a str"),
        (None, "expected a path, got NoneType: give a str"),
        ("foo://a.csv", "'foo://a.csv' is on no file system that fsspec knows"),
        ("lost://a.csv", "'lost://a.csv' needs a package that is not installed: Get it"),
    ],
)
def test_paths_that_lead_to_no_file_system(
    path: Any, says: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    known = {"class": "lost_package.System", "err": "Get it"}
    monkeypatch.setitem(known_implementations, "lost", known)
    for one_or_many in (path, [path]):
        with pytest.raises((OptionError, EdgeTypeError), match=says):
            read_edges(one_or_many)


@pytest.mark.usefixtures("in_this_process")
@pytest.mark.parametrize("codec", ["gz", "bz2", "xz", "zst"])
def test_files_of_no_bytes_hold_no_edges_however_they_are_compressed(
    tmp_path: Path, codec: str
) -> None:
    with pytest.warns(EmptyWarning, match="holds no edges"):
        assert listed(write(tmp_path / f"a.csv.{codec}", "")) == []


@pytest.mark.usefixtures("in_this_process")
def test_lines_of_dimacs_may_be_of_all_its_kinds(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("dgraph.edges.blocks.BLOCK", 13)
    text = "c one\r\np sp 3 2\r\n\r\na 1 2 5\r\nc\r\n a 2 3 1"
    assert listed(write(tmp_path / "a.gr", text)) == [(1, 2, 5.0), (2, 3, 1.0)]


@pytest.mark.usefixtures("in_this_process")
def test_an_array_of_ones_own_may_be_called_shape(tmp_path: Path) -> None:
    path = write(tmp_path / "a.npz", packed(source=[1], target=[2], shape=[7]))
    assert listed(path) == [(1, 2)]


@pytest.mark.usefixtures("in_this_process")
def test_one_column_is_not_both_ends(tmp_path: Path) -> None:
    text = write(tmp_path / "a.csv", "u,v\n1,2\n")
    table = parquet(tmp_path / "a.parquet", u=[1], v=[2])
    choices: list[list[Any]] = [[0, 0], ["v", "v"], ["u", 0]]
    for path in (text, table):
        for columns in choices:
            with pytest.raises(OptionError, match="source and target are both"):
                read_edges(path, columns=columns)


@pytest.mark.usefixtures("in_this_process")
@pytest.mark.parametrize(
    ("values", "dtype", "read"),
    [
        ([1, 300], "int16", [1, 300]),
        ([1, 300], "int8", None),
        ([-1], "uint64", None),
        (pa.array([2**64 - 1], pa.uint64()), "int64", None),
        (pa.array([2**64 - 1], pa.uint64()), "str", ["18446744073709551615"]),
        ([1, None, 2**60 + 1], "Int64", [1, None, 2**60 + 1]),
        ([1, None], "int64", None),
        ([2.0, 5.0], "int64", None),
        ([2.0, 5.0], "str", None),
        ([True], "int64", None),
        ([True], "str", None),
        (pa.array([None], pa.float64()), "Int64", [None]),
        (["7", "+8", "007"], "int64", [7, 8, 7]),
        (["7", "x"], "int64", None),
        (["1_000"], "int64", None),
        (["0x10"], "int64", None),
        (["2.0"], "int64", None),
        ([" 7"], "int64", None),
        ([str(2**64 - 1)], "uint64", [2**64 - 1]),
        ([str(2**64)], "uint64", None),
        (pa.array([2**64 - 1, 1, None], pa.uint64()), "UInt64", [2**64 - 1, 1, None]),
        ([b"Ann", None], "str", ["Ann", None]),
        ([decimal.Decimal("7")], "int64", [7]),
        ([decimal.Decimal("7.5")], "int64", None),
        (pa.array(["7", "7"]).dictionary_encode(), "uint8", [7, 7]),
    ],
)
def test_no_dtype_changes_an_id(
    tmp_path: Path, values: Any, dtype: str, read: list[Any] | None
) -> None:
    ends: dict[str, Any] = {"u": values, "v": values}
    frame = read_edges(parquet(tmp_path / "a.parquet", **ends), dtype=dtype)
    if read is None:
        with pytest.raises(EdgeValueError, match=f"column '[uv]' .* is no {dtype}: .*dtype="):
            frame.compute()
    else:
        assert frame.columns.to_list() == ["u", "v"]
        found = frame.compute()
        assert found["u"].dtype == dtype == str(frame["u"].dtype)
        assert found["v"].astype(object).where(found["v"].notna(), None).to_list() == read


@pytest.mark.usefixtures("in_this_process")
@pytest.mark.parametrize("word", ["1_000", "0x10", "7.0", "٣", "", "9" * 30, "007", "+7", "-7"])
def test_text_and_parquet_take_the_same_strings_for_integers(tmp_path: Path, word: str) -> None:
    text = write(tmp_path / "a.csv", f'"{word}","{word}"\n')
    for path in (text, parquet(tmp_path / "a.parquet", source=[word], target=[word])):
        if word.lstrip("+-0") == "7":
            assert listed(path, dtype="int64") == [(int(word), int(word))]
        else:
            with pytest.raises(EdgeValueError):
                listed(path, dtype="int64")


@pytest.mark.usefixtures("in_this_process")
def test_the_range_of_a_dtype_is_told_as_it_is(tmp_path: Path) -> None:
    path = parquet(tmp_path / "a.parquet", source=[-1], target=[1])
    with pytest.raises(EdgeValueError, match="-1 is not between 0 and 18446744073709551615;"):
        read_edges(path, dtype="uint64").compute()


def not_utf8(*texts: bytes) -> pa.Array:
    """Return strings as a writer leaves them that does not look."""
    return pa.array(texts, pa.binary()).view(pa.string())


@pytest.mark.parametrize("dtype", [None, "str", "int64"])
def test_strings_of_parquet_that_are_no_utf8_are_told(
    embedded: Client, tmp_path: Path, dtype: str | None
) -> None:
    wrong = not_utf8(b"\xff\xfe", b"a")
    path = parquet(tmp_path / "a.parquet", u=wrong, v=wrong)
    for edges in (read_edges(path, dtype=dtype), pq.read_table(path)):
        with pytest.raises(EdgeValueError, match=r"'[uv]' holds b'\\xff\\xfe', expected text"):
            dg.from_edges(edges, client=embedded)


@pytest.mark.usefixtures("in_this_process")
def test_dtypes_of_weights_and_of_other_formats(tmp_path: Path) -> None:
    path = parquet(tmp_path / "a.parquet", source=[1], target=[2], weight=["0.5"])
    found = read_edges(path, dtype={"target": "str", "weight": "float32"}).compute()
    assert found.dtypes.astype(str).to_list() == ["int64", "str", "float32"]
    assert found.values.tolist() == [[1, "2", 0.5]]
    for wrong in (["1_000"], [True]):
        path = parquet(tmp_path / "a.parquet", source=[1], target=[2], weight=wrong)
        with pytest.raises(EdgeValueError, match=r"column 'weight' .* is no float64"):
            read_edges(path, dtype={"weight": "float64"}).compute()
    wide = write(tmp_path / "a.npz", packed(source=[300], target=[2]))
    assert listed(wide, dtype="uint16") == [(300, 2)]
    with pytest.raises(EdgeValueError, match="column 'source' of dtype int64 is no int8"):
        read_edges(wide, dtype="int8").compute()


def test_integers_of_which_some_are_missing_do_not_become_floats(
    embedded: Client, tmp_path: Path
) -> None:
    parquet(tmp_path / "a.parquet", source=[1, 2], target=[2, 3])
    ids = pa.array([2**64 - 1, None], pa.uint64())
    parquet(tmp_path / "b.parquet", source=ids, target=pa.array([2**53 + 1, 7], pa.uint64()))
    with pytest.raises(EdgeValueError, match=r"1 edge has a missing id .*'source'"):
        dg.from_edges(tmp_path, client=embedded)
    with dg.from_edges(tmp_path, nulls="drop", client=embedded) as g:
        found = embedded.compute(g.edges()).result()
    assert found.dtypes.to_list() == [np.uint64, np.uint64]
    expected = [(1, 2), (2, 3), (2**53 + 1, 2**64 - 1)]
    assert sorted(found.itertuples(index=False, name=None)) == expected


@pytest.mark.parametrize("named", [("a", "b", "a"), ("a", "b", "b"), ("b", "a", "a")])
def test_a_column_of_ids_may_be_the_weights_as_well(
    embedded: Client, tmp_path: Path, named: tuple[str, str, str]
) -> None:
    frame = pd.DataFrame({"c": [9, 9], "a": [1, 2], "b": [2, 3]})
    frame.to_parquet(tmp_path / "a.parquet")
    frame.to_csv(tmp_path / "a.csv", index=False)
    table = pa.Table.from_pandas(frame)
    files = [tmp_path / "a.parquet", tmp_path / "a.csv"]
    for edges in (frame, table, dd.from_pandas(frame, npartitions=2), *files):
        with dg.from_edges(edges, *named, client=embedded) as g:
            found: pd.DataFrame = embedded.compute(g.edges()).result()
        assert sorted(found["weight"]) == frame[named[2]].to_list()


def test_a_dtype_that_a_parquet_file_does_not_hold_is_told_with_the_file(
    embedded: Client, tmp_path: Path
) -> None:
    parquet(tmp_path / "a.parquet", u=["1"], v=["2"])
    bad = parquet(tmp_path / "b.parquet", u=["x"], v=["y"])
    for path, where in (bad, r"b\.parquet"), (tmp_path, r"a\.parquet or one of the 1 after it"):
        with pytest.raises(EdgeValueError, match=rf"{where}: column '[uv]' .* is no int64"):
            dg.from_edges(read_edges(path, dtype="int64"), client=embedded)


def test_a_file_without_a_column_of_the_others_is_named(
    embedded: Client, tmp_path: Path
) -> None:
    parquet(tmp_path / "a.parquet", source=[1], target=[2], when=[3])
    parquet(tmp_path / "b.parquet", source=[1], to=[2], when=[3])
    with pytest.raises(EdgeValueError, match=r"b.parquet has no column 'target', but .*a.parq"):
        dg.from_edges(tmp_path, client=embedded)


def test_zeros_that_fill_up_blocks_are_no_edges(embedded: Client) -> None:
    dense = np.array([[0, 1, 0, 0], [2, 0, 0, 0], [0, 0, 0, 0], [0, 0, 0, 3]])
    expected = [(0, 1, 1.0), (1, 0, 2.0), (3, 3, 3.0)]
    forms = [scipy.sparse.bsr_array(dense, blocksize=(2, 2)), scipy.sparse.dia_array(dense)]
    for matrix in forms:
        with dg.from_edges(matrix, weight=True, directed=True, client=embedded) as g:
            found: pd.DataFrame = embedded.compute(g.edges()).result()
        assert sorted(found.itertuples(index=False, name=None)) == expected
