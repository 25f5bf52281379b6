"""What shortest-path searches have to know of the weights before they begin."""

from __future__ import annotations

from collections.abc import Sequence
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

#: Weights that a slot looks at to tell how small weights are; a hundred of them are that small.
SAMPLE = 4096


class Scale(NamedTuple):
    """The size of the weights of a whole graph.

    Parameters
    ----------
    arcs : int
        Entries of all rows.
    degree : float
        Mean degree of a neighbour.
    spread : float
        The mean weight divided by the square root of that degree.
    small : float
        So many weights are below this as there would be below `spread` if all weights were
        equally likely from 0 to their largest. Far less if they span many decades.
    alike : bool
        Whether all slots hold weights of the same dtype: some may do with float32.
    """

    arcs: int
    degree: float
    spread: float
    small: float
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
        together are more than a float64 holds, and with them perhaps the length of a path or
        the strength of a vertex.
    """
    if "weights" not in shard.derived:
        shard.derived["weights"] = _facts(shard)
    assert shard.out.weights is not None
    mine = np.append(shard.derived["weights"], shard.out.weights.itemsize)
    everywhere = np.stack([some[0] for some in await ctx.allgather(mine)])
    least = float(everywhere[:, 0].min())
    if least < 0 or (positive and least == 0):
        await _refuse(ctx, shard, least, positive)
    weight, arcs, squares, small = everywhere[:, 1:5].sum(axis=0)
    if not np.isfinite(weight):
        raise EdgeValueError(
            "expected weights whose sum is at most 1.8e308, the most that a float64 holds, got "
            "more; divide them all by the same number"
        )
    alike = bool((everywhere[:, 5] == everywhere[0, 5]).all())
    spread = float(weight / max(np.sqrt(arcs * squares), 1.0))
    arcs, degree = int(arcs), float(squares / max(arcs, 1.0))
    return Scale(arcs, degree, spread, min(spread, float(small / max(arcs, 1))), alike)


def _facts(shard: Shard) -> NDArray[np.float64]:
    """Return the least weight; sums of weights, arcs, squared degrees; arcs x small weight."""
    parts = [shard.out.weights]
    if shard.out_split is not None:
        parts.append(shard.out_split.rows.weights)
    held = [some for some in parts if some is not None]
    degrees = shard.out_degree.astype(np.float64)
    with np.errstate(over="ignore"):
        total = sum(some.sum(dtype=np.float64) for some in held)
    least = min(some.min(initial=np.inf) for some in held)
    arcs, squares = sum(some.size for some in held), float(np.dot(degrees, degrees))
    return np.array([least, total, arcs, squares, arcs * _small(held, squares / max(arcs, 1))])


def _small(held: Sequence[NDArray[Any]], degree: float) -> float:
    """Return a small weight of a sample, where neighbours have that mean degree.

    Below ``mean / sqrt(degree)`` is ``1 / (2 sqrt(degree))`` of evenly spread weights.

    Examples
    --------
    >>> weights = np.linspace(0, 10, 1001)
    >>> round(_small([weights], 25.0), 9), float(weights.mean() / 5)
    (1.009, 1.0)
    """
    sample = np.concatenate([some[:: max(1, some.size // SAMPLE)] for some in held])
    sample = sample[sample > 0]
    return float(np.quantile(sample, 0.5 / max(degree, 1.0) ** 0.5)) if sample.size else 0.0


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
