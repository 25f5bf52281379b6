"""Results of algorithms: Dask DataFrames whose partitions already lie on the workers.

There is one partition for each slot, and in it a row for each of the slot's own vertices. So
the rows of all results of one graph line up, partition by partition.
"""

from __future__ import annotations

import contextlib
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import dask.dataframe as dd
import numpy as np
import pandas as pd
from distributed import CancelledError, Client, Future
from distributed.client import _wait as wait  # the public one wants a default client

from dgraph.clients import call, is_default, then
from dgraph.engine.columns import Column, to_frame
from dgraph.engine.context import Context
from dgraph.engine.records import RunRecord
from dgraph.engine.spec import SlotProgram
from dgraph.errors import ConvergenceWarning, GraphLostError
from dgraph.home import Home
from dgraph.shard import Shard
from dgraph.vertices.ids import Ids, IntIds, StringIds
from dgraph.warn import warn

if TYPE_CHECKING:
    from dask.dataframe import DataFrame

__all__ = [
    "NULLABLE_VERTEX",
    "VERTEX",
    "Result",
    "collect",
    "frame_of",
    "listing",
    "meta_of",
    "no_ids",
    "table",
]

#: Instead of a dtype: the column holds vertices in the users' dtype, or its nullable form.
VERTEX = "vertex"
NULLABLE_VERTEX = "nullable vertex"


class Result(dd.DataFrame):
    """A Dask DataFrame that lies on the workers of one client's cluster.

    Dask computes with the current client, and where that is not one of this cluster it says
    which key it does not know: so a result takes its own client. What is derived from it is a
    plain Dask DataFrame.
    """

    def compute(self, **options: Any) -> Any:
        """Return the result as a pandas DataFrame.

        Raises
        ------
        GraphLostError
            If the client of the result is closed.
        """
        with self._client_at_work(options):
            return super().compute(**options)  # type: ignore[no-untyped-call]

    def persist(self, fuse: bool = True, **options: Any) -> Any:
        """Return the result as a Dask DataFrame of its own futures; raise as `compute` does."""
        with self._client_at_work(options):
            return super().persist(fuse, **options)  # type: ignore[no-untyped-call]

    def _client_at_work(
        self, options: Mapping[str, Any]
    ) -> contextlib.AbstractContextManager[Any]:
        """Return what makes the result's client the current one."""
        mine: Client = self.__dict__["_dgraph_client"]
        if mine.status != "running":
            raise GraphLostError(
                "the client of this result is closed, and with it the result: write results "
                "before (to_parquet), or run the algorithm again with another client"
            )
        if options.get("scheduler") is not None or mine.asynchronous:
            return contextlib.nullcontext()  # users know what they want
        return mine.as_current()


def table(
    home: Home,
    ids: str,
    name: str,
    program: SlotProgram,
    *arguments: Any,
    columns: Mapping[str, str],
    record: bool = False,
) -> Any:
    """Run a slot program that has columns over the vertices, and return them.

    Parameters
    ----------
    home : Home
    ids : str
        The dtype of the users' ids.
    name : str
    program : coroutine function
        Called on every slot as ``program(ctx, shard, *arguments)``; returns a mapping of
        names to :class:`~dgraph.engine.columns.Column`.
    *arguments
    columns : mapping of str to str
        The dtypes of these columns, by name: of pandas, VERTEX or NULLABLE_VERTEX.
    record : bool
        Whether this is a run that users want to see among those of the graph.

    Returns
    -------
    dask.dataframe.DataFrame, or an awaitable of it if the client is asynchronous
        Columns: vertex, then `columns`.
    """
    meta = meta_of(ids, {"vertex": VERTEX, **columns})

    waits = not is_default(home.client)

    async def run() -> tuple[RunRecord, DataFrame]:
        found, partitions, rows = await home.run(name, _tabulate, program, *arguments)
        if record:
            home.note(found)
        if waits:
            await _are_there(partitions)
        return found, frame_of(home.client, partitions, meta, name, rows)

    home.check()
    return then(call(home.client, run), _warned)


def listing(home: Home, meta: pd.DataFrame, name: str, program: SlotProgram) -> Any:
    """Run a slot program that makes a pandas DataFrame, and return the Dask DataFrame."""
    waits = not is_default(home.client)

    async def run() -> DataFrame:
        _, partitions, rows = await home.run(name, _list, program)
        if waits:
            await _are_there(partitions)
        return frame_of(home.client, partitions, meta, name, rows)

    home.check()
    return call(home.client, run)


def collect(home: Home, *programs: SlotProgram) -> Any:
    """Run slot programs that make pandas DataFrames; fetch, for each, a frame per slot."""

    async def run() -> list[list[pd.DataFrame]]:
        tables = []
        for program in programs:
            _, partitions, _ = await home.run("fetch", program)
            tables.append(await home.client.gather(partitions))
        return tables

    home.check()
    return call(home.client, run)


async def _are_there(partitions: Sequence[Future[Any]]) -> None:
    """Wait for the partitions of a result that another client may compute with at once.

    What two clients send is not in sequence for the scheduler: it would not know them yet.
    """
    with contextlib.suppress(CancelledError):
        await wait(partitions)


def _warned(found: tuple[RunRecord, DataFrame]) -> DataFrame:
    """Return a result; warn, where the user can see it, if an iteration has not converged."""
    record, frame = found
    if not record.converged:
        rounds = record.notes.get("rounds", record.supersteps)
        warn(
            f"{record.algorithm} did not meet its tolerance in {rounds} "
            f"round{'s' * (rounds != 1)}: raise max_iter or tol (--max-iter, --tol)",
            ConvergenceWarning,
        )
    return frame


async def _tabulate(
    ctx: Context, shard: Shard, program: SlotProgram, *arguments: Any
) -> tuple[pd.DataFrame, range]:
    columns: Mapping[str, Column] = await program(ctx, shard, *arguments)
    return _with_rows(await to_frame(ctx, shard, columns))


async def _list(ctx: Context, shard: Shard, program: SlotProgram) -> tuple[pd.DataFrame, range]:
    return _with_rows(await program(ctx, shard))


def _with_rows(frame: pd.DataFrame) -> tuple[pd.DataFrame, range]:
    """Return a frame, and which rows of the whole result it has."""
    index = frame.index
    assert isinstance(index, pd.RangeIndex)
    return frame, range(index.start, index.stop)


def frame_of(
    client: Client,
    partitions: Sequence[Future[pd.DataFrame]],
    meta: pd.DataFrame,
    name: str,
    rows: Sequence[range] = (),
) -> DataFrame:
    """Return the Dask DataFrame whose partitions are these futures, in this sequence.

    Nothing is scheduled for it: it is what ``persist`` returns. If it is known which rows of
    the whole each has, columns of several results go together without a shuffle.
    """
    keys = [partition.key for partition in partitions]
    layer = dict(zip(keys, partitions, strict=True))
    divisions = _divisions(rows) or (None,) * (len(keys) + 1)
    lazy = dd.from_graph(layer, meta, divisions, keys, name)
    frame: DataFrame = Result(lazy.expr)  # type: ignore[no-untyped-call]
    frame.__dict__["_dgraph_client"] = client
    return frame


def _divisions(rows: Sequence[range]) -> tuple[int, ...]:
    """Return Dask's divisions of partitions with these rows, () if there are none.

    Examples
    --------
    >>> _divisions([range(4), range(4, 6)]), _divisions([range(4), range(4, 4)])
    ((0, 4, 5), ())
    """
    if not all(rows):
        return ()
    return (*(some.start for some in rows), *(some.stop - 1 for some in rows[-1:]))


def meta_of(ids: str, columns: Mapping[str, str]) -> pd.DataFrame:
    """Return a frame without rows that has the right columns and dtypes.

    Examples
    --------
    >>> meta_of("uint8", {"vertex": VERTEX, "distance": "Int64", "predecessor": NULLABLE_VERTEX}
    ... ).dtypes.astype(str).to_dict()
    {'vertex': 'uint8', 'distance': 'Int64', 'predecessor': 'UInt8'}
    """
    none = no_ids(ids)
    special = {VERTEX: none.to_pandas(), NULLABLE_VERTEX: none.to_nullable(np.zeros(0, bool))}
    return pd.DataFrame(
        {
            name: special[dtype] if dtype in special else pd.Series(dtype=dtype)
            for name, dtype in columns.items()
        }
    )


def no_ids(dtype: str) -> Ids:
    """Return a column of no ids of a dtype.

    >>> no_ids("str"), no_ids("int8").dtype
    (StringIds([]), 'int8')
    """
    return StringIds.of([]) if dtype == "str" else IntIds(np.zeros(0, dtype))
