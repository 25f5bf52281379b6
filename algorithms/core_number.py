"""Core numbers of an undirected graph, by estimates that only fall [1]_.

The k-core is the largest subgraph in which every vertex has at least k neighbours; the core
number of a vertex is the largest k whose k-core it is in. Peeling a graph finds them one k
after another, which takes as many rounds as there are layers to peel. Here all vertices begin
with an estimate that is too high and lower it until it fits::

    estimate(v) = degree(v)
    while there is v with fewer than estimate(v) neighbours u of estimate(u) >= estimate(v):
        estimate(v) = max k such that k neighbours u have estimate(u) >= k     (the h-index)

The greatest solution is the core numbers, so what is left does not depend on the sequence, and
every slot may go on with its own vertices until they fit one another before it tells the others
what has changed. Loops are ignored, and parallel edges are one.

Most vertices are looked at only a few times. A row is in the vertex order, so the neighbours
that support v come first and the look ends as soon as there are enough. Only those are awake
who have just lost support: who were at or below the old estimate of a neighbour and are above
its new one. Low degrees come first, since they settle first.

On a long path the ends fall one after another, and each time the next vertex is on another
slot. So after as many supersteps as slot 0 would take to peel what is left, it does so: the
vertices that may be in a 2-core, and the edges between them.

Encodings: `estimate` int32 over the local ids; that of a proxy is the last one it was told, and
never too low. `awake` is a bitmap of masters, `marks` of proxies to wake.

Cost: supersteps: as many as estimates fall one after another across slots: tens in networks
with hubs, and never more than :data:`PATIENCE` and one for each :data:`STEP` edges. Messages:
an estimate for each proxy of a vertex that has changed, and a bit for each proxy that may lose
support; if slot 0 finishes, all edges that are left.

References
----------
.. [1] A. Montresor, F. De Pellegrini, D. Miorandi: Distributed k-core decomposition, IEEE
   Transactions on Parallel and Distributed Systems 24, 2013, doi:10.1109/TPDS.2012.124
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from dgraph.algorithms._finish import finish_on_one
from dgraph.algorithms._peel import peel
from dgraph.build.joining import whole_rows
from dgraph.engine.changes import exchange_changes
from dgraph.engine.columns import Column, Plain
from dgraph.engine.context import Context
from dgraph.graph import Graph, check_undirected, run_algorithm
from dgraph.kernels import kernel
from dgraph.keywords import named
from dgraph.shard import Shard
from dgraph.shard.bits import positions, words

if TYPE_CHECKING:
    from dask.dataframe import DataFrame

__all__ = ["core_number", "core_number_slot"]

#: Slot 0 finishes after so many supersteps, and one more for each `STEP` edges: to peel takes
#: 30 ns an edge, and a superstep takes 150 us where it is cheapest.
PATIENCE = 50
STEP = 5000

Array = NDArray[Any]
Bits = NDArray[np.uint64]
_ONE = np.uint64(1)


class Cores(NamedTuple):
    """What a slot knows in the course of a run.

    Parameters
    ----------
    offsets, targets : arrays
        Edges of the masters; targets as an unsigned view, see `dgraph.shard.rows`.
    estimate : int32 array over the local ids
    awake : bitmap over the masters
    changed : bitmap over the masters
        Whose estimates have fallen since the others were told.
    marks : bitmap over the local ids
        Proxies to wake.
    heights : int32 array
        Room to count estimates; zero between vertices.
    """

    offsets: NDArray[np.int64]
    targets: NDArray[np.uint32]
    estimate: NDArray[np.int32]
    awake: Bits
    changed: Bits
    marks: Bits
    heights: NDArray[np.int32]


async def core_number_slot(ctx: Context, shard: Shard) -> dict[str, Column]:
    """Find the core numbers of the masters; see :func:`core_number`."""
    shard = await whole_rows(ctx, shard)
    c = _begin(shard)
    ctx.stage = "degrees"
    await ctx.broadcast(shard, c.estimate)
    ctx.stage = "estimates"
    room = np.empty(shard.masters + 64, np.int32)
    for _ in range(PATIENCE + shard.num_edges // STEP):
        work = lower(c)
        fallen = room[: positions(c.changed, room)]
        c.changed[:] = 0
        await exchange_changes(ctx, shard, fallen, (c.estimate,), c.marks, (fallen.size,), work)
        if ctx.vote[0] == 0:
            break
        c.awake[:] = c.marks[: c.awake.size]
        c.marks[:] = 0
    else:
        await _finish(ctx, shard, c)
    return {"core": Plain(c.estimate[: shard.masters].astype(np.int64))}


def _begin(shard: Shard) -> Cores:
    """Return the state in which estimates are degrees and all masters are awake."""
    offsets, masters = shard.out.offsets, shard.masters
    targets = shard.out.targets.view(np.uint32)
    estimate = np.zeros(shard.size, np.int32)
    count_neighbours(offsets, targets, estimate)
    awake = np.full(words(masters), ~np.uint64(0))
    if masters & 63:
        awake[-1] = (_ONE << np.uint64(masters & 63)) - _ONE
    return Cores(
        offsets,
        targets,
        estimate,
        awake,
        changed=np.zeros_like(awake),
        marks=np.zeros(words(shard.size), np.uint64),
        heights=np.zeros(int(estimate.max(initial=0)) + 1, np.int32),
    )


@kernel
def count_neighbours(offsets, targets, degree):  # type: ignore[no-untyped-def]
    """Count the distinct neighbours of every master other than itself."""
    for v in range(offsets.size - 1):
        for j in range(offsets[v], offsets[v + 1]):
            degree[v] += is_neighbour(targets, j, offsets[v], v)


@kernel
def is_neighbour(targets, j, begin, v):  # type: ignore[no-untyped-def]
    """Return whether an edge of v is no loop, and the first of parallel ones."""
    return targets[j] != v and (j == begin or targets[j - 1] != targets[j])


@kernel
def lower(c):  # type: ignore[no-untyped-def]
    """Lower the estimates of the masters until they fit; return how many edges that took."""
    looked_at = 0
    waking = True
    while waking:
        waking = False
        for word in range(c.awake.size - 1, -1, -1):
            bit = 63
            while c.awake[word]:
                while not (c.awake[word] >> np.uint64(bit)) & _ONE:
                    bit = bit - 1 if bit else 63
                v = (word << 6) + bit
                c.awake[word] ^= _ONE << np.uint64(bit)
                looked_at += c.offsets[v + 1] - c.offsets[v]
                if not is_supported(c, v):
                    old = c.estimate[v]
                    c.estimate[v] = h_index(c, v)
                    c.changed[word] |= _ONE << np.uint64(bit)
                    if wake(c, v, old) > word:
                        waking = True
    return looked_at


@kernel
def is_supported(c, v):  # type: ignore[no-untyped-def]
    """Return whether v has enough neighbours whose estimates are not below its own."""
    own = c.estimate[v]
    targets, estimate = c.targets, c.estimate  # looked up here, not in the loop
    missing = own
    for j in range(c.offsets[v], c.offsets[v + 1]):
        if missing == 0:
            break
        if estimate[targets[j]] >= own and is_neighbour(targets, j, c.offsets[v], v):
            missing -= 1
    return missing == 0


@kernel
def h_index(c, v):  # type: ignore[no-untyped-def]
    """Return the largest k below the estimate of v such that k neighbours have at least k."""
    targets, estimate, heights = c.targets, c.estimate, c.heights
    own = estimate[v]
    for j in range(c.offsets[v], c.offsets[v + 1]):
        if is_neighbour(targets, j, c.offsets[v], v):
            heights[min(estimate[targets[j]], own)] += 1
    k, reach = own, heights[own]
    while reach < k:
        k -= 1
        reach += heights[k]
    heights[: own + 1] = 0
    return k


@kernel
def wake(c, v, old):  # type: ignore[no-untyped-def]
    """Wake the neighbours that v no longer supports; return the last word with such a master.

    What other slots have lowered meanwhile is not known here, so of proxies all above are
    woken, whether v supported them or not.
    """
    new, masters = c.estimate[v], c.offsets.size - 1
    last = np.int64(-1)
    for j in range(c.offsets[v], c.offsets[v + 1]):
        u = np.int64(c.targets[j])
        if c.estimate[u] > new:
            if u >= masters:
                c.marks[u >> 6] |= _ONE << np.uint64(u & 63)
            elif c.estimate[u] <= old and u != v:
                c.awake[u >> 6] |= _ONE << np.uint64(u & 63)
                last = max(last, u >> 6)
    return last


async def _finish(ctx: Context, shard: Shard, c: Cores) -> None:
    """Let slot 0 peel what is left: the k-cores for k > 1 have only estimates above 1."""
    ctx.stage = "finish"
    own = np.flatnonzero(c.estimate[: shard.masters] > 1)
    degrees, heads = list_neighbours(c, own)
    cores = await finish_on_one(ctx, (shard.rank[own], degrees, shard.rank[heads]), peel)
    c.estimate[own] = np.maximum(cores, 1)  # they have neighbours


@kernel
def list_neighbours(c, own):  # type: ignore[no-untyped-def]
    """Return how many neighbours with estimates above 1 masters have, and the neighbours."""
    degrees = np.zeros(own.size, np.int32)
    heads = np.empty(c.targets.size, np.int32)
    total = 0
    for i in range(own.size):
        v, before = own[i], total
        for j in range(c.offsets[v], c.offsets[v + 1]):
            if c.estimate[c.targets[j]] > 1 and is_neighbour(c.targets, j, c.offsets[v], v):
                heads[total] = c.targets[j]
                total += 1
        degrees[i] = total - before
    return degrees, heads[:total]


@named
def core_number(g: Graph) -> DataFrame:
    """Find the core number of every vertex of an undirected graph.

    Parameters
    ----------
    g : Graph
        Loops are ignored, and kept parallel edges are one.

    Returns
    -------
    dask DataFrame
        A row per vertex: vertex; core, int64: the largest k such that the vertex lies in a
        subgraph in which every vertex has at least k neighbours.

    Raises
    ------
    OptionError
        If the graph is directed.

    Notes
    -----
    Deterministic. Tens of supersteps in networks with hubs. Where they would be very many, as
    on long paths, one slot peels what is left: it needs memory for these edges.

    References
    ----------
    Montresor, De Pellegrini, Miorandi: Distributed k-core decomposition, IEEE TPDS 24, 2013,
    doi:10.1109/TPDS.2012.124

    Examples
    --------
    >>> import dgraph as dg, numpy as np
    >>> g = dg.from_edges(np.array([[1, 2], [2, 3], [3, 1], [3, 4]]))
    >>> core_number(g).compute().sort_values("vertex")["core"].tolist()
    [2, 2, 2, 1]
    """
    check_undirected(g, "core numbers are those of")
    found: DataFrame = run_algorithm(
        g, "core_number", core_number_slot, columns={"core": "int64"}
    )
    return found
