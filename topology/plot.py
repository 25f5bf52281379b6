"""A domain tree as a plot: slots at the bottom, a bar over each domain at the height it has."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from dgraph.plurals import counted

if TYPE_CHECKING:
    from dgraph.topology.levels import Levels

__all__ = ["plot"]

LABELS = 40  # domains of a level that are named; more would lie on each other


def plot(topology: Levels, ax: Any = None) -> Any:
    """Draw a tree on Axes of matplotlib; see `Topology.plot`."""
    if ax is None:
        from matplotlib import pyplot

        _, ax = pyplot.subplots(figsize=(8, 1.5 + topology.height))
    order = np.lexsort(topology.partitions) if topology.slots else np.arange(0)
    place = np.empty(topology.slots)
    place[order] = np.arange(topology.slots)
    below = place
    ax.plot(place, np.zeros(topology.slots), "|", color="black", markersize=4)
    for level in range(topology.height + 1 if topology.slots else 0):
        below = _draw_level(topology, level, place, below, ax)
    ax.set_yticks(range(1, topology.height + 2), _ticks(topology))
    ax.set_xticks([])
    ax.set_xlabel(counted(topology.slots, "slot"))
    ax.spines[:].set_visible(False)
    return ax


def _draw_level(topology: Levels, level: int, place: Any, below: Any, ax: Any) -> Any:
    """Draw the domains of a level over those below; return the middle of each slot's one."""
    middles = np.empty(topology.slots)
    domains = topology.domains(level)
    ups: list[float] = []
    bars: list[tuple[float, float]] = []
    for number, slots in enumerate(domains):
        inner = np.unique(below[slots])
        middle = (inner[0] + inner[-1]) / 2
        middles[slots] = middle
        ups += inner.tolist()
        bars.append((inner[0] - 0.2, inner[-1] + 0.2))
        name = topology.names[level][number]
        if name and len(domains) <= LABELS:
            ax.text(middle, level + 0.85, name, ha="center", va="bottom", fontsize="small")
    ax.vlines(ups, level + 0.05, level + 0.8, color=f"C{level % 10}", linewidth=1)
    left, right = zip(*bars, strict=True)
    ax.hlines([level + 0.8] * len(bars), left, right, color=f"C{level % 10}", linewidth=1)
    return middles


def _ticks(topology: Levels) -> list[str]:
    named = topology.level_names
    return [
        named[level] if level < len(named) else f"level {level}"
        for level in range(topology.height + 1)
    ]
