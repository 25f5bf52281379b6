"""What each link carries is told by closed counts, as by looking at every pair of slots."""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dgraph.engine.network import CANDIDATES, Network
from dgraph.exchange.encoding import choose
from dgraph.exchange.routing.choice import HEAD, Flow, Load, cheapest, estimate
from dgraph.exchange.routing.ground import Ground
from dgraph.exchange.routing.links import Ends, count_all, stages
from dgraph.exchange.routing.uneven import uneven
from dgraph.topology import CostModel, Topology

shapes: st.SearchStrategy[Any] = st.recursive(
    st.integers(1, 4), lambda inner: st.lists(inner, min_size=1, max_size=4), max_leaves=8
)


def bag(ends: Ends) -> Counter[tuple[int, ...]]:
    found: Counter[tuple[int, ...]] = Counter()
    for slot, level, times, *messages in zip(*(some.tolist() for some in ends), strict=True):
        found[slot, level, *messages] += times
    return found


@given(
    shape=shapes,
    name=st.sampled_from([*CANDIDATES, "aml"]),
    backwards=st.sampled_from([False, True, None]),
    data=st.data(),
)
def test_closed_counts_are_those_of_all_pairs(
    shape: Any, name: str, backwards: bool | None, data: st.DataObject
) -> None:
    topology = Topology.from_shape(shape)
    group = data.draw(st.integers(0, topology.height))
    score = st.lists(st.integers(0, 99), min_size=topology.slots, max_size=topology.slots)
    ground = Ground(topology, group, tuple(data.draw(score)))
    closed, all_ = (how(name, backwards, ground) for how in (stages, count_all))
    assert len(closed) == len(all_)
    for one, other in zip(closed, all_, strict=True):
        for ends, looked in zip(one, other, strict=True):
            if name == "aml":  # whose the messages are is not told as exactly
                assert ends.reach.min(initial=0) >= 0
                assert ends.reach.max(initial=0) <= topology.height + 1
                ends, looked = (some._replace(reach=0 * some.reach) for some in (ends, looked))
            assert bag(ends) == bag(looked)


@pytest.mark.parametrize("fanouts", [[1, 8, 8, 16, 4], [16, 128]])
def test_thousands_of_slots_are_priced_as_well(fanouts: list[int]) -> None:
    topology = Topology.from_fanouts(fanouts)
    height = topology.height
    far = CostModel((1e-6,) * height + (1e-3,), (1e-10,) * height + (1e-8,))
    network = Network(
        Ground(topology, height - 1), "auto", cost=far, owners=range(topology.slots)
    )
    few = network.choose("reduce", False, topology.slots, 12.0, 0)
    many = network.choose("reduce", False, 1 << 40, 12.0, 0)
    assert few in ("monitor", "tree")  # a frame across is what costs
    assert many not in ("monitor", "tree")  # one slot of each domain would carry all bytes


def test_messages_meet_those_of_other_slots_only() -> None:
    ground = Ground(Topology.from_fanouts([2, 4]), 0)
    byte = CostModel((0.0, 0.0), (0.0, 1.0))

    def across(messages: int) -> float:
        """Return the bytes of each of 6 frames from a domain: to 300 vertices of a slot."""
        load = Load(56 * messages, 1.0, 8 * 300, always=True)
        return estimate("rail", False, ground, byte, load) / 6 - HEAD

    # two slots send, each to a vertex at most once
    assert across(1) == pytest.approx(2, abs=0.01)
    assert across(100) == pytest.approx(150, abs=0.01)
    for messages in (299, 300, 400):
        assert across(messages) == pytest.approx(300, abs=0.6)


#: As probed on eight slots of an emulated network, in pairs of pairs.
TREE = Topology.from_fanouts([1, 1, 2, 2, 2])
PROBED = CostModel(
    alpha=(1.2e-5, 1.2e-5, 1.8e-5, 1.18e-3, 1.036e-2),
    beta=(0.0, 0.0, 1.15e-9, 1.0e-8, 4.33e-8),
    latency=(0.0, 0.0, 0.0, 1.16e-3, 1.034e-2),
)


def test_bytes_decide_where_only_latency_is_more_and_then_stages_do() -> None:
    ground = Ground(TREE, 2)
    load = Load(189_974, 8.0, 46_628, always=True)
    found = {name: estimate(name, True, ground, PROBED, load) for name in CANDIDATES}
    assert found["tree"] < found["rail"] < 0.9 * found["direct"]
    assert cheapest(CANDIDATES, True, ground, PROBED, load) == "rail"


def test_a_broadcast_is_priced_by_how_many_messages_it_has() -> None:
    ground = Ground(TREE, 2)
    network = Network(ground, "auto", cost=PROBED, owners=range(8))
    chosen = set()
    for messages in range(100_000, 180_000, 8_000):  # all nearest to 2**17
        load = Load(messages, 6.0, 46_628, always=True)
        wanted = cheapest(CANDIDATES, True, ground, PROBED, load)
        assert network.choose("multicast", True, messages, 6.0, 46_628) == wanted
        chosen.add(wanted)
    assert len(chosen) > 1


def test_links_of_so_many_slots_add_up() -> None:
    ground = Ground(Topology.from_fanouts([2, 16, 32]), 0)
    slots = ground.topology.slots
    (only,) = stages("direct", False, ground)
    assert (only.sent.times * only.sent.pairs).sum() == slots * (slots - 1)
    for name in CANDIDATES:
        for stage in stages(name, None, ground):
            sides = stage.sent, stage.got
            ahead = [np.sum(ends.times * ends.pairs) for ends in sides]
            back = [np.sum(ends.times * ends.pairs_back) for ends in sides]
            assert ahead[0] == ahead[1]
            assert back[0] == back[1]


@pytest.mark.parametrize("name", ["direct", "monitor", "tree"])
def test_each_way_has_its_own_messages(name: str) -> None:
    """These use the same links in both directions, so what goes one way costs as if alone."""
    ground = Ground(Topology.from_fanouts([2, 4]), 0)
    byte = CostModel((1e-6, 1e-4), (1e-9, 1e-7))
    one, none = Flow(5000, 8.0, 9000), Flow(0, 0.0)
    both = Flow(700, 1.0)

    def seconds(backwards: bool | None, ahead: Flow, back: Flow = none) -> float:
        load = Load(ahead.messages, ahead.width, 800, True, ahead.places, back)
        return estimate(name, backwards, ground, byte, load)

    assert seconds(None, none, one) == pytest.approx(seconds(True, one))
    assert seconds(None, one, none) == pytest.approx(seconds(False, one))
    assert seconds(None, both, one) > max(seconds(None, both), seconds(None, none, one))


@given(
    shared=st.integers(1, 10_000), share=st.floats(0.0, 1.0), width=st.sampled_from([0, 4, 8])
)
def test_what_a_message_is_about_takes_what_it_does_in_a_frame(
    shared: int, share: float, width: int
) -> None:
    changed = min(int(share * shared), shared - 1)  # of all, nothing needs to be said
    kind, size = choose(shared, changed, width)
    if kind == "dense":
        size = changed * width + min(8 * (-(-shared // 64)), 4 * changed)
    ground = Ground(Topology.from_fanouts([1, 2]), 0)
    load = Load(2 * changed, width, 2 * shared, True, 2 * shared)
    found = estimate("direct", False, ground, CostModel((0.0, 0.0), (0.0, 1.0)), load)
    assert found - HEAD == pytest.approx(size, abs=8)


def test_news_of_most_vertices_are_priced_as_what_they_take() -> None:
    """The second round of CDLP on a Kronecker graph of scale 16: nobody marks, most change."""
    ground = Ground(Topology.from_fanouts([8, 4]), 0)
    waits = (0.0, 1e-2)  # the emulated network: 10 ms, 20 MB/s, which a group shares
    cost = CostModel((1e-4, 1.01e-2), (1 / 220e6, 1 / 20e6), waits)
    load = Load(32, 0.0, 46_628, True, 493_900, Flow(461_012, 4, 493_900))
    # simulated, of the frames that were sent
    sent = {"direct": 29.49e-3, "rail": 26.76e-3, "monitor": 20.44e-3, "multileader": 19.68e-3}
    for name, seconds in sent.items():
        assert estimate(name, None, ground, cost, load) == pytest.approx(seconds, rel=0.15)
    assert cheapest(CANDIDATES[:-1], None, ground, cost, load) == "multileader"


#: A Kronecker graph of scale 20 on a machine like Tianhe: 4,096 slots, boards of 8.
WIDE = Ground(Topology.from_fanouts([1, 8, 8, 16, 4]), 1)
TIANHE = CostModel(
    alpha=(2e-7, 1.5e-6, 3e-6, 4e-6, 6e-6),
    beta=(5e-11, 1e-10, 1e-10, 1e-10, 1e-10),
    latency=(0.0, 1e-6, 2e-6, 3e-6, 5e-6),
    link=(0.0, 1 / 14e9, 1 / 28e9, 1 / 56e9, 1 / 112e9),
)


#: How the proxies of that graph are spread there, dealt round by degree.
SPREAD = (10.06, 10.06, 5.3, 3.07, 1.48, 1.0)


def test_gateways_are_priced_by_what_the_fullest_domain_sends() -> None:
    """A round of PageRank: simulated, of what all slots send, and as it is chosen."""
    load = Load(26_888_272, 8.0, 645_788, True, uneven=SPREAD)
    for name, seconds in (("rail", 643.5e-6), ("monitor", 899.5e-6)):
        assert estimate(name, True, WIDE, TIANHE, load) == pytest.approx(seconds, rel=0.1)
    assert cheapest(CANDIDATES, True, WIDE, TIANHE, load) == "rail"


def test_even_messages_are_priced_as_if_nothing_were_said() -> None:
    load = Load(100_000, 8.0, 46_628, True, 9000, Flow(700, 1.0, 9000))
    even = uneven(WIDE.topology, np.full(WIDE.topology.slots, 7))
    assert set(even) == {1.0}
    for name in CANDIDATES:
        for backwards in (False, True, None):
            both = load, load._replace(uneven=even)
            plain, said = (estimate(name, backwards, WIDE, TIANHE, some) for some in both)
            assert plain == said


def test_work_of_gateways_on_values_counts_unless_it_is_left_out() -> None:
    bits = Load(26_888_272, 1 / 8, 645_788, True)
    assert cheapest(CANDIDATES, True, WIDE, TIANHE, bits) == "monitor"
    assert cheapest(CANDIDATES, True, WIDE, TIANHE, bits, 0.0) == "tree"
