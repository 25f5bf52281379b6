"""Agreed ways from masters to proxies: a value crosses to a domain once, for all slots there.

Towards the slots that have proxies of it the ways of a vertex form a tree. What a slot sends
over a branch is the union of what the slots behind it have: an ascending list that both ends
agree on once, so that dense values need no ids. A gateway knows which of what it gets goes on
over each branch::

    source --[union]--> gateway --[select]--> slot with proxies
                                --[select]--> gateway --[select]--> ...

The source of the vertices makes the whole tree and tells each slot its part, in one exchange.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from dgraph.distinct import distinct
from dgraph.exchange.blocks import decode_blocks, encode_blocks
from dgraph.exchange.frame import Frame
from dgraph.exchange.routing.ground import Strategy, positions
from dgraph.shard import Shard
from dgraph.shard.bits import compress_bits, count_bits, set_bits, words
from dgraph.shard.bits import positions as list_bits

__all__ = ["Branch", "Multicast", "Select", "fill", "grow", "join", "open_bits", "pack_bits"]

#: What stands for how many offsets there are of a source that has none.
BITMAP, BLOCKS = -1, -2

Array = NDArray[Any]
Bits = NDArray[np.uint64]
Numbers = NDArray[np.int64]
Columns = tuple[Array, ...]


class Select:
    """Which entries of a list are meant.

    Parameters
    ----------
    mask : bitmap over the list
    length : int
        Of the list.

    Examples
    --------
    >>> select = Select(np.array([0b1101], np.uint64), 4)
    >>> select.size, select.take(np.array([5, 6, 7, 8]), np.empty(3, int))
    (3, array([5, 7, 8]))
    """

    def __init__(self, mask: Bits, length: int) -> None:
        self.size = count_bits(mask)
        self.mask: Bits | None = mask
        self.places: NDArray[np.int32] | None = None
        if self.size == length:
            self.mask = None  # all of them
            return
        places = np.empty(self.size, np.int32)
        list_bits(mask, places)
        if self.size and int(places[-1]) >= self.size:  # else they are the first ones
            self.places = places

    def take(self, values: Array, out: Array) -> Array:
        """Write the entries that are meant to `out`, and return it."""
        if self.places is None:
            out[:] = values[: self.size]
        else:
            np.take(values, self.places, out=out, mode="clip")
        return out

    def take_bits(self, bits: Bits) -> Bits:
        """Return the bits of those that are meant, without gaps."""
        if self.mask is None:
            return bits[: words(self.size)]
        out = np.empty(words(self.size), np.uint64)
        compress_bits(bits[: self.mask.size], self.mask, out)
        return out

    @property
    def nbytes(self) -> int:
        """Bytes of the arrays."""
        return sum(some.nbytes for some in (self.mask, self.places) if some is not None)


class Branch(NamedTuple):
    """What a slot sends to another in a stage: for each source, a selection of what it has."""

    to: int
    sources: list[int]
    selects: list[Select]
    size: int


@dataclass
class Multicast:
    """The part of a slot in the ways of all values.

    Parameters
    ----------
    branches : list of list of Branch
        For each stage.
    arrivals : list of dict
        For each stage: by the slot that sends, the sources whose values it sends, ascending,
        and how many of each.
    own : dict of int to Select
        For each source, which of the entries that come are those of the proxies here.
    """

    branches: list[list[Branch]]
    arrivals: list[dict[int, list[tuple[int, int]]]]
    own: dict[int, Select]
    nbytes: int = field(default=0)

    def __post_init__(self) -> None:
        """Add up the bytes of all selections."""
        selects = [select for stage in self.branches for b in stage for select in b.selects]
        self.nbytes = sum(select.nbytes for select in (*selects, *self.own.values()))


class Edge(NamedTuple):
    """A branch of one source's tree: in `stage`, from one slot to another, these masters."""

    stage: int
    here: int
    there: int
    members: Bits


def grow(shard: Shard, strategy: Strategy) -> list[Columns | None]:
    """Return what to tell every slot of the tree of this one's vertices.

    An entry is None for a slot that the tree does not reach. Else it is two arrays: int64,
    stage and sender of what comes and how long it is, then how many branches go on, and for
    each its stage, its other end; and uint64: a bitmap for each branch, and one for the
    proxies there.
    """
    edges = list(_edges(shard, strategy))
    came: dict[int, Edge] = {edge.there: edge for edge in edges}
    assert len(came) == len(edges), "two branches lead to one slot"
    told: list[Columns | None] = [None] * shard.slots
    further: dict[int, list[Edge]] = {}
    for edge in edges:
        further.setdefault(edge.here, []).append(edge)
    for slot in {shard.slot, *came}:
        stage, sender, held = 0, slot, _members(shard, None)
        if slot != shard.slot:
            stage, sender, _, held = came[slot]
        onward = further.get(slot, [])
        head = [stage, sender, count_bits(held), len(onward)]
        bitmaps = []
        for edge in onward:
            head += [edge.stage, edge.there]
            bitmaps.append(_within(edge.members, held))
        bitmaps.append(_within(_members(shard, [slot]), held))
        told[slot] = np.array(head, np.int64), np.concatenate(bitmaps)
    return told


def _edges(shard: Shard, strategy: Strategy) -> Iterator[Edge]:
    targets = np.array([slot for slot in shard.peers if shard.shared[slot].size], np.int64)
    if targets.size == 0:
        return
    where = positions(strategy, shard.slot, targets)
    for stage in range(strategy.stages):
        here, there = where[stage], where[stage + 1]
        link = here * shard.slots + there
        for number in distinct(link[here != there]).tolist():
            behind = targets[link == number].tolist()
            yield Edge(
                stage, number // shard.slots, number % shard.slots, _members(shard, behind)
            )


def _members(shard: Shard, slots: Sequence[int] | None) -> Bits:
    """Return the bitmap of the masters of which some of the slots have proxies; None: all."""
    bits = np.zeros(words(shard.masters), np.uint64)
    if slots is None:
        set_bits(bits, np.arange(shard.masters, dtype=np.int32))
    for slot in slots or ():
        set_bits(bits, shard.shared[slot])
    return bits


def _within(members: Bits, held: Bits) -> Bits:
    """Return which entries of the list of `held` are members."""
    out = np.zeros(words(count_bits(held)), np.uint64)
    compress_bits(members & held, held, out)
    return out


def join(told: Sequence[Columns | None], stages: int, slot: int) -> Multicast:
    """Return the part of a slot, from what all sources told it."""
    branches: list[dict[int, list[tuple[int, Select]]]] = [{} for _ in range(stages)]
    arrivals: list[dict[int, list[tuple[int, int]]]] = [{} for _ in range(stages)]
    own = {}
    for source, some in enumerate(told):
        if some is None:
            continue
        head, bitmaps = some
        stage, sender, length, onward = head[:4].tolist()
        if source != slot:
            arrivals[stage].setdefault(sender, []).append((source, length))
        masks = bitmaps.reshape(onward + 1, words(length))
        for (later, there), mask in zip(head[4:].reshape(-1, 2).tolist(), masks, strict=False):
            branches[later].setdefault(there, []).append((source, Select(mask, length)))
        if source != slot:
            own[source] = Select(masks[-1], length)
    return Multicast([_sorted(stage) for stage in branches], arrivals, own)


def _sorted(stage: Mapping[int, list[tuple[int, Select]]]) -> list[Branch]:
    found = []
    for there, some in sorted(stage.items()):
        sources, selects = (list(column) for column in zip(*some, strict=True))
        found.append(Branch(there, sources, selects, sum(select.size for select in selects)))
    return found


def fill(branch: Branch, held: dict[int, Array], column: Array) -> None:
    """Write what goes over a branch into one column."""
    at = 0
    for source, select in zip(branch.sources, branch.selects, strict=True):
        select.take(held[source], column[at : at + select.size])
        at += select.size


def pack_bits(
    slot: int, branch: Branch, held: dict[int, Bits], dear: bool = False
) -> Frame | None:
    """Pack bits that go over a branch, in fewer bytes if these are `dear`; None if none is set.

    The head has how many sources there are, then for each which it is and how many offsets it
    has, or that it has a bitmap or blocks; then the offsets. See
    :mod:`dgraph.exchange.blocks`.
    """
    head, offsets, count = [0], [], 0
    bitmaps: list[Bits] = []
    blocks: list[Any] = []
    for source, select in zip(branch.sources, branch.selects, strict=True):
        if source not in held:
            continue
        found = select.take_bits(held[source])
        known = count_bits(found)
        if not known:
            continue
        told = encode_blocks(found) if dear else None
        if told is not None and told.nbytes < 4 * known:
            blocks.append(told)
            known = BLOCKS
        elif 4 * known < found.nbytes:
            offsets.append(np.empty(known, np.int32))
            list_bits(found, offsets[-1])
        else:
            bitmaps.append(found)
            known = BITMAP
        head += [source, known]
        head[0] += 1
        count += select.size
    if not head[0]:
        return None
    columns: tuple[Any, ...] = (np.concatenate([np.array(head, np.int32), *offsets]),)
    columns += tuple(np.concatenate(some) for some in (bitmaps, blocks) if some)
    return Frame(slot, branch.to, columns, count)


def open_bits(frame: Frame, lengths: dict[int, int]) -> dict[int, Bits]:
    """Return the bits of each source that :func:`pack_bits` packed."""
    head = frame.columns[0]
    found = {}
    at, word, byte = 1 + 2 * int(head[0]), 0, 0
    for source, known in head[1:at].reshape(-1, 2).tolist():
        size = words(lengths[source])
        if known == BLOCKS:
            found[source] = np.empty(size, np.uint64)
            byte += decode_blocks(frame.columns[-1][byte:], found[source])
        elif known == BITMAP:
            found[source] = frame.columns[1][word : word + size]
            word += size
        else:
            found[source] = np.zeros(size, np.uint64)
            set_bits(found[source], head[at : at + known])
            at += known
    return found
