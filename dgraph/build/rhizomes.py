"""Which rows are split, into how many pieces, on which slots: the rules of the rhizomes.

::

    cutoff                     = ceil(largest degree / rhizome_max), at least 1      Eq. 1
    rhizome of the r-th entry  = (r // cutoff) mod rhizome_max

so a vertex of degree d has min(rhizome_max, ceil(d / cutoff)) rhizomes, and only one of more
than `cutoff` entries is split. The first rhizome, the root, is on the owner. Where the others
go says the allocation::

    random      any slots, drawn for each vertex, none twice before all are used
    vicinity    the root's leaf domain first, then its siblings, then one level up
    sources     the slots that own most of the neighbours, and the pieces are not even: an
                entry lies with its other end, or on the nearest of these slots

The order of the edges of a vertex, of which Eq. 1 speaks, is free. Here those whose other end
lives where a rhizome is come to that rhizome first, as far as it has room, and the rest fills
up what is nearest: so most entries lie beside the master of their other end, and nothing has
to travel along them.

The in-edges of a directed graph are split into rhizomes as the user says, its out-edges into
ghosts, by the same cutoff rule, in the vicinity of the root, or at home with "sources". In an
undirected graph a row is both, and it is split once, as the in-edges are. Fission (of TopoX) is
the same with another cutoff: a quarter of the edges of a slot. Rows that are split neither way
can be blocked inside the leaf domains (see `blocks`).

After "Rhizomes to load balance skewed in-degree distributions"; the paper does not say how the
cutoff is rounded.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dgraph.arguments import choice
from dgraph.errors import OptionError, OptionTypeError
from dgraph.kernels import kernel
from dgraph.topology import Topology

__all__ = ["ALLOCATIONS", "Rhizomes", "allot", "go_home", "nearness"]

Array = NDArray[Any]

#: Where rhizomes may go, the default first.
ALLOCATIONS = ("random", "vicinity", "sources")

_PARTS = "part", "parts"


@dataclass(frozen=True)
class Rhizomes:
    """How the rows of heavy vertices are split.

    Parameters
    ----------
    most : int, optional
        The most rhizomes of a vertex; 1 or None: no row is split.
    allocation : {"random", "vicinity", "sources"}
    cutoff : int, optional
        A vertex of more entries is split. Default: by Eq. 1.
    fission : bool
        Split what has more than a quarter of a slot's edges, into as many parts as that has
        quarters, at most one a slot, siblings in the same leaf domain first.
    blocks : bool
        Block all other rows m x n over the slots of their leaf domains, if they have more
        entries than columns.
    topology : Topology, optional
        The graph's own, if left out.

    Examples
    --------
    >>> Rhizomes(4).cut(10, edges=10, slots=4), Rhizomes(4).off, Rhizomes(1).off
    ((4, 3), False, True)
    """

    most: int | None = 16
    allocation: str = "random"
    cutoff: int | None = None
    fission: bool = False
    blocks: bool = False
    topology: Topology | None = None

    def __post_init__(self) -> None:
        """Check the options."""
        for name, value in (("rhizome_max", self.most), ("rhizome_cutoff", self.cutoff)):
            if value is None:
                continue
            if isinstance(value, bool) or not isinstance(value, int | np.integer):
                raise OptionTypeError(
                    f"expected {name} to be an integer from 1 on or None, got {value!r}"[:200]
                )
            if value < 1:
                raise OptionError(
                    f"expected {name} of at least 1, got {value}: 1 or None splits nothing"
                    if name == "rhizome_max"
                    else f"expected {name} of at least 1, got {value}"
                )
        choice("rhizome_allocation", self.allocation, ALLOCATIONS)

    @property
    def off(self) -> bool:
        """Whether nothing can be split."""
        return not self.blocks and self.only_blocks

    @property
    def only_blocks(self) -> bool:
        """Whether no row is split because it is long."""
        return not self.fission and (self.most is None or self.most <= 1)

    @property
    def options(self) -> dict[str, Any]:
        """What makes these rules again, without the domain tree."""
        return {
            "most": None if self.most is None else int(self.most),
            "allocation": self.allocation,
            "cutoff": None if self.cutoff is None else int(self.cutoff),
            "fission": self.fission,
            "blocks": self.blocks,
        }

    def in_words(self, told: Mapping[str, int]) -> str:
        """Say what was split, and why.

        Examples
        --------
        >>> Rhizomes(4).in_words({"cutoff": 3, "split": 2, "pieces": 7})
        '2 vertices of more than 3 edges, 1/4 of the most, in 7 parts'
        """
        if self.blocks:
            parts = sum(told[key] for key in ("out_pieces", "pieces") if key in told)
            return f"edges blocked m x n inside leaf domains, rows in {_many(parts, *_PARTS)}"
        why = f", 1/{self.most} of the most"
        if self.fission:
            why = ", a quarter of the edges of a slot"
        elif self.cutoff is not None:
            why = ", as asked for"
        kinds = (
            [("out_", "out-edges"), ("", "in-edges")]
            if "out_cutoff" in told
            else [("", "edges")]
        )
        return "; ".join(
            f"{_many(told[f'{key}split'], 'vertex', 'vertices')} of more than "
            f"{_many(told[f'{key}cutoff'], kind[:-1], kind)}{why}, "
            f"in {_many(told[f'{key}pieces'], *_PARTS)}"
            for key, kind in kinds
        )

    def on(self, topology: Topology) -> Rhizomes:
        """Return these rules for a domain tree, unless they have one already."""
        return self if self.topology is not None else replace(self, topology=topology)

    def cut(self, largest: int, edges: int, slots: int) -> tuple[int, int]:
        """Return the most pieces of a row and the cutoff, of a family of rows.

        Parameters
        ----------
        largest : int
            The most entries of a row.
        edges : int
            Of the graph.
        slots : int
        """
        if self.fission:
            return slots, max(1, edges // (4 * slots))
        if self.only_blocks:
            return 1, 1
        most = int(self.most or 1)
        return most, int(self.cutoff or max(1, -(-largest // most)))

    @property
    def at_home(self) -> bool:
        """Whether entries go where their other ends are, whatever Eq. 1 says of sizes."""
        return self.allocation == "sources" and not self.fission

    def ghosts(self) -> Rhizomes:
        """Return the rules for out-edges of a directed graph."""
        return self if self.at_home else replace(self, allocation="vicinity")

    def sequence(self, pieces: int, root: int, rank: int, near: Array, homes: Array) -> Array:
        """Return the slots of the pieces of a row, the root first.

        Parameters
        ----------
        pieces, root : int
        rank : int
            Of the vertex; seeds what is random.
        near : int array of length slots
            All slots, the nearest to the root first: itself.
        homes : int array of length slots
            How many of the other ends each slot owns.

        Examples
        --------
        >>> near = np.array([1, 0, 3, 2])
        >>> Rhizomes(4, "vicinity").sequence(2, 1, 0, near, np.zeros(4, int))
        array([1, 0])
        >>> Rhizomes(4, "sources").sequence(3, 1, 0, near, np.array([0, 1, 5, 2]))
        array([1, 2, 3])
        """
        others = near[1:]
        if self.allocation == "random" and not self.fission:
            drawn = np.random.default_rng([0x51EED, rank])
            others = drawn.permutation(np.sort(others))
        elif self.allocation == "sources" and not self.fission:
            others = others[np.argsort(-homes[others], kind="stable")]
        found: Array = np.append(near[:1], others)[: min(pieces, len(near))]
        return found


def nearness(topology: Topology) -> NDArray[np.int32]:
    """Return, for each slot, all slots by their distance from it, itself first.

    Examples
    --------
    >>> nearness(Topology.from_fanouts([2, 2]))
    array([[0, 1, 2, 3],
           [1, 0, 2, 3],
           [2, 3, 0, 1],
           [3, 2, 0, 1]], dtype=int32)
    """
    slots = topology.slots
    near = np.empty((slots, slots), np.int32)
    for slot in range(slots):
        level = topology.levels(slot).astype(np.int64)
        round_ = (np.arange(slots) - slot) % slots
        near[slot] = np.lexsort((round_, level))  # not all rows spill over to the same slot
    return near


def go_home(owner: Array, sequence: Array, near: Array, out: Array) -> None:
    """Say where each entry of a row goes: home, or to the nearest slot with a piece.

    Parameters
    ----------
    owner : int array
        The slot that owns the other end of each entry.
    sequence : int array
        The slots with pieces, the root first; it gets one entry at least.
    near : int32 array of shape (slots, slots)
        See :func:`nearness`.
    out : int array beside `owner`
        Gets the slots.

    Examples
    --------
    >>> where = np.empty(4, np.int32)
    >>> near = nearness(Topology.from_fanouts([2, 2]))
    >>> go_home(np.array([3, 3, 2, 1]), np.array([0, 3]), near, where)
    >>> where
    array([3, 3, 3, 0], dtype=int32)
    """
    chosen = np.isin(near, sequence)
    nearest = near[np.arange(len(near)), np.argmax(chosen, axis=1)]
    out[:] = nearest[owner]
    if not (out == sequence[0]).any():
        out[0] = sequence[0]


@kernel
def allot(owner, sizes, near, out):  # type: ignore[no-untyped-def]
    """Say where each entry of a row goes.

    Parameters
    ----------
    owner : int array
        The slot that owns the other end of each entry.
    sizes : int64 array of length slots
        How many entries each slot is to get; used up.
    near : int32 array of shape (slots, slots)
        See :func:`nearness`.
    out : int array beside `owner`
        Gets the slots.

    Examples
    --------
    >>> where = np.empty(5, np.int32)
    >>> near = nearness(Topology.from_fanouts([3]))
    >>> allot(np.array([2, 2, 2, 0, 1]), np.array([3, 0, 2]), near, where)
    >>> where
    array([2, 2, 0, 0, 0], dtype=int32)
    """
    for i in range(owner.size):
        slot = owner[i]
        out[i] = -1
        if sizes[slot] > 0:
            sizes[slot] -= 1
            out[i] = slot
    at = np.zeros(sizes.size, np.int64)
    for i in range(owner.size):
        if out[i] < 0:
            home = owner[i]
            while sizes[near[home, at[home]]] == 0:
                at[home] += 1
            slot = near[home, at[home]]
            sizes[slot] -= 1
            out[i] = slot


def _many(number: int, one: str, more: str) -> str:
    """Say how many there are.

    >>> _many(1, "vertex", "vertices"), _many(2048, "vertex", "vertices")
    ('1 vertex', '2,048 vertices')
    """
    return f"{number:,} {one if number == 1 else more}"
