"""From partitions of edges to chunks, on the workers where they lie; ends before the build.

A partition that Dask computes is absorbed by a task behind its own; one that the client has is
sent to a worker first.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Sequence
from contextlib import suppress
from typing import Any, NoReturn, Protocol

from dask.delayed import Delayed, delayed
from distributed import CancelledError, Future

from dgraph.edges.chunk import ChunkSpec, make_chunk
from dgraph.edges.receipt import Receipt
from dgraph.edges.vertex_chunk import VertexSpec, make_vertex_chunk
from dgraph.engine.plugin import find_plugin
from dgraph.errors import EdgeValueError
from dgraph.home import Home, while_all_there

__all__ = ["Input", "absorb"]

#: Partitions that are on their way from the client to a worker, or absorbed there, at a time.
IN_FLIGHT = 4


class Input(Protocol):
    """Partitions of edges or of vertices; all Delayed, for the workers to compute, or none."""

    @property
    def spec(self) -> ChunkSpec | VertexSpec:
        """What the partitions hold, and in which columns."""

    @property
    def parts(self) -> Sequence[Any]:
        """The partitions."""


async def absorb(home: Home, inputs: Iterable[Input], chunks: list[Future[Receipt]]) -> None:
    """Make chunks of all partitions, on the workers of the graph; return when it is done.

    Parameters
    ----------
    home : Home
    inputs : iterable of Input
    chunks : list
        Gets the futures of the receipts, in the sequence of the partitions. As long as they are
        held, so are the chunks.

    Raises
    ------
    GraphLostError
        If one of the workers leaves meanwhile.
    Exception
        What computing a partition raised, as it is.
    """
    await while_all_there(home, _absorb_all(home, inputs, chunks))


async def _absorb_all(
    home: Home, inputs: Iterable[Input], chunks: list[Future[Receipt]]
) -> None:
    turn = asyncio.Semaphore(IN_FLIGHT * len(home.addresses))
    for some in inputs:
        numbers = range(len(chunks), len(chunks) + len(some.parts))
        numbered = list(zip(numbers, some.parts, strict=True))
        if some.parts and isinstance(some.parts[0], Delayed):
            tasks = [
                delayed(_absorb, pure=False)(part, some.spec, home.name, number)
                for number, part in numbered
            ]
            chunks += home.client.compute(
                tasks, workers=home.addresses, allow_other_workers=False
            )
        else:
            chunks += await asyncio.gather(
                *(
                    _absorb_here(home, part, some.spec, number, turn)
                    for number, part in numbered
                )
            )
    error = await _first_error(chunks)
    if error is not None:
        try:
            raise error
        finally:
            del error  # which this frame is part of: it would hold itself
    for chunk in chunks:
        if chunk.status == "cancelled":
            await _refuse_cancelled(chunk)


async def _refuse_cancelled(chunk: Future[Receipt]) -> NoReturn:
    """Say why a task was cancelled, if its partition is nothing that the scheduler knows."""
    try:
        await chunk
    except CancelledError as error:
        if getattr(error, "reason", None) != "lost dependencies":
            raise
    raise EdgeValueError(
        "expected edges that the client's cluster can compute, got some that lie on another "
        "cluster, or were released since: pass client= of the cluster that has them"
    )


async def _first_error(futures: Iterable[Future[Any]]) -> BaseException | None:
    """Wait for futures until one fails; return what its task raised, None if none does.

    Awaited, a future raises in frames that hold it, and it holds the error: together they would
    keep all that the user's call has in hand until garbage is collected.
    """
    waiting = [asyncio.ensure_future(future.exception()) for future in futures]
    try:
        for done in asyncio.as_completed(waiting):
            error: BaseException | None = await done
            if error is not None:
                return error
    finally:  # after the first failure nobody asks for the others
        for task in waiting:
            task.cancel()
        await asyncio.gather(*waiting, return_exceptions=True)
    return None


async def _absorb_here(
    home: Home, part: Any, spec: ChunkSpec | VertexSpec, number: int, turn: asyncio.Semaphore
) -> Future[Receipt]:
    """Send a partition that is here to a worker, and absorb it there."""
    address = home.addresses[number % len(home.addresses)]
    async with turn:
        sent = await home.client.scatter(part, workers=[address], hash=False)
        chunk = home.client.submit(
            _absorb, sent, spec, home.name, number, workers=[address], pure=False
        )
        await _settled(chunk)
    return chunk


def _absorb(part: Any, spec: ChunkSpec | VertexSpec, graph: str, number: int) -> Receipt:
    """Make a chunk of a partition and keep it on this worker; the function of a task."""
    chunk: Any
    if isinstance(spec, ChunkSpec):
        chunk, receipt = make_chunk(part, spec, number)
    else:
        chunk, receipt = make_vertex_chunk(part, spec, number)
    find_plugin().keep_chunk(graph, number, chunk)
    return receipt


async def _settled(future: Future[Any]) -> None:
    """Wait until a future is done, well or not; `distributed.wait` asks the default client."""
    with suppress(Exception):
        await future
