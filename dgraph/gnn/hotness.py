"""Pre-sampling: how often each device reads each vertex's neighbours and features.

One epoch is sampled and counted where the vertices lie, nothing of it is sent but the counts::

    topology[g, v]       += 1  for each edge that device g traversed from v's row
    features[g, v]       += 1  for each batch of device g that has reached v
    transactions[g, v]   cache lines read for that: the bounds of a row and 4 bytes an edge

After Legion (USENIX ATC 2023), which reads the last from hardware counters.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from dgraph.clients import call
from dgraph.engine.columns import Plain, to_frame
from dgraph.engine.context import Context
from dgraph.errors import OptionError
from dgraph.gnn.sampling import FANOUTS, as_seeds
from dgraph.gnn.tablets import Batches
from dgraph.gnn.walking import Seeds, walk
from dgraph.graph import Graph, check_graph, home_of
from dgraph.shard import Shard

__all__ = ["BOUNDS", "EDGE", "LINE", "Hotness", "presample"]

Array = NDArray[Any]
Counts = NDArray[np.int64]

#: Bytes of a cache line, of the bounds of a row, and of an entry in it.
LINE, BOUNDS, EDGE = 64, 8, 4


@dataclass(frozen=True, eq=False)
class Hotness:
    """What one epoch has read, by device and vertex; heaviest vertex first.

    Parameters
    ----------
    vertices : Series
        The users' ids, in the vertex order: higher degree first, then smaller id.
    neighbours : int64 array beside them
        Entries of each one's row.
    topology, features, transactions : int64 arrays of shape (devices, vertices)

    Examples
    --------
    >>> import dgraph as dg
    >>> g = dg.from_edges(np.array([[1, 2], [2, 3], [3, 4]]))
    >>> hot = presample(g, [[[1], [4]], [[2]]], fanouts=[-1])
    >>> hot.vertices.tolist(), hot.features.tolist()
    ([2, 3, 1, 4], [[1, 1, 1, 1], [1, 1, 1, 0]])
    """

    vertices: pd.Series[Any]
    neighbours: Counts
    topology: Counts
    features: Counts
    transactions: Counts

    @property
    def devices(self) -> int:
        """How many devices there are."""
        return len(self.features)

    def of(self, devices: Sequence[int]) -> Hotness:
        """Return that of some devices only.

        Examples
        --------
        >>> row = np.array([[3, 1], [4, 0]])
        >>> hot = Hotness(pd.Series([7, 8]), np.array([2, 1]), row, row, row)
        >>> hot.of([1]).features.tolist()
        [[4, 0]]
        """
        some = list(devices)
        counts = self.topology[some], self.features[some], self.transactions[some]
        return Hotness(self.vertices, self.neighbours, *counts)


def presample(
    g: Graph, batches: Batches, fanouts: Sequence[int] = FANOUTS, *, seed: int = 0
) -> Hotness:
    """Sample an epoch and count what each device reads.

    Parameters
    ----------
    g : Graph
    batches : list per device of lists of batches
        As `Tablets.batches` returns them; a batch is an array or list of vertices.
    fanouts, seed
        As in `dgraph.gnn.sample_neighbors`.

    Returns
    -------
    Hotness
        On the client: three counts for each device and vertex. An awaitable of it if the client
        is asynchronous.

    Raises
    ------
    VertexNotFoundError
        If a vertex of a batch is not in the graph.
    OptionError, OptionTypeError
        If the batches are not sorted by device, or an option is not as said.

    Examples
    --------
    >>> import dgraph as dg
    >>> g = dg.from_edges(np.array([[1, 2], [1, 3], [1, 4]]))
    >>> presample(g, [[[2, 3]], [[4]]], fanouts=[2, 2]).topology.tolist()
    [[2, 1, 1, 0], [2, 0, 0, 1]]
    """
    check_graph(g)
    _check(batches)
    flat = [batch for some in batches for batch in some]
    device = np.repeat(np.arange(len(batches)), [len(some) for some in batches])
    seeds = as_seeds(g, flat, fanouts, None, seed)
    home = home_of(g)

    async def count() -> Hotness:
        run = home.run("presample", _count_slot, seeds, device, len(batches))
        record, parts, _ = await run
        home.note(record)
        return _join(await home.client.gather(parts), len(batches))

    home.check()
    found: Hotness = call(home.client, count)
    return found


def _check(batches: Any) -> None:
    """Refuse batches that are not sorted by device.

    Examples
    --------
    >>> _check([[1, 2], [3]])
    Traceback (most recent call last):
        ...
    dgraph.errors.OptionError: batches must be for each device a list of batches, each a list \
of vertices, such as [[[1, 2], [3]], [[4]]], not list; Tablets.batches makes them
    """
    if not (_is_list(batches) and len(batches)) or not all(
        _is_list(some) and all(map(_is_list, some)) for some in batches
    ):
        raise OptionError(
            "batches must be for each device a list of batches, each a list of vertices, such "
            f"as [[[1, 2], [3]], [[4]]], not {type(batches).__name__}; Tablets.batches makes "
            "them"
        )


def _is_list(some: Any) -> bool:
    return hasattr(some, "__len__") and not isinstance(some, str | bytes)


def _join(parts: Sequence[pd.DataFrame], devices: int) -> Hotness:
    """Put together what was counted on the slots."""
    whole = pd.concat(parts).sort_values("rank", ignore_index=True)
    counts = whole.drop(columns=["vertex", "rank", "neighbours"]).to_numpy(np.int64).T
    topology, features, transactions = np.split(np.ascontiguousarray(counts), 3)
    neighbours = whole["neighbours"].to_numpy()
    return Hotness(whole["vertex"], neighbours, topology, features, transactions)


async def _count_slot(
    ctx: Context, shard: Shard, seeds: Seeds, device: Counts, devices: int
) -> pd.DataFrame:
    """Count what is read of the masters of this slot."""
    whole, steps, reached = await walk(ctx, shard, seeds)
    topology, features, transactions = np.zeros((3, devices, whole.masters), np.int64)
    for step in steps:
        edges = np.diff(step.ends, prepend=0)
        where = device[step.batches], step.masters
        np.add.at(topology, where, edges)
        np.add.at(transactions, where, -(-(BOUNDS + EDGE * edges) // LINE))
    np.add.at(features, (device[reached.batches], reached.masters), 1)
    columns = {
        "rank": Plain(shard.rank[: shard.masters].astype(np.int64)),
        "neighbours": Plain(np.diff(whole.into.offsets)),
    }
    for name, counts in zip("tfn", (topology, features, transactions), strict=True):
        columns |= {f"{name}{at}": Plain(row) for at, row in enumerate(counts)}
    return await to_frame(ctx, shard, columns)
