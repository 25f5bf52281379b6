"""Placements that see edges: what SEEDS asks of them, and that no result shows them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from distributed import Client
from hypothesis import given, settings
from hypothesis import strategies as st

import dgraph as dg
from dgraph.build.strategy import EdgeStrategy
from dgraph.cli import _main
from dgraph.engine.pool import run
from dgraph.errors import DgraphError
from dgraph.placement import Adp, Fennel, Hierarchy, Metis, TopoX, XTree, core_trees
from dgraph.placement.bisection import bisect, split
from dgraph.placement.distances import grid_distances, tree_distances
from dgraph.placement.distribution import distribute
from dgraph.placement.evening import water
from dgraph.placement.growth import grow_trees
from dgraph.placement.quotient import make_quotient
from dgraph.placement.trees import ORDERS
from dgraph.placement.whole import links_of, place_whole
from dgraph.topology import Topology
from tests.clusters import asynchronously
from tests.reference import PlainGraph
from tests.strategies import Spread, spread_graphs

NAMES = [
    "hash", "chunk", "2d", "hierarchy", "metis", "fennel", "xtree", "adp", "topox", "auto"
]  # fmt: skip
HIERARCHIES = [
    Hierarchy(),
    Hierarchy(refine=0, eps=0.0),
    Hierarchy(order="bfs", metric="grid"),
    Hierarchy(order="dfs", spread="greedy", vol_st=40),
    Hierarchy(order="prim", edges="2d-in-domain"),
]
STRATEGIES = [*HIERARCHIES, Fennel(), XTree(), Adp(), TopoX(size=3)]
TREE = Topology.from_fanouts([2, 2])


def pairs_of(edges: list[tuple[int, int]]) -> pd.DataFrame:
    return pd.DataFrame(edges, columns=["source", "target"], dtype="int64")


def grid(side: int) -> pd.DataFrame:
    number = np.arange(side * side).reshape(side, side)
    low = np.concatenate([number[:, :-1].ravel(), number[:-1].ravel()])
    high = np.concatenate([number[:, 1:].ravel(), number[1:].ravel()])
    return pd.DataFrame({"source": low, "target": high})


def planted(blocks: int, size: int, degree: int, outside: float) -> tuple[pd.DataFrame, Any]:
    """Return edges of which few leave a block, and the block of each vertex."""
    draw = np.random.default_rng(7)
    n = blocks * size
    block = draw.permutation(np.arange(n) % blocks)
    members = np.array([np.flatnonzero(block == b) for b in range(blocks)])
    source = draw.integers(0, n, n * degree // 2)
    near = members[block[source], draw.integers(0, size, source.size)]
    far = draw.integers(0, n, source.size)
    target = np.where(draw.random(source.size) < outside, far, near)
    return pd.DataFrame({"source": source, "target": target}), block


# Core trees


def rows_of(n: int, edges: list[tuple[int, int]]) -> tuple[Any, Any, Any]:
    """Return offsets and targets by rank, and which vertex has each rank."""
    near: list[set[int]] = [set() for _ in range(n)]
    for u, v in edges:
        if u != v:
            near[u].add(v)
            near[v].add(u)
    by_rank = sorted(range(n), key=lambda v: (-len(near[v]), v))
    rank = {v: r for r, v in enumerate(by_rank)}
    rows = [sorted(rank[u] for u in near[v]) for v in by_rank]
    offsets = np.cumsum([0, *map(len, rows)])
    return offsets, np.array([t for row in rows for t in row], np.int32), by_rank


small_graphs = st.integers(1, 14).flatmap(
    lambda n: st.tuples(
        st.just(n),
        st.lists(st.tuples(st.integers(0, n - 1), st.integers(0, n - 1)), max_size=30),
    )
)


def test_the_trees_of_the_path_in_the_seeds() -> None:
    offsets, targets, by_rank = rows_of(10, [(v, v + 1) for v in range(9)])
    tree, taken = core_trees(offsets, targets, 100)
    found = [[by_rank[v] for v in taken if tree[v] == number] for number in range(3)]
    assert found == [[1, 2, 3, 4, 5], [6, 7, 8, 9], [0]]


@given(small_graphs, st.sampled_from(ORDERS), st.integers(1, 200))
def test_trees_are_disjoint_connected_bounded_and_cover_all(
    graph: tuple[int, list[tuple[int, int]]], order: str, vol_st: int
) -> None:
    offsets, targets, _ = rows_of(*graph)
    tree, taken = core_trees(offsets, targets, vol_st, order)
    degree = np.diff(offsets)
    assert np.array_equal(np.flatnonzero(tree >= 0), np.flatnonzero(degree > 0))
    assert sorted(taken) == np.flatnonzero(degree > 0).tolist()
    for number in range(tree.max(initial=-1) + 1):
        members = [v for v in taken if tree[v] == number]
        volumes = [8 + 8 * int(degree[v]) for v in members]
        assert sum(volumes[:-1]) < vol_st
        for at, v in enumerate(members[1:], 1):  # each hangs on one taken before it
            row = targets[offsets[v] : offsets[v + 1]]
            assert set(row.tolist()) & set(members[:at])


@given(small_graphs, st.integers(1, 200), st.sampled_from([0.0, 0.05, 0.5]))
def test_the_greedy_distribution_keeps_to_the_capacities(
    graph: tuple[int, list[tuple[int, int]]], vol_st: int, eps: float
) -> None:
    offsets, targets, _ = rows_of(*graph)
    tree, taken = core_trees(offsets, targets, vol_st)
    owner = distribute(offsets, targets, tree, taken, TREE, eps)
    placed = tree >= 0
    assert ((owner >= 0) == placed).all()
    cap = max(-(-graph[0] // 4), int((1 + eps) * graph[0] / 4))
    assert np.bincount(owner[placed], minlength=4).max() <= cap


def test_a_cluster_that_fits_a_leaf_domain_never_leaves_it() -> None:
    triangles = [(3 * t + a, 3 * t + b) for t in range(4) for a, b in ((0, 1), (1, 2), (0, 2))]
    offsets, targets, _ = rows_of(12, triangles)
    tree, taken = core_trees(offsets, targets, 1000)
    owner = distribute(offsets, targets, tree, taken, TREE, 0.0)
    for number in range(4):
        assert len(set(TREE.domain_of(0)[owner[tree == number]])) == 1


@given(spread_graphs(), st.integers(1, 200))
def test_grown_trees_are_connected_and_counted(
    drawn: tuple[PlainGraph, Spread], vol_st: int
) -> None:
    graph, spread = drawn
    shards = spread.shards(graph)

    async def program(ctx: Any, shard: Any) -> Any:
        links = links_of(shard)
        trees = await grow_trees(ctx, shard, links, vol_st, 100)
        own = trees.tree[: shard.masters]
        ends = [
            (int(own[v]), int(shard.rank[v]), int(trees.tree[u]), int(shard.rank[u]))
            for v in range(shard.masters)
            for u in links.targets[links.offsets[v] : links.offsets[v + 1]]
        ]
        members = np.bincount(own[own >= 0], minlength=trees.count)
        volume = np.bincount(
            own[own >= 0], 8 + 8 * np.diff(links.offsets)[own >= 0], trees.count
        )
        return own, shard.rank[: shard.masters], members, ends, volume, trees.volume

    results = run(program, shards, slots=spread.slots)
    tree = {
        int(r): int(t) for own, ranks, *_ in results for t, r in zip(own, ranks, strict=True)
    }
    members = np.sum([some[2] for some in results], axis=0)
    volume = np.sum([some[4] for some in results], axis=0)
    assert all(np.array_equal(volume, some[5]) for some in results if some[0].size)
    ends = [end for result in results for end in result[3]]
    for number, size in enumerate(members):
        inside = {r for r, t in tree.items() if t == number}
        assert len(inside) == size > 0
        reached, todo = set(), [min(inside)]
        while todo:
            v = todo.pop()
            reached.add(v)
            todo += [u for t, r, _, u in ends if r == v and u in inside - reached]
        assert reached == inside


# Distances and costs


def test_the_distances_of_the_seeds() -> None:
    far = grid_distances(Topology.from_fanouts([4, 4]), (1, 10), (1, 10))
    assert far[0, [3, 4 * 1, 4 * 3 + 3]].tolist() == [2, 10, 22]


@pytest.mark.parametrize("fanouts", [[3], [4, 4], [1, 3, 2], [5, 2, 2]])
@pytest.mark.parametrize("distances", [tree_distances, grid_distances])
def test_distances_are_a_metric(fanouts: list[int], distances: Any) -> None:
    far = distances(Topology.from_fanouts(fanouts))
    assert np.array_equal(far, far.T)
    assert (np.diag(far) == 0).all()
    assert (far[:, None, :] <= far[:, :, None] + far[None, :, :] + 1e-9).all()


def brute_figures(edges: pd.DataFrame, slot: pd.Series[int], tree: Topology) -> Any:
    ends = edges[edges.source != edges.target].drop_duplicates()
    u, v = slot[ends.source].to_numpy(), slot[ends.target].to_numpy()
    level = tree.level(u, v)[u != v]
    cut = np.bincount(level, minlength=tree.height + 1)
    far = tree_distances(tree)[u, v].sum()
    held = {(x, s) for a, b in ends.itertuples(index=False) for x, s in
            ((a, slot[a]), (b, slot[b]), (a, slot[b]), (b, slot[a]))}  # fmt: skip
    return cut.tolist(), far, len(held | set(slot.items()))


@given(st.lists(st.tuples(st.integers(0, 9), st.integers(0, 9)), min_size=1, max_size=25),
       st.booleans(), st.randoms())  # fmt: skip
@settings(max_examples=15)
def test_figures_are_those_counted_by_hand(
    client: Client, edges: list[tuple[int, int]], directed: bool, random: Any
) -> None:
    if not directed:
        edges = [(min(e), max(e)) for e in edges]
    frame = pairs_of(edges)
    ids = sorted({v for edge in edges for v in edge})
    slot = pd.Series({v: random.randrange(4) for v in ids})
    table = pd.DataFrame({"vertex": ids, "slot": slot.to_numpy()})
    with dg.from_edges(
        frame,
        directed=directed,
        placement=table,
        virtual_slots=4,
        topology=TREE,
        client=client,
    ) as g:
        figures = g.placement.figures()
        assert figures == g.placement.figures()
    cut, cost, held = brute_figures(frame, slot, TREE)
    assert list(figures.cut) == cut
    assert figures.cost == cost
    assert figures.replication == held / len(ids)


def test_swapping_slots_of_a_leaf_domain_leaves_far_levels_alone(client: Client) -> None:
    frame = grid(6)
    slot = np.random.default_rng(3).integers(0, 4, 36)
    cuts = []
    for swap in ([0, 1, 2, 3], [1, 0, 2, 3], [2, 1, 0, 3]):
        table = pd.DataFrame({"vertex": np.arange(36), "slot": np.array(swap)[slot]})
        options: Any = {"virtual_slots": 4, "topology": TREE, "client": client}
        with dg.from_edges(frame, placement=table, **options) as g:
            cuts.append(g.placement.figures().cut)
    assert cuts[0] == cuts[1]
    assert cuts[0] != cuts[2]


# Owners


def owners(strategy: Any, graph: PlainGraph, spread: Spread) -> Any:
    """Return the slot of each vertex by rank."""
    placed = strategy.on(Topology.from_fanouts([spread.slots]))

    async def program(ctx: Any, shard: Any) -> Any:
        return shard.rank[: shard.masters], await placed.place(ctx, shard)

    owner = np.full(graph.n, -1)
    for ranks, some in run(program, spread.shards(graph), slots=spread.slots):
        assert some.dtype == np.int32
        owner[ranks] = some
    return owner


@pytest.mark.parametrize("strategy", STRATEGIES, ids=repr)
@given(drawn=spread_graphs())
@settings(max_examples=25)
def test_every_vertex_gets_one_slot_and_no_slot_too_many(
    strategy: Any, drawn: tuple[PlainGraph, Spread]
) -> None:
    graph, spread = drawn
    owner = owners(strategy, graph, spread)
    assert ((owner >= 0) & (owner < spread.slots)).all()
    assert np.array_equal(owner, owners(strategy, graph, spread))
    loads = np.bincount(owner, minlength=spread.slots)
    bounded = not isinstance(strategy, Adp) and getattr(strategy, "edges", "") != "2d-in-domain"
    if bounded and graph.n:
        eps = getattr(strategy, "eps", 0.0)
        cap = max(-(-graph.n // spread.slots), int((1 + eps) * graph.n / spread.slots))
        assert loads.max() <= cap
    if isinstance(strategy, Hierarchy) and bounded and graph.n >= spread.slots:
        assert loads.min() > 0


@given(spread_graphs(least=1))
@settings(max_examples=25)
def test_a_whole_graph_is_simple_and_symmetric(drawn: tuple[PlainGraph, Spread]) -> None:
    graph, spread = drawn
    seen: list[Any] = []

    def decide(whole: Any) -> Any:
        seen.append(whole)
        return np.zeros(whole.n, np.int32)

    async def program(ctx: Any, shard: Any) -> Any:
        return await place_whole(ctx, shard, decide)

    run(program, spread.shards(graph), slots=spread.slots)
    for whole in seen:
        row = np.repeat(np.arange(whole.n), whole.degree)
        found = set(zip(row.tolist(), whole.targets.tolist(), strict=True))
        assert len(found) == len(row)
        assert found == {(b, a) for a, b in found}
        assert not any(a == b for a, b in found)


@given(st.lists(st.integers(0, 20), min_size=1, max_size=8), st.integers(0, 40))
def test_water_fills_the_emptiest_first(have: list[int], more: int) -> None:
    gets = water(np.array(have), more)
    after = np.array(have) + gets
    assert gets.sum() == more
    assert (gets >= 0).all()
    assert after[gets > 0].max(initial=0) <= after.min() + 1


@given(small_graphs, st.sampled_from([0.25, 0.5]))
def test_a_bisection_is_as_even_as_it_can_be(
    graph: tuple[int, list[tuple[int, int]]], fraction: float
) -> None:
    n, edges = graph
    ends = np.array(edges, np.int32).reshape(-1, 2)
    q = make_quotient(
        ends[:, 0], ends[:, 1], np.ones(len(ends), np.int32), np.ones(n, np.int64)
    )
    side = bisect(q, fraction, 0.0, 1)
    assert abs(int((side == 0).sum()) - n * fraction) <= 1
    owner = split(q, TREE, 0.0)
    assert ((owner >= 0) & (owner < 4)).all()


# Quality


def cut_top(frame: pd.DataFrame, placement: Any, client: Client, fanouts: list[int]) -> int:
    tree = Topology.from_fanouts(fanouts)
    found = dg.placement.compare(frame, [placement], topology=tree, client=client)
    if not isinstance(placement, str):
        assert found["vertex_balance"][0] <= 1.1
    return int(found["cut_top"][0])


@pytest.mark.parametrize("fanouts", [[4, 4], [2, 3]])
def test_planted_blocks_are_found(client: Client, fanouts: list[int]) -> None:
    frame, block = planted(fanouts[1], 600, 12, 0.05)
    between = int((block[frame.source] != block[frame.target]).sum())
    for placement in (Hierarchy(), Hierarchy(order="bfs")):
        cut = cut_top(frame, placement, client, fanouts)
        assert cut <= 1.3 * between
    assert 4 * cut < cut_top(frame, "2d", client, fanouts)
    greedy = Hierarchy(order="bfs", spread="greedy", vol_st=2000, refine=0)
    assert cut_top(frame, greedy, client, fanouts) < cut_top(frame, "hash", client, fanouts)


def test_a_grid_is_cut_nearly_straight(client: Client) -> None:
    frame = grid(64).sample(frac=1, random_state=1)
    names = np.random.default_rng(5).permutation(64 * 64)  # ids say nothing of the place
    frame = pd.DataFrame({"source": names[frame.source], "target": names[frame.target]})
    assert cut_top(frame, Hierarchy(), client, [4, 4]) <= 1.6 * 128


def test_the_partitions_of_the_input_do_not_matter(client: Client) -> None:
    frame, _ = planted(4, 100, 8, 0.1)
    for name in NAMES:
        if name == "metis":
            pytest.importorskip("pymetis", reason="extra metis")
        found = [
            dg.placement.assign(dd_of(frame, parts), name, slots=5, client=client)
            for parts in (1, 4)
        ]
        tables = [
            client.compute(some, sync=True).sort_values("vertex", ignore_index=True)
            for some in found
        ]
        pd.testing.assert_frame_equal(*tables)


def dd_of(frame: pd.DataFrame, parts: int) -> Any:
    import dask.dataframe as dd

    mixed = frame.sample(frac=1, random_state=parts)
    return dd.from_pandas(mixed, npartitions=parts, sort=False)


def test_refining_costs_less_and_keeps_the_bound(client: Client) -> None:
    frame = grid(20)
    options: Any = {"virtual_slots": 4, "topology": TREE, "client": client}
    with dg.from_edges(frame, placement="hash", **options) as g:
        before = g.placement.figures()
        better = dg.placement.refine(g, 12)
        assert g.runs[-1].algorithm == "refine"
        table = client.compute(better, sync=True)
    assert table.groupby("slot").size().max() <= 105
    with dg.from_edges(frame, placement=better, **options) as g:
        assert g.placement == "frame"
        assert g.placement.figures().cost < 0.8 * before.cost


# No result shows where a graph lies


def results(g: dg.Graph, source: int) -> dict[str, pd.DataFrame]:
    found = {
        "bfs": dg.bfs(g, source),
        "sssp": dg.sssp(g, source),
        "components": dg.connected_components(g),
        "pagerank": dg.pagerank(g, max_iter=20, tol=None),
        "cdlp": dg.cdlp(g),
        "betweenness": dg.betweenness_centrality(g),
    }
    client = g._home.client
    return {
        name: client.compute(some, sync=True).sort_values("vertex", ignore_index=True)
        for name, some in found.items()
    }


@given(
    st.lists(
        st.tuples(st.integers(0, 11), st.integers(0, 11), st.sampled_from([0.1, 1.0, 1 / 3])),
        min_size=1,
        max_size=40,
    ),
    st.booleans(),
    st.permutations([*NAMES, *HIERARCHIES]),
)
@settings(max_examples=3)
def test_no_placement_changes_any_result(
    client: Client, rows: list[tuple[int, int, float]], directed: bool, order: list[Any]
) -> None:
    frame = pd.DataFrame(rows, columns=["source", "target", "w"])
    options: Any = {"weight": "w", "directed": directed, "client": client}
    with dg.from_edges(frame, virtual_slots=3, **options) as g:
        want = results(g, rows[0][0])
    for placement in order[:4]:
        if placement == "metis":
            pytest.importorskip("pymetis", reason="extra metis")
        with dg.from_edges(
            frame, placement=placement, virtual_slots=4, topology=TREE, **options
        ) as g:
            have = results(g, rows[0][0])
        for name in want:
            exact = name != "betweenness"
            pd.testing.assert_frame_equal(
                have[name], want[name], check_exact=exact, rtol=0.0 if exact else 1e-12
            )


# At the edges


@pytest.mark.parametrize("name", [name for name in NAMES if name != "metis"])
def test_graphs_of_nothing_and_of_next_to_nothing(client: Client, name: str) -> None:
    for edges, vertices in (([], []), ([], [5]), ([(1, 1)], None), ([(1, 2)], [1, 2, 3, 4, 9])):
        found = dg.placement.assign(
            pairs_of(edges), name, slots=3, vertices=vertices, client=client
        )
        table = client.compute(found, sync=True)
        assert len(table) == len(vertices if vertices is not None else {1})
        assert table["slot"].between(0, 2).all()
        assert table["slot"].dtype == "int64"


def test_metis_says_what_is_missing(monkeypatch: pytest.MonkeyPatch, client: Client) -> None:
    import sys

    monkeypatch.setitem(sys.modules, "pymetis", None)
    with pytest.raises(ValueError, match=r"install dask-dgraph\[metis\]") as caught:
        dg.from_edges(grid(3), placement="metis", virtual_slots=2, client=client)
    assert isinstance(caught.value, DgraphError)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"edges": "vertex"}, "edges to be one of 'source'"),
        ({"order": "random"}, "order to be one of"),
        ({"spread": "greedy"}, "one after the other"),
        ({"vol_st": 0}, "at least 1 byte"),
        ({"refine": -1}, "refine of at least 0"),
        ({"eps": 2.0}, "eps from 0 to 1"),
    ],
)
def test_wrong_options_say_what_is_allowed(options: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        Hierarchy(**options)


def test_all_strategies_are_values_that_see_edges() -> None:
    for strategy in (*STRATEGIES, Metis()):
        assert isinstance(strategy, EdgeStrategy)
        assert strategy == type(strategy)(**vars(strategy))
        assert hash(strategy.on(TREE)) == hash(strategy.on(TREE))


def test_an_asynchronous_client_gets_awaitables() -> None:
    async def work(client: Client) -> Any:
        assign: Any = dg.placement.assign
        make: Any = dg.from_edges
        found = await assign(grid(4), "hierarchy", slots=2, client=client)
        g = await make(grid(4), client=client)
        with pytest.raises(ValueError, match="synchronous"):
            dg.placement.compare(grid(4), ["hash"], client=client)
        figures = await g.placement.figures()
        again = await g.placement.figures()
        g.close()
        return await client.compute(found), figures == again

    table, same = asynchronously(work)
    assert same
    assert sorted(table["vertex"]) == list(range(16))


def test_the_command_compares(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    grid(6).to_csv(tmp_path / "grid.csv", index=False)
    command = ["placement", "compare", str(tmp_path / "grid.csv")]
    chosen = ["--fanouts", "2,2", "--only", "hash,hierarchy", "--measure"]
    assert _main([*command, *chosen]) == 0
    head, *rows = capsys.readouterr().out.splitlines()
    assert head.split()[:4] == ["placement", "seconds", "cut_top", "cut"]
    assert [row.split()[0] for row in rows] == ["hash", "hierarchy"]
    picture = tmp_path / "compared.svg"
    split = ["--only", "hash", "--rhizome-max", "4", "--plot", str(picture)]
    assert _main([*command, *split]) == 0
    _, *rows = capsys.readouterr().out.splitlines()
    assert [row.split()[:3] for row in rows][1] == ["hash", "+", "rhizomes"]
    assert b"<svg" in picture.read_bytes()
    for wrong in (
        ["--only", "best"],
        ["--rhizome-max", "1"],
        ["--plot", "compared.xlsx"],
        ["--plot", str(tmp_path / "nowhere" / "a.png")],
        ["--fanouts", "0"],
        ["--fanouts", "2", "--topology", "x"],
    ):
        assert _main([*command, *wrong]) == 2
        assert len(capsys.readouterr().err.splitlines()) == 1


def test_rhizomes_are_compared_and_drawn(client: Client) -> None:
    star = pd.DataFrame({"source": np.zeros(64, int), "target": np.arange(1, 65)})
    split = {"rhizome_max": 4, "rhizome_allocation": "sources"}
    found = dg.placement.compare(
        star,
        ["degree", split, {"placement": Hierarchy(), "rhizome_max": 1}],
        topology=TREE,
        measure={"rank": lambda g: dg.pagerank(g, max_iter=2, tol=None)},
        client=client,
    )
    assert found["placement"].tolist() == ["degree", "degree + rhizomes 4", "hierarchy"]
    assert found["split"].tolist() == [0, 1, 0]
    assert found["parts"].tolist() == [0, 4, 0]
    assert found["edge_balance"][1] < 1.1 < found["edge_balance"][0]
    assert found["cut_top"][1] < found["cut_top"][0]
    assert (found["build_seconds"] >= found["seconds"]).all()
    drawn = dg.placement.plot(found)
    assert drawn[-1].get_title() == "bytes of rank, by level"
    wide = drawn[1].patches
    assert [bar.get_width() for bar in wide] == found["edge_balance"].tolist()
    for wrong in ({"rhizome_max": 4, "slots": 2}, {"rhizome_max": 0}, {"placement": "best"}):
        with pytest.raises(ValueError, match="expected"):
            dg.placement.compare(star, [wrong], client=client)


def test_comparing_measures_what_is_asked(client: Client) -> None:
    measure = {
        "bfs": lambda g: dg.bfs(g, 0),
        "rank": lambda g: dg.pagerank(g, max_iter=3, tol=None),
    }
    found = dg.placement.compare(
        grid(8), ["hash", Hierarchy(refine=2)], topology=TREE, measure=measure, client=client
    )
    assert found["placement"].tolist() == ["hash", "hierarchy"]
    assert list(found.columns[:8]) == [
        "placement", "seconds", "cut_top", "cut", "replication", "vertex_balance",
        "edge_balance", "cost",
    ]  # fmt: skip
    for name in measure:
        sent = found[f"{name}_bytes"].tolist()
        assert len(sent[0]) == TREE.height + 1
        assert sent[1][-1] < sent[0][-1]
