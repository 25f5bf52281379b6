"""Tables whose ends or header are in doubt: the reading is fixed, and the user is told."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import dask.dataframe as dd
import numpy as np
import pandas as pd
import pytest
from distributed import Client
from hypothesis import given
from hypothesis import strategies as st

import dgraph as dg
from dgraph.edges.doubt import occurrences
from dgraph.edges.ends import find_pair
from dgraph.errors import EdgeValueError, LayoutWarning

ROADS = pd.DataFrame({"id": [1, 2], "from": [7, 8], "to": [8, 9], "km": [1.5, 2.0]})


def read(path: Path, text: str, **options: Any) -> list[tuple[Any, ...]]:
    path.write_text(text)
    return list(dg.read_edges(path, **options).compute().itertuples(index=False, name=None))


def lines(*rows: str) -> str:
    return "\n".join([*rows, ""])


def roads(form: str, path: Path) -> Any:
    """Return ROADS in a form."""
    if form == "parquet":
        ROADS.to_parquet(path / "a.parquet")
    elif form == "csv":
        ROADS.to_csv(path / "a.csv", index=False)
    elif form == "dask":
        return dd.from_pandas(ROADS, npartitions=2)
    else:
        return ROADS
    return path / f"a.{form}"


@pytest.mark.parametrize("form", ["pandas", "dask", "parquet", "csv"])
def test_columns_that_are_not_taken_but_called_ends_are_told(
    tmp_path: Path, client: Client, form: str
) -> None:
    edges = roads(form, tmp_path)
    with pytest.warns(LayoutWarning, match="'id' and 'from' were taken .* source='from'"):
        g = dg.from_edges(edges, client=client)
    assert g.report["columns"] == {"source": "id", "target": "from"}
    named = dg.from_edges(edges, "from", "to", "km", client=client)  # and no warning
    assert named.report["columns"] == {"source": "from", "target": "to", "weight": "km"}
    with client.as_current():
        assert sorted(named.vertices().compute()["vertex"]) == [7, 8, 9]


def test_a_report_names_columns_without_names_by_their_positions(
    tmp_path: Path, client: Client
) -> None:
    (tmp_path / "a.csv").write_text("1,2,0.5\n2,3,1.5\n")
    with dg.from_edges(tmp_path / "a.csv", weight=True, client=client) as g:
        assert g.report["columns"] == {"source": 0, "target": 1, "weight": 2}
    with dg.from_edges(ROADS[["from", "to"]].to_numpy(), client=client) as g:
        assert g.report["columns"] == {"source": 0, "target": 1}


@pytest.mark.parametrize(
    ("names", "pair"),
    [
        (["id", "from", "to"], (1, 2)),
        (["day", "dst_ip", "src_ip"], (2, 1)),
        (["x", "FromNodeId", "ToNodeId"], (1, 2)),
        (["x", "sourceid", "targetid"], (1, 2)),
        (["subject", "predicate", "object"], (0, 2)),
        (["name", "user_a", "user_b"], (1, 2)),
        (["u", "v", "w"], (0, 1)),
        (["a", "b", "start_time", "end_time"], None),
        (["a", "b", "start", "end"], None),
        (["id", "feature1", "feature2"], None),
        (["a", "b", "from_date", "to_date"], None),
        ([0, 1, None, ("from", "to")], None),
    ],
)
def test_names_of_ends_are_recognised(names: list[Any], pair: tuple[int, int] | None) -> None:
    assert find_pair(names) == pair


@pytest.mark.parametrize(
    "header",
    ["origin_airport,dest_airport", "user1,user2", "gene_a,gene_b", "fromCity,toCity"],
)
def test_compounds_of_words_for_ends_are_names(tmp_path: Path, header: str) -> None:
    assert read(tmp_path / "a.csv", lines(header, "OSL,CDG", "OSL,FCO")) == [
        ("OSL", "CDG"),
        ("OSL", "FCO"),
    ]


def test_ids_that_are_written_like_the_first_line_make_it_an_edge(tmp_path: Path) -> None:
    rows = read(tmp_path / "a.csv", lines("node1,node2", "node3,node4", "node4,node5"))
    assert rows[0] == ("node1", "node2")


RING = ["Ann,Bob", "Bob,Cid", "Cid,Ann", "Cid,Bob"]


def test_words_that_are_no_end_of_another_edge_are_told(tmp_path: Path) -> None:
    text = lines("carrier,hub", *RING)
    with pytest.warns(LayoutWarning, match="'carrier' and 'hub', was read as an edge"):
        rows = read(tmp_path / "a.csv", text)
    assert rows[0] == ("carrier", "hub")
    assert read(tmp_path / "a.csv", text, header=True) == rows[1:]
    assert read(tmp_path / "a.csv", text, header=False) == rows


@pytest.mark.parametrize("last", [["Eve,hub"], ["carrier,Ann"]])
def test_an_edge_far_below_settles_that_the_first_line_is_one(
    tmp_path: Path, last: list[str]
) -> None:
    rows = read(tmp_path / "a.csv", lines("carrier,hub", *RING * 20, *last))
    assert rows[0] == ("carrier", "hub")


@pytest.mark.parametrize("below", [["x,y", "y,z"], ["x,y", "z,x"], ["x,y", "y,z", "z,v"]])
def test_names_above_few_lines_are_told(tmp_path: Path, below: list[str]) -> None:
    (tmp_path / "a.csv").write_text(lines("foo,bar", *below))
    with pytest.warns(LayoutWarning, match="read_edges with header=True"):
        assert len(dg.read_edges(tmp_path / "a.csv").compute()) == 1 + len(below)
    for said in (True, False):  # and no warning
        rows = dg.read_edges(tmp_path / "a.csv", header=said).compute()
        assert len(rows) == len(below) + (not said)


@pytest.mark.parametrize(
    "edges",
    [
        ["a,b"],
        ["a,b", "b,c"],
        ["a,b", "b,c", "c,d"],
        ["a,b", "c,d"],
        ["a,b", "c,d", "e,f"],
        ["a,b", "c,d", "d,a"],
        ["a,a", "b,c", "c,d", "a,d"],
        ["a,b", "c,d", "d,e", "f,g"],
        ["b,a", "c,a", "d,a"],
    ],
)
def test_a_short_list_of_edges_raises_no_doubt(tmp_path: Path, edges: list[str]) -> None:
    expected = [tuple(edge.split(",")) for edge in edges]
    assert read(tmp_path / "a.csv", lines(*edges)) == expected


def test_names_that_are_ids_far_below_are_told(tmp_path: Path) -> None:
    text = lines("hub,depot", *(f"n{i},n{i + 1}" for i in range(40)), "n9,hub")
    with pytest.warns(LayoutWarning, match="'hub' and 'depot', was taken for names"):
        rows = read(tmp_path / "a.csv", text)
    assert rows[0] == ("n0", "n1")
    assert read(tmp_path / "a.csv", text, header=False)[0] == ("hub", "depot")


def test_parts_of_a_larger_file_raise_no_doubt(tmp_path: Path) -> None:
    for part, first in enumerate(["Dee,Eve", "Fay,Gus"]):
        (tmp_path / f"{part}.csv").write_text(lines(first, *RING))
    assert len(dg.read_edges(tmp_path).compute()) == 10
    for part in range(2):
        (tmp_path / f"{part}.csv").write_text(lines("carrier,hub", *RING))
    with pytest.warns(LayoutWarning, match="'carrier'"):
        dg.read_edges(tmp_path)


@given(st.lists(st.tuples(*[st.text("ab", max_size=3)] * 2), min_size=1, max_size=20))
def test_fields_are_counted(rows: list[tuple[str, str]]) -> None:
    fields = [field.encode() for row in rows for field in row]
    lengths = np.array([len(field) for field in fields])
    starts = np.cumsum(lengths) - lengths
    buffer = np.frombuffer(b"".join(fields), np.uint8)
    words = [word for word in fields[:2] if word]
    expected = sum(field in words for field in fields)
    assert occurrences(buffer, starts, lengths, words) == expected


@pytest.mark.parametrize("sep", [",", ";", "\t"])
@pytest.mark.parametrize("header", ["from|to", ""])
def test_a_separator_that_the_first_line_tells(tmp_path: Path, sep: str, header: str) -> None:
    rows = [header.replace("|", sep)] * bool(header) + [f"A{sep}B", f"B{sep}C"]
    text = "\r\n".join([f"sep={sep}", *rows, ""])
    assert read(tmp_path / "a.csv", "\ufeff" + text) == [("A", "B"), ("B", "C")]


@pytest.mark.parametrize(
    "text",
    [
        "Flights 2024\norigin,dest,km\nOSL,CDG,1342\nOSL,FCO,2004\n",
        "Flights 2024,,\norigin,dest,km\nOSL,CDG,1342\nOSL,FCO,2004\n",
        "Flights, 2024\norigin,dest,km\nOSL,CDG,1342\nOSL,FCO,2004\n",
        "34 78 1\n1 2\n2 3\n",
        "34\n1 2\n2 3\n",
    ],
)
def test_a_title_is_told(tmp_path: Path, text: str) -> None:
    path = tmp_path / "a.csv"
    with pytest.raises(EdgeValueError, match=r"first line of .*a\.csv.* if it is a title"):
        read(path, text)
    assert len(read(path, "#" + text)) == 2


@pytest.mark.parametrize(
    "text", ["1,2\n2,3,\n3,4,\n", "a,b,\n1,2\n2,3\n", "A,\nB,C\nC,D\n", "1,\n2,3\n3,4\n"]
)
def test_empty_fields_at_ends_make_no_title(tmp_path: Path, text: str) -> None:
    path = tmp_path / "a.csv"
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert len(read(path, text)) >= 2
