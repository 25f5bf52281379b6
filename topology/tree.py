"""The domain tree over the slots of a graph."""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from html import escape
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dgraph.errors import OptionError
from dgraph.topology import draw
from dgraph.topology.groups import Groups
from dgraph.topology.nodes import Node, Shape, node_of_paths, node_of_shape, partitions

Partition = tuple[int, ...]


@dataclass(frozen=True, repr=False)
class Topology:
    """A domain tree over slots 0, 1, ...; compares, hashes and pickles by value.

    The tree is kept as one partition of the slots per level, each coarser than the one below:
    at level `l` a slot belongs to the highest domain of height `l` or less that holds it. Two
    slots have level `l` if exactly the partitions 0 .. l - 1 tell them apart. This holds for
    trees of uneven depth too.

    Make one with `from_fanouts`, `from_paths`, `from_shape` or `of_workers`.

    Parameters
    ----------
    partitions : tuple of tuple of int
        Per level, from 0 to the height, each slot's domain. The domains of a level are numbered
        by their first slots; at the top there is one.
    names : tuple of tuple of str
        Per level the names of its domains, in order; ``""`` for none.
    level_names : tuple of str
        What a domain of each level is called, lowest first; may be shorter than the height.

    Examples
    --------
    >>> tree = Topology.from_fanouts([3, 2, 2])
    >>> tree
    Topology(slots=12, height=2, domains=4+2+1)
    >>> [int(tree.level(1, slot)) for slot in (2, 4, 7)]
    [0, 1, 2]
    """

    partitions: tuple[Partition, ...]
    names: tuple[tuple[str, ...], ...]
    level_names: tuple[str, ...] = ()

    @classmethod
    def from_fanouts(cls, fanouts: Sequence[int]) -> Topology:
        """Lay out a balanced tree, leaf first.

        Parameters
        ----------
        fanouts : sequence of int
            ``fanouts[0]`` slots in each lowest domain, ``fanouts[1]`` of those in each next
            one, and so on.

        Examples
        --------
        >>> Topology.from_fanouts([4, 2, 8, 16]).slots
        1024
        """
        if not fanouts or min(fanouts) < 1:
            raise OptionError(
                f"expected fan-outs of at least 1, lowest level first, got {list(fanouts)!r}; "
                "for example [4, 2] is two domains of four slots"
            )
        slots = np.arange(math.prod(fanouts))
        sizes = np.cumprod(fanouts)
        return cls._of([(slots // size).tolist() for size in sizes])

    @classmethod
    def from_paths(
        cls,
        paths: Mapping[int, str | Sequence[str]] | Sequence[str | Sequence[str]],
        level_names: Sequence[str] = (),
    ) -> Topology:
        """Build the tree from every slot's path of domain names, outermost first.

        Parameters
        ----------
        paths : mapping or sequence
            Slot to path: ``"dc1/rack2/host3"`` or ``["dc1", "rack2", "host3"]``. Slots of one
            path share a lowest domain; slots whose path is the beginning of another path form a
            lowest domain of their own below it. Domains are told apart by their whole path.
            Several outermost domains get a root above them.
        level_names : sequence of str, optional
            What a domain of each level is called, lowest first.

        Examples
        --------
        >>> tree = Topology.from_paths({0: "dc1/rack1/a", 1: "dc1/rack1/b", 2: "dc2/rack1/a"})
        >>> tree.levels(0)
        array([0, 1, 3])
        """
        by_slot = dict(paths if isinstance(paths, Mapping) else enumerate(paths))
        absent = [slot for slot in range(len(by_slot)) if slot not in by_slot]
        if absent or not by_slot:
            raise OptionError(
                f"expected a path for every slot from 0 on, got {len(by_slot)} paths and none "
                f"for slot {absent[0] if absent else 0}; name each slot once"
            )
        return cls._from_node(node_of_paths(by_slot), level_names)

    @classmethod
    def from_shape(cls, shape: Shape) -> Topology:
        """Build an unnamed tree from nested lists; slots are numbered from left to right.

        Parameters
        ----------
        shape : int or nested sequence of int
            A number is a lowest domain of so many slots, a sequence a domain of domains.

        Examples
        --------
        >>> Topology.from_shape([[2, [2, 2]], 3]).level([0, 2, 0], [2, 4, 7])
        array([2, 1, 3])
        """
        return cls._from_node(node_of_shape(shape), ())

    @classmethod
    def of_workers(
        cls,
        workers: Iterable[
            tuple[int, Hashable, Hashable] | tuple[int, Hashable, Hashable, Hashable]
        ],
    ) -> Topology:
        """Lay the levels process, host and network over the slots of workers.

        Parameters
        ----------
        workers : iterable of (slots, process key, host key[, shared memory key])
            In the order of their slots. Workers of one process share its lowest domain. A
            process key need only be unique on its host. A level for shared memory comes below
            the host if that has several such domains of several processes.

        Returns
        -------
        Topology
            Of height 0 if there is one process, 1 if one host, else 2; one more with a level
            for shared memory.

        Examples
        --------
        >>> Topology.of_workers([(2, "pid 7", "a"), (2, "pid 8", "a"), (2, "pid 7", "b")])
        Topology(slots=6, height=2, domains=3+2+1)
        """
        rows = [
            (host, memory, process)
            for slots, process, host, *shared in workers
            for memory in (shared or [None])
            for _ in range(slots)
        ]
        levels: dict[str, list[Any]] = {
            "process": rows,
            "shared memory": [(host, memory) for host, memory, _ in rows],
            "host": [host for host, _, _ in rows],
            "network": [None for _ in rows],
        }
        counts = {name: len(set(keys)) for name, keys in levels.items()}
        if counts["shared memory"] in (counts["process"], counts["host"]):
            del levels["shared memory"]
        for below, above in (("host", "network"), ("process", "host")):
            if counts[below] == 1:
                del levels[above]
        return cls._of(list(levels.values()), level_names=tuple(levels))

    @classmethod
    def from_dict(cls, record: Mapping[str, Any]) -> Topology:
        """Rebuild what `to_dict` took apart.

        Examples
        --------
        >>> tree = Topology.from_fanouts([2, 2])
        >>> Topology.from_dict(tree.to_dict()) == tree
        True
        """
        return cls._of(record["partitions"], record["names"], record["level_names"])

    def to_dict(self) -> dict[str, Any]:
        """Return lists and strings only, for JSON."""
        return {
            "partitions": [list(partition) for partition in self.partitions],
            "names": [list(names) for names in self.names],
            "level_names": list(self.level_names),
        }

    @property
    def slots(self) -> int:
        """Number of slots."""
        return len(self.partitions[0])

    @property
    def height(self) -> int:
        """Height of the whole tree, the greatest level there can be."""
        return len(self.partitions) - 1

    def level(self, i: ArrayLike, j: ArrayLike) -> NDArray[np.int64]:
        """Return the level of slots `i` and `j`, element by element, as NumPy broadcasts them.

        Examples
        --------
        >>> Topology.from_fanouts([2, 2]).level([0, 0], [1, 2])
        array([0, 1])
        """
        here, there = np.broadcast_arrays(np.asarray(i, np.int64), np.asarray(j, np.int64))
        apart: NDArray[np.int64] = (self._matrix[:, here] != self._matrix[:, there]).sum(axis=0)
        return apart

    def levels(self, slot: int) -> NDArray[np.int64]:
        """Return the level of `slot` with every slot.

        Examples
        --------
        >>> Topology.from_fanouts([2, 2]).levels(3)
        array([1, 1, 0, 0])
        """
        return self.level(slot, np.arange(self.slots))

    def domain_of(self, level: int) -> NDArray[np.int64]:
        """Return each slot's domain at a level; the domains are numbered by their first slots.

        Examples
        --------
        >>> Topology.from_fanouts([2, 2]).domain_of(0)
        array([0, 0, 1, 1])
        """
        domains: NDArray[np.int64] = self._matrix[self._checked(level)]
        return domains

    def domains(self, level: int) -> list[NDArray[np.int64]]:
        """Return the slots of each domain that a level tells apart.

        Where depth is uneven these include lower domains that no domain of this height holds.

        Examples
        --------
        >>> [slots.tolist() for slots in Topology.from_fanouts([2, 2]).domains(0)]
        [[0, 1], [2, 3]]
        """
        return self.groups(level).split()

    def groups(self, level: int) -> Groups:
        """Return the slots grouped by their domains at a level, as flat routings need them."""
        return Groups.of(self.domain_of(level))

    def count_by_level(
        self, source: ArrayLike, target: ArrayLike, count: ArrayLike = 1
    ) -> NDArray[np.int64]:
        """Return how many messages between the given pairs of slots have each level.

        Parameters
        ----------
        source, target : int arrays
            Slots.
        count : int array, default 1
            Messages of each pair.

        Examples
        --------
        >>> Topology.from_fanouts([2, 2]).count_by_level([0, 0, 1], [1, 2, 2], [5, 1, 1])
        array([5, 2])
        """
        level, number = np.broadcast_arrays(self.level(source, target), np.asarray(count))
        totals = np.zeros(self.height + 1, np.int64)
        np.add.at(totals, level, number)
        return totals

    def __repr__(self) -> str:
        """Show the size."""
        counts = "+".join(str(len(names)) for names in self.names)
        return f"Topology(slots={self.slots}, height={self.height}, domains={counts})"

    def __str__(self) -> str:
        """Draw the tree."""
        return draw.text(self.partitions, self.names, self.level_names)

    def _repr_html_(self) -> str:
        """Draw the tree in a notebook."""
        return f"<pre>{escape(str(self))}</pre>"

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle the fields only, not the matrix made of them."""
        return Topology, (self.partitions, self.names, self.level_names)

    @cached_property
    def _matrix(self) -> NDArray[np.int64]:
        matrix = np.array(self.partitions, np.int64)
        matrix.flags.writeable = False
        return matrix

    def _checked(self, level: int) -> int:
        if not 0 <= level <= self.height:
            raise OptionError(
                f"expected a level from 0 to {self.height}, got {level}; "
                f"the height of this topology is {self.height}"
            )
        return level

    @classmethod
    def _from_node(cls, root: Node, level_names: Sequence[str]) -> Topology:
        levels = partitions(root)
        names = [[name for name, _ in dict.fromkeys(keys)] for keys in levels]
        return cls._of(levels, names, level_names)

    @classmethod
    def _of(
        cls,
        levels: Sequence[Sequence[Hashable]],
        names: Sequence[Sequence[str]] | None = None,
        level_names: Sequence[str] = (),
    ) -> Topology:
        """Make a tree from any keys of each level's domains, one key per slot."""
        if not levels or not levels[0]:
            raise OptionError("expected at least one slot, got none; give every domain a slot")
        numbered = []  # by their first slots
        for keys in levels:
            number = {key: n for n, key in enumerate(dict.fromkeys(keys))}
            numbered.append(tuple(number[key] for key in keys))
        if names is None:
            names = [[""] * (max(partition) + 1) for partition in numbered]
        return cls(tuple(numbered), tuple(map(tuple, names)), tuple(level_names))
