"""News on its way: what some masters have to say to their proxies, over agreed ways.

As :mod:`dgraph.engine.multicast`, but only some of the vertices of a list are meant: their
places in it go along, in the shortest encoding, and values beside them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from dgraph.engine.multicast import Branch, Multicast, Select
from dgraph.exchange.encoding import decode_parts, encode_parts
from dgraph.exchange.frame import Frame
from dgraph.kernels import count_below, kernel
from dgraph.shard import Shard

__all__ = [
    "News",
    "join_frames",
    "learn",
    "open_news",
    "pack_news",
    "part_frames",
    "select_news",
]

Array = NDArray[Any]
Places = NDArray[np.int32]
_NO_BITMAPS = np.zeros(0, np.uint64)


class News(NamedTuple):
    """What is new about some of the vertices of a list.

    Parameters
    ----------
    places : int32 array
        Which of them, ascending.
    values : tuple of arrays beside it
    """

    places: Places
    values: tuple[Array, ...]


def select_news(select: Select, news: News) -> News:
    """Return what of the news is about the vertices of a selection, by places in it.

    Examples
    --------
    >>> select = Select(np.array([0b1101], np.uint64), 4)
    >>> select_news(select, News(np.array([1, 2, 3], np.int32), (np.array([7, 8, 9]),)))
    News(places=array([1, 2], dtype=int32), values=(array([8, 9]),))
    """
    if select.places is None:  # the first ones
        end = count_below(news.places, select.size)
        return News(news.places[:end], tuple(some[:end] for some in news.values))
    which, places = _meet(news.places, select.places)
    return News(places, tuple(some[which] for some in news.values))


@kernel
def _meet(some, chosen):  # type: ignore[no-untyped-def]
    """Find what is in both; both ascend. Returns the positions in the one and in the other.

    Examples
    --------
    >>> _meet(np.array([2, 3, 9], np.int32), np.array([0, 3, 4, 9], np.int32))
    (array([1, 2], dtype=int32), array([1, 3], dtype=int32))
    """
    room = min(some.size, chosen.size)
    which, places = np.empty(room, np.int32), np.empty(room, np.int32)
    found, at = 0, 0
    for i in range(some.size):
        while at < chosen.size and chosen[at] < some[i]:
            at += 1
        if at == chosen.size:
            break
        if chosen[at] == some[i]:
            which[found], places[found] = i, at
            found += 1
    return which[:found], places[:found]


def pack_news(slot: int, branch: Branch, held: Mapping[int, News]) -> Frame | None:
    """Pack the news that go over a branch; None if there are none.

    The head has how many sources there are; for each which it is, how many vertices, and what
    `encode_parts` says of them; then the offsets.
    """
    sources, parts = [], []
    for source, select in zip(branch.sources, branch.selects, strict=True):
        if source in held:
            news = select_news(select, held[source])
            if news.places.size:
                sources.append(source)
                parts.append(news)
    if not parts:
        return None
    counts = [news.places.size for news in parts]
    begin = np.concatenate([[0], np.cumsum(counts)])
    lengths, offsets, bitmaps = encode_parts(
        np.concatenate([news.places for news in parts]), begin
    )
    rows = np.array([sources, counts, lengths], np.int32).T.ravel()
    head = np.concatenate([np.array([len(parts)], np.int32), rows, offsets])
    values = [
        np.concatenate(some) for some in zip(*(news.values for news in parts), strict=True)
    ]
    return Frame(slot, branch.to, (head, bitmaps, *values), int(begin[-1]))


def open_news(columns: Sequence[Array]) -> dict[int, News]:
    """Return the news of each source that :func:`pack_news` packed.

    Examples
    --------
    >>> everything = Select(np.array([0b1111], np.uint64), 4)
    >>> news = News(np.array([0, 3], np.int32), (np.array([5, 6]),))
    >>> frame = pack_news(0, Branch(1, [7], [everything], 4), {7: news})
    >>> open_news(frame.columns)
    {7: News(places=array([0, 3], dtype=int32), values=(array([5, 6]),))}
    """
    head, bitmaps, *values = columns
    end = 1 + 3 * int(head[0])
    sources, counts, lengths = np.ascontiguousarray(head[1:end].reshape(-1, 3).T)
    places = decode_parts(counts, lengths, head[end:], bitmaps)
    found, at = {}, 0
    for source, count in zip(sources.tolist(), counts.tolist(), strict=True):
        piece = slice(at, at + count)
        found[source] = News(places[piece], tuple(some[piece] for some in values))
        at += count
    return found


def learn(
    shard: Shard, ways: Multicast, held: Mapping[int, News], values: Sequence[Array]
) -> Places:
    """Write what came for the proxies of a slot, and return which they are."""
    told = [np.zeros(0, np.int32)]
    for source, select in ways.own.items():
        if source in held:
            news = select_news(select, held[source])
            proxies = news.places + np.int32(shard.group_start[source])
            for some, new in zip(values, news.values, strict=True):
                some[proxies] = new
            told.append(proxies)
    return np.concatenate(told)


def join_frames(frames: Sequence[Frame], others: Sequence[Frame]) -> list[Frame]:
    """Make one frame of two to the same slot, of which each may be missing.

    Examples
    --------
    >>> one = Frame(0, 1, (np.zeros(2), np.zeros(3)), 2)
    >>> [frame.count for frame in join_frames([one], [Frame(0, 1, (np.ones(1),), 1)])]
    [3]
    """
    nothing: tuple[Array, ...] = ()
    first, second = ({frame.target: frame for frame in some} for some in (frames, others))
    joined = []
    for to in sorted({*first, *second}):
        pair = first.get(to), second.get(to)
        columns = [nothing if frame is None else frame.columns for frame in pair]
        source = next(frame.source for frame in pair if frame is not None)
        count = sum(frame.count for frame in pair if frame is not None)
        split = np.array([len(columns[0])], np.int32)
        joined.append(Frame(source, to, (split, *columns[0], *columns[1]), count))
    return joined


def part_frames(frame: Frame) -> tuple[Sequence[Array], Sequence[Array]]:
    """Return the columns of the two frames that :func:`join_frames` joined."""
    split, *columns = frame.columns
    return columns[: int(split[0])], columns[int(split[0]) :]
