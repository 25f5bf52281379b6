"""Batches for training: sampled, gathered and put together while the one before is trained.

::

    batch generator        the seeds of an epoch, shuffled
    sampler                their neighbourhoods, drawn where the graph lies
    feature extractor      the features of all vertices of a batch; beside the sampler for the
                           seeds, beside the constructor for the rest
    graph constructor      the users' ids become places in the batch

With ``ahead=0`` there is no pipeline: one thing is done after the other, with the same result.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from dgraph.arguments import flag, integer
from dgraph.errors import OptionError
from dgraph.gnn.batch import Batch
from dgraph.gnn.features import fetcher
from dgraph.gnn.sampling import (
    BATCH_SIZE,
    FANOUTS,
    as_fanouts,
    as_outward,
    as_seeds,
    sample_batches,
)
from dgraph.graph import Graph, check_graph, home_of
from dgraph.named_ids import as_ids, as_list

__all__ = ["NeighborLoader"]

Array = NDArray[Any]


class NeighborLoader:
    """Iterate over the batches of an epoch; each epoch shuffles anew.

    Parameters
    ----------
    g : Graph
    seeds : list, array or Series of vertices
        Such as the tablet of a device, `Tablets.of_device`. One named twice counts once.
    fanouts, seed
        As in `dgraph.gnn.sample_neighbors`.
    direction : {"in", "out"}
        Whose features a vertex gathers: those at the sources of edges that lead to it, or at
        the targets of edges that leave it. Either way a batch has the neighbour in `row` and
        the vertex for which it was drawn in `col`, so that models need no other setting; with
        "out" edges of a batch run against those of the graph.
    batch_size : int
        Seeds of a batch; the last has fewer.
    features : DataFrame or function, optional
        A row for each vertex, indexed by it; or what returns the features of an array of
        vertices, row by row, called from other threads, such as a `dgraph.gnn.FeatureCache`.
        Numbers, none of them NaN. Typical: float32, 100 to 256 of a vertex.
    shuffle : bool
    ahead : int
        How many batches are prepared while one is used. 0: none.

    Raises
    ------
    VertexNotFoundError
        If a seed cannot be a vertex; when its batch is prepared, if it is none.
    OptionError, OptionTypeError
        If an option or the features are not as said.
    GraphLostError
        If the graph is closed.

    Notes
    -----
    The batches depend on `seed` and the epoch only: they are the same for any `ahead`, slots
    and placement. An epoch that is left in the middle ends its threads; there is nothing to
    close.

    Examples
    --------
    >>> import pandas as pd
    >>> import dgraph as dg
    >>> g = dg.from_edges(np.array([[1, 2], [2, 3], [3, 4], [4, 5]]))
    >>> table = pd.DataFrame({"x": [0.1, 0.2, 0.3, 0.4, 0.5]}, index=[1, 2, 3, 4, 5])
    >>> loader = NeighborLoader(g, [1, 5], [2], features=table, batch_size=1, shuffle=False)
    >>> [(batch.vertices.tolist(), batch.features.ravel().tolist()) for batch in loader]
    [([1, 2], [0.1, 0.2]), ([5, 4], [0.5, 0.4])]
    """

    def __init__(
        self,
        g: Graph,
        seeds: Any,
        fanouts: Sequence[int] = FANOUTS,
        *,
        features: Any = None,
        batch_size: int = BATCH_SIZE,
        shuffle: bool = True,
        seed: int = 0,
        ahead: int = 1,
        direction: str = "in",
    ) -> None:
        check_graph(g)
        if home_of(g).client.asynchronous:
            raise OptionError(
                "g must be a graph of a client that waits, not of an asynchronous one; await "
                "sample_neighbors instead"
            )
        self.epoch = 0
        self._g = g
        named = as_ids(as_list(seeds), g.id_dtype).to_pandas()
        self._seeds = np.asarray(pd.Index(named).unique())
        self._fanouts = as_fanouts(fanouts)
        self._outward = as_outward(direction)
        self._fetch = None if features is None else fetcher(features)
        self._size = integer("batch_size", batch_size, 1)
        self._shuffle = flag("shuffle", shuffle)
        self._seed = integer("seed", seed, 0)
        self._ahead = integer("ahead", ahead, 0)
        home_of(g).check()

    def __len__(self) -> int:
        """Return the number of batches of an epoch."""
        return -(-len(self._seeds) // self._size)

    def __iter__(self) -> Iterator[Batch]:
        """Prepare batches, in their sequence, some of them ahead."""
        tasks = list(self._generate(self.epoch))
        self.epoch += 1
        if not self._ahead:
            yield from (self._prepare(task, None) for task in tasks)
            return
        # a batch occupies one thread, and its extractor another one
        with (
            ThreadPoolExecutor(self._ahead, "dgraph-batch") as pool,
            ThreadPoolExecutor(self._ahead, "dgraph-features") as extractor,
        ):
            coming: deque[Future[Batch]] = deque()
            try:
                for task in tasks:
                    coming.append(pool.submit(self._prepare, task, extractor))
                    if len(coming) > self._ahead:
                        yield coming.popleft().result()
                while coming:
                    yield coming.popleft().result()
            finally:
                for future in coming:
                    future.cancel()

    def data(self) -> Iterator[Any]:
        """Iterate over an epoch as data of torch_geometric; see `dgraph.gnn.Batch.to_data`."""
        return (batch.to_data() for batch in self)

    def _generate(self, epoch: int) -> Iterator[tuple[int, Array]]:
        """Yield the numbers and the seeds of the batches of an epoch."""
        seeds = self._seeds
        if self._shuffle:
            draw = np.random.default_rng((self._seed, epoch))
            seeds = seeds[draw.permutation(len(seeds))]
        first = epoch * len(self)
        for at in range(len(self)):
            yield first + at, seeds[at * self._size : (at + 1) * self._size]

    def _prepare(self, task: tuple[int, Array], extractor: ThreadPoolExecutor | None) -> Batch:
        """Sample, extract and construct a batch."""
        number, seeds = task
        of_seeds = self._extract(seeds, extractor)
        one = as_seeds(self._g, seeds, self._fanouts, None, self._seed)
        numbered = replace(one, batches=one.batches + number, outward=self._outward)
        edges = sample_batches(self._g, numbered)
        if self._outward:  # to vertices from those that were drawn for them, as inwards
            edges = edges.rename(columns={"source": "target", "target": "source"})
        edges = edges.sort_values(["hop", "target", "source"])  # whatever the slots
        hops = len(self._fanouts)
        vertices, sizes = _reached(seeds, edges, hops)
        of_rest = self._extract(vertices[len(seeds) :], extractor)
        row, col = _construct(vertices, edges)
        coming = [wait for wait in (of_seeds, of_rest) if wait is not None]
        features = np.concatenate([wait() for wait in coming]) if coming else None
        drawn = tuple(np.bincount(edges["hop"], minlength=hops + 1)[1:].tolist())
        return Batch(number, vertices, row, col, sizes, len(seeds), features, drawn)

    def _extract(
        self, vertices: Array, extractor: ThreadPoolExecutor | None
    ) -> Callable[[], Array] | None:
        """Begin to fetch features; return what waits for them."""
        if self._fetch is None or not len(vertices):
            return None
        if extractor is None:
            found = self._fetch(vertices)
            return lambda: found
        return extractor.submit(self._fetch, vertices).result


def _reached(seeds: Array, edges: pd.DataFrame, hops: int) -> tuple[Array, tuple[int, ...]]:
    """Return the vertices of a batch, seeds first, and how many each hop has added.

    Examples
    --------
    >>> edges = pd.DataFrame({"hop": [1, 1, 2], "source": [9, 4, 2], "target": [7, 7, 4]})
    >>> _reached(np.array([7]), edges, hops=3)
    (array([7, 4, 9, 2]), (1, 2, 1, 0))
    """
    known, sizes = pd.Index(seeds), [len(seeds)]
    for hop in range(1, hops + 1):
        more = pd.Index(edges["source"][edges["hop"] == hop]).unique()
        more = more[known.get_indexer(more) < 0].sort_values()
        known = known.append(more)
        sizes.append(len(more))
    return np.asarray(known), tuple(sizes)


def _construct(
    vertices: Array, edges: pd.DataFrame
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the edges between places in a batch."""
    index = pd.Index(vertices)
    row, col = (index.get_indexer(pd.Index(edges[end])) for end in ("source", "target"))
    return row.astype(np.int64), col.astype(np.int64)
