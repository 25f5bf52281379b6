"""Meshes, rings and tori: slots in rows, how far apart they are, and who is in whose way.

No tree describes these, so they are apart from `Topology`. Slots are numbered with the first
dimension fastest, as Slurm's 3D torus has them::

    Lattice((4,), wrap=True)     Lattice((3, 2))        Lattice((3, 2), wrap=True)
    0 - 1 - 2 - 3 - (0)          0 - 1 - 2              as before, and from 2 to 0, from 3 to 0
                                 |   |   |
                                 3 - 4 - 5

`Lattice.crowd` is the simulator of the Rhizomes paper: time goes by in cycles, a message goes
one hop in a cycle, first along the first dimension, then along the next one (X-Y routing), and
a slot has a receive buffer of four messages for each channel that comes to it. All of it is
simulated.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dgraph.errors import OptionError

if TYPE_CHECKING:
    from pandas import DataFrame

__all__ = ["Crowd", "Lattice", "hops"]

Numbers = NDArray[np.int64]


@dataclass(frozen=True)
class Crowd:
    """What a crowd of messages took: simulated.

    Parameters
    ----------
    cycles : int
        Until the last message was taken.
    channels : pandas DataFrame
        A row for each channel: slot, from which it leads; dimension; direction, 1 or -1;
        passed: messages; refused: cycles in which a message wanted to pass and did not.
    """

    cycles: int
    channels: DataFrame


@dataclass(frozen=True)
class Lattice:
    """A mesh; with `wrap` a ring or a torus.

    Parameters
    ----------
    shape : tuple of int
        Slots along each dimension, the one first whose slots have neighbouring numbers.
    wrap : bool
        Whether the last slot of each row is beside the first one. Default: it is not.

    Raises
    ------
    OptionError
        If the shape has no dimension, an empty one, or one that is no integer.

    Examples
    --------
    >>> ring = Lattice((6,), wrap=True)
    >>> ring.distances()[0].tolist()
    [0, 1, 2, 3, 2, 1]
    >>> Lattice((4, 4)).crowd([0, 1, 2], [3, 3, 3]).cycles
    4
    """

    shape: tuple[int, ...]
    wrap: bool = False

    def __post_init__(self) -> None:
        """Check the shape, and keep it as a tuple of ints."""
        try:
            shape = tuple(map(operator.index, self.shape))
        except TypeError:
            shape = ()
        if not shape or min(shape) < 1:
            raise OptionError(
                f"shape must be positive numbers of slots, not {self.shape!r}; "
                "a ring of six is Lattice((6,), wrap=True)"
            )
        object.__setattr__(self, "shape", shape)

    @property
    def slots(self) -> int:
        """How many there are."""
        return math.prod(self.shape)

    @cached_property
    def coordinates(self) -> Numbers:
        """Of each slot its place along each dimension.

        Examples
        --------
        >>> Lattice((3, 2)).coordinates.T.tolist()
        [[0, 1, 2, 0, 1, 2], [0, 0, 0, 1, 1, 1]]
        """
        places = np.unravel_index(np.arange(self.slots), self.shape, order="F")
        return np.stack(places, axis=1).astype(np.int64)

    def hops(self, i: ArrayLike, j: ArrayLike) -> Numbers:
        """Return how many channels lie between slots; NumPy broadcasts `i` and `j`.

        Examples
        --------
        >>> Lattice((4, 4)).hops(0, [3, 15]), Lattice((4, 4), wrap=True).hops(0, [3, 15])
        (array([3, 6]), array([1, 2]))
        """
        places = self.coordinates
        apart = np.abs(places[self._checked("i", i)] - places[self._checked("j", j)])
        if self.wrap:
            apart = np.minimum(apart, np.array(self.shape) - apart)
        found: Numbers = apart.sum(axis=-1)
        return found

    def distances(self) -> Numbers:
        """Return the hops between every two slots, a square matrix."""
        slots = np.arange(self.slots)
        return self.hops(slots[:, None], slots[None, :])

    def crowd(self, source: ArrayLike, target: ArrayLike, *, buffer: int = 4) -> Crowd:
        """Let messages go their ways, and see who is in whose way.

        A slot sends its messages in their order, and takes one in a cycle. A channel carries
        one in a cycle; inputs that want it take turns. Where rows are rings, one enters a row
        only if it leaves room, so that none waits for ever.

        Parameters
        ----------
        source, target : int arrays
            Slots, of each message.
        buffer : int
            Messages that a receive buffer holds: at least 1, and 2 where rows are rings.

        Raises
        ------
        OptionError
            If a slot is not there, sources and targets are not as many, or the buffer is too
            small.

        Examples
        --------
        >>> row = Lattice((4,))
        >>> found = row.crowd([0, 1, 1], [2, 2, 2])
        >>> found.channels.query("refused > 0")[["slot", "direction", "passed", "refused"]]
           slot  direction  passed  refused
        1     1          1       3        1
        """
        from dgraph.topology.crowding import crowd

        least = 2 if self.wrap else 1
        if not isinstance(buffer, int | np.integer) or buffer < least:
            raise OptionError(f"buffer must be at least {least} messages, not {buffer!r}")
        here, there = self._checked("source", source), self._checked("target", target)
        if here.shape != there.shape or here.ndim != 1:
            raise OptionError(
                f"expected as many targets as sources, one of each for every message, got "
                f"arrays of shape {there.shape} and {here.shape}"
            )
        order = np.argsort(here, kind="stable")
        starts = np.concatenate([[0], np.cumsum(np.bincount(here, minlength=self.slots))])
        cycles, passed, refused = crowd(
            self.coordinates, np.array(self.shape), self.wrap, starts, there[order], buffer
        )
        return Crowd(int(cycles), self._channels(passed, refused))

    def _channels(self, passed: Numbers, refused: Numbers) -> DataFrame:
        import pandas as pd

        slot, port = np.divmod(np.arange(passed.size), passed.shape[1])
        place, length = self.coordinates[slot, port // 2], np.array(self.shape)[port // 2]
        ahead = port % 2 == 0
        there = length > 1 if self.wrap else np.where(ahead, place < length - 1, place > 0)
        columns = {
            "slot": slot,
            "dimension": port // 2,
            "direction": np.where(ahead, 1, -1),
            "passed": passed.ravel(),
            "refused": refused.ravel(),
        }
        found: DataFrame = pd.DataFrame(columns)[there].reset_index(drop=True)
        return found

    def _checked(self, name: str, slots: ArrayLike) -> Numbers:
        found = np.asarray(slots)
        if found.size == 0:
            return found.astype(np.int64)
        if found.dtype.kind not in "iu" or found.min() < 0 or found.max() >= self.slots:
            raise OptionError(f"{name} must be slots 0 to {self.slots - 1}, not {slots!r}")
        return found.astype(np.int64)


def hops(
    described: Mapping[str, Any], names: Sequence[str], here: Numbers, there: Numbers
) -> NDArray[np.float64]:
    """Return the links between hosts of rings and tori, infinity between two of these.

    Parameters
    ----------
    described : mapping
        As `dgraph.topology.sources.lattices` tells them: shape and hosts of each.
    names : sequence of str
        The host of each slot.
    here, there : int arrays of one shape
        Slots.

    Examples
    --------
    >>> rings = {"r": {"shape": [4], "hosts": ["a", "b", "c", "d"]}}
    >>> hops(rings, ["d", "b", "a"], np.array([2, 2, 2]), np.array([0, 1, 2]))
    array([1., 1., 0.])
    """
    apart = np.full(here.shape, np.inf)
    for some in described.values():
        cell_of = {host: cell for cell, host in enumerate(some["hosts"]) if host is not None}
        cells = np.array([cell_of.get(name, -1) for name in names], np.int64)
        inside = (cells[here] >= 0) & (cells[there] >= 0)
        lattice = Lattice(tuple(some["shape"]), wrap=True)
        apart[inside] = lattice.hops(cells[here[inside]], cells[there[inside]])
    apart[here == there] = 0.0
    return apart
