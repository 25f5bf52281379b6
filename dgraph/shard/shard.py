"""The shard: the part of a graph that one slot holds.

::

    local ids   0 ........ masters | pad | group of slot s | pad | group of slot t | ...  size
                own vertices,            proxies: vertices that others own and that
                ascending rank           edges here touch; ascending rank in each group

A vertex has one master, on its owner, and a proxy wherever an edge that lives there touches
it. Owner and holder of a group agreed on its order when the graph was built, so a dense message
about it needs no ids. Groups start at multiples of 64: a bitmap of a group is whole words.

A vertex has three numbers, all in 0 .. n-1: its `rank` (higher degree first, then smaller user
id: what ties are decided by), its `order` (position among the sorted user ids) and its `placed`
number (``bases[owner] + local id there``).
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dgraph.shard.adjacency import Adjacency
from dgraph.shard.split import Split
from dgraph.vertices.ids import Ids

__all__ = ["Dictionary", "Shard", "narrow_dtype", "number_dtype"]

Array = NDArray[Any]
#: Numbers of vertices are int32 below this many vertices, int64 from it on.
WIDE = 2**31


def number_dtype(vertices: int) -> np.dtype[Any]:
    """Return the dtype that holds the numbers of so many vertices.

    Examples
    --------
    >>> number_dtype(10), number_dtype(2**31)
    (dtype('int32'), dtype('int64'))
    """
    return np.dtype(np.int32 if vertices < WIDE else np.int64)


def narrow_dtype(count: int) -> np.dtype[Any]:
    """Return the dtype for the numbers of few things, such as slots, and -1 for none.

    Examples
    --------
    >>> narrow_dtype(16), narrow_dtype(2**15)
    (dtype('int16'), dtype('int32'))
    """
    return np.dtype(np.int16 if count < 2**15 else np.int32)


@dataclass(frozen=True, slots=True)
class Dictionary:
    """One block of the dictionary between user ids and vertices, spread over the slots.

    Slot k holds the vertices whose `order` lies in ``cuts[k] .. cuts[k+1]``.

    Parameters
    ----------
    cuts : int64 array of length slots + 1
    ids : Ids
        The user ids of this block, ascending: position + ``cuts[slot]`` is the order.
    placed : array
        Their placed numbers.
    """

    cuts: NDArray[np.int64]
    ids: Ids
    placed: Array

    @property
    def nbytes(self) -> int:
        """Bytes of the arrays."""
        return self.ids.nbytes + self.placed.nbytes


@dataclass(frozen=True, slots=True)
class Shard:
    """What one slot holds of a graph; see the module's docstring for the numbers.

    Parameters
    ----------
    slot, slots : int
    num_vertices, num_edges : int
        Of the whole graph; edges as the user counts them.
    directed : bool
    bases : int64 array of length slots + 1
        Masters on the slots before each slot.
    group_start, group_size : int64 arrays of length slots
        Where the group of each owner lies among the local ids. Own group: 0, masters.
    size : int
        Length of an array that has an entry for every local id, padding included.
    rank : array of length size
        Rank of every local vertex; ``num_vertices`` in the padding.
    order : array of length masters
    ids : Ids
        User ids of the masters.
    out, into : Adjacency
        Out-edges and in-edges of the masters; the same object in an undirected graph. A loop
        stands once in a row (undirected) or once in each (directed).
    shared : tuple of int32 arrays, one for each slot
        ``shared[s]``: my masters that have a proxy on slot s, ascending: the order of the
        group that s holds for me. ``shared[slot]`` is empty.
    dictionary : Dictionary
    out_split, into_split : Split or None
        The rows that are split over slots, of which `out` and `into` hold the first pieces
        only; the same object in an undirected graph. None on all slots if no vertex is split.
    """

    slot: int
    slots: int
    num_vertices: int
    num_edges: int
    directed: bool
    bases: NDArray[np.int64]
    group_start: NDArray[np.int64]
    group_size: NDArray[np.int64]
    size: int
    rank: Array
    order: Array
    ids: Ids
    out: Adjacency
    into: Adjacency
    shared: tuple[NDArray[np.int32], ...]
    dictionary: Dictionary
    out_split: Split | None = None
    into_split: Split | None = None
    #: For each slot: the k for which ``shared[s]`` is simply 0 .. k-1, else -1.
    prefix: tuple[int, ...] = field(init=False)
    #: The other slots, and where their groups start: ascending, unlike `group_start`.
    peers: tuple[int, ...] = field(init=False)
    peer_start: NDArray[np.int64] = field(init=False)
    #: What algorithms made of this shard and keep for their next run, by name: rows by weight.
    #: It is not part of the graph, and it can be dropped at any time.
    derived: dict[str, Any] = field(init=False, default_factory=dict, repr=False, compare=False)

    def __post_init__(self) -> None:
        """Derive what every superstep looks at."""
        peers = tuple(slot for slot in range(self.slots) if slot != self.slot)
        object.__setattr__(self, "peers", peers)
        object.__setattr__(self, "peer_start", self.group_start[list(peers)])
        lengths = tuple(
            len(some) if len(some) == 0 or int(some[-1]) == len(some) - 1 else -1
            for some in self.shared
        )
        object.__setattr__(self, "prefix", lengths)

    @property
    def masters(self) -> int:
        """Vertices that this slot owns."""
        return int(self.group_size[self.slot])

    @property
    def weighted(self) -> bool:
        """Whether the edges carry weights."""
        return self.out.weights is not None

    @property
    def out_degree(self) -> NDArray[np.int64]:
        """Entries of the whole rows of out-edges, for each master."""
        counts = np.diff(self.out.offsets)
        split = self.out_split
        return counts if split is None else split.whole(counts, split.degree)

    @property
    def into_degree(self) -> NDArray[np.int64]:
        """Entries of the whole rows of in-edges, for each master."""
        counts = np.diff(self.into.offsets)
        split = self.into_split
        return counts if split is None else split.whole(counts, split.degree)

    @property
    def families(self) -> tuple[tuple[Adjacency, Split | None], ...]:
        """Rows and what is split of them: of the out-edges, and if directed of the in-edges."""
        first = (self.out, self.out_split)
        return (first, (self.into, self.into_split)) if self.directed else (first,)

    @property
    def nbytes(self) -> int:
        """Bytes of the arrays of the graph, without what is derived from them."""
        edges = sum(
            rows.nbytes + (0 if split is None else split.nbytes)
            for rows, split in self.families
        )
        routes = sum(some.nbytes for some in self.shared)
        numbers = self.rank.nbytes + self.order.nbytes + self.ids.nbytes
        return edges + routes + numbers + self.dictionary.nbytes
