"""First lines that hold a wrong weight are edges that are refused, and no names of columns."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from dgraph.errors import EdgeValueError
from tests.text_files import listed, write

pytestmark = pytest.mark.usefixtures("in_this_process")


@pytest.mark.parametrize(
    ("rows", "says"),
    [
        (["a,b,1_000", "b,c,2", "c,d,3"], "line 1 .*'1_000' as its weight, .*header=True"),
        (["a,b,1_000", "c,d,2", "e,f,3"], "line 1 .*'1_000' as its weight, .*header=True"),
        (["Ann,Bob,heavy", "Bob,Cid,2"], "line 1 .*'heavy' as its weight, .*header=True"),
        (["1,2,ten", "3,4,6"], "line 1 .*'ten' as its weight, .*header=True"),
        (["a,b,-", "c,d,6"], "line 1 .*'-' as its weight"),
        (["1;2;1,5", "2;3;2,5"], "line 1 .*'1,5' as its weight, .*: write a decimal point"),
        (["a;b;w", "1;2;1,5"], "line 2 .*'1,5' as its weight, .*: write a decimal point"),
        (["1 2 1,5", "2 3 2,5"], "line 1 .*'1,5' as its weight, .*: write a decimal point"),
        (["a;b;1.000,5", "c;d;2.000,5"], "line 1 .*'1.000,5' as its weight, .*: write a dec"),
        (["a,b,1", "c,d,\N{ARABIC-INDIC DIGIT TWO}"], "line 2 .* as its weight, .*: repair it"),
    ],
)
def test_an_edge_whose_weight_is_wrong_is_refused_and_no_header(
    tmp_path: Path, rows: list[str], says: str
) -> None:
    path = write(tmp_path / "a.txt", "\n".join(rows))
    with pytest.raises(EdgeValueError, match=says):
        listed(path)


@pytest.mark.parametrize(
    ("rows", "ends"),
    [
        (["u,v,2020-01", "1,2,5"], [(1, 2, 5.0)]),
        (["a,b,NA", "c,d,2"], [("a", "b", None), ("c", "d", 2.0)]),
        (["Ann;Bob,5", "Cid;Dee,7"], [("Ann;Bob", "5"), ("Cid;Dee", "7")]),
        (
            ["Main Street 12,7", "Elm Street 4,9"],
            [("Main Street 12", "7"), ("Elm Street 4", "9")],
        ),
    ],
)
def test_what_looks_like_a_wrong_weight_and_is_none(
    tmp_path: Path, rows: list[str], ends: list[tuple[Any, ...]]
) -> None:
    assert listed(write(tmp_path / "a.csv", "\n".join(rows))) == ends
