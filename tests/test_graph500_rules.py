"""Rules of Graph500: each broken one is named, in any form of result."""

from __future__ import annotations

import math
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
from dgraph.errors import OptionError, VertexNotFoundError
from dgraph.graph500.rules import RULES
from tests.graph500_rules import (
    STRANGER,
    breadth_first,
    broken_rules,
    depth_of,
    frame_of,
    judge,
    shortest,
)
from tests.strategies import spread_graphs

# The rules as the specification has them, one vertex and one edge after the other

SLOTS = [1, 2, 3, 5]


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
