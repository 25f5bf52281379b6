"""The validation graphs of LDBC Graphalytics, by their own matching rules."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from dgraph.algorithms.bfs import bfs_slot
from dgraph.algorithms.cdlp import cdlp_slot
from dgraph.algorithms.connected_components import connected_components_slot
from dgraph.algorithms.local_clustering import local_clustering_slot
from dgraph.algorithms.pagerank import pagerank_slot
from dgraph.algorithms.sssp import sssp_slot
from tests import ldbc
from tests.harness import frame_of
from tests.reference import PlainGraph, as_ids, build

KINDS = [("dir", "directed"), ("undir", "undirected")]
SLOTS = [1, 2, 3, 5]


@pytest.fixture
def folder(shared: Path) -> Path:
    return shared / "data" / "ldbc"


@pytest.mark.parametrize("name", ["exact", "epsilon", "equivalence"])
def test_the_matchers_match(folder: Path, name: str) -> None:
    match: Callable[[ldbc.Values, ldbc.Values], bool] = getattr(ldbc, name)
    expected, good, bad = (
        ldbc.values(folder / "matching" / f"{name}_{which}.csv")
        for which in ("expected", "actual1", "actual2")
    )
    assert match(expected, good)
    assert not match(expected, bad)


def cases(
    folder: Path, kernel: str, letters: str, kind: str
) -> Iterator[tuple[PlainGraph, ldbc.Values, Any]]:
    """Yield graph, expected values and parameters of the validation and of the example."""
    facts = ldbc.parameters(folder)
    weighted = kernel == "sssp"
    example = f"example/example-{kind}"
    for before, after, told in (
        (
            f"{kernel}/{letters}-input",
            f"{kernel}/{letters}-output",
            facts["validation"][kernel][kind],
        ),
        (
            example if weighted else f"{example}-input",
            f"{example}-{kernel.upper()}",
            facts["example"][kind][kernel],
        ),
    ):
        read = ldbc.vertex_edge if weighted else ldbc.adjacency
        yield read(folder / before, kind == "directed"), ldbc.values(folder / after), told


def by_vertex(found: pd.DataFrame, values: pd.Series[Any]) -> ldbc.Values:
    """Return the written value of each vertex."""
    return dict(zip(found["vertex"], values, strict=True))


on_every_graph = pytest.mark.parametrize(("letters", "kind"), KINDS)
on_slots = pytest.mark.parametrize("slots", SLOTS)


@on_every_graph
@on_slots
def test_bfs(folder: Path, letters: str, kind: str, slots: int) -> None:
    for graph, expected, told in cases(folder, "bfs", letters, kind):
        found = frame_of(bfs_slot, build(graph, slots), as_ids([told["source"]]), None)
        reached = found["distance"].astype("string").fillna(ldbc.UNREACHED)
        assert ldbc.exact(expected, by_vertex(found, reached))


@on_every_graph
@on_slots
def test_components(folder: Path, letters: str, kind: str, slots: int) -> None:
    for graph, expected, _ in cases(folder, "wcc", letters, kind):
        found = frame_of(connected_components_slot, build(graph, slots))
        labels = by_vertex(found, found["component"].astype("string"))
        assert ldbc.equivalence(expected, labels)


@on_every_graph
@on_slots
def test_pagerank(folder: Path, letters: str, kind: str, slots: int) -> None:
    for graph, expected, told in cases(folder, "pr", letters, kind):
        shards = build(graph, slots)
        found = frame_of(pagerank_slot, shards, 0.85, None, told["iterations"], None)
        assert ldbc.epsilon(expected, by_vertex(found, found["rank"].map(repr)))


@on_every_graph
@on_slots
def test_cdlp(folder: Path, letters: str, kind: str, slots: int) -> None:
    for graph, expected, told in cases(folder, "cdlp", letters, kind):
        found = frame_of(cdlp_slot, build(graph, slots), told["iterations"])
        assert ldbc.exact(expected, by_vertex(found, found["label"].astype("string")))


@on_every_graph
@on_slots
def test_lcc(folder: Path, letters: str, kind: str, slots: int) -> None:
    for graph, expected, _ in cases(folder, "lcc", letters, kind):
        found = frame_of(local_clustering_slot, build(graph, slots))
        assert ldbc.epsilon(expected, by_vertex(found, found["clustering"].map(repr)))


@on_every_graph
@on_slots
def test_sssp(folder: Path, letters: str, kind: str, slots: int) -> None:
    for graph, expected, told in cases(folder, "sssp", letters, kind):
        found = frame_of(sssp_slot, build(graph, slots), as_ids([told["source"]]))
        far = found["distance"].map(repr).replace("inf", "Infinity")
        assert ldbc.epsilon(expected, by_vertex(found, far))
