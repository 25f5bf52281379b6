"""How much of a cache is for topology, and how much for features.

Legion's unified cache: of a budget of B bytes alpha B hold rows of hot vertices, the rest
features. For every alpha the transactions with the feature store follow from the counts of the
pre-sampling::

    N_T = N_TSUM / sum of A_T * sum of A_T of the vertices whose rows are not cached
    N_F = ceil(4 D / 64)      * sum of A_F of the vertices whose features are not cached

and the alpha with the fewest is taken. Caches are filled in the order of heat, up to the first
vertex that does not fit, so both are prefix sums.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dgraph.arguments import integer, number
from dgraph.errors import OptionError
from dgraph.gnn.candidates import hottest
from dgraph.gnn.hotness import BOUNDS, EDGE, LINE

if TYPE_CHECKING:
    from pandas import DataFrame

__all__ = ["CachePlan", "feature_bytes", "plan_cache", "row_bytes"]

Array = NDArray[Any]
Numbers = NDArray[np.int64]

#: Into so many parts a budget is cut.
STEPS = 100


def row_bytes(neighbours: ArrayLike) -> Numbers:
    """Return the bytes of rows: 4 for a neighbour, and 8.

    >>> row_bytes([4, 0])
    array([24,  8])
    """
    return BOUNDS + EDGE * np.asarray(neighbours, np.int64)


def feature_bytes(dimension: int) -> int:
    """Return the bytes of a vertex's features in float32.

    >>> feature_bytes(32)
    128
    """
    return 4 * dimension


@dataclass(frozen=True, eq=False)
class CachePlan:
    """What a cache holds, and what then is left to read from the feature store.

    Parameters
    ----------
    alpha : float
        The part of the budget that is for topology.
    rows, features : int64 arrays
        The vertices of which the rows, and the features, are cached; hottest first.
    transactions : float
        N_T + N_F.
    curve : DataFrame
        alpha, topology (N_T), features (N_F), transactions: for all alphas.
    """

    alpha: float
    rows: Numbers
    features: Numbers
    transactions: float
    curve: DataFrame


def plan_cache(
    topology: ArrayLike,
    features: ArrayLike,
    neighbours: ArrayLike,
    *,
    dimension: int,
    transactions: int,
    budget: int,
    alpha: float | None = None,
) -> CachePlan:
    """Cut the budget of a clique into topology and features.

    Parameters
    ----------
    topology, features : int arrays over the vertices
        How often each row is read, edge by edge (A_T), and each vertex's features (A_F).
    neighbours : int array beside them
        Entries of each row.
    dimension : int
        Features of a vertex, float32. Typical: 100 to 256.
    transactions : int
        Of all reading of rows without a cache (N_TSUM).
    budget : int
        Bytes of all devices of the clique together; 0: no cache.
    alpha : float, optional
        Take this one. Default: of 0, 0.01, .. 1 the one with the fewest transactions; ties:
        the smallest.

    Returns
    -------
    CachePlan

    Raises
    ------
    OptionError, OptionTypeError
        If a number is negative, or the arrays are of different lengths.

    Examples
    --------
    >>> plan = plan_cache([6, 3, 1], [5, 4, 1], [4, 2, 1], dimension=32, transactions=20,
    ...                   budget=280)
    >>> plan.alpha, plan.rows, plan.features, plan.transactions
    (0.19, array([0, 1, 2]), array([0]), 10.0)
    >>> plan.curve["transactions"].iloc[[0, 9]].tolist()
    [22.0, 18.0]
    """
    import pandas as pd

    budget, dimension = integer("budget", budget, 0), integer("dimension", dimension, 0)
    transactions = integer("transactions", transactions, 0)
    heat_t, heat_f = np.asarray(topology, np.int64), np.asarray(features, np.int64)
    if not heat_t.shape == heat_f.shape == np.shape(neighbours):
        raise OptionError(
            "topology, features and neighbours must be of the same vertices, not of shapes "
            f"{heat_t.shape}, {heat_f.shape} and {np.shape(neighbours)}"
        )
    by_t, by_f = hottest(heat_t), hottest(heat_f)
    # whole hundredths, so that no sum of them is off by a bit
    tried = np.arange(STEPS + 1) / STEPS
    if alpha is not None:
        tried = np.array([number("alpha", alpha, 0, 1, also=" or None")])
    for_rows = np.floor(tried * budget + 1e-9).astype(np.int64)
    sizes = row_bytes(neighbours)[by_t]
    rows = np.searchsorted(np.cumsum(sizes), for_rows, side="right")
    wide = max(feature_bytes(dimension), 1)
    held = np.minimum((budget - for_rows) // wide, heat_f.size)
    left_t = heat_t.sum() - _prefix(heat_t[by_t])[rows]
    left_f = heat_f.sum() - _prefix(heat_f[by_f])[held]
    n_t = transactions / max(int(heat_t.sum()), 1) * left_t
    n_f = -(-feature_bytes(dimension) // LINE) * left_f
    total = n_t + n_f
    best = int(np.argmin(total))
    curve = pd.DataFrame(
        {"alpha": tried, "topology": n_t, "features": n_f, "transactions": total}
    )
    return CachePlan(
        float(tried[best]), by_t[: rows[best]], by_f[: held[best]], float(total[best]), curve
    )


def _prefix(counts: Array) -> Numbers:
    """Return the sums of the first 0, 1, ... counts."""
    return np.concatenate([[0], np.cumsum(counts)])
