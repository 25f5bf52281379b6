"""What Graph500 counts: search keys, traversed edges, the tuples of the edge list."""

from __future__ import annotations

import json
from itertools import pairwise
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
from dgraph import graph500
from dgraph.engine.pool import run
from dgraph.errors import RunError
from dgraph.graph500.benchmark import KERNELS
from dgraph.graph500.claims import Claim
from dgraph.graph500.edges import EdgeList, prepare
from dgraph.graph500.validate import _count_slot
from tests.graph500_rules import (
    breadth_first,
    broken_rules,
    frame_of,
    judge,
    kronecker_graph,
    shortest,
)
from tests.reference import build, plain

# Search keys and the count of traversed edges

SLOTS = [1, 2, 3, 5]


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
