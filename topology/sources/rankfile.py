"""Open MPI's rankfile: which cores of which host each rank is pinned to."""

from __future__ import annotations

import re
from typing import Any

from dgraph.topology.reading import Reading
from dgraph.topology.sources.text import Notes, Text

NAME = "rankfile"

_FIRST = re.compile(r"^\s*rank\s+\d+\s*=", re.MULTILINE)
_LINE = re.compile(r"rank\s+(\d+)\s*=\s*(\S+)\s+slots?\s*=\s*(?:[pP]?(\d+):)?(\S+)")
_CORES = re.compile(r"(\d+)(?:-(\d+))?")

#: Cores of one range, and ranks: more is a slip of the pen.
MOST, MOST_RANKS = 1 << 16, 1 << 24


def recognise(text: Text) -> bool:
    """Say whether a text looks like this format."""
    return bool(_FIRST.search(text.content))


def parse(text: Text, **options: Any) -> Reading:
    r"""Read a rankfile. It tells pinning, not switches: hosts are all equally far apart.

    Examples
    --------
    >>> reading = parse(Text("rank 0=aa slot=1:0-2\nrank 1=+n1 slot=*"))
    >>> reading.details["ranks"]["0"]
    {'host': 'aa', 'package': 1, 'cores': [0, 1, 2]}
    >>> reading.paths
    {'0': ('aa', 'package 1'), '1': ('+1',)}
    """
    notes = Notes()
    ranks: dict[int, dict[str, Any]] = {}
    for number, line in text.lines():
        match = _LINE.fullmatch(line)
        if not match:
            raise text.error(number, f"expected rank N=host slot=[package:]cores, got {line!r}")
        rank, host, package, cores = int(match[1]), match[2], match[3], match[4]
        if rank >= MOST_RANKS:
            raise text.error(number, f"expected ranks below {MOST_RANKS}, got {rank}")
        if rank in ranks:
            raise text.error(number, f"rank {rank} is listed twice")
        if relative := re.fullmatch(r"\+n(\d+)", host):
            host = f"+{relative[1]}"
        ranks[rank] = {
            "host": host,
            "package": None if package is None else int(package),
            "cores": _cores(cores, text, number),
        }
    missing = [rank for rank in range(max(ranks, default=-1) + 1) if rank not in ranks]
    for rank in missing[:10]:
        notes.add(f"rank {rank} is missing")
    if len(missing) > 10:
        notes.add(f"{len(missing) - 10} more ranks are missing")
    ordered = {str(rank): ranks[rank] for rank in sorted(ranks)}
    details = {"ranks": ordered, "missing": missing}
    paths = {rank: _path(where) for rank, where in ordered.items()}
    return Reading(NAME, paths, warnings=notes.all(), details=details, unit="rank")


def _path(where: dict[str, Any]) -> tuple[str, ...]:
    if where["package"] is None:
        return (where["host"],)
    return where["host"], f"package {where['package']}"


def _cores(written: str, text: Text, line: int) -> list[int] | str:
    """Read cores such as ``0-2,5`` or ``*``."""
    if written == "*":
        return written
    found: list[int] = []
    for part in written.split(","):
        match = _CORES.fullmatch(part)
        low, high = (int(match[1]), int(match[2] or match[1])) if match else (1, 0)
        if not low <= high < low + MOST:
            raise text.error(line, f"expected cores such as 0-2,5 or *, got {written!r}")
        found += range(low, high + 1)
    return found
