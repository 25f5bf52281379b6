"""What is recorded of a run: frames, messages and bytes by level, and where the time went.

A :class:`Recorder` notes every superstep in one process; the client merges what all recorded
into a :class:`RunRecord`. A superstep costs a few microseconds to note: a run may have
thousands.
"""

from __future__ import annotations

from array import array
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from time import perf_counter
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from dgraph.engine import tallies
from dgraph.engine.inner import unfold
from dgraph.exchange.buffers import Pool
from dgraph.exchange.hop import Hop
from dgraph.exchange.request import Inner, Request
from dgraph.tables import html

if TYPE_CHECKING:
    from pandas import DataFrame

    from dgraph.topology import Topology

__all__ = ["OUTPUT", "ROUTES", "Log", "Recorder", "RunRecord", "Runs", "merge"]

#: The stage in which a program makes the result's columns; it is timed apart.
OUTPUT = "output"

#: The stage in which slots agree on routes, in the first routed run on a graph, or on memory.
ROUTES = "routes"

COUNTS = ("frames", "messages", "bytes")
TIMES = ("computation", "exchange", "seconds")


@dataclass(frozen=True)
class Log:
    """What one process recorded: small, and pickled as a few arrays.

    Parameters
    ----------
    stages : tuple of str
    stage : int32 array
        For each superstep a position in `stages`.
    counts : int64 array of shape (supersteps, 3, levels)
        Frames, messages and bytes that the slots of this process sent.
    before : int64 array of shape (3, levels)
        What they would have sent straight to the targets.
    times : float64 array of shape (supersteps, 3)
        Seconds of computation (summed over the slots), of exchange, and in all.
    buffers : float64 array of shape (some, 7)
        For the supersteps in which frames were buffered, see :mod:`dgraph.engine.tallies`.
    slots : int
        How many slots this process ran.
    seconds, output_seconds : float
        From the first superstep to the end, and what of it was spent on the output.
    """

    stages: tuple[str, ...]
    stage: NDArray[np.int32]
    counts: NDArray[np.int64]
    before: NDArray[np.int64]
    times: NDArray[np.float64]
    buffers: NDArray[np.float64]
    slots: int
    seconds: float
    output_seconds: float


class Recorder:
    """Note every superstep of one process: the Observer of a hub.

    Parameters
    ----------
    topology : Topology
        Says at which level two slots meet.
    slots : sequence of int
        The slots of this process.
    pool : Pool, optional
        The buffers for other processes.

    Examples
    --------
    >>> from dgraph.engine.pool import run
    >>> from dgraph.topology import Topology
    >>> async def program(ctx):
    ...     ctx.stage = "count"
    ...     await ctx.allgather(np.zeros(2))
    >>> recorder = Recorder(Topology.from_fanouts([2]), (0, 1))
    >>> _ = run(program, slots=2, observer=recorder)
    >>> merge([recorder.log("count")]).frames
    {0: 2}
    """

    def __init__(
        self, topology: Topology, slots: Sequence[int], pool: Pool | None = None
    ) -> None:
        self._topology = topology
        self._pool = pool
        self._levels = topology.height + 1
        self._level: dict[int, list[int]] = {slot: [] for slot in slots}
        self._meet: NDArray[np.int64] | None = None  # the same as an array, if it is needed
        self._stages: dict[str, int] = {}
        self._stage = array("i")
        self._counts = array("q")
        self._times = array("d")
        self._buffers = array("d")
        # what the stages of an unfinished superstep have sent so far, and how long they took
        self._pending: tuple[list[int], tuple[float, ...]] = [], ()
        # what would have been sent straight to the targets, less what was sent
        self._straight = np.zeros((3, self._levels), np.int64)
        self._began = perf_counter()

    def start(self) -> None:
        """Let the time of the run begin now."""
        self._began = perf_counter()

    def superstep(
        self,
        stage: str,
        requests: Mapping[int, Request],
        compute: Mapping[int, float],
        exchange: float,
        elapsed: float,
    ) -> None:
        """Note one superstep: called by the hub."""
        levels = self._levels
        counts = [0] * (3 * levels)
        for slot, request in requests.items():
            if request.frames:
                level = self._level[slot] or self._levels_of(slot)
                for frame in request.frames:
                    at = level[frame.target]
                    counts[at] += 1
                    counts[at + levels] += frame.count
                    counts[at + 2 * levels] += frame.nbytes
        times: tuple[float, ...] = (sum(compute.values()), exchange, elapsed)
        if self._pool is not None and self._pool.is_touched:
            self._buffers.extend(tallies.taken(self._pool, len(self._stage)))
        hop = request.hop  # of the last one: the same for all
        for request in requests.values():
            if request.inner is not None:
                counts, times = self._add_inner(request.inner, stage, counts, times)
        if hop is not None:
            counts, times = self._add_stage(requests, hop, counts, times)
            if not hop.last:
                return
        self._counts.extend(counts)
        self._times.extend(times)
        self._stage.append(self._stages.setdefault(stage, len(self._stages)))

    def _add_inner(
        self, inner: Inner, stage: str, counts: list[int], times: tuple[float, ...]
    ) -> tuple[list[int], tuple[float, ...]]:
        """Note the supersteps before that of the request, and return what is left for it."""
        if self._meet is None:
            rows = [self._level[slot] or self._levels_of(slot) for slot in self._level]
            self._meet = np.array(rows, np.int64)
        slots = np.array(list(self._level))
        parts = unfold(inner, slots, self._meet, self._levels, times, perf_counter())
        self._counts.frombytes(parts.counts.tobytes())
        self._times.frombytes(parts.times.tobytes())
        for name in (inner.stages or [stage] * len(parts.times))[: len(parts.times)]:
            self._stage.append(self._stages.setdefault(name, len(self._stages)))
        return (np.array(counts) + parts.own_counts).tolist(), parts.own_times

    def _add_stage(
        self,
        requests: Mapping[int, Request],
        hop: Hop,
        counts: list[int],
        times: tuple[float, ...],
    ) -> tuple[list[int], tuple[float, ...]]:
        """Add a stage to those of the same superstep before it."""
        if hop.first:
            self._pending = [0] * len(counts), (0.0, 0.0, 0.0)
        old_counts, old_times = self._pending
        counts = [a + b for a, b in zip(counts, old_counts, strict=True)]
        times = tuple(a + b for a, b in zip(times, old_times, strict=True))
        self._pending = counts, times
        for request in requests.values():
            if request.before is not None:
                self._straight += request.before
        if hop.last:
            self._straight -= np.array(counts, np.int64).reshape(3, -1)
        return counts, times

    def _levels_of(self, slot: int) -> list[int]:
        """Return the levels at which a slot meets the others, asked for when first needed."""
        levels: list[int] = self._topology.levels(slot).tolist()
        self._level[slot] = levels
        return levels

    @property
    def latest(self) -> tuple[int, str, float] | None:
        """The last superstep that was noted, its stage and its seconds; from any thread."""
        ended = len(self._stage)
        if not ended:
            return None
        return ended - 1, list(self._stages)[self._stage[ended - 1]], self._times[3 * ended - 1]

    def log(self, last_stage: str) -> Log:
        """Return what was noted, once the run has ended in `last_stage`."""
        seconds = perf_counter() - self._began
        times = np.frombuffer(self._times, np.float64).reshape(-1, 3)
        stage = np.frombuffer(self._stage, np.int32)
        output = float(times[stage == self._stages.get(OUTPUT, -1), 2].sum())
        if last_stage == OUTPUT:
            output += seconds - float(times[:, 2].sum())
        counts = np.frombuffer(self._counts, np.int64).reshape(-1, 3, self._levels)
        before = counts.sum(axis=0) + self._straight
        slots = len(self._level)
        buffers = np.frombuffer(self._buffers, np.float64).reshape(-1, tallies.WIDTH)
        return Log(
            tuple(self._stages), stage, counts, before, times, buffers, slots, seconds, output
        )


@dataclass(frozen=True)
class RunRecord:
    """What a run did and how long it took.

    Parameters
    ----------
    algorithm : str
    seconds : float
        Wall time of the supersteps.
    launch_seconds : float
        Wall time to start the run on all workers and to learn that it has ended.
    output_seconds : float
        Wall time to make the result's columns in the user's ids.
    supersteps : int
        As many as `steps` has rows: those of the stages "routes", in which slots agree on ways
        of messages or on memory, and "output", which make the result's columns, are among them.
    frames, messages, bytes : dict of int to int
        What was sent in the whole run, by the level of the domain tree that it crossed.
    before : dict of str to dict
        Frames, messages and bytes by level if everything had gone straight to its target and
        nothing had been combined on the way; of a broadcast of bits at most so many.
    buffers : dict of str to number
        "switches", "expansions" and "stalls" of the buffers for other processes, see
        :mod:`dgraph.exchange.buffers`, "stalled_seconds", and the "peak_bytes" of a worker.
    buffers_by_level : dict of str to dict
        The same by the level at which both processes meet.
    converged : bool
        Whether an iteration met its tolerance.
    notes : mapping
        What else the program noted.

    Examples
    --------
    >>> record = RunRecord("bfs", 0.25, 0.01, 0.0, 1, {0: 2}, {0: 8}, {0: 200}, True)
    >>> record.frames, record.converged
    ({0: 2}, True)
    """

    algorithm: str
    seconds: float
    launch_seconds: float
    output_seconds: float
    supersteps: int
    frames: Mapping[int, int]
    messages: Mapping[int, int]
    bytes: Mapping[int, int]
    converged: bool = True
    notes: Mapping[str, Any] = field(default_factory=dict)
    before: Mapping[str, Mapping[int, int]] = field(default_factory=dict)
    buffers: Mapping[str, float] = field(default_factory=dict)
    buffers_by_level: Mapping[str, Mapping[int, float]] = field(default_factory=dict)
    _logs: tuple[Log, ...] = field(default=(), repr=False, compare=False)

    @cached_property
    def steps(self) -> DataFrame:
        """A row for every superstep.

        Columns: stage; frames, messages and bytes by level (``frames_0``, ...); seconds, and
        what of them the slots spent on the average in computation, in exchange, and waiting
        for slower ones; what the buffers did, as in `buffers`, and by level (``stalls_1``).
        """
        return _steps(self._logs)

    def _repr_html_(self) -> str:
        rows = dict(self._row())
        name = rows.pop("algorithm")
        by_level = {
            f"{what} by level": rows.pop(what) and getattr(self, what) for what in COUNTS
        }
        buffers = tallies.shown(self.buffers_by_level)
        return html(f"run of {name}", rows | by_level | buffers | dict(self.notes))

    def _row(self) -> dict[str, Any]:
        """Return what a table of runs shows: counts are those of all levels."""
        return {
            "algorithm": self.algorithm,
            "seconds": self.seconds,
            "launch_seconds": self.launch_seconds,
            "output_seconds": self.output_seconds,
            "supersteps": self.supersteps,
            **{what: sum(getattr(self, what).values()) for what in COUNTS},
            "converged": self.converged,
        }


class Runs(list[RunRecord]):
    """Records of runs, the latest to end last; shows as a table.

    Examples
    --------
    >>> runs = Runs([RunRecord("bfs", 0.25, 0.01, 0.0, 1, {0: 2}, {0: 8}, {0: 200}, True)])
    >>> runs.to_frame().to_dict("records")[0]["messages"]
    8
    """

    def to_frame(self) -> DataFrame:
        """Return a row for each run; frames, messages and bytes are those of all levels."""
        import pandas as pd

        return pd.DataFrame([record._row() for record in self])

    def _repr_html_(self) -> str:
        return str(self.to_frame().to_html(float_format="{:.4g}".format))


def merge(
    logs: Sequence[Log],
    algorithm: str = "",
    wall: float = 0.0,
    notes: Mapping[str, Any] | None = None,
) -> RunRecord:
    """Merge what the processes of a run recorded.

    Parameters
    ----------
    logs : sequence of Log
        At least one.
    algorithm : str
    wall : float
        Seconds from the launch to the end, as the client saw them.
    notes : mapping, optional
        What the program noted; "converged" becomes a field of its own.
    """
    counts = tallies.named(COUNTS, sum(log.counts.sum(axis=0) for log in logs))
    longest = max(log.seconds for log in logs)
    output = max(log.output_seconds for log in logs)
    stage = logs[0].stage
    rest = dict(notes or {})
    did = [log.buffers for log in logs]
    return RunRecord(
        algorithm=algorithm,
        seconds=longest - output,
        launch_seconds=max(0.0, wall - longest),
        output_seconds=output,
        supersteps=stage.size,
        frames=counts["frames"],
        messages=counts["messages"],
        bytes=counts["bytes"],
        converged=bool(rest.pop("converged", True)),
        notes=rest,
        before=tallies.named(COUNTS, sum(log.before for log in logs)),
        buffers=tallies.total(tallies.by_step(did, stage.size)),
        buffers_by_level=tallies.by_level(did, stage.size, len(counts["frames"])),
        _logs=tuple(logs),
    )


def _steps(logs: Sequence[Log]) -> DataFrame:
    import pandas as pd

    counts = np.sum([log.counts for log in logs], axis=0)
    slots = sum(log.slots for log in logs)
    seconds = np.max([log.times[:, 2] for log in logs], axis=0)
    computation = np.sum([log.times[:, 0] for log in logs], axis=0) / slots
    exchange = np.min([log.times[:, 1] for log in logs], axis=0)
    first = logs[0]
    columns: dict[str, Any] = {"stage": np.array(first.stages, object)[first.stage]}
    for at, name in enumerate(COUNTS):
        for level in range(counts.shape[2]):
            columns[f"{name}_{level}"] = counts[:, at, level]
    columns["seconds"] = seconds
    columns["computation"] = computation
    columns["exchange"] = exchange
    columns["waiting"] = np.maximum(0.0, seconds - computation - exchange)
    columns |= tallies.as_columns([log.buffers for log in logs], len(seconds), counts.shape[2])
    return pd.DataFrame(columns)
