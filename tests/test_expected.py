"""A search knows about how much it will find: the same however many slots there are."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from benchmarks.hierarchy.exchanges import Reduce, bfs
from benchmarks.hierarchy.world import World, make_world
from dgraph.algorithms._expected import likely_bits
from dgraph.algorithms.betweenness_centrality import betweenness_slot
from dgraph.edges.generate import kronecker_rows
from dgraph.engine.figures import Figures
from dgraph.engine.network import find_network
from dgraph.topology import Topology
from tests.harness import frame_of
from tests.reference import build, plain

SLOTS = (2, 16, 512)
TREE = Topology.from_fanouts([8, 4])


@pytest.fixture(scope="module")
def world() -> World:
    edges = kronecker_rows(12, 0, 16 << 12)
    return make_world(edges["source"].to_numpy(), edges["target"].to_numpy(), 1)


@pytest.mark.parametrize("source", [0, 50, 400, 800, 1500, 2000])
def test_a_search_turns_at_the_same_level_however_many_slots_there_are(
    world: World, source: int
) -> None:
    """With 512 slots few of what a slot finds are its own, and may be light by chance."""
    stages = [[each.stage for each in bfs(world.on(slots), source)] for slots in SLOTS]
    assert len({some.index("bottom-up") for some in stages}) == 1


@pytest.mark.parametrize("slots", SLOTS)
def test_a_level_is_expected_to_tell_of_about_what_it_does(world: World, slots: int) -> None:
    seen = 0
    for source in (400, 1500, 2500, 3000):
        _, *later = bfs(world.on(slots), source)  # of a source only its owner knows the degree
        for each in later:
            if isinstance(each, Reduce) and each.places.size > 100:
                assert each.about is not None
                assert 0.4 < each.about / each.places.size < 2.5
                seen += 1
    assert seen


@pytest.mark.parametrize("first", [0, 1, 100, 500])
def test_degrees_by_rank(world: World, first: int) -> None:
    degrees, ranks = np.diff(world.offsets), np.arange(world.n)
    own = ranks[first::512]
    bits = likely_bits(ranks, own, degrees[own], world.n).astype(np.int64)
    assert bits[own].tolist() == [int(degree).bit_length() for degree in degrees[own]]
    assert (np.diff(bits) <= 0).all()
    assert np.abs(bits - np.frexp(degrees)[1]).max() <= 2
    assert 0.75 < np.sum(0.75 * 2.0**bits) / degrees.sum() < 1.3


def test_degrees_that_are_alike_are_not_taken_to_fall() -> None:
    own = np.array([50, 51, 60])
    bits = likely_bits(np.arange(100), own, np.array([9, 8, 8]), 1000)
    assert set(bits.tolist()) <= {4, 5}
    assert likely_bits(np.arange(3), own[:0], own[:0], 1000).tolist() == [1, 1, 1]


def test_frames_of_betweenness_are_foreseen(monkeypatch: pytest.MonkeyPatch) -> None:
    said: dict[Figures, int] = {}
    found = []
    expect, learn = Figures.expect, Figures.learn

    def expected(self: Figures, name: str, messages: int) -> None:
        if name == "frames":
            said[self] = messages
        expect(self, name, messages)

    def learned(self: Figures, kind: str, vote: Any) -> Any:
        if kind == "frames" and self in said:
            found.append((said.pop(self), int(vote[-1])))
        return learn(self, kind, vote)

    monkeypatch.setattr(Figures, "expect", expected)
    monkeypatch.setattr(Figures, "learn", learned)
    rows = kronecker_rows(11, 0, 16 << 11)
    graph = plain(rows["source"].to_numpy(), rows["target"].to_numpy())
    network = find_network("auto", True, {"alpha": [1e-6, 1e-3], "beta": [1e-10, 1e-8]}, TREE)
    for source in range(4):
        arguments = graph.ids.take(np.array([source])), True, False, False
        frame_of(betweenness_slot, build(graph, TREE.slots), *arguments, network=network)
    assert max(messages for _, messages in found) > 10_000
    for about, messages in found:
        assert messages < 200 or 0.3 < about / messages < 3
