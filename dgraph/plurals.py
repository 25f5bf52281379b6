"""Counts in sentences: one edge, two edges."""

from __future__ import annotations

from numbers import Integral

__all__ = ["counted"]

#: The plurals that do not only end in an s, or not at all, by their singulars.
_PLURALS = {"vertex": "vertices", "process": "processes"}


def counted(count: float, noun: str) -> str:
    """Return a count and what it counts, in the number that it has.

    Parameters
    ----------
    count : int or float
        Integers are written with commas.
    noun : str
        In the singular.

    Examples
    --------
    >>> counted(1, "edge"), counted(1200, "edge"), counted(0, "vertex"), counted(0.5, "run")
    ('1 edge', '1,200 edges', '0 vertices', '0.5 runs')
    """
    written = f"{count:,}" if isinstance(count, Integral) else f"{count:g}"
    return f"{written} {noun if count == 1 else _PLURALS.get(noun, noun + 's')}"
