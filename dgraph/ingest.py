"""From partitions of edges to a resident graph: absorb them where they lie, judge, build.

::

    client   partitions ──submit──▶ one small task each, on the workers of the graph
    worker       absorb: partition ─▶ chunk (stays) + receipt (small)
    client   receipts: judged together; a policy that forbids something ends it here
    worker       build: chunks of all workers ─▶ shards, in supersteps

A chunk stays on its worker as long as the client holds the future of its receipt. So, whatever
goes wrong, the workers keep nothing when this module has returned.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from time import perf_counter
from typing import Any

from distributed import Client, Future

from dgraph.absorb import absorb
from dgraph.arguments import slot_counts
from dgraph.build.program import build
from dgraph.build.rhizomes import Rhizomes
from dgraph.build.spec import BuildSpec
from dgraph.build.strategy import Chooser, EdgeStrategy, Strategy, name_of
from dgraph.edges.inputs import EdgeInput
from dgraph.edges.receipt import Receipt
from dgraph.edges.summary import Summary, combine
from dgraph.edges.vertex_inputs import VertexInput
from dgraph.engine.context import Context
from dgraph.engine.discovery import as_topology, settle
from dgraph.engine.members import find_members
from dgraph.errors import RunError
from dgraph.facts import Facts
from dgraph.home import Home
from dgraph.plurals import counted
from dgraph.policies import Policies
from dgraph.shard import Shard
from dgraph.topology import Topology

__all__ = ["check_slots", "find_home", "ingest"]


@dataclass(frozen=True, slots=True)
class Built:
    """What a slot tells of the shard that it has built.

    Parameters
    ----------
    num_vertices, num_edges : int
        Of the whole graph.
    weights : str or None
        Their dtype.
    bytes : int
        Of the shard.
    report : dict
        See :func:`dgraph.build.program.build`.
    """

    num_vertices: int
    num_edges: int
    weights: str | None
    bytes: int
    report: Mapping[str, Any]


def check_slots(slots: Any, virtual_slots: Any, topology: Any = None) -> Topology | None:
    """Raise unless what a user says about slots can be meant; before any cluster is asked.

    Returns
    -------
    Topology or None
        The one that the user gives, read if need be; None: it is to be discovered.

    Examples
    --------
    >>> check_slots(1.5, None)
    Traceback (most recent call last):
        ...
    dgraph.errors.OptionTypeError: slots must be an integer from 1 on or None, not 1.5
    """
    slot_counts(slots, virtual_slots)
    return as_topology(topology)


async def find_home(
    client: Client,
    slots: int | None = None,
    virtual_slots: int | None = None,
    topology: Topology | None = None,
) -> Home:
    """Choose the workers of a graph and lay the domain tree over their slots.

    Raises
    ------
    OptionError
        If there are fewer threads than `slots`, or not as many slots as `topology` has.
    """
    members = await find_members(client, slots, virtual_slots)
    return Home(client, members, settle(members, topology))


async def ingest(
    home: Home,
    edges: EdgeInput,
    policies: Policies,
    placement: Strategy | EdgeStrategy,
    placed: VertexInput | None = None,
    seconds: float = 0.0,
) -> Facts:
    """Make edges a graph that lies on the workers of `home`; see `dgraph.from_edges`.

    Parameters
    ----------
    placed : VertexInput, optional
        The table of a placement that the user brought.
    seconds : float
        What it took to look into the input.
    """
    began = perf_counter()
    tables = [*edges.vertices, *([] if placed is None else [placed])]
    chunks: list[Future[Receipt]] = []
    try:
        await absorb(home, [edges, *tables], chunks)
        receipts = await home.client.gather(chunks)
        summary = combine(
            receipts[: len(edges.parts)],
            vertices=receipts[len(edges.parts) :],
            nulls=policies.nulls,
            self_loops=policies.self_loops,
            locate=edges.locate,
        )
        absorbed = perf_counter()
        if isinstance(placement, Chooser):
            placement = placement.at_most(summary.edges)
        rhizomes = policies.split(placement, home.topology)
        spec = _build_spec(edges, summary, policies, placement, home.slots, rhizomes)
        built: Sequence[Built] = await home.build(_build_slot, spec)
        _check_complete(summary, built)
    except BaseException:
        home.close()
        raise
    finally:
        # At once: the traceback of an error would hold them as long as somebody holds that.
        for chunk in chunks:
            chunk.release()
        chunks.clear()
    times = {"inspect": seconds, "absorb": absorbed - began, "build": perf_counter() - absorbed}
    return _facts(edges, summary, policies, spec, home, built, times)


def _check_complete(summary: Summary, built: Sequence[Built]) -> None:
    """Raise unless all edges that were absorbed have been built in, and none twice."""
    reached = built[0].report["rows_read"]
    if reached != summary.edges:
        raise RunError(
            f"{summary.edges} edges were read, but {reached} reached the graph: a partition "
            "was moved or computed again meanwhile; call from_edges again"
        )


def _build_spec(
    edges: EdgeInput,
    summary: Summary,
    policies: Policies,
    placement: Strategy | EdgeStrategy,
    slots: int,
    rhizomes: Rhizomes | None,
) -> BuildSpec:
    low, high = summary.low, summary.high
    if low is None or high is None or not BuildSpec.dense_range(low, high, summary.rows, slots):
        low = high = None
    return BuildSpec(
        ids=summary.dtype,
        placement=placement,
        directed=edges.directed,
        weighted=edges.weighted,
        duplicates=policies.duplicates,
        self_loops=policies.self_loops,
        declared=bool(edges.vertices),
        low=low,
        high=high,
        rhizomes=rhizomes,
    )


async def _build_slot(ctx: Context, chunks: list[Any], spec: BuildSpec) -> tuple[Shard, Built]:
    shard, report = await build(ctx, chunks, spec)
    weights = None if shard.out.weights is None else shard.out.weights.dtype.name
    return shard, Built(shard.num_vertices, shard.num_edges, weights, shard.nbytes, report)


def _one_by_one(stages: Sequence[Mapping[str, float]]) -> dict[str, float]:
    """Return the seconds of each stage, from those of every slot: they add up to the whole.

    A stage ends when the last slot ends it. Who is early waits in the next one, which is not
    to count twice.

    >>> _one_by_one([{"draft": 1.0, "placing": 4.0}, {"draft": 3.0, "placing": 1.0}])
    {'draft': 3.0, 'placing': 2.0}
    """
    ends, seconds, before = [0.0] * len(stages), {}, 0.0
    for stage in stages[0]:
        ends = [end + each.get(stage, 0.0) for end, each in zip(ends, stages, strict=True)]
        seconds[stage] = max(ends) - before
        before = max(ends)
    return seconds


def _facts(
    edges: EdgeInput,
    summary: Summary,
    policies: Policies,
    spec: BuildSpec,
    home: Home,
    built: Sequence[Built],
    times: Mapping[str, float],
) -> Facts:
    first = built[0]
    seconds = _one_by_one([each.report["seconds"] for each in built])
    report = {
        "input": edges.form,
        "columns": edges.columns,
        "rows_read": summary.rows,
        "nulls_dropped": summary.nulls,
        "duplicates_merged": first.report["duplicates_merged"],
        "self_loops": summary.self_loops,
        "self_loops_dropped": first.report["self_loops_dropped"],
        "seconds": {**times, **seconds},
        "bytes": sum(each.bytes for each in built),
        "rhizomes": first.report.get("rhizomes", {}),
        "chosen": {**edges.chosen, **_choices(spec, home, first, summary.rounded)},
    }
    return Facts(
        num_vertices=first.num_vertices,
        num_edges=first.num_edges,
        directed=edges.directed,
        weighted=edges.weighted,
        multigraph=policies.duplicates == "keep",
        ids=summary.dtype,
        placement=first.report.get("placement") or name_of(spec.placement),
        bytes=tuple(each.bytes for each in built),
        report=report,
        rhizomes={} if spec.rhizomes is None else spec.rhizomes.options,
    )


def _choices(spec: BuildSpec, home: Home, first: Built, rounded: int) -> dict[str, str]:
    """Say what was decided automatically, and why."""
    where = "processes" if home.topology.height else "threads of one process"
    chosen = {
        "slots": f"{home.slots} on {counted(len(home.members), 'worker')}: {where}",
        "dictionary": "sorted ids, spread over the slots by their hash"
        if spec.low is None
        else f"bitmap: all ids lie between {spec.low} and {spec.high}",
    }
    if first.weights is not None:
        lossless = "holds every weight" if first.weights == "float32" else "float32 would round"
        chosen["weights"] = f"{first.weights}: {lossless}"
    if spec.rhizomes is not None:
        chosen["rhizomes"] = spec.rhizomes.in_words(first.report["rhizomes"])
    why = first.report.get("why") or getattr(spec.placement, "why", None)
    if why is not None:
        chosen["placement"] = why
    if rounded:
        chosen["weights"] += f"; {counted(rounded, 'integer')} above 2**53 rounded"
    return chosen
