"""Features of vertices: out of a table or a function, and a cache in front of them.

A cache holds what `dgraph.gnn.lay_out` has planned for a device: the features of hot vertices,
in its own memory and in that of its clique. The rest is asked of the feature store, each time.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from dgraph.errors import OptionError, OptionTypeError, VertexNotFoundError
from dgraph.named_ids import as_list

__all__ = ["FeatureCache", "Fetch", "fetcher"]

Array = NDArray[Any]
Fetch = Callable[[Array], Array]


class FeatureCache:
    """Features of hot vertices, held, in front of a feature store: what a loader fetches from.

    Parameters
    ----------
    store : DataFrame or function
        The feature store, as `features` of `dgraph.gnn.NeighborLoader`.
    vertices : list, array or Series of vertices
        Whose features are held: they are fetched once, here. None: a cache of 0 bytes.

    Attributes
    ----------
    reads, hits : int
        How many features were asked for, and how many of them were held.

    Notes
    -----
    May be called from several threads; the store then is, too. What is returned is a copy.

    Examples
    --------
    >>> table = pd.DataFrame({"x": [0.1, 0.2, 0.3]}, index=[7, 8, 9])
    >>> cache = FeatureCache(table, [9, 7])
    >>> cache(np.array([7, 8])).tolist(), cache.hits, cache.reads, cache.hit_rate
    ([[0.1], [0.2]], 1, 2, 0.5)
    """

    def __init__(self, store: Any, vertices: Any = ()) -> None:
        self._fetch = fetcher(store)
        self._index = pd.Index(as_list(vertices)).unique()
        held = np.asarray(self._index)
        self._rows: Array | None = self._fetch(held) if held.size else None
        self._lock = threading.Lock()
        self.reads = self.hits = 0

    @property
    def nbytes(self) -> int:
        """Bytes of the features that are held."""
        return 0 if self._rows is None else self._rows.nbytes

    @property
    def hit_rate(self) -> float:
        """Of all features asked for the part that was held; 0 before the first."""
        return self.hits / max(self.reads, 1)

    def __call__(self, vertices: Array) -> Array:
        """Return a row of features for each of some vertices."""
        at = self._index.get_indexer(pd.Index(vertices))
        held = at >= 0
        hits = int(held.sum())
        with self._lock:
            self.reads, self.hits = self.reads + len(at), self.hits + hits
        if self._rows is None or not hits:
            return self._fetch(vertices)
        if hits == len(at):
            found: Array = self._rows[at]
            return found
        fetched = self._fetch(vertices[~held])
        found = np.empty((len(at), *fetched.shape[1:]), np.result_type(self._rows, fetched))
        found[held], found[~held] = self._rows[at[held]], fetched
        return found


def fetcher(features: Any) -> Fetch:
    """Return a function that fetches the rows of vertices, and refuses what is no number.

    Raises
    ------
    OptionTypeError
        If it is neither a DataFrame of numbers nor a function.
    OptionError
        If a vertex has two rows, or a row is NaN.

    Examples
    --------
    >>> fetcher(pd.DataFrame({"x": [1, 2]}, index=["a", "b"]))(np.array(["b"], object))
    array([[2]])
    >>> fetcher(lambda vertices: vertices[:1])(np.array([4, 5]))
    Traceback (most recent call last):
        ...
    dgraph.errors.OptionError: expected a row of features for each of 2 vertices, got an array \
of shape (1,); return them in the sequence of the vertices
    """
    if callable(features):
        return lambda vertices: _checked(np.asarray(features(vertices)), vertices)
    if not isinstance(features, pd.DataFrame):
        later = hasattr(features, "dask")
        came = f"a Dask {type(features).__name__}; compute it first"
        raise OptionTypeError(
            "features must be a pandas DataFrame indexed by vertex, or a function of an array "
            f"of vertices, not {came if later else type(features).__name__}"
        )
    index = features.index
    if not index.is_unique:
        twice = index.tolist()[int(np.argmax(index.duplicated()))]
        raise OptionError(
            f"features must have one row for a vertex, not two of {twice!r}; drop one"
        )
    values = _checked(features.to_numpy(), index)

    def fetch(vertices: Array) -> Array:
        at = index.get_indexer(pd.Index(vertices))
        if (at < 0).any():
            missing = np.asarray(vertices).tolist()[int(np.argmin(at))]
            raise VertexNotFoundError(
                f"expected features of every vertex, got none of {missing!r}; give the table a "
                "row for it"
            )
        found: Array = values[at]
        return found

    return fetch


def _checked(found: Array, vertices: Any) -> Array:
    """Return features if there is a row of numbers for each vertex."""
    if found.ndim == 0 or len(found) != len(vertices):
        raise OptionError(
            f"expected a row of features for each of {len(vertices)} vertices, got an array of "
            f"shape {found.shape}; return them in the sequence of the vertices"
        )
    if found.dtype.kind not in "biufc":
        raise OptionTypeError(
            f"expected features that are numbers, got {found.dtype}; convert all columns to "
            "one dtype such as float32"
        )
    if found.dtype.kind in "fc" and np.isnan(found).any():
        lacks = np.isnan(found).reshape(len(found), -1).any(axis=1)
        first = np.asarray(vertices).tolist()[int(np.argmax(lacks))]
        raise OptionError(
            f"expected features that are numbers, got NaN for vertex {first!r}; fill what is "
            "missing first"
        )
    return found
