"""What `compare` found, as a plot: a panel for each figure, a bar for each placement."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pandas import DataFrame

__all__ = ["plot"]

#: Figures with a number for each placement, and what is written over their panels.
_SINGLE = {
    "edge_balance": "edges: fullest slot / mean",
    "replication": "slots on which a vertex occurs",
    "build_seconds": "seconds of the build",
}


def plot(compared: DataFrame, axes: Any = None) -> Any:
    """Draw a table of `compare`.

    Parameters
    ----------
    compared : pandas DataFrame
        As `compare` returns it.
    axes : Axes of matplotlib, optional
        For each panel one, at least as many as there are: the edges cut by level, three single
        figures, and for each name that was measured its bytes by level. Default: a new figure.

    Returns
    -------
    list of Axes
        Those that were drawn on.

    Examples
    --------
    >>> import dgraph as dg
    >>> tree = dg.topology.Topology.from_fanouts([2, 2])
    >>> found = dg.placement.compare(dg.generate.grid(8, 8), ["hash", "degree"], topology=tree)
    >>> [ax.get_title() for ax in plot(found)][:2]
    ['edges cut, by level', 'edges: fullest slot / mean']
    """
    measured = [name for name in compared.columns if name.endswith("_bytes")]
    count = 1 + len(_SINGLE) + len(measured)
    if axes is None:
        from matplotlib import pyplot

        size = 2.6 * count, 1.2 + 0.3 * len(compared)
        figure, axes = pyplot.subplots(1, count, figsize=size, sharey=True, squeeze=False)
        figure.set_layout_engine("constrained")
    chosen = list(getattr(axes, "flat", axes))[:count]
    _draw_levels(chosen[0], compared, "cut", "edges cut, by level")
    for ax, (name, title) in zip(chosen[1:], _SINGLE.items(), strict=False):
        ax.barh(compared["placement"], compared[name], color="0.5")
        ax.set_title(title, fontsize="small")
    for ax, name in zip(chosen[1 + len(_SINGLE) :], measured, strict=False):
        what = name.removesuffix("_bytes")
        _draw_levels(ax, compared, name, f"bytes of {what}, by level")
    if not chosen[0].yaxis_inverted():  # the first row is on top; panels may share the axis
        chosen[0].invert_yaxis()
    return chosen


def _draw_levels(ax: Any, compared: DataFrame, name: str, title: str) -> None:
    """Draw a list of numbers by level for each placement, the top level first."""
    levels = len(compared[name].iloc[0]) if len(compared) else 0
    left = [0] * len(compared)
    for level in reversed(range(levels)):
        width = [numbers[level] for numbers in compared[name]]
        label = f"level {level}"
        ax.barh(compared["placement"], width, left=left, color=f"C{level % 10}", label=label)
        left = [a + b for a, b in zip(left, width, strict=True)]
    ax.set_title(title, fontsize="small")
    ax.legend(fontsize="x-small", loc="upper center", bbox_to_anchor=(0.5, -0.1), ncols=levels)
