"""The draft that placements look at, the cut that slots make together, and placement "auto"."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import Any, ClassVar
from unittest import mock

import dask
import numpy as np
import pandas as pd
import pytest
from distributed import Client
from hypothesis import given, settings
from hypothesis import strategies as st

import dgraph as dg
from dgraph.build import drafting
from dgraph.engine.pool import run
from dgraph.placement import Hierarchy
from dgraph.placement import auto as auto_module
from dgraph.placement.bisection import split, split_together
from dgraph.placement.draft import Draft
from dgraph.placement.heap import pop, push
from dgraph.placement.quotient import make_quotient
from dgraph.placement.whole import links_of
from dgraph.topology import Topology

DEEP = Topology.from_fanouts([2, 2, 2])


def random_edges(n: int, m: int, blocks: int = 1) -> pd.DataFrame:
    """Return edges between random vertices of the same block, blocks being shuffled."""
    draw = np.random.default_rng(11)
    members = draw.permutation(n).reshape(blocks, -1)
    which = draw.integers(0, blocks, m)
    ends = [members[which, draw.integers(0, n // blocks, m)] for _ in range(2)]
    return pd.DataFrame({"source": ends[0], "target": ends[1]})


# Drafts


@dataclass(frozen=True)
class Look:
    """Keeps what it is shown; places by rank."""

    enough: int
    seen: ClassVar[list[Any]] = []

    @property
    def base(self) -> Draft:
        return Draft(self.enough)

    def on(self, topology: Topology) -> Look:
        return self

    async def place(self, ctx: Any, shard: Any) -> Any:
        links = links_of(shard, weighted=True)
        row = np.repeat(np.arange(shard.masters), np.diff(links.offsets))
        assert shard.order.tolist() == list(range(*shard.bases[ctx.slot : ctx.slot + 2]))
        order = np.full(shard.size, -1)
        order[: shard.masters] = shard.order
        await ctx.broadcast(shard, order)
        weights = links.weights if links.weights is not None else np.ones(row.size)
        far = order[links.targets]
        self.seen.append((shard.order, shard.rank[: shard.masters], order, shard.rank))
        self.seen.append(list(zip(order[row].tolist(), far.tolist(), weights, strict=True)))
        return (shard.rank[: shard.masters] % ctx.slots).astype(np.int32)


@given(
    st.lists(st.tuples(*[st.integers(0, 150)] * 2, st.sampled_from([0.1, 2.0])), max_size=60),
    st.booleans(),
    st.booleans(),
    st.sampled_from([1, 20, 1000]),
    st.sampled_from([3, 1 << 19]),
)
@settings(max_examples=10)
def test_a_draft_shows_every_edge_at_both_ends(
    client: Client,
    rows: list[tuple[int, int, float]],
    weighted: bool,
    directed: bool,
    enough: int,
    piece: int,
) -> None:
    frame = pd.DataFrame(rows, columns=["source", "target", "w"]).astype(
        {"source": "int64", "target": "int64", "w": "float64"}
    )
    Look.seen.clear()
    options: Any = {"directed": directed, "duplicates": "keep", "vertices": [*range(151)]}
    options |= {"weight": "w" if weighted else None, "placement": Look(enough)}
    with mock.patch.object(drafting, "PIECE", piece):
        dg.from_edges(frame, virtual_slots=5, client=client, **options).close()
    ends = Counter(v for u, w, _ in rows for v in (u, w))
    by_rank = sorted(range(151), key=lambda v: (-ends[v], v))
    links = []
    for some in Look.seen:
        if isinstance(some, list):
            links += some
            continue
        masters, ranks, orders, all_ranks = some
        assert [by_rank[r] for r in ranks] == masters.tolist()
        real = orders >= 0
        assert [by_rank[r] for r in all_ranks[real]] == orders[real].tolist()
    want = []
    for u, v, w in rows:
        want.append((u, v, np.float64(w if weighted else 1.0)))
        if u != v:
            want.append((v, u, want[-1][2]))
    assert sorted(links) == sorted(want)


def test_the_work_is_on_few_slots_and_these_are_far_from_each_other() -> None:
    from dgraph.build.strategy import Totals, VertexBlock
    from dgraph.vertices.ids import IntIds

    number = np.arange(1000)
    block = VertexBlock(number, number, np.full(1000, 6), IntIds(number))
    for enough, slots in ((6000, [0]), (5999, [0, 4]), (2000, [0, 2, 5]), (1, [*range(8)])):
        draft = Draft(enough)
        totals = Totals(0, draft.measure(block)[None])
        assert np.unique(draft.slots_of(block, 8, totals)).tolist() == slots


@pytest.mark.parametrize("enough", [4000, 1 << 19])
def test_hierarchy_finds_the_blocks_on_many_slots_as_on_one(
    client: Client, monkeypatch: pytest.MonkeyPatch, enough: int
) -> None:
    monkeypatch.setattr(Hierarchy, "base", property(lambda self: Draft(enough)))
    frame = random_edges(2400, 12_000, blocks=4)
    found = dg.placement.compare(
        frame, ["hierarchy", "hash"], topology=Topology.from_fanouts([3, 4]), client=client
    )
    assert found["cut_top"][0] <= 0.02 * found["cut_top"][1]
    assert found["vertex_balance"][0] <= 1.06
    assert found["edge_balance"][0] <= 1.1


# What slots do together


@given(
    st.integers(0, 60),
    st.lists(st.tuples(st.integers(0, 59), st.integers(0, 59)), max_size=150),
    st.sampled_from([[2], [3], [2, 2], [1, 3, 2]]),
    st.sampled_from([1, 2]),
)
@settings(max_examples=25)
def test_slots_cut_a_graph_as_one_does(
    n: int, edges: list[tuple[int, int]], fanouts: list[int], threads: int
) -> None:
    ends = np.array(edges, np.int32).reshape(-1, 2) % max(n, 1)
    ends = ends[: len(ends) * (n > 0)]
    count = np.ones(len(ends), np.int32)
    q = make_quotient(ends[:, 0], ends[:, 1], count, 1 + np.arange(n) % 3)
    tree = Topology.from_fanouts(fanouts)

    async def program(ctx: Any) -> Any:
        return await split_together(ctx, q if ctx.slot == 0 else None, tree, 0.1)

    want = split(q, tree, 0.1).tolist()
    for some in run(program, slots=tree.slots, threads=threads):
        assert some.tolist() == want


@given(st.lists(st.tuples(st.integers(-5, 5), st.integers(0, 9))))
def test_a_heap_gives_the_lowest_first(pairs: list[tuple[int, int]]) -> None:
    keys, numbers = np.empty(len(pairs), np.int64), np.empty(len(pairs), np.int64)
    size = 0
    for key, number in pairs:
        size = push(keys, numbers, size, key, number)
    taken = []
    while size:
        size = pop(keys, numbers, size)
        taken.append((int(keys[size]), int(numbers[size])))
    assert taken == sorted(pairs)


# Auto


@pytest.mark.parametrize("fanouts", [[8], [4, 2]])
def test_auto_is_degree_where_there_are_two_levels_at_most(
    client: Client, fanouts: list[int]
) -> None:
    tree = Topology.from_fanouts(fanouts)
    options: Any = {"virtual_slots": 8, "topology": tree, "client": client}
    with dg.from_edges(random_edges(64, 300, blocks=8), placement="auto", **options) as g:
        assert g.placement == "degree"
        assert g.report["chosen"]["placement"].startswith("degree: the topology has ")
        assert "draft" not in g.report["seconds"]
    assert isinstance(dg.placement.Auto().on(tree), dg.placement.Degree)  # as it is, no look


def test_auto_is_the_default(client: Client) -> None:
    options: Any = {"virtual_slots": 8, "client": client}
    frame = random_edges(800, 4000, blocks=8)
    with dg.from_edges(frame, **options) as g:
        assert g.placement == "degree"
        assert g.report["chosen"]["placement"] == "degree: the topology has one level only"
    with (
        dask.config.set({"dgraph.cost": {"alpha": [0, 0, 0], "beta": [0, 0, 1e-2]}}),
        dg.from_edges(frame, topology=DEEP, **options) as g,
    ):
        assert g.placement == "hierarchy"


OFTEN = dg.placement.Auto(runs=1e7)


def test_auto_takes_what_would_cost_least(client: Client) -> None:
    graphs = {
        "hierarchy": random_edges(800, 4000, blocks=8),
        "degree": random_edges(320, 60_000),
        "chunk": dg.generate.grid(30, 30).compute(),
    }
    for name, frame in graphs.items():
        options: Any = {"virtual_slots": 8, "topology": DEEP, "client": client}
        with dg.from_edges(frame, placement=OFTEN, **options) as g:
            assert g.placement == name
            assert g.report["chosen"]["placement"].startswith(f"{name}: ")
            assert name != "chunk" or "draft" not in g.report["seconds"]
            costs = {name: g.placement.figures().cost}
        for other in graphs:
            with dg.from_edges(frame, placement=other, **options) as g:
                costs[other] = g.placement.figures().cost
        # where "chunk" costs a little more, it needs no look at the edges
        assert costs[name] <= min(costs["degree"], 1.15 * costs["hierarchy"])


def test_auto_does_not_look_where_little_is_to_be_saved(client: Client) -> None:
    options: Any = {"virtual_slots": 8, "topology": DEEP, "client": client}
    frame = dg.generate.grid(30, 30).compute()
    with dg.from_edges(frame, placement="auto", **options) as g:
        assert g.placement == "degree"
        assert (
            " 1 run of the benchmark set links would cost " in g.report["chosen"]["placement"]
        )
        assert "draft" not in g.report["seconds"]


def test_auto_counts_once_what_the_client_counts_often(client: Client) -> None:
    options: Any = {"virtual_slots": 8, "topology": DEEP, "client": client}
    frame = pd.concat([dg.generate.grid(30, 30).compute()] * 50)
    with mock.patch.object(auto_module, "_look_at", side_effect=AssertionError("looked")):
        auto = dg.placement.Auto(cost={"alpha": [0] * 3, "beta": [0, 0, 1e-6]}, runs=0.2)
        assert isinstance(auto.on(DEEP).at_most(len(frame)), dg.placement.Auto)  # may be much
        with dg.from_edges(frame, placement=auto, **options) as g:
            assert g.placement == "degree"
            assert g.report["chosen"]["placement"].endswith(" s at most")


def test_auto_asks_no_hierarchy_where_a_vertex_fills_a_slot(client: Client) -> None:
    options: Any = {"virtual_slots": 8, "topology": DEEP, "client": client}
    hub = pd.DataFrame({"source": 0, "target": np.arange(200)})
    frame = pd.concat([random_edges(800, 4000, blocks=8), hub])
    with dg.from_edges(frame, placement=OFTEN, **options) as g:
        assert g.placement == "degree"
        assert "one slot may have too many edges" in g.report["chosen"]["placement"]
        assert "draft" not in g.report["seconds"]


def test_auto_places_by_hierarchy_only_where_that_pays(client: Client) -> None:
    options: Any = {"virtual_slots": 8, "topology": DEEP, "client": client}
    frame = random_edges(800, 4000, blocks=8)
    cost = {"alpha": [0, 0, 0], "beta": [0, 0, 1e-6]}
    found = []
    for runs in (0, 1, 10, 100, 1000):
        auto = dg.placement.Auto(runs=runs, cost=cost)
        with dg.from_edges(frame, placement=auto, **options) as g:
            found.append(g.placement)
            why = g.report["chosen"]["placement"]
            assert why.startswith(g.placement) or "hierarchy" in why
    assert found == sorted(found, key=["degree", "hierarchy"].index)
    assert {found[0], found[-1]} == {"degree", "hierarchy"}


@pytest.mark.parametrize("fanouts", [[2, 2, 2], [1, 3, 2], [2, 1, 1]])
def test_auto_prices_chunk_as_its_figures_say(client: Client, fanouts: list[int]) -> None:
    tree = Topology.from_fanouts(fanouts)
    options: Any = {"virtual_slots": tree.slots, "topology": tree, "client": client}
    stars = pd.DataFrame({"source": np.arange(3000) // 100, "target": np.arange(3000)})
    told: list[Any] = []
    look = auto_module._look_at

    async def watch(*args: Any) -> Any:
        told.append(await look(*args))
        return told[-1]

    for frame in (dg.generate.grid(40, 40).compute(), random_edges(800, 4000), stars):
        told.clear()
        with mock.patch.object(auto_module, "_look_at", watch):
            dg.from_edges(frame, placement=OFTEN, **options).close()
        with dg.from_edges(frame, placement="chunk", **options) as g:
            figures, links = g.placement.figures(), g.num_edges
        assert len(told) == tree.slots
        for counts, is_even in told:
            assert np.abs(counts[1:] - figures.cut).max() <= 0.03 * links
            assert is_even == (figures.edge_balance <= 1.1)


def test_auto_refuses_a_wrong_number_of_runs() -> None:
    with pytest.raises(ValueError, match="runs must be a number from 0 on, not -1"):
        dg.placement.Auto(runs=-1)


def test_auto_places_graphs_of_nothing(client: Client) -> None:
    for vertices in ([], [3], [1, 2, 3]):
        frame = random_edges(8, 0)
        options: Any = {"virtual_slots": 8, "topology": DEEP, "client": client}
        with dg.from_edges(frame, vertices=vertices, placement=OFTEN, **options) as g:
            assert g.num_vertices == len(vertices)
