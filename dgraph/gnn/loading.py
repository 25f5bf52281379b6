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
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from dgraph.arguments import flag, integer
from dgraph.errors import OptionError, OptionTypeError, VertexNotFoundError
from dgraph.gnn.sampling import BATCH_SIZE, FANOUTS, as_seeds, sample_batches
from dgraph.gnn.walking import Seeds
from dgraph.graph import Graph, check_graph

__all__ = ["Batch", "NeighborLoader"]

Array = NDArray[Any]
Fetch = Callable[[Array], Array]


@dataclass(frozen=True, eq=False)
class Batch:
    """The sampled subgraph of some seeds.

    Parameters
    ----------
    number : int
    vertices : array
        The users' ids: the seeds first, then what was reached, hop by hop, ascending.
    row, col : int64 arrays
        An entry per sampled edge: places in `vertices` of the neighbour, and of the vertex for
        which it was drawn.
    hop_sizes : tuple of int
        How many of `vertices` are seeds, and were reached first in each hop.
    seeds : int
        How many seeds there are.
    features : array or None
        A row for each of `vertices`.
    """

    number: int
    vertices: Array
    row: NDArray[np.int64]
    col: NDArray[np.int64]
    hop_sizes: tuple[int, ...]
    seeds: int
    features: Array | None = None

    def to_torch(self) -> dict[str, Any]:
        """Return tensors: x, which shares the memory of `features`, edge_index, and batch_size.

        Needs torch, which dgraph does not install.
        """
        try:
            import torch
        except ImportError:
            raise OptionError(
                "to_torch needs torch, which is not installed: pip install torch, or use the "
                "arrays of the batch"
            ) from None
        found = {
            "edge_index": torch.from_numpy(np.stack([self.row, self.col])),
            "batch_size": self.seeds,
        }
        if self.features is not None:
            found["x"] = torch.from_numpy(self.features)
        return found


class NeighborLoader:
    """Iterate over the batches of an epoch; each epoch shuffles anew.

    Parameters
    ----------
    g : Graph
    seeds : list, array or Series of vertices
        Such as the tablet of a device, `Tablets.of_device`. One named twice counts once.
    fanouts, batch_size, seed
        As in `dgraph.gnn.sample_neighbors`.
    features : DataFrame or function, optional
        A row for each vertex, indexed by it; or what returns the features of an array of
        vertices, row by row, called from other threads.
    shuffle : bool
    ahead : int
        How many batches are prepared while one is used. 0: none.

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
    ) -> None:
        check_graph(g)
        if g._home.client.asynchronous:
            raise OptionError(
                "expected a graph of a client that waits, got an asynchronous one; await "
                "sample_neighbors instead"
            )
        self.epoch = 0
        self._g = g
        self._seeds = np.asarray(pd.Index(list(seeds)).unique())
        self._fanouts = tuple(fanouts)
        self._fetch = None if features is None else _fetcher(features)
        self._size = integer("batch_size", batch_size, 1)
        self._shuffle = flag("shuffle", shuffle)
        self._seed = integer("seed", seed, 0)
        self._ahead = integer("ahead", ahead, 0)
        as_seeds(g, self._seeds[:1], self._fanouts, 1, 0)  # wrong options are said at once

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
        numbered = Seeds(one.ids, one.batches + number, one.fanouts, one.seed)
        frame = sample_batches(self._g, numbered)
        edges = self._g._home.client.compute(frame, sync=True)
        edges = edges.sort_values(["hop", "target", "source"])  # whatever the slots
        vertices, sizes = _reached(seeds, edges)
        of_rest = self._extract(vertices[len(seeds) :], extractor)
        row, col = _construct(vertices, edges)
        features = None
        if of_seeds is not None and of_rest is not None:
            features = np.concatenate([of_seeds(), of_rest()])
        return Batch(number, vertices, row, col, sizes, len(seeds), features)

    def _extract(
        self, vertices: Array, extractor: ThreadPoolExecutor | None
    ) -> Callable[[], Array] | None:
        """Begin to fetch features; return what waits for them."""
        if self._fetch is None:
            return None
        if extractor is None:
            found = self._fetch(vertices)
            return lambda: found
        return extractor.submit(self._fetch, vertices).result


def _fetcher(features: Any) -> Fetch:
    """Return a function that fetches the rows of vertices."""
    if callable(features):
        return lambda vertices: np.asarray(features(vertices))
    if not isinstance(features, pd.DataFrame):
        raise OptionTypeError(
            "expected features as a pandas DataFrame indexed by vertex, or a function of an "
            f"array of vertices, got {type(features).__name__}"
        )
    values, index = features.to_numpy(), features.index

    def fetch(vertices: Array) -> Array:
        at = index.get_indexer(pd.Index(vertices))
        if (at < 0).any():
            missing = vertices[int(np.argmin(at))]
            raise VertexNotFoundError(
                f"expected features of every vertex, got none of {missing!r}; give the table a "
                "row for it"
            )
        found: Array = values[at]
        return found

    return fetch


def _reached(seeds: Array, edges: pd.DataFrame) -> tuple[Array, tuple[int, ...]]:
    """Return the vertices of a batch, seeds first, and how many each hop has added.

    Examples
    --------
    >>> edges = pd.DataFrame({"hop": [1, 1, 2], "source": [9, 4, 2], "target": [7, 7, 4]})
    >>> _reached(np.array([7]), edges)
    (array([7, 4, 9, 2]), (1, 2, 1))
    """
    known, sizes = pd.Index(seeds), [len(seeds)]
    for hop in range(1, int(edges["hop"].max() if len(edges) else 0) + 1):
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
