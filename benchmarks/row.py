"""A line of the report: dgraph's figure, each rival's, the ratio, the target, met or not."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

__all__ = ["Row", "amount", "report", "summary"]

_SCALES = {
    "s": ((1.0, "s "), (1e-3, "ms"), (1e-6, "us"), (1e-9, "ns")),
    "B": ((2.0**30, "GiB"), (2.0**20, "MiB"), (2.0**10, "KiB"), (1.0, "B")),
    "B/s": ((1e9, "GB/s"), (1e6, "MB/s")),
}


def amount(value: float, unit: str) -> str:
    """Write a figure with three digits.

    >>> amount(0.00471, "s"), amount(3 * 2**20, "B"), amount(0.5, "")
    ('4.71 ms', '3.00 MiB', '0.500')
    """
    scales = _SCALES.get(unit, ((1.0, unit),))
    size, name = next((scale for scale in scales if abs(value) >= scale[0]), scales[-1])
    scaled = value / size
    digits = 2 if abs(scaled) < 10 else 1 if abs(scaled) < 100 else 0
    return f"{scaled:.{digits if unit else 3}f} {name}".strip()


@dataclass
class Row:
    """One figure and what it is held against.

    Parameters
    ----------
    case : str
        The case that measured it.
    what : str
        What the figure is.
    ours : float
        dgraph's figure, the smaller the better.
    rivals : mapping of str to float
        Those of the others, limits and baselines included.
    against : str
        Which of them the target speaks of: all whose names start so, of them the best.
        Several are joined by " or ".
    target : float, optional
        The ratio to reach: ``ours <= target * rival``. None: nothing was promised.
    unit : {"s", "B", ""}
    notes : list of str
        Further lines.
    phases : dict
        Seconds of generation, ingest, validation, where the case has them.
    samples : dict
        All that was measured, for the JSON file.
    """

    case: str
    what: str
    ours: float
    rivals: Mapping[str, float] = field(default_factory=dict)
    against: str = ""
    target: float | None = None
    unit: str = "s"
    notes: list[str] = field(default_factory=list)
    phases: Mapping[str, float] = field(default_factory=dict)
    samples: Mapping[str, list[float]] = field(default_factory=dict)

    @property
    def base(self) -> float | None:
        """What the target is a multiple of, or None if that rival is missing.

        >>> Row("bfs", "kernel", 4.0, {"GAPBS 1 thread": 20, "GAPBS 2 threads": 10},
        ...     against="GAPBS", target=0.4).base
        10
        """
        starts = tuple(self.against.split(" or "))
        found = [value for name, value in self.rivals.items() if name.startswith(starts)]
        return min(found) if found and self.against else None

    @property
    def ratio(self) -> float | None:
        """Our figure over the one that the target speaks of."""
        return self.ours / self.base if self.base else None

    @property
    def met(self) -> bool | None:
        """Whether the target is reached; None if there is no target or nobody to compare."""
        if self.ratio is None or self.target is None:
            return None
        return self.ratio <= self.target

    @property
    def verdict(self) -> str:
        """The end of the line, in words.

        >>> Row("cc", "kernel", 4.0, {"GAPBS": 10.0}, against="GAPBS", target=0.5).verdict
        'ratio 0.4 to GAPBS, target 0.5: met'
        """
        if self.target is None:
            return "no target"
        if self.ratio is None:
            return f"target {self.target:.3g} of {self.against}: not judged, it is missing"
        end = "met" if self.met else "not met"
        return f"ratio {self.ratio:.3g} to {self.against}, target {self.target:.3g}: {end}"

    def record(self) -> dict[str, Any]:
        """Return everything, for a JSON file."""
        return asdict(self) | {"base": self.base, "ratio": self.ratio, "met": self.met}


def report(row: Row) -> str:
    """Lay a row out for reading, each rival with our figure over its own.

    >>> print(report(Row("cc", "kernel", 0.012, {"GAPBS": 0.03}, "GAPBS", 0.5)))
    cc: kernel
      dgraph                              12.0 ms
      GAPBS                               30.0 ms   ours / its 0.4
      ratio 0.4 to GAPBS, target 0.5: met
    """
    lines = [f"{row.case}: {row.what}", f"  {'dgraph':<32}{amount(row.ours, row.unit):>11}"]
    for name, value in row.rivals.items():
        ratio = f"{row.ours / value:.3g}" if value else "-"
        lines.append(f"  {name:<32}{amount(value, row.unit):>11}   ours / its {ratio}")
    phases = [f"{name} {amount(value, 's')}" for name, value in row.phases.items()]
    lines += [f"  ({', '.join(phases)})"] if phases else []
    lines += [f"  {note}" for note in row.notes]
    return "\n".join([*lines, f"  {row.verdict}"])


def summary(rows: list[Row]) -> str:
    """Return one line for each row, for the end of the report."""
    names = [f"{row.case}: {row.what}" for row in rows]
    width = max(map(len, names), default=0)
    return "\n".join(
        f"{name:<{width}}  {amount(row.ours, row.unit):>11}  {row.verdict}"
        for name, row in zip(names, rows, strict=True)
    )
