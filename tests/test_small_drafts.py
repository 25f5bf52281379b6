"""The draft that one slot gets in one exchange is the draft that it gets like any other."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any
from unittest import mock

import numpy as np
from hypothesis import example, given, settings
from hypothesis import strategies as st

from dgraph.build import drafting
from dgraph.build.drafting import draw_up
from dgraph.build.meeting import Filed, desk_rows, order_of_row
from dgraph.build.numbering import Numbering, no_ids
from dgraph.engine.context import Context
from dgraph.engine.pool import run
from dgraph.shard import Shard

Edge = tuple[int, int, float]


def filed_on(slot: int, slots: int, n: int, edges: Sequence[Edge], weighted: bool) -> Filed:
    """Return the edges whose first ends have their rows on a slot."""
    orders = [order_of_row(row, slot, slots) for row in range(desk_rows(n, slots))]
    rows = [[(v, w) for u, v, w in edges if u == order] for order in orders]
    columns = [v for row in rows for v, _ in row]
    weights = np.array([w for row in rows for _, w in row], np.float64)
    offsets = np.cumsum([0, *map(len, rows)]).astype(np.int32)
    return Filed(offsets, np.array(columns, np.int32), weights if weighted else None)


def drafts(n: int, edges: Sequence[Edge], slots: int, target: int, weighted: bool) -> Any:
    """Return the draft of each slot, of which one has all, and the number of exchanges."""
    cuts = np.arange(slots + 1) * n // slots
    rank = np.random.default_rng(n).permutation(n).astype(np.int32)
    counted = mock.Mock()

    async def program(ctx: Context, filed: Filed) -> Shard:
        begin, end = cuts[ctx.slot : ctx.slot + 2]
        known = Numbering(cuts, no_ids("int64"), [], [])
        owner = np.full(end - begin, target, np.int32)
        return await draw_up(ctx, filed, known, rank[begin:end], owner, len(edges))

    filed = [filed_on(slot, slots, n, edges, weighted) for slot in range(slots)]
    found = run(program, filed, slots=slots, threads=1, observer=counted)
    return found, counted.superstep.call_count


def links(shard: Shard) -> Counter[Any]:
    """Return what stands in the rows, however often."""
    row = np.repeat(np.arange(shard.masters), np.diff(shard.out.offsets))
    columns: list[Any] = [row, shard.out.targets]
    if shard.out.weights is not None:
        columns.append(shard.out.weights)
    return Counter(zip(*(column.tolist() for column in columns), strict=True))


ENDS = st.integers(0, 39)


@given(
    st.integers(1, 40),
    st.lists(st.tuples(ENDS, ENDS, st.sampled_from([0.0, 0.5, 2.0])), max_size=40),
    st.lists(ENDS, max_size=3),
    st.integers(1, 4),
    st.booleans(),
    st.data(),
)
@example(40, [(3, 30, 0.5), (3, 30, 2.0), (30, 3, 0.5)], [3, 3], 3, True, None)
@settings(max_examples=40)
def test_both_ways_lead_to_the_same_draft(
    n: int, pairs: list[Edge], loops: list[int], slots: int, weighted: bool, data: Any
) -> None:
    target = slots - 1 if data is None else data.draw(st.integers(0, slots - 1))
    edges = [(u % n, v % n, w) for u, v, w in pairs] + [(u % n, u % n, 2.0) for u in loops]
    found, few = drafts(n, edges, slots, target, weighted)
    with mock.patch.object(drafting, "PIECE", max(len(edges) - 1, 1)):
        want, many = drafts(n, edges, slots, target, weighted)
    assert few == 2  # how many vertices each slot gets; all the rest
    assert many > few or len(edges) <= 1
    for one, other in zip(found, want, strict=True):
        assert links(one) == links(other)
        assert one.out.targets.dtype == other.out.targets.dtype
        assert (one.out.weights is None) == (other.out.weights is None) == (not weighted)
        assert (one.size, one.rank.dtype) == (other.size, other.rank.dtype)
        for name in ("rank", "order", "bases", "group_start", "group_size"):
            assert getattr(one, name).tolist() == getattr(other, name).tolist(), name
        assert [len(some) for some in one.shared] == [len(some) for some in other.shared]
