"""`read_edges` against Python's csv module, and on what goes wrong with files."""

from __future__ import annotations

import bz2
import gzip
import lzma
import warnings
from collections.abc import Callable, Sequence
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dgraph.edges import blocks
from dgraph.edges.files import find_files
from dgraph.edges.read import read_edges
from dgraph.edges.sources import open_edges
from dgraph.errors import (
    DgraphError,
    DgraphWarning,
    EdgeTypeError,
    EdgeValueError,
    EmptyWarning,
    IdWarning,
    MissingFileError,
    OptionError,
)
from tests.text_files import TextCase, is_integer, listed, read_stupidly, text_cases, write

pytestmark = pytest.mark.usefixtures("in_this_process")

BOM = b"\xef\xbb\xbf"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("edges")


def typed(rows: Sequence[tuple[str, ...]]) -> list[tuple[Any, ...]]:
    """Turn rows of text into what they mean: integers only if every id is one."""
    ids = [field for row in rows for field in row[:2] if field]
    kind: Callable[[str], Any] = int if all(map(is_integer, ids)) else str
    return [
        (*(kind(field) if field else None for field in row[:2]), *map(float, row[2:]))
        for row in rows
    ]


@given(case=text_cases(), block=st.sampled_from([7, 40, 1000]))
@settings(max_examples=50)
def test_any_text_is_read_as_by_the_csv_module(
    folder: Path, case: TextCase, block: int
) -> None:
    assert read_stupidly(case) == case.rows, "the oracle itself"
    path = write(folder / "any.csv", case.content)

    def floats(side: int) -> bool:
        words = {row[side] for row in case.rows} - {""}
        return "1.0" in words and all(map(is_integer, words - {"1.0"}))

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(blocks, "BLOCK", block)
        patch.setattr(blocks, "BATCH", 7)
        doubted = any(map(floats, (0, 1)))
        with pytest.warns(IdWarning) if doubted else warnings.catch_warnings():
            warnings.simplefilter("always" if doubted else "ignore", DgraphWarning)
            assert listed(path, sep=case.sep, header=case.header) == typed(case.rows)


@pytest.mark.filterwarnings("ignore::dgraph.errors.DgraphWarning")
@given(case=text_cases())
@settings(max_examples=30)
def test_lines_of_plain_integers_may_go_the_fast_way_or_not(
    folder: Path, case: TextCase
) -> None:
    path = write(folder / "fast.csv", case.content)
    fast = listed(path, sep=case.sep, header=case.header)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(blocks, "clean_rows", lambda buffer, at, *rest: (0, at))
        assert listed(path, sep=case.sep, header=case.header) == fast


LINE = st.text(alphabet='0123456789- \t,"+.#a', max_size=12)


@pytest.mark.filterwarnings("ignore::dgraph.errors.IdWarning")
@given(lines=st.lists(LINE, max_size=8), sep=st.sampled_from([" ", ","]))
@settings(max_examples=100)
def test_both_ways_refuse_the_same_lines(folder: Path, lines: list[str], sep: str) -> None:
    path = write(folder / "wild.txt", "\n".join(["1,2" if sep == "," else "1 2", *lines]))

    def outcome() -> Any:
        try:
            return listed(path, sep=sep, header=False)
        except DgraphError as error:
            return str(error)

    first = outcome()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(blocks, "clean_rows", lambda buffer, at, *rest: (0, at))
        assert outcome() == first


@pytest.mark.parametrize(
    ("text", "suffix", "expected"),
    [
        ("1 2\n2 3\n", ".el", [(1, 2), (2, 3)]),
        ("1\t2\n3\t4\n", ".tsv", [(1, 2), (3, 4)]),
        ("1;2;0.5\n3;4;1\n", ".csv", [(1, 2, 0.5), (3, 4, 1.0)]),
        ("1  2  0.5\n", ".konect", [(1, 2, 0.5)]),
        ("src,dst,w\n5,6,0.5\n", ".csv", [(5, 6, 0.5)]),
        ("from,to\nAnn,Bob\n", ".csv", [("Ann", "Bob")]),
        ("Ann,Bob\nBob,Cid\n", ".csv", [("Ann", "Bob"), ("Bob", "Cid")]),
        ("a,b,kind\nx,y,road\n", ".csv", [("a", "b"), ("x", "y")]),
        ("s,t\n1,1.10\n2,1.9-rc\n", ".csv", [("1", "1.10"), ("2", "1.9-rc")]),
        ("s,t\n1.5,007\n1.2.3,8\n", ".csv", [("1.5", "007"), ("1.2.3", "8")]),
        ("a e5\na -\nb .\n", ".el", [("a", "e5"), ("a", "-"), ("b", ".")]),
        (",source,target\n0,a,b\n1,b,c\n", ".csv", [("a", "b"), ("b", "c")]),
        ("Id,Source,Target,Weight\n9,1,2,3\n", ".csv", [(1, 2, 3.0)]),
        ("source\ttarget\n", ".tsv", []),
        ("New York\tBoston\n", ".txt", [("New York", "Boston")]),
        ('"a, b",c\n', ".csv", [("a, b", "c")]),
        ("#tag 1\n1 #2\n", ".txt", [("1", "#2")]),
        ("007 8\n9 10\n", ".el", [("007", "8"), ("9", "10")]),
        ("9 10\n9 x\n", ".el", [("9", "10"), ("9", "x")]),
        ("1\r2,x\r", ".none", None),
        ("1,2\r3,4\r", ".csv", [(1, 2), (3, 4)]),
        ("1,2,\n3,4,0.5\n", ".csv", [(1, 2, None), (3, 4, 0.5)]),
        ("1,2,NA\n3,4,nan\n5,6,+7\n", ".csv", [(1, 2, None), (3, 4, None), (5, 6, 7.0)]),
        ("18446744073709551615 1\n", ".el", [(2**64 - 1, 1)]),
        ("-9223372036854775808 1\n", ".el", [(-(2**63), 1)]),
        ("", ".csv", []),
        ("# nothing\n# here\n", ".el", []),
    ],
)
def test_what_is_not_said_is_found_out(
    tmp_path: Path, text: str, suffix: str, expected: list[tuple[Any, ...]] | None
) -> None:
    path = write(tmp_path / f"file{suffix}", text)
    if expected is None:
        with pytest.raises(OptionError, match="format="):
            read_edges(path)
    else:
        with nullcontext() if expected else pytest.warns(EmptyWarning):
            assert listed(path) == expected


@pytest.mark.parametrize(
    ("text", "suffix", "mentions"),
    [
        ("1 2\n3\n", ".el", ["line 2 ", "1 field,", "expected 2"]),
        ("# c\n1 2\n\n3 4 5\n", ".el", ["line 4 ", "3 fields"]),
        ("a,b,1\nb,c,x\n", ".csv", ["line 2 ", "'x'"]),
        ("1 8237827382738273827382\n", ".el", ["8237827382738273827382", "line 1 ", "dtype"]),
        ("1 18446744073709551616\n", ".el", ["18446744073709551616"]),
        ("-1 18446744073709551615\n", ".el", ["18446744073709551615", "-1"]),
        ("1 2\n2,3\n", ".csv", ["line 1 ", "1 field,", "--sep"]),
        ("My edges\n1;2\n", ".csv", ["line 1 ", "1 field,", "--sep"]),
        ('1,"2\n3,4\n', ".csv", ["line 1 ", "quote"]),
        ('1,"2"3\n', ".csv", ["line 1 ", "quote"]),
        ("1,2\n".encode("utf-16"), ".csv", ["UTF-16"]),
        ("a,\xff\n".encode("latin-1"), ".csv", ["line 1 ", "UTF-8"]),
        ("a,b\nMünchen,Ulm\n".encode("latin-1"), ".csv", ["line 2 of", "UTF-8"]),
        ("a,b\n\n1,x\né,Køln\ny,Køln\n".encode("latin-1"), ".csv", ["line 4 of", "UTF-8"]),
        ("a,b\n1,x\n2,Køln\n".encode("latin-1"), ".csv", ["line 3 of", "UTF-8"]),
        ("%%MatrixMarket matrix coordinate real general\n2 3 0\n", ".mtx", ["2 x 3", "square"]),
        ("%%MatrixMarket matrix array real general\n2 2\n", ".mtx", ["array"]),
        ("%%MatrixMarket matrix coordinate complex general\n2 2 0\n", ".mtx", ["complex"]),
        ("%%MatrixMarket matrix coordinate pattern general\n2 2 2\n1 2\n", ".mtx", ["1", "2"]),
        ("%%MatrixMarket matrix coordinate pattern general\n", ".mtx", ["size"]),
        ("2 1\n2\nx\n", ".graph", ["line 3 "]),
        ("1 1\n1\n1\n", ".graph", ["line 3 "]),
        ("2 1 1\n2 7\n1\n", ".graph", ["vertex 2", "pairs"]),
        ("a b\n", ".graph", ["METIS"]),
        ("3 5\n2\n1\n\n", ".graph", ["1 edge,", "expected 5", "first line"]),
        ("4 3\n2 3\n1 3\n", ".graph", ["lists of 2 of its 4 vertices", "cut off"]),
        ("4 3\n2 3\n1 3\n1 2", ".graph", ["lists of 3 of its 4"]),
        ("3 2\n2\n1 3\n", ".graph", ["lists of 2 of its 3"]),
        ("3 2\n2\n1 3\n\n", ".graph", ["vertex 2 lists 3", "vertex 3 does not list 2"]),
        ("2 1\n2 2\n1\n", ".graph", ["vertex 1 lists 2", "vertex 2 lists 1 less often"]),
        ("3 2 1\n2 7\n1 9 3 8\n2 8\n", ".graph", ["edge 1 2 weighs 7 at", "and 9 at vertex 2"]),
        (b"\x1f\x8b\x08", ".csv.gz", ["gz", "complete"]),
    ],
)
def test_what_is_wrong_with_a_file_is_said(
    tmp_path: Path, text: str | bytes, suffix: str, mentions: list[str]
) -> None:
    path = write(tmp_path / f"file{suffix}", text)
    with pytest.raises(EdgeValueError) as caught:
        read_edges(path).compute()
    assert all(part in str(caught.value) for part in mentions), str(caught.value)


@pytest.mark.parametrize(
    ("text", "column", "shown"),
    [
        ("source,target\n1,2.0\n2,3.0\n", "'target'", "'2.0' in line 2 "),
        ("from,to\n1,2\n3.,4\n", "'from'", "'3.' in line 3 "),
        ("Ann,1\nBob,\nCid,-.5\n", "'target'", "'-.5' in line 3 "),
        ("1.0e+00 2.0e+00\n", "'source'", "'1.0e+00' in line 1 "),
    ],
)
def test_of_a_column_of_floats_one_is_warned(
    tmp_path: Path, text: str, column: str, shown: str
) -> None:
    path = write(tmp_path / "a.csv", text)
    with pytest.warns(IdWarning) as caught:
        rows = listed(path)
    (warning,) = caught
    for part in (f"column {column} holds floats", shown, "--dtype str"):
        assert part in str(warning.message)
    assert rows == listed(path, dtype="str")
    assert len(rows) == text.count("\n") - ("o" in text[:6])


def test_the_line_is_named_in_later_blocks_too(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(blocks, "BLOCK", 16)
    path = write(tmp_path / "long.el", "1 2\n" * 50 + "3\n")
    with pytest.raises(EdgeValueError, match=r"line 51 .* 1 field,"):
        read_edges(path)


@pytest.mark.parametrize("sep", ["", "ab", "\n"])
def test_a_wrong_separator_says_what_is_allowed(tmp_path: Path, sep: str) -> None:
    with pytest.raises(OptionError, match=r"sep must be one of ' ', "):
        read_edges(write(tmp_path / "a.csv", "1,2\n"), sep=sep)


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({"columns": ["b", "c"]}, [(2, 3)]),
        ({"columns": [3, 0]}, [(4, 1)]),
        ({"columns": ["a", "b", "d"]}, [(1, 2, 4.0)]),
        ({"columns": [0, 1], "dtype": "str"}, [("1", "2")]),
        ({"dtype": np.uint8, "columns": [0, 1]}, [(1, 2)]),
        ({"dtype": {"source": str, "target": str, "weight": "float32"}}, [("1", "2", 3.0)]),
    ],
)
def test_options_choose_columns_and_dtypes(
    tmp_path: Path, options: dict[str, Any], expected: list[Any]
) -> None:
    assert listed(write(tmp_path / "a.csv", "a,b,c,d\n1,2,3,4\n"), **options) == expected


@pytest.mark.parametrize(
    ("options", "error", "mention"),
    [
        ({"columns": ["b", "x"]}, EdgeValueError, "'x'"),
        ({"columns": "ab"}, OptionError, "names or positions"),
        ({"columns": [0, -1]}, OptionError, "from 0 on"),
        ({"columns": ["a", "b"], "header": False}, OptionError, "header=False"),
        ({"header": 0}, OptionError, "True, False or None"),
        ({"dtype": float}, EdgeTypeError, "integer or string"),
        ({"dtype": {"id": "int64"}}, OptionError, "'id'"),
        ({"format": "xls"}, OptionError, "parquet"),
    ],
)
def test_wrong_options_say_what_is_allowed(
    tmp_path: Path, options: dict[str, Any], error: type[Exception], mention: str
) -> None:
    path = write(tmp_path / "a.csv", "a,b\n1,2\n")
    with pytest.raises(error, match=mention):
        read_edges(path, **options)


def test_a_dtype_spares_the_survey_and_fails_where_it_does_not_fit(tmp_path: Path) -> None:
    path = write(tmp_path / "a.csv", "1,300\n007,-4\n")
    assert listed(path, dtype="int16") == [(1, 300), (7, -4)]
    assert listed(path, dtype="str") == [("1", "300"), ("007", "-4")]
    with pytest.raises(EdgeValueError, match="uint16"):
        read_edges(path, dtype="uint16").compute()
    with pytest.raises(EdgeValueError, match="wider"):
        read_edges(path, dtype="int8").compute()
    path = write(tmp_path / "b.csv", "1,2\n3,\n")
    assert listed(path, dtype="Int32") == [(1, 2), (3, None)]
    with pytest.raises(EdgeValueError, match=r'line 2 .*dtype="Int32"'):
        read_edges(path, dtype="int32").compute()


def test_missing_ids_do_not_turn_the_others_into_floats(tmp_path: Path) -> None:
    text = "src,dst,w\n9007199254740992,1,0.5\n9007199254740993,2,0.5\n5,,0.5\n"
    frame = read_edges(write(tmp_path / "a.csv", text))
    assert frame.dtypes.astype(str).to_list() == ["int64", "Int64", "float64"]
    assert frame.compute()["source"].to_list() == [2**53, 2**53 + 1, 5]


def test_a_file_with_quoted_line_breaks_is_not_cut(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(blocks, "BLOCK", 10)
    path = write(tmp_path / "a.csv", 'x,"a\nb"\n' * 5 + "c,d\n")
    assert listed(path) == [("x", "a\nb")] * 5 + [("c", "d")]
    with pytest.raises(EdgeValueError, match=r"leave out dtype=|expected 2"):
        read_edges(path, dtype=str).compute()


def _zstd(data: bytes) -> bytes:
    half = len(data) // 2  # two frames, as parallel compressors write them
    codec = pa.Codec("zstd")
    return b"".join(codec.compress(part).to_pybytes() for part in (data[:half], data[half:]))


CODECS: dict[str, Callable[[bytes], bytes]] = {
    "gz": lambda data: gzip.compress(data[:5]) + gzip.compress(data[5:]),
    "bz2": bz2.compress,
    "xz": lzma.compress,
    "zst": _zstd,
}


@pytest.mark.parametrize("codec", CODECS)
def test_compressed_files_are_read_like_plain_ones(tmp_path: Path, codec: str) -> None:
    text = BOM + b"1\t2\r\n\r\n2\t3\t\r\n"
    path = write(tmp_path / f"a.tsv.{codec}", CODECS[codec](text))
    assert listed(path) == [(1, 2), (2, 3)]
    mtx = b"%%MatrixMarket matrix coordinate real symmetric\n3 3 2\n2 1 0.5\n3 3 2\n"
    path = write(tmp_path / f"a.mtx.{codec}", CODECS[codec](mtx))
    assert listed(path) == [(2, 1, 0.5), (3, 3, 2.0), (1, 2, 0.5)]


def test_a_spreadsheet_export(tmp_path: Path) -> None:
    text = BOM + b"Source,Target\r\nAnn,Bob\r\n\r\nBob,Cid\r\n"
    assert listed(write(tmp_path / "a.csv", text)) == [("Ann", "Bob"), ("Bob", "Cid")]


def test_files_folders_globs_and_lists(tmp_path: Path) -> None:
    for number in (9, 10):
        write(tmp_path / f"part.{number}.csv", f"source,target\n{number},0\n")
    write(tmp_path / "_SUCCESS", "")
    write(tmp_path / "README.md", "not edges")
    expected = [(9, 0), (10, 0)]
    assert listed(tmp_path) == listed(str(tmp_path / "*.csv")) == expected
    assert listed([tmp_path / "part.9.csv", tmp_path / "part.10.csv"]) == expected
    assert read_edges(tmp_path).npartitions == 2
    write(tmp_path / "part.11.csv", "source,target\n")
    write(tmp_path / "part.12.csv", "x,0\n")
    with pytest.warns(IdWarning, match=r"for 1 of 3 ids, 'x' in line 1 of .*part\.12\.csv"):
        assert listed(tmp_path) == [("9", "0"), ("10", "0"), ("x", "0")]


def test_paths_that_lead_nowhere(tmp_path: Path) -> None:
    for path in (tmp_path / "none.csv", tmp_path / "*.csv", tmp_path):
        with pytest.raises(MissingFileError, match="found no file"):
            read_edges(path)
    with pytest.raises(FileNotFoundError):
        read_edges(tmp_path / "none.csv")
    with pytest.raises(OptionError):
        read_edges([])


def test_files_that_do_not_go_together(tmp_path: Path) -> None:
    plain = write(tmp_path / "a.csv", "1,2\n")
    weighted = write(tmp_path / "b.csv", "1,2,3\n")
    metis = write(tmp_path / "c.graph", "2 1\n2\n1\n")
    with pytest.raises(EdgeValueError, match="weights"):
        read_edges([plain, weighted])
    with pytest.raises(OptionError, match="one by one"):
        read_edges([plain, metis])
    assert len(open_edges([plain, weighted], weighted=False).frame) == 2


@pytest.mark.parametrize(
    ("name", "rows", "vertices", "weighted"),
    [
        ("cugraph/karate.csv", 156, 34, True),
        ("cugraph/karate-data.csv", 156, 34, False),
        ("cugraph/karate_str.mtx", 78, 34, True),
        ("cugraph/netscience.csv", 5484, 1461, True),
        ("cugraph/email-Eu-core.csv", 25571, 1005, True),
        ("networkit/foodweb-baydry.konect", 2137, 128, True),
        ("ldbc/example/example-directed.e", 17, 10, True),
    ],
)
def test_edge_lists_of_the_world(
    shared: Path, name: str, rows: int, vertices: int, weighted: bool
) -> None:
    frame = read_edges(shared / "data" / name).compute()
    ids = pd.concat([frame["source"], frame["target"]])
    assert (len(frame), ids.nunique(), "weight" in frame) == (rows, vertices, weighted)
    assert (frame["source"].dtype == "int64") == ("str" not in name)


def test_natural_order(tmp_path: Path) -> None:
    for name in ("b.10.csv", "b.9.csv", "a.csv"):
        write(tmp_path / name, "1,2\n")
    names = [Path(file.path).name for file in find_files(tmp_path)]
    assert names == ["a.csv", "b.9.csv", "b.10.csv"]
