"""Domain trees against the oracle of routing counts, and what distance costs."""

from __future__ import annotations

import importlib.util
import json
import pickle
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dgraph.errors import DgraphError
from dgraph.topology import CostModel, Groups, Topology, host_key, pair_costs

shapes: st.SearchStrategy[Any] = st.recursive(
    st.integers(1, 4), lambda inner: st.lists(inner, min_size=1, max_size=3), max_leaves=8
)


@pytest.fixture(scope="module")
def oracle(shared: Path) -> Any:
    path = shared / "routing_counts.py"
    if not path.exists():
        pytest.skip(f"needs the oracle {path}")
    spec = importlib.util.spec_from_file_location("routing_counts", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["routing_counts"] = module  # its dataclass looks itself up
    spec.loader.exec_module(module)
    return module


def every_pair(slots: int) -> tuple[Any, Any]:
    return np.divmod(np.arange(slots * slots), slots)


@given(shape=shapes)
def test_agrees_with_the_oracle(oracle: Any, shape: Any) -> None:
    tree, want = Topology.from_shape(shape), oracle.Tree(shape)
    assert (tree.slots, tree.height) == (want.slots, want.height)
    source, target = every_pair(tree.slots)
    assert np.array_equal(tree.level(source, target), want.level(source, target))
    for level in range(tree.height + 1):
        groups = tree.groups(level)
        first, size, local = want.groups(level)
        assert np.array_equal(groups.members[groups.starts[groups.group]], first)
        assert np.array_equal(groups.size, size)
        assert np.array_equal(groups.local, local)
        assert sorted(np.concatenate(tree.domains(level)).tolist()) == list(range(tree.slots))
    assert len(tree.domains(tree.height)) == 1


@given(shape=shapes)
def test_twins_are_the_gateways_of_rail_and_aml(oracle: Any, shape: Any) -> None:
    tree, want = Topology.from_shape(shape), oracle.Tree(shape)
    source, target = every_pair(tree.slots)
    far = tree.level(source, target) > 0
    source, target = source[far], target[far]
    groups = tree.groups(0)
    for routing, twins in (
        ("rail", groups.twin(source, target)),
        ("aml", groups.twin(target, source)),
    ):
        assert np.array_equal(oracle.positions(want, routing, source, target)[1], twins)


def paths_of(shape: Any, path: tuple[str, ...] = ("root",)) -> list[str]:
    if isinstance(shape, int):
        return ["/".join(path)] * shape
    return [p for i, inner in enumerate(shape) for p in paths_of(inner, (*path, f"d{i}"))]


@given(shapes, st.randoms())
def test_paths_say_the_same_as_shapes_in_any_order_of_slots(shape: Any, random: Any) -> None:
    tree, paths = Topology.from_shape(shape), paths_of(shape)
    old = list(range(tree.slots))
    random.shuffle(old)
    shuffled = Topology.from_paths({new: paths[slot] for new, slot in enumerate(old)})
    source, target = every_pair(tree.slots)
    want = tree.level(np.array(old)[source], np.array(old)[target])
    assert np.array_equal(shuffled.level(source, target), want)


@given(st.lists(st.integers(1, 4), min_size=1, max_size=4))
def test_fanouts_are_balanced_shapes(fanouts: list[int]) -> None:
    shape: Any = fanouts[0]
    for fanout in fanouts[1:]:
        shape = [shape] * fanout
    assert Topology.from_fanouts(fanouts) == Topology.from_shape(shape)


def test_the_trees_of_the_papers() -> None:
    tree = Topology.from_fanouts([3, 2, 2])
    assert sum(len(tree.domains(level)) for level in range(3)) == 7
    assert [int(tree.level(1, slot)) for slot in (2, 4, 7)] == [0, 1, 2]
    assert Topology.from_fanouts([4, 2, 8, 16]).slots == 1024
    assert Topology.from_fanouts([4, 2, 4, 4]).slots == 128


def test_paths_of_uneven_depth() -> None:
    tree = Topology.from_paths(["a/x", "a", "b", "", "a"])
    assert tree.levels(0).tolist() == [0, 1, 2, 2, 1]
    assert tree.level(1, 4) == 0
    assert [slots.tolist() for slots in tree.domains(1)] == [[0, 1, 4], [2], [3]]


@given(st.lists(st.tuples(st.integers(1, 3), st.sampled_from("pq"), st.sampled_from("ab"))))
def test_workers_give_process_host_network(workers: list[tuple[int, str, str]]) -> None:
    if not workers:
        with pytest.raises(DgraphError):
            Topology.of_workers(workers)
        return
    tree = Topology.of_workers(workers)
    place = [(p, h) for slots, p, h in workers for _ in range(slots)]
    hosts, processes = {h for _, h in place}, set(place)
    assert tree.height == (2 if len(hosts) > 1 else 1 if len(processes) > 1 else 0)
    for i, here in enumerate(place):
        want = [2 if there[1] != here[1] else 1 if there != here else 0 for there in place]
        assert tree.levels(i).tolist() == want


@given(shapes)
def test_is_a_value(shape: Any) -> None:
    tree, again = Topology.from_shape(shape), Topology.from_shape(shape)
    tree.levels(0)
    assert tree == again
    assert hash(tree) == hash(again)
    assert pickle.loads(pickle.dumps(tree)) == tree
    assert len(pickle.dumps(tree)) == len(pickle.dumps(again))
    assert Topology.from_dict(json.loads(json.dumps(tree.to_dict()))) == tree


def test_drawing() -> None:
    paths = ["dc1/rack1/h1", "dc1/rack1/h1", "dc1/rack2/h2", "dc2/rack<1>/h3", "dc2/rack<1>/h3"]
    tree = Topology.from_paths(paths, level_names=["host", "rack", "centre", "world"])
    assert str(tree).splitlines() == [
        "world 0: 5 slots",
        "├── dc1: 3 slots",
        "│   ├── rack1: 2 slots",
        "│   │   └── h1: slots 0-1",
        "│   └── rack2: 1 slot",
        "│       └── h2: slot 2",
        "└── dc2: 2 slots",
        "    └── rack<1>: 2 slots",
        "        └── h3: slots 3-4",
    ]
    assert "rack&lt;1&gt;" in tree._repr_html_()
    assert str(Topology.from_fanouts([2, 100])).splitlines()[-1] == "└── ... 88 more"
    assert str(Topology.from_fanouts([4, 1])) == "domain 0.0: slots 0-3"
    assert str(Topology.of_workers([(4, "p", "h")])) == "process 0: slots 0-3"


@pytest.mark.parametrize(
    "make",
    [
        lambda: Topology.from_fanouts([]),
        lambda: Topology.from_fanouts([2, 0]),
        lambda: Topology.from_fanouts("2,2"),  # type: ignore[arg-type]
        lambda: Topology.from_fanouts(x for x in (2, 2)),  # type: ignore[arg-type]
        lambda: Topology.from_fanouts(4),  # type: ignore[arg-type]
        lambda: Topology.from_fanouts([2.0, 2]),  # type: ignore[list-item]
        lambda: Topology.from_paths({}),
        lambda: Topology.from_paths({0: "a", 2: "b"}),
        lambda: Topology.from_paths("a/b"),
        lambda: Topology.from_paths(5),  # type: ignore[arg-type]
        lambda: Topology.from_paths(["a", 5]),  # type: ignore[list-item]
        lambda: Topology.from_paths([["a", None]]),  # type: ignore[list-item]
        lambda: Topology.from_shape([]),
        lambda: Topology.from_shape([2, 0]),
        lambda: Topology.from_shape(["ab"]),
        lambda: Topology.from_fanouts([2, 2]).domains(2),
        lambda: Topology.from_fanouts([2, 2]).groups(-1),
        lambda: CostModel((1.0,), (1.0, 2.0)),
        lambda: CostModel((-1.0,), (1.0,)),
        lambda: CostModel.of("cheap", 2),
        lambda: CostModel.of("probed", 2),
        lambda: CostModel.of({"alpha": [1], "beta": [1]}, 1),
        lambda: CostModel.of({"alpha": [1]}, 0),
    ],
)
def test_errors_say_what_was_expected(make: Any) -> None:
    with pytest.raises(ValueError, match=r"expected|must be") as caught:
        make()
    assert isinstance(caught.value, DgraphError)


def test_pair_costs_add_up_to_the_cost_of_a_placement() -> None:
    tree, random = Topology.from_fanouts([4, 4, 4]), np.random.default_rng(5)
    messages = random.integers(0, 9, (64, 64))
    intra, inter = 1.0, [10.0, 100.0]
    slowly = 0.0
    for i in range(64):
        for j in range(64):
            climbed = sum(2 * inter[level] for level in range(tree.level(i, j)))
            slowly += messages[i, j] * (2 * intra + climbed)
    source, target = every_pair(64)
    histogram = tree.count_by_level(source, target, messages.ravel())
    assert slowly == np.dot(histogram, pair_costs(intra, inter))


def test_presets_and_given_costs() -> None:
    assert CostModel.of("decade", 4).relative() == (1, 10, 100, 1000, 10000)
    assert CostModel.of("tianhe", 1).relative() == (1, 2)
    given_model = CostModel.of({"alpha": [1e-6, 1e-3], "beta": [1e-10, 1e-9]}, 1)
    assert CostModel.of(given_model, 1) is given_model
    assert given_model.work([2], [0, 1000]) == pytest.approx(2e-6 + 1e-6)
    assert [given_model.buffer_bytes(level) for level in (0, 1)] == [32 << 10, 1000000]
    assert CostModel((1e-6,), (0.0,)).buffer_bytes(0) == 1 << 20


def test_groups_skip_domains_of_one_slot_and_levels_that_cost_alike() -> None:
    costs = {"alpha": [1.0, 1.0, 10.0], "beta": [1.0, 2.0, 2.0]}
    model = CostModel.of(costs, 2)
    assert model.group_level(Topology.from_fanouts([4, 2, 2])) == 1
    assert model.group_level(Topology.from_fanouts([1, 1, 2])) is None
    assert CostModel.preset("decade", 2).group_level(Topology.from_fanouts([4, 2, 2])) == 0
    assert CostModel.preset("decade", 0).group_level(Topology.from_fanouts([4])) is None
    for dearer, level in ((3.0, 0), (2.9, None)):
        near = CostModel((1.0, 1.0), (1.0, dearer))
        assert near.group_level(Topology.from_fanouts([4, 2])) == level


def test_host_key_is_that_of_every_process_here(monkeypatch: pytest.MonkeyPatch) -> None:
    code = (
        "import sys; from dgraph.topology import host_key; sys.stdout.write(repr(host_key()))"
    )
    house = Path(__file__).parents[1]
    other = subprocess.run(
        [sys.executable, "-c", code], cwd=house, capture_output=True, check=True
    )
    assert other.stdout.decode() == repr(host_key())
    monkeypatch.setattr("dgraph.topology.host._BOOT_ID", Path("/nowhere/boot_id"))
    name, inode = host_key()
    assert name
    assert inode == 0


def test_containers_of_one_machine_are_hosts_of_their_own(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """They share the boot id, and have a network namespace each."""
    keys = {host_key()}
    for container in ("a", "b"):
        namespace = tmp_path / container
        namespace.touch()
        monkeypatch.setattr("dgraph.topology.host._NAMESPACE", namespace)
        keys.add(host_key())
    assert len(keys) == 3
    assert len({boot for boot, _ in keys}) == 1


def test_groups_of_slots_out_of_order() -> None:
    groups = Groups.of([0, 1, 0, 1, 1])
    assert [slots.tolist() for slots in groups.split()] == [[0, 2], [1, 3, 4]]
    assert groups.twin([0, 1], [4, 2]).tolist() == [0, 3]
