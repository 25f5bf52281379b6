"""Meshes, rings and tori: distances, and crowds of messages against a stupider simulator."""

from __future__ import annotations

from collections import deque
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dgraph.errors import DgraphError
from dgraph.topology import Lattice, gini

UNTYPED: Any = Lattice
SHAPES = st.lists(st.integers(1, 5), min_size=1, max_size=3).map(tuple)


@st.composite
def crowds(draw: Any) -> tuple[Lattice, list[int], list[int], int]:
    """Draw a lattice, messages on it, and the size of a buffer."""
    lattice = Lattice(draw(SHAPES), draw(st.booleans()))
    slots = st.integers(0, lattice.slots - 1)
    pairs = draw(st.lists(st.tuples(slots, slots), max_size=60))
    if draw(st.booleans()):  # a hot spot
        pairs = [(source, 0) for source, _ in pairs]
    buffer = draw(st.integers(2 if lattice.wrap else 1, 4))
    return lattice, [s for s, _ in pairs], [t for _, t in pairs], buffer


Place = tuple[int, ...]


class Slow:
    """The same rules with a queue for each buffer, slots told by their places."""

    def __init__(self, lattice: Lattice, source: list[int], target: list[int], room: int):
        self.shape, self.wrap, self.room = lattice.shape, lattice.wrap, room
        places = [tuple(place) for place in lattice.coordinates.tolist()]
        self.ways = [(d, sign) for d in range(len(self.shape)) for sign in (1, -1)]
        self.inputs = {at: {way: deque[Place]() for way in self.ways} for at in places}
        self.own = {at: deque[Place]() for at in places}
        for s, t in zip(source, target, strict=True):
            self.own[places[s]].append(places[t])
        outputs = [*self.ways, None]
        self.turn = {(at, way): deque(outputs) for at in places for way in outputs}
        self.passed = dict.fromkeys(((at, way) for at in places for way in self.ways), 0)
        self.refused = dict(self.passed)

    def way(self, here: Place, there: Place) -> Any:
        for d, (a, b) in enumerate(zip(here, there, strict=True)):
            if a != b:
                back = a > b
                if self.wrap:
                    back = (a - b) % self.shape[d] < (b - a) % self.shape[d]
                return d, -1 if back else 1
        return None

    def next(self, here: Place, way: tuple[int, int]) -> Place:
        d, sign = way
        return (*here[:d], (here[d] + sign) % self.shape[d], *here[d + 1 :])

    def queue(self, at: Place, entry: Any) -> deque[Place]:
        return self.own[at] if entry is None else self.inputs[at][entry]

    def fits(self, at: Place, entry: Any, way: Any) -> bool:
        if way is None:
            return True
        free = self.room - len(self.inputs[self.next(at, way)][way])
        enters = entry is None or entry[0] != way[0]
        return free >= (2 if self.wrap and enters else 1)

    def cycle(self) -> None:
        moves = []
        for (at, way), turn in self.turn.items():
            waiting = [
                entry
                for entry in turn
                if self.queue(at, entry) and self.way(at, self.queue(at, entry)[0]) == way
            ]
            fitting: list[Any] = [entry for entry in waiting if self.fits(at, entry, way)]
            going: Any = fitting[0] if fitting else "nobody"
            if way is not None:
                self.passed[at, way] += going != "nobody"
                self.refused[at, way] += len(waiting) > (going != "nobody")
            if going != "nobody":
                moves.append((at, going, way))
                turn.rotate(-1 - turn.index(going))
        sent = [(self.queue(at, entry).popleft(), at, way) for at, entry, way in moves]
        for to, at, way in sent:
            if way is not None:
                self.inputs[self.next(at, way)][way].append(to)

    def run(self) -> int:
        cycles = 0
        while any(self.own.values()) or any(
            some for at in self.inputs.values() for some in at.values()
        ):
            self.cycle()
            cycles += 1
            assert cycles < 10_000
        return cycles


@given(crowds())
@settings(max_examples=60, deadline=None)
def test_crowds_are_what_a_stupider_simulator_says(crowd: Any) -> None:
    lattice, source, target, buffer = crowd
    slow = Slow(lattice, source, target, buffer)
    found = lattice.crowd(source, target, buffer=buffer)
    assert found.cycles == slow.run()
    places = lattice.coordinates.tolist()
    for row in found.channels.itertuples():
        key = tuple(places[row.slot]), (row.dimension, row.direction)
        assert (row.passed, row.refused) == (slow.passed.pop(key), slow.refused.pop(key))
    assert not any(slow.passed.values())  # what is no channel is not used
    hops = lattice.hops(source, target) if source else np.zeros(0)
    assert found.channels["passed"].sum() == hops.sum()


@given(SHAPES, st.booleans())
@settings(max_examples=25, deadline=None)
def test_distances_are_shortest_ways(shape: tuple[int, ...], wrap: bool) -> None:
    lattice = Lattice(shape, wrap)
    places = lattice.coordinates
    near = np.full((lattice.slots, lattice.slots), np.inf)
    for i, here in enumerate(places):
        for j, there in enumerate(places):
            apart = np.abs(here - there)
            steps = {1} | ({shape[int(apart.argmax())] - 1} if wrap else set())
            if (apart > 0).sum() == 1 and apart.max() in steps:
                near[i, j] = 1
    np.fill_diagonal(near, 0)
    for k in range(lattice.slots):
        near = np.minimum(near, near[:, [k]] + near[[k]])
    assert np.array_equal(lattice.distances(), near)


def test_a_message_alone_takes_a_cycle_for_each_hop_and_one_to_be_taken() -> None:
    torus = Lattice((4, 3, 2), wrap=True)
    for target in range(torus.slots):
        assert torus.crowd([5], [target]).cycles == torus.hops(5, target) + 1


def test_full_rings_go_on() -> None:
    ring = Lattice((5,), wrap=True)
    every = np.repeat(np.arange(5), 50)
    assert ring.crowd(every, (every + 2) % 5, buffer=2).cycles >= 100


def test_messages_for_a_hub_take_as_long_as_it_takes_them_and_rhizomes_share_them() -> None:
    mesh, rng = Lattice((4, 4)), np.random.default_rng(1)
    source = rng.integers(0, 16, 2000)
    hub = mesh.crowd(source, np.full(2000, 5))
    spread = mesh.crowd(source, rng.permutation(np.arange(2000) % 16))
    assert hub.cycles >= 2000
    assert spread.cycles < hub.cycles / 5
    uneven = [gini(crowd.channels["refused"]) for crowd in (hub, spread)]
    assert uneven[0] > uneven[1]


def test_ways_along_the_second_dimension_are_less_crowded() -> None:
    mesh, rng = Lattice((8, 8)), np.random.default_rng(1)
    found = mesh.crowd(*rng.integers(0, 64, (2, 3000))).channels
    refused = found.groupby("dimension")["refused"].sum()
    assert refused[1] < refused[0]


def test_a_shape_may_be_any_sequence_of_integers() -> None:
    same = {UNTYPED(shape) for shape in [(2, 3), [2, 3], np.array([2, 3])]}
    assert same == {Lattice((2, 3))}


def test_no_messages_take_no_time() -> None:
    assert Lattice((3,)).crowd([], []).cycles == 0


@pytest.mark.parametrize(
    ("what", "said"),
    [
        (lambda: Lattice(()), "shape must be"),
        (lambda: Lattice((3, 0)), "shape must be"),
        (lambda: UNTYPED((2.5,)), "shape must be"),
        (lambda: UNTYPED("ab"), "shape must be"),
        (lambda: UNTYPED(4), "shape must be .* not 4"),
        (lambda: UNTYPED((3,)).crowd([0], [1], buffer=1.5), "at least 1"),
        (lambda: UNTYPED((3,)).crowd([0], [1], buffer="4"), "at least 1"),
        (lambda: Lattice((3,)).hops(0, 3), "j must be slots 0 to 2, not 3"),
        (lambda: Lattice((3,)).crowd([0.5], [1]), "source must be slots"),
        (lambda: Lattice((3,)).crowd([0], [1, 2]), "as many targets"),
        (lambda: Lattice((3,)).crowd([0], [1], buffer=0), "at least 1"),
        (lambda: Lattice((3,), wrap=True).crowd([0], [1], buffer=1), "at least 2"),
    ],
)
def test_what_cannot_be_is_refused_in_a_sentence(what: Any, said: str) -> None:
    with pytest.raises(ValueError, match=said) as caught:
        what()
    assert isinstance(caught.value, DgraphError)
