"""Graph500: the rules against a stupid checker, the cases, the output block, broken kernels."""

from __future__ import annotations

import json
import math
import os
import subprocess
import sys
from collections.abc import Callable, Sequence
from contextlib import nullcontext
from itertools import pairwise
from pathlib import Path
from typing import Any

import dask.dataframe as dd
import numpy as np
import pandas as pd
import pytest
from distributed import Client
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import dgraph as dg
from dgraph import graph500
from dgraph.algorithms.bfs import bfs
from dgraph.cli import _main
from dgraph.engine.pool import run
from dgraph.errors import OptionError, RunError, VertexNotFoundError
from dgraph.graph500.benchmark import KERNELS
from dgraph.graph500.claims import Claim
from dgraph.graph500.edges import EdgeList, prepare
from dgraph.graph500.report import Report, Search, Statistics
from dgraph.graph500.rules import RULES
from dgraph.graph500.validate import Validation, _count_slot, _validate_slot
from dgraph.shard import Shard
from tests import oracles
from tests.clusters import asynchronously, cluster
from tests.reference import PlainGraph, build, plain
from tests.strategies import spread_graphs

SLOTS = [1, 2, 3, 5]

#: A parent that is not in the graph; ids of drawn graphs are others.
STRANGER = -99


# The rules as the specification has them, one vertex and one edge after the other


def depth_of(v: int, source: int, parent: Sequence[int | None]) -> int | None:
    for steps in range(len(parent)):
        if v == source:
            return steps
        above = parent[v]
        if above is None or above == STRANGER:
            return None
        v = above
    return None


def broken_rules(
    graph: PlainGraph,
    source: int,
    parent: Sequence[int | None],
    level: Sequence[float | None] | None,
    weighted: bool,
) -> set[str]:
    """Return the names of the rules that a tree breaks; vertices are given by their orders."""
    tail, head, weight = graph.arcs
    arcs = [
        (int(u), int(v), 1.0 if weight is None or not weighted else float(weight[i]))
        for i, (u, v) in enumerate(zip(tail, head, strict=True))
        if u != v
    ]
    depth = [depth_of(v, source, parent) for v in range(graph.n)]
    level = depth if level is None else level
    broken = set()
    if level[source] != 0 or parent[source] not in (None, source):
        broken.add("tree")
    for v in set(range(graph.n)) - {source}:
        above, reached = parent[v], level[v] is not None
        if reached != (depth[v] is not None) or (above is not None and not reached):
            broken.add("tree")
        if above is None:
            continue
        joining = [w for u, t, w in arcs if (u, t) == (above, v)]
        if not joining:
            broken.add("parent edges")
        steps = joining if weighted else [1.0] * (above != STRANGER)
        if reached and steps and not any(fits(level[above], w, level[v]) for w in steps):
            broken.add("tree edges")
    for u, v, w in arcs:
        here, there = level[u], level[v]
        if here is not None and there is None:
            broken |= {"component", "input edges"}
        elif here is not None and there is not None and there > here + w:
            broken.add("input edges") if not math.isclose(there, here + w) else None
    return broken


def fits(high: float | None, weight: float, low: float | None) -> bool:
    return high is not None and low is not None and math.isclose(high + weight, low)


def frame_of(
    graph: PlainGraph, parent: Sequence[int | None], level: Sequence[float | None] | None
) -> pd.DataFrame:
    """Return a tree as a result: in the ids of the graph, which are integers."""
    ids = np.array(graph.ids.to_list(), np.int64)
    stands = [v is not None for v in parent]
    named = [STRANGER if v == STRANGER else ids[v or 0] for v in parent]
    missing = ~np.array(stands, bool)
    columns: dict[str, Any] = {
        "vertex": ids,
        "predecessor": pd.arrays.IntegerArray(np.array(named, np.int64), missing),
    }
    if level is not None:
        columns["distance"] = [math.inf if value is None else value for value in level]
    return pd.DataFrame(columns)


def judge(
    shards: Sequence[Shard],
    source: Any,
    frame: pd.DataFrame,
    weighted: bool,
    listed: EdgeList | None = None,
    deal: Sequence[int] = (),
) -> tuple[set[str], int]:
    """Validate on threads; row i of the result goes to slot ``deal[i]``, in turn by default."""
    slots = len(shards)
    to = np.array(deal) if len(deal) else np.arange(len(frame)) % slots
    claims = [[Claim(shard, [frame[to == slot]])] for slot, shard in enumerate(shards)]
    fixed = (source, weighted, "distance" in frame.columns, 1e-15 if weighted else 0.0, listed)
    try:
        found = run(_validate_slot, claims, *([value] * slots for value in fixed), slots=slots)
    except RunError as error:
        raise error.__cause__ or error from None
    assert all(each == found[0] for each in found)
    failures, traversed = found[0]
    return set(failures), traversed


def shortest(graph: PlainGraph, source: int) -> tuple[list[int | None], list[float | None]]:
    """Return a tree of shortest paths by Bellman and Ford."""
    tail, head, weight = graph.arcs
    weight = np.ones(len(tail)) if weight is None else weight
    parent: list[int | None] = [None] * graph.n
    level = [math.inf] * graph.n
    level[source] = 0.0
    for _ in range(graph.n):
        for u, v, w in zip(tail.tolist(), head.tolist(), weight.tolist(), strict=True):
            if level[u] + w < level[v]:
                level[v], parent[v] = level[u] + w, u
    return parent, [None if math.isinf(value) else value for value in level]


def breadth_first(
    graph: PlainGraph, source: int
) -> tuple[list[int | None], list[float | None]]:
    level, parent = oracles.bfs(graph, [source])
    return (
        [None if value < 0 else value for value in parent],
        [None if value < 0 else value for value in level],
    )


@st.composite
def spoiled(draw: st.DrawFn) -> Any:
    """Draw a graph, a spread, and a tree in which up to three things are wrong."""
    graph, spread = draw(spread_graphs(least=1).filter(lambda pair: pair[0].ids.kind == "int"))
    vertex = st.integers(0, graph.n - 1)
    source, weighted = draw(vertex), draw(st.booleans())
    parent, level = (shortest if weighted else breadth_first)(graph, source)
    if draw(st.booleans()):
        parent[source] = source
    for v in draw(st.lists(vertex, max_size=2)):
        parent[v] = draw(st.none() | vertex | st.just(STRANGER))
    has_levels = weighted or draw(st.booleans())
    for v in draw(st.lists(vertex, max_size=1 if has_levels else 0)):
        level[v] = draw(st.none() | st.integers(0, 3).map(float))
    return graph, spread, source, weighted, parent, level if has_levels else None


@settings(suppress_health_check=[HealthCheck.too_slow])  # when kernels are compiled
@given(drawn=spoiled(), data=st.data())
def test_names_the_rules_that_are_broken(drawn: Any, data: st.DataObject) -> None:
    graph, spread, source, weighted, parent, level = drawn
    deal = data.draw(
        st.lists(st.integers(0, spread.slots - 1), min_size=graph.n, max_size=graph.n)
    )
    found, traversed = judge(
        spread.shards(graph),
        graph.ids.take(np.array([source])),
        frame_of(graph, parent, level),
        weighted,
        deal=deal,
    )
    assert found == broken_rules(graph, source, parent, level, weighted)
    inside = [
        value is not None
        for value in level or [depth_of(v, source, parent) for v in range(graph.n)]
    ]
    assert traversed == sum(
        bool(u != v and inside[u] and inside[v])
        for u, v in zip(graph.source.tolist(), graph.target.tolist(), strict=True)
    )


# Each rule broken on purpose

#        1 --- 2 --- 3          The path 0-1-2-3, a triangle 0-1-4, and the edge 8-9 apart.
#       / \                     A wrong tree is what it says in a right one.
#      0---4          8---9
EDGES = np.array([[0, 1], [1, 2], [2, 3], [0, 4], [1, 4], [8, 9]])
TREE = {0: 0, 1: 0, 2: 1, 3: 2, 4: 0}
LEVEL = {0: 0, 1: 1, 2: 2, 3: 3, 4: 1}
WRONG: dict[str, tuple[dict[int, int], dict[int, int] | None, set[str]]] = {
    "a cycle": ({2: 3, 3: 2}, None, {"tree", "input edges", "component"}),
    "a cycle with levels": ({2: 3, 3: 2}, LEVEL, {"tree", "tree edges"}),
    "a parent on the same level": ({4: 1}, LEVEL, {"tree edges"}),
    "an edge over two levels": ({4: 1}, None, {"input edges"}),
    "levels of their own": ({}, LEVEL | {3: 4}, {"tree edges", "input edges"}),
    "a part that is left out": ({2: -1, 3: -1}, None, {"input edges", "component"}),
    "a parent out of reach": ({3: 1}, None, {"parent edges"}),
    "a parent from nowhere": ({3: 77}, LEVEL, {"parent edges", "tree"}),
    "a root that is none": ({0: 4}, LEVEL, {"tree"}),
    "a foreign component": ({8: 0, 9: 8}, None, {"parent edges"}),
}


def wrong_tree(name: str) -> pd.DataFrame:
    change, level, _ = WRONG[name]
    parent = {v: p for v, p in (TREE | change).items() if p >= 0}
    frame = pd.DataFrame({"vertex": list(parent), "predecessor": list(parent.values())})
    return frame if level is None else frame.assign(distance=frame["vertex"].map(level))


@pytest.mark.parametrize("slots", SLOTS)
def test_catches_each_rule_by_name(client: Client, slots: int) -> None:
    with dg.from_edges(EDGES, virtual_slots=slots, client=client) as g:
        assert graph500.validate_bfs(g, 0, dg.bfs(g, 0))
        right = pd.DataFrame({"vertex": list(TREE), "predecessor": list(TREE.values())})
        assert graph500.validate_bfs(g, 0, right)
        for name, (_, _, rules) in WRONG.items():
            found = graph500.validate_bfs(g, 0, wrong_tree(name))
            assert not found, name
            assert set(found.failures) == rules, name
    assert set().union(*(rules for _, _, rules in WRONG.values())) == set(RULES)


def test_says_what_is_wrong_in_words(client: Client) -> None:
    edges = pd.DataFrame({"source": ["a", "b"], "target": ["b", "c"]})
    tree = pd.DataFrame({"vertex": ["c", "b"], "predecessor": ["a", "a"]})
    with dg.from_edges(edges, virtual_slots=2, client=client) as g:
        found = graph500.validate_bfs(g, "a", tree)
    assert str(found) == (
        "bfs from 'a' is invalid: parent edges: there is no edge between 'c' and its parent 'a'"
    )
    assert "parent edges" in found._repr_html_()


WEIGHTED = pd.DataFrame({"u": [0, 0, 1], "v": [1, 2, 2], "w": [0.5, 2.0, 0.25]})


@pytest.mark.parametrize("slots", SLOTS)
@pytest.mark.parametrize(
    ("parent", "distance", "rules"),
    [
        ([None, 0, 1], [0.0, 0.5, 0.75], set()),
        ([None, 0, 0], [0.0, 0.5, 2.0], {"input edges"}),
        ([None, 0, 0], [0.0, 0.5, 0.75], {"tree edges"}),
        ([None, 0, 1], [0.0, 0.5, 0.5], {"tree edges"}),
        ([None, 0, None], [0.0, 0.5, math.inf], {"component", "input edges"}),
        ([None, 2, 1], [0.0, 0.5, 0.75], {"tree", "tree edges"}),
    ],
)
def test_catches_wrong_distances(
    client: Client, slots: int, parent: Any, distance: Any, rules: set[str]
) -> None:
    predecessor = pd.array(parent, dtype="Int64")
    tree = pd.DataFrame({"vertex": range(3), "predecessor": predecessor, "distance": distance})
    with dg.from_edges(WEIGHTED, "u", "v", "w", virtual_slots=slots, client=client) as g:
        assert set(graph500.validate_sssp(g, 0, tree).failures) == rules


def test_believes_no_more_digits_than_a_column_has(client: Client) -> None:
    edges = pd.DataFrame({"u": [0, 1], "v": [1, 2], "w": [0.1, 0.2]})
    tree = pd.DataFrame({"vertex": [0, 1, 2], "predecessor": [0, 0, 1]})
    distance = np.array([0, 0.1, 0.1 + 0.2])
    with dg.from_edges(edges, "u", "v", "w", virtual_slots=2, client=client) as g:
        assert graph500.validate_sssp(g, 0, tree.assign(distance=distance.astype("float32")))
        assert graph500.validate_sssp(g, 0, tree.assign(distance=distance))
        assert not graph500.validate_sssp(g, 0, tree.assign(distance=distance + 1e-9))


def test_refuses_what_is_no_result(client: Client) -> None:
    tree = pd.DataFrame({"vertex": [0, 1, 1], "predecessor": [0, 0, 0]})
    with dg.from_edges(EDGES, virtual_slots=2, client=client) as g:
        with pytest.raises(OptionError, match="2 about 1"):
            graph500.validate_bfs(g, 0, tree)
        with pytest.raises(VertexNotFoundError, match="55"):
            graph500.validate_bfs(g, 0, tree.assign(vertex=[0, 1, 55]))
        with pytest.raises(VertexNotFoundError, match="55"):
            graph500.validate_bfs(g, 55, tree[:2])
        with pytest.raises(OptionError, match="one source, got 2"):
            graph500.validate_bfs(g, [0, 1], tree[:2])
        with pytest.raises(OptionError, match="without distance"):
            graph500.validate_sssp(g, 0, tree)
        with pytest.raises(OptionError, match="expected a graph"):
            graph500.validate_bfs(tree, 0, tree)  # type: ignore[arg-type]
        with pytest.raises(OptionError, match="k must be"):
            graph500.search_keys(g, 0)


def test_takes_the_parents_of_the_reference(client: Client) -> None:
    parents = np.array([0, 0, 1, 2, 0, -1, -1])  # of 0 ... 4, 8 and 9; the root is its own
    tree = pd.DataFrame({"vertex": [0, 1, 2, 3, 4, 8, 9], "predecessor": parents})
    with dg.from_edges(EDGES, virtual_slots=3, client=client) as g:
        assert graph500.validate_bfs(g, 0, tree)
        assert graph500.traversed_edges(g, tree) == 5
    with dg.from_edges(np.vstack([EDGES, [[8, -1]]]), virtual_slots=3, client=client) as g:
        assert set(graph500.validate_bfs(g, 0, tree).failures) == {"tree", "parent edges"}


@pytest.mark.parametrize("kind", ["int8", "uint64", "str"])
def test_takes_results_in_any_form(client: Client, kind: str) -> None:
    with dg.from_edges(EDGES.astype(kind), virtual_slots=3, client=client) as g:
        source = EDGES.astype(kind)[0, 0]
        result = dg.bfs(g, source)
        assert graph500.validate_bfs(g, source, result)
        assert graph500.validate_bfs(g, source, result.repartition(npartitions=1))
        shuffled = client.compute(result).result().sample(frac=1, random_state=1)
        for form in (
            shuffled,
            shuffled.astype({"vertex": "category"}),
            shuffled.astype({"vertex": object, "predecessor": object}),
            dd.from_pandas(shuffled, npartitions=5),
        ):
            found = graph500.validate_bfs(g, source, form)
            assert found, str(found)
            assert found.traversed_edges == 5


# Search keys and the count of traversed edges


def checks_of(shared: Path, case: str) -> list[dict[str, Any]]:
    cases = json.loads((shared / "cases" / "cases.json").read_text())
    (found,) = (some["checks"] for some in cases if some["id"] == case)
    return list(found)


@pytest.mark.parametrize("slots", SLOTS)
def test_public_case_of_keys_and_counts(client: Client, shared: Path, slots: int) -> None:
    for check in checks_of(shared, "B28"):
        made = dg.from_edges(
            np.array(check["edges"]),
            vertices=range(check["n_vertices"]),
            virtual_slots=slots,
            client=client,
            **check["options"],
        )
        with made as g:
            assert answer(g, check) == check["expect"]["graph500"], check["name"]


def answer(g: dg.Graph, check: dict[str, Any]) -> dict[str, Any]:
    """Ask what a case asks."""
    params = check["params"]
    if check["algo"] == "graph500_roots":
        keys = graph500.search_keys(g, params["nbfs"])
        return {"eligible": sorted(keys), "n_runs": len(keys)}
    root = params["root"]
    if check["algo"] == "graph500_teps_edges":
        return {"teps_edges": graph500.traversed_edges(g, dg.bfs(g, root))}
    tree = pd.DataFrame(
        {"vertex": map(int, params["parent"]), "predecessor": params["parent"].values()}
    )
    return {"valid": bool(graph500.validate_bfs(g, root, tree))}


def test_public_case_of_odd_and_even_counts(client: Client, shared: Path) -> None:
    paths, levels, generator = checks_of(shared, "B29")
    for check, kernel in ((paths, "sssp"), (levels, "bfs")):
        edges = pd.DataFrame(check["edges"]).set_axis(
            ["u", "v", "w"][: len(check["edges"][0])], axis=1
        )
        weight = "w" if kernel == "sssp" else None
        for form in check["sweep"]:
            parts = dd.from_pandas(edges, npartitions=form["npartitions"])
            made = dg.from_edges(
                parts, "u", "v", weight, virtual_slots=form["slots"], client=client
            )
            with made as g:
                result = KERNELS[kernel](g, 0)
                found = client.compute(result).result().set_index("vertex")["distance"]
                assert {str(v): d for v, d in found.items()} == check["expect"]["distance"]
                assert getattr(graph500, f"validate_{kernel}")(g, 0, result)
    listed = EdgeList(generator["params"]["scale"])
    assert listed.tuples == generator["expect"]["generated_edges"]
    whole = listed.make(0, listed.tuples)[:2]
    for slots in generator["sweep"]["slots"]:
        cuts = [listed.tuples * slot // slots for slot in range(slots + 1)]
        parts = [listed.make(*cut)[:2] for cut in pairwise(cuts)]
        np.testing.assert_array_equal(np.concatenate(parts, axis=1), whole)


def test_keys_depend_on_the_seed_only(client: Client) -> None:
    edges = dg.generate.kronecker(8, 4)
    drawn = []
    for slots in SLOTS:
        with dg.from_edges(edges, virtual_slots=slots, client=client) as g:
            drawn.append([graph500.search_keys(g, 16, seed) for seed in (1, 2)])
            degrees = client.compute(g.degrees()).result().set_index("vertex")["degree"]
    assert all(keys == drawn[0] for keys in drawn)
    one, two = drawn[0]
    assert len(set(one)) == len(set(two)) == 16
    assert set(one) != set(two)
    assert (degrees[one] > 0).all()


def test_keys_of_a_directed_graph_lead_somewhere(client: Client) -> None:
    edges = np.array([[0, 1], [1, 2], [3, 3]])
    with dg.from_edges(edges, directed=True, virtual_slots=2, client=client) as g:
        assert sorted(graph500.search_keys(g)) == [0, 1]
        assert graph500.validate_bfs(g, 1, dg.bfs(g, 1))
        assert graph500.traversed_edges(g, dg.bfs(g, 1)) == 1


# The tuples of the edge list


def kronecker_graph(listed: EdgeList, duplicates: str) -> PlainGraph:
    near, far, weight = listed.make(0, listed.tuples)
    return plain(near, far, weight, duplicates=duplicates)


@given(
    seed=st.integers(0, 5),
    slots=st.integers(1, 5),
    weighted=st.booleans(),
    change=st.lists(st.tuples(st.integers(0, 99), st.integers(0, 99)), max_size=2),
)
def test_tuples_are_the_edges_of_the_multigraph(
    seed: int, slots: int, weighted: bool, change: list[tuple[int, int]]
) -> None:
    listed = EdgeList(5, 2, seed, weighted)
    merged = kronecker_graph(listed, "min")
    parent, level = (shortest if weighted else breadth_first)(merged, 0)
    for v, above in change:
        parent[v % merged.n] = above % merged.n
    source, frame = merged.ids.slice(0, 1), frame_of(merged, parent, level)
    shards = build(merged, slots)
    found = judge(shards, source, frame, weighted, listed)
    assert found == judge(
        build(kronecker_graph(listed, "keep"), slots), source, frame, weighted
    )
    assert found[0] == broken_rules(merged, 0, parent, level, weighted)
    if not change:
        assert not found[0]
    run(prepare, shards, [listed] * slots, slots=slots)
    assert all(shard.derived for shard in shards)
    assert found == judge(shards, source, frame, weighted, listed)
    claims = [[Claim(shard, [frame] * (shard.slot == 0))] for shard in shards]
    counts = run(_count_slot, claims, [True] * slots, [listed] * slots, slots=slots)
    assert set(counts) == {found[1]}


def test_a_vertex_that_kernel_1_has_lost_is_named() -> None:
    listed = EdgeList(3, 4)
    near, far, _ = listed.make(0, listed.tuples)
    keep = (near != 5) & (far != 5)
    assert not keep.all()
    with pytest.raises(RunError, match="vertex 5, which the graph does not have"):
        run(prepare, build(plain(near[keep], far[keep]), 2), [listed] * 2, slots=2)


# The run

#: The keys of scale 8, edge factor 16, seed 1.
KEYS = [22, 116, 146, 9, 204]


def parse(text: str) -> dict[str, float]:
    """Read the official block as scripts do: a name, a colon, perhaps a mark, a number."""
    found = {}
    for line in text.splitlines():
        name, value = line.split(":", 1)
        found[" ".join(name.split())] = float(value.replace("!", " "))
    return found


def statistics(kernel: str, what: str) -> list[str]:
    names = ["min", "firstquartile", "median", "thirdquartile", "max"]
    names += ["harmonic_mean", "harmonic_stddev"] if what == "TEPS" else ["mean", "stddev"]
    return [f"{kernel} {name}_{what}".strip() for name in names]


@pytest.mark.parametrize("slots", SLOTS)
def test_a_run_is_valid_for_any_slots(client: Client, slots: int) -> None:
    report = graph500.run(8, roots=5, virtual_slots=slots, client=client)
    assert report.valid
    assert report.slots == slots
    assert [search.key for search in report.bfs] == KEYS
    assert [search.edges for search in report.bfs] == [traversed(key) for key in KEYS]
    block = parse(str(report))
    assert list(block) == [
        *("SCALE", "edgefactor", "NBFS", "graph_generation", "num_mpi_processes"),
        "construction_time",
        *statistics("bfs", "time"),
        *statistics("", "nedge"),
        *statistics("bfs", "TEPS"),
        *statistics("bfs", "validate"),
        "peak_memory_bytes",
    ]
    assert (block["SCALE"], block["edgefactor"], block["NBFS"]) == (8, 16, 5)
    teps = [search.edges / search.seconds for search in report.bfs]
    assert block["bfs harmonic_mean_TEPS"] == pytest.approx(
        5 / sum(1 / rate for rate in teps), rel=1e-5
    )
    assert block["bfs max_TEPS"] == pytest.approx(max(teps), rel=1e-5)
    assert block["peak_memory_bytes"] > 1e7


@pytest.mark.parametrize("slots", SLOTS)
def test_shortest_paths_are_valid_for_any_slots(client: Client, slots: int) -> None:
    report = graph500.run(8, roots=3, sssp=True, virtual_slots=slots, client=client)
    assert report.valid
    assert [search.key for search in report.sssp] == KEYS[:3]
    assert [search.edges for search in report.sssp] == [search.edges for search in report.bfs]
    block = parse(str(report))
    for what in ("time", "TEPS", "validate"):
        assert {*statistics("bfs", what), *statistics("sssp", what)} <= set(block)


def traversed(key: int) -> int:
    graph = kronecker_graph(EdgeList(8), "keep")
    level, _ = oracles.bfs(graph, [int(graph.ids.to_list().index(key))])
    inside = np.array(level) >= 0
    return int(np.count_nonzero(inside[graph.source] & (graph.source != graph.target)))


def spoil(g: dg.Graph, key: Any) -> Any:
    """Search, but say that every vertex hangs on the key."""

    async def work() -> Any:
        result: Any = await bfs(g, key)
        below = result["predecessor"].where(result["predecessor"].isna(), key)
        return result.assign(predecessor=below)

    return work()


@pytest.fixture
def main(client: Client, monkeypatch: pytest.MonkeyPatch) -> Callable[[str], int]:
    """Return the command, on the cluster of these tests."""
    monkeypatch.setattr("dgraph.cli.cluster_client", lambda *options: nullcontext(client))
    return lambda line: _main(["graph500", *line.split()])


def test_an_invalid_run_prints_no_results(
    main: Callable[[str], int],
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setitem(KERNELS, "bfs", spoil)
    assert main("--scale 6 --roots 3") == 1
    printed = capsys.readouterr()
    assert printed.out == "No results printed for invalid run.\n"
    assert "parent edges" in printed.err
    assert main("--scale 6 --roots 3 --format json") == 1
    found = json.loads(capsys.readouterr().out)
    assert (found["valid"], found["kernels"], len(found["searches"])) == (False, {}, 1)
    assert main("--scale 6 --roots 3 --no-validate") == 0
    assert parse(capsys.readouterr().out)["bfs max_validate"] == -1


def test_formats(main: Callable[[str], int], capsys: pytest.CaptureFixture[str]) -> None:
    assert main("--scale 6 --edgefactor 4 --roots 2 --seed 2") == 0
    block = parse(capsys.readouterr().out)
    assert (block["SCALE"], block["edgefactor"], block["NBFS"]) == (6, 4, 2)
    assert main("--scale 6 --roots 2 --format table") == 0
    assert "harmonic_mean_TEPS" in capsys.readouterr().out
    assert main("--scale 6 --roots 2 --format json --sssp") == 0
    assert json.loads(capsys.readouterr().out)["kernels"]["sssp"]["TEPS"]["mean"] > 0
    assert main("--roots 2") == main("--scale 6 --roots 0") == 2


def test_the_command_starts_a_cluster() -> None:
    line = [sys.executable, "-m", "dgraph", "graph500", "--scale", "6", "--threads", "3"]
    root = str(Path(__file__).parents[1])
    done = subprocess.run(
        line, capture_output=True, text=True, env={**os.environ, "PYTHONPATH": root}, check=True
    )
    assert parse(done.stdout)["num_mpi_processes"] == 3
    assert done.stderr == ""


def test_runs_on_worker_processes() -> None:
    with cluster(2) as workers:
        report = graph500.run(7, roots=2, client=workers)
    assert report.valid
    assert report.slots == 2


def test_an_async_client_gets_an_awaitable() -> None:
    async def work(client: Client) -> Report:
        report: Report = await graph500.run(6, roots=2, client=client)
        return report

    assert asynchronously(work).valid


def test_refuses_a_run_of_nothing(client: Client) -> None:
    with pytest.raises(OptionError, match="roots must be"):
        graph500.run(6, roots=0, client=client)
    with pytest.raises(OptionError, match="scale must be"):
        graph500.run(-1, client=client)
    with pytest.raises(OptionError, match="between different vertices"):
        graph500.run(0, client=client)


# The figures


@pytest.mark.parametrize("n", range(1, 14))
def test_statistics_are_those_of_the_reference(n: int) -> None:
    sample = np.random.default_rng(n).permutation(n) ** 2.0
    x = sorted(sample)
    found = Statistics.of(sample.tolist())
    assert found.firstquartile == (x[(n - 1) // 4] + x[n // 4]) / 2
    assert found.median == (x[(n - 1) // 2] + x[n // 2]) / 2
    assert found.thirdquartile == (x[n - 1 - (n - 1) // 4] + x[n - 1 - n // 4]) / 2
    assert (found.min, found.max, found.mean) == (x[0], x[-1], sum(x) / n)
    assert (
        math.isnan(found.stddev) if n == 1 else found.stddev == pytest.approx(np.std(x, ddof=1))
    )


def report_of(searches: Sequence[Search], sssp: Sequence[Search] = ()) -> Report:
    return Report(20, 16, 1, 2, 10, 20, 0.5, 2.0, tuple(searches), tuple(sssp), 1 << 30)


def test_harmonic_mean_and_its_deviation() -> None:
    rates = Statistics.of_rates([Search(0, 2.0, 4, 1), Search(1, 3.0, 12, 1)])
    assert rates.mean == pytest.approx(2 / (1 / 2 + 1 / 4))
    pace = np.array([1 / 2, 1 / 4])
    assert rates.stddev == pytest.approx(pace.std(ddof=1) / pace.mean() ** 2)
    assert (rates.min, rates.max) == (2, 4)


def test_the_block_is_laid_out_as_the_reference_does() -> None:
    searches = [Search(0, 0.5, 1 << 24, 7), Search(1, 0.25, 1 << 24, 7)]
    lines = str(report_of(searches, searches)).splitlines()
    assert lines[0] == "SCALE:                          20"
    assert "min_nedge:                      16777216" in lines
    assert "bfs  harmonic_mean_TEPS:     !  4.47392e+07" in lines
    assert "sssp harmonic_mean_TEPS:     !  4.47392e+07" in lines
    assert "sssp median_time:               0.375" in lines
    names = [line.split(":")[0] for line in lines]
    assert names.index("bfs  stddev_time") < names.index("sssp min_time")
    assert names.index("sssp stddev_time") < names.index("min_nedge")
    assert names.index("stddev_nedge") < names.index("bfs  min_TEPS")
    assert names.index("sssp harmonic_stddev_TEPS") < names.index("bfs  min_validate")


def test_a_report_shows_tables() -> None:
    good = Validation("bfs", 0)
    report = report_of([Search(0, 0.5, 1 << 24, 7, good, 0.1)])
    assert "<table" in report._repr_html_()
    assert "1.00 GiB" in report.table()
    assert report.to_frame()["TEPS"].tolist() == [1 << 25]
    assert json.loads(json.dumps(report.to_dict()))["kernels"]["bfs"]["TEPS"]["mean"] == 1 << 25
    bad = Validation("bfs", 0, {"tree": "1 vertex"})
    failed = report_of([Search(0, 0.5, 1 << 24, 7, bad, 0.1)])
    assert str(failed) == failed.table() == "No results printed for invalid run."
    assert "tree" in failed._repr_html_()
