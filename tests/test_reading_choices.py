"""What is found out of text files (header, separator, ids) is told, with the reasons."""

from __future__ import annotations

import logging
import re
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import dask
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from distributed import Client
from hypothesis import given
from hypothesis import strategies as st

import dgraph as dg
from dgraph.edges import blocks, text
from dgraph.edges.header import find_header
from dgraph.errors import EdgeValueError, EmptyWarning, IdWarning
from dgraph.events import History, Note, listening
from tests.clusters import cluster

ROWS = [("Ann", "Bob"), ("Cid", "Dee"), ("Eve", "Fay")]


@pytest.fixture(scope="module")
def client() -> Iterator[Client]:
    with cluster(1, 1, processes=False) as client:
        yield client


def write(path: Path, *lines: str) -> Path:
    path.write_text("\n".join(lines) + "\n")
    return path


def read(path: Path, **options: Any) -> tuple[list[tuple[Any, ...]], str]:
    """Return the rows of a file, and what was told of it."""
    with listening(History()) as history, dask.config.set(scheduler="sync"):
        found = dg.read_edges(path, **options).compute()
    notes = [event.text for event in history.events if isinstance(event, Note)]
    assert len(notes) == 1
    return [tuple(row) for row in found.to_numpy().tolist()], notes[0]


@pytest.mark.parametrize(
    ("header", "rows", "why"),
    [
        ("a,b", ["1,2", "3,4"], "'a' stands above numbers"),
        ("person,likes", ["Ann,Bob", "Cid,Dee"], "words for ends of edges"),
        ("userId,friend_id", ["Ann,Bob"], "words for ends of edges"),
        ("Person 1,Person 2", ["Ann,Bob"], "words for ends of edges"),
        ("from,to", ["Ann,Bob"], "names of columns"),
        ("pupil,tutor", ["p1,t1", "p1,t2"], "has no digit"),
        ("pupil,tutor", ['"Ann","Bob"', '"Cid","Ann"'], "quotes"),
        ('"pupil","tutor"', ["Ann,Bob", "Cid,Ann"], "quotes"),
        ("pupil,tutor,grade", ["Ann,Bob,1", "Cid,Ann,2"], "stands above numbers"),
    ],
)
def test_a_header_is_found(tmp_path: Path, header: str, rows: list[str], why: str) -> None:
    path = write(tmp_path / "a.csv", header, *rows)
    found, told = read(path)
    assert len(found) == len(rows)
    assert re.search(f"header: names: .*{why}", told)
    assert found == read(path, header=True)[0]


@pytest.mark.parametrize(
    ("rows", "why"),
    [
        (["Ann,Bob", "Cid,Dee"], "nothing tells them .* pass header=True"),
        (["person,likes", "likes,Bob"], "'likes' in the first line occurs again below"),
        (["1,2", "a,b"], "'1' in the first line is a number"),
        (["p1,q1", "p2,q2"], "nothing tells"),
        (["person,likes"], "nothing tells"),
        (["7a,8b", "1,2"], "'7a' above numbers begins as one"),
        (['"York, New",Leeds', "Hull,Ely", "Rye,Bath"], "nothing tells"),
        (["Ann,Bob", '"York, New",Cid', '"Ely, Old",Dee'], "nothing tells"),
    ],
)
def test_no_edge_is_taken_for_a_header(tmp_path: Path, rows: list[str], why: str) -> None:
    path = write(tmp_path / "a.csv", *rows)
    found, told = read(path)
    assert len(found) == len(rows)
    assert re.search(f"header: none: .*{why}", told)
    assert found == read(path, header=False)[0]


IDS = st.text("abcxyz", min_size=1, max_size=3).map(str.encode)


@given(st.lists(st.tuples(IDS, IDS), min_size=2, max_size=30))
def test_an_id_that_occurs_again_is_no_name(rows: list[tuple[bytes, bytes]]) -> None:
    fields = [list(row) for row in [*rows, rows[0]]]
    lines = [b",".join(row) for row in fields]
    assert not find_header(fields, lines).names


@pytest.mark.parametrize(
    ("name", "text", "options", "wanted"),
    [
        ("a.csv", "1,2\n3,4\n", {}, "separator: ',': cuts 2 of the first 2 lines"),
        ("a.txt", "1;2\n3;4\n", {}, "separator: ';': cuts 2"),
        ("a.el", "1 2\n3\t4\n", {}, "separator: blanks: cuts 2"),
        ("a.csv", "1|2\n", {"sep": "|"}, "separator: '|': as sep= says"),
        ("a.csv", "1,2\n", {}, "ids: integers: every one of both columns"),
        ("a.csv", "1,2\nx,1\n", {}, "ids: strings: 'x' in line 2 of .*a.csv is not"),
        ("a.csv", "s,t\n1,2\n1,NA\n1,007\n", {}, "ids: strings: 'NA' in line 3 of .*a.csv"),
        ("a.csv", "1,2\n\n# x\n1,007\n", {}, "ids: strings: '007' in line 4 of .*a.csv"),
        ("a.csv", "1,2\n", {"dtype": "str"}, "ids: as dtype= says"),
        ("a.csv", "1,2\n", {"header": False}, "header: none: as header= says"),
        ("a.csv", "x,y\n1,2\n", {"columns": ["y", "x"]}, "header: names: columns are chosen"),
    ],
)
def test_what_was_decided_is_told(
    tmp_path: Path, client: Client, name: str, text: str, options: dict[str, Any], wanted: str
) -> None:
    path = tmp_path / name
    path.write_text(text)
    assert re.search(wanted, read(path, **options)[1])
    key, _, pattern = wanted.partition(": ")
    with client.as_current():
        with dg.from_edges(dg.read_edges(path, **options), client=client) as graph:
            assert re.match(pattern, graph.report["chosen"][key])
        if not options:
            with dg.from_edges(path, client=client) as graph:
                assert re.match(pattern, graph.report["chosen"][key])


def test_a_late_text_is_named_where_it_stands(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("dgraph.edges.blocks.BLOCK", 64)
    monkeypatch.setattr("dgraph.edges.survey.NEAR", 512)
    lines = [f"{number},{number + 1}" for number in range(100)]
    path = write(tmp_path / "a.csv", *lines[:40], "x,1", *lines[40:], "y,1")
    with pytest.warns(IdWarning, match="the first 'x' in line 41 of"):
        assert "'x' in line 41 of" in read(path)[1]
    path = write(tmp_path / "a.csv", *lines, "y,1")
    byte = path.read_text().index("y")
    place = f"'y' in .*a.csv, after byte {byte}"
    with pytest.warns(IdWarning, match=place):
        assert re.search(place, read(path)[1])


def test_files_that_differ_are_told(tmp_path: Path) -> None:
    write(tmp_path / "a.csv", "1,2")
    write(tmp_path / "b.csv", "1;2")
    write(tmp_path / "c.csv", "s,t", "1,2")
    told = read(tmp_path)[1]
    assert re.search(r"separator: ',': .*\(in .*a.csv; 1 other files differ\)", told)
    assert re.search(r"header: none: .*\(in .*a.csv; 1 other files differ\)", told)


def test_a_frame_that_was_changed_is_no_file_any_more(tmp_path: Path, client: Client) -> None:
    frame = dg.read_edges(write(tmp_path / "a.csv", "1,2,5.0", "3,4,6.0"))
    frame["weight"] = frame["weight"] * 2
    with client.as_current(), dg.from_edges(frame, weight="weight", client=client) as graph:
        assert "header" not in graph.report["chosen"]
        assert graph.edges().compute()["weight"].tolist() == [10.0, 12.0]


@pytest.mark.parametrize("line", ["3,x", "9" * 30 + ",4", "5"])
def test_a_fault_that_a_task_finds_leaves_no_traceback_in_the_log(
    tmp_path: Path, client: Client, line: str, caplog: pytest.LogCaptureFixture
) -> None:
    write(tmp_path / "a.csv", "1,2", "3,4")
    write(tmp_path / "b.csv", "1,2", line)
    caplog.set_level(logging.WARNING)
    with client.as_current(), pytest.raises(EdgeValueError, match=r"b\.csv"):
        dg.from_edges(dg.read_edges(tmp_path, dtype="int64"), client=client)
    assert not [some for some in caplog.records if "Compute Failed" in some.getMessage()]


def test_a_fault_that_the_client_asks_for_leaves_none_either(
    tmp_path: Path, client: Client, caplog: pytest.LogCaptureFixture
) -> None:
    for name in ("a.mtx", "b.mtx"):
        (tmp_path / name).write_text("%%MatrixMarket matrix coordinate real general\n2 3 1\n")
    caplog.set_level(logging.WARNING)
    with client.as_current(), pytest.raises(EdgeValueError, match="square"):
        dg.from_edges([tmp_path / "a.mtx", tmp_path / "b.mtx"], client=client)
    (tmp_path / "a.mtx").write_text("%%MatrixMarket matrix coordinate real general\n3 3 0\n")
    with client.as_current(), pytest.raises(EdgeValueError, match=r"b\.mtx.*square"):
        dg.from_edges(
            [tmp_path / "a.mtx", tmp_path / "b.mtx", tmp_path / "b.mtx"], client=client
        )
    assert not [some for some in caplog.records if "Compute Failed" in some.getMessage()]


@pytest.mark.parametrize("block", [4, 9, 1000])
def test_floats_are_floats_however_a_file_is_cut(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, block: int
) -> None:
    monkeypatch.setattr(blocks, "BLOCK", block)
    rows = ["1,2", "3,4.5", "5,6", "7,8.5", "9,1"]
    with pytest.warns(IdWarning, match=r"column 'target' .* '4\.5' in line 2 "):
        read(write(tmp_path / "a.csv", *rows))
    for at in range(len(rows) + 1):
        some, _ = read(write(tmp_path / "a.csv", *rows[:at], "0,x", *rows[at:]))
        assert ("0", "x") in some


@given(
    numbers=st.lists(st.integers(0, 99), min_size=1, max_size=30),
    words=st.lists(st.sampled_from(["x", "NA", "4.5", "-"]), min_size=1, max_size=8),
    padded=st.booleans(),
    side=st.integers(0, 1),
    block=st.sampled_from([4, 9, 1000]),
    data=st.data(),
)
def test_words_among_integers_are_told(
    tmp_path_factory: pytest.TempPathFactory,
    numbers: list[int],
    words: list[str],
    padded: bool,
    side: int,
    block: int,
    data: st.DataObject,
) -> None:
    column = data.draw(st.permutations([*map(str, numbers), *words, *["007"] * padded]))
    path = tmp_path_factory.getbasetemp() / "a.csv"
    write(path, "a,b", *(f"{word},1" if side == 0 else f"1,{word}" for word in column))
    with warnings.catch_warnings(record=True) as caught, pytest.MonkeyPatch.context() as patch:
        patch.setattr(blocks, "BLOCK", block)
        warnings.simplefilter("always")
        found, _ = read(path)
        read(path, dtype="str")
    assert [row[side] for row in found] == column
    told = [str(each.message) for each in caught]
    if not padded and set(words) == {"4.5"}:
        assert len(told) == 1
        assert "holds floats" in told[0]
    elif padded or len(words) >= len(numbers):
        assert told == []
    else:
        first = next(at for at, word in enumerate(column) if word in words)
        place = f"{column[first]!r} in line {first + 2} of "
        counted = f"column {'ab'[side]!r} holds integers but for {len(words)} of {len(column)} "
        assert len(told) == 1
        assert counted in told[0]
        assert place in told[0]


@pytest.mark.parametrize(
    ("header", "columns", "twice"),
    [
        ("a,a", None, "a"),
        ("source,x,source,target", None, "source"),
        ("a,b,b", None, "b"),
        ("a,b,w,w", None, "w"),
        ("a,b,c,a", ["b", "a"], "a"),
        ("a,b,c,a", ["b", "c"], None),
        ("a,b,c,a", [0, 3], None),
        ("a,b,c,d,d", [0, 1], None),
        (",,c", None, None),
    ],
)
def test_names_that_occur_twice_do_not_choose_a_column(
    tmp_path: Path, header: str, columns: list[Any] | None, twice: str | None
) -> None:
    row = ",".join(map(str, range(1, 2 + header.count(","))))
    path = write(tmp_path / "a.csv", header, row)
    if twice is None:
        assert len(read(path, columns=columns)[0]) == 1
        return
    with pytest.raises(EdgeValueError, match=rf"a\.csv has more than one column {twice!r}"):
        read(path, columns=columns)


def test_weights_that_nobody_wants_may_have_one_name(tmp_path: Path, client: Client) -> None:
    path = write(tmp_path / "a.csv", "a,b,w,w", "1,2,0.5,1")
    with dg.from_edges(path, client=client) as graph:
        assert graph.num_edges == 1
    with pytest.raises(EdgeValueError, match="more than one column 'w'"):
        dg.from_edges(path, weight="w", client=client)


def test_parquet_with_two_columns_of_one_name_says_so(tmp_path: Path) -> None:
    table = pa.Table.from_arrays([pa.array([1]), pa.array([2])], names=["a", "a"])
    pq.write_table(table, tmp_path / "a.parquet")
    with pytest.raises(EdgeValueError, match=r"a\.parquet has more than one column 'a'"):
        dg.read_edges(tmp_path / "a.parquet")


@pytest.mark.parametrize("name", ["a.csv", "a.tsv", "a.el", "a.mtx", "a.gr", "a.adjlist"])
def test_files_that_hold_nothing_are_told(tmp_path: Path, client: Client, name: str) -> None:
    path = tmp_path / name
    path.write_text("")
    with pytest.warns(EmptyWarning, match="holds no edges"):
        assert len(dg.read_edges(path).compute(scheduler="sync")) == 0
    with (
        pytest.warns(EmptyWarning, match="holds no edges"),
        dg.from_edges(path, client=client) as graph,
    ):
        assert graph.num_vertices == 0


def test_a_header_without_edges_is_told(tmp_path: Path, client: Client) -> None:
    path = write(tmp_path / "a.csv", "from,to,km")
    told = r"a.csv holds no edges, only the names of columns 'from', 'to', 'km': expected"
    with pytest.warns(EmptyWarning, match=told):
        frame = dg.read_edges(path)
    assert frame.compute(scheduler="sync").columns.tolist() == ["source", "target"]
    with pytest.warns(EmptyWarning, match=told), dg.from_edges(path, client=client) as graph:
        assert graph.num_vertices == 0
    (tmp_path / "b.csv").write_text("")
    with pytest.warns(EmptyWarning, match="the 2 files from .*a.csv on hold no edges, only"):
        assert len(dg.read_edges(tmp_path)) == 0


def test_files_of_no_edges_beside_others_are_not_told(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("")
    write(tmp_path / "b.csv", "source,target")
    write(tmp_path / "c.csv", "source,target", "1,2")
    assert len(dg.read_edges(tmp_path).compute(scheduler="sync")) == 1


@pytest.mark.parametrize(
    ("lines", "where"),
    [
        (
            ["a,b,w", "# one", "1,2,3", "", "2,,3", ",,"],
            "2 edges .*, the first in line 5 of .*column '(b|target)'",
        ),
        (
            ["a,b,w", "1,2,3", "2,3,", "4,,1"],
            "2 edges .*, the first in line 3 of .*'w(eight)?'",
        ),
        (["a,b,w", "x,2,3", '"y",3,inf'], "infinite weight, the first in line 3 of .*a.csv:"),
    ],
)
def test_what_a_row_lacks_is_told_by_its_line(
    tmp_path: Path, client: Client, lines: list[str], where: str
) -> None:
    path = write(tmp_path / "a.csv", *lines)
    for edges, weight in ((path, "w"), (dg.read_edges(path), "weight")):
        with pytest.raises(EdgeValueError, match=where):
            dg.from_edges(edges, weight=weight, client=client)


def test_of_lines_that_are_far_down_the_row_is_told(
    tmp_path: Path, client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(blocks, "BLOCK", 15)
    monkeypatch.setattr(text, "NEAR", 40)
    path = write(tmp_path / "a.csv", "a,b", "10,20", "30,40", "50,60", ",80", "90,11")
    with pytest.raises(EdgeValueError, match=r"the first in line 5 of .*a.csv, column 'a'"):
        dg.from_edges(path, client=client)
    monkeypatch.setattr(text, "NEAR", 10)
    with pytest.raises(EdgeValueError, match=r"row 3 \(row 0 of partition 1, counted from 0\)"):
        dg.from_edges(path, client=client)


def test_keys_change_when_a_file_does(tmp_path: Path) -> None:
    path = write(tmp_path / "a.csv", "1,2")
    before = dg.read_edges(path).__dask_graph__().keys()
    write(path, "1,2", "3,4")
    assert not before & dg.read_edges(path).__dask_graph__().keys()
