"""Graphs made of numbers: Kronecker (Graph500), uniform random, grid.

Every edge is a function of its index and the seed (SplitMix64 used as a counter), so the same
call gives the same edges in the same order, whatever the partitions and whoever computes them.

A Kronecker graph descends `scale` times into a quadrant of the adjacency matrix, chosen with
probabilities A, B, C, D::

    A = 0.57   B = 0.19        source bit 0
    C = 0.19   D = 0.05        source bit 1

and then renames the vertices by a permutation, so that an id does not tell a degree.

References
----------
J. Leskovec, D. Chakrabarti, J. Kleinberg, C. Faloutsos, Z. Ghahramani: Kronecker graphs: an
approach to modeling networks. JMLR 11 (2010).
Graph500 specification, section 3: https://graph500.org/?page_id=12
G. Steele, D. Lea, C. Flood: Fast splittable pseudorandom number generators. OOPSLA 2014,
doi:10.1145/2660193.2660195.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial
from typing import Any

import dask.dataframe as dd
import numpy as np
import pandas as pd
from numpy.typing import NDArray

from dgraph.arguments import flag, integer, optional_integer
from dgraph.kernels import kernel
from dgraph.keywords import named

__all__ = ["grid", "kronecker", "uniform"]

Ids = NDArray[np.int64]

PART = 1 << 21  # edges of a partition: 0.2 s of work

_GAMMA = np.uint64(0x9E3779B97F4A7C15)  # SplitMix64: increment and the two multipliers
_MIX1, _MIX2 = np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB)
# Thresholds of 32 random bits: A, A + B, A + B + C of Graph500.
_A, _AB, _ABC = (np.uint64(round(share * 2**32)) for share in (0.57, 0.76, 0.95))
_LOW = np.uint64(2**32 - 1)
_ONE, _U32 = np.uint64(1), np.uint64(32)
_ROUNDS = 4  # of the permutation
# Streams of random numbers, kept apart by adding these to the seed.
_STRUCTURE, _NAMES, _WEIGHTS = 0, 1, 2


@named
def kronecker(
    scale: int,
    edgefactor: int = 16,
    *,
    seed: int = 1,
    weights: bool = False,
    npartitions: int | None = None,
) -> dd.DataFrame:
    """Generate the edges of a Kronecker graph as Graph500 does.

    Parameters
    ----------
    scale : int
        Ids are drawn from 0, ..., 2**scale - 1; not all of them occur. Typically 16 to 40.
    edgefactor : int
        Edges per id.
    seed : int
    weights : bool
        Whether to add a column of weights, uniform in [0, 1).
    npartitions : int, optional
        By default a partition has up to 2 M edges. Edges do not depend on it.

    Returns
    -------
    dask DataFrame
        source, target: int64[, weight: float32]; edgefactor * 2**scale rows. Self-loops and
        parallel edges occur.

    Raises
    ------
    OptionError
        If a number is out of its range.

    References
    ----------
    Graph500 benchmark specification: https://graph500.org/?page_id=12

    Examples
    --------
    >>> len(kronecker(10, 16))
    16384
    """
    size = integer("scale", scale, 0, 62)
    edges = integer("edgefactor", edgefactor, 0, 2**40) << size
    return _frame(_kronecker_maker(size, seed), edges, seed, weights, npartitions)


def kronecker_rows(
    scale: int, start: int, stop: int, *, seed: int = 1, weights: bool = False
) -> pd.DataFrame:
    """Generate the edges from `start` to `stop` of `kronecker`, here and at once.

    Examples
    --------
    >>> kronecker_rows(10, 70, 90).equals(kronecker(10).compute()[70:90].reset_index(drop=True))
    True
    """
    make = _kronecker_maker(integer("scale", scale, 0, 62), seed)
    return _part(start, stop, make, _weight_key(seed, weights))


@named
def uniform(
    scale: int,
    edgefactor: int = 16,
    *,
    seed: int = 1,
    weights: bool = False,
    npartitions: int | None = None,
) -> dd.DataFrame:
    """Generate edges whose two ends are drawn evenly from 0, ..., 2**scale - 1.

    Parameters
    ----------
    scale, edgefactor, seed, weights, npartitions
        As for `kronecker`.

    Returns
    -------
    dask DataFrame
        source, target: int64[, weight: float32]; edgefactor * 2**scale rows. Self-loops and
        parallel edges occur.

    Raises
    ------
    OptionError
        If a number is out of its range.

    Examples
    --------
    >>> len(uniform(4, 3))
    48
    """
    size = integer("scale", scale, 0, 62)
    edges = integer("edgefactor", edgefactor, 0, 2**40) << size
    make = partial(_uniform, size, np.uint64(_key(seed, _STRUCTURE)))
    return _frame(make, edges, seed, weights, npartitions)


@named
def grid(
    rows: int,
    cols: int | None = None,
    *,
    seed: int = 1,
    weights: bool = False,
    npartitions: int | None = None,
) -> dd.DataFrame:
    """Generate a grid: each vertex is joined with its right and its lower neighbour.

    Parameters
    ----------
    rows, cols : int
        As many columns as rows by default. The vertex in row r and column c is r * cols + c.
    seed, weights, npartitions
        As for `kronecker`; the seed matters for weights only.

    Returns
    -------
    dask DataFrame
        source, target: int64[, weight: float32]; rows * (cols - 1) + (rows - 1) * cols rows,
        edges to the right first.

    Raises
    ------
    OptionError
        If a number is out of its range.

    Examples
    --------
    >>> grid(2, 2).compute().to_numpy().tolist()
    [[0, 1], [2, 3], [0, 2], [1, 3]]
    """
    height = integer("rows", rows, 1, 2**31)
    width = height if cols is None else integer("cols", cols, 1, 2**31)
    integer("seed", seed)
    edges = height * (width - 1) + (height - 1) * width
    return _frame(partial(_grid, height, width), edges, seed, weights, npartitions)


Maker = Callable[[int, int], tuple[Ids, Ids]]


def _frame(
    make: Maker, edges: int, seed: int, weights: bool, npartitions: int | None
) -> dd.DataFrame:
    parts = optional_integer("npartitions", npartitions, 1) or max(1, math.ceil(edges / PART))
    cuts = [edges * part // parts for part in range(parts + 1)]
    weighted = flag("weights", weights)
    key = _weight_key(seed, weighted)
    frame: dd.DataFrame = dd.from_map(
        _part, cuts[:-1], cuts[1:], make=make, key=key, meta=_meta(weighted),
        enforce_metadata=False, label="generate",
    )  # fmt: skip
    return frame


def _meta(weights: bool) -> pd.DataFrame:
    dtypes: dict[str, Any] = {"source": np.int64, "target": np.int64}
    if weights:
        dtypes["weight"] = np.float32
    return pd.DataFrame({name: np.empty(0, dtype) for name, dtype in dtypes.items()})


def _part(start: int, stop: int, make: Maker, key: np.uint64 | None) -> pd.DataFrame:
    """Make the edges from `start` to `stop`."""
    source, target = make(start, stop)
    columns: dict[str, NDArray[Any]] = {"source": source, "target": target}
    if key is not None:
        columns["weight"] = _weights(key, start, stop)
    return pd.DataFrame(columns, copy=False)


def _key(seed: int, stream: int) -> int:
    """Return the key of one of the streams of random numbers that a seed gives."""
    state = integer("seed", seed) * 3 + stream
    return int(_mix(np.uint64(state % 2**64)))


def _weight_key(seed: int, weights: bool) -> np.uint64 | None:
    return np.uint64(_key(seed, _WEIGHTS)) if weights else None


@kernel(nogil=False)
def _mix(state: np.uint64) -> np.uint64:
    """Return the output of SplitMix64 for one state."""
    word = state
    word = (word ^ (word >> np.uint64(30))) * _MIX1
    word = (word ^ (word >> np.uint64(27))) * _MIX2
    return word ^ (word >> np.uint64(31))


@kernel(nogil=False)
def _word(key: np.uint64, counter: np.uint64) -> np.uint64:
    """Return the random word of a stream with this number."""
    word: np.uint64 = _mix(key + (counter + _ONE) * _GAMMA)
    return word


def _permutation(seed: int) -> NDArray[np.uint64]:
    """Return the multipliers (odd) and summands of the rounds of `_rename`."""
    key = np.uint64(_key(seed, _NAMES))
    words = [_word(key, np.uint64(number)) for number in range(2 * _ROUNDS)]
    return np.array(words, np.uint64).reshape(_ROUNDS, 2) | np.array([1, 0], np.uint64)


@kernel(nogil=False)
def _rename(vertex: np.uint64, names: NDArray[np.uint64], scale: int) -> np.uint64:
    """Permute 0, ..., 2**scale - 1.

    An odd multiplier, a summand and a shift to the right that is added bit by bit are each a
    bijection modulo 2**scale.
    """
    mask = (_ONE << np.uint64(scale)) - _ONE
    shift = np.uint64(scale // 2 + 1)
    for turn in range(len(names)):
        vertex = (vertex * names[turn, 0] + names[turn, 1]) & mask
        vertex ^= vertex >> shift
    return vertex


@kernel
def _descend(
    start: int, scale: int, key: np.uint64, names: NDArray[np.uint64], source: Ids, target: Ids
) -> None:
    words = np.uint64((scale + 1) // 2)  # a word has random bits for two levels
    for row in range(len(source)):
        counter = np.uint64(start + row) * words
        here = there = np.uint64(0)
        word = np.uint64(0)
        for level in range(scale):
            if level & 1:
                word >>= _U32
            else:
                word = _word(key, counter)
                counter += _ONE
            draw = word & _LOW
            down = np.uint64(draw >= _AB)  # into C or D
            right = np.uint64(draw >= _A) ^ down ^ np.uint64(draw >= _ABC)  # into B or D
            here = here << _ONE | down
            there = there << _ONE | right
        source[row] = _rename(here, names, scale)
        target[row] = _rename(there, names, scale)


def _kronecker_maker(scale: int, seed: int) -> Maker:
    key = np.uint64(_key(seed, _STRUCTURE))
    return partial(_kronecker, scale, key, _permutation(seed))


def _kronecker(
    scale: int, key: np.uint64, names: NDArray[np.uint64], start: int, stop: int
) -> tuple[Ids, Ids]:
    source, target = np.empty(stop - start, np.int64), np.empty(stop - start, np.int64)
    _descend(start, scale, key, names, source, target)
    return source, target


@kernel
def _draw(start: int, scale: int, key: np.uint64, source: Ids, target: Ids) -> None:
    shift = np.uint64(64 - scale)
    for row in range(len(source)):
        counter = np.uint64(start + row) << _ONE
        # shifting a word by 64 bits is undefined, so scale 0 goes without
        source[row] = _word(key, counter) >> shift if scale else np.uint64(0)
        target[row] = _word(key, counter + _ONE) >> shift if scale else np.uint64(0)


def _uniform(scale: int, key: np.uint64, start: int, stop: int) -> tuple[Ids, Ids]:
    source, target = np.empty(stop - start, np.int64), np.empty(stop - start, np.int64)
    _draw(start, scale, key, source, target)
    return source, target


def _grid(rows: int, cols: int, start: int, stop: int) -> tuple[Ids, Ids]:
    across = rows * (cols - 1)  # edges to the right come first
    edge = np.arange(start, stop)
    right = edge[: max(across - start, 0)]
    row, col = np.divmod(right, max(cols - 1, 1))
    down = edge[len(right) :] - across
    source = np.concatenate([row * cols + col, down])
    target = np.concatenate([row * cols + col + 1, down + cols])
    return source, target


@kernel
def _fill_weights(start: int, key: np.uint64, weights: NDArray[np.float32]) -> None:
    for row in range(len(weights)):
        bits = _word(key, np.uint64(start + row)) >> np.uint64(40)  # as many as float32 holds
        weights[row] = np.float32(bits) * np.float32(2.0**-24)


def _weights(key: np.uint64, start: int, stop: int) -> NDArray[np.float32]:
    weights = np.empty(stop - start, np.float32)
    _fill_weights(start, key, weights)
    return weights
