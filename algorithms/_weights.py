"""What shortest-path searches have to know of the weights before they begin."""

from __future__ import annotations

from typing import Any, NamedTuple, NoReturn

import numpy as np
from numpy.typing import NDArray

from dgraph.build.joining import whole_rows
from dgraph.engine.context import Context
from dgraph.engine.translate import ids_of_locals
from dgraph.errors import EdgeValueError
from dgraph.shard import Shard
from dgraph.vertices.ids import ids_from_columns

__all__ = ["Scale", "check_weights"]

Array = NDArray[Any]


class Scale(NamedTuple):
    """The size of the weights of a whole graph.

    Parameters
    ----------
    arcs : int
        Entries of all rows.
    spread : float
        The mean weight divided by the square root of the mean degree of a neighbour.
    alike : bool
        Whether all slots hold weights of the same dtype: some may do with float32.
    """

    arcs: int
    spread: float
    alike: bool


async def check_weights(ctx: Context, shard: Shard, positive: bool = False) -> Scale:
    """Refuse weights that a search cannot do with, and say how large they are: one exchange.

    Parameters
    ----------
    positive : bool
        Whether 0 is refused, too.

    Raises
    ------
    EdgeValueError
        On every slot alike: names an edge whose weight is negative, or 0; or all weights
        together, and with them perhaps the length of a path, are more than a float64 holds.
    """
    if "weights" not in shard.derived:
        shard.derived["weights"] = _facts(shard)
    assert shard.out.weights is not None
    mine = np.append(shard.derived["weights"], shard.out.weights.itemsize)
    everywhere = np.stack([some[0] for some in await ctx.allgather(mine)])
    least = float(everywhere[:, 0].min())
    if least < 0 or (positive and least == 0):
        await _refuse(ctx, shard, least, positive)
    weight, arcs, squares = everywhere[:, 1:4].sum(axis=0)
    if not np.isfinite(weight):
        raise EdgeValueError(
            "expected weights that together are at most 1.8e308, so that no length of a path "
            "overflows, got more; divide them all by a number"
        )
    alike = bool((everywhere[:, 4] == everywhere[0, 4]).all())
    return Scale(int(arcs), float(weight / max(np.sqrt(arcs * squares), 1.0)), alike)


def _facts(shard: Shard) -> NDArray[np.float64]:
    """Return the least weight, and the sums of weights, arcs and squares of degrees."""
    parts = [shard.out.weights]
    if shard.out_split is not None:
        parts.append(shard.out_split.rows.weights)
    held = [some for some in parts if some is not None]
    degrees = shard.out_degree.astype(np.float64)
    with np.errstate(over="ignore"):
        total = sum(some.sum(dtype=np.float64) for some in held)
    least = min(some.min(initial=np.inf) for some in held)
    return np.array([least, total, sum(some.size for some in held), np.dot(degrees, degrees)])


async def _refuse(ctx: Context, shard: Shard, least: float, positive: bool) -> NoReturn:
    """Raise the error that names the first edge of the least weight."""
    shard = await whole_rows(ctx, shard)
    offsets, targets, weights = shard.out.offsets, shard.out.targets, shard.out.weights
    assert weights is not None
    arcs = np.flatnonzero(weights == least)[:1]
    rows = np.searchsorted(offsets, arcs, side="right") - 1
    rank = shard.rank[rows].min(initial=shard.num_vertices)
    first = (await ctx.allreduce([rank], "min"))[0]
    mine = slice(0, 1 if rank == first else 0)
    ends = np.concatenate([rows[mine], targets[arcs[mine]]]).astype(np.int32)
    ids = await ids_of_locals(ctx, shard, ends)
    for columns in await ctx.allgather(*ids.to_columns()):
        names = ids_from_columns(shard.ids.dtype, columns)
        if len(names):
            break
    prepositions = ("from", "to") if shard.directed else ("between", "and")
    ends_named = " ".join(f"{word} {names[at]!r}" for at, word in enumerate(prepositions))
    raise EdgeValueError(
        f"expected weights {'above 0' if positive else 'of at least 0'}, got {least:g} on the "
        f"edge {ends_named}; correct the weights or drop such edges"
    )
