"""What a frame and a byte cost at each level of the domain tree.

The work of a superstep on the links is the sum over levels of ``alpha[l] * frames[l] + beta[l]
* bytes[l]``. It is a sum over all slots, not the time that passes.

TuCOMM's ComCost of two slots is `com_cost`, and `pair_costs` what it is by level where all
domains cost alike; YH-Light's objective is `theta`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dgraph.errors import OptionError
from dgraph.keywords import hint
from dgraph.topology.probed import PROBED, Probe, named
from dgraph.topology.tree import Topology

#: Relative costs by level; a level beyond the last grows by the last ratio. decade: YH-Light's
#: example. tianhe: TuCOMM's measurement, across shelves 2 times, across racks 15 times.
PRESETS = {"decade": (1.0, 10.0, 100.0), "tianhe": (1.0, 2.0, 15.0)}

#: Seconds per frame and per byte by level. cloud: racks of machines with 10 Gbit/s cards, by
#: orders of magnitude: threads of a process, a host, a rack, racks joined three to one, zones.
SECONDS = {
    "cloud": (
        (1e-6, 5e-6, 5e-5, 1e-4, 1e-3),
        (0.0, 1 / 8e9, 1 / 1.25e9, 1 / 0.4e9, 1 / 0.1e9),
    )
}

# A Unix socket between two processes of one machine (2 cores, 2026): what level 0 of a preset
# costs.
_ALPHA, _BETA = 5e-6, 1 / 8e9

_FIELDS = ("alpha", "beta", "latency", "link")
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
    latency : tuple of float, optional
        What of alpha passes for all frames at once, because they are under way together; the
        rest is what a slot spends on each. Default: nothing.
    link : tuple of float, optional
        Seconds per byte of the link that a domain of the level below has to its domain of this
        level, which its slots share; beta is then what a slot spends on a byte. The first one
        is not used. Default: links are as slow as slots, a byte costs beta on all it takes.

    Examples
    --------
    >>> model = CostModel(alpha=(1e-6, 1e-4), beta=(1e-10, 1e-9))
    >>> round(model.work(frames=[10, 1], size=[1000, 1000]), 9)
    0.0001111
    """

    alpha: tuple[float, ...]
    beta: tuple[float, ...]
    latency: tuple[float, ...] = ()
    link: tuple[float, ...] = ()

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
        waits = self.latency
        if waits and (
            len(waits) != len(self.alpha)
            or not all(0 <= x <= y for x, y in zip(waits, self.alpha, strict=True))
        ):
            raise OptionError(
                f"expected a latency for each level, from 0 to its alpha {self.alpha}, got "
                f"{waits}; see dgraph.cost"
            )
        if self.link and (
            len(self.link) != len(self.beta)
            or not all(0 <= figure < float("inf") for figure in self.link)
        ):
            raise OptionError(
                f"expected seconds per byte of the link at each of {len(self.beta)} levels, "
                f"finite and not negative, got {self.link}; see dgraph.cost"
            )

    @property
    def slowest(self) -> tuple[float, ...]:
        """Seconds per byte by level of what is slower, slots or links.

        Examples
        --------
        >>> CostModel((0, 0), (2e-9, 2e-9), link=(0, 5e-9)).slowest
        (2e-09, 5e-09)
        """
        return tuple(map(max, self.beta, self.link)) if self.link else self.beta

    @classmethod
    def of(
        cls,
        cost: CostModel | Probe | str | Mapping[str, Sequence[float]],
        tree: Topology | int,
    ) -> CostModel:
        """Return the model that a user names, for a tree.

        Parameters
        ----------
        cost : CostModel, Probe, str or mapping
            A model; the name of a preset; "probed": what `dgraph.topology.probe` has measured
            on the hosts of the tree; a file that it wrote; or ``{"alpha": [...], "beta":
            [...]}``.
        tree : Topology or int
            The tree, or its height; the model must have a figure for each of its levels.

        Raises
        ------
        OptionError
            If there is no such preset, or figures are missing.
        TopologyFileError
            If there is no such file, or no probe of these hosts.

        Examples
        --------
        >>> CostModel.of("tianhe", 2).relative()
        (1.0, 2.0, 15.0)
        """
        height = tree if isinstance(tree, int) else tree.height
        probe = named(cost, tree)
        if probe is not None:
            return cls.from_probe(probe, height)
        assert not isinstance(cost, Probe)
        if isinstance(cost, str):
            return cls.preset(cost, height)
        if isinstance(cost, Mapping):
            cost = cls(*(tuple(cost.get(key, ())) for key in _FIELDS))
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
        alpha: tuple[float, ...]
        beta: tuple[float, ...]
        if name in SECONDS:
            alpha, beta = SECONDS[name]
        elif name in PRESETS:
            alpha, beta = (
                tuple(base * unit for unit in PRESETS[name]) for base in (_ALPHA, _BETA)
            )
        else:
            names = [*PRESETS, *SECONDS]
            raise OptionError(
                f"expected a cost preset of {', '.join(names)}, "
                f'"{PROBED}" or a .json file of a probe, got {name!r}; or give '
                '{"alpha": [...], "beta": [...]}'
                f"{hint(name, [*names, PROBED])}"
            )
        return cls(_extended(alpha, height), _extended(beta, height))

    @classmethod
    def from_probe(cls, probe: Probe | str, height: int | None = None) -> CostModel:
        """Return what was measured, the level's best transport at each level.

        Parameters
        ----------
        probe : Probe or path
        height : int, optional
            Default: that of the probe.

        Examples
        --------
        >>> from dgraph.topology.probed import Link
        >>> unix = Link(0, "unix", (0, 1), (1, 64), (5e-6, 6e-6), 5e-6, 1e-9)
        >>> CostModel.from_probe(Probe(0, ("a",), (unix,)))
        CostModel(alpha=(5e-06,), beta=(1e-09,), latency=(0.0,), link=())
        """
        found = probe if isinstance(probe, Probe) else Probe.read(probe)
        height = found.height if height is None else height
        return cls(*found.costs(height), found.latencies(height))

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
        alpha, beta = self.alpha[: len(frames)], self.slowest[: len(size)]
        return float(np.dot(alpha, frames) + np.dot(beta, size))

    def buffer_bytes(self, level: int) -> int:
        """Return the size at which a frame's bytes cost what the frame itself does.

        Smaller frames waste fixed cost, so buffers are shipped at this size: 32 KiB to 1 MiB.

        Examples
        --------
        >>> CostModel(alpha=(5e-6, 0.66e-3), beta=(1 / 8e9, 1 / 0.8e9)).buffer_bytes(1)
        528000
        """
        beta = self.slowest[level]
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
        both = self.alpha, self.slowest
        for level in range(topology.height):
            single = topology.groups(level).size.max() == 1
            if not single and any(_NEARER * costs[level] <= costs[level + 1] for costs in both):
                return level
        return None


def _extended(costs: Sequence[float], height: int) -> tuple[float, ...]:
    """Return costs for all levels; beyond the last they grow by the last ratio.

    Examples
    --------
    >>> _extended((1.0, 2.0, 15.0), 3)
    (1.0, 2.0, 15.0, 112.5)
    """
    found = list(costs)
    while len(found) <= height:
        found.append(found[-1] * found[-1] / found[-2])
    return tuple(found[: height + 1])


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


def com_cost(
    topology: Topology, i: ArrayLike, j: ArrayLike, intra: ArrayLike, inter: Sequence[ArrayLike]
) -> NDArray[np.float64]:
    """Return ComCost of slots `i` and `j` (TuCOMM, equation 1), element by element.

    ``intra[i] + intra[j] + sum(inter[l][i] + inter[l][j] for l in range(level(i, j)))``

    Parameters
    ----------
    topology : Topology
    i, j : int arrays
        Slots.
    intra : float or float array
        The cost of a slot inside its lowest domain; by slot if it differs.
    inter : sequence of float or float array
        For each level, what it costs a slot to climb to the next one.

    Examples
    --------
    >>> com_cost(Topology.from_fanouts([2, 2, 2]), 0, [1, 2, 4], 1, [10, 100])
    array([  2.,  22., 222.])
    """
    if len(inter) < topology.height:
        raise OptionError(
            f"expected what it costs to climb from {topology.height} levels, got {len(inter)}"
        )
    here, there = np.broadcast_arrays(np.asarray(i, np.int64), np.asarray(j, np.int64))
    climbing = [np.broadcast_to(np.asarray(cost, float), topology.slots) for cost in inter]
    own = np.broadcast_to(np.asarray(intra, float), topology.slots)
    level = topology.level(here, there)
    total: NDArray[np.float64] = own[here] + own[there]
    for below, cost in enumerate(climbing):
        total = total + np.where(level > below, cost[here] + cost[there], 0.0)
    return total


def theta(
    topology: Topology,
    source: ArrayLike,
    target: ArrayLike,
    count: ArrayLike = 1,
    *,
    metric: str = "tree",
    costs: Sequence[Any] | None = None,
) -> float:
    """Return YH-Light's objective: the distances that all edges together span.

    Parameters
    ----------
    topology : Topology
    source, target : int arrays
        The slots at the two ends of each edge.
    count : int array, default 1
        Edges of each pair.
    metric, costs
        See `Topology.distance`.

    Examples
    --------
    >>> theta(Topology.from_fanouts([2, 2]), [0, 0, 1], [1, 2, 1])
    11.0
    """
    far = topology.distance(source, target, metric=metric, costs=costs)
    return float((far * np.asarray(count)).sum())
