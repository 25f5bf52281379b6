"""What an algorithm returns on a slot, and how it becomes a table in the users' ids.

An algorithm returns its columns over the masters of the slot, in the numbers it computed with.
The type of each says what it is to become:

==========  ======================================  =====================================
column      holds                                   becomes
==========  ======================================  =====================================
Plain       any numbers                             the same
Nullable    integers, negative ones are missing     Int64
Neighbours  an in-neighbour of each master or none  the ids' nullable dtype
Orders      vertices by their orders                the ids' own dtype
==========  ======================================  =====================================
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from dgraph.engine.context import Context
from dgraph.engine.parts import ids_of_far_neighbours
from dgraph.engine.translate import ids_of_locals, ids_of_orders, local_of_neighbours
from dgraph.shard import Shard
from dgraph.vertices.ids import concat_ids

__all__ = ["Column", "Neighbours", "Nullable", "Orders", "Plain", "to_frame"]

Array = NDArray[Any]

#: Results of so many vertices are made on all threads.
LARGE = 50_000


class Column(ABC):
    """A result for every master of a slot."""

    @abstractmethod
    async def in_users_ids(self, ctx: Context, shard: Shard) -> Any:
        """Return the pandas array; on all slots at the same time."""


@dataclass(frozen=True, slots=True)
class Plain(Column):
    """Numbers that are no vertices, none missing."""

    values: Array

    async def in_users_ids(self, ctx: Context, shard: Shard) -> Array:
        """Return the values."""
        return self.values


@dataclass(frozen=True, slots=True)
class Nullable(Column):
    """Integers that are missing where they are negative."""

    values: Array

    async def in_users_ids(self, ctx: Context, shard: Shard) -> pd.arrays.IntegerArray:
        """Return them as Int64."""
        return pd.arrays.IntegerArray(self.values.astype(np.int64), self.values < 0)


@dataclass(frozen=True, slots=True)
class Neighbours(Column):
    """An in-neighbour of each master, or none.

    Parameters
    ----------
    codes : array
        See :func:`dgraph.engine.translate.local_of_neighbours`.
    whole : Shard, optional
        The shard with whole rows, of whose local ids the codes speak, if it is another one.
    """

    codes: Array
    whole: Shard | None = None

    async def in_users_ids(self, ctx: Context, shard: Shard) -> Any:
        """Return user ids in their nullable form; two exchanges, six with split rows."""
        shard = shard if self.whole is None else self.whole
        room = ctx.scratch(shard, self.codes.size, np.int32)
        local = local_of_neighbours(shard, self.codes, out=room)
        missing = local < 0
        # what stands under a missing value is not seen: let it be the first master
        far: tuple[Any, Any] | None = None
        if shard.into_split is not None:
            far = await ids_of_far_neighbours(ctx, shard, shard.into_split, self.codes, local)
            local[far[0]] = 0
        ids = await ids_of_locals(ctx, shard, np.maximum(local, 0, out=local))
        if far is not None:
            which = np.arange(local.size)
            which[far[0]] = local.size + np.arange(far[0].size)
            ids = concat_ids([ids, far[1]]).take(which)
        return ids.to_nullable(missing)


@dataclass(frozen=True, slots=True)
class Orders(Column):
    """A vertex for each master, by its order."""

    orders: Array

    async def in_users_ids(self, ctx: Context, shard: Shard) -> Any:
        """Return user ids in their own dtype; two exchanges."""
        return (await ids_of_orders(ctx, shard, self.orders)).to_pandas()


async def to_frame(ctx: Context, shard: Shard, columns: Mapping[str, Column]) -> pd.DataFrame:
    """Return the rows of this slot's masters: column `vertex`, then `columns`.

    The index counts the rows of all slots on, so it is unique over the whole result. Nothing
    of the shard is handed out: users may write into what they get.
    """
    ctx.stage = "output"
    ctx.cores.release()
    if shard.num_vertices >= LARGE:  # a last superstep that was tiny left one thread awake
        await ctx.allreduce(())
    table: dict[str, Any] = {"vertex": shard.ids.to_pandas().copy()}
    for name, column in columns.items():
        table[name] = await column.in_users_ids(ctx, shard)
    first = int(shard.bases[shard.slot])
    index = pd.RangeIndex(first, first + shard.masters)
    return pd.DataFrame(table, index=index, copy=False)
