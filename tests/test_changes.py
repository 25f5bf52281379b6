"""The exchange of changes: what was sent stays what it was, whatever the sender does next."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from dgraph.engine.changes import exchange_changes
from dgraph.engine.context import Context
from dgraph.engine.pool import run
from dgraph.shard import Shard
from tests.reference import build, plain


class Told(NamedTuple):
    """What a slot heard: the proxies whose masters have changed, and their values."""

    proxies: list[int]
    values: list[int]
    wanted: list[tuple[int, int]]


async def _tell_and_reuse(ctx: Context, shard: Shard) -> Told:
    """Tell all slots the own number as the value of the first master, then reuse the array."""
    values = np.full(shard.rank.size, -1)
    values[0] = ctx.slot
    changed = np.zeros(1, np.int32)
    told = await exchange_changes(ctx, shard, changed, (values,))
    changed[:] = 1  # at once: slots that have not resumed yet still read what was sent
    wanted = [(int(shard.group_start[peer]), peer) for peer in shard.peers]
    return Told(told.tolist(), values[told].tolist(), wanted)


def test_what_was_sent_may_be_written_over_at_once() -> None:
    """A frame goes by reference; with one thread a slot resumes before others have read it."""
    ends = np.array([(u, v) for u in range(12) for v in range(u)]).T
    for told in run(_tell_and_reuse, build(plain(*ends), 4), slots=4, threads=1):
        assert sorted(zip(told.proxies, told.values, strict=True)) == sorted(told.wanted)
