"""Run slot programs on threads and put their results together."""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Sequence
from typing import Any

import pandas as pd

from dgraph.engine.columns import to_frame
from dgraph.engine.context import Context
from dgraph.engine.network import Network
from dgraph.engine.pool import run
from dgraph.errors import RunError
from dgraph.shard import Shard

Program = Callable[..., Coroutine[Any, Any, Any]]


class Steps:
    """An observer that notes the stage of every superstep."""

    def __init__(self) -> None:
        self.stages: list[str] = []

    def superstep(self, stage: str, *_: Any) -> None:
        self.stages.append(stage)

    def count(self) -> int:
        """Return the supersteps of the algorithm, without those of its output."""
        return len(self.stages) - self.stages.count("output")


def frame_of(
    program: Program,
    shards: Sequence[Shard],
    *arguments: Any,
    observer: Any = None,
    network: Network | None = None,
    threads: int | None = None,
) -> pd.DataFrame:
    """Run an algorithm and return its table, by ascending user id, with what it noted."""

    async def framed(ctx: Context, shard: Shard) -> tuple[pd.DataFrame, dict[str, Any]]:
        columns = await program(ctx, shard, *arguments)
        return await to_frame(ctx, shard, columns), ctx.notes

    slots = len(shards)
    try:
        results = run(
            framed, shards, slots=slots, threads=threads, observer=observer, network=network
        )
    except RunError as error:
        raise error.__cause__ or error from None
    whole = pd.concat([frame for frame, _ in results])
    assert list(whole.index) == list(range(len(whole)))
    for _, notes in results:
        assert notes == results[0][1]
    whole.attrs = results[0][1]
    by_id: pd.DataFrame = whole.sort_values("vertex", ignore_index=True)
    return by_id
