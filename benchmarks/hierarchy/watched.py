"""What a run on virtual slots sends and computes in every stage, and what that would take.

An observer of the hub notes every frame, so that counts are the engine's;
`dgraph.topology.simulate` turns them into the time that the links of a described machine would
take: a simulated time, never a measured one.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import pairwise
from typing import Self

import numpy as np
from numpy.typing import NDArray

from dgraph.distinct import distinct
from dgraph.engine.network import Network
from dgraph.engine.records import OUTPUT, ROUTES
from dgraph.exchange.hop import Hop
from dgraph.exchange.hub import Request
from dgraph.exchange.routing.choice import HEAD, STAGE
from dgraph.exchange.routing.ground import positions
from dgraph.exchange.routing.schedule import alone
from dgraph.topology import Topology
from dgraph.topology.machine import Machine, Traffic
from dgraph.topology.simulate import simulate

__all__ = ["Apart", "Watched"]

Numbers = NDArray[np.int64]


class Apart(Network):
    """A network whose slots count as processes of their own, though one process has them."""

    def hops(self, name: str, backwards: bool | None) -> tuple[Hop, ...]:
        """Return the stages, and remember of which routing they are."""
        found = self._hops.get((name, backwards))
        if found is None:
            found = alone(name, backwards, self.ground)
            self._hops[name, backwards] = found
            for hop in found:
                self.known[id(hop)] = self._links(name, backwards, hop.stage)
        return found

    @cached_property
    def known(self) -> dict[int, Numbers]:
        """For each stage the links that carry at least votes: source * slots + target."""
        return {}

    def _links(self, name: str, backwards: bool | None, stage: int) -> Numbers:
        slots = np.arange(self.slots)
        pairs = [some.ravel() for some in np.meshgrid(slots, slots)]
        links = [np.zeros(0, np.int64)]
        for direction in (False, True) if backwards is None else (backwards,):
            where = positions(self.strategy(name, direction), *pairs)
            here, there = list(pairwise(where))[stage]
            links.append((here * self.slots + there)[here != there])
        return distinct(np.concatenate(links))


@dataclass
class _Stage:
    """What one stage sent: rows of source, target, messages, bytes; and what slots computed."""

    name: str
    last: bool
    rows: Numbers
    links: Numbers
    computation: list[float]


@dataclass
class Watched:
    """A run that was watched; also the Observer of its hub.

    Parameters
    ----------
    topology : Topology
    network : Network or None
    """

    topology: Topology
    network: Apart | None
    stages: list[_Stage] = field(default_factory=list)

    def superstep(
        self,
        stage: str,
        requests: Mapping[int, Request],
        compute: Mapping[int, float],
        exchange: float,
        elapsed: float,
    ) -> None:
        """Note a stage: called by the hub."""
        if stage == ROUTES:
            return
        rows = [
            (frame.source, frame.target, frame.count, frame.nbytes)
            for request in requests.values()
            for frame in request.frames
        ]
        hop = next(iter(requests.values())).hop
        if hop is None or self.network is None:
            slots = self.topology.slots
            links = np.flatnonzero(~np.eye(slots, dtype=bool))
        else:
            links = self.network.known[id(hop)]
        self.stages.append(
            _Stage(
                stage,
                hop is None or hop.last,
                np.array(rows, np.int64).reshape(-1, 4),
                links,
                list(compute.values()),
            )
        )

    def without_output(self) -> Self:
        """Return the same run without what makes the columns of its result."""
        return replace(self, stages=[some for some in self.stages if some.name != OUTPUT])

    @property
    def supersteps(self) -> int:
        """How many there were."""
        return sum(stage.last for stage in self.stages)

    def counts(self) -> NDArray[np.int64]:
        """Return frames, messages and bytes by level."""
        total = np.zeros((3, self.topology.height + 1), np.int64)
        for stage in self.stages:
            source, target, messages, size = stage.rows.T
            level = self.topology.level(source, target)
            for row, amount in enumerate((np.ones(level.size), messages, size)):
                found = np.bincount(level, amount, minlength=self.topology.height + 1)
                total[row] += found.astype(np.int64)
        return total

    @cached_property
    def messages(self) -> list[Numbers]:
        """For each stage the messages from each slot to each other."""
        found = []
        for stage in self.stages:
            sent = np.zeros((self.topology.slots, self.topology.slots), np.int64)
            np.add.at(sent, (stage.rows[:, 0], stage.rows[:, 1]), stage.rows[:, 2])
            found.append(sent)
        return found

    @property
    def most_received(self) -> int:
        """The most messages that one slot receives in a stage."""
        return max((int(sent.sum(axis=0).max()) for sent in self.messages), default=0)

    @property
    def busiest(self) -> float:
        """Seconds of computation (measured) of the busiest slot of each stage."""
        return sum(max(stage.computation) for stage in self.stages)

    def traffic(self, far: bool = True) -> Iterator[Traffic]:
        """Yield each stage, with frames for votes only; not far: without the top level's."""
        slots = self.topology.slots
        for stage in self.stages:
            source, target, _, size = stage.rows.T
            more = np.setdiff1d(stage.links, source * slots + target)
            source = np.concatenate([source, more // slots])
            target = np.concatenate([target, more % slots])
            size = np.concatenate([size, np.full(more.size, HEAD)])
            if not far:
                near = self.topology.level(source, target) < self.topology.height
                source, target, size = source[near], target[near], size[near]
            yield Traffic.of(source, target, size)

    def seconds(self, machine: Machine, far: bool = True) -> float:
        """Return the simulated time of all frames, and of the engine's stages beside them."""
        found = simulate(self.topology, self.traffic(far), machine)
        return found.seconds + STAGE * len(self.stages)

    def seconds_of_bytes(self, machine: Machine) -> float:
        """Return what bytes alone would take: no latency, no work for a frame or a stage.

        What the time tends to where graphs are large.
        """
        zeros = (0.0,) * len(machine.latency)
        bare = Machine(zeros, zeros, machine.copy, machine.link)
        return simulate(self.topology, self.traffic(), bare).seconds

    def split(self, machine: Machine) -> dict[str, float]:
        """Return seconds of computation (measured), near and far exchange (simulated), waiting.

        Slots wait for the one that computes longest.
        """
        means = [float(np.mean(stage.computation)) for stage in self.stages]
        longest = [max(stage.computation) for stage in self.stages]
        near = self.seconds(machine, far=False)
        return {
            "computation": sum(means),
            "near": near,
            "far": self.seconds(machine) - near,
            "waiting": sum(longest) - sum(means),
        }
