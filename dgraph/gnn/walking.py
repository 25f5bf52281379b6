"""Walk from the seeds of batches to their sampled neighbourhoods, all batches at once.

::

    owner of v      draws entries of v's row of edges, for every batch that has reached v
    owner of u      learns which batches have reached u now, and drops those that had before

One exchange a hop, and one to find the seeds. A vertex is expanded once in a batch, when it is
first reached.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dgraph.build.joining import whole_rows
from dgraph.distinct import distinct
from dgraph.engine.context import Context
from dgraph.engine.translate import masters_of
from dgraph.gnn.drawing import draw
from dgraph.shard import Shard
from dgraph.vertices.ids import Ids

__all__ = ["Seeds", "Step", "walk"]

Array = NDArray[Any]
Keys = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Seeds:
    """What a walk starts from; the same on every slot.

    Parameters
    ----------
    ids : Ids
        The seeds of all batches, one batch after the other.
    batches : int64 array beside them
        The number of each one's batch.
    fanouts : tuple of int
        How many neighbours are drawn in each hop; -1: all.
    seed : int
    outward : bool
        Walk along out-edges, not in-edges.
    """

    ids: Ids
    batches: NDArray[np.int64]
    fanouts: tuple[int, ...]
    seed: int
    outward: bool = False


@dataclass(frozen=True, slots=True)
class Step:
    """What one hop has done on a slot.

    Parameters
    ----------
    batches, masters : int64 arrays
        The visits: which vertices of this slot were expanded, in which batches.
    ends : int64 array beside them
        Where the neighbours of each visit end.
    drawn : int32 array
        Local ids of the neighbours of all visits.
    """

    batches: Keys
    masters: Keys
    ends: Keys
    drawn: NDArray[np.int32]


async def walk(ctx: Context, shard: Shard, seeds: Seeds) -> tuple[Shard, list[Step], Step]:
    """Walk over in-edges, or out-edges.

    Returns
    -------
    shard : Shard
        With whole rows: of its local ids the steps speak.
    steps : list of Step
        One for each hop.
    reached : Step
        Every vertex of this slot with every batch that has reached it, seeds included; nothing
        is drawn for them.
    """
    shard = await whole_rows(ctx, shard)
    stride = max(shard.masters, 1)
    ctx.stage = "seeds"
    at, masters = await masters_of(ctx, shard, seeds.ids)
    front = distinct(seeds.batches[at] * stride + masters)
    reached, steps = front, []
    for hop, fanout in enumerate(seeds.fanouts, start=1):
        ctx.stage = f"hop {hop}"
        step = _expand(shard, front // stride, front % stride, fanout, seeds)
        steps.append(step)
        front = await _hand_over(ctx, shard, step, stride)
        front = front[~_among(front, reached)]
        reached = distinct(np.concatenate([reached, front]))
    none = np.zeros(0, np.int32)
    ends = np.zeros(reached.size, np.int64)
    return shard, steps, Step(reached // stride, reached % stride, ends, none)


def _expand(shard: Shard, batches: Keys, masters: Keys, fanout: int, seeds: Seeds) -> Step:
    """Draw neighbours of the masters, in each one's batch."""
    rows = shard.out if seeds.outward else shard.into
    where = rows.offsets, rows.targets, shard.rank
    ends, drawn = draw(*where, masters, batches, fanout, seeds.seed)
    return Step(batches, masters, ends, drawn)


async def _hand_over(ctx: Context, shard: Shard, step: Step, stride: int) -> Keys:
    """Tell owners which batches have reached their vertices; return what was reached here."""
    batches = np.repeat(step.batches, np.diff(step.ends, prepend=0))
    wide = int(batches.max(initial=0)) + 1
    # by local id first, so that what is of one owner lies together
    pairs = distinct(step.drawn * np.int64(wide) + batches)
    columns: list[tuple[Array, ...] | None] = []
    for start, size in zip(shard.group_start, shard.group_size, strict=True):
        low, high = np.searchsorted(pairs, (start * wide, (start + size) * wide))
        some = pairs[low:high] // wide - start, pairs[low:high] % wide
        columns.append(some if high > low else None)
    found = [np.zeros(0, np.int64)]
    for slot, came in enumerate(await ctx.alltoall(columns)):
        if came is not None:
            places, which = came
            masters = places if slot == shard.slot else shard.shared[slot][places]
            found.append(which * stride + masters)
    return distinct(np.concatenate(found))


def _among(keys: Keys, known: Keys) -> NDArray[np.bool_]:
    """Return which of the keys are known; both ascend.

    Examples
    --------
    >>> _among(np.array([1, 4]), np.array([0, 1, 2]))
    array([ True, False])
    """
    found: NDArray[np.bool_] = np.isin(keys, known, assume_unique=True)
    return found
