"""Traffic, and the machine on which it is sent: what `simulate` is asked about."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dgraph.errors import OptionError
from dgraph.topology.cost import CostModel
from dgraph.topology.tree import Topology

__all__ = ["Machine", "Traffic"]

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Traffic:
    """What is sent in one stage.

    Parameters
    ----------
    source, target : int64 arrays
        Slots, a pair in each row.
    frames, bytes : int64 arrays
        Of each pair.

    Examples
    --------
    >>> traffic = Traffic.of_matrix([[0, 5], [7, 0]])
    >>> traffic.source, traffic.bytes, traffic.frames
    (array([0, 1]), array([5, 7]), array([1, 1]))
    """

    source: NDArray[np.int64]
    target: NDArray[np.int64]
    frames: NDArray[np.int64]
    bytes: NDArray[np.int64]

    @classmethod
    def of(
        cls, source: ArrayLike, target: ArrayLike, bytes: ArrayLike, frames: ArrayLike = 1
    ) -> Self:
        """Make one of arrays, or of numbers that hold for all pairs."""
        columns = np.broadcast_arrays(
            *(np.atleast_1d(np.asarray(x, np.int64)) for x in (source, target, frames, bytes))
        )
        if any(len(column) and column.min() < 0 for column in columns):
            raise OptionError("expected slots, frames and bytes from 0 on, got less")
        return cls(*columns)

    @classmethod
    def of_matrix(cls, bytes: ArrayLike, frames: ArrayLike | None = None) -> Self:
        """Make one of square matrices, rows by source; default: a frame wherever bytes are."""
        size = np.asarray(bytes, np.int64)
        count = (size > 0).astype(np.int64) if frames is None else np.asarray(frames, np.int64)
        if size.ndim != 2 or size.shape[0] != size.shape[1] or size.shape != count.shape:
            raise OptionError(
                f"expected square matrices of one shape, got {size.shape} and {count.shape}"
            )
        source, target = np.nonzero(count)
        return cls.of(source, target, size[source, target], count[source, target])


@dataclass(frozen=True)
class Machine:
    """What a machine's links and slots can do; all by level, level 0 first.

    Parameters
    ----------
    latency : tuple of float
        Seconds until a frame is there, which pass for all frames at once.
    overhead : tuple of float
        Seconds that a slot spends on a frame, at either end.
    copy : tuple of float
        Seconds that a slot spends on a byte, at either end.
    link : tuple of float
        Seconds per byte of the link between a domain of the level below and its domain of this
        level; that of level 0 is not used.

    Examples
    --------
    >>> from dgraph.topology import Machine, Topology, Traffic, simulate
    >>> machine = Machine((0, 1e-3), (0, 0), (0, 0), (0, 1e-6))
    >>> tree = Topology.from_fanouts([2, 2])
    >>> round(simulate(tree, [Traffic.of([0, 1], [2, 3], 1000)], machine).seconds, 9)
    0.003
    """

    latency: tuple[float, ...]
    overhead: tuple[float, ...]
    copy: tuple[float, ...]
    link: tuple[float, ...]

    def __post_init__(self) -> None:
        """Check the figures."""
        figures = (self.latency, self.overhead, self.copy, self.link)
        if len({len(each) for each in figures}) > 1 or not self.latency:
            raise OptionError("expected as many figures of each kind, one per level")
        if not all(0 <= figure < float("inf") for each in figures for figure in each):
            raise OptionError(f"expected figures from 0 on, got {figures}")

    @classmethod
    def of(cls, cost: CostModel | str, tree: Topology | int) -> Self:
        """Return a machine whose frames and bytes cost what a model says.

        ``alpha`` is taken as time that a slot spends, ``beta`` as that of slots, and of links
        if these have none of their own.

        Parameters
        ----------
        cost : CostModel or str
            A preset's name too: "tianhe", "cloud", ...
        tree : Topology or int
            See `CostModel.of`.

        Examples
        --------
        >>> Machine.of("tianhe", 1).overhead
        (5e-06, 1e-05)
        """
        model = CostModel.of(cost, tree)
        levels = len(model.alpha)
        return cls((0.0,) * levels, model.alpha, model.beta, model.link or model.beta)

    @classmethod
    def preset(cls, name: str, height: int) -> Self:
        """Return a machine by name, for a tree of this height.

        Parameters
        ----------
        name : {"tianhe", "cloud"}
            tianhe: a tree like that of TuCOMM's machine; process, board, shelf, rack, system.
            cloud: racks of machines; process, host, rack, racks joined three to one, zones.
            Both by orders of magnitude, not measured.
        height : int
            A level beyond those named grows by the last ratio.

        Examples
        --------
        >>> Machine.preset("cloud", 2).latency
        (0.0, 2e-06, 2.5e-05)
        """
        if name not in _PRESETS:
            raise OptionError(f"name must be one of {', '.join(_PRESETS)}, not {name!r}")
        return cls(*(_extended(figures, height) for figures in _PRESETS[name]))


# latency, overhead, copy, link
_PRESETS: dict[str, tuple[tuple[float, ...], ...]] = {
    "tianhe": (
        (0.0, 1e-6, 2e-6, 3e-6, 5e-6),
        (2e-7, 5e-7, 1e-6, 1e-6, 1e-6),
        (1 / 20e9, 1 / 10e9, 1 / 10e9, 1 / 10e9, 1 / 10e9),
        (0.0, 1 / 14e9, 1 / 28e9, 1 / 56e9, 1 / 112e9),
    ),
    "cloud": (
        (0.0, 2e-6, 2.5e-5, 1e-4, 1e-3),
        (2e-7, 5e-6, 2e-5, 2e-5, 2e-5),
        (1 / 20e9, 1 / 8e9, 1 / 4e9, 1 / 4e9, 1 / 4e9),
        (0.0, 1 / 8e9, 1 / 1.25e9, 1 / 8e9, 1 / 10e9),
    ),
}


def _extended(figures: Sequence[float], height: int) -> tuple[float, ...]:
    found = list(figures)
    while len(found) <= height:
        found.append(found[-1] * found[-1] / found[-2] if found[-2] else found[-1])
    return tuple(found[: height + 1])
