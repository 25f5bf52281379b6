"""Warnings point at the line of the user's, whatever thread finds the doubt."""

from __future__ import annotations

import ast
import asyncio
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import dask
import numpy as np
import pandas as pd
import pytest
from distributed import Client

import dgraph as dg
from dgraph import errors
from tests.clusters import asynchronously

ROADS = pd.DataFrame({"id": [1, 2], "from": [7, 8], "to": [8, 9], "km": [1.5, 2.0]})
HEAVY = pd.DataFrame({"source": [1], "target": [2], "weight": [2**60 + 1]})
TORI = "TorusName=p Dims=1x1x2 Nodes=a,b\nTorusName=spare Dims=2x2x2"
PATH = np.array([[1, 2], [2, 3], [3, 4]])

#: What is doubtful, by the warning that is given of it; each call stands on one line.
CALLS: dict[str, Callable[[Path, Client], Any]] = {
    "LayoutWarning": lambda path, client: dg.from_edges(ROADS, client=client),
    "LayoutWarning of a file": lambda path, client: dg.from_edges(path / "a.csv"),
    "EmptyWarning": lambda path, client: dg.read_edges(path / "empty.csv"),
    "IdWarning": lambda path, client: dg.read_edges(path / "decimal.csv"),
    "PrecisionWarning": lambda path, client: dg.from_edges(HEAVY, weight="weight"),
    "TopologyWarning": lambda path, client: dg.topology.Topology.read(TORI),
    "ConvergenceWarning": lambda path, client: dg.pagerank(dg.from_edges(PATH), max_iter=1),
}  # fmt: skip


@pytest.mark.parametrize("name", CALLS)
def test_a_warning_points_at_the_call(tmp_path: Path, embedded: Client, name: str) -> None:
    (tmp_path / "a.csv").write_text("id,from,to\n1,7,8\n2,8,9\n")
    (tmp_path / "empty.csv").write_text("")
    (tmp_path / "decimal.csv").write_text("1.5,2\n2,3\n")
    function = CALLS[name]
    with pytest.warns(getattr(errors, name.partition(" ")[0])) as caught:
        function(tmp_path, embedded)
    here = __file__, function.__code__.co_firstlineno
    assert {(each.filename, each.lineno) for each in caught} == {here}


def test_a_warning_of_an_unknown_key_points_at_the_call(embedded: Client) -> None:
    with (
        dask.config.set({"dgraph.ruting": "direct"}),
        pytest.warns(errors.DgraphWarning) as told,
    ):
        dg.from_edges(PATH)
    assert {one.filename for one in told} == {__file__}


def test_awaited_calls_are_pointed_at_too() -> None:
    async def work(client: Client) -> list[str]:
        made: Any = dg.from_edges(PATH, client=client)
        g = await made
        calls: list[Any] = [
            dg.pagerank(g, max_iter=1),
            dg.from_edges(HEAVY, weight="weight", client=client),
        ]
        with pytest.warns(errors.DgraphWarning) as caught:
            await asyncio.gather(*calls)
        return [one.filename for one in caught]

    assert asynchronously(work) == [__file__] * 2


def test_the_same_doubt_at_one_line_is_told_once(embedded: Client) -> None:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("default")
        for _ in range(2):
            dg.from_edges(ROADS)
        dg.from_edges(ROADS)
    assert len(caught) == 2


def test_nothing_else_in_the_package_warns() -> None:
    root = Path(dg.__file__).parents[1]
    calls = [
        path.name
        for folder in ("dgraph", "algorithms", "topology")
        for path in (root / folder).glob("**/*.py")
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.Attribute) and ast.unparse(node) == "warnings.warn"
    ]
    assert calls == []
