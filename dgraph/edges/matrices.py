"""Edges that are the entries of a matrix: mirror images, symmetry, scipy's files.

A matrix lists an undirected edge twice, as (u, v) and as (v, u), or says that it is symmetric
and lists it once. As a table of edges it has both; an undirected graph is built from one half,
so that no edge counts twice.
"""

from __future__ import annotations

import contextlib
import zlib
from collections.abc import Iterator
from typing import Any, BinaryIO, NamedTuple
from zipfile import BadZipFile

import numpy as np
import pandas as pd
from numpy.lib.npyio import NpzFile
from numpy.typing import NDArray

from dgraph.edges.blocks import Block
from dgraph.edges.files import File
from dgraph.edges.survey import IdPlan
from dgraph.edges.text import parse
from dgraph.edges.weights import as_floats
from dgraph.errors import DgraphError, EdgeTypeError, EdgeValueError
from dgraph.vertices.hash import hash_ints

__all__ = [
    "entries", "mirror_sum", "parse_matrix", "read_npz", "shape_of_npz", "symmetry_of", "upper",
]  # fmt: skip


def upper(frame: pd.DataFrame) -> pd.DataFrame:
    """Return the edges of the upper triangle, the diagonal included.

    >>> upper(pd.DataFrame({"source": [1, 2, 2], "target": [2, 1, 2]}))["source"].to_list()
    [1, 2]
    """
    return frame[frame["source"] <= frame["target"]]


def mirrored(frame: pd.DataFrame, sign: int = 1) -> pd.DataFrame:
    """Return the edges and, after them, those off the diagonal with their ends exchanged.

    >>> mirrored(pd.DataFrame({"source": [1, 2], "target": [2, 2]}))["target"].to_list()
    [2, 2, 1]
    """
    rest = frame[frame["source"] != frame["target"]]
    rest = rest.assign(source=rest["target"], target=rest["source"])
    if sign < 0 and "weight" in frame:
        rest["weight"] = -rest["weight"]
    return pd.concat([frame, rest], ignore_index=True)


def mirror_sum(frame: pd.DataFrame) -> int:
    """Return a sum over the edges that is 0, over all of them, if the matrix is symmetric.

    Each edge adds its hash and subtracts that of its mirror image, modulo 2**64; an asymmetric
    matrix is taken for a symmetric one with probability 2**-64.

    >>> mirror_sum(pd.DataFrame({"source": [1, 2, 3], "target": [2, 1, 3]}))
    0
    """
    source = frame["source"].to_numpy(np.int64)
    target = frame["target"].to_numpy(np.int64)
    weight = frame["weight"].to_numpy(np.float64) + 0.0 if "weight" in frame else None
    there = _hashes(source, target, weight).sum(dtype=np.uint64)
    back = _hashes(target, source, weight).sum(dtype=np.uint64)
    return (int(there) - int(back)) % 2**64


def _hashes(
    source: NDArray[np.int64], target: NDArray[np.int64], weight: NDArray[np.float64] | None
) -> NDArray[np.uint64]:
    hashes = hash_ints(hash_ints(source) ^ target.view(np.uint64))
    return hashes if weight is None else hash_ints(hashes ^ weight.view(np.uint64))


def parse_matrix(block: Block, plan: IdPlan, half: bool) -> pd.DataFrame:
    """Parse entries of a Matrix Market file.

    Parameters
    ----------
    block : Block
    plan : IdPlan
    half : bool
        Whether one of two mirror images is wanted; the matrix is symmetric then.
    """
    frame = parse(block, plan)
    matrix = block.layout.matrix
    assert matrix is not None
    if not matrix.half:
        return upper(frame) if half else frame
    if half:
        return frame
    both = mirrored(frame, -1 if matrix.symmetry == "skew-symmetric" else 1)
    both.attrs = frame.attrs  # of what stands in the file
    return both


def symmetry_of(block: Block) -> int:
    """Return the `mirror_sum` of the entries in a block."""
    return mirror_sum(parse(block, IdPlan()))


def entries(matrix: Any, weighted: bool, half: bool) -> pd.DataFrame:
    """List the entries of a scipy matrix, those that it stores as 0 included.

    Parameters
    ----------
    matrix : scipy sparse matrix or array, square
        Entries that it stores twice are added up, as scipy does. The zeros with which BSR and
        DIA fill up blocks and diagonals are no entries.
    weighted : bool
        Whether to give the values.
    half : bool
        If the matrix is symmetric, give its upper triangle only.
    """
    if matrix.ndim != 2 or matrix.shape[0] != matrix.shape[1]:
        raise EdgeValueError(
            f"expected a square matrix, got shape {matrix.shape}: its rows and columns are the "
            "vertices"
        )
    if weighted and matrix.dtype.kind not in "iufb":
        raise EdgeTypeError(
            f"expected real weights, got a matrix of {matrix.dtype}: convert it"
        )
    listed = _added_up(matrix).tocoo()
    columns = {"source": listed.row.astype(np.int64), "target": listed.col.astype(np.int64)}
    if weighted:
        columns["weight"] = listed.data.astype(float) if matrix.dtype == bool else listed.data
    frame = pd.DataFrame(columns, copy=False)
    return upper(frame) if half and mirror_sum(frame) == 0 else frame


def _added_up(matrix: Any) -> Any:
    """Return a matrix that stores each entry once; the caller's stays as it is."""
    if matrix.format not in ("csr", "csc"):
        rows = matrix.tocsr()  # adds up
        if matrix.format == "bsr":
            rows.eliminate_zeros()
        return rows
    if matrix.has_canonical_format:
        return matrix
    copy = matrix.copy()
    copy.sum_duplicates()
    return copy


class Shape(NamedTuple):
    """What a .npz file says of itself."""

    vertices: int | None
    weighted: bool


def shape_of_npz(file: File) -> Shape:
    """Return the number of vertices that a .npz file declares, and whether it has weights."""
    with _named(file), file.open() as stream, _loaded(stream) as arrays:
        if "format" in arrays:
            return Shape(int(arrays["shape"][0]), True)
        wide = "edges" in arrays and arrays["edges"].shape[-1] == 3
        return Shape(None, wide or "weight" in arrays)


def read_npz(file: File, weighted: bool, half: bool) -> pd.DataFrame:
    """Read a .npz file: scipy's of a sparse matrix, or arrays source, target[, weight].

    An array "edges" of shape (m, 2) or (m, 3) will do as well.
    """
    import scipy.sparse

    with _named(file), file.open() as stream:
        with _loaded(stream) as arrays:
            if "format" not in arrays:
                return as_floats(_from_arrays(dict(arrays), weighted, file))
        stream.seek(0)
        return as_floats(entries(scipy.sparse.load_npz(stream), weighted, half))


@contextlib.contextmanager
def _named(file: File) -> Iterator[None]:
    """Tell which file is damaged; what the operating system says passes."""
    try:
        yield
    except DgraphError:
        raise
    except (OSError, EOFError, ValueError, KeyError, BadZipFile, zlib.error) as error:
        if isinstance(error, OSError) and error.errno is not None:
            raise
        raise EdgeValueError(
            f"{file.path} is no .npz file of numbers or strings: write it again, with "
            "scipy.sparse.save_npz or numpy.savez"
        ) from error


def _loaded(stream: BinaryIO) -> NpzFile:
    found = np.load(stream)
    if not isinstance(found, NpzFile):
        raise ValueError("it holds one array without a name")
    return found


def _from_arrays(arrays: dict[str, NDArray[Any]], weighted: bool, file: File) -> pd.DataFrame:
    if "edges" in arrays and arrays["edges"].ndim == 2:
        arrays = dict(zip(("source", "target", "weight"), arrays["edges"].T, strict=False))
    if not {"source", "target"} <= arrays.keys():
        raise EdgeValueError(
            f"{file.path} holds {', '.join(arrays) or 'nothing'}, expected source and target, "
            "or edges, or a sparse matrix of scipy: save it with one of these"
        )
    names = ["source", "target"] + ["weight"] * (weighted and "weight" in arrays)
    shapes = [arrays[name].shape for name in names]
    if len(set(shapes)) > 1 or len(shapes[0]) != 1:
        told = ", ".join(f"{name} {shape}" for name, shape in zip(names, shapes, strict=True))
        raise EdgeValueError(
            f"{file.path} holds arrays of the shapes {told}, expected one number or string of "
            "each for every edge"
        )
    return pd.DataFrame({name: arrays[name] for name in names}, copy=False)
