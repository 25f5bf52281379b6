"""Edge files: written once, read by dgraph and by every rival. Does not import dgraph."""

from __future__ import annotations

import itertools
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.dataset as ds
import pyarrow.parquet as pq
from numpy.typing import NDArray
from scipy import sparse

__all__ = ["PIECES", "Ends", "distinct", "read", "read_weights", "symmetric", "write"]

Ends = NDArray[np.int64]

#: Parquet files per graph: enough for every slot to have several, as data sets have.
PIECES = 8


def distinct(source: Ends, target: Ends, seed: int) -> tuple[Ends, Ends]:
    """Return each undirected edge once, without loops, in random order and direction.

    >>> ends = distinct(np.array([0, 1, 2, 2]), np.array([1, 0, 2, 0]), seed=1)
    >>> sorted(tuple(sorted(map(int, pair))) for pair in zip(*ends))
    [(0, 1), (0, 2)]
    """
    low, high = np.minimum(source, target), np.maximum(source, target)
    keys = np.unique((low << 32 | high)[low != high])  # both ends are below 2**31 here
    draw = np.random.default_rng(seed)
    draw.shuffle(keys)
    low, high = keys >> 32, keys & 0xFFFFFFFF
    swap = draw.random(len(keys)) < 0.5
    return np.where(swap, high, low), np.where(swap, low, high)


def write(
    folder: Path, source: pa.Array, target: pa.Array, weight: pa.Array | None = None
) -> None:
    """Write edges as `PIECES` parquet files with the columns source, target[, weight]."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    bounds = np.linspace(0, len(source), PIECES + 1).astype(int).tolist()
    for piece, (start, stop) in enumerate(itertools.pairwise(bounds)):
        columns = {"source": source[start:stop], "target": target[start:stop]}
        if weight is not None:
            columns["weight"] = weight[start:stop]
        pq.write_table(pa.table(columns), folder / f"{piece:02}.parquet")


def read(path: str) -> tuple[Any, Any]:
    """Read both ends with pyarrow, all its threads in use: integers come as NumPy's."""
    table = pq.read_table(path, columns=["source", "target"])
    return _column(table, "source"), _column(table, "target")


def read_weights(path: str) -> Ends | None:
    """Read the column weight, or return None if there is none."""
    if "weight" not in ds.dataset(path).schema.names:
        return None
    weights: Ends = pq.read_table(path, columns=["weight"]).column("weight").to_numpy()
    return weights


def symmetric(source: Ends, target: Ends, vertices: int, weights: Ends | None = None) -> Any:
    """Return the graph as SciPy's CSR with both directions, rows sorted, in one thread.

    Weights, or ones, are float64 because csgraph and products with a float64 vector work on
    that: any other dtype would be converted in every call.
    """
    both = (np.concatenate([source, target]), np.concatenate([target, source]))
    values = np.ones(len(both[0]))
    if weights is not None:
        values = np.concatenate([weights, weights]).astype(np.float64)
    return sparse.coo_array((values, both), shape=(vertices, vertices)).tocsr()


def _column(table: pa.Table, name: str) -> Any:
    column = table.column(name)
    return column.to_numpy() if pa.types.is_integer(column.type) else column.combine_chunks()
