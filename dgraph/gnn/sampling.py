"""Neighbour sampling: the subgraph from which a graph neural network computes its seeds."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from dgraph.arguments import choice, integer
from dgraph.clients import call
from dgraph.engine.context import Context
from dgraph.engine.translate import ids_of_locals
from dgraph.errors import OptionError, OptionTypeError
from dgraph.gnn.walking import Seeds, walk
from dgraph.graph import Graph, check_graph, home_of
from dgraph.home import Home
from dgraph.named_ids import as_ids, as_list
from dgraph.results import VERTEX, frame_of, meta_of
from dgraph.shard import Shard

if TYPE_CHECKING:
    from dask.dataframe import DataFrame
    from distributed import Future

__all__ = ["BATCH_SIZE", "FANOUTS", "as_fanouts", "as_seeds", "sample_neighbors"]

#: As in the experiments of Legion.
FANOUTS = (25, 10)
BATCH_SIZE = 8000

COLUMNS = {"batch": "int64", "hop": "int64", "source": VERTEX, "target": VERTEX}


def sample_neighbors(
    g: Graph,
    seeds: Any,
    fanouts: Sequence[int] = FANOUTS,
    *,
    batch_size: int | None = BATCH_SIZE,
    seed: int = 0,
    direction: str = "in",
) -> DataFrame:
    """Sample the neighbourhoods of batches of vertices, hop by hop.

    Parameters
    ----------
    g : Graph
    seeds : list, array or Series of vertices; or a list of such
        Cut into batches of `batch_size`; or the batches themselves.
    fanouts : sequence of int
        How many neighbours are drawn of each vertex in each hop, without repetition; -1: all
        of them. Typical: (25, 10).
    batch_size : int, optional
        None: all seeds are one batch.
    seed : int
    direction : {"in", "out"}
        "in": draw in-neighbours, from which a vertex aggregates; "out": draw out-neighbours. In
        an undirected graph they are the same.

    Returns
    -------
    dask DataFrame
        The sampled edges: batch; hop, from 1 on; source, the neighbour; target, the vertex for
        which it was drawn ("out": the other way round). A partition for each slot. An
        awaitable if the client is asynchronous.

    Raises
    ------
    VertexNotFoundError
        If a seed is not a vertex; names it.
    OptionError
        If an option has a value that is not allowed.

    Notes
    -----
    In a batch a vertex is expanded once, in the hop after it was first reached. What is drawn
    depends on `seed`, on the number of the batch and on the vertex only: the same for any
    slots, placement, routing, and other batches. All entries of an expanded row are looked at.
    Kept parallel edges are drawn one by one; a loop may be drawn. Supersteps: one a hop and
    some for the seeds and the result.

    Examples
    --------
    >>> import dgraph as dg
    >>> g = dg.from_edges(np.array([[1, 2], [2, 3], [3, 4], [4, 5]]))
    >>> found = sample_neighbors(g, [1, 5], [-1, -1], batch_size=1).compute()
    >>> found.sort_values(["batch", "hop", "source"], ignore_index=True)
       batch  hop  source  target
    0      0    1       2       1
    1      0    2       1       2
    2      0    2       3       2
    3      1    1       4       5
    4      1    2       3       4
    5      1    2       5       4
    """
    check_graph(g)
    outward = as_outward(direction)
    where = replace(as_seeds(g, seeds, fanouts, batch_size, seed), outward=outward)
    home, meta = home_of(g), meta_of(g.id_dtype, COLUMNS)

    async def run() -> DataFrame:
        return frame_of(home.client, await _sample(home, where), meta, "sample_neighbors")

    home.check()
    found: DataFrame = call(home.client, run)
    return found


def sample_batches(g: Graph, seeds: Seeds) -> pd.DataFrame:
    """Return on the client what is drawn from seeds whose batches are numbered already."""
    home = home_of(g)

    async def run() -> pd.DataFrame:
        # without a task graph, which takes as long as to sample a small batch
        parts: list[pd.DataFrame] = await home.client.gather(await _sample(home, seeds))
        return pd.concat(parts)

    home.check()
    found: pd.DataFrame = call(home.client, run)
    return found


async def _sample(home: Home, seeds: Seeds) -> list[Future[pd.DataFrame]]:
    record, partitions, _ = await home.run("sample_neighbors", _sample_slot, seeds)
    home.note(record)
    return partitions


def as_seeds(
    g: Graph, seeds: Any, fanouts: Sequence[int], batch_size: int | None, seed: int
) -> Seeds:
    """Return checked seeds, cut into batches.

    Raises
    ------
    OptionError, VertexNotFoundError
    """
    listed = as_list(seeds)
    if listed and all(_is_batch(some) for some in listed):
        sizes = [len(some) for some in listed]
        listed = [vertex for some in listed for vertex in some]
        batches = np.repeat(np.arange(len(sizes)), sizes)
    else:
        most = len(listed) if batch_size is None else integer("batch_size", batch_size, 1)
        batches = np.arange(len(listed)) // max(most, 1)
    wanted = as_fanouts(fanouts)
    return Seeds(as_ids(listed, g.id_dtype), batches, wanted, integer("seed", seed, 0))


def as_outward(direction: Any) -> bool:
    """Tell whether a checked direction is along out-edges."""
    return choice("direction", direction, ("in", "out")) == "out"


def as_fanouts(fanouts: Any) -> tuple[int, ...]:
    """Return checked fan-outs.

    Raises
    ------
    OptionError, OptionTypeError

    Examples
    --------
    >>> as_fanouts([25, -1]), as_fanouts(3)
    ((25, -1), (3,))
    >>> as_fanouts([5, 0])
    Traceback (most recent call last):
        ...
    dgraph.errors.OptionError: fanouts must be integers from 1 on, or -1 for all neighbours, \
one for each hop, such as [25, 10], not [5, 0]
    """
    said = (
        "fanouts must be integers from 1 on, or -1 for all neighbours, one for each hop, such "
        f"as [25, 10], not {fanouts!r}"
    )
    try:
        wanted = tuple(integer("fanouts", fanout) for fanout in as_list(fanouts))
    except OptionTypeError:
        raise OptionTypeError(said) from None
    if not wanted or min(wanted) < -1 or 0 in wanted:
        raise OptionError(said)
    return wanted


def _is_batch(some: Any) -> bool:
    return not isinstance(some, str | bytes) and hasattr(some, "__len__")


async def _sample_slot(ctx: Context, shard: Shard, seeds: Seeds) -> pd.DataFrame:
    """List the edges that were drawn here, in users' ids."""
    shard, steps, _ = await walk(ctx, shard, seeds)
    ctx.stage = "output"
    ctx.cores.release()
    counts = [np.diff(step.ends, prepend=0) for step in steps]
    pairs = list(zip(steps, counts, strict=True))
    batch = np.concatenate([np.repeat(step.batches, count) for step, count in pairs])
    near = np.concatenate([np.repeat(step.masters, count) for step, count in pairs])
    hop = np.repeat(np.arange(1, len(steps) + 1), [step.drawn.size for step in steps])
    drawn = np.concatenate([step.drawn for step in steps])
    ends = (
        (await ids_of_locals(ctx, shard, drawn)).to_pandas(),
        shard.ids.take(near).to_pandas(),
    )
    source, target = ends[::-1] if seeds.outward else ends
    return pd.DataFrame(
        {"batch": batch, "hop": hop, "source": source, "target": target}, copy=False
    )
