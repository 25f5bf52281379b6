"""What a frame and a byte cost at each level of the domain tree.

The work of a superstep on the links is the sum over levels of ``alpha[l] * frames[l] + beta[l]
* bytes[l]``. It is a sum over all slots, not the time that passes.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from dgraph.errors import OptionError
from dgraph.topology.tree import Topology

#: Relative costs by level; a level beyond the last grows by the last ratio. decade: YH-Light's
#: example. tianhe: TuCOMM's measurement, across shelves 2 times, across racks 15 times.
PRESETS = {"decade": (1.0, 10.0, 100.0), "tianhe": (1.0, 2.0, 15.0)}

# A Unix socket between two processes of one machine (2 cores, 2026): what level 0 of a preset
# costs.
_ALPHA, _BETA = 5e-6, 1 / 8e9

_LEAST_BUFFER, _MOST_BUFFER = 32 << 10, 1 << 20  # AML's buffer; the knee of a Dask comm
_NEARER = 3.0  # how much cheaper a level must be than the next one to be worth gathering in


@dataclass(frozen=True)
class CostModel:
    """Seconds per frame and per byte by level.

    Parameters
    ----------
    alpha : tuple of float
        Seconds per frame, level 0 first. Typical: 5e-6 on a host, 1e-4 across a network.
    beta : tuple of float
        Seconds per byte, level 0 first. Typical: 1e-10 on a host, 1e-9 across a network.

    Examples
    --------
    >>> model = CostModel(alpha=(1e-6, 1e-4), beta=(1e-10, 1e-9))
    >>> round(model.work(frames=[10, 1], size=[1000, 1000]), 9)
    0.0001111
    """

    alpha: tuple[float, ...]
    beta: tuple[float, ...]

    def __post_init__(self) -> None:
        """Check the figures."""
        figures = [*self.alpha, *self.beta]
        if (
            len(self.alpha) != len(self.beta)
            or not self.alpha
            or not all(0 <= figure < float("inf") for figure in figures)
        ):
            raise OptionError(
                "expected as many alpha (seconds per frame) as beta (seconds per byte), one of "
                f"each per level, finite and not negative, got {self.alpha} and {self.beta}; "
                "see dgraph.cost"
            )

    @classmethod
    def of(
        cls, cost: CostModel | str | Mapping[str, Sequence[float]], height: int
    ) -> CostModel:
        """Return the model that a user names, for a tree of this height.

        Parameters
        ----------
        cost : CostModel, str or mapping
            A model, the name of a preset, or ``{"alpha": [...], "beta": [...]}``.
        height : int
            Height of the tree; the model must have a figure for each of its levels.

        Examples
        --------
        >>> CostModel.of("tianhe", 2).relative()
        (1.0, 2.0, 15.0)
        """
        if isinstance(cost, str):
            return cls.preset(cost, height)
        if isinstance(cost, Mapping):
            cost = cls(tuple(cost.get("alpha", ())), tuple(cost.get("beta", ())))
        if len(cost.alpha) <= height:
            raise OptionError(
                f"expected costs for {height + 1} levels, got {len(cost.alpha)}; "
                "add alpha and beta for the missing ones"
            )
        return cost

    @classmethod
    def preset(cls, name: str, height: int) -> CostModel:
        """Return a preset by name, its level 0 being a Unix socket, for a tree of this height.

        Examples
        --------
        >>> [f"{a:.0e}" for a in CostModel.preset("decade", 3).alpha]
        ['5e-06', '5e-05', '5e-04', '5e-03']
        """
        if name not in PRESETS:
            raise OptionError(
                f"expected a cost preset of {', '.join(PRESETS)}, got {name!r}; "
                'or give {"alpha": [...], "beta": [...]}'
            )
        units = list(PRESETS[name])
        while len(units) <= height:
            units.append(units[-1] * units[-1] / units[-2])
        units = units[: height + 1]
        return cls(
            tuple(_ALPHA * unit for unit in units), tuple(_BETA * unit for unit in units)
        )

    def relative(self) -> tuple[float, ...]:
        """Return the cost of a frame by level as a multiple of level 0's.

        Examples
        --------
        >>> CostModel.preset("decade", 1).relative()
        (1.0, 10.0)
        """
        return tuple(round(alpha / self.alpha[0], 9) for alpha in self.alpha)

    def work(self, frames: ArrayLike, size: ArrayLike) -> float:
        """Return the seconds that all links together spend on frames and bytes by level.

        Both start at level 0 and may end before the model's last level.
        """
        frames, size = np.asarray(frames), np.asarray(size)
        alpha, beta = self.alpha[: len(frames)], self.beta[: len(size)]
        return float(np.dot(alpha, frames) + np.dot(beta, size))

    def buffer_bytes(self, level: int) -> int:
        """Return the size at which a frame's bytes cost what the frame itself does.

        Smaller frames waste fixed cost, so buffers are shipped at this size: 32 KiB to 1 MiB.

        Examples
        --------
        >>> CostModel(alpha=(5e-6, 0.66e-3), beta=(1 / 8e9, 1 / 0.8e9)).buffer_bytes(1)
        528000
        """
        beta = self.beta[level]
        even = self.alpha[level] / beta if beta else float(_MOST_BUFFER)
        return int(min(max(even, _LEAST_BUFFER), _MOST_BUFFER))

    def group_level(self, topology: Topology) -> int | None:
        """Return the level in whose domains flat routings gather; None if there is none.

        It is the lowest level whose domains hold more than one slot and which is 3 times
        cheaper than the next, per frame or per byte.

        Examples
        --------
        >>> model = CostModel.preset("decade", 2)
        >>> model.group_level(Topology.from_fanouts([1, 4, 2]))
        1
        """
        for level in range(topology.height):
            single = topology.groups(level).size.max() == 1
            if not single and any(
                _NEARER * costs[level] <= costs[level + 1] for costs in (self.alpha, self.beta)
            ):
                return level
        return None


def pair_costs(intra: float, inter: Sequence[float]) -> tuple[float, ...]:
    """Return the cost of one message by level, where it pays on its way up and down (TuCOMM).

    Both slots pay `intra`, and both pay ``inter[l - 1]`` for every level `l` that the message
    climbs.

    Examples
    --------
    >>> pair_costs(1, [10, 100])
    (2.0, 22.0, 222.0)
    """
    steps: Any = np.cumsum([intra, *inter], dtype=float)
    return tuple((2 * steps).tolist())
