"""Slurm's hostlists: ``n[01-03,7]`` and the like."""

from __future__ import annotations

import itertools
import re

from dgraph.topology.sources.text import Text

__all__ = ["MOST", "expand", "split"]

#: Names that one list may mean: more is a slip of the pen.
MOST = 1 << 20

_PART = re.compile(r"\[([^\[\]]*)\]")
_RANGE = re.compile(r"(\d+)(?:-(\d+))?")


def split(hostlist: str, text: Text, line: int | None = None) -> list[str]:
    """Split a list at the commas that are outside brackets.

    Examples
    --------
    >>> split("a[1-2,4],b", Text(""))
    ['a[1-2,4]', 'b']
    >>> split("sw[10,12", Text("", "f"), 3)
    Traceback (most recent call last):
        ...
    dgraph.errors.TopologyError: f, line 3: bracket not closed: the output was cut \
(SLURM_TOPO_LEN) in 'sw[10,12', write it again whole
    """
    items, depth = [""], 0
    for letter in hostlist:
        depth += (letter == "[") - (letter == "]")
        if depth not in (0, 1):
            raise text.error(line, f"expected brackets in pairs, got {hostlist!r}")
        if letter == "," and not depth:
            items.append("")
        else:
            items[-1] += letter
    if depth:
        raise text.error(
            line,
            f"bracket not closed: the output was cut (SLURM_TOPO_LEN) in {hostlist!r}, write "
            "it again whole",
        )
    return [item.strip() for item in items if item.strip()]


def expand(hostlist: str, text: Text, line: int | None = None) -> list[str]:
    """Return the names that a hostlist means; zero padding is part of a name.

    Examples
    --------
    >>> expand("a[1-2]b[1-2],n[08-10]", Text(""))
    ['a1b1', 'a1b2', 'a2b1', 'a2b2', 'n08', 'n09', 'n10']
    """
    names: list[str] = []
    for item in split(hostlist, text, line):
        pieces = _PART.split(item)  # text, inside of a bracket, text, ...
        choices = [
            _numbers(piece, text, line) if at % 2 else [piece]
            for at, piece in enumerate(pieces)
        ]
        count = 1
        for choice in choices:
            count *= len(choice)
        if count + len(names) > MOST:
            raise text.error(line, f"expected at most {MOST} names, {item!r} means {count}")
        names += map("".join, itertools.product(*choices))
    return names


def _numbers(inside: str, text: Text, line: int | None) -> list[str]:
    """Return what the inside of a bracket means, such as ``01-03,7``."""
    found: list[str] = []
    for part in inside.split(","):
        match = _RANGE.fullmatch(part.strip())
        if not match:
            raise text.error(
                line, f"expected numbers and ranges such as [01-03,7], got [{inside}]"
            )
        first, last = match[1], match[2] or match[1]
        low, high = int(first), int(last)
        if not low <= high < low + MOST:
            raise text.error(
                line, f"expected a range of at most {MOST} numbers, ascending, got {part!r}"
            )
        width = len(first) if len(first) == len(last) or first.startswith("0") else 0
        found += [str(number).zfill(width) for number in range(low, high + 1)]
    return found
