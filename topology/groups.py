"""Slots grouped by domain, with each slot's number inside its group."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

Numbers = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Groups:
    """The domains of one level, which flat routings gather in.

    Attributes
    ----------
    group : int64 array
        Per slot: the number of its group.
    local : int64 array
        Per slot: its number inside the group, by ascending slot.
    size : int64 array
        Per slot: how many slots its group has.
    starts : int64 array
        Per group, and one more: where its slots begin in `members`.
    members : int64 array
        All slots, group by group, ascending.

    Examples
    --------
    >>> groups = Groups.of([0, 0, 1, 1, 1])
    >>> groups.local, groups.size
    (array([0, 1, 0, 1, 2]), array([2, 2, 3, 3, 3]))
    """

    group: Numbers
    local: Numbers
    size: Numbers
    starts: Numbers
    members: Numbers

    @classmethod
    def of(cls, group: ArrayLike) -> Groups:
        """Group slots by their group numbers 0, 1, ..., of which each occurs."""
        group = np.asarray(group, np.int64)
        members = np.argsort(group, kind="stable")
        sizes = np.bincount(group)
        starts = np.concatenate([[0], np.cumsum(sizes)])
        local = np.empty_like(group)
        local[members] = np.arange(len(group)) - starts[group[members]]
        return cls(group, local, sizes[group], starts, members)

    def split(self) -> list[Numbers]:
        """Return the slots of each group.

        Examples
        --------
        >>> [slots.tolist() for slots in Groups.of([0, 1, 0]).split()]
        [[0, 2], [1]]
        """
        return np.split(self.members, self.starts[1:-1])

    def twin(self, inside: ArrayLike, like: ArrayLike) -> Numbers:
        """Return the slot of the group of `inside` that has the local number of `like`.

        In a smaller group numbers wrap round. This is the first stop of a message from `s` to
        `t` under the routing rail (``twin(s, t)``) and aml (``twin(t, s)``).

        Examples
        --------
        >>> groups = Groups.of([0, 0, 0, 0, 1, 1, 1, 1])
        >>> int(groups.twin(4, 2)), int(groups.twin(2, 4))
        (6, 0)
        """
        inside, like = np.asarray(inside, np.int64), np.asarray(like, np.int64)
        place = self.starts[self.group[inside]] + self.local[like] % self.size[inside]
        twins: Numbers = self.members[place]
        return twins
