"""Graphs on virtual slots of one thread, every superstep of which is counted."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from dgraph.build.program import build
from dgraph.build.rhizomes import Rhizomes
from dgraph.build.spec import BuildSpec
from dgraph.edges.chunk import ChunkSpec, make_chunk
from dgraph.engine.network import find_network
from dgraph.engine.pool import run
from dgraph.placement.resolve import resolve, settled
from dgraph.shard import Shard
from dgraph.topology import Topology

__all__ = ["Watch", "entries", "lay_out", "watch"]


@dataclass
class Watch:
    """An observer of a run.

    Parameters
    ----------
    slots : int
    received, bytes : list of int64 arrays of shape (slots, slots)
        For each superstep the messages and bytes from one slot to another.
    busiest, all : list of float
        Seconds of computation: of the busiest slot, and of all slots together.
    """

    slots: int
    received: list[NDArray[np.int64]] = field(default_factory=list)
    bytes: list[NDArray[np.int64]] = field(default_factory=list)
    busiest: list[float] = field(default_factory=list)
    all: list[float] = field(default_factory=list)

    def superstep(
        self,
        stage: str,
        requests: Mapping[int, Any],
        compute: Mapping[int, float],
        exchange: float,
        elapsed: float,
    ) -> None:
        """Note one superstep; what makes the columns of the result is left out."""
        if stage == "output":
            return
        counts = np.zeros((self.slots, self.slots), np.int64)
        sizes = np.zeros_like(counts)
        for slot, request in requests.items():
            for frame in request.frames:
                counts[slot, frame.target] += frame.count
                sizes[slot, frame.target] += frame.nbytes
        self.received.append(counts)
        self.bytes.append(sizes)
        self.busiest.append(max(compute.values(), default=0.0))
        self.all.append(sum(compute.values()))

    @property
    def most_received(self) -> int:
        """The most messages that one slot receives in a superstep."""
        return max((int(some.sum(axis=0).max()) for some in self.received), default=0)

    def far_bytes(self, topology: Topology) -> int:
        """Return the bytes between domains of the top level."""
        slots = np.arange(self.slots)
        far = topology.level(slots[:, None], slots[None, :]) == topology.height
        return int(sum(some[far].sum() for some in self.bytes))


def lay_out(
    frame: pd.DataFrame,
    topology: Topology,
    placement: Any = "degree",
    rhizomes: Rhizomes | None = None,
) -> list[Shard]:
    """Build the graph of a frame (source, target) on the slots of a topology.

    Examples
    --------
    >>> frame = pd.DataFrame({"source": [0, 0, 0], "target": [1, 2, 3]})
    >>> [shard.masters for shard in lay_out(frame, Topology.from_fanouts([2]))]
    [2, 2]
    """
    slots = topology.slots
    chunk, receipt = make_chunk(frame, ChunkSpec(), 0)
    spec = BuildSpec(
        ids=str(frame["source"].dtype),
        placement=settled(resolve(placement), topology),
        low=receipt.low,
        high=receipt.high,
        rhizomes=None if rhizomes is None else rhizomes.on(topology),
    )
    chunks: list[list[Any]] = [[chunk], *([] for _ in range(slots - 1))]
    return [shard for shard, _ in run(build, chunks, [spec] * slots, slots=slots)]


def watch(
    program: Any,
    shards: Sequence[Shard],
    *arguments: Any,
    topology: Topology | None = None,
    routing: str = "direct",
    combine: bool = True,
) -> Watch:
    """Run a slot program once and return what was counted."""
    slots = len(shards)
    seen = Watch(slots)
    network = None
    if topology is not None and routing != "direct":
        network = find_network(routing, combine, None, topology)
    given = [[argument] * slots for argument in arguments]
    run(program, shards, *given, slots=slots, threads=1, observer=seen, network=network)
    return seen


def entries(shards: Sequence[Shard]) -> NDArray[np.int64]:
    """Return the entries of rows that each slot holds."""
    held = [
        sum(
            rows.targets.size + (0 if split is None else split.rows.targets.size)
            for rows, split in shard.families
        )
        for shard in shards
    ]
    return np.array(held)
