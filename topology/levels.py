"""What is asked of a domain tree: at which level slots meet, and which slots share a domain."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dgraph.errors import OptionError
from dgraph.keywords import hint
from dgraph.topology import grid
from dgraph.topology.groups import Groups
from dgraph.topology.lattice import hops
from dgraph.topology.reading import Reading, find_host

__all__ = ["Levels"]

Partition = tuple[int, ...]


@dataclass(frozen=True, repr=False)
class Levels:
    """The fields of a `Topology`, which says what they mean, and the questions."""

    partitions: tuple[Partition, ...]
    names: tuple[tuple[str, ...], ...]
    level_names: tuple[str, ...] = ()
    slot_names: tuple[str, ...] = field(default=(), compare=False)
    source: str = field(default="", compare=False)
    reading: Reading | None = field(default=None, compare=False)
    lattices: Mapping[str, Any] = field(default_factory=dict, compare=False)

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

        Parameters
        ----------
        i, j : int or str arrays
            Slots, or their names.

        Examples
        --------
        >>> from dgraph.topology import Topology
        >>> Topology.from_fanouts([2, 2]).level([0, 0], [1, 2])
        array([0, 1])
        """
        here, there = np.broadcast_arrays(self._numbers(i), self._numbers(j))
        apart = np.zeros(here.shape, np.int64)
        for domain in self._matrix:
            apart += domain[here] != domain[there]
        return apart

    def levels(self, slot: int) -> NDArray[np.int64]:
        """Return the level of `slot` with every slot.

        Examples
        --------
        >>> from dgraph.topology import Topology
        >>> Topology.from_fanouts([2, 2]).levels(3)
        array([1, 1, 0, 0])
        """
        own = self._matrix[:, [int(self._numbers(slot))]]
        apart: NDArray[np.int64] = np.add.reduce(self._matrix != own, 0, np.int64)
        return apart

    def slot_of(self, name: str) -> int:
        r"""Return the slot of this name: the full one, else the part before its first dot.

        Examples
        --------
        >>> from dgraph.topology import Topology
        >>> Topology.read("host,rack\na.example.org,r0\nb,r0").slot_of("a")
        0
        """
        found = find_host([name], self.slot_names)
        if found is None:
            known = ", ".join(self.slot_names[:5]) or "none, the slots have no names"
            raise OptionError(f"expected the name of a slot, such as {known}, got {name!r}")
        return self.slot_names.index(found)

    @property
    def paths(self) -> dict[str, tuple[str, ...]]:
        """The path of each host as its source says, outermost first."""
        return dict(self.reading.paths) if self.reading else {}

    def coordinates(self) -> NDArray[np.int64]:
        """Return where every slot is in the grids of its domains; see `dgraph.topology.grid`.

        Returns
        -------
        int64 array of shape (slots, height + 1, 2)
            For each level x and y of the slot (level 0), or of its domain of the level below,
            in the grid of its domain of that level.

        Examples
        --------
        >>> from dgraph.topology import Topology
        >>> Topology.from_fanouts([4, 4]).coordinates()[7].tolist()
        [[1, 1], [1, 0]]
        """
        return grid.coordinates(self.partitions)

    def distance(
        self, i: ArrayLike, j: ArrayLike, *, metric: str = "tree", costs: Any = None
    ) -> NDArray[np.float64]:
        """Return how far slots are from each other, element by element.

        Parameters
        ----------
        i, j : int or str arrays
            Slots, or their names.
        metric : {"tree", "grid", "hops"}
            The cost of the level of two slots; or the sum, over the levels, of the steps from
            one to the other in the grid of that level (YH-Light); or the links between two
            hosts of a ring or torus of Slurm's, infinity between two of them.
        costs : sequence of float, or of pairs of float for the grid
            By level: the cost of a message; of a step, or of one along y and one along x.
            Default: 1, 10, 100, ...

        Examples
        --------
        >>> from dgraph.topology import Topology
        >>> tree = Topology.from_fanouts([4, 4])
        >>> tree.distance(0, [3, 4, 15]), tree.distance(0, [3, 4, 15], metric="grid")
        (array([ 1., 10., 10.]), array([ 2., 10., 22.]))
        >>> Topology.read("RingName=r Nodes=n[0-7]").distance("n0", ["n1", "n7"], metric="hops")
        array([1., 1.])
        """
        here, there = np.broadcast_arrays(self._numbers(i), self._numbers(j))
        if metric == "hops":
            return self._hops(here, there)
        if costs is None:
            costs = 10.0 ** np.arange(self.height + 1)
        if len(costs) <= self.height:
            raise OptionError(f"expected costs of {self.height + 1} levels, got {len(costs)}")
        if metric == "grid":
            return grid.distance(self.coordinates(), here, there, costs)
        if metric != "tree":
            raise OptionError(
                f"metric must be 'tree', 'grid' or 'hops', not {metric!r}"
                f"{hint(metric, ('tree', 'grid', 'hops'))}"
            )
        far: NDArray[np.float64] = np.asarray(costs, float)[self.level(here, there)]
        return np.where(here == there, 0.0, far)

    def domain_of(self, level: int) -> NDArray[np.int64]:
        """Return each slot's domain at a level; the domains are numbered by their first slots.

        Examples
        --------
        >>> from dgraph.topology import Topology
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
        >>> from dgraph.topology import Topology
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
        >>> from dgraph.topology import Topology
        >>> Topology.from_fanouts([2, 2]).count_by_level([0, 0, 1], [1, 2, 2], [5, 1, 1])
        array([5, 2])
        """
        level, number = np.broadcast_arrays(self.level(source, target), np.asarray(count))
        totals = np.zeros(self.height + 1, np.int64)
        np.add.at(totals, level, number)
        return totals

    def _hops(self, here: NDArray[np.int64], there: NDArray[np.int64]) -> NDArray[np.float64]:
        if not self.lattices:
            raise OptionError(
                "metric='hops' needs a topology that was read from rings or tori, as Slurm's "
                "topology.yaml has them; dgraph.topology.Lattice makes one of a shape"
            )
        # slots of one host are no link apart
        return hops(self.lattices, self.slot_names, here, there)

    @cached_property
    def _matrix(self) -> NDArray[np.int64]:
        matrix = np.array(self.partitions, np.int64)
        matrix.flags.writeable = False
        return matrix

    def _checked(self, level: int) -> int:
        if not 0 <= level <= self.height:
            raise OptionError(
                f"level must be 0 to {self.height}, not {level}; "
                f"the height of this topology is {self.height}"
            )
        return level

    def _numbers(self, slots: ArrayLike) -> NDArray[np.int64]:
        """Return slots as numbers, that may be given by their names."""
        given = np.asarray(slots)
        if given.dtype.kind in "UO":
            named = [self.slot_of(str(name)) for name in given.ravel()]
            given = np.array(named, np.int64).reshape(given.shape)
        if given.size == 0:
            return given.astype(np.int64)
        return given.astype(np.int64, casting="same_kind", copy=False)
