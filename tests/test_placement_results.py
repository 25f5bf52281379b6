"""No result shows where a graph lies: every partitioner, and every split, on every algorithm.

The owners are what the partitioners say on a domain tree of three levels; the programs run
without a cluster. What users see of some of them is in test_placement_calls and test_rhizomes.
"""

from __future__ import annotations

import importlib.util
from typing import Any

import numpy as np
import pandas as pd
import pytest
from distributed import Client

import dgraph as dg
from dgraph.build.rhizomes import ALLOCATIONS, Rhizomes
from dgraph.build.splitting import split_rows
from dgraph.engine.pool import run
from dgraph.placement import Auto, Hierarchy
from dgraph.topology import Topology
from tests.harness import frame_of
from tests.programs import programs
from tests.reference import PlainGraph, build, plain

TREE = Topology.from_fanouts([2, 2, 2])

PLACEMENTS: list[Any] = [
    *("degree", "hash", "chunk", "2d", "metis", "fennel", "xtree", "adp", "topox"),
    *("hierarchy", "auto", Auto(runs=1e9)),
    Hierarchy(refine=0, eps=0.0),
    Hierarchy(order="bfs", metric="grid"),
    Hierarchy(order="dfs", spread="greedy", vol_st=40),
    Hierarchy(order="prim", edges="2d-in-domain"),
]


def graph(directed: bool) -> PlainGraph:
    """Return a graph with hubs, loops, parallels, ties of weights and several components."""
    draw = np.random.default_rng(11 + directed)
    source = np.append(draw.integers(0, 34, 110), [90, 91, 92, 95])
    target = np.append((draw.random(110) ** 3 * 30).astype(np.int64), [91, 92, 90, 95])
    weight = draw.choice([0.1, 0.5, 1.0, 1 / 3], len(source))
    return plain(source, target, weight, directed=directed, vertices=np.arange(50))


def owners(some: PlainGraph, placement: Any, client: Client) -> Any:
    """Return the slot of each vertex, by its place among the ids."""
    ids = some.ids.to_pandas()
    frame = pd.DataFrame({"source": ids[some.source], "target": ids[some.target]})
    found = dg.placement.assign(
        frame, placement, topology=TREE, slots=TREE.slots, vertices=ids,
        directed=some.directed, client=client,
    )  # fmt: skip
    table = client.compute(found, sync=True).set_index("vertex")["slot"]
    return table.loc[ids].to_numpy()


@pytest.fixture(scope="module", params=[False, True], ids=["undirected", "directed"])
def wanted(request: Any) -> tuple[PlainGraph, dict[str, pd.DataFrame]]:
    """Return a graph, and what one slot finds."""
    some = graph(request.param)
    whole = build(some, 1)
    return some, {
        name: frame_of(program, whole, *arguments)
        for name, (program, *arguments) in programs(some).items()
    }


@pytest.mark.parametrize("number", range(len(PLACEMENTS)), ids=lambda n: str(PLACEMENTS[n]))
def test_every_placement_gives_the_same_bits(
    client: Client, wanted: tuple[PlainGraph, dict[str, pd.DataFrame]], number: int
) -> None:
    some, want = wanted
    if PLACEMENTS[number] == "metis" and importlib.util.find_spec("pymetis") is None:
        pytest.skip("extra metis")
    shards = build(some, TREE.slots, owners(some, PLACEMENTS[number], client))
    how = Rhizomes(16, ALLOCATIONS[number % len(ALLOCATIONS)])
    split = run(split_rows, shards, [how] * TREE.slots, slots=TREE.slots)
    assert split[0][1]["pieces"] > 0 or how.at_home  # all neighbours may be at home
    for layout in (shards, [shard for shard, _ in split]):
        for name, (program, *arguments) in programs(some).items():
            found = frame_of(program, layout, *arguments)
            pd.testing.assert_frame_equal(found, want[name], check_exact=True, obj=name)
