"""A result on its way back to the slots of its graph, to be examined there.

::

    client   partitions of the result ──submit──▶ one small task for each slot, on its worker
    worker       task: the slot's shard and some partitions ─▶ Claim (stays)
    slots        program(ctx, [claim], ...) in supersteps ─▶ small values for the client

A result is whatever a user says it is: rows in any sequence, in as many partitions as he likes,
not necessarily made by this package. What it claims is laid over the masters first
(:func:`lay_out`); nothing is believed.
"""

from __future__ import annotations

import asyncio
import uuid
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
import pandas as pd
from dask.delayed import delayed
from numpy.typing import NDArray

from dgraph.edges.columns import read_ids
from dgraph.engine.context import Context
from dgraph.engine.launch import launch, make_spec
from dgraph.engine.plugin import find_plugin
from dgraph.engine.spec import SlotProgram
from dgraph.errors import GraphLostError, OptionError, VertexNotFoundError
from dgraph.graph import Graph, home_of
from dgraph.graph500.places import NO_VERTEX, by_owner, placed_of
from dgraph.home import Home
from dgraph.shard import Shard
from dgraph.vertices.ids import Ids, IntIds, concat_ids

__all__ = ["NOTHING", "Claim", "Claimed", "check_columns", "examine", "lay_out"]

Array = NDArray[Any]

#: No parent; or not reached, as a level.
NOTHING = -1

#: Seconds between two looks at which workers are still there.
LOOK = 1.0


@dataclass(frozen=True, slots=True)
class Claim:
    """A slot's shard, and partitions of a result: any of them."""

    shard: Shard
    frames: Sequence[pd.DataFrame]


def check_columns(result: Any, wanted: Sequence[str]) -> None:
    """Raise unless `result` is a table with the wanted columns."""
    columns = list(getattr(result, "columns", ()))
    missing = [name for name in wanted if name not in columns]
    if missing:
        raise OptionError(
            f"expected a Dask or pandas DataFrame with the columns {', '.join(wanted)}, got "
            f"{type(result).__name__} without {', '.join(missing)}"
        )


async def examine(
    g: Graph, result: Any, name: str, program: SlotProgram, *arguments: Any
) -> tuple[Any, ...]:
    """Run a slot program on the shards of a graph and a result; return its values by slot.

    Parameters
    ----------
    g : Graph
    result : Dask or pandas DataFrame
    name : str
        What errors and events call the run.
    program : coroutine function
        Called on every slot as ``program(ctx, [claim], *arguments)``.
    """
    home: Home = home_of(g)
    home.check()
    claim = f"claim-{uuid.uuid4().hex}"
    parts = await _partitions(home, result)
    held = _hand_out(home, claim, parts)  # the workers keep the claims as long as we do
    await _until_done(home, held)
    spec = make_spec(
        name,
        program,
        *arguments,
        graph=claim,
        members=home.members,
        topology=home.topology,
        holds="chunks",
    )
    return (await launch(home.client, spec)).values


async def _partitions(home: Home, result: Any) -> Sequence[Any]:
    """Return the partitions of a result; a pandas DataFrame is one, on a worker."""
    if hasattr(result, "to_delayed"):
        parts: Sequence[Any] = result.to_delayed()
        return parts
    return [await home.client.scatter(result, workers=home.addresses[:1], hash=False)]


def _hand_out(home: Home, claim: str, parts: Sequence[Any]) -> list[Any]:
    """Start a task for each slot that takes its turn of the partitions of a result."""
    return [
        home.client.compute(
            delayed(_keep_claim, pure=False)(
                claim, home.name, slot, *parts[slot :: home.slots]
            ),
            workers=[member.address],
            allow_other_workers=False,
        )
        for member in home.members
        for slot in member.slots
    ]


def _keep_claim(claim: str, graph: str, slot: int, *frames: pd.DataFrame) -> None:
    """Keep a claim on this worker for one run; the function of a task."""
    plugin = find_plugin()
    shard = plugin.shards.get((graph, slot))
    if shard is None:
        raise GraphLostError(
            f"worker {plugin.worker.address} no longer holds slot {slot} of the graph: "
            "call from_edges again"
        )
    plugin.keep_chunk(claim, slot, Claim(shard, frames))


async def _until_done(home: Home, futures: Sequence[Any]) -> None:
    """Wait for tasks, but no longer than the workers of the graph are there."""
    done = asyncio.ensure_future(home.client.gather(futures, asynchronous=True))
    try:
        while not (await asyncio.wait({done}, timeout=LOOK))[0]:
            home.check()
        done.result()
    finally:
        done.cancel()


@dataclass(frozen=True, slots=True)
class Claimed:
    """What a result says of the masters of a slot.

    Parameters
    ----------
    parent : array
        Placed numbers; NOTHING, or NO_VERTEX for one that is not in the graph.
    distance : float64 array or None
        NOTHING: not reached. None: the result has no such column.
    """

    parent: Array
    distance: NDArray[np.float64] | None


async def lay_out(ctx: Context, claim: Claim, distances: bool) -> Claimed:
    """Bring each row of a result to the owner of its vertex; a vertex without row is unreached.

    Parameters
    ----------
    distances : bool
        Whether the result has a column of distances.

    Raises
    ------
    VertexNotFoundError
        If a row is about something that is not a vertex.
    OptionError
        If two rows are about the same one.
    """
    shard = claim.shard
    vertex, parent, distance = _read(claim.frames, shard.ids, distances)
    placed = await placed_of(ctx, shard, parent.ids)
    if isinstance(parent.ids, IntIds):  # Graph500's own way to say that there is none
        placed[(placed == NO_VERTEX) & (parent.ids.values == -1)] = NOTHING
    parents = np.full(len(vertex), NOTHING, placed.dtype)
    parents[np.flatnonzero(parent.present)] = placed
    # The partitions of our own results are in place as they are, which saves the most.
    if not (await ctx.allreduce([vertex == shard.ids], "min"))[0]:
        parents, distance = await _to_owners(ctx, shard, vertex, parents, distance)
    return Claimed(parents, distance if distances else None)


@dataclass(frozen=True, slots=True)
class _Parents:
    ids: Ids
    present: NDArray[np.bool_]


def _read(
    frames: Sequence[pd.DataFrame], known: Ids, distances: bool
) -> tuple[Ids, _Parents, NDArray[np.float64]]:
    """Return the columns of all partitions, one after the other."""
    nothing = known.slice(0, 0)
    vertices, parents = [], []
    for frame in frames:
        vertex, present = _ids(frame["vertex"], nothing)
        if not present.all():
            raise OptionError("expected a vertex in every row of the result, got missing ones")
        vertices.append(vertex)
        parents.append(_ids(frame["predecessor"], nothing))
    length = sum(map(len, vertices))
    distance = np.full(length, float(NOTHING))
    if distances and frames:
        distance = np.concatenate([_distances(frame["distance"]) for frame in frames])
    found = _Parents(
        concat_ids([ids for ids, _ in parents] or [nothing]),
        np.concatenate([np.zeros(0, np.bool_), *(present for _, present in parents)]),
    )
    return concat_ids(vertices or [nothing]), found, distance


def _ids(column: Any, nothing: Ids) -> tuple[Ids, NDArray[np.bool_]]:
    """Return the ids of a column, and in which rows there is one."""
    found = read_ids(column, str(column.name))
    present = np.ones(found.rows, np.bool_) if found.missing is None else ~found.missing
    if found.ids is None:
        return nothing, present
    kept = found if found.missing is None else found.keep(present)
    assert kept.ids is not None
    return kept.ids if kept.codes is None else kept.ids.take(kept.codes), present


def _distances(column: Any) -> NDArray[np.float64]:
    """Return distances, NOTHING where one is missing, infinite or negative.

    Examples
    --------
    >>> _distances(pd.Series([0, None, 7], dtype="Int64"))
    array([ 0., -1.,  7.])
    """
    values = pd.to_numeric(column).to_numpy(np.float64, na_value=np.nan)
    return np.where(np.isfinite(values) & (values >= 0), values, float(NOTHING))


async def _to_owners(
    ctx: Context, shard: Shard, vertex: Ids, parents: Array, distance: NDArray[np.float64]
) -> tuple[Array, NDArray[np.float64]]:
    """Send rows to the owners of their vertices; return columns over this slot's masters."""
    placed = await placed_of(ctx, shard, vertex)
    unknown = np.flatnonzero(placed == NO_VERTEX)
    if unknown.size:
        raise VertexNotFoundError(
            f"expected rows about vertices of the graph, got one about {vertex[unknown[0]]!r}"
        )
    sequence, ends = by_owner(shard, placed)
    bases = shard.bases[:-1].tolist()
    rows = [sequence[begin:end] for begin, end in pairwise(ends)]
    came = await ctx.alltoall(
        [
            (placed[some] - base, parents[some], distance[some])
            for some, base in zip(rows, bases, strict=True)
        ]
    )
    parts = [some for some in came if some is not None]
    masters, parents_here, distance_here = map(np.concatenate, zip(*parts, strict=True))
    _check_once(shard, masters)
    parent = np.full(shard.masters, NOTHING, parents.dtype)
    parent[masters] = parents_here
    whole = np.full(shard.masters, float(NOTHING))
    whole[masters] = distance_here
    return parent, whole


def _check_once(shard: Shard, masters: Array) -> None:
    counts = np.bincount(masters, minlength=shard.masters)
    twice = np.flatnonzero(counts > 1)
    if twice.size:
        raise OptionError(
            f"expected at most one row about each vertex, got {counts[twice[0]]} about "
            f"{shard.ids[twice[0]]!r}"
        )
