"""A table of the evidence: printed, written as CSV and JSON, and drawn where matplotlib is."""

from __future__ import annotations

import csv
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

__all__ = ["Plot", "Table", "write"]

Row = Mapping[str, Any]


@dataclass(frozen=True)
class Plot:
    """How a table is drawn: a line or bars of `y` over `x` for each value of `by`.

    Parameters
    ----------
    x, y, by : str
        Columns. `y` may name several, joined by commas: a panel for each; for "stack" one upon
        the other.
    kind : {"bar", "line", "stack"}
    log : bool
        Whether the y axis is logarithmic.
    apart : str
        Columns, joined by commas: a panel for each of their values. With it `y` is one column.
    labels : str
        What stands beside the y axes, joined by commas; default: the columns' names.
    """

    x: str
    y: str
    by: str = ""
    kind: str = "bar"
    log: bool = False
    apart: str = ""
    labels: str = ""


@dataclass
class Table:
    """Rows of figures, and what has to be said about them.

    Examples
    --------
    >>> table = Table("fig0", "An example", [{"routing": "aml", "frames": 12}])
    >>> print(table.text())
    fig0: An example
    routing  frames
    aml          12
    """

    name: str
    title: str
    rows: Sequence[Row] = ()
    notes: list[str] = field(default_factory=list)
    plot: Plot | None = None

    def text(self) -> str:
        """Return what is printed."""
        lines = [f"{self.name}: {self.title}"]
        if self.rows:
            names = list(dict.fromkeys(name for row in self.rows for name in row))
            cells = [names, *([_shown(row.get(name)) for name in names] for row in self.rows)]
            widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
            first = self.rows[0]
            for line in cells:
                padded = [
                    cell.ljust(width) if isinstance(first.get(name), str) else cell.rjust(width)
                    for cell, width, name in zip(line, widths, names, strict=True)
                ]
                lines.append("  ".join(padded).rstrip())
        return "\n".join(lines + [f"  {note}" for note in self.notes])


def _shown(value: Any) -> str:
    if value is None:
        return "-"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int):
        return f"{value:,}"
    return f"{value:.4g}" if isinstance(value, float) else str(value)


def write(tables: Sequence[Table], folder: Path) -> list[Path]:
    """Write every table as CSV, all as JSON, and plots as PNG; return the files."""
    folder.mkdir(parents=True, exist_ok=True)
    files = [folder / "tables.json"]
    record = [
        {"name": each.name, "title": each.title, "rows": each.rows, "notes": each.notes}
        for each in tables
    ]
    files[0].write_text(json.dumps(record, indent=1, default=float) + "\n")
    for table in tables:
        if table.rows:
            files.append(_write_csv(table, folder / f"{table.name}.csv"))
    return files + _draw_all([each for each in tables if each.plot and each.rows], folder)


def _write_csv(table: Table, path: Path) -> Path:
    names = list(dict.fromkeys(name for row in table.rows for name in row))
    with path.open("w", newline="") as file:
        writer = csv.DictWriter(file, names)
        writer.writeheader()
        writer.writerows(table.rows)
    return path


def _draw_all(tables: Sequence[Table], folder: Path) -> list[Path]:
    try:
        from matplotlib.figure import Figure
    except ImportError:
        return []
    found = []
    for table in tables:
        panels = list(_panels(table))
        across = min(len(panels), 2)
        down = -(-len(panels) // across)
        figure = Figure(figsize=(4 + 4 * across, 1 + 3.5 * down), layout="constrained")
        every = figure.subplots(down, across, squeeze=False).ravel()
        for axes, panel in zip(every, panels, strict=False):
            _draw(axes, *panel)
        figure.suptitle(table.title, fontsize=10)
        labels = dict(zip(*reversed(every[0].get_legend_handles_labels()), strict=True))
        if set(labels) - {""}:
            figure.legend(
                labels.values(), labels, title=panels[0][1].by, title_fontsize=7, fontsize=7,
                loc="outside right upper",
            )  # fmt: skip
        found.append(folder / f"{table.name}.png")
        figure.savefig(found[-1], dpi=120)
    return found


def _panels(table: Table) -> Iterator[tuple[Sequence[Row], Plot, str]]:
    """Yield the rows of each panel, how they are drawn, and its title.

    Examples
    --------
    >>> rows = [{"x": 1, "y": 2, "z": 3}]
    >>> [plot.labels for _, plot, _ in _panels(Table("", "", rows, plot=Plot("x", "y,z")))]
    ['y', 'z']
    """
    plot = table.plot
    assert plot is not None
    if plot.kind == "stack":
        yield table.rows, replace(plot, labels=plot.labels or "seconds"), ""
        return
    columns = plot.y.split(",")
    for column, label in zip(columns, (plot.labels or plot.y).split(","), strict=True):
        mine = replace(plot, y=column, labels=label)
        panels: dict[str, list[Row]] = {}
        for row in table.rows:
            title = " ".join(str(row[name]) for name in plot.apart.split(",") if name)
            panels.setdefault(title, []).append(row)
        for title, rows in panels.items():
            yield rows, mine, title


def _draw(axes: Any, rows: Sequence[Row], plot: Plot, title: str) -> None:
    (_stack if plot.kind == "stack" else _series)(axes, rows, plot)
    axes.set_title(title, fontsize=9)
    axes.set_xlabel(plot.x if plot.kind != "stack" else "", fontsize=8)
    axes.set_ylabel(plot.labels)
    if plot.log:
        axes.set_yscale("log")
    if "/" in plot.y:
        axes.axhline(1, color="black", linewidth=0.5)
    axes.tick_params(axis="x", labelrotation=30, labelsize=7)


def _stack(axes: Any, rows: Sequence[Row], plot: Plot) -> None:
    places = [f"{row[plot.by]} {row[plot.x]}" if plot.by else row[plot.x] for row in rows]
    below = [0.0] * len(rows)
    for name in plot.y.split(","):
        heights = [float(row[name]) for row in rows]
        axes.bar(places, heights, bottom=below, label=name)
        below = [a + b for a, b in zip(below, heights, strict=True)]


def _series(axes: Any, rows: Sequence[Row], plot: Plot) -> None:
    kinds = list(dict.fromkeys(str(row.get(plot.by, "")) for row in rows))
    places = list(dict.fromkeys(row[plot.x] for row in rows))
    for number, kind in enumerate(kinds):
        some = [row for row in rows if str(row.get(plot.by, "")) == kind and row.get(plot.y)]
        heights = [float(row[plot.y]) for row in some]
        if not some:
            continue
        if plot.kind == "line":
            axes.plot([row[plot.x] for row in some], heights, marker="o", label=kind)
        else:
            shift = 0.8 * (number / len(kinds) - 0.5)
            at = [places.index(row[plot.x]) + shift for row in some]
            axes.bar(at, heights, width=0.8 / len(kinds), align="edge", label=kind)
    if plot.kind == "line":
        axes.set_xscale("log", base=2)
        axes.set_xticks(places, [str(place) for place in places])
    else:
        axes.set_xticks(range(len(places)), [str(place) for place in places])
