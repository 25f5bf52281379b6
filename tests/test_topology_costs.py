"""Grids, costs and pictures of domain trees."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dgraph.errors import OptionError
from dgraph.topology import CostModel, Topology, com_cost, pair_costs, theta

shapes: st.SearchStrategy[Any] = st.recursive(
    st.integers(1, 5), lambda inner: st.lists(inner, min_size=1, max_size=3), max_leaves=7
)


def test_the_grid_of_the_paper() -> None:
    tree = Topology.from_fanouts([4, 4])
    at = {tuple(place.ravel().tolist()): slot for slot, place in enumerate(tree.coordinates())}
    assert len(at) == 16

    def distance(*there: int) -> float:
        return float(tree.distance(at[0, 0, 0, 0], at[there], metric="grid", costs=(1, 10)))

    assert distance(1, 1, 0, 0) == 2
    assert distance(0, 0, 1, 0) == 10
    assert distance(1, 1, 1, 1) == 22
    down = tree.distance(0, at[1, 0, 0, 1], metric="grid", costs=[(5, 2), (70, 30)])
    assert down == 2 + 70  # a step along x near, one along y far


@given(shapes, st.sampled_from(["tree", "grid"]))
def test_distances_are_metrics(shape: Any, metric: str) -> None:
    tree = Topology.from_shape(shape)
    slots = np.arange(tree.slots)
    far = tree.distance(slots[:, None], slots, metric=metric)
    assert np.array_equal(far, far.T)
    assert not far.diagonal().any()
    assert (far[:, None, :] <= far[:, :, None] + far[None, :, :]).all()
    if metric == "tree":
        costs = 10.0 ** tree.level(slots[:, None], slots)
        assert np.array_equal(far, np.where(np.eye(tree.slots) > 0, 0, costs))


@given(shapes)
def test_coordinates_tell_slots_apart(shape: Any) -> None:
    tree = Topology.from_shape(shape)
    places = tree.coordinates()
    assert places.shape == (tree.slots, tree.height + 1, 2)
    assert len({place.tobytes() for place in places}) == tree.slots
    for level in range(tree.height + 1):
        for slots in tree.domains(level):  # those of one domain agree in all upper levels
            assert len({places[slot, level + 1 :].tobytes() for slot in slots}) == 1


def test_wrong_distances() -> None:
    tree = Topology.from_fanouts([2, 2])
    assert tree.level([], []).tolist() == tree.distance([], []).tolist() == []
    with pytest.raises(TypeError):
        tree.level(0.5, 1)
    with pytest.raises(OptionError, match="metric"):
        tree.distance(0, 1, metric="road")
    with pytest.raises(OptionError, match="costs of 2 levels"):
        tree.distance(0, 1, costs=[1])
    with pytest.raises(OptionError, match="name of a slot"):
        tree.level("a", 1)


@given(shapes, st.randoms())
def test_com_cost_is_the_sum_of_the_paper(shape: Any, chance: Any) -> None:
    tree = Topology.from_shape(shape)
    intra = [chance.random() for _ in range(tree.slots)]
    inter = [[chance.random() for _ in range(tree.slots)] for _ in range(tree.height)]
    slots = np.arange(tree.slots)
    found = com_cost(tree, slots[:, None], slots, intra, inter)
    for i in slots:
        for j in slots:
            climbed = range(int(tree.level(i, j)))
            want = intra[i] + intra[j] + sum(inter[k][i] + inter[k][j] for k in climbed)
            assert found[i, j] == pytest.approx(want)
    alike = com_cost(tree, slots[:, None], slots, 1, [10.0**k for k in range(tree.height)])
    by_level = pair_costs(1, [10.0**k for k in range(tree.height)])
    assert np.allclose(alike, np.array(by_level)[tree.level(slots[:, None], slots)])
    if tree.height:
        with pytest.raises(OptionError, match="levels"):
            com_cost(tree, 0, 0, 1, inter[1:])


@given(shapes, st.integers(0, 2**32 - 1))
def test_theta_is_the_sum_over_levels_of_cut_edges(shape: Any, seed: int) -> None:
    tree, chance = Topology.from_shape(shape), np.random.default_rng(seed)
    source, target = chance.integers(0, tree.slots, (2, 50))
    count = chance.integers(0, 5, 50)
    apart = source != target
    cut = tree.count_by_level(source[apart], target[apart], count[apart])
    assert theta(tree, source, target, count) == np.dot(cut, 10.0 ** np.arange(tree.height + 1))
    assert theta(tree, source, source, count) == 0


def test_swapping_slots_of_one_domain_leaves_the_cost_alone() -> None:
    tree, chance = Topology.from_fanouts([4, 4]), np.random.default_rng(3)
    source, target = chance.integers(0, 16, (2, 200))
    swapped = {1: 2, 2: 1}
    moved = [[swapped.get(slot, slot) for slot in ends] for ends in (source, target)]
    assert theta(tree, source, target) == theta(tree, *moved)


def test_presets() -> None:
    for name in ("decade", "tianhe", "cloud"):
        model = CostModel.preset(name, 6)
        assert len(model.alpha) == len(model.beta) == 7
        assert list(model.alpha) == sorted(model.alpha)
        assert list(model.beta) == sorted(model.beta)
    with pytest.raises(OptionError, match="decade, tianhe, cloud"):
        CostModel.preset("cheap", 2)


def test_collapsed_levels() -> None:
    tree = Topology.read("host,pod,rack\na,p,r0\nb,p,r1\nc,p,r1\n")
    assert tree.collapse() == tree
    single = Topology.read("host,pod,rack\na,p0,r0\nb,p1,r1\n", collapse=True)
    assert (single.height, single.names) == (0, (("",),))
    assert Topology.from_fanouts([2, 1, 3, 1]).collapse() == Topology.from_fanouts([2, 3])


@given(shapes)
def test_collapsing_keeps_the_order_of_levels(shape: Any) -> None:
    tree = Topology.from_shape(shape)
    short = tree.collapse()
    slots = np.arange(tree.slots)
    before, after = (t.level(slots[:, None], slots) for t in (tree, short))
    assert short.height <= tree.height
    apart = ~np.eye(tree.slots, dtype=bool)
    for level in np.unique(before[apart]):
        assert len(np.unique(after[apart & (before == level)])) == 1
    assert (
        np.argsort(before[apart], kind="stable") == np.argsort(after[apart], kind="stable")
    ).all()


def test_names_of_slots_travel_and_are_not_compared() -> None:
    tree = Topology.read("host,rack\na,r0\nb,r1\n")
    assert pickle.loads(pickle.dumps(tree)).slot_names == ("a", "b")
    assert Topology.from_dict(tree.to_dict()).slot_names == ("a", "b")
    assert tree == Topology.read("host,rack\nx,r0\ny,r1\n")
    assert "r0: a" in str(tree)


def test_plots() -> None:
    pytest.importorskip("matplotlib", reason="the extra plot is not installed")
    from matplotlib.figure import Figure

    tree = Topology.read("host,pod,rack\na,p0,r0\nb,p0,r0\nc,p0,r1\nd,p1,r2\n")
    figure = Figure()
    ax = tree.plot(figure.subplots())
    assert {text.get_text() for text in ax.texts} == {"r0", "r1", "r2", "p0", "p1"}
    assert [tick.get_text() for tick in ax.get_yticklabels()] == ["rack", "pod", "level 2"]
    figure.canvas.draw()
    for other in (Topology.from_fanouts([1]), Topology.from_fanouts([2, 100, 3])):
        other.plot(Figure().subplots())
