"""Rows of heavy vertices split over slots: rules, pieces, and the same bits from all."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from distributed import Client
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

import dgraph as dg
from dgraph.algorithms import cdlp as cdlp_module
from dgraph.algorithms.cdlp import cdlp_slot
from dgraph.algorithms.pagerank import pagerank_slot
from dgraph.build.blocks import block_slots
from dgraph.build.joining import whole_rows
from dgraph.build.rhizomes import ALLOCATIONS, Rhizomes, allot, nearness
from dgraph.build.splitting import split_rows
from dgraph.engine.context import Context
from dgraph.engine.network import find_network
from dgraph.engine.pool import run
from dgraph.shard import Shard
from dgraph.topology import Topology
from tests.clusters import cluster
from tests.harness import Program, frame_of
from tests.programs import programs
from tests.reference import PlainGraph, build, plain

Array = NDArray[Any]
TREE = Topology.from_fanouts([2, 2])


@dataclass(frozen=True)
class Case:
    """A graph with hubs, the slots it lies on, and how its rows are split."""

    graph: PlainGraph
    slots: int
    owner: Array
    how: Rhizomes

    def shards(self) -> list[Shard]:
        return build(self.graph, self.slots, self.owner)

    def split(self) -> tuple[list[Shard], dict[str, int]]:
        found = run(_split, self.shards(), [self.how] * self.slots, slots=self.slots)
        return [shard for shard, _ in found], found[0][1]


async def _split(ctx: Context, shard: Shard, how: Rhizomes) -> tuple[Shard, dict[str, int]]:
    return await split_rows(ctx, shard, how)


@st.composite
def cases(draw: st.DrawFn, directed: bool | None = None) -> Case:
    """Draw a graph in which small ids are heavy, loops and parallels included."""
    n = draw(st.integers(1, 24))
    hub = st.integers(0, n - 1).map(lambda v: v * v // n)
    pairs = draw(st.lists(st.tuples(hub, st.integers(0, n - 1)), max_size=4 * n))
    ends = np.array(pairs, np.int64).reshape(-1, 2)
    if draw(st.booleans()):
        ends = ends[:, ::-1]
    weight: Any = None
    if draw(st.booleans()):
        number = st.sampled_from([0.0, 0.1, 1 / 3, 3.0])
        weight = draw(st.lists(number, min_size=len(pairs), max_size=len(pairs)))
    graph = plain(
        ends[:, 0],
        ends[:, 1],
        weight,
        directed=draw(st.booleans()) if directed is None else directed,
        vertices=np.arange(n),
        duplicates=draw(st.sampled_from(["keep", "min"])),
    )
    slots = draw(st.integers(1, 5))
    owner = draw(st.lists(st.integers(0, slots - 1), min_size=n, max_size=n))
    how = Rhizomes(
        draw(st.integers(1, 64)),
        draw(st.sampled_from(ALLOCATIONS)),
        draw(st.sampled_from([None, None, 1, 2, 5])),
        fission=draw(st.booleans()),
        blocks=draw(st.booleans()),
    )
    return Case(graph, slots, np.array(owner, np.int64), how)


# The rules


@given(st.integers(0, 300), st.integers(0, 300), st.integers(2, 40))
def test_the_first_equation(degree: int, more: int, most: int) -> None:
    count, cutoff = Rhizomes(most).cut(degree + more, edges=10**6, slots=8)
    assert (count, cutoff) == (most, max(1, -(-(degree + more) // most)))
    sizes = np.bincount(np.arange(degree) // cutoff % most)
    assert len(sizes) == min(most, -(-degree // cutoff))
    assert (sizes[:-1] == cutoff).all()


@pytest.mark.parametrize(
    ("how", "cutoff", "pieces"),
    [(Rhizomes(4), 3, [1, 3, 3, 3]), (Rhizomes(4, cutoff=2), 2, [2, 2, 2, 4])],
)
def test_ten_in_edges_are_cut_as_the_paper_would(
    how: Rhizomes, cutoff: int, pieces: list[int]
) -> None:
    graph = plain(np.arange(1, 11), np.zeros(10, np.int64), directed=True)
    shards, told = Case(graph, 4, np.arange(11) % 4, how).split()
    assert (told["cutoff"], told["split"], told["pieces"]) == (cutoff, 1, 4)
    sizes = [len(shards[0].into.targets) - 0]  # the hub is the only one with in-edges
    sizes += [len(s.into_split.rows.targets) for s in shards[1:] if s.into_split is not None]
    assert sorted(sizes) == pieces  # of the second, the ninth and tenth begin again
    assert told["out_split"] == 0


@given(st.integers(0, 3), st.integers(1, 9), st.integers(0, 10**6))
def test_where_pieces_go(root: int, pieces: int, rank: int) -> None:
    near, homes = nearness(TREE)[root], np.array([1, 7, 3, 9])
    for allocation in ALLOCATIONS:
        how = Rhizomes(16, allocation)
        found = how.sequence(pieces, root, rank, near, homes)
        assert np.array_equal(found, how.sequence(pieces, root, rank, near, homes))
        assert found[0] == root
        assert len(set(found.tolist())) == len(found) == min(pieces, 4)
    vicinity = Rhizomes(16, "vicinity").sequence(pieces, root, rank, near, homes)
    assert (TREE.levels(root)[vicinity[:2]] == 0).all()


def test_random_pieces_go_anywhere_and_ghosts_and_siblings_stay_near() -> None:
    tree = Topology.from_fanouts([4, 4])
    near, homes = nearness(tree)[5], np.zeros(16, int)
    drawn = [Rhizomes(16).sequence(4, 5, rank, near, homes)[1:] for rank in range(200)]
    counts = np.bincount(np.concatenate(drawn), minlength=16)
    assert counts[5] == 0
    assert np.delete(counts, 5).min() > 15  # 40 on the average
    assert len({tuple(some) for some in drawn}) > 150
    for how in (Rhizomes(16).ghosts(), Rhizomes(16, "vicinity"), Rhizomes(None, fission=True)):
        assert how.allocation == "vicinity" or how.fission
        found = how.sequence(6, 5, 3, near, homes)
        assert tree.levels(5)[found].tolist() == [0] * 4 + [1] * 2


@given(st.lists(st.integers(0, 3), min_size=1, max_size=30), st.data())
def test_entries_stay_beside_their_other_end(owners: list[int], data: st.DataObject) -> None:
    owner, where = np.array(owners), np.empty(len(owners), np.int32)
    cuts = sorted(data.draw(st.lists(st.integers(0, len(owners)), min_size=3, max_size=3)))
    sizes = np.diff([0, *cuts, len(owners)])
    allot(owner, sizes.copy(), nearness(TREE), where)
    assert np.array_equal(np.bincount(where, minlength=4), sizes)
    at_home = np.bincount(where[where == owner], minlength=4)
    assert np.array_equal(at_home, np.minimum(sizes, np.bincount(owner, minlength=4)))


@given(st.integers(1, 12), st.integers(1, 3), st.data())
def test_blocks_are_rows_and_columns_of_a_leaf_domain(
    inside: int, domains: int, data: st.DataObject
) -> None:
    tree = Topology.from_fanouts([inside, domains])
    slot = data.draw(st.integers(0, tree.slots - 1))
    to = block_slots(tree, slot)
    assert (tree.levels(slot)[to] == 0).all()
    assert to[slot] == slot
    rows = next(m for m in range(int(inside**0.5), 0, -1) if inside % m == 0)
    assert len(set(to.tolist())) == inside // rows  # one row of the domain
    others = np.arange(tree.slots)
    for other in np.flatnonzero(tree.levels(slot) == 0).tolist():
        again = block_slots(tree, other)
        if again[other] in to:  # of the same row: the same columns
            assert np.array_equal(again, to)
        else:
            assert not set(again.tolist()) & set(to.tolist())
    for column in set(to.tolist()):  # as many columns of each domain as rows are in it
        owners = others[to == column]
        assert np.bincount(tree.domain_of(0)[owners]).tolist() == [rows] * domains


@pytest.mark.parametrize("directed", [False, True])
def test_edges_are_blocked_inside_leaf_domains(directed: bool) -> None:
    tree, n = Topology.from_fanouts([6, 2]), 120
    draw = np.random.default_rng(5)
    ends = draw.integers(0, n, (2, 900))
    graph = plain(*ends, directed=directed)
    owner = np.arange(graph.n) % 12
    how = Rhizomes(None, blocks=True, topology=tree)
    shards, told = Case(graph, 12, owner, how).split()
    assert how.in_words(told).startswith("edges blocked m x n inside leaf domains, rows in ")
    at_home = 0
    for shard, before in zip(shards, build(graph, 12, owner), strict=True):
        for (rows, split), (whole, _) in zip(shard.families, before.families, strict=True):
            assert split is not None
            assert np.array_equal(split.heavy, np.flatnonzero(np.diff(whole.offsets) > 3))
            mine = np.repeat(np.full(shard.masters, shard.slot), np.diff(rows.offsets))
            owners = np.array([shard.slot, *shard.peers])
            peer = np.searchsorted(shard.peer_start, split.vertices, side="right")
            theirs = np.repeat(owners[peer], np.diff(split.rows.offsets))
            for of_row, targets in ((mine, rows.targets), (theirs, split.rows.targets)):
                far = owners[np.searchsorted(shard.peer_start, targets, side="right")]
                assert (tree.domain_of(0)[of_row] == tree.domain_of(0)[shard.slot]).all()
                assert (of_row % 6 // 3 == shard.slot % 6 // 3).all()  # 2 x 3
                astray = far % 3 != shard.slot % 3
                assert not astray[of_row != shard.slot].any()
                if targets is rows.targets:
                    row = np.repeat(np.arange(shard.masters), np.diff(rows.offsets))
                    heavy = astray & np.isin(row, split.heavy)
                    assert np.unique(row[heavy]).size == np.count_nonzero(heavy)
                    at_home += int((~astray & np.isin(row, split.heavy)).sum())
    assert at_home > 300  # most rows have entries of their own column; one stays in any case


# The pieces


@settings(max_examples=60)
@given(cases())
def test_rows_are_cut_and_put_together_again(case: Case) -> None:
    whole = case.shards()
    split, told = case.split()
    again = run(whole_rows, split, slots=case.slots)
    for shard, parted, joined in zip(whole, split, again, strict=True):
        for name in ("out", "into"):
            rows, found = getattr(shard, name), getattr(joined, name)
            assert np.array_equal(rows.offsets, found.offsets)
            assert np.array_equal(shard.rank[rows.targets], joined.rank[found.targets])
            assert rows.weights is None or np.array_equal(rows.weights, found.weights)
        assert np.array_equal(shard.out_degree, parted.out_degree)
        assert np.array_equal(shard.into_degree, parted.into_degree)
    entries = [sum(_entries(shard)) for shard in split]
    assert sum(entries) == sum(len(rows.targets) for s in whole for rows, _ in s.families)
    heavy = sum(s.into_split.heavy.size for s in split if s.into_split is not None)
    assert heavy == told["split"]
    if case.how.off or case.slots == 1:
        assert told["split"] == 0


def _entries(shard: Shard) -> Iterator[int]:
    for rows, split in shard.families:
        yield len(rows.targets)
        if split is not None:
            yield len(split.rows.targets)


# The results


@settings(max_examples=40)
@given(cases(), st.sampled_from([None, "rail", "monitor"]))
def test_every_algorithm_gives_the_same_bits(case: Case, routing: str | None) -> None:
    if not case.graph.n:
        return
    whole, (split, _) = build(case.graph, 1), case.split()
    network = None
    if routing is not None and case.slots == 4:
        network = find_network(routing, True, None, TREE)
    for name, (program, *arguments) in programs(case.graph).items():
        expected = frame_of(program, whole, *arguments)
        found = frame_of(program, split, *arguments, network=network)
        pd.testing.assert_frame_equal(found, expected, check_exact=True, obj=name)


@settings(max_examples=25)
@given(cases(), st.data())
def test_ranks_do_not_depend_on_how_rows_are_split(case: Case, data: st.DataObject) -> None:
    graph = case.graph
    ids = graph.ids.take(
        np.unique(data.draw(st.lists(st.integers(0, graph.n - 1), min_size=1)))
    )
    some = st.sampled_from([None, (ids, np.full(len(ids), 1 / len(ids)))])
    restart, dangling = data.draw(some), data.draw(some)
    rounds, tol = data.draw(st.sampled_from([(3, None), (200, 1e-1), (200, 1e-9)]))
    options = 0.85, restart, rounds, tol, data.draw(st.booleans()), dangling
    split, _ = case.split()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("dgraph.algorithms.pagerank.MANY", data.draw(st.sampled_from([0, 2**16])))
        expected = frame_of(pagerank_slot, build(graph, 1), *options)
        found = frame_of(pagerank_slot, split, *options)
    pd.testing.assert_frame_equal(found, expected, check_exact=True)
    assert found.attrs == expected.attrs


@settings(max_examples=20)
@given(cases())
def test_votes_without_a_counter_for_each_label(case: Case) -> None:
    split, _ = case.split()
    expected = frame_of(cdlp_slot, build(case.graph, 1), 4)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(cdlp_module, "COUNTERS", 0)
        found = frame_of(cdlp_slot, split, 4)
    pd.testing.assert_frame_equal(found, expected)


def test_a_star_is_not_gathered_on_the_slot_of_its_hub() -> None:
    slots, leaves = 16, 1600
    graph = plain(np.zeros(leaves, np.int64), np.arange(1, leaves + 1))
    case = Case(graph, slots, np.arange(leaves + 1) % slots, Rhizomes(16))
    whole, (split, told) = case.shards(), case.split()
    assert told == {"cutoff": 100, "split": 1, "pieces": 16}
    proxies = [max(int(s.size) - s.masters for s in shards) for shards in (whole, split)]
    assert proxies[0] >= leaves - leaves // slots
    assert proxies[1] <= leaves // slots + 15 + 64 * slots  # groups begin at multiples of 64
    counted = [_received(program, shards) for program in ROUNDS for shards in (whole, split)]
    for before, after in zip(counted[::2], counted[1::2], strict=True):
        assert after <= leaves // slots + 15 < before / 8


def test_to_finish_a_round_of_a_star_is_a_tiny_superstep() -> None:
    graph = plain(np.zeros(800, np.int64), np.arange(1, 801))
    split, _ = Case(graph, 4, np.arange(801) % 4, Rhizomes(4)).split()
    announced: list[list[Any]] = [[] for _ in split]

    class Watched(Context):
        async def exchange(self, frames: Any, *more: Any, **named: Any) -> Any:
            announced[self.slot].append(named.get("work", more[2] if len(more) > 2 else None))
            return await super().exchange(frames, *more, **named)

    async def watched(ctx: Context, shard: Shard) -> None:
        await pagerank_slot(Watched(ctx.slot, ctx.slots), shard, max_iter=3, tol=None)

    run(watched, split, slots=4)
    by_slot = [[None, int(slot == 0)] * 3 + [None] for slot in range(4)]
    assert announced == by_slot  # only the hub's own rank, and nothing to copy


ROUNDS: list[Program] = [
    lambda ctx, shard: pagerank_slot(ctx, shard, max_iter=2, tol=None),
    lambda ctx, shard: cdlp_slot(ctx, shard, 2),
]


def _received(program: Program, shards: list[Shard]) -> int:
    """Return the most messages that one slot receives in a superstep."""
    most = 0

    class Watched(Context):
        async def exchange(self, *args: Any, **kwargs: Any) -> Any:
            nonlocal most
            came = await super().exchange(*args, **kwargs)
            most = max(most, sum(frame.count for frame in came))
            return came

    contexts = [Watched(slot, len(shards)) for slot in range(len(shards))]

    async def watched(ctx: Context, shard: Shard) -> None:
        await program(contexts[ctx.slot], shard)

    run(watched, shards, slots=len(shards))
    return most


# What users see


@pytest.fixture(scope="module")
def edges(client: Client) -> pd.DataFrame:
    with client.as_current():
        found: pd.DataFrame = dg.generate.kronecker(7, 6).compute(scheduler="threads")
    return found


def results(g: dg.Graph) -> dict[str, pd.DataFrame]:
    get = g._home.client.get
    found = {
        "bfs": dg.bfs(g, 1),
        "pagerank": dg.pagerank(g, max_iter=4, tol=None),
        "cdlp": dg.cdlp(g),
        "degrees": g.degrees(),
    }
    tables = {
        name: frame.compute(scheduler=get).sort_values("vertex", ignore_index=True)
        for name, frame in found.items()
    }
    listed = g.edges().compute(scheduler=get)
    return tables | {"edges": listed.sort_values(["source", "target"], ignore_index=True)}


def check_same(found: dict[str, pd.DataFrame], expected: dict[str, pd.DataFrame]) -> None:
    for name, frame in expected.items():
        pd.testing.assert_frame_equal(found[name], frame, check_exact=True, obj=name)


def test_a_graph_says_what_was_split_and_remembers_it(
    client: Client, edges: pd.DataFrame, tmp_path: Path
) -> None:
    options: dict[str, Any] = {"client": client, "virtual_slots": 4}
    edges = edges[edges["source"] != edges["target"]]  # a loop counts 2, and is one entry
    with dg.from_edges(edges, **options) as g:
        expected = results(g)
        most = int(expected["degrees"]["degree"].max())
        assert g.report["rhizomes"] == {}
        assert g.placement.figures().split == 0
    with dg.from_edges(edges, rhizome_max=8, rhizome_allocation="vicinity", **options) as g:
        check_same(results(g), expected)
        told, figures = g.report["rhizomes"], g.placement.figures()
        assert told["cutoff"] == -(-most // 8)
        assert told["split"] > 0
        assert (figures.split, figures.parts) == (told["split"], told["pieces"])
        assert figures.why == g.report["chosen"]["rhizomes"]
        assert figures.why.startswith(
            f"{told['split']} {'vertex' if told['split'] == 1 else 'vertices'} of more than "
        )
        g.save(tmp_path / "split")
    for rhizome_max, splits in ((None, True), (1, False)):
        with dg.load(tmp_path / "split", rhizome_max=rhizome_max, **options) as g:
            assert (g.report["rhizomes"].get("split", 0) > 0) is splits
            check_same(results(g), expected)


def test_fission_splits_what_a_slot_would_be_filled_with(
    client: Client, edges: pd.DataFrame
) -> None:
    fission = dg.placement.Hierarchy(fission=True, refine=1)
    star = pd.DataFrame({"source": np.zeros(64, int), "target": np.arange(1, 65)})
    with dg.from_edges(star, placement=fission, virtual_slots=4, client=client) as g:
        assert g.report["rhizomes"] == {"cutoff": 4, "split": 1, "pieces": 4}
        assert "a quarter of the edges of a slot" in g.placement.figures().why
    with pytest.raises(dg.DgraphError, match="got both"):
        dg.from_edges(star, placement=fission, rhizome_max=4, client=client)


def test_vertices_are_dealt_over_the_slots_of_their_leaf_domain(
    client: Client, edges: pd.DataFrame
) -> None:
    tree = Topology.from_fanouts([4, 2])
    source, dealt = (
        client.compute(
            dg.placement.assign(
                edges, dg.placement.Hierarchy(edges=way), topology=tree, client=client
            ),
            sync=True,
        ).set_index("vertex")["slot"]
        for way in ("source", "2d-in-domain")
    )
    assert (source // 4).equals((dealt // 4).loc[source.index])
    by_slot = [np.bincount(slots, minlength=8).reshape(2, 4) for slots in (source, dealt)]
    assert [bool((np.ptp(some, axis=1) <= 1).all()) for some in by_slot] == [False, True]


@pytest.mark.parametrize("directed", [False, True])
def test_a_placement_may_block_all_edges(
    client: Client, edges: pd.DataFrame, directed: bool, tmp_path: Path
) -> None:
    options: dict[str, Any] = {"client": client, "virtual_slots": 8}
    with dg.from_edges(edges, directed=directed, **options) as g:
        expected = results(g)
    options["topology"] = Topology.from_fanouts([4, 2])
    figures = []
    for way in ("source", "2d-in-domain"):
        placement = dg.placement.Hierarchy(edges=way)
        for rhizome_max in (None, 4):
            with dg.from_edges(
                edges,
                directed=directed,
                placement=placement,
                rhizome_max=rhizome_max,
                rhizome_allocation="vicinity",
                **options,
            ) as g:
                check_same(results(g), expected)
                figures.append(g.placement.figures())
                if rhizome_max is None:
                    g.save(tmp_path / way)
    whole, heavy, blocked, both = figures
    assert blocked.replication < whole.replication
    assert blocked.split > 0.5 * len(expected["degrees"]) > heavy.split
    assert whole.split == 0 < blocked.parts < both.parts  # hubs lie on more than two slots
    for found in (blocked, both):
        assert found.why.startswith("edges blocked m x n inside leaf domains, rows in ")
    for rhizome_max, splits in ((None, True), (1, False)):
        with dg.load(tmp_path / "2d-in-domain", rhizome_max=rhizome_max, **options) as g:
            assert (g.report["rhizomes"].get("split", 0) > 0) is splits
            check_same(results(g), expected)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"rhizome_max": 0}, "rhizome_max of at least 1, got 0"),
        ({"rhizome_max": 2.5}, "rhizome_max to be an integer from 1 on or None, got 2.5"),
        ({"rhizome_max": True}, "rhizome_max to be an integer"),
        ({"rhizome_max": 4, "rhizome_allocation": "near"}, "must be 'random', 'vicinity'"),
        ({"rhizome_max": 4, "rhizome_cutoff": 0}, "rhizome_cutoff of at least 1, got 0"),
    ],
)
def test_wrong_options_are_refused(options: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        dg.from_edges(pd.DataFrame({"source": [1], "target": [2]}), **options)


def test_between_processes(edges: pd.DataFrame) -> None:
    with cluster(2) as client:
        options: dict[str, Any] = {"client": client, "directed": True}
        with dg.from_edges(edges, **options) as g:
            expected = results(g)
        with dg.from_edges(edges, rhizome_max=16, **options) as g:
            assert g.report["rhizomes"]["split"] > 0
            check_same(results(g), expected)
