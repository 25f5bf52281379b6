"""What is found out of text files (header, separator, ids) is told, with the reasons."""

from __future__ import annotations

import logging
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import dask
import pytest
from distributed import Client
from hypothesis import given
from hypothesis import strategies as st

import dgraph as dg
from dgraph.edges import blocks
from dgraph.edges.header import find_header
from dgraph.errors import EdgeValueError, IdWarning
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
    assert "'x' in line 41 of" in read(path)[1]
    path = write(tmp_path / "a.csv", *lines, "y,1")
    byte = path.read_text().index("y")
    assert re.search(f"'y' in .*a.csv, after byte {byte}", read(path)[1])


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
