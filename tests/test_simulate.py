"""Simulated time against a slow oracle, and what is known of links that are shared."""

from __future__ import annotations

from collections import defaultdict
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dgraph.errors import OptionError
from dgraph.topology import CostModel, Topology, contention, gini
from dgraph.topology.machine import Machine, Traffic
from dgraph.topology.simulate import extrapolate, simulate

shapes: st.SearchStrategy[Any] = st.recursive(
    st.integers(1, 4), lambda inner: st.lists(inner, min_size=1, max_size=3), max_leaves=7
)

#: The emulated network of the measurements: 1 and 10 ms, 100 and 20 MB/s.
NETLAB = Machine((0, 1e-3, 1e-2), (0, 0, 0), (0, 0, 0), (0, 1 / 100e6, 1 / 20e6))
PAIRS_OF_PAIRS = Topology.from_fanouts([2, 2, 2])


def random_machine(levels: int, chance: np.random.Generator) -> Machine:
    return Machine(*(tuple(chance.random(levels).tolist()) for _ in range(4)))


def slowly(tree: Topology, traffic: Traffic, machine: Machine) -> float:
    """Add up what every slot and every link has to do, message by message."""
    busy: dict[Any, float] = defaultdict(float)
    latency = 0.0
    rows = zip(traffic.source, traffic.target, traffic.frames, traffic.bytes, strict=True)
    for source, target, frames, size in rows:
        if source == target or not frames:
            continue
        level = int(tree.level(source, target))
        latency = max(latency, machine.latency[level])
        for kind, slot in (("sends", source), ("receives", target)):
            busy[kind, slot] += frames * machine.overhead[level] + size * machine.copy[level]
        for height in range(1, level + 1):
            for kind, slot in (("up", source), ("down", target)):
                domain = tree.partitions[height - 1][slot]
                busy[kind, height, domain] += size * machine.link[height]
    return latency + max(busy.values(), default=0.0)


@given(shapes, st.integers(0, 2**32 - 1))
def test_agrees_with_the_oracle(shape: Any, seed: int) -> None:
    tree, chance = Topology.from_shape(shape), np.random.default_rng(seed)
    machine = random_machine(tree.height + 1, chance)
    stages = []
    for rows in (30, 3, 0):
        source, target = chance.integers(0, tree.slots, (2, rows))
        stages.append(Traffic.of(source, target, *chance.integers(0, 9, (2, rows))))
    found = simulate(tree, stages, machine)
    assert np.allclose(found.stages, [slowly(tree, stage, machine) for stage in stages])
    assert found.seconds == pytest.approx(sum(found.stages))


def passing(tree: Topology, traffic: Traffic) -> dict[Any, list[tuple[int, int]]]:
    """Return the frames and bytes of each pair that passes a link, by the pair's slots."""
    found: dict[Any, list[tuple[int, int]]] = defaultdict(list)
    rows = zip(traffic.source, traffic.target, traffic.frames, traffic.bytes, strict=True)
    for source, target, frames, size in sorted(rows, key=lambda row: row[:2]):
        for height in range(1, int(tree.level(source, target)) + 1) if frames else ():
            for kind, slot in (("up", source), ("down", target)):
                domain = tree.partitions[height - 1][slot]
                found[height, domain, kind].append((int(frames), int(size)))
    return found


@given(shapes, st.integers(0, 2**32 - 1))
def test_contention_is_what_frame_after_frame_waits(shape: Any, seed: int) -> None:
    tree, chance = Topology.from_shape(shape), np.random.default_rng(seed)
    machine = random_machine(tree.height + 1, chance)
    stages = []
    for count in (12, 0, 3):
        pairs = np.unique(chance.integers(0, tree.slots, (count, 2)), axis=0)
        amounts = chance.integers(0, 5, (2, len(pairs)))
        stages.append(Traffic.of(*pairs.T, *amounts))
    table = contention(tree, stages, machine)
    links = sum(len(names) for names in tree.names[:-1])
    assert len(table) == 2 * 3 * links
    for number, traffic in enumerate(stages):
        wanted = passing(tree, traffic)
        rows: list[Any] = table[table["stage"] == number].to_dict("records")
        for row in rows:
            clock = waited = 0.0
            passed = wanted.get((row["level"], row["domain"], row["direction"]), [])
            for frames, size in passed:
                for _ in range(frames):  # the frames of a pair are of one length
                    waited += clock
                    clock += size / frames * machine.link[row["level"]]
            sums = [sum(pair[which] for pair in passed) for which in (0, 1)]
            assert [row["frames"], row["bytes"]] == sums
            assert (row["busy"], row["waited"]) == pytest.approx((clock, waited))


@given(st.lists(st.integers(0, 9), min_size=1, max_size=9))
def test_gini_is_half_the_mean_difference_over_the_mean(values: list[int]) -> None:
    apart = np.abs(np.subtract.outer(values, values)).mean()
    assert gini(values) == pytest.approx(apart / 2 / np.mean(values) if sum(values) else 0)


def test_a_matrix_is_its_rows() -> None:
    chance = np.random.default_rng(4)
    size = chance.integers(0, 3, (8, 8)) * 1000
    source, target = np.divmod(np.arange(64), 8)
    rows = Traffic.of(source, target, size.ravel(), size.ravel() > 0)
    machine = Machine.of("decade", 2)
    assert simulate(PAIRS_OF_PAIRS, [Traffic.of_matrix(size)], machine) == simulate(
        PAIRS_OF_PAIRS, [rows], machine
    )


def test_two_slots_share_one_uplink_and_two_senders_one_receiver() -> None:
    alone = simulate(PAIRS_OF_PAIRS, [Traffic.of(0, 4, 20_000_000)], NETLAB)
    assert alone.seconds == pytest.approx(0.01 + 1.0)
    shared = simulate(PAIRS_OF_PAIRS, [Traffic.of([0, 1], [4, 6], 20_000_000)], NETLAB)
    assert shared.seconds == pytest.approx(0.01 + 2.0)
    assert (shared.bottlenecks[0].kind, shared.bottlenecks[0].level) == ("up", 2)
    hot = simulate(PAIRS_OF_PAIRS, [Traffic.of([0, 6], [4, 4], 20_000_000)], NETLAB)
    assert hot.seconds == pytest.approx(0.01 + 1.0)  # one of them comes from nearby
    apart = simulate(PAIRS_OF_PAIRS, [Traffic.of([0, 4], [2, 6], 20_000_000)], NETLAB)
    assert apart.seconds == pytest.approx(1e-3 + 0.2)


def test_a_gateway_through_which_all_passes_is_a_bottleneck() -> None:
    tree = Topology.from_fanouts([8, 4])
    machine = Machine((0, 0), (1e-6, 1e-4), (1e-9, 1e-9), (0, 0))
    far = [(s, t) for s in range(32) for t in range(32) if s // 8 != t // 8]
    source, target = np.array(far).T

    def seconds(*stages: Traffic) -> float:
        return simulate(tree, stages, machine).seconds

    def times(size: int) -> tuple[float, float]:
        """Return the seconds of direct, and of one monitor for each domain."""
        direct = seconds(Traffic.of(source, target, size))
        slots = np.arange(32)
        monitors = np.arange(0, 32, 8)
        one, other = (m.ravel() for m in np.meshgrid(monitors, monitors))
        monitor = seconds(
            Traffic.of(slots, slots // 8 * 8, 24 * size),
            Traffic.of(one, other, 64 * size),
            Traffic.of(slots // 8 * 8, slots, 24 * size),
        )
        return direct, monitor

    direct, monitor = times(8)  # frames decide
    assert monitor < direct / 5
    direct, monitor = times(10**6)  # bytes decide, and all pass one slot
    assert direct < monitor / 5


def test_more_traffic_never_takes_less() -> None:
    chance = np.random.default_rng(1)
    size = chance.integers(0, 1000, (8, 8))
    before = 0.0
    for _ in range(20):
        size[tuple(chance.integers(0, 8, 2))] += 10**6
        found = simulate(PAIRS_OF_PAIRS, [Traffic.of_matrix(size)], NETLAB).seconds
        assert found >= before
        before = found


def test_machines() -> None:
    for name in ("tianhe", "cloud"):
        for height in (0, 2, 7):
            machine = Machine.preset(name, height)
            assert len(machine.latency) == len(machine.link) == height + 1
        found = simulate(PAIRS_OF_PAIRS, [Traffic.of(0, 7, 1000)], name)
        assert found.seconds > 0
        assert "simulated" in str(found)
    model = CostModel.preset("decade", 2)
    traffic = [Traffic.of(0, 7, 1000)]
    by_model = simulate(PAIRS_OF_PAIRS, traffic, model)
    assert by_model == simulate(PAIRS_OF_PAIRS, traffic, Machine.of("decade", PAIRS_OF_PAIRS))
    assert by_model.seconds == pytest.approx(model.work([0, 0, 1], [0, 0, 1000]))


def test_nothing_takes_no_time() -> None:
    for nothing in (Traffic.of([], [], 1), Traffic.of(3, 3, 100), Traffic.of(1, 2, 5, 0)):
        found = simulate(PAIRS_OF_PAIRS, [nothing], NETLAB)
        assert found.seconds == 0
        assert found.bottlenecks[0].kind == "nothing"
    assert simulate(PAIRS_OF_PAIRS, [], NETLAB).seconds == 0


def test_an_extrapolation_is_the_power_law_of_its_points() -> None:
    slots = [64, 256, 1024]
    seconds, said = extrapolate(slots, [3e-3 * p**0.7 for p in slots], 79_024)
    assert seconds == pytest.approx(3e-3 * 79_024**0.7)
    assert "simulated" in said
    assert "79024" in said


@pytest.mark.parametrize(
    "make",
    [
        lambda: Machine((0,), (0, 1), (0,), (0,)),
        lambda: Machine((-1,), (0,), (0,), (0,)),
        lambda: Machine.preset("abacus", 2),
        lambda: Traffic.of(0, -1, 3),
        lambda: Traffic.of_matrix([[1, 2]]),
        lambda: simulate(PAIRS_OF_PAIRS, [Traffic.of(0, 8, 1)], NETLAB),
        lambda: simulate(PAIRS_OF_PAIRS, [], Machine.preset("cloud", 1)),
        lambda: extrapolate([4], [1.0], 8),
        lambda: extrapolate([4, 8], [1.0, 0.0], 16),
    ],
)
def test_errors_say_what_was_expected(make: Any) -> None:
    with pytest.raises(OptionError, match=r"expected|must be"):
        make()


def test_contention_refuses_what_the_topology_does_not_have() -> None:
    tree = Topology.from_fanouts([2, 2])
    with pytest.raises(OptionError, match="expected slots below 4, got more"):
        contention(tree, [Traffic.of([0], [9], [4])], "cloud")
    with pytest.raises(OptionError, match="expected a machine of 2 levels, got 1"):
        contention(tree, [Traffic.of([0], [3], [4])], Machine((0,), (0,), (0,), (0,)))


def test_the_traffic_of_one_stage_need_be_in_no_list() -> None:
    tree = Topology.from_fanouts([2, 2])
    traffic = Traffic.of([0, 1, 2], [2, 3, 3], [4, 2, 9])
    assert contention(tree, traffic, "cloud").equals(contention(tree, [traffic], "cloud"))
    assert simulate(tree, traffic, "cloud") == simulate(tree, [traffic], "cloud")
    for what in (contention, simulate):
        with pytest.raises(OptionError, match="expected a Traffic for each stage, got ndarray"):
            what(tree, np.eye(4), "cloud")


def test_stages_in_which_nothing_moves_are_told_apart() -> None:
    tree = Topology.from_fanouts([2, 2])
    found = simulate(tree, [Traffic.of([0], [0], [9]), Traffic.of([0], [3], [9])], "cloud")
    assert (len(found.stages), found.moving) == (2, 1)
