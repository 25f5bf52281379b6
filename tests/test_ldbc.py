"""The validation graphs of LDBC Graphalytics, by their own matching rules."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from dgraph.algorithms.bfs import bfs_slot
from dgraph.algorithms.cdlp import cdlp_slot
from dgraph.algorithms.connected_components import connected_components_slot
from dgraph.algorithms.local_clustering import local_clustering_slot
from dgraph.algorithms.pagerank import pagerank_slot
from dgraph.algorithms.sssp import sssp_slot
from tests import ldbc
from tests.harness import frame_of
from tests.reference import as_ids, build

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


def cases(folder: Path, kernel: str, letters: str, kind: str) -> list[tuple[Path, Path, str]]:
    """Return inputs and outputs of the validation graph and of the example."""
    example = folder / "example" / f"example-{kind}"
    return [
        (
            folder / kernel / f"{letters}-input",
            folder / kernel / f"{letters}-output",
            "validation",
        ),
        (Path(f"{example}-input"), Path(f"{example}-{kernel.upper()}"), "example"),
    ]


@pytest.mark.parametrize(("letters", "kind"), KINDS)
@pytest.mark.parametrize("slots", SLOTS)
def test_bfs(folder: Path, letters: str, kind: str, slots: int) -> None:
    facts = ldbc.parameters(folder)
    sources = [
        facts["validation"]["bfs"][kind]["source"],
        facts["example"][kind]["bfs"]["source"],
    ]
    for (before, after, _), source in zip(
        cases(folder, "bfs", letters, kind), sources, strict=True
    ):
        shards = build(ldbc.adjacency(before, kind == "directed"), slots)
        found = frame_of(bfs_slot, shards, as_ids([source]), None)
        reached = found["distance"].astype("string").fillna(ldbc.UNREACHED)
        assert ldbc.exact(ldbc.values(after), dict(zip(found["vertex"], reached, strict=True)))


@pytest.mark.parametrize(("letters", "kind"), KINDS)
@pytest.mark.parametrize("slots", SLOTS)
def test_components(folder: Path, letters: str, kind: str, slots: int) -> None:
    for before, after, _ in cases(folder, "wcc", letters, kind):
        shards = build(ldbc.adjacency(before, kind == "directed"), slots)
        found = frame_of(connected_components_slot, shards)
        labels = dict(zip(found["vertex"], found["component"].astype("string"), strict=True))
        assert ldbc.equivalence(ldbc.values(after), labels)


@pytest.mark.parametrize(("letters", "kind"), KINDS)
@pytest.mark.parametrize("slots", SLOTS)
def test_pagerank(folder: Path, letters: str, kind: str, slots: int) -> None:
    facts = ldbc.parameters(folder)
    rounds = [
        facts["validation"]["pr"][kind]["iterations"],
        facts["example"][kind]["pr"]["iterations"],
    ]
    for (before, after, _), count in zip(
        cases(folder, "pr", letters, kind), rounds, strict=True
    ):
        shards = build(ldbc.adjacency(before, kind == "directed"), slots)
        found = frame_of(pagerank_slot, shards, 0.85, None, count, None)
        ranks = dict(zip(found["vertex"], found["rank"].map(repr), strict=True))
        assert ldbc.epsilon(ldbc.values(after), ranks)


@pytest.mark.parametrize(("letters", "kind"), KINDS)
@pytest.mark.parametrize("slots", SLOTS)
def test_cdlp(folder: Path, letters: str, kind: str, slots: int) -> None:
    facts = ldbc.parameters(folder)
    rounds = [
        facts["validation"]["cdlp"][kind]["iterations"],
        facts["example"][kind]["cdlp"]["iterations"],
    ]
    for (before, after, _), count in zip(
        cases(folder, "cdlp", letters, kind), rounds, strict=True
    ):
        shards = build(ldbc.adjacency(before, kind == "directed"), slots)
        found = frame_of(cdlp_slot, shards, count)
        labels = dict(zip(found["vertex"], found["label"].astype("string"), strict=True))
        assert ldbc.exact(ldbc.values(after), labels)


@pytest.mark.parametrize(("letters", "kind"), KINDS)
@pytest.mark.parametrize("slots", SLOTS)
def test_lcc(folder: Path, letters: str, kind: str, slots: int) -> None:
    for before, after, _ in cases(folder, "lcc", letters, kind):
        shards = build(ldbc.adjacency(before, kind == "directed"), slots)
        found = frame_of(local_clustering_slot, shards)
        shares = dict(zip(found["vertex"], found["clustering"].map(repr), strict=True))
        assert ldbc.epsilon(ldbc.values(after), shares)


@pytest.mark.parametrize(("letters", "kind"), KINDS)
@pytest.mark.parametrize("slots", SLOTS)
def test_sssp(folder: Path, letters: str, kind: str, slots: int) -> None:
    facts = ldbc.parameters(folder)
    example = folder / "example" / f"example-{kind}"
    files = [
        (folder / "sssp" / f"{letters}-input", folder / "sssp" / f"{letters}-output"),
        (example, Path(f"{example}-SSSP")),
    ]
    sources = [
        facts["validation"]["sssp"][kind]["source"],
        facts["example"][kind]["sssp"]["source"],
    ]
    for (before, after), source in zip(files, sources, strict=True):
        shards = build(ldbc.vertex_edge(before, kind == "directed"), slots)
        found = frame_of(sssp_slot, shards, as_ids([source]))
        far = found["distance"].map(repr).replace("inf", "Infinity")
        assert ldbc.epsilon(ldbc.values(after), dict(zip(found["vertex"], far, strict=True)))
